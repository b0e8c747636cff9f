/*
 * The reconstruction engine: tells what the program did from what interrupted it, and one task from another. The rules,
 * with their numbers, are in docs/reconstruction.md.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "state.h"

/* What was open is not any more, and nothing is known of what runs. */
void gx_engine_reset(GxReplay *r, GxVcpu *v)
{
    GxEngine *e = &v->engine;

    gx_engine_charge_context(r, v);
    if (r->observed) {
        gx_slices_at(r, v, v->n_insns, 0);
        gx_slices_forget(r, v);
    }
    e->n_levels = 0;
    e->has_old_sp = e->has_new_sp = false;
    for (uint32_t i = 0; i < e->n_tasks; i++) {
        e->tasks[i].suspended = false;
        e->tasks[i].stack.n = 0;
    }
    e->task = 0;
    e->stack = &e->tasks[0].stack;
}

/* --- one step ------------------------------------------------------------------------------------------------------------- */

/* What seemed a trap was an indirect call of a handler: it returned to after the call. Rule T6. */
static bool was_call(GxReplay *r, GxVcpu *v, uint64_t address)
{
    GxEngine *e = &v->engine;
    const GxLevel *top = &e->levels[e->n_levels - 1];
    GxHandler *h = &r->handlers[top->handler];
    GxStack *s;
    uint32_t edge, node;

    if (!top->maybe_call || !gx_stack_at_base(&top->stack) || address != r->blocks.end[top->interrupted.from]) {
        return false;
    }
    if ((edge = gx_edges_find(r, top->interrupted.from, top->entry))) {
        r->edges.edges[edge].recovered++;
    }
    gx_engine_charge_context(r, v);
    r->traps[top->trap].count--;
    r->stats.traps--;
    h->count--;
    h->self -= top->self;
    r->tree.nodes[top->stack.frames[0].node].calls--;
    e->n_levels--;
    if (e->n_levels) { /* what ran was part of what it seemed to interrupt */
        e->levels[e->n_levels - 1].self += top->self;
        r->handlers[e->levels[e->n_levels - 1].handler].self += top->self;
    } else {
        e->tasks[e->task].self += top->self;
    }
    s = gx_engine_stack(e);
    node = gx_tree_child(&r->tree, s->frames[s->n - 1].node, r->blocks.fn_first[top->entry], GX_NODE_CALL);
    r->tree.nodes[node].calls++;
    if (r->observed) {
        gx_slices_was_call(r, &e->levels[e->n_levels].stack, node);
    }
    return true;
}

/* Does this return or jump leave the handler? (Cortex-M; the others have instructions for it.) */
static bool leaves_handler(GxReplay *r, GxVcpu *v, uint32_t id)
{
    const GxBlocks *b = &r->blocks;
    GxEngine *e = &v->engine;
    const GxLevel *top = &e->levels[e->n_levels - 1];
    const uint64_t address = b->address[id];
    const uint8_t kind = b->end_kind[v->prev];
    GxProbe room;
    const GxProbe *now = gx_probe_leaving(v, top, &room);
    const GxContext below = gx_probe_below(top);
    uint32_t exception;
    bool ambiguous;

    if (!(b->flags[v->prev] & GX_FLAG_MAY_EXC_RETURN) ||
        ((b->flags[v->prev] & GX_FLAG_CONDITIONAL) && address == b->end[v->prev])) {
        return false;
    }
    if (top->probed) { /* P2 */
        return gx_probe_exception(now, &exception) &&
               (exception != top->exception || (gx_probe_begins_m(now) && address == b->address[top->entry]));
    }
    if (kind == GX_END_RETURN) { /* out of a function that the handler called to another handler: that one nests */
        return gx_stack_find_return(&top->stack, address) < 0 &&
               (gx_stack_at_base(&top->stack) || v->trap_event || r->has_events || !gx_set_has(&r->vectors, address));
    }
    /* A jump through a pointer, unless it goes where something was interrupted. */
    return kind == GX_END_JUMP_INDIRECT && gx_stack_at_base(&top->stack) &&
           (v->trap_event || gx_context_fits(r, gx_stack_below(e, e->n_levels), &below, address, now) >= GX_FIT_AGAIN ||
            gx_task_find(r, e, address, GX_FIT_AGAIN, now, &ambiguous) >= 0 ||
            (gx_trap_infers_chains(r) && gx_set_has(&r->vectors, address)));
}

