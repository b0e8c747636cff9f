/*
 * Replay: the loop over the tokens of chunks. Predicted blocks are counted by strides (strides.h) where they were gone
 * through before. Otherwise one costs a look into the predictor and one into the two usual successors of the block before;
 * all else is step_slow().
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "replay.h"

#include <stdlib.h>

static void fail(GxReplay *r, const char *error, uint64_t offset)
{
    if (!r->error) {
        r->error = error;
        r->error_offset = offset;
    }
}

/* The node that runs. */
static uint32_t node_of(const GxVcpu *v)
{
    const GxStack *s = v->engine.stack;

    return s->n ? s->frames[s->n - 1].node : 0;
}

static void add_cut(GxReplay *r, const GxVcpu *v, uint32_t begun)
{
    const uint32_t block = v->prev;

    gx_count_in_node(r, node_of(v), block, r->blocks.n_insns[block] - begun, 1);
    if (!gx_cut_count(r, block, begun)) {
        fail(r, "no memory for the table of cut blocks", 0);
    }
}

/* The block before was left in the middle, and this one begins: how much of it counts? */
static void settle_cut(GxReplay *r, GxVcpu *v, uint32_t id)
{
    const GxBlocks *b = &r->blocks;
    const uint8_t *sizes = b->sizes + b->sizes_at[v->prev];
    uint64_t address = b->address[v->prev];

    for (uint32_t i = 0; i + 1 < v->cut; i++) {
        address += sizes[i];
    }
    if (b->address[id] == address && !v->trap_event) { /* QEMU begins the instruction again: it counts there */
        v->cut--;
        r->stats.restarts++;
        r->stats.resumes++;
        v->n_insns--;
        add_cut(r, v, v->cut);
        v->cut++;
        return;
    }
    if (b->address[id] == address + sizes[v->cut - 1]) {
        r->stats.resumes++;
    }
    add_cut(r, v, v->cut);
}

static void arrive(GxReplay *r, GxVcpu *v, uint32_t id)
{
    v->cut = 0;
    v->trap_event = 0;
    v->prev = id;
    v->n_insns += r->blocks.n_insns[id];
    v->n_blocks++;
    gx_count_in_node(r, node_of(v), id, 0, 1);
    if (r->paths.on) {
        gx_paths_arrive(r, v, id);
    }
}

/* Any block whose edge is not one of the cached two, or that an event stands before. */
static void step_slow(GxReplay *r, GxVcpu *v, uint32_t id)
{
    uint32_t n;

    if (v->trap_event == GX_TRAP_EVENT_PROBE && !gx_probe_is_entry(r, v, id)) {
        v->trap_event = 0;
    }
    if (!v->prev || v->cut || v->trap_event) {
        r->stats.starts += !v->prev;
        if (v->cut) {
            settle_cut(r, v, id);
        }
        gx_engine_step(r, v, id);
        r->other_arrivals[id]++;
    } else if (!(n = gx_edges_find(r, v->prev, id))) {
        fail(r, "no memory for the edge table", 0);
    } else if (r->edges.edges[n].flags & GX_EDGE_RESTART) {
        r->edges.edges[n].count++;
        r->stats.restarts++;
        v->n_insns--;
        gx_count_in_node(r, node_of(v), v->prev, 1, 1);
    } else {
        gx_edges_cache(&r->edges, n);
        if (r->edges.edges[n].flags && !gx_engine_step(r, v, id)) {
            r->other_arrivals[id]++;
        } else {
            r->edges.edges[n].count++; /* the engine may make edges: the table can have moved */
        }
    }
    arrive(r, v, id);
}

