/*
 * Where a block may go by itself, and where an interrupted one may go on. docs/reconstruction.md, rules F and T4.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>

#include "state.h"

/* --- sets of addresses ------------------------------------------------------------------------------------------------ */

static uint32_t slot_of(const GxAddressSet *s, uint64_t address)
{
    uint32_t i = (uint32_t)((address * 0x9E3779B97F4A7C15ull) >> 32) & (s->size - 1);

    while (s->slots[i] && s->slots[i] != address + 1) {
        i = (i + 1) & (s->size - 1);
    }
    return i;
}

bool gx_set_has(const GxAddressSet *s, uint64_t address) { return s->size && s->slots[slot_of(s, address)]; }

bool gx_set_add(GxAddressSet *s, uint64_t address)
{
    if (s->count * 2 >= s->size) {
        GxAddressSet bigger = {.size = s->size ? s->size * 2 : 64, .count = s->count};

        if (!(bigger.slots = calloc(bigger.size, sizeof(*bigger.slots)))) {
            return false;
        }
        for (uint32_t i = 0; i < s->size; i++) {
            if (s->slots[i]) {
                bigger.slots[slot_of(&bigger, s->slots[i] - 1)] = s->slots[i];
            }
        }
        free(s->slots);
        *s = bigger;
    }
    if (!gx_set_has(s, address)) {
        s->slots[slot_of(s, address)] = address + 1;
        s->count++;
    }
    return true;
}

/* --- what may follow a block ------------------------------------------------------------------------------------------ */

bool gx_is_indirect(const GxBlocks *b, uint32_t id)
{
    switch (b->end_kind[id]) {
    case GX_END_CALL_INDIRECT:
    case GX_END_JUMP_INDIRECT:
    case GX_END_RETURN:
    case GX_END_UNKNOWN:
        return true;
    default:
        return false;
    }
}

/* Exactly: one of the addresses that its bytes name. */
static bool follows_exactly(const GxBlocks *b, uint32_t from, uint64_t address)
{
    const uint8_t kind = b->end_kind[from];

    if (address == b->end[from] && (kind == GX_END_FALL || kind == GX_END_COND || kind == GX_END_TRAP_CALL ||
                                    b->flags[from] & GX_FLAG_CONDITIONAL)) {
        return true;
    }
    if (address == b->target[from] && (kind == GX_END_JUMP || kind == GX_END_COND || kind == GX_END_CALL)) {
        return true;
    }
    /* REP goes round; QEMU begins a memory access again (watchpoint, code that changes itself). */
    return address == b->last[from] && (b->flags[from] & (GX_FLAG_REPEAT | GX_FLAG_MEMORY));
}

bool gx_may_follow(const GxBlocks *b, uint32_t from, uint64_t address)
{
    return gx_is_indirect(b, from) || follows_exactly(b, from, address);
}

uint32_t gx_edge_flags(GxReplay *r, uint32_t from, uint32_t to)
{
    const GxBlocks *b = &r->blocks;
    const uint8_t kind = b->end_kind[from];
    const uint64_t address = b->address[to];
    const bool falls = address == b->end[from] && (kind == GX_END_FALL || b->flags[from] & GX_FLAG_CONDITIONAL);

    if (!follows_exactly(b, from, address)) {
        if (!gx_is_indirect(b, from) || (!r->has_events && gx_set_has(&r->vectors, address))) {
            return GX_EDGE_SPECIAL;
        }
    } else if (address == b->last[from] && address != b->end[from] && (b->flags[from] & GX_FLAG_MEMORY) &&
               !(b->flags[from] & GX_FLAG_REPEAT)) {
        return GX_EDGE_RESTART;
    }
    if (b->flags[to] & GX_FLAG_SWITCH) {
        return GX_EDGE_CONTROL;
    }
    if (falls) {
        return b->fn_last[from] != b->fn_first[to] ? GX_EDGE_CONTROL : 0;
    }
    switch (kind) {
    case GX_END_CALL:
    case GX_END_CALL_INDIRECT:
        return GX_EDGE_CONTROL | GX_EDGE_CALL;
    case GX_END_RETURN:
        return GX_EDGE_CONTROL | (gx_set_has(&r->set_jumps, address) ? 0 : GX_EDGE_RETURN);
    case GX_END_JUMP_INDIRECT: /* a table jump inside a function is none; code without a name may do anything */
        if (!b->fn_last[from] && (b->flags[from] & GX_FLAG_MAY_EXC_RETURN)) {
            return GX_EDGE_CONTROL;
        }
        return b->fn_last[from] != b->fn_first[to] ? GX_EDGE_CONTROL : 0;
    default:
        return b->fn_last[from] != b->fn_first[to] ? GX_EDGE_CONTROL : 0;
    }
}

static uint64_t insn_address(const GxBlocks *b, uint32_t id, uint32_t index)
{
    const uint8_t *sizes = b->sizes + b->sizes_at[id];
    uint64_t address = b->address[id];

    for (uint32_t i = 0; i < index && i < b->n_insns[id]; i++) {
        address += sizes[i];
    }
    return address;
}

GxFit gx_fits(const GxBlocks *b, const GxContext *c, uint64_t address)
{
    if (!c->from) {
        return GX_FIT_NONE;
    }
    if (c->begun) {
        if (address == insn_address(b, c->from, c->begun)) {
            return GX_FIT_EXACT;
        }
        return address == insn_address(b, c->from, c->begun - 1) ? GX_FIT_AGAIN : GX_FIT_NONE;
    }
    if (address == b->last[c->from] && !gx_is_indirect(b, c->from) && address != b->target[c->from] &&
        !(b->flags[c->from] & GX_FLAG_REPEAT)) {
        return GX_FIT_AGAIN;
    }
    if (follows_exactly(b, c->from, address)) {
        return GX_FIT_EXACT;
    }
    return gx_is_indirect(b, c->from) ? GX_FIT_POSSIBLE : GX_FIT_NONE;
}
