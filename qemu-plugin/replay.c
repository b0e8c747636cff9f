/*
 * Replay: the loop over the tokens of chunks. A predicted block costs a look into the predictor and one into the two usual
 * successors of the block before; all else is step_slow().
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "replay.h"

#include <stdlib.h>

#define PERIOD_MAX 4096  /* blocks of a loop that is counted by multiplication */
#define PERIOD_RUN 65536 /* runs below this are not worth the search */

static void fail(GxReplay *r, const char *error, uint64_t offset)
{
    if (!r->error) {
        r->error = error;
        r->error_offset = offset;
    }
}

static void add_cut(GxReplay *r, uint32_t block, uint32_t begun)
{
    for (uint32_t i = r->n_cuts; i > 0; i--) {
        if (r->cuts[i - 1].block == block && r->cuts[i - 1].begun == begun) {
            r->cuts[i - 1].count++;
            return;
        }
    }
    if (r->n_cuts == r->cuts_capacity) {
        const uint32_t capacity = r->cuts_capacity ? r->cuts_capacity * 2 : 256;
        GxCut *cuts = realloc(r->cuts, capacity * sizeof(*cuts));

        if (!cuts) {
            fail(r, "no memory for the table of cut blocks", 0);
            return;
        }
        r->cuts = cuts;
        r->cuts_capacity = capacity;
    }
    r->cuts[r->n_cuts++] = (GxCut){.block = block, .begun = begun, .count = 1};
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
        add_cut(r, v->prev, v->cut);
        v->cut++;
        return;
    }
    if (b->address[id] == address + sizes[v->cut - 1]) {
        r->stats.resumes++;
    }
    add_cut(r, v->prev, v->cut);
}

static void arrive(GxReplay *r, GxVcpu *v, uint32_t id)
{
    v->cut = 0;
    v->trap_event = 0;
    v->prev = id;
    v->n_insns += r->blocks.n_insns[id];
    v->n_blocks++;
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
    } else if (gx_engine_quick(r, &v->engine, id, s->flags[k], r->blocks.end[v->prev], v->n_insns) ||
               gx_engine_step(r, v, id)) {
        r->edges.edges[edge].count++;
    } else {
        r->other_arrivals[id]++;
    }
    arrive(r, v, id);
}

/*
 * Blocks until the predictor's state is (history, prev) again, at most PERIOD_MAX; 0: not so soon. Only for edges that
 * are cached and not the engine's.
 */
static uint32_t find_period(const GxReplay *r, const GxVcpu *v)
{
    const uint32_t *first = v->decoder->table->first;
    uint32_t history = v->decoder->history;
    uint32_t prev = v->prev;

    for (uint32_t n = 1; n <= PERIOD_MAX; n++) {
        const uint32_t key = first[gx_slot(history)];
        const uint32_t id = gx_id(key);
        const GxSuccessors *s = &r->edges.successors[prev];

        if (!id || !((s->next[0] == id && !s->flags[0]) || (s->next[1] == id && !s->flags[1]))) {
            return 0;
        }
        history = gx_step(history, key);
        prev = id;
        if (history == v->decoder->history && prev == v->prev) {
            return n;
        }
    }
    return 0;
}

/* Go round the loop that find_period() found, `times` times at once. */
static void count_period(GxReplay *r, GxVcpu *v, uint32_t period, uint64_t times)
{
    const uint32_t *first = v->decoder->table->first;

    for (uint32_t n = 0; n < period; n++) {
        const uint32_t key = first[gx_slot(v->decoder->history)];
        const uint32_t id = gx_id(key);
        GxSuccessors *s = &r->edges.successors[v->prev];

        s->count[s->next[0] != id] += times;
        v->n_insns += r->blocks.n_insns[id] * times;
        v->decoder->history = gx_step(v->decoder->history, key);
        v->prev = id;
    }
    v->n_blocks += period * times;
}

/* n predicted blocks. False: nothing is predicted (damaged). */
static bool run_predicted(GxReplay *r, GxVcpu *v, uint64_t n)
{
    GxDecoder *d = v->decoder;
    const uint32_t *first = d->table->first;
    const uint16_t *n_insns = r->blocks.n_insns;
    const uint64_t *ends = r->blocks.end;
    uint64_t search_at = n;

    while (n && !r->error) {
        GxSuccessors *successors = r->edges.successors;
        const uint64_t before = v->n_insns;
        uint32_t history = d->history;
        uint32_t prev = v->prev;
        uint64_t insns = 0;
        uint64_t left = n;
        uint64_t stop = 0;
        uint32_t id = 0;

        if (v->cut || v->trap_event) {
            stop = left; /* the next block goes the slow way */
        } else if (n >= PERIOD_RUN) {
            const uint32_t period = n <= search_at ? find_period(r, v) : 0;

            if (period) {
                count_period(r, v, period, n / period);
                n %= period;
                continue;
            }
            search_at = n <= search_at ? n - PERIOD_RUN / 2 : search_at;
            stop = search_at;
        }
        while (left > stop) {
            GxSuccessors *s = &successors[prev];
            uint32_t key;
            unsigned k;

            key = first[gx_slot(history)];
            id = gx_id(key);
            k = s->next[0] != id;
            if (__builtin_expect((k && s->next[1] != id) || !id, 0)) {
                break;
            }
            if (s->flags[k] && !gx_engine_quick(r, &v->engine, id, s->flags[k], ends[prev], before + insns)) {
                break;
            }
            s->count[k]++;
            history = gx_step(history, key);
            insns += n_insns[id];
            prev = id;
            left--;
        }
        v->prev = prev;
        v->n_insns += insns;
        v->n_blocks += n - left;
        d->history = history;
        n = left;
        if (left > stop || v->cut || v->trap_event) {
            if (!(id = gx_decoder_predicted(d))) {
                return gx_decoder_fail(d, "a run where nothing is predicted");
            }
            step(r, v, id);
            n--;
        }
    }
    return !r->error;
}

static void forget_context(GxReplay *r, GxVcpu *v)
{
    if (v->cut) {
        add_cut(r, v->prev, v->cut);
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
    uint64_t a = 0, b = 0;

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
        v->n_insns -= r->blocks.n_insns[v->prev] - a;
        return true;
    case GX_EVENT_TRAP:
        v->trap_event = v->prev && (a == 1 || a == 2) ? (uint8_t)a : 0;
        return true;
    case GX_EVENT_CONTEXT:
        return gx_probe_take(v, t->payload, end) || gx_decoder_fail(v->decoder, "CONTEXT is cut");
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
        r->stats.gaps++;
        r->stats.gap_blocks += p ? b : 0;
        forget_context(r, v);
        return true;
    default:
        return true;
    }
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
    while (gx_decoder_peek(d, raw, length, &t)) {
        const uint64_t room = v->n_blocks < until ? until - v->n_blocks : 0;
        const uint64_t n = t.run < room ? t.run : room;

        if (!run_predicted(r, v, n)) {
            break;
        }
        if (n < t.run || !room) {
            d->run_done += n;
            return 1;
        }
        if (t.kind <= GX_TOKEN_NEW) {
            const uint32_t id = gx_decoder_take(d, &t);

            if (!id) {
                break;
            }
            step(r, v, id);
            continue;
        }
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
