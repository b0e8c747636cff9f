/*
 * The predictor that recorder and replay share, so that they cannot drift: docs/trace-format.md, "Tokens".
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef GX_PREDICTOR_H
#define GX_PREDICTOR_H

#include <stdint.h>

/* Measured on a benchmark and U-Boot: larger tables predict hardly better, and do not stay in a core's own cache. */
#define GX_PREDICTOR_BITS    14
#define GX_HISTORY_SHIFT     3
#define GX_PREDICTOR_ENTRIES (1u << GX_PREDICTOR_BITS)

/* The second candidates are looked at only after a miss: apart, they leave the cache to the first ones. */
typedef struct GxPredictor {
    uint32_t first[GX_PREDICTOR_ENTRIES];
    uint32_t second[GX_PREDICTOR_ENTRIES];
} GxPredictor;

static inline uint32_t gx_slot(uint32_t history) { return history >> (32 - GX_PREDICTOR_BITS); }

static inline uint32_t gx_step(uint32_t history, uint32_t id)
{
    return (history << GX_HISTORY_SHIFT) + id * 0x9E3779B1u;
}

/* What a SECOND token does to the entry; the block it names. */
static inline uint32_t gx_take_second(GxPredictor *p, uint32_t slot)
{
    uint32_t id = p->second[slot];

    p->second[slot] = p->first[slot];
    p->first[slot] = id;
    return id;
}

/* What a NEW token does to the entry. */
static inline void gx_take_new(GxPredictor *p, uint32_t slot, uint32_t id)
{
    p->second[slot] = p->first[slot];
    p->first[slot] = id;
}

#endif
