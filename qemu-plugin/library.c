/*
 * What Python calls of the replay: tables in, tables out.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "library.h"

#include <stdlib.h>

GxReplay *gx_replay_new(int has_events, int profile)
{
    GxReplay *r = calloc(1, sizeof(*r));

    if (r && !gx_tree_init(&r->tree)) {
        gx_replay_free(r);
        return NULL;
    }
    if (r) {
        r->has_events = has_events != 0;
        r->profile = profile;
        r->blocks.count = 1; /* id 0 is no block */
    }
    return r;
}

void gx_replay_free(GxReplay *r)
{
    if (!r) {
        return;
    }
    for (unsigned i = 0; i < GX_VCPUS_MAX; i++) {
        if (r->vcpus[i]) {
            gx_decoder_free(r->vcpus[i]->decoder);
            gx_engine_free(&r->vcpus[i]->engine);
            free(r->vcpus[i]);
        }
    }
    for (unsigned i = 0; i < r->n_handlers; i++) {
        gx_histogram_free(&r->handlers[i].insns);
        gx_histogram_free(&r->handlers[i].period);
    }
    free(r->handlers);
    gx_tree_free(&r->tree);
    gx_strides_free(&r->strides);
    gx_edges_free(&r->edges);
    free(r->blocks.address);
    free(r->blocks.end);
    free(r->blocks.last);
    free(r->blocks.target);
    free(r->blocks.n_insns);
    free(r->blocks.end_kind);
    free(r->blocks.flags);
    free(r->blocks.fn_first);
    free(r->blocks.fn_last);
    free(r->blocks.is_entry);
    free(r->blocks.sizes_at);
    free(r->blocks.sizes);
    free(r->other_arrivals);
    free(r->continued);
    free(r->cuts);
    free(r->traps);
    free(r->vectors.slots);
    free(r->resets.slots);
    free(r->call_ends.slots);
    free(r->task_starts.slots);
    free(r->handler_fns);
    free(r->interrupts.slots);
    free(r->exceptions.slots);
    gx_slices_free(r->observed);
    free(r);
}

/* --- blocks -------------------------------------------------------------------------------------------------------------- */

static bool resize(void *array, size_t element, size_t count)
{
    void **a = array;
    void *p = realloc(*a, element * count);

    if (p) {
        *a = p;
    }
    return p != NULL;
}

static bool reserve_blocks(GxReplay *r, uint32_t need)
{
    GxBlocks *b = &r->blocks;
    const uint32_t old = b->capacity;
    uint32_t capacity = old ? old : 1024;

    if (need <= old) {
        return true;
    }
    while (capacity < need) {
        capacity *= 2;
    }
    if (!resize(&b->address, sizeof(*b->address), capacity) || !resize(&b->end, sizeof(*b->end), capacity) ||
        !resize(&b->last, sizeof(*b->last), capacity) || !resize(&b->target, sizeof(*b->target), capacity) ||
        !resize(&b->n_insns, sizeof(*b->n_insns), capacity) || !resize(&b->end_kind, 1, capacity) ||
        !resize(&b->flags, 1, capacity) || !resize(&b->fn_first, sizeof(*b->fn_first), capacity) ||
        !resize(&b->fn_last, sizeof(*b->fn_last), capacity) || !resize(&b->is_entry, 1, capacity) ||
        !resize(&b->sizes_at, sizeof(*b->sizes_at), capacity) ||
        !resize(&r->other_arrivals, sizeof(*r->other_arrivals), capacity) ||
        !resize(&r->continued, sizeof(*r->continued), capacity) || !gx_edges_reserve(&r->edges, capacity)) {
        return false;
    }
    memset(r->other_arrivals + old, 0, (capacity - old) * sizeof(*r->other_arrivals));
    memset(r->continued + old, 0, (capacity - old) * sizeof(*r->continued));
    memset(r->edges.successors + old, 0, (capacity - old) * sizeof(*r->edges.successors));
    if (!old) {
        b->address[0] = b->end[0] = b->last[0] = b->target[0] = 0;
        b->n_insns[0] = 0;
        b->end_kind[0] = GX_END_UNKNOWN;
        b->flags[0] = b->is_entry[0] = 0;
        b->fn_first[0] = b->fn_last[0] = 0;
        b->sizes_at[0] = 0;
    }
    b->capacity = capacity;
    return true;
}

static bool keep_sizes(GxBlocks *b, const uint8_t *sizes, uint32_t n)
{
    if (b->sizes_used + n > b->sizes_capacity) {
        const uint64_t capacity = b->sizes_capacity ? b->sizes_capacity * 2 : 1u << 16;

        if (!resize(&b->sizes, 1, capacity)) {
            return false;
        }
        b->sizes_capacity = capacity;
    }
    memcpy(b->sizes + b->sizes_used, sizes, n);
    b->sizes_used += n;
    return true;
}

