/*
 * Decoder of a chunk's tokens: docs/trace-format.md, "Tokens". Used by the recorder's worker and by the replay library.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef GX_DECODER_H
#define GX_DECODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format.h"
#include "predictor.h"

#define GX_PUBLIC __attribute__((visibility("default")))

/*
 * A decoder goes through one chunk; what it has decoded stays decoded when it is given the same chunk again with more
 * bytes or a longer open run (a live chunk that has grown).
 */
typedef struct GxDecoder {
    GxPredictor *table;
    uint32_t history;
    uint32_t max_id;
    size_t pos;        /* of the token in work */
    uint64_t run_done; /* blocks of its run that were given out already */
    uint64_t changes;  /* of the table, since the decoder was made */
    bool ended;        /* an END token was seen */
    const char *error; /* NULL: none */
    size_t error_offset;
} GxDecoder;

typedef struct GxToken {
    uint64_t run;   /* predicted blocks that come first and are not given out yet */
    uint32_t kind;  /* GX_TOKEN_* */
    uint32_t id;    /* NEW */
    uint32_t event; /* EVENT */
    const uint8_t *payload;
    uint64_t length;
    size_t length_at; /* offset of the length before the payload */
    size_t next;      /* offset after the token */
} GxToken;

typedef struct GxChunkCounts {
    uint64_t n_insns;
    uint64_t n_blocks;
    uint32_t history;
} GxChunkCounts;

GX_PUBLIC GxDecoder *gx_decoder_new(uint32_t max_block_id);
GX_PUBLIC void gx_decoder_free(GxDecoder *d);
/* Begin another chunk. */
void gx_decoder_reset(GxDecoder *d, uint32_t max_block_id);

/* Read the token at d->pos. False: no whole token there (starved), or damaged (d->error). Nothing is taken. */
bool gx_decoder_peek(GxDecoder *d, const uint8_t *raw, size_t length, GxToken *token);

static inline bool gx_decoder_fail(GxDecoder *d, const char *error)
{
    d->error = error;
    d->error_offset = d->pos;
    return false;
}

/* The next predicted block; 0 (an error) when nothing was predicted. */
static inline uint32_t gx_decoder_predicted(GxDecoder *d)
{
    const uint32_t key = d->table->first[gx_slot(d->history)];

    d->history = gx_step(d->history, key);
    return gx_id(key);
}

/* Take a SECOND or NEW token after its run: the block, or 0 with d->error set. */
static inline uint32_t gx_decoder_take(GxDecoder *d, const GxToken *token)
{
    const uint32_t slot = gx_slot(d->history);
    uint32_t key;

    if (token->kind == GX_TOKEN_SECOND) {
        if (!d->table->second[slot]) {
            gx_decoder_fail(d, "second candidate where there is none");
            return 0;
        }
        key = gx_take_second(d->table, slot);
    } else {
        key = gx_key(token->id);
        gx_take_new(d->table, slot, key);
    }
    d->changes++;
    d->history = gx_step(d->history, key);
    d->pos = token->next;
    d->run_done = 0;
    return gx_id(key);
}

static inline void gx_decoder_skip(GxDecoder *d, const GxToken *token)
{
    d->pos = token->next;
    d->run_done = 0;
}

/* Count a whole chunk; n_insns by block id. False: damaged. */
bool gx_decoder_count(GxDecoder *d, const uint8_t *raw, size_t length, uint32_t max_block_id, const uint16_t *n_insns,
                      GxChunkCounts *counts);

#endif
