/*
 * The trap stack: entries of interrupts and exceptions, and how they are closed. docs/reconstruction.md, rules T.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>

#include "state.h"

/* --- entry --------------------------------------------------------------------------------------------------------------- */

/*
 * A handler's address is known now: edges from indirect branches to it are the engine's from now on. What was counted as
 * an edge before is told (`late`), so that the caller can begin anew with the addresses learned.
 */
void gx_trap_learn(GxReplay *r, uint64_t address)
{
    if (gx_set_has(&r->vectors, address) || !gx_set_add(&r->vectors, address)) {
        return;
    }
    r->stats.late += gx_set_has(&r->task_starts, address);
    gx_strides_clear(r);
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

/* By the offset in the vector table; 0: it does not tell. Arm ARM D1.10.2 (AArch64), B1.8.1 (AArch32). */
static unsigned kind_by_offset(int profile, uint64_t address)
{
    if (profile == GX_PROFILE_AARCH64 && !(address & 0x7f)) {
        return address & 0x180 ? GX_NODE_INTERRUPT : GX_NODE_EXCEPTION;
    }
    if (profile == GX_PROFILE_A32 && !(address & 3) && (address & 0x1f)) {
        return (address & 0x1f) >= 0x18 ? GX_NODE_INTERRUPT : GX_NODE_EXCEPTION;
    }
    return 0;
}

/* Rule T8. */
static unsigned trap_kind(const GxReplay *r, const GxVcpu *v, GxContext interrupted, uint64_t address,
                          bool tail_chained)
{
    const GxBlocks *b = &r->blocks;
    const uint32_t from = interrupted.from;
    const unsigned by_offset = kind_by_offset(r->profile, address);

    if (gx_set_has(&r->interrupts, address)) {
        return GX_NODE_INTERRUPT;
    }
    if (gx_set_has(&r->exceptions, address)) {
        return GX_NODE_EXCEPTION;
    }
    if (by_offset) {
        return by_offset;
    }
    if (v->trap_event == 2) {
        return GX_NODE_EXCEPTION;
    }
    if (gx_probe_kind(gx_probe(v))) { /* P6 */
        return gx_probe_kind(gx_probe(v));
    }
    if (v->trap_event == 1 && r->profile != GX_PROFILE_X86) { /* there QEMU (11.1) calls exceptions interrupts too */
        return GX_NODE_INTERRUPT;
    }
    if (tail_chained) { /* the interrupted instruction did not begin again */
        return GX_NODE_INTERRUPT;
    }
    if (from && !interrupted.begun && b->end_kind[from] == GX_END_TRAP_CALL) {
        return GX_NODE_EXCEPTION;
    }
    if (!from || interrupted.begun || gx_is_indirect(b, from) || (b->flags[from] & GX_FLAG_MEMORY)) {
        return GX_NODE_TRAP; /* a fault, or an interrupt that came just there */
    }
    return GX_NODE_INTERRUPT;
}

/* Does the newest handler wait in a scheduler's loop, to which it went on? Then it is over. Rule S7. */
static bool waits_in_scheduler(const GxReplay *r, const GxEngine *e)
{
    const GxLevel *top = e->n_levels ? &e->levels[e->n_levels - 1] : NULL;
    const GxFrame *frame = top && top->stack.n ? &top->stack.frames[top->stack.n - 1] : NULL;

    return frame && !top->probed && frame->tail && gx_stack_at_base(&top->stack) &&
           gx_set_has(&r->schedulers, frame->fn);
}

void gx_trap_enter(GxReplay *r, GxVcpu *v, GxContext interrupted, uint32_t id, bool tail_chained, bool maybe_call)
{
    GxEngine *e = &v->engine;
    const uint64_t address = r->blocks.address[id];
    const GxProbe *now = gx_probe(v);
    const bool waited = !tail_chained && waits_in_scheduler(r, e);
    const uint32_t source = v->trap_event == GX_TRAP_EVENT_PROBE || (!v->trap_event && gx_probe_begins_m(now))
                                ? GX_TRAP_SOURCE_PROBE
                            : v->trap_event ? GX_TRAP_SOURCE_EVENT
                                            : GX_TRAP_SOURCE_INFERRED;
    const uint32_t trap = gx_trap_row(r, interrupted.from, interrupted.begun, id, source);
    const unsigned kind = trap_kind(r, v, interrupted, address, tail_chained);
    GxHandler *h = gx_handler(r, address);
    GxLevel *level;

    if (r->error) {
        return;
    }
    gx_engine_charge_context(r, v);
    if (waited) {
        interrupted = gx_trap_close(r, v);
        r->stats.trap_returns++;
    }
    if (e->n_levels == GX_LEVELS_MAX) { /* handlers that never return: the oldest is given up */
        const GxStack stack = e->levels[0].stack;
        const GxContext task_place = e->levels[0].interrupted;

        r->stats.abandoned++;
        memmove(e->levels, e->levels + 1, (GX_LEVELS_MAX - 1) * sizeof(*e->levels));
        e->levels[0].interrupted = task_place;
        e->levels[GX_LEVELS_MAX - 1].stack = stack;
        e->n_levels--;
    }
    if (!waited && (!tail_chained || !interrupted.has_sp)) { /* nothing ran since: it stays suspended as it was */
        gx_probe_interrupted(now, e->n_levels == 0, &interrupted);
    }
    level = &e->levels[e->n_levels++];
    level->interrupted = interrupted;
    level->has_restored = false;
    level->probed = gx_probe_exception(now, &level->exception);
    level->entry = id;
    level->trap = trap;
    level->handler = (uint32_t)(h - r->handlers);
    level->maybe_call = maybe_call;
    level->partial = false;
    level->self = 0;
    gx_stack_begin(r, &level->stack, id, kind);
    r->traps[trap].count++;
    r->traps[trap].tail_chained += tail_chained;
    r->stats.traps++;
    r->stats.tail_chains += tail_chained;
    r->stats.max_nesting = e->n_levels > r->stats.max_nesting ? e->n_levels : r->stats.max_nesting;
    h->count++;
    h->kinds |= 1u << kind;
    h->tail_chained += tail_chained;
    h->max_nesting = e->n_levels > h->max_nesting ? e->n_levels : h->max_nesting;
    if (h->last_entry) {
        gx_histogram_add(&h->period, v->n_insns + 1 - h->last_entry);
    }
    h->last_entry = v->n_insns + 1;
    gx_trap_learn(r, address);
}

/* --- a recording that begins in a handler -------------------------------------------------------------------------------- */

/* Where the handler begins that function fn is part of, as far as is known; else `address`. */
static uint64_t handler_start(const GxReplay *r, uint32_t fn, uint64_t address)
{
    const GxBlocks *b = &r->blocks;

    for (uint32_t i = 0; i < r->n_handler_fns; i++) {
        if (r->handler_fns[i].fn == fn) {
            return r->handler_fns[i].address;
        }
    }
    for (uint32_t id = 1; fn && id < b->count; id++) {
        if (b->fn_first[id] == fn && b->is_entry[id]) {
            return b->address[id];
        }
    }
    return address;
}

void gx_trap_began_inside(GxReplay *r, GxVcpu *v)
{
    GxEngine *e = &v->engine;
    GxTask *t = &e->tasks[e->task];
    const uint64_t address = handler_start(r, t->stack.frames[0].fn, r->blocks.address[v->prev]);
    const unsigned kind = trap_kind(r, v, (GxContext){.from = 0}, address, false);
    GxHandler *h = gx_handler(r, address);
    GxLevel *level = &e->levels[0];
    const GxStack empty = level->stack;

    if (r->error) {
        return;
    }
    gx_engine_charge_context(r, v);
    h->kinds |= 1u << kind;
    h->max_nesting = h->max_nesting ? h->max_nesting : 1;
    *level = (GxLevel){.stack = t->stack, .handler = (uint32_t)(h - r->handlers), .partial = true};
    level->self = t->self - e->began_self;
    h->self += level->self;
    t->self = e->began_self;
    t->run_start = e->began_self;
    t->stack = empty;
    t->stack.n = 0;
    e->n_levels = 1;
    e->stack = &level->stack;
    if (r->observed) {
        gx_slices_began_inside(r, e, kind);
    }
    gx_tree_rekind(&r->tree, level->stack.frames[0].node, kind);
    for (uint32_t i = 0; i < e->n_began; i++) {
        gx_tree_rekind(&r->tree, e->began[i], kind);
    }
    e->n_began = 0;
}

void gx_trap_begins_inside(GxReplay *r, GxVcpu *v)
{
    GxEngine *e = &v->engine;
    const GxStack *s = &e->tasks[e->task].stack;

    if (!e->inside || e->n_levels || s->n != 1 || s->frames[0].has_ret) {
        return;
    }
    for (uint32_t i = 0; r->profile == GX_PROFILE_M && i < r->n_handler_fns; i++) {
        if (r->handler_fns[i].fn == s->frames[0].fn) {
            gx_trap_began_inside(r, v);
            return;
        }
    }
    if (e->n_began < GX_BEGAN_MAX) {
        e->began[e->n_began++] = s->frames[0].node;
    } else {
        e->inside = false;
    }
}

/* --- end ------------------------------------------------------------------------------------------------------------------ */

GxContext gx_trap_close(GxReplay *r, GxVcpu *v)
{
    const GxLevel *level;

    gx_engine_charge_context(r, v);
    if (r->observed) {
        gx_slices_levels(r, &v->engine, v->engine.n_levels - 1, 0);
    }
    level = &v->engine.levels[--v->engine.n_levels];
    if (!level->partial) {
        gx_histogram_add(&r->handlers[level->handler].insns, level->self);
    }
    return level->interrupted;
}

/* QEMU reports no trap where Cortex-M takes the next exception as part of the return from one. */
bool gx_trap_infers_chains(const GxReplay *r) { return r->profile == GX_PROFILE_M || !r->has_events; }

GxContext gx_trap_close_all(GxReplay *r, GxVcpu *v)
{
    GxEngine *e = &v->engine;
    GxContext c = gx_trap_close(r, v);

    r->stats.trap_returns++;
    if (e->n_levels) { /* the task itself was interrupted by the oldest */
        r->stats.abandoned += e->n_levels;
        c = e->levels[0].interrupted;
        if (r->observed) {
            gx_slices_levels(r, e, 0, GX_SLICE_OPEN_END);
        }
        e->n_levels = 0;
    }
    return c;
}