/* One block. */
static void step(GxReplay *r, GxVcpu *v, uint32_t id)
{
    GxSuccessors *s = &r->edges.successors[v->prev];
    const unsigned k = s->next[0] != id;
    const uint32_t edge = s->edge[k];

    if (s->next[k] != id || v->cut || v->trap_event) {
        step_slow(r, v, id);
        return;
    }
    if (!s->flags[k]) {
        s->count[k]++;
    } else if ((!gx_probe_pending(v) && gx_engine_quick(r, &v->engine, v->prev, id, s->flags[k], v->n_insns)) ||
               gx_engine_step(r, v, id)) {
        r->edges.edges[edge].count++;
    } else {
        r->other_arrivals[id]++;
    }
    arrive(r, v, id);
}

/*
 * At most n predicted blocks, to where a stride ends. False: the next one needs step(). With `record`, they become part of
 * the stride that is being recorded.
 */
static inline __attribute__((always_inline)) bool run_plain(GxReplay *r, GxVcpu *v, uint64_t *n, const bool record)
{
    const uint32_t *first = v->decoder->table->first;
    const uint16_t *n_insns = r->blocks.n_insns;
    const bool by_node = r->node_blocks.on, by_path = r->paths.on;
    GxSuccessors *successors = r->edges.successors;
    const GxStack *stack = v->engine.stack;
    const uint64_t before = v->n_insns;
    const uint64_t most = *n < GX_STRIDE_RUN ? *n : GX_STRIDE_RUN;
    uint32_t history = v->decoder->history;
    uint32_t prev = v->prev;
    uint64_t insns = 0;
    uint64_t done = 0;
    bool usual = true;

    while (done < most) {
        GxSuccessors *s = &successors[prev];
        const uint32_t key = first[gx_slot(history)];
        const uint32_t id = gx_id(key);
        const unsigned k = s->next[0] != id;
        GxFrame left = {.ret = 0};

        if (__builtin_expect((k && s->next[1] != id) || !id, 0)) {
            usual = false;
            break;
        }
        if (s->flags[k]) {
            if (record) {
                left = stack->frames[stack->n - 1];
            }
            if (!gx_engine_quick(r, &v->engine, prev, id, s->flags[k], before + insns)) {
                usual = false;
                break;
            }
        }
        if (record) {
            gx_stride_predicted(r->strides.record, gx_slot(history), key);
            gx_stride_step(r->strides.record, v, s->edge[k], s->flags[k], n_insns[id], &left);
        }
        if (__builtin_expect(by_node, 0)) {
            gx_count_in_node(r, stack->frames[stack->n - 1].node, id, 0, 1);
        }
        if (__builtin_expect(by_path, 0)) {
            gx_paths_arrive(r, v, id);
        }
        s->count[k]++;
        history = gx_step(history, key);
        insns += n_insns[id];
        prev = id;
        done++;
        if (done >= GX_STRIDE_MIN && *n >= GX_STRIDE_RUN && gx_stride_ends(history)) {
            break;
        }
    }
    v->prev = prev;
    v->n_insns += insns;
    v->n_blocks += done;
    v->decoder->history = history;
    *n -= done;
    return usual;
}

/* To block `id`, as part of the stride that is being recorded. False: it is the engine's, and the stride is given up. */
static bool step_recorded(GxReplay *r, GxVcpu *v, uint32_t id)
{
    GxStrideRecord *now = r->strides.record;
    const GxFrame left = v->engine.stack->frames[v->engine.stack->n - 1];
    const uint32_t n = gx_edges_find(r, v->prev, id);
    const uint32_t flags = n ? r->edges.edges[n].flags : GX_EDGE_SPECIAL;

    if (flags & GX_EDGE_CALL) { /* that the engine knows the node at once */
        gx_tree_find(&r->tree, gx_calling_node(r, left.node, v->prev), r->blocks.fn_first[id], GX_NODE_CALL);
    }
    if (flags && !gx_engine_quick(r, &v->engine, v->prev, id, flags, v->n_insns)) {
        now->on = false;
        return false;
    }
    r->edges.edges[n].count++;
    arrive(r, v, id);
    gx_stride_step(now, v, n, flags, r->blocks.n_insns[id], &left);
    return true;
}

