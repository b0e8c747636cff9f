/*
 * Switches between tasks outside handlers: a routine that loads the stack pointer, or a return that fits no call of the
 * task that runs. docs/reconstruction.md, rules S.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "state.h"

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
        const bool interrupted_last = e->n_levels && i == e->task; /* S7: perhaps in the scheduler */
        const GxContext *left = interrupted_last ? NULL : gx_task_left(t);
        const bool waits = interrupted_last ? gx_stack_switches(&t->stack) : t->suspended && left;
        const int frame = waits ? gx_stack_waits(&t->stack, address) : -1;

        if (frame <= 0) {
            continue;
        }
        fitting++;
        if (gx_switch_distance(e, left) < nearest) { /* P7 */
            nearest = gx_switch_distance(e, left);
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
    } else {
        gx_set_add(&r->schedulers, e->stack->frames[e->stack->n - 1].fn);
    }
    if (found == e->task) { /* the handler returned to the task that it interrupted in the scheduler */
        gx_switch_place(e, &(GxContext){.from = 0});
    } else {
        GxContext place = {.from = 0};

        if (!interrupted.from) {
            gx_switch_place(e, &place);
        }
        gx_task_suspend(r, v, interrupted.from ? interrupted : place);
        e->has_old_sp = e->has_new_sp = false;
        gx_task_switch(r, e, found);
    }
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
        gx_set_add(&r->switchers, b->fn_first[id]);
        s = gx_engine_stack(&v->engine);
        s->frames[s->n - 1].switched = true;
    }
}