/* The program itself went on. */
static bool follow(GxReplay *r, GxVcpu *v, uint32_t id)
{
    GxEngine *e = &v->engine;

    if (e->n_levels) {
        if (was_call(r, v, r->blocks.address[id])) {
            return true;
        }
        if (leaves_handler(r, v, id)) {
            gx_trap_leave(r, v, id);
            return false;
        }
    }
    gx_tasks_edge(r, v, v->prev, id);
    if (!e->n_levels && !e->tasks[e->task].entry_fn) {
        e->tasks[e->task].entry_fn = e->tasks[e->task].stack.frames[0].fn;
    }
    return true;
}

static void begin(GxReplay *r, GxVcpu *v, uint32_t id)
{
    GxEngine *e = &v->engine;

    gx_engine_reset(r, v);
    if (!e->tasks[0].switches_in++) {
        e->tasks[0].entry_fn = r->blocks.fn_first[id];
        if (!r->blocks.fn_first[id]) { /* a boot ROM: a reset comes back to it */
            gx_set_add(&r->resets, r->blocks.address[id]);
        }
    }
    gx_stack_begin(r, &e->tasks[0].stack, id, GX_NODE_TASK);
    if (r->observed) {
        gx_slices_run(r, e, true, 0);
    }
    e->inside = !gx_set_has(&r->resets, r->blocks.address[id]);
    e->n_began = 0;
    e->began_self = e->tasks[0].self;
    gx_trap_begins_inside(r, v);
}

static bool decide(GxReplay *r, GxVcpu *v, uint32_t id)
{
    const GxBlocks *b = &r->blocks;
    GxEngine *e = &v->engine;
    const GxContext now = {.from = v->prev, .begun = v->cut};
    const uint64_t address = b->address[id];
    const bool trap_return = v->prev && !v->cut && b->end_kind[v->prev] == GX_END_TRAP_RETURN;

    if (!v->prev) {
        begin(r, v, id);
        return false;
    }
    if (trap_return && !e->n_levels && e->inside && gx_stack_at_base(&e->tasks[e->task].stack)) { /* T9 */
        gx_trap_began_inside(r, v);
    }
    if (trap_return && e->n_levels) {
        gx_trap_leave(r, v, id);
        return false;
    }
    if (v->trap_event) { /* T1 */
        if (e->n_levels && !v->cut && (b->flags[v->prev] & GX_FLAG_MAY_EXC_RETURN) &&
            (gx_probe_from_thread(gx_probe(v)) || gx_stack_at_base(&e->levels[e->n_levels - 1].stack))) {
            gx_trap_leave(r, v, id); /* the handler ended and another began */
        } else {
            gx_trap_enter(r, v, now, id, false, false);
        }
        return false;
    }
    if (v->cut) {
        if (gx_fits(b, &now, address) >= GX_FIT_AGAIN) {
            r->continued[id]++; /* QEMU went on inside the block */
            return false;
        }
    } else if (gx_may_follow(b, v->prev, address)) {
        if (!gx_is_indirect(b, v->prev) || r->has_events || !gx_set_has(&r->vectors, address) ||
            gx_probe_denies(gx_probe(v))) {
            return follow(r, v, id);
        }
        if (e->n_levels && leaves_handler(r, v, id)) {
            gx_trap_leave(r, v, id); /* R1 */
            return false;
        }
    }
    if (gx_set_has(&r->resets, address)) { /* T5 */
        r->stats.abandoned += e->n_levels;
        r->stats.resets++;
        begin(r, v, id);
        return false;
    }
    if (trap_return && gx_trap_resume_task(r, v, id)) {
        return false;
    }
    if (trap_return && e->suspect && !r->has_events) {
        /* A return from a trap that was not seen: it began where a return went that fitted no call. */
        gx_trap_learn(r, e->suspect - 1);
        r->stats.late++;
        e->suspect = 0;
    }
    if (trap_return) { /* no trap was open: the start of a program at a lower privilege */
        GxContext place = {.from = 0};

        gx_switch_place(e, &place);
        gx_task_suspend(r, v, place);
        gx_task_begin(r, e, id);
        return false;
    }
    if (r->has_events) {
        r->stats.unexplained++;
        gx_stack_begin(r, gx_engine_stack(e), id, GX_NODE_TASK);
        return false;
    }
    gx_trap_enter(r, v, now, id, false, !v->cut && b->end_kind[v->prev] == GX_END_CALL_INDIRECT); /* T2, T3 */
    return false;
}

bool gx_engine_step(GxReplay *r, GxVcpu *v, uint32_t id)
{
    bool of_the_program;

    gx_engine_charge(r, &v->engine, v->n_insns);
    if (r->observed) {
        gx_slices_at(r, v, v->n_insns, id);
    }
    of_the_program = decide(r, v, id);
    v->engine.stack = gx_engine_stack(&v->engine);
    return of_the_program;
}
