/*
 * What Python calls to look at recorded bytes: zstd frames, block entries, the steps of one chunk.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <zstd.h>

#include "steps.h"

#define PERIOD_MAX 65536 /* blocks of a loop that is recognized */

uint32_t gx_version(void) { return GX_LIBRARY_VERSION; }

int64_t gx_decompress(void *dst, size_t capacity, const void *src, size_t length)
{
    size_t n = ZSTD_decompress(dst, capacity, src, length);

    return ZSTD_isError(n) ? -1 : (int64_t)n;
}

int64_t gx_compress(void *dst, size_t capacity, const void *src, size_t length, int level)
{
    size_t n = ZSTD_compress(dst, capacity, src, length, level);

    return ZSTD_isError(n) ? -1 : (int64_t)n;
}

size_t gx_compress_bound(size_t length) { return ZSTD_compressBound(length); }

/* Length of the entry at e, 0: it does not fit or is none. */
static size_t entry_length(const uint8_t *e, size_t left)
{
    unsigned n_insns, n_bytes, sum = 0;

    if (left < GX_BLOCK_HEADER_SIZE) {
        return 0;
    }
    n_insns = gx_get16(e + 8);
    n_bytes = gx_get16(e + 10);
    if (n_insns == 0 || n_insns > GX_BLOCK_INSNS_MAX || left < GX_BLOCK_HEADER_SIZE + n_insns + n_bytes) {
        return 0;
    }
    for (unsigned i = 0; i < n_insns; i++) {
        const unsigned size = e[GX_BLOCK_HEADER_SIZE + i];

        if (size == 0 || size > GX_BLOCK_INSN_SIZE_MAX) {
            return 0;
        }
        sum += size;
    }
    return sum == n_bytes ? GX_BLOCK_HEADER_SIZE + n_insns + n_bytes : 0;
}

int64_t gx_blocks_parse(const uint8_t *raw, size_t length, uint64_t max, uint64_t *address, uint16_t *n_insns,
                        uint16_t *n_bytes, uint64_t *offset)
{
    int64_t n = 0;

    for (size_t at = 0; at < length && (uint64_t)n < max; n++) {
        const size_t size = entry_length(raw + at, length - at);

        if (!size) {
            return -1 - (int64_t)at;
        }
        if (address) {
            address[n] = gx_get64(raw + at);
        }
        if (n_insns) {
            n_insns[n] = gx_get16(raw + at + 8);
        }
        if (n_bytes) {
            n_bytes[n] = gx_get16(raw + at + 10);
        }
        if (offset) {
            offset[n] = at;
        }
        at += size;
    }
    return n;
}

bool gx_next_item(GxDecoder *d, const uint8_t *raw, size_t length, uint64_t run, GxItem *item)
{
    GxToken t;

    for (;;) {
        const bool token = gx_decoder_peek(d, raw, length, &t);

        if (!token && (d->error || d->ended || d->run_done >= run)) {
            return false;
        }
        if (!token || t.run) {
            *item = (GxItem){.block = gx_decoder_predicted(d)};
            if (!item->block) {
                return gx_decoder_fail(d, "a run where nothing is predicted");
            }
            d->run_done++;
            return true;
        }
        if (t.kind <= GX_TOKEN_NEW) {
            *item = (GxItem){.block = gx_decoder_take(d, &t)};
            return item->block != 0;
        }
        d->ended = t.kind == GX_TOKEN_END;
        if (!d->ended) {
            *item = (GxItem){.event = t.event, .offset = t.length_at};
            gx_decoder_skip(d, &t);
            return true;
        }
        gx_decoder_skip(d, &t);
    }
}

int64_t gx_decoder_items(GxDecoder *d, const uint8_t *raw, size_t length, uint64_t run, GxItem *out, size_t max)
{
    size_t n = 0;

    while (n < max && gx_next_item(d, raw, length, run, &out[n])) {
        n++;
    }
    return d->error && !n ? -1 : (int64_t)n;
}

/* Predicted blocks until the predictor's state comes again; 0: not within PERIOD_MAX. */
static uint32_t find_period(const GxDecoder *d)
{
    uint32_t history = d->history;

    for (uint32_t n = 1; n <= PERIOD_MAX; n++) {
        const uint32_t key = d->table->first[gx_slot(history)];

        if (!key) {
            return 0;
        }
        history = gx_step(history, key);
        if (history == d->history) {
            return n;
        }
    }
    return 0;
}

