/*
 * The reconstruction engine: tells what the program did from what interrupted it, and one task from another. The rules,
 * with their numbers, are in docs/reconstruction.md.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>

#include "replay.h"

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

static void suspend(GxReplay *r, GxVcpu *v, GxContext place)
{
    GxEngine *e = &v->engine;
    GxTask *t = &e->tasks[e->task];

    gx_engine_charge_context(r, v);

    t->place = place;
    t->suspended = true;
    t->suspended_at = ++e->order;
    if (t->self - t->run_start > t->longest_run) {
        t->longest_run = t->self - t->run_start;
    }
}

static void switch_to(GxReplay *r, GxEngine *e, uint32_t task)
{
    GxTask *t = &e->tasks[task];

    e->task = task;
    t->suspended = false;
    t->doubtful = false;
    t->place = (GxContext){.from = 0};
    t->switches_in++;
    t->run_start = t->self;
    r->stats.task_switches++;
}

/* A task begins at block id; the one that ran is suspended already. */
static void begin_task(GxReplay *r, GxEngine *e, uint32_t id)
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
    e->tasks[e->task].suspended = false;
    e->tasks[e->task].switches_in++;
    e->tasks[e->task].run_start = e->tasks[e->task].self;
    gx_stack_begin(r, &e->tasks[e->task].stack, id, GX_NODE_TASK);
    r->stats.context_starts++;
}

/* As gx_fits(), of a context whose stack is `s`: a return that was interrupted goes to where the stack says. Rule T4. */
static GxFit fits(const GxReplay *r, const GxStack *s, const GxContext *c, uint64_t address)
{
    const GxFit fit = gx_fits(&r->blocks, c, address);
    const GxFrame *top = s->n ? &s->frames[s->n - 1] : NULL;

    if (fit == GX_FIT_POSSIBLE && top && top->has_ret && top->ret == address &&
        r->blocks.end_kind[c->from] == GX_END_RETURN) {
        return GX_FIT_EXACT;
    }
    return fit;
}

/* The stack that level n - 1 interrupted: n levels are open in it and below. */
static const GxStack *stack_below(const GxEngine *e, uint32_t n)
{
    return n > 1 ? &e->levels[n - 2].stack : &e->tasks[e->task].stack;
}

