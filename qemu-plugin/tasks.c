/*
 * Tasks: one stack of calls each, and which of them runs. docs/reconstruction.md, rules S.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>

#include "state.h"

/* --- where instructions go --------------------------------------------------------------------------------------------- */

GxStack *gx_engine_stack(GxEngine *e)
{
    return e->n_levels ? &e->levels[e->n_levels - 1].stack : &e->tasks[e->task].stack;
}

void gx_engine_charge_context(GxReplay *r, GxVcpu *v)
{
    GxEngine *e = &v->engine;
    const uint64_t insns = v->n_insns - e->context_charged;

    gx_engine_charge(r, e, v->n_insns);
    e->context_charged = v->n_insns;
    if (e->n_levels) {
        e->levels[e->n_levels - 1].self += insns;
        r->handlers[e->levels[e->n_levels - 1].handler].self += insns;
    } else if (e->stack->n) {
        e->tasks[e->task].self += insns;
    }
}

bool gx_engine_init(GxEngine *e)
{
    e->tasks = calloc(1, sizeof(*e->tasks));
    e->n_tasks = e->tasks ? 1 : 0;
    e->stack = e->tasks ? &e->tasks[0].stack : NULL;
    return e->tasks != NULL;
}

void gx_engine_free(GxEngine *e)
{
    for (uint32_t i = 0; i < e->n_tasks; i++) {
        gx_stack_free(&e->tasks[i].stack);
    }
    for (uint32_t i = 0; i < GX_LEVELS_MAX; i++) {
        gx_stack_free(&e->levels[i].stack);
    }
    free(e->tasks);
}

/* --- tasks --------------------------------------------------------------------------------------------------------------- */

void gx_task_suspend(GxReplay *r, GxVcpu *v, GxContext place)
{
    GxEngine *e = &v->engine;
    GxTask *t = &e->tasks[e->task];

    gx_engine_charge_context(r, v);
    if (r->observed) {
        gx_slices_run(r, e, false, 0);
    }
    t->place = place;
    t->left = (GxContext){.from = 0};
    if (place.from && gx_stack_switches(&t->stack)) {
        gx_switch_place(e, &t->left);
    }
    if (place.has_sp || place.has_saved || t->left.has_sp) {
        t->sp = t->left.has_sp ? t->left.sp : place.has_sp ? place.sp : place.saved;
        t->has_sp = true;
    }
    t->suspended = true;
    t->suspended_at = ++e->order;
    if (t->self - t->run_start > t->longest_run) {
        t->longest_run = t->self - t->run_start;
    }
}

void gx_task_switch(GxReplay *r, GxEngine *e, uint32_t task)
{
    GxTask *t = &e->tasks[task];

    e->task = task;
    e->inside = false;
    t->suspended = false;
    t->doubtful = false;
    t->place = (GxContext){.from = 0};
    t->switches_in++;
    t->run_start = t->self;
    r->stats.task_switches++;
    if (r->observed) {
        gx_slices_run(r, e, true, 0);
    }
}

/* A task begins at block id; the one that ran is suspended already. */
void gx_task_begin(GxReplay *r, GxEngine *e, uint32_t id)
{
    GxTask *tasks;

    if (e->n_tasks == GX_TASKS_MAX) { /* the one that sleeps longest is given up */
        uint32_t oldest = 0;

        for (uint32_t i = 1; i < e->n_tasks; i++) {
            oldest = e->tasks[i].suspended_at < e->tasks[oldest].suspended_at ? i : oldest;
        }
        r->stats.dropped_contexts++;
        e->task = oldest;
    } else {
        if (!(tasks = realloc(e->tasks, (e->n_tasks + 1) * sizeof(*tasks)))) {
            r->error = "no memory for the table of tasks";
            return;
        }
        e->tasks = tasks;
        e->task = e->n_tasks++;
        e->tasks[e->task] = (GxTask){.entry_fn = r->blocks.fn_first[id]};
    }
    e->inside = false;
    e->tasks[e->task].suspended = false;
    e->tasks[e->task].began_at = 0;
    e->tasks[e->task].has_began_sp = false;
    e->tasks[e->task].switches_in++;
    e->tasks[e->task].run_start = e->tasks[e->task].self;
    gx_stack_begin(r, &e->tasks[e->task].stack, id, GX_NODE_TASK);
    r->stats.context_starts++;
    if (r->observed) {
        gx_slices_run(r, e, true, 0);
    }
}

int gx_task_scheduler(const GxReplay *r, const GxEngine *e, uint64_t address, const GxProbe *now)
{
    uint64_t sp;
    const bool has_sp = gx_probe_stack(now, &sp);

    for (uint32_t i = 0; i < e->n_tasks; i++) {
        const GxTask *t = &e->tasks[i];

        if (t->suspended && t->began_at == address + 1 && t->stack.n && gx_stack_at_base(&t->stack) &&
            gx_set_has(&r->switchers, t->stack.frames[0].fn) && (!has_sp || !t->has_began_sp || t->began_sp == sp)) {
            return (int)i;
        }
    }
    return -1;
}

const GxContext *gx_task_left(const GxTask *t)
{
    if (!t->place.from) {
        return &t->place;
    }
    return gx_stack_switches(&t->stack) ? &t->left : NULL;
}

/* As gx_fits(), of a context whose stack is `s`: a return that was interrupted goes to where the stack says. Rule T4. */
GxFit gx_context_fits(const GxReplay *r, const GxStack *s, const GxContext *c, uint64_t address, const GxProbe *now)
{
    const GxFit fit = gx_fits(&r->blocks, c, address);
    const GxFrame *top = s->n ? &s->frames[s->n - 1] : NULL;
    const GxSpFit sp = gx_probe_sp(now, c);

    if (sp == GX_SP_OTHER) { /* P3 */
        return GX_FIT_NONE;
    }
    if (fit == GX_FIT_POSSIBLE && sp == GX_SP_SAME) {
        return GX_FIT_EXACT;
    }
    if (fit == GX_FIT_POSSIBLE && top && top->has_ret && top->ret == address &&
        r->blocks.end_kind[c->from] == GX_END_RETURN) {
        return GX_FIT_EXACT;
    }
    return fit;
}

/* The stack that level n - 1 interrupted: n levels are open in it and below. */
const GxStack *gx_stack_below(const GxEngine *e, uint32_t n)
{
    return n > 1 ? &e->levels[n - 2].stack : &e->tasks[e->task].stack;
}

/* The newest suspended task that fits best; -1: none. */
int gx_task_find(GxReplay *r, const GxEngine *e, uint64_t address, GxFit at_least, const GxProbe *now, bool *ambiguous)
{
    int best = -1;
    bool twice = false;
    int found = -1;

    for (uint32_t i = 0; i < e->n_tasks; i++) {
        const GxTask *t = &e->tasks[i];
        const GxFit address_fit = t->suspended ? gx_context_fits(r, &t->stack, &t->place, address, now) : GX_FIT_NONE;
        const int fit = 2 * (int)address_fit + (gx_probe_sp(now, &t->place) == GX_SP_SAME);

        if (address_fit < at_least) {
            continue;
        }
        if (fit == best) {
            twice = true;
        }
        if (fit > best || (fit == best && t->suspended_at > e->tasks[found].suspended_at)) {
            twice = fit > best ? false : twice;
            best = fit;
            found = (int)i;
        }
    }
    *ambiguous = twice;
    return found;
}
