/*
 * Returns from interrupts and exceptions: what goes on. docs/reconstruction.md, rules R.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "state.h"

/* The handler in which the recording began is over: its task begins where it goes on. */
static void begin_below(GxReplay *r, GxVcpu *v, uint32_t id)
{
    GxEngine *e = &v->engine;
    GxTask *t = &e->tasks[e->task];

    if (t->switches_in == 1) {
        t->entry_fn = r->blocks.fn_first[id];
    }
    gx_set_add(&r->task_starts, r->blocks.address[id]); /* T7 */
    gx_stack_begin(r, &t->stack, id, GX_NODE_TASK);
    if (r->observed) {
        gx_slices_run(r, e, true, 0);
    }
    e->began_self = t->self;
    gx_trap_begins_inside(r, v); /* another one, which the first had interrupted */
}

/* The stack that was interrupted goes on at block id: the edge that the trap had hidden. */
static void resume(GxReplay *r, GxVcpu *v, const GxContext *c, uint32_t id)
{
    uint32_t edge;

    if (c->begun || r->blocks.address[id] == r->blocks.last[c->from]) {
        r->continued[id]++; /* inside a block: no edge */
        return;
    }
    if ((edge = gx_edges_find(r, c->from, id))) {
        r->edges.edges[edge].recovered++;
        gx_tasks_edge(r, v, c->from, id);
    }
}

/* Task `at` goes on, another one is suspended already. */
static void resume_task(GxReplay *r, GxVcpu *v, uint32_t at, bool ambiguous, uint32_t id)
{
    GxEngine *e = &v->engine;
    const GxContext place = e->tasks[at].place;

    gx_task_switch(r, e, at);
    e->tasks[at].doubtful = ambiguous;
    r->stats.ambiguous += ambiguous;
    resume(r, v, &place, id);
}

bool gx_trap_resume_task(GxReplay *r, GxVcpu *v, uint32_t id)
{
    bool ambiguous;
    const int at = gx_task_find(r, &v->engine, r->blocks.address[id], GX_FIT_AGAIN, gx_probe(v), &ambiguous);
    const GxTask *t = &v->engine.tasks[v->engine.task];
    GxContext place = {.from = 0};

    if (at < 0) {
        return false;
    }
    if (t->began_at && !r->has_events && !gx_stack_switches(&t->stack)) {
        gx_trap_learn(r, t->began_at - 1); /* no task, but a handler that came directly after another one */
    }
    if (gx_stack_switches(&t->stack)) {
        gx_set_add(&r->schedulers, t->stack.frames[t->stack.n - 1].fn);
    }
    gx_switch_place(&v->engine, &place);
    gx_task_suspend(r, v, place);
    resume_task(r, v, (uint32_t)at, ambiguous, id);
    return true;
}

/* A trap returned, and control is at block id. Rules R1 to R6. */
void gx_trap_leave(GxReplay *r, GxVcpu *v, uint32_t id)
{
    GxEngine *e = &v->engine;
    const uint64_t address = r->blocks.address[id];
    const GxLevel closed = e->levels[e->n_levels - 1];
    GxProbe room;
    const GxProbe *now = gx_probe_leaving(v, &closed, &room);
    GxContext c = (gx_trap_close(r, v), gx_probe_below(&closed));
    const GxStack *below = gx_engine_stack(e);
    bool ambiguous;
    GxFit fit;
    int at;

    r->stats.trap_returns++;
    if (v->trap_event || ((gx_probe_begins_m(now) || (gx_trap_infers_chains(r) && gx_set_has(&r->vectors, address))) &&
                          gx_context_fits(r, below, &c, address, now) < GX_FIT_AGAIN)) { /* R1: tail-chained */
        gx_trap_enter(r, v, closed.interrupted, id, true, false);
        e->levels[e->n_levels - 1].restored = closed.restored;
        e->levels[e->n_levels - 1].has_restored = closed.has_restored;
        return;
    }
    fit = gx_context_fits(r, below, &c, address, now);
    at = fit >= GX_FIT_AGAIN && gx_probe_sp(now, &c) != GX_SP_SAME ? gx_task_find(r, e, address, fit, now, &ambiguous)
                                                                   : -1;
    r->stats.ambiguous += at >= 0;
    if (fit == GX_FIT_EXACT ||
        (fit == GX_FIT_AGAIN && (at < 0 || gx_context_fits(r, &e->tasks[at].stack, &e->tasks[at].place, address, now) ==
                                               GX_FIT_AGAIN))) { /* R2 */
        resume(r, v, &c, id);
        return;
    }
    for (uint32_t i = e->n_levels; i > 0; i--) { /* R3: handlers above it are given up */
        const GxContext older = e->levels[i - 1].interrupted;

        if (gx_context_fits(r, gx_stack_below(e, i), &older, address, now) >= GX_FIT_AGAIN) {
            r->stats.abandoned += e->n_levels - i + 1;
            gx_engine_charge_context(r, v);
            if (r->observed) {
                gx_slices_levels(r, e, i - 1, GX_SLICE_OPEN_END);
            }
            e->n_levels = i - 1;
            resume(r, v, &older, id);
            return;
        }
    }
    if ((at = gx_task_find(r, e, address, GX_FIT_AGAIN, now, &ambiguous)) < 0 && /* R4, R5 */
        gx_context_fits(r, below, &c, address, now) == GX_FIT_POSSIBLE) {
        resume(r, v, &c, id);
        return;
    }
    if (at < 0) {
        at = gx_task_find(r, e, address, GX_FIT_POSSIBLE, now, &ambiguous);
    }
    if (at < 0 && now->leaving && !(closed.has_restored && e->restores_match)) { /* P9 */
        at = gx_task_find(r, e, address, GX_FIT_AGAIN, NULL, &ambiguous);
        e->restores_unseen |= at >= 0 && !closed.has_restored;
    }
    if (at < 0 && fit == GX_FIT_NONE && gx_context_fits(r, below, &c, address, NULL) >= GX_FIT_AGAIN) {
        r->stats.ambiguous++; /* P4: the handler moved the stack pointer of what it had interrupted */
        resume(r, v, &c, id);
        return;
    }
    if (e->n_levels) { /* the task itself was interrupted by the oldest */
        r->stats.abandoned += e->n_levels;
        c = e->levels[0].interrupted;
        if (r->observed) {
            gx_slices_levels(r, e, 0, GX_SLICE_OPEN_END);
        }
        e->n_levels = 0;
    }
    if (!e->tasks[e->task].stack.n) { /* T9 */
        begin_below(r, v, id);
        return;
    }
    gx_task_suspend(r, v, c);
    if (at >= 0) {
        e->restores_match |= now->leaving && gx_probe_sp(now, &e->tasks[at].place) == GX_SP_SAME;
        resume_task(r, v, (uint32_t)at, ambiguous, id);
    } else if ((at = gx_task_scheduler(r, e, address, gx_probe(v))) >= 0) {
        gx_task_switch(r, e, (uint32_t)at);
        if (r->observed) {
            gx_slices_cut(r, &e->tasks[at].stack, 1, 0);
        }
        e->tasks[at].stack.n = 1;
    } else { /* R6 */
        gx_task_begin(r, e, id);
        e->tasks[e->task].began_at = address + 1;
        e->tasks[e->task].has_began_sp = gx_probe_stack(gx_probe(v), &e->tasks[e->task].began_sp);
        gx_set_add(&r->task_starts, address);
    }
}