/* The newest suspended task that fits best; -1: none. */
static int find_suspended(GxReplay *r, const GxEngine *e, uint64_t address, GxFit at_least, bool *ambiguous)
{
    GxFit best = at_least - 1;
    bool twice = false;
    int found = -1;

    for (uint32_t i = 0; i < e->n_tasks; i++) {
        const GxTask *t = &e->tasks[i];
        const GxFit fit = t->suspended ? fits(r, &t->stack, &t->place, address) : GX_FIT_NONE;

        if (fit < at_least) {
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
 * Task `found` runs, not the one that was thought to: they waited at the same place, where the other still is. What ran
 * since is moved from the one to the other, but stays in its nodes of the tree.
 */
static void take_back(GxReplay *r, GxVcpu *v, uint32_t found)
{
    GxEngine *e = &v->engine;
    GxTask *wrong = &e->tasks[e->task];
    GxTask *right = &e->tasks[found];
    const GxContext place = right->place;
    const bool doubtful = wrong->doubtful;
    uint64_t ran;

    gx_engine_charge_context(r, v);
    ran = wrong->self - wrong->run_start;
    if (doubtful) {
        wrong->self -= ran;
        wrong->switches_in--;
        r->stats.task_switches--;
    }
    suspend(r, v, place);
    switch_to(r, e, found);
    if (doubtful) {
        right->self += ran;
    }
    r->stats.late_switches++;
}

bool gx_engine_switch(GxReplay *r, GxVcpu *v, uint32_t id, bool to_entry)
{
    GxEngine *e = &v->engine;
    const GxStack *s = gx_engine_stack(e);
    const bool switched = s->frames[s->n - 1].switched;
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
    if (found < 0 && !(to_entry && switched)) {
        return false;
    }
    if (found < 0) {
        suspend(r, v, (GxContext){.from = 0});
        begin_task(r, e, id);
        return true;
    }
    if (switched) {
        suspend(r, v, (GxContext){.from = 0});
        switch_to(r, e, (uint32_t)found);
    } else {
        take_back(r, v, (uint32_t)found);
    }
    e->tasks[found].stack.n = (uint32_t)at;
    return true;
}

/* --- entry --------------------------------------------------------------------------------------------------------------- */

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

static unsigned trap_kind(const GxReplay *r, const GxVcpu *v, GxContext interrupted, uint64_t address)
{
    if (gx_set_has(&r->interrupts, address)) {
        return GX_NODE_INTERRUPT;
    }
    if (gx_set_has(&r->exceptions, address)) {
        return GX_NODE_EXCEPTION;
    }
    if (r->profile == GX_PROFILE_AARCH64) { /* Arm ARM D1.10.2: by the offset in the vector table */
        return address & 0x180 ? GX_NODE_INTERRUPT : GX_NODE_EXCEPTION;
    }
    if (v->trap_event) {
        return v->trap_event == 1 ? GX_NODE_INTERRUPT : GX_NODE_EXCEPTION;
    }
    return interrupted.begun || r->blocks.end_kind[interrupted.from] == GX_END_TRAP_CALL ? GX_NODE_EXCEPTION
                                                                                         : GX_NODE_INTERRUPT;
}

static void enter(GxReplay *r, GxVcpu *v, GxContext interrupted, uint32_t id, bool tail_chained, bool maybe_call)
{
    GxEngine *e = &v->engine;
    const uint64_t address = r->blocks.address[id];
    const uint32_t source = v->trap_event ? GX_TRAP_SOURCE_EVENT : GX_TRAP_SOURCE_INFERRED;
    const uint32_t trap = trap_index(r, interrupted.from, interrupted.begun, id, source);
    GxHandler *h = gx_handler(r, address);
    GxLevel *level;

    if (r->error) {
        return;
    }
    gx_engine_charge_context(r, v);
    if (e->n_levels == GX_LEVELS_MAX) { /* handlers that never return: the oldest is given up */
        const GxStack stack = e->levels[0].stack;
        const GxContext task_place = e->levels[0].interrupted;

        r->stats.abandoned++;
        memmove(e->levels, e->levels + 1, (GX_LEVELS_MAX - 1) * sizeof(*e->levels));
        e->levels[0].interrupted = task_place;
        e->levels[GX_LEVELS_MAX - 1].stack = stack;
        e->n_levels--;
    }
    level = &e->levels[e->n_levels++];
    level->interrupted = interrupted;
    level->entry = id;
    level->trap = trap;
    level->handler = (uint32_t)(h - r->handlers);
    level->maybe_call = maybe_call;
    level->self = 0;
    gx_stack_begin(r, &level->stack, id, trap_kind(r, v, interrupted, address));
    r->traps[trap].count++;
    r->traps[trap].tail_chained += tail_chained;
    r->stats.traps++;
    r->stats.tail_chains += tail_chained;
    r->stats.max_nesting = e->n_levels > r->stats.max_nesting ? e->n_levels : r->stats.max_nesting;
    h->count++;
    h->tail_chained += tail_chained;
    h->max_nesting = e->n_levels > h->max_nesting ? e->n_levels : h->max_nesting;
    if (h->last_entry) {
        gx_histogram_add(&h->period, v->n_insns + 1 - h->last_entry);
    }
    h->last_entry = v->n_insns + 1;
    learn_vector(r, address);
}

/* --- return -------------------------------------------------------------------------------------------------------------- */

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
        gx_calls_edge(r, v, gx_engine_stack(&v->engine), c->from, id);
    }
}

/* The open trap is over. */
static GxContext close_level(GxReplay *r, GxVcpu *v)
{
    const GxLevel *level;

    gx_engine_charge_context(r, v);
    level = &v->engine.levels[--v->engine.n_levels];
    gx_histogram_add(&r->handlers[level->handler].insns, level->self);
    return level->interrupted;
}

/* QEMU reports no trap where Cortex-M takes the next exception as part of the return from one. */
static bool infers_chains(const GxReplay *r) { return r->profile == GX_PROFILE_M || !r->has_events; }

/* A trap returned, and control is at block id. Rules R1 to R6. */
static void leave(GxReplay *r, GxVcpu *v, uint32_t id)
{
    GxEngine *e = &v->engine;
    const uint64_t address = r->blocks.address[id];
    GxContext c = close_level(r, v);
    const GxStack *below = gx_engine_stack(e);
    bool ambiguous;
    GxFit fit;
    int at;

    r->stats.trap_returns++;
    if (v->trap_event || (infers_chains(r) && gx_set_has(&r->vectors, address) &&
                          fits(r, below, &c, address) < GX_FIT_AGAIN)) { /* R1: tail-chained */
        enter(r, v, c, id, true, false);
        return;
    }
    fit = fits(r, below, &c, address);
    at = fit >= GX_FIT_AGAIN ? find_suspended(r, e, address, fit, &ambiguous) : -1;
    r->stats.ambiguous += at >= 0;
    if (fit == GX_FIT_EXACT || (fit == GX_FIT_AGAIN && (at < 0 || fits(r, &e->tasks[at].stack, &e->tasks[at].place,
                                                                       address) == GX_FIT_AGAIN))) { /* R2 */
        resume(r, v, &c, id);
        return;
    }
    for (uint32_t i = e->n_levels; i > 0; i--) { /* R3: handlers above it are given up */
        const GxContext older = e->levels[i - 1].interrupted;

        if (fits(r, stack_below(e, i), &older, address) >= GX_FIT_AGAIN) {
            r->stats.abandoned += e->n_levels - i + 1;
            gx_engine_charge_context(r, v);
            e->n_levels = i - 1;
            resume(r, v, &older, id);
            return;
        }
    }
    if ((at = find_suspended(r, e, address, GX_FIT_AGAIN, &ambiguous)) < 0 && /* R4, R5 */
        fits(r, below, &c, address) == GX_FIT_POSSIBLE) {
        resume(r, v, &c, id);
        return;
    }
    if (at < 0) {
        at = find_suspended(r, e, address, GX_FIT_POSSIBLE, &ambiguous);
    }
    if (e->n_levels) { /* the task itself was interrupted by the oldest */
        r->stats.abandoned += e->n_levels;
        c = e->levels[0].interrupted;
        e->n_levels = 0;
    }
    suspend(r, v, c);
    if (at >= 0) {
        c = e->tasks[at].place;
        switch_to(r, e, (uint32_t)at);
        e->tasks[at].doubtful = ambiguous;
        r->stats.ambiguous += ambiguous;
        resume(r, v, &c, id);
    } else { /* R6 */
        begin_task(r, e, id);
    }
}

/* What was open is not any more, and nothing is known of what runs. */
void gx_engine_reset(GxReplay *r, GxVcpu *v)
{
    GxEngine *e = &v->engine;

    gx_engine_charge_context(r, v);
    e->n_levels = 0;
    for (uint32_t i = 0; i < e->n_tasks; i++) {
        e->tasks[i].suspended = false;
        e->tasks[i].stack.n = 0;
    }
    e->task = 0;
    e->stack = &e->tasks[0].stack;
}

/* --- one step ------------------------------------------------------------------------------------------------------------- */

/* The handler itself runs, or a function it went on to by tail calls; none that it called. */
static bool at_base(const GxStack *s)
{
    for (uint32_t i = s->n; i > 1; i--) {
        if (!s->frames[i - 1].tail) {
            return false;
        }
    }
    return true;
}

/* What seemed a trap was an indirect call of a handler: it returned to after the call. Rule T6. */
static bool was_call(GxReplay *r, GxVcpu *v, uint64_t address)
{
    GxEngine *e = &v->engine;
    const GxLevel *top = &e->levels[e->n_levels - 1];
    GxHandler *h = &r->handlers[top->handler];
    GxStack *s;
    uint32_t edge, node;

    if (!top->maybe_call || !at_base(&top->stack) || address != r->blocks.end[top->interrupted.from]) {
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
    s = gx_engine_stack(e);
    node = gx_tree_child(&r->tree, s->frames[s->n - 1].node, r->blocks.fn_first[top->entry], GX_NODE_CALL);
    r->tree.nodes[node].calls++;
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
    bool ambiguous;

    if (!(b->flags[v->prev] & GX_FLAG_MAY_EXC_RETURN) ||
        ((b->flags[v->prev] & GX_FLAG_CONDITIONAL) && address == b->end[v->prev])) {
        return false;
    }
    if (kind == GX_END_RETURN) { /* out of a function that the handler called to another handler: that one nests */
        return gx_stack_find_return(&top->stack, address) < 0 &&
               (at_base(&top->stack) || v->trap_event || r->has_events || !gx_set_has(&r->vectors, address));
    }
    /* A jump through a pointer, unless it goes where something was interrupted. */
    return kind == GX_END_JUMP_INDIRECT && at_base(&top->stack) &&
           (v->trap_event || fits(r, stack_below(e, e->n_levels), &top->interrupted, address) >= GX_FIT_AGAIN ||
            find_suspended(r, e, address, GX_FIT_AGAIN, &ambiguous) >= 0 ||
            (infers_chains(r) && gx_set_has(&r->vectors, address)));
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
            leave(r, v, id);
            return false;
        }
    }
    gx_calls_edge(r, v, gx_engine_stack(e), v->prev, id);
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
    if (trap_return && e->n_levels) {
        leave(r, v, id);
        return false;
    }
    if (v->trap_event) { /* T1 */
        if (e->n_levels && !v->cut && (b->flags[v->prev] & GX_FLAG_MAY_EXC_RETURN) &&
            at_base(&e->levels[e->n_levels - 1].stack)) {
            leave(r, v, id); /* the handler ended and another began */
        } else {
            enter(r, v, now, id, false, false);
        }
        return false;
    }
    if (v->cut) {
        if (gx_fits(b, &now, address) >= GX_FIT_AGAIN) {
            r->continued[id]++; /* QEMU went on inside the block */
            return false;
        }
    } else if (gx_may_follow(b, v->prev, address)) {
        if (!gx_is_indirect(b, v->prev) || r->has_events || !gx_set_has(&r->vectors, address)) {
            return follow(r, v, id);
        }
        if (e->n_levels && leaves_handler(r, v, id)) {
            leave(r, v, id); /* R1 */
            return false;
        }
    }
    if (gx_set_has(&r->resets, address)) { /* T5 */
        r->stats.abandoned += e->n_levels;
        r->stats.resets++;
        begin(r, v, id);
        return false;
    }
    if (trap_return && e->suspect && !r->has_events) {
        /* A return from a trap that was not seen: it began where a return went that fitted no call. */
        learn_vector(r, e->suspect - 1);
        r->stats.late++;
        e->suspect = 0;
    }
    if (trap_return) { /* no trap was open: the start of a program at a lower privilege */
        suspend(r, v, (GxContext){.from = 0});
        begin_task(r, e, id);
        return false;
    }
    if (r->has_events) {
        r->stats.unexplained++;
        gx_stack_begin(r, gx_engine_stack(e), id, GX_NODE_TASK);
        return false;
    }
    enter(r, v, now, id, false, !v->cut && b->end_kind[v->prev] == GX_END_CALL_INDIRECT); /* T2, T3 */
    return false;
}

bool gx_engine_step(GxReplay *r, GxVcpu *v, uint32_t id)
{
    bool of_the_program;

    gx_engine_charge(r, &v->engine, v->n_insns);
    of_the_program = decide(r, v, id);
    v->engine.stack = gx_engine_stack(&v->engine);
    return of_the_program;
}
