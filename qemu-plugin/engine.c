/*
 * The trap stack: tells what the program did from what interrupted it. The rules, with their numbers, are in
 * docs/reconstruction.md.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>

#include "replay.h"

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

static bool is_indirect(const GxBlocks *b, uint32_t id)
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
    return is_indirect(b, from) || follows_exactly(b, from, address);
}

uint32_t gx_edge_flags(GxReplay *r, uint32_t from, uint32_t to)
{
    const GxBlocks *b = &r->blocks;
    const uint8_t kind = b->end_kind[from];
    const uint64_t address = b->address[to];
    uint32_t flags = 0;

    if (follows_exactly(b, from, address)) {
        if (address == b->last[from] && address != b->end[from] && (b->flags[from] & GX_FLAG_MEMORY) &&
            !(b->flags[from] & GX_FLAG_REPEAT)) {
            flags |= GX_EDGE_RESTART;
        }
        if (kind == GX_END_CALL && address != b->end[from]) {
            flags |= GX_EDGE_CONTROL;
        }
        return flags;
    }
    if (!is_indirect(b, from)) {
        return GX_EDGE_SPECIAL;
    }
    if (!r->has_events && gx_set_has(&r->vectors, address)) {
        return GX_EDGE_SPECIAL;
    }
    if (kind == GX_END_CALL_INDIRECT || kind == GX_END_RETURN || (b->flags[from] & GX_FLAG_MAY_EXC_RETURN)) {
        flags |= GX_EDGE_CONTROL;
    }
    return flags;
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

/* --- interrupted contexts --------------------------------------------------------------------------------------------- */

typedef enum { FIT_NONE, FIT_POSSIBLE, FIT_EXACT } Fit;

/* Could the context go on at this address? Rule T4. */
static Fit fits(const GxBlocks *b, const GxContext *c, uint64_t address)
{
    if (!c->from) {
        return FIT_NONE;
    }
    if (c->begun) {
        return address == insn_address(b, c->from, c->begun) || address == insn_address(b, c->from, c->begun - 1)
                   ? FIT_EXACT
                   : FIT_NONE;
    }
    if (follows_exactly(b, c->from, address) || (address == b->last[c->from] && !is_indirect(b, c->from))) {
        return FIT_EXACT;
    }
    return is_indirect(b, c->from) ? FIT_POSSIBLE : FIT_NONE;
}

static void suspend(GxReplay *r, GxEngine *e, GxContext c)
{
    if (!c.from) {
        return;
    }
    if (e->n_suspended == GX_SUSPENDED_MAX) {
        r->stats.dropped_contexts++;
        for (uint32_t i = 1; i < e->n_suspended; i++) {
            e->suspended[i - 1] = e->suspended[i];
        }
        e->n_suspended--;
    }
    e->suspended[e->n_suspended++] = c;
}

/* The newest suspended context that fits best; -1: none. */
static int find_suspended(GxReplay *r, const GxEngine *e, uint64_t address, Fit at_least)
{
    int found = -1;
    Fit best = at_least - 1;
    bool twice = false;

    for (int i = (int)e->n_suspended - 1; i >= 0; i--) {
        const Fit fit = fits(&r->blocks, &e->suspended[i], address);

        if (fit > best) {
            best = fit;
            found = i;
            twice = false;
        } else if (fit == best && found >= 0 && fit >= at_least &&
                   (e->suspended[i].from != e->suspended[found].from ||
                    e->suspended[i].begun != e->suspended[found].begun)) {
            twice = true;
        }
    }
    r->stats.ambiguous += twice;
    return found;
}

static void remove_suspended(GxEngine *e, int at)
{
    for (uint32_t i = (uint32_t)at + 1; i < e->n_suspended; i++) {
        e->suspended[i - 1] = e->suspended[i];
    }
    e->n_suspended--;
}

/* The program goes on in context c at block id: the edge that the trap had hidden. */
static void resume(GxReplay *r, const GxContext *c, uint32_t id)
{
    uint32_t edge;

    if (c->begun || r->blocks.address[id] == r->blocks.last[c->from]) {
        r->continued[id]++; /* inside a block: no edge */
        return;
    }
    if ((edge = gx_edges_find(r, c->from, id))) {
        r->edges.edges[edge].recovered++;
    }
}

/* --- entry and return ------------------------------------------------------------------------------------------------- */

static uint32_t trap_index(GxReplay *r, uint32_t from, uint32_t begun, uint32_t to, uint32_t source)
{
    for (uint32_t i = r->n_traps; i > 0; i--) {
        const GxTrap *t = &r->traps[i - 1];

        if (t->from == from && t->begun == begun && t->to == to && t->source == source) {
            return i - 1;
        }
    }
    if (r->n_traps == r->traps_capacity) {
        const uint32_t capacity = r->traps_capacity ? r->traps_capacity * 2 : 256;
        GxTrap *traps = realloc(r->traps, capacity * sizeof(*traps));

        if (!traps) {
            r->error = "no memory for the trap table";
            return 0;
        }
        r->traps = traps;
        r->traps_capacity = capacity;
    }
    r->traps[r->n_traps] = (GxTrap){.from = from, .begun = begun, .to = to, .source = source};
    return r->n_traps++;
}

