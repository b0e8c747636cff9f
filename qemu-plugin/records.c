/*
 * Tables of trap entries and of blocks that were left in the middle: one row for each kind, found by the block it is about.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>

#include "state.h"

/* Room for one more row of `size` bytes; the chain of each row goes with it. */
static bool grow(void **rows, uint32_t **next, uint32_t n, uint32_t *capacity, size_t size)
{
    const uint32_t bigger = *capacity ? *capacity * 2 : 256;
    void *p;

    if (n < *capacity) {
        return true;
    }
    if (!(p = realloc(*rows, bigger * size))) {
        return false;
    }
    *rows = p;
    if (!(p = realloc(*next, bigger * sizeof(**next)))) {
        return false;
    }
    *next = p;
    *capacity = bigger;
    return true;
}

uint32_t gx_trap_row(GxReplay *r, uint32_t from, uint32_t begun, uint32_t to, uint32_t source)
{
    uint32_t n;

    for (n = r->first_trap[from]; n; n = r->next_trap[n - 1]) {
        const GxTrap *t = &r->traps[n - 1];

        if (t->begun == begun && t->to == to && t->source == source) {
            return n - 1;
        }
    }
    if (!grow((void **)&r->traps, &r->next_trap, r->n_traps, &r->traps_capacity, sizeof(*r->traps))) {
        r->error = "no memory for the trap table";
        return 0;
    }
    n = r->n_traps++;
    r->traps[n] = (GxTrap){.from = from, .begun = begun, .to = to, .source = source};
    r->next_trap[n] = r->first_trap[from];
    r->first_trap[from] = n + 1;
    return n;
}

bool gx_cut_count(GxReplay *r, uint32_t block, uint32_t begun)
{
    uint32_t n;

    for (n = r->first_cut[block]; n; n = r->next_cut[n - 1]) {
        if (r->cuts[n - 1].begun == begun) {
            r->cuts[n - 1].count++;
            return true;
        }
    }
    if (!grow((void **)&r->cuts, &r->next_cut, r->n_cuts, &r->cuts_capacity, sizeof(*r->cuts))) {
        return false;
    }
    n = r->n_cuts++;
    r->cuts[n] = (GxCut){.block = block, .begun = begun, .count = 1};
    r->next_cut[n] = r->first_cut[block];
    r->first_cut[block] = n + 1;
    return true;
}
