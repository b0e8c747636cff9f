/*
 * The predictor that recorder and replay share, so that they cannot drift: docs/trace-format.md, "Tokens".
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef GX_PREDICTOR_H
#define GX_PREDICTOR_H

#include <stdint.h>

#define GX_PREDICTOR_BITS 16
#define GX_HISTORY_SHIFT  3

typedef struct GxEntry {
    uint32_t first;
    uint32_t second;
} GxEntry;

#define GX_PREDICTOR_ENTRIES (1u << GX_PREDICTOR_BITS)
#define GX_PREDICTOR_SIZE    (sizeof(GxEntry) * GX_PREDICTOR_ENTRIES)

static inline uint32_t gx_slot(uint32_t history) { return history >> (32 - GX_PREDICTOR_BITS); }

static inline uint32_t gx_step(uint32_t history, uint32_t id)
{
    return (history << GX_HISTORY_SHIFT) + id * 0x9E3779B1u;
}

/* What a SECOND token does to the entry. */
static inline uint32_t gx_take_second(GxEntry *entry)
{
    uint32_t id = entry->second;

    entry->second = entry->first;
    entry->first = id;
    return id;
}

/* What a NEW token does to the entry. */
static inline void gx_take_new(GxEntry *entry, uint32_t id)
{
    entry->second = entry->first;
    entry->first = id;
}

#endif