/* Leave out rounds of a loop, as an item of their own, so that one remains of `left` predicted blocks. */
static bool skip_rounds(GxDecoder *d, uint64_t left, GxItem *item)
{
    const uint32_t period = left > 2 * PERIOD_MAX ? find_period(d) : 0;
    const uint64_t rounds = period ? left / period - 1 : 0;

    d->run_done += rounds * period;
    *item = (GxItem){.event = GX_ITEM_ROUNDS, .offset = rounds << GX_ITEM_ROUNDS_SHIFT | period};
    return rounds != 0;
}

int64_t gx_decoder_tail(GxDecoder *d, const uint8_t *raw, size_t length, uint64_t run, GxItem *out, size_t max,
                        uint64_t *first)
{
    uint64_t n = 0, look_again = 0, wait = 1;
    size_t token_at = SIZE_MAX;
    GxItem item;
    GxToken t;

    for (;;) {
        /*
         * A program that waits in a loop makes runs of billions: only their end matters. The loop's predictions may
         * have begun a few blocks before the predictor's state repeats.
         */
        if (d->pos != token_at) {
            token_at = d->pos;
            look_again = n;
            wait = 1;
        }
        if (n >= look_again) {
            const bool token = gx_decoder_peek(d, raw, length, &t);
            const uint64_t left = token ? t.run : d->error || d->ended || run < d->run_done ? 0 : run - d->run_done;

            if (skip_rounds(d, left, &item)) {
                out[n++ % max] = item;
            }
            look_again = n + wait;
            wait = wait < PERIOD_MAX ? wait * 2 : wait;
        }
        if (!gx_next_item(d, raw, length, run, &item)) {
            break;
        }
        out[n++ % max] = item;
    }
    *first = n > max ? n % max : 0;
    return d->error ? -1 : (int64_t)(n < max ? n : max);
}

/* `run` predicted blocks; the rounds of a loop are counted at once. False: nothing is predicted. */
static bool count_run(GxDecoder *d, uint64_t run, const uint16_t *n_insns, uint64_t *insns, uint32_t *last)
{
    while (run) {
        const uint32_t period = run >= 2 * PERIOD_MAX ? find_period(d) : 0;
        const uint64_t n = period ? period : run < PERIOD_MAX ? run : PERIOD_MAX;
        const uint64_t times = period ? run / period : 1;

        for (uint64_t i = 0; i < n; i++) {
            if (!(*last = gx_decoder_predicted(d))) {
                return gx_decoder_fail(d, "a run where nothing is predicted");
            }
            *insns += n_insns[*last] * times;
        }
        run -= n * times;
    }
    return true;
}

int gx_decoder_totals(GxDecoder *d, const uint8_t *raw, size_t length, uint64_t run, const uint16_t *n_insns,
                      uint64_t *insns, uint64_t *blocks)
{
    uint32_t last = 0;
    uint64_t begun;
    GxToken t;

    *insns = *blocks = 0;
    while (gx_decoder_peek(d, raw, length, &t)) {
        *blocks += t.run;
        if (!count_run(d, t.run, n_insns, insns, &last)) {
            return -1;
        }
        if (t.kind <= GX_TOKEN_NEW) {
            if (!(last = gx_decoder_take(d, &t))) {
                return -1;
            }
            *insns += n_insns[last];
            ++*blocks;
            continue;
        }
        if (t.kind == GX_TOKEN_EVENT && t.event == GX_EVENT_CUT && last) {
            if (!gx_leb_get(t.payload, t.payload + t.length, &begun) || begun >= n_insns[last]) {
                gx_decoder_fail(d, "CUT does not fit the block before it");
                return -1;
            }
            *insns -= n_insns[last] - begun;
        }
        d->ended = t.kind == GX_TOKEN_END;
        gx_decoder_skip(d, &t);
    }
    if (!d->error && !d->ended && run) {
        *blocks += run;
        count_run(d, run, n_insns, insns, &last);
    }
    return d->error ? -1 : 0;
}

uint64_t gx_decoder_error_offset(const GxDecoder *d) { return d->error_offset; }

const char *gx_decoder_error(const GxDecoder *d) { return d->error; }
