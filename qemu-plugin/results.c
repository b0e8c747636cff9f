/*
 * What Python reads of a replay: tables out. See library.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "library.h"

#include <stdlib.h>

/* --- results ------------------------------------------------------------------------------------------------------------- */

void gx_replay_totals(const GxReplay *r, uint32_t vcpu, uint64_t *insns, uint64_t *blocks)
{
    const GxVcpu *v = vcpu < GX_VCPUS_MAX ? r->vcpus[vcpu] : NULL;

    *insns = v ? v->n_insns : 0;
    *blocks = v ? v->n_blocks : 0;
    if (v && v->provisional) {
        *insns -= r->blocks.n_insns[v->prev] - v->provisional;
    }
}

void gx_replay_stats(const GxReplay *r, GxStats *out) { *out = r->stats; }

uint64_t gx_replay_edges(GxReplay *r, GxEdge *out, uint64_t max)
{
    const uint64_t n = r->edges.count ? r->edges.count - 1 : 0;

    gx_strides_flush(r);
    gx_edges_flush(&r->edges);
    if (out && n) {
        memcpy(out, r->edges.edges + 1, (n < max ? n : max) * sizeof(*out));
    }
    return n;
}

uint64_t gx_replay_executions(GxReplay *r, uint64_t *out, uint64_t max)
{
    if (!r->blocks.capacity) {
        return 0;
    }
    gx_strides_flush(r);
    gx_edges_flush(&r->edges);
    for (uint64_t id = 0; out && id < r->blocks.count && id < max; id++) {
        out[id] = r->other_arrivals[id];
    }
    for (uint32_t n = 1; out && n < r->edges.count; n++) {
        if (r->edges.edges[n].to < max) {
            out[r->edges.edges[n].to] += r->edges.edges[n].count;
        }
    }
    return r->blocks.count;
}

uint64_t gx_replay_arrivals(GxReplay *r, uint64_t *other, uint64_t *continued, uint64_t max)
{
    const uint64_t n = r->blocks.capacity ? r->blocks.count : 0;

    gx_strides_flush(r);
    if (n && n <= max) {
        memcpy(other, r->other_arrivals, n * sizeof(*other));
        memcpy(continued, r->continued, n * sizeof(*continued));
    }
    return n;
}

/* Cuts that no block has settled yet: at a recording's end, or where a live one stands. */
static uint64_t open_cuts(const GxReplay *r, GxCut *out)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < GX_VCPUS_MAX; i++) {
        const GxVcpu *v = r->vcpus[i];

        if (v && (v->cut || v->provisional)) {
            if (out) {
                out[n] = (GxCut){.block = v->prev, .begun = v->cut ? v->cut : v->provisional, .count = 1};
            }
            n++;
        }
    }
    return n;
}

uint64_t gx_replay_cuts(const GxReplay *r, GxCut *out, uint64_t max)
{
    const uint64_t open = open_cuts(r, NULL);

    if (out && r->n_cuts + open <= max) {
        if (r->n_cuts) {
            memcpy(out, r->cuts, r->n_cuts * sizeof(*out));
        }
        open_cuts(r, out + r->n_cuts);
    }
    return r->n_cuts + open;
}

uint64_t gx_replay_traps(const GxReplay *r, GxTrap *out, uint64_t max)
{
    if (out && r->n_traps) {
        memcpy(out, r->traps, (r->n_traps < max ? r->n_traps : max) * sizeof(*out));
    }
    return r->n_traps;
}

uint64_t gx_replay_edges_to(GxReplay *r, uint64_t address, GxEdge *out, uint64_t max)
{
    uint64_t n = 0;

    gx_strides_flush(r);
    gx_edges_flush(&r->edges);
    for (uint32_t i = 1; i < r->edges.count; i++) {
        const GxEdge *e = &r->edges.edges[i];

        if (r->blocks.address[e->to] == address) {
            if (n < max) {
                out[n] = *e;
            }
            n++;
        }
    }
    return n;
}

uint64_t gx_replay_traps_to(const GxReplay *r, uint64_t address, GxTrap *out, uint64_t max)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < r->n_traps; i++) {
        if (r->blocks.address[r->traps[i].to] == address) {
            if (n < max) {
                out[n] = r->traps[i];
            }
            n++;
        }
    }
    return n;
}

uint64_t gx_replay_handler_runs(GxReplay *r, uint64_t address)
{
    gx_strides_flush(r);
    for (uint32_t i = 0; i < r->n_handlers; i++) {
        if (r->handlers[i].address == address) {
            return r->handlers[i].count;
        }
    }
    return 0;
}

static uint64_t addresses(const GxAddressSet *set, uint64_t *out, uint64_t max)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < set->size; i++) {
        if (set->slots[i]) {
            if (out && n < max) {
                out[n] = set->slots[i] - 1;
            }
            n++;
        }
    }
    return n;
}

uint64_t gx_replay_vectors(const GxReplay *r, uint64_t *out, uint64_t max) { return addresses(&r->vectors, out, max); }

uint64_t gx_replay_set_jumps(const GxReplay *r, uint64_t *out, uint64_t max)
{
    return addresses(&r->set_jumps, out, max);
}

/*
 * A live recording may know that the last block was left in the middle, for now: its rest is taken off (sign -1) what
 * reads the counters, and put back (+1) afterwards.
 */
