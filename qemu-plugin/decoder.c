/*
 * Decoder of a chunk's tokens.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "decoder.h"

#include <stdlib.h>

GxDecoder *gx_decoder_new(uint32_t max_block_id)
{
    GxDecoder *d = calloc(1, sizeof(*d));

    if (d && !(d->table = calloc(1, sizeof(*d->table)))) {
        free(d);
        return NULL;
    }
    if (d) {
        d->max_id = max_block_id;
    }
    return d;
}

void gx_decoder_free(GxDecoder *d)
{
    if (d) {
        free(d->table);
        free(d);
    }
}

void gx_decoder_reset(GxDecoder *d, uint32_t max_block_id)
{
    memset(d->table, 0, sizeof(*d->table));
    d->changes++;
    d->history = 0;
    d->max_id = max_block_id;
    d->pos = 0;
    d->run_done = 0;
    d->ended = false;
    d->error = NULL;
    d->error_offset = 0;
}

bool gx_decoder_peek(GxDecoder *d, const uint8_t *raw, size_t length, GxToken *token)
{
    const uint8_t *p = raw + d->pos;
    const uint8_t *end = raw + length;
    uint64_t value;

    if (d->error || p >= end) {
        return false;
    }
    if (d->ended) {
        return gx_decoder_fail(d, "bytes after the END token");
    }
    token->kind = *p & 3;
    token->run = *p >> 2;
    p++;
    if (token->run == GX_TOKEN_RUN_LONG) {
        if (!(p = gx_leb_get(p, end, &value)) || value > GX_WORD_RUN_MASK) {
            return gx_decoder_fail(d, "run length is cut or too large");
        }
        token->run += value;
    }
    if (token->run < d->run_done) {
        return gx_decoder_fail(d, "the open run became shorter");
    }
    token->run -= d->run_done;
    if (token->kind == GX_TOKEN_NEW) {
        if (!(p = gx_leb_get(p, end, &value)) || value == 0 || value > d->max_id) {
            return gx_decoder_fail(d, "block id is cut or above the block table");
        }
        token->id = (uint32_t)value;
    } else if (token->kind == GX_TOKEN_EVENT) {
        if (p >= end || *p == 0 || *p > GX_EVENT_LAST) {
            return gx_decoder_fail(d, "event is cut or unknown");
        }
        token->event = *p++;
        token->length_at = (size_t)(p - raw);
        if (!(p = gx_leb_get(p, end, &value)) || value > (uint64_t)(end - p)) {
            return gx_decoder_fail(d, "event length is cut or too large");
        }
        token->payload = p;
        token->length = value;
        p += value;
    }
    token->next = (size_t)(p - raw);
    return true;
}

/* Instructions that a CUT event takes from the block before; -1: damaged. */
static int64_t cut_loss(const GxToken *token, unsigned n_insns)
{
    uint64_t begun;

    if (!gx_leb_get(token->payload, token->payload + token->length, &begun) || begun == 0 || begun >= n_insns) {
        return -1;
    }
    return (int64_t)(n_insns - begun);
}

bool gx_decoder_count(GxDecoder *d, const uint8_t *raw, size_t length, uint32_t max_block_id, const uint16_t *n_insns,
                      GxChunkCounts *counts)
{
    uint64_t insns = 0, blocks = 0;
    uint32_t last = 0;
    GxToken t;

    gx_decoder_reset(d, max_block_id);
    while (gx_decoder_peek(d, raw, length, &t)) {
        const uint32_t *first = d->table->first;
        uint32_t history = d->history;

        blocks += t.run;
        for (; t.run; t.run--) {
            const uint32_t key = first[gx_slot(history)];

            if (!(last = gx_id(key))) {
                return gx_decoder_fail(d, "a run where nothing is predicted");
            }
            history = gx_step(history, key);
            insns += n_insns[last];
        }
        d->history = history;
        if (t.kind <= GX_TOKEN_NEW) {
            if (!(last = gx_decoder_take(d, &t))) {
                return false;
            }
            blocks++;
            insns += n_insns[last];
            continue;
        }
        if (t.kind == GX_TOKEN_EVENT && t.event == GX_EVENT_CUT && last) {
            int64_t loss = cut_loss(&t, n_insns[last]);

            if (loss < 0) {
                return gx_decoder_fail(d, "CUT does not fit the block before it");
            }
            insns -= (uint64_t)loss;
        }
        d->ended = t.kind == GX_TOKEN_END;
        gx_decoder_skip(d, &t);
    }
    counts->n_insns = insns;
    counts->n_blocks = blocks;
    counts->history = d->history;
    return !d->error;
}