int gx_replay_add_blocks(GxReplay *r, const uint8_t *entries, size_t length, uint64_t count, const uint8_t *end_kind,
                         const uint8_t *flags, const uint64_t *target, const uint32_t *fn_first,
                         const uint32_t *fn_last, const uint8_t *is_entry)
{
    GxBlocks *b = &r->blocks;
    const uint8_t *e = entries;

    if (count > GX_BLOCK_ID_MAX || !reserve_blocks(r, b->count + (uint32_t)count) ||
        gx_blocks_parse(entries, length, UINT64_MAX, NULL, NULL, NULL, NULL) != (int64_t)count) {
        return -1;
    }
    for (uint64_t i = 0; i < count; i++) {
        const uint32_t id = b->count;

        b->address[id] = gx_get64(e);
        b->n_insns[id] = gx_get16(e + 8);
        b->end[id] = b->address[id] + gx_get16(e + 10);
        b->last[id] = b->end[id] - e[GX_BLOCK_HEADER_SIZE + b->n_insns[id] - 1];
        b->end_kind[id] = end_kind[i];
        b->flags[id] = flags[i];
        b->target[id] = target[i];
        b->fn_first[id] = fn_first ? fn_first[i] : 0;
        b->fn_last[id] = fn_last ? fn_last[i] : 0;
        b->is_entry[id] = is_entry ? is_entry[i] : 0;
        b->sizes_at[id] = b->sizes_used;
        if (!keep_sizes(b, e + GX_BLOCK_HEADER_SIZE, b->n_insns[id])) {
            return -1;
        }
        e += GX_BLOCK_HEADER_SIZE + b->n_insns[id] + gx_get16(e + 10);
        if ((b->end_kind[id] == GX_END_CALL || b->end_kind[id] == GX_END_CALL_INDIRECT) &&
            !gx_set_add(&r->call_ends, b->end[id])) {
            return -1;
        }
        b->count++;
    }
    return 0;
}

int gx_replay_add_vcpu(GxReplay *r, uint32_t vcpu)
{
    if (vcpu >= GX_VCPUS_MAX || !reserve_blocks(r, 1)) {
        return -1;
    }
    if (!r->vcpus[vcpu]) {
        GxVcpu *v = calloc(1, sizeof(*v));

        if (!v || !gx_engine_init(&v->engine) || !(v->decoder = gx_decoder_new(0))) {
            free(v);
            return -1;
        }
        v->index = vcpu;
        r->vcpus[vcpu] = v;
    }
    return 0;
}

int gx_replay_add_vector(GxReplay *r, uint64_t address, int kind)
{
    if (kind == GX_NODE_INTERRUPT && !gx_set_add(&r->interrupts, address)) {
        return -1;
    }
    if (kind == GX_NODE_EXCEPTION && !gx_set_add(&r->exceptions, address)) {
        return -1;
    }
    return gx_set_add(&r->vectors, address) ? 0 : -1;
}

int gx_replay_add_handler_function(GxReplay *r, uint32_t fn, uint64_t address)
{
    if (!resize(&r->handler_fns, sizeof(*r->handler_fns), r->n_handler_fns + 1)) {
        return -1;
    }
    r->handler_fns[r->n_handler_fns++] = (GxHandlerFn){.fn = fn, .address = address};
    return 0;
}

int gx_replay_add_reset(GxReplay *r, uint64_t address) { return gx_set_add(&r->resets, address) ? 0 : -1; }

void gx_replay_provisional(GxReplay *r, uint32_t vcpu, uint32_t begun)
{
    GxVcpu *v = vcpu < GX_VCPUS_MAX ? r->vcpus[vcpu] : NULL;

    if (v) {
        v->provisional = v->prev && !v->cut && begun < r->blocks.n_insns[v->prev] ? begun : 0;
    }
}

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

uint64_t gx_replay_arrivals(const GxReplay *r, uint64_t *other, uint64_t *continued, uint64_t max)
{
    const uint64_t n = r->blocks.capacity ? r->blocks.count : 0;

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

uint64_t gx_replay_vectors(const GxReplay *r, uint64_t *out, uint64_t max)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < r->vectors.size; i++) {
        if (r->vectors.slots[i]) {
            if (out && n < max) {
                out[n] = r->vectors.slots[i] - 1;
            }
            n++;
        }
    }
    return n;
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
                                     .longest_run = run > t->longest_run ? run : t->longest_run};
            }
        }
    }
    provisional(r, 1);
    return n;
}

const char *gx_replay_error(const GxReplay *r) { return r->error; }

uint64_t gx_replay_error_offset(const GxReplay *r) { return r->error_offset; }
