/*
 * What Python calls of the replay: making it, and tables in. Tables out are in results.c.
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
    gx_node_blocks_free(&r->node_blocks);
    gx_paths_free(&r->paths);
    free(r->blocks.site);
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
    free(r->first_cut);
    free(r->next_cut);
    free(r->traps);
    free(r->first_trap);
    free(r->next_trap);
    free(r->vectors.slots);
    free(r->resets.slots);
    free(r->call_ends.slots);
    free(r->set_jumps.slots);
    free(r->resumers.slots);
    free(r->task_starts.slots);
    free(r->switchers.slots);
    free(r->schedulers.slots);
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
        !resize(&b->site, sizeof(*b->site), capacity) || !gx_node_blocks_reserve(&r->node_blocks, capacity) ||
        !resize(&b->sizes_at, sizeof(*b->sizes_at), capacity) ||
        !resize(&r->other_arrivals, sizeof(*r->other_arrivals), capacity) ||
        !resize(&r->first_cut, sizeof(*r->first_cut), capacity) ||
        !resize(&r->first_trap, sizeof(*r->first_trap), capacity) ||
        !resize(&r->continued, sizeof(*r->continued), capacity) || !gx_edges_reserve(&r->edges, capacity)) {
        return false;
    }
    memset(b->site + old, 0, (capacity - old) * sizeof(*b->site));
    memset(r->other_arrivals + old, 0, (capacity - old) * sizeof(*r->other_arrivals));
    memset(r->first_cut + old, 0, (capacity - old) * sizeof(*r->first_cut));
    memset(r->first_trap + old, 0, (capacity - old) * sizeof(*r->first_trap));
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

void gx_replay_inlined(GxReplay *r, uint32_t first, uint32_t count, const uint32_t *sites)
{
    r->node_blocks.on = true;
    if (first <= r->blocks.count && count <= r->blocks.count - first) {
        memcpy(r->blocks.site + first, sites, count * sizeof(*sites));
    }
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

int gx_replay_add_resumer(GxReplay *r, uint32_t fn) { return gx_set_add(&r->resumers, fn) ? 0 : -1; }

int gx_replay_add_set_jump(GxReplay *r, uint64_t address) { return gx_set_add(&r->set_jumps, address) ? 0 : -1; }

void gx_replay_provisional(GxReplay *r, uint32_t vcpu, uint32_t begun)
{
    GxVcpu *v = vcpu < GX_VCPUS_MAX ? r->vcpus[vcpu] : NULL;

    if (v) {
        v->provisional = v->prev && !v->cut && begun < r->blocks.n_insns[v->prev] ? begun : 0;
    }
}
