/*
 * Tokens into buffers. See buffers.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "buffers.h"

#include <string.h>

/* The caller has made room. */
static void put_event(Vcpu *v, unsigned type, const void *payload, size_t length)
{
    GxBuffer *b = v->elem->cursor;
    uint64_t word = b->word;
    uint8_t *p = buffer_put_head(b->tokens + buffer_word_bytes(word), word & GX_WORD_RUN_MASK, GX_TOKEN_EVENT);

    *p++ = (uint8_t)type;
    p = gx_leb_put(p, length);
    memcpy(p, payload, length);
    buffer_publish(b, p + length);
}

void buffer_put_numbers(Vcpu *v, unsigned type, unsigned n, const uint64_t *numbers)
{
    uint8_t payload[GX_CONTEXT_NUMBERS_MAX * GX_LEB_MAX];
    uint8_t *p = payload;

    for (unsigned i = 0; i < n; i++) {
        p = gx_leb_put(p, numbers[i]);
    }
    put_event(v, type, payload, (size_t)(p - payload));
}

void buffer_put_mark(Vcpu *v, unsigned kind, const char *text)
{
    uint8_t payload[2 * GX_LEB_MAX + RECORDER_TEXT_MAX];
    size_t length = strnlen(text, RECORDER_TEXT_MAX);
    uint8_t *p = gx_leb_put(payload, kind);

    p = gx_leb_put(p, recorder_now_ns());
    memcpy(p, text, length);
    put_event(v, GX_EVENT_MARK, payload, (size_t)(p - payload) + length);
}

GxBuffer *buffer_free(const Vcpu *v)
{
    for (unsigned i = 0; i < recorder.n_buffers; i++) {
        if (v->buffers[i]->state == GX_BUFFER_FREE) {
            return v->buffers[i];
        }
    }
    return NULL;
}

void buffer_open(Vcpu *v, GxBuffer *b)
{
    memset(v->table, 0, sizeof(*v->table));
    b->word = 0;
    b->history = 0;
    b->vcpu = v->index;
    b->seq = v->next_seq++;
    b->time_ns = recorder_now_ns();
    b->cut = 0;
    b->cut_word = 0;
    __atomic_store_n(&b->state, GX_BUFFER_FILLING, __ATOMIC_RELEASE);
    v->elem->cursor = b;
}

void buffer_close(Vcpu *v)
{
    GxBuffer *b = v->elem->cursor;
    uint64_t word = b->word;

    buffer_publish(b, buffer_put_head(b->tokens + buffer_word_bytes(word), word & GX_WORD_RUN_MASK, GX_TOKEN_END));
    __atomic_store_n(&b->state, GX_BUFFER_FULL, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&recorder.changed);
}

void buffer_end_with_gap(Vcpu *v)
{
    const uint64_t gap[2] = {recorder.gap_reason, 0};

    buffer_put_numbers(v, GX_EVENT_GAP, 2, gap);
    recorder.n_gaps++;
    vcpu_disarm(v);
}

bool buffer_roll_over(Vcpu *v)
{
    GxBuffer *next;

    while (!(next = buffer_free(v))) {
        if (recorder.state == RECORDER_FAILED) {
            buffer_end_with_gap(v);
        }
        if (!vcpu_is_armed(v)) {
            return false;
        }
        pthread_cond_wait(&recorder.changed, &recorder.lock);
    }
    if (!vcpu_is_armed(v)) {
        return false;
    }
    buffer_close(v);
    buffer_open(v, next);
    return true;
}

void buffer_put_block(Vcpu *v, uint32_t key)
{
    GxBuffer *b = v->elem->cursor;
    const uint64_t word = b->word;
    const uint32_t slot = gx_slot(b->history);
    uint8_t *p;

    b->history = gx_step(b->history, key);
    if (v->table->first[slot] == key) { /* it was only asked for attention */
        __atomic_store_n(&b->word, word + 1, __ATOMIC_RELAXED);
        return;
    }
    p = b->tokens + buffer_word_bytes(word);
    if (v->table->second[slot] == key) {
        p = buffer_put_head(p, word & GX_WORD_RUN_MASK, GX_TOKEN_SECOND);
        gx_take_second(v->table, slot);
    } else {
        p = buffer_put_head(p, word & GX_WORD_RUN_MASK, GX_TOKEN_NEW);
        p = gx_leb_put(p, gx_id(key));
        gx_take_new(v->table, slot, key);
    }
    buffer_publish(b, p);
}
