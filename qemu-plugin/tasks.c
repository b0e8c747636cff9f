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
    e->tasks[e->task].switches_in++;
    e->tasks[e->task].run_start = e->tasks[e->task].self;
    gx_stack_begin(r, &e->tasks[e->task].stack, id, GX_NODE_TASK);
    r->stats.context_starts++;
    if (r->observed) {
        gx_slices_run(r, e, true, 0);
    }
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

/*
 * Task `found` runs, not the one that was thought to: they waited at the same place, where the other still is. It has
 * open what the right one has open above the activation `at` that returns. What ran since is moved from the one to the
 * other, but stays in its nodes of the tree.
 */
static void take_back(GxReplay *r, GxVcpu *v, uint32_t found, uint32_t at)
{
    GxEngine *e = &v->engine;
    GxTask *wrong = &e->tasks[e->task];
    GxTask *right = &e->tasks[found];
    const GxContext place = {.from = right->place.from, .begun = right->place.begun};
    const bool doubtful = wrong->doubtful;
    uint64_t ran;

    gx_engine_charge_context(r, v);
    ran = wrong->self - wrong->run_start;
    if (doubtful) {
        wrong->self -= ran;
        wrong->switches_in--;
        r->stats.task_switches--;
    }
    gx_task_suspend(r, v, place);
    gx_stack_copy_above(r, &wrong->stack, &right->stack, at);
    gx_task_switch(r, e, found);
    if (doubtful) {
        right->self += ran;
    }
    r->stats.late_switches++;
}

/* A routine that loads the stack pointer returns to where other tasks wait in one. Rules S3, S5 and S6. */
static bool switch_stacks(GxReplay *r, GxVcpu *v, uint32_t id)
{
    GxEngine *e = &v->engine;
    const uint64_t address = r->blocks.address[id];
    const bool own = gx_stack_waits(gx_engine_stack(e), address) > 0;
    GxContext interrupted = {.from = 0};
    uint64_t nearest = own ? gx_switch_distance(e, NULL) : UINT64_MAX;
    uint32_t fitting = own, found = 0;
    bool own_is_nearest = nearest != UINT64_MAX;
    int at = -1;

    if (e->n_levels && (e->levels[e->n_levels - 1].probed || gx_stack_find_return(gx_engine_stack(e), address) > 0)) {
        return false; /* a routine of the handler itself */
    }
    for (uint32_t i = 0; i < e->n_tasks; i++) {
        const GxTask *t = &e->tasks[i];
        const int frame = t->suspended && !t->place.from ? gx_stack_waits(&t->stack, address) : -1;

        if (frame <= 0) {
            continue;
        }
        fitting++;
        if (gx_switch_distance(e, &t->place) < nearest) { /* P7 */
            nearest = gx_switch_distance(e, &t->place);
            own_is_nearest = false;
            found = i;
            at = frame;
        } else if (nearest == UINT64_MAX &&
                   (at < 0 || t->suspended_at < e->tasks[found].suspended_at)) { /* they take turns, as a rule */
            found = i;
            at = frame;
        }
    }
    if (at < 0 || own_is_nearest) {
        return false;
    }
    if (nearest != UINT64_MAX) {
        fitting = 1;
    }
    if (e->n_levels) {
        interrupted = gx_trap_close_all(r, v);
    }
    gx_switch_place(e, &interrupted);
    gx_task_suspend(r, v, interrupted);
    gx_task_switch(r, e, found);
    if (r->observed) {
        gx_slices_cut(r, &e->tasks[found].stack, (uint32_t)at, 0);
    }
    e->tasks[found].stack.n = (uint32_t)at;
    e->tasks[found].doubtful = fitting > 1;
    r->stats.ambiguous += fitting > 1;
    return true;
}

/* A return that fits no call of the task that runs. Rules S3 and S4. */
static bool switch_by_return(GxReplay *r, GxVcpu *v, uint32_t id)
{
    GxEngine *e = &v->engine;
    const GxStack *s = gx_engine_stack(e);
    const bool switched = gx_stack_switches(s);
    GxContext place = {.from = 0};
    int found = -1, at = -1;

    if (e->n_levels) {
        return false;
    }
    for (uint32_t i = 0; i < e->n_tasks; i++) {
        const int frame = e->tasks[i].suspended ? gx_stack_find_return(&e->tasks[i].stack, r->blocks.address[id]) : -1;

        if (frame > 0 && (found < 0 || e->tasks[i].suspended_at > e->tasks[found].suspended_at)) {
            found = (int)i;
            at = frame;
        }
    }
    if (switched) {
        gx_switch_place(e, &place);
    }
    if (found >= 0 && switched) {
        gx_task_suspend(r, v, place);
        gx_task_switch(r, e, (uint32_t)found);
    } else if (found >= 0) {
        take_back(r, v, (uint32_t)found, (uint32_t)at);
    } else if (switched &&
               (r->blocks.is_entry[id] || (e->n_tasks > 1 && gx_stack_find_function(s, r->blocks.fn_first[id]) < 0))) {
        gx_task_suspend(r, v, place);
        gx_task_begin(r, e, id);
        return true;
    } else {
        return false;
    }
    if (r->observed) {
        gx_slices_cut(r, &e->tasks[found].stack, (uint32_t)at, 0);
    }
    e->tasks[found].stack.n = (uint32_t)at;
    return true;
}

static bool leaves_by_register(const GxBlocks *b, uint32_t from, uint32_t id)
{
    const uint8_t kind = b->end_kind[from];

    return (kind == GX_END_RETURN || (kind == GX_END_JUMP_INDIRECT && b->fn_last[from] != b->fn_first[id])) &&
           !((b->flags[from] & GX_FLAG_CONDITIONAL) && b->address[id] == b->end[from]);
}

void gx_tasks_edge(GxReplay *r, GxVcpu *v, uint32_t from, uint32_t id)
{
    const GxBlocks *b = &r->blocks;
    GxStack *s = gx_engine_stack(&v->engine);

    if (gx_stack_switches(s) && leaves_by_register(b, from, id) && switch_stacks(r, v, id)) {
        s = gx_engine_stack(&v->engine);
    } else if (!gx_calls_edge(r, s, from, id)) {
        if (!gx_set_has(&r->call_ends, b->address[id])) {
            v->engine.suspect = b->address[id] + 1;
        }
        if (!switch_by_return(r, v, id)) {
            gx_calls_unmatched(r, s, from, id);
            gx_trap_begins_inside(r, v);
        }
    }
    if (b->flags[id] & GX_FLAG_SWITCH) {
        s = gx_engine_stack(&v->engine);
        s->frames[s->n - 1].switched = true;
    }
}
