/*
 * What is kept of each handler: how often and how long it ran.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>

#include "state.h"

#define EXACT_BITS 12

/* The value itself when small, else its 12 highest bits and how far they are shifted. */
static uint32_t key_of(uint64_t value)
{
    unsigned shift = 0;

    while (value >> shift >> EXACT_BITS) {
        shift++;
    }
    return (uint32_t)(shift << EXACT_BITS | value >> shift);
}

static uint64_t value_of(uint32_t key) { return (uint64_t)(key & ((1u << EXACT_BITS) - 1)) << (key >> EXACT_BITS); }

static uint32_t slot_of(const GxHistogram *h, uint32_t key)
{
    uint32_t i = key * 0x9E3779B1u & (h->size - 1);

    while (h->keys[i] && h->keys[i] != key + 1) {
        i = (i + 1) & (h->size - 1);
    }
    return i;
}

static bool grow(GxHistogram *h)
{
    GxHistogram bigger = *h;

    bigger.size = h->size ? h->size * 2 : 32;
    bigger.keys = calloc(bigger.size, sizeof(*bigger.keys));
    bigger.counts = calloc(bigger.size, sizeof(*bigger.counts));
    if (!bigger.keys || !bigger.counts) {
        free(bigger.keys);
        free(bigger.counts);
        return false;
    }
    for (uint32_t i = 0; i < h->size; i++) {
        if (h->keys[i]) {
            const uint32_t at = slot_of(&bigger, h->keys[i] - 1);

            bigger.keys[at] = h->keys[i];
            bigger.counts[at] = h->counts[i];
        }
    }
    free(h->keys);
    free(h->counts);
    *h = bigger;
    return true;
}

void gx_histogram_add(GxHistogram *h, uint64_t value)
{
    const uint32_t key = key_of(value);
    uint32_t at;

    if (h->used * 2 >= h->size && !grow(h)) {
        return;
    }
    at = slot_of(h, key);
    h->used += !h->keys[at];
    h->keys[at] = key + 1;
    h->counts[at]++;
    h->min = !h->n || value < h->min ? value : h->min;
    h->max = value > h->max ? value : h->max;
    h->n++;
}

void gx_histogram_free(GxHistogram *h)
{
    free(h->keys);
    free(h->counts);
}

static int by_key(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    const uint64_t left = value_of(x[0] - 1), right = value_of(y[0] - 1);

    return left < right ? -1 : left > right;
}

/* The lower median. */
uint64_t gx_histogram_median(const GxHistogram *h)
{
    uint32_t(*sorted)[2] = malloc(((size_t)h->used + 1) * sizeof(*sorted));
    uint64_t seen = 0, result = 0;
    uint32_t n = 0;

    if (!sorted) {
        return 0;
    }
    for (uint32_t i = 0; i < h->size; i++) {
        if (h->keys[i]) {
            sorted[n][0] = h->keys[i];
            sorted[n++][1] = i;
        }
    }
    qsort(sorted, n, sizeof(*sorted), by_key);
    for (uint32_t i = 0; i < n; i++) {
        seen += h->counts[sorted[i][1]];
        if (2 * seen >= h->n) {
            result = value_of(sorted[i][0] - 1);
            break;
        }
    }
    free(sorted);
    return result;
}

GxHandler *gx_handler(GxReplay *r, uint64_t address)
{
    for (uint32_t i = 0; i < r->n_handlers; i++) {
        if (r->handlers[i].address == address) {
            return &r->handlers[i];
        }
    }
    if (r->n_handlers == r->handlers_capacity) {
        const uint32_t capacity = r->handlers_capacity ? r->handlers_capacity * 2 : 32;
        GxHandler *handlers = realloc(r->handlers, capacity * sizeof(*handlers));

        if (!handlers) {
            r->error = "no memory for the table of handlers";
            return NULL;
        }
        r->handlers = handlers;
        r->handlers_capacity = capacity;
    }
    r->handlers[r->n_handlers] = (GxHandler){.address = address};
    return &r->handlers[r->n_handlers++];
}
