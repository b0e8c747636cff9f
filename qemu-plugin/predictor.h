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

/*
 * A block's id, multiplied: what it adds to the history. Tables hold keys, so that no multiplication stands between one
 * prediction and the next. The factor is odd: keys and ids correspond one to one, and 0 is 0.
 */
static inline uint32_t gx_key(uint32_t id) { return id * 0x9E3779B1u; }
static inline uint32_t gx_id(uint32_t key) { return key * 0x0E8B2F51u; }

static inline uint32_t gx_step(uint32_t history, uint32_t key) { return (history << GX_HISTORY_SHIFT) + key; }

/* What a SECOND token does to the entry; the key of the block it names. */
static inline uint32_t gx_take_second(GxPredictor *p, uint32_t slot)
{
    uint32_t key = p->second[slot];

    p->second[slot] = p->first[slot];
    p->first[slot] = key;
    return key;
}

/* What a NEW token does to the entry. */
static inline void gx_take_new(GxPredictor *p, uint32_t slot, uint32_t key)
{
    p->second[slot] = p->first[slot];
    p->first[slot] = key;
}

#endif
