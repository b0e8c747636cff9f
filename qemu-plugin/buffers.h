/*
 * A vCPU's buffers: tokens into the one that is filling, and the next one when it is full. See recorder.h for who may touch
 * what.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef GX_BUFFERS_H
#define GX_BUFFERS_H

#include "attention.h"

static inline uint32_t buffer_word_bytes(uint64_t word) { return (uint32_t)(word >> GX_WORD_RUN_BITS); }

/* Head of a token: the open run and the kind. */
static inline uint8_t *buffer_put_head(uint8_t *p, uint64_t run, unsigned kind)
{
    if (run < GX_TOKEN_RUN_LONG) {
        *p++ = (uint8_t)(run << 2 | kind);
        return p;
    }
    *p++ = (uint8_t)(GX_TOKEN_RUN_LONG << 2 | kind);
    return gx_leb_put(p, run - GX_TOKEN_RUN_LONG);
}

/* Tokens up to p become part of the recording; no run is open. */
static inline void buffer_publish(GxBuffer *b, const uint8_t *p)
{
    __atomic_store_n(&b->word, (uint64_t)(p - b->tokens) << GX_WORD_RUN_BITS, __ATOMIC_RELEASE);
}

/* A block by its key (predictor.h), and events; the caller has made room. */
void buffer_put_block(Vcpu *v, uint32_t key);
void buffer_put_numbers(Vcpu *v, unsigned type, unsigned n, const uint64_t *numbers);
void buffer_put_mark(Vcpu *v, unsigned kind, const char *text);

/* The rest with the lock held. NULL: none is free. */
GxBuffer *buffer_free(const Vcpu *v);
void buffer_open(Vcpu *v, GxBuffer *b);
void buffer_close(Vcpu *v);
/* The last event of a recording that failed. */
void buffer_end_with_gap(Vcpu *v);
/* Close the full buffer and open another; waits for the worker. False: recording ended meanwhile. */
bool buffer_roll_over(Vcpu *v);

#endif