/*
 * A handler's address is known now: edges from indirect branches to it are the engine's from now on. What was counted as
 * an edge before is told (`late`), so that the caller can begin anew with the addresses learned.
 */
static void learn_vector(GxReplay *r, uint64_t address)
{
    if (gx_set_has(&r->vectors, address) || !gx_set_add(&r->vectors, address)) {
        return;
    }
    gx_edges_flush(&r->edges);
    for (uint32_t n = 1; n < r->edges.count; n++) {
        GxEdge *edge = &r->edges.edges[n];

        if (r->blocks.address[edge->to] == address && !(edge->flags & GX_EDGE_SPECIAL)) {
            edge->flags = gx_edge_flags(r, edge->from, edge->to);
            if (edge->flags & GX_EDGE_SPECIAL) {
                r->stats.late += edge->count;
                gx_edges_uncache(&r->edges, edge->from);
            }
        }
    }
}

static void enter(GxReplay *r, GxVcpu *v, GxContext interrupted, uint32_t id, uint32_t base, bool tail_chained,
                  bool maybe_call)
{
    GxEngine *e = &v->engine;
    const uint32_t source = v->trap_event ? GX_TRAP_SOURCE_EVENT : GX_TRAP_SOURCE_INFERRED;
    const uint32_t trap = trap_index(r, interrupted.from, interrupted.begun, id, source);

    if (r->error) {
        return;
    }
    if (e->n_frames == GX_FRAMES_MAX) { /* handlers that never return: the oldest is given up */
        r->stats.abandoned++;
        for (uint32_t i = 1; i < e->n_frames; i++) {
            e->frames[i - 1] = e->frames[i];
        }
        e->n_frames--;
    }
    r->traps[trap].count++;
    r->traps[trap].tail_chained += tail_chained;
    r->stats.traps++;
    r->stats.tail_chains += tail_chained;
    e->frames[e->n_frames++] =
        (GxFrame){.interrupted = interrupted, .entry = id, .base = base, .trap = trap, .maybe_call = maybe_call};
    r->stats.max_nesting = e->n_frames > r->stats.max_nesting ? e->n_frames : r->stats.max_nesting;
    learn_vector(r, r->blocks.address[id]);
}

/* A trap returned, and control is at block id. Rules R1 to R6. */
static void leave(GxReplay *r, GxVcpu *v, uint32_t id)
{
    GxEngine *e = &v->engine;
    const uint64_t address = r->blocks.address[id];
    GxFrame top = e->frames[--e->n_frames];
    int at;

    r->stats.trap_returns++;
    e->n_calls = top.base;
    if (v->trap_event || (!r->has_events && gx_set_has(&r->vectors, address) &&
                          fits(&r->blocks, &top.interrupted, address) != FIT_EXACT)) { /* R1: tail-chained */
        enter(r, v, top.interrupted, id, top.base, true, false);
        return;
    }
    if (fits(&r->blocks, &top.interrupted, address) == FIT_EXACT) { /* R2 */
        resume(r, &top.interrupted, id);
        return;
    }
    for (uint32_t i = e->n_frames; i > 0; i--) { /* R3: handlers above it are given up */
        if (fits(&r->blocks, &e->frames[i - 1].interrupted, address) == FIT_EXACT) {
            r->stats.abandoned += e->n_frames - i + 1;
            resume(r, &e->frames[i - 1].interrupted, id);
            e->n_frames = i - 1;
            e->n_calls = e->frames[i - 1].base;
            return;
        }
    }
    if ((at = find_suspended(r, e, address, FIT_EXACT)) < 0 && /* R4, R5 */
        fits(&r->blocks, &top.interrupted, address) == FIT_POSSIBLE) {
        resume(r, &top.interrupted, id);
        return;
    }
    if (at < 0) {
        at = find_suspended(r, e, address, FIT_POSSIBLE);
    }
    if (at >= 0) {
        const GxContext c = e->suspended[at];

        remove_suspended(e, at);
        resume(r, &c, id);
        r->stats.task_switches++;
    } else { /* R6 */
        r->stats.context_starts++;
    }
    suspend(r, e, top.interrupted);
}

void gx_engine_reset(GxReplay *r, GxVcpu *v)
{
    r->stats.abandoned += v->engine.n_frames;
    v->engine.n_frames = 0;
    v->engine.n_calls = 0;
    v->engine.n_suspended = 0;
}

/* --- one step --------------------------------------------------------------------------------------------------------- */

static void push_call(GxReplay *r, GxEngine *e, uint64_t return_address)
{
    if (e->n_calls == GX_CALLS_MAX) { /* the outermost half is forgotten */
        r->stats.unmatched_returns++;
        for (uint32_t i = GX_CALLS_MAX / 2; i < GX_CALLS_MAX; i++) {
            e->calls[i - GX_CALLS_MAX / 2] = e->calls[i];
        }
        e->n_calls /= 2;
    }
    e->calls[e->n_calls++] = return_address;
}