static void provisional(const GxReplay *r, int sign)
{
    for (unsigned i = 0; i < GX_VCPUS_MAX; i++) {
        const GxVcpu *v = r->vcpus[i];

        if (v && v->provisional && v->engine.stack->n) {
            const uint64_t rest = (uint64_t)sign * (r->blocks.n_insns[v->prev] - v->provisional);
            const GxEngine *e = &v->engine;

            r->tree.nodes[e->stack->frames[e->stack->n - 1].node].self += rest;
            if (e->n_levels) {
                r->handlers[e->levels[e->n_levels - 1].handler].self += rest;
            } else {
                e->tasks[e->task].self += rest;
            }
        }
    }
}

/* Open runs of handlers and instructions not yet given to a node count as they are now. */
void gx_replay_settle(GxReplay *r)
{
    gx_strides_flush(r);
    for (unsigned i = 0; i < GX_VCPUS_MAX; i++) {
        if (r->vcpus[i]) {
            gx_engine_charge_context(r, r->vcpus[i]);
        }
    }
}

uint64_t gx_replay_nodes(const GxReplay *r, GxTreeRow *out, uint64_t max)
{
    uint64_t *inclusive = malloc(r->tree.count * sizeof(*inclusive));

    if (!inclusive) {
        return 0;
    }
    provisional(r, -1);
    gx_tree_inclusive(&r->tree, inclusive);
    for (uint64_t n = 0; out && n < r->tree.count && n < max; n++) {
        const GxNode *node = &r->tree.nodes[n];

        out[n] = (GxTreeRow){.parent = node->parent,
                             .fn = node->fn,
                             .kind = node->kind,
                             .depth = node->depth,
                             .calls = node->calls,
                             .self = node->self,
                             .inclusive = inclusive[n]};
    }
    provisional(r, 1);
    free(inclusive);
    return r->tree.count;
}

int gx_replay_costs(const GxReplay *r, GxFunctionCost *out, uint32_t n_functions)
{
    bool done;

    provisional(r, -1);
    done = gx_tree_functions(&r->tree, out, n_functions);
    provisional(r, 1);
    return done ? 0 : -1;
}

/* The last rows are those of cuts that no block has settled yet. */
uint64_t gx_replay_node_blocks(GxReplay *r, GxNodeBlock *out, uint64_t max)
{
    uint64_t n;

    gx_strides_flush(r);
    n = r->node_blocks.n ? r->node_blocks.n - 1 : 0;
    if (out && n) {
        memcpy(out, r->node_blocks.rows + 1, (n < max ? n : max) * sizeof(*out));
    }
    for (unsigned i = 0; i < GX_VCPUS_MAX; i++) {
        const GxVcpu *v = r->vcpus[i];

        if (v && v->engine.stack->n && (v->cut || v->provisional)) {
            if (out && n < max) {
                out[n] = (GxNodeBlock){.node = v->engine.stack->frames[v->engine.stack->n - 1].node,
                                       .block = v->prev,
                                       .lost = r->blocks.n_insns[v->prev] - (v->cut ? v->cut : v->provisional),
                                       .count = 1};
            }
            n++;
        }
    }
    return n;
}

void gx_replay_tree_info(const GxReplay *r, uint32_t *deepest, uint64_t *cut_calls)
{
    *deepest = r->tree.deepest;
    *cut_calls = r->tree.cut_calls;
}

uint64_t gx_replay_handlers(const GxReplay *r, GxHandlerRow *out, uint64_t max)
{
    provisional(r, -1);
    for (uint64_t i = 0; out && i < r->n_handlers && i < max; i++) {
        const GxHandler *h = &r->handlers[i];

        out[i] = (GxHandlerRow){.address = h->address,
                                .count = h->count,
                                .complete = h->insns.n,
                                .tail_chained = h->tail_chained,
                                .max_nesting = h->max_nesting,
                                .self = h->self,
                                .min_insns = h->insns.min,
                                .median_insns = gx_histogram_median(&h->insns),
                                .max_insns = h->insns.max,
                                .min_period = h->period.min,
                                .median_period = gx_histogram_median(&h->period),
                                .max_period = h->period.max,
                                .kinds = h->kinds};
    }
    provisional(r, 1);
    return r->n_handlers;
}

uint64_t gx_replay_tasks(const GxReplay *r, GxTaskRow *out, uint64_t max)
{
    uint64_t n = 0;

    provisional(r, -1);
    for (unsigned i = 0; i < GX_VCPUS_MAX; i++) {
        const GxEngine *e = r->vcpus[i] ? &r->vcpus[i]->engine : NULL;

        for (uint32_t k = 0; e && k < e->n_tasks; k++, n++) {
            const GxTask *t = &e->tasks[k];
            const uint64_t run = k == e->task ? t->self - t->run_start : 0;

            if (out && n < max) {
                out[n] = (GxTaskRow){.vcpu = i,
                                     .entry_fn = t->entry_fn,
                                     .switches_in = t->switches_in,
                                     .self = t->self,
                                     .has_stack = t->has_sp || t->has_began_sp,
                                     .stack = t->has_sp         ? t->sp
                                              : t->has_began_sp ? t->began_sp
                                                                : 0,
                                     .longest_run = run > t->longest_run ? run : t->longest_run};
            }
        }
    }
    provisional(r, 1);
    return n;
}

const char *gx_replay_error(const GxReplay *r) { return r->error; }

uint64_t gx_replay_error_offset(const GxReplay *r) { return r->error_offset; }