/* One predicted block, whatever it is. False: nothing is predicted (damaged). */
static bool step_predicted(GxReplay *r, GxVcpu *v)
{
    GxStrideRecord *now = r->strides.record;
    const uint32_t slot = gx_slot(v->decoder->history);
    const uint32_t id = gx_decoder_predicted(v->decoder);

    if (!id) {
        return gx_decoder_fail(v->decoder, "a run where nothing is predicted");
    }
    if (now && now->on) {
        gx_stride_predicted(now, slot, gx_key(id));
        if (step_recorded(r, v, id)) {
            return true;
        }
    }
    step(r, v, id);
    return true;
}

/* n predicted blocks. False: damaged. */
static bool run_predicted(GxReplay *r, GxVcpu *v, uint64_t n)
{
    while (n && !r->error) {
        bool usual = false;

        if (r->strides.record && r->strides.record->on) { /* a stride of tokens */
            usual = run_plain(r, v, &n, true);
        } else if (!v->cut && !v->trap_event && !gx_probe_pending(v)) {
            n -= gx_strides_run(r, v, n);
            if (n >= GX_STRIDE_RUN && gx_stride_begin(r, v, NULL, 0)) {
                usual = run_plain(r, v, &n, true);
                gx_stride_end(r, v, NULL);
            } else {
                usual = run_plain(r, v, &n, false);
            }
        }
        if (!usual && n) {
            if (!step_predicted(r, v)) {
                return false;
            }
            n--;
        }
    }
    return !r->error;
}

/* The block of a SECOND or NEW token. False: damaged. */
static bool take_block(GxReplay *r, GxVcpu *v, const GxToken *t)
{
    GxDecoder *d = v->decoder;
    GxStrideRecord *now = r->strides.record;
    const bool record = now && now->on;
    uint32_t id;

    if (record) {
        gx_stride_change(now, d->table, gx_slot(d->history), t->kind == GX_TOKEN_SECOND);
    }
    if (!(id = gx_decoder_take(d, t))) {
        return false;
    }
    if (!record || !step_recorded(r, v, id)) {
        step(r, v, id);
    }
    return true;
}

static void forget_context(GxReplay *r, GxVcpu *v)
{
    if (v->cut) {
        add_cut(r, v, v->cut);
    }
    gx_engine_reset(r, v);
    v->prev = 0;
    v->cut = 0;
    v->trap_event = 0;
    v->probe.before = 0;
}

/* False: the event does not fit. */
static bool take_event(GxReplay *r, GxVcpu *v, const GxToken *t)
{
    const uint8_t *end = t->payload + t->length;
    const uint8_t *p;
    uint64_t a = 0, b = 0, n = 0;

    p = gx_leb_get(t->payload, end, &a);
    if (p) {
        p = gx_leb_get(p, end, &b);
    }
    switch (t->event) {
    case GX_EVENT_CUT:
        if (!v->prev || v->cut || a == 0 || a >= r->blocks.n_insns[v->prev]) {
            return gx_decoder_fail(v->decoder, "CUT does not fit the block before it");
        }
        v->cut = (uint32_t)a;
        if (r->paths.on) {
            gx_paths_cut(r, v);
        }
        v->n_insns -= r->blocks.n_insns[v->prev] - a;
        return true;
    case GX_EVENT_TRAP:
        v->trap_event = v->prev && (a == 1 || a == 2) ? (uint8_t)a : 0;
        return true;
    case GX_EVENT_CONTEXT:
        if (!gx_probe_take(v, t->payload, end)) {
            return gx_decoder_fail(v->decoder, "CONTEXT is cut");
        }
        if (gx_probe_chains_unseen(r, v)) {
            v->trap_event = GX_TRAP_EVENT_PROBE;
        }
        return true;
    case GX_EVENT_MARK:
        if (a != 3) {
            forget_context(r, v);
        }
        return true;
    case GX_EVENT_RESET:
        r->stats.resets++;
        forget_context(r, v);
        return true;
    case GX_EVENT_GAP:
        if (a == GX_GAP_FILTERED) {
            if (!p || !gx_leb_get(p, end, &n)) {
                return gx_decoder_fail(v->decoder, "GAP of a filter is cut");
            }
            r->stats.filtered++;
            r->stats.filtered_blocks += b;
            r->stats.filtered_insns += n;
        } else {
            r->stats.gaps++;
            r->stats.gap_blocks += p ? b : 0;
        }
        forget_context(r, v);
        return true;
    default:
        return true;
    }
}