/* A return inside a handler, to a call made there? Rule C2. */
static bool pop_call(GxReplay *r, GxEngine *e, uint64_t address)
{
    const uint32_t base = e->frames[e->n_frames - 1].base;

    for (uint32_t i = e->n_calls; i > base; i--) {
        if (e->calls[i - 1] == address) {
            r->stats.unmatched_returns += e->n_calls - i;
            e->n_calls = i - 1;
            return true;
        }
    }
    return false;
}

/* What seemed a trap was an indirect call of a handler: it returned to after the call. Rule C3. */
static bool was_call(GxReplay *r, GxEngine *e, uint64_t address)
{
    GxFrame *top = &e->frames[e->n_frames - 1];
    uint32_t edge;

    if (!top->maybe_call || e->n_calls != top->base || address != r->blocks.end[top->interrupted.from]) {
        return false;
    }
    if ((edge = gx_edges_find(r, top->interrupted.from, top->entry))) {
        r->edges.edges[edge].recovered++;
    }
    r->traps[top->trap].count--;
    r->stats.traps--;
    e->n_frames--;
    return true;
}

/* Calls and returns while in a handler. True: an edge of the program. */
static bool in_handler(GxReplay *r, GxVcpu *v, uint32_t id)
{
    const GxBlocks *b = &r->blocks;
    GxEngine *e = &v->engine;
    const uint32_t prev = v->prev;
    const uint64_t address = b->address[id];
    const GxFrame *top = &e->frames[e->n_frames - 1];

    if ((b->flags[prev] & GX_FLAG_CONDITIONAL) && address == b->end[prev]) {
        return true;
    }
    switch (b->end_kind[prev]) {
    case GX_END_CALL:
    case GX_END_CALL_INDIRECT:
        push_call(r, e, b->end[prev]);
        return true;
    case GX_END_RETURN:
        if (pop_call(r, e, address) || was_call(r, e, address)) {
            return true;
        }
        if (!(b->flags[prev] & GX_FLAG_MAY_EXC_RETURN)) {
            r->stats.unmatched_returns++;
            return true;
        }
        leave(r, v, id);
        return false;
    case GX_END_JUMP_INDIRECT: /* a jump through a pointer, unless it goes where something was interrupted */
        if ((b->flags[prev] & GX_FLAG_MAY_EXC_RETURN) && e->n_calls == top->base &&
            (v->trap_event || fits(b, &top->interrupted, address) == FIT_EXACT ||
             find_suspended(r, e, address, FIT_EXACT) >= 0 || (!r->has_events && gx_set_has(&r->vectors, address)))) {
            leave(r, v, id);
            return false;
        }
        return true;
    default:
        return true;
    }
}

bool gx_engine_step(GxReplay *r, GxVcpu *v, uint32_t id)
{
    const GxBlocks *b = &r->blocks;
    GxEngine *e = &v->engine;
    const GxContext now = {.from = v->prev, .begun = v->cut};
    const uint64_t address = b->address[id];
    const bool trap_return = v->prev && !v->cut && b->end_kind[v->prev] == GX_END_TRAP_RETURN;
    const bool exc_return = v->prev && !v->cut && e->n_frames && (b->flags[v->prev] & GX_FLAG_MAY_EXC_RETURN);

    if (trap_return && e->n_frames) {
        leave(r, v, id);
        return false;
    }
    if (v->trap_event) { /* T1 */
        if (exc_return && e->n_calls == e->frames[e->n_frames - 1].base) {
            leave(r, v, id); /* the handler ended and another began */
        } else {
            enter(r, v, now, id, e->n_calls, false, false);
        }
        return false;
    }
    if (v->cut) {
        if (fits(b, &now, address) == FIT_EXACT) {
            r->continued[id]++; /* QEMU went on inside the block */
            return false;
        }
    } else if (gx_may_follow(b, v->prev, address)) {
        if (!is_indirect(b, v->prev) || r->has_events || !gx_set_has(&r->vectors, address)) {
            return e->n_frames ? in_handler(r, v, id) : true;
        }
        if (exc_return && b->end_kind[v->prev] != GX_END_CALL_INDIRECT && !pop_call(r, e, address) &&
            e->n_calls == e->frames[e->n_frames - 1].base) {
            leave(r, v, id); /* R1 */
            return false;
        }
    }
    if (gx_set_has(&r->resets, address)) { /* T5 */
        gx_engine_reset(r, v);
        r->stats.resets++;
        return false;
    }
    if (trap_return) { /* no trap was open: the start of a program at a lower privilege */
        r->stats.context_starts++;
        return false;
    }
    if (r->has_events) {
        r->stats.unexplained++;
        return false;
    }
    enter(r, v, now, id, e->n_calls, false, !v->cut && b->end_kind[v->prev] == GX_END_CALL_INDIRECT); /* T2, T3 */
    return false;
}