static void stop_record(GxReplay *r)
{
    if (r->strides.record) {
        r->strides.record->on = false;
    }
}

/* At token t: whether strides have gone on; else one may be recorded from here on, or one that is being recorded ends. */
static bool stride_of_tokens(GxReplay *r, GxVcpu *v, const uint8_t *raw, size_t length, const GxToken *t, uint64_t room)
{
    GxStrideRecord *now = r->strides.record;
    const bool fits = t->kind <= GX_TOKEN_NEW && t->run <= GX_STRIDE_RUN && !v->decoder->run_done && t->run < room;

    if (now && now->on) {
        if (fits && now->n_blocks < GX_STRIDE_TOKENS) {
            return false;
        }
        gx_stride_end(r, v, raw);
    }
    if (!fits || v->cut || v->trap_event || gx_probe_pending(v)) {
        return false;
    }
    if (gx_strides_tokens(r, v, raw, length, room)) {
        return true;
    }
    gx_stride_begin(r, v, raw, length);
    return false;
}

/*
 * Give a chunk, or more of it, to the replay; goes at most `budget` blocks (about) far. Result: 0 all of it is done,
 * 1 call again, -1 damaged (gx_replay_error).
 */
int gx_replay_feed(GxReplay *r, uint32_t vcpu, uint64_t seq, const uint8_t *raw, uint64_t length, uint64_t run,
                   uint64_t budget)
{
    GxVcpu *v = vcpu < GX_VCPUS_MAX ? r->vcpus[vcpu] : NULL;
    GxDecoder *d;
    uint64_t until;
    GxToken t;

    if (!v || r->error) {
        fail(r, "no such vCPU", vcpu);
        return -1;
    }
    d = v->decoder;
    if (seq >= v->next_seq) { /* another chunk; the reader says it when one is missing */
        gx_decoder_reset(d, r->blocks.count - 1);
        v->next_seq = seq + 1;
    } else if (seq + 1 != v->next_seq) {
        fail(r, "chunks are not in order", seq);
        return -1;
    }
    d->max_id = r->blocks.count - 1;
    v->provisional = 0;
    until = v->n_blocks + budget;
    stop_record(r);
    while (gx_decoder_peek(d, raw, length, &t)) {
        const uint64_t room = v->n_blocks < until ? until - v->n_blocks : 0;
        const uint64_t n = t.run < room ? t.run : room;

        if (stride_of_tokens(r, v, raw, length, &t, room)) {
            continue;
        }
        if (!run_predicted(r, v, n)) {
            break;
        }
        if (n < t.run || !room) {
            d->run_done += n;
            return 1;
        }
        if (t.kind <= GX_TOKEN_NEW) {
            if (!take_block(r, v, &t)) {
                break;
            }
            continue;
        }
        stop_record(r);
        if (t.kind == GX_TOKEN_EVENT && !take_event(r, v, &t)) {
            break;
        }
        d->ended = t.kind == GX_TOKEN_END;
        gx_decoder_skip(d, &t);
    }
    if (!d->error && !r->error && !d->ended && run > d->run_done) {
        const uint64_t room = v->n_blocks < until ? until - v->n_blocks : 0;
        const uint64_t n = run - d->run_done < room ? run - d->run_done : room;

        if (run_predicted(r, v, n)) {
            d->run_done += n;
            if (d->run_done < run) {
                return 1;
            }
        }
    }
    if (d->error) {
        fail(r, d->error, d->error_offset);
    }
    return r->error ? -1 : 0;
}
