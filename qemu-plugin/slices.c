/*
 * Slices: the engine says when activations begin and end; here they are cut to the window, measured and collected.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>

#include "state.h"

bool gx_slices_new(GxReplay *r, const GxSliceWindow *window)
{
    GxSlices *o = calloc(1, sizeof(*o));

    if (!o || !(o->vcpus = calloc(GX_VCPUS_MAX, sizeof(*o->vcpus)))) {
        free(o);
        return false;
    }
    o->window = *window;
    r->observed = o;
    return true;
}

void gx_slices_free(GxSlices *o)
{
    if (o) {
        free(o->vcpus);
        free(o->out);
        free(o);
    }
}

/* --- collecting ---------------------------------------------------------------------------------------------------------- */

/* Which of two slices says less: the shorter; of those of one length the inner, then the later. */
static bool says_less(const GxSlice *a, const GxSlice *b)
{
    const uint64_t x = a->end - a->start, y = b->end - b->start;

    if (x != y) {
        return x < y;
    }
    return a->depth != b->depth ? a->depth > b->depth : a->start > b->start;
}

static void sift_down(GxSlice *heap, uint64_t n, uint64_t at)
{
    for (uint64_t child; (child = 2 * at + 1) < n; at = child) {
        const GxSlice moved = heap[at];

        child += child + 1 < n && says_less(&heap[child + 1], &heap[child]);
        if (says_less(&moved, &heap[child])) {
            return;
        }
        heap[at] = heap[child];
        heap[child] = moved;
    }
}

static void collect(GxReplay *r, const GxSlice *slice)
{
    GxSlices *o = r->observed;
    const uint32_t longest = o->window.longest;

    if (longest && o->n == longest) {
        o->totals.dropped++;
        if (o->window.pieces) {
            o->out[o->oldest] = *slice;
            o->oldest = (o->oldest + 1) % longest;
        } else if (says_less(&o->out[0], slice)) {
            o->out[0] = *slice;
            sift_down(o->out, o->n, 0);
        }
        return;
    }
    if (o->n == o->capacity) {
        const uint64_t capacity = o->capacity ? o->capacity * 2 : 4096;
        GxSlice *out = realloc(o->out, capacity * sizeof(*out));

        if (!out) {
            r->error = "no memory for slices";
            return;
        }
        o->out = out;
        o->capacity = capacity;
    }
    o->out[o->n++] = *slice;
    if (longest && o->n == longest && !o->window.pieces) {
        for (uint64_t i = o->n / 2; i > 0; i--) {
            sift_down(o->out, o->n, i - 1);
        }
    }
}

/* A slice that is over, as far as the window shows it. */
static void give_out(GxReplay *r, GxSlice *slice)
{
    GxSlices *o = r->observed;
    const GxSliceWindow *w = &o->window;

    if (w->pieces || slice->start >= w->to || (slice->end <= w->from && slice->start < w->from)) {
        return;
    }
    if (slice->start < w->from) {
        slice->start = w->from;
        slice->flags |= GX_SLICE_OPEN_START;
    }
    if (slice->end > w->to) {
        slice->end = w->to;
        slice->flags |= GX_SLICE_OPEN_END;
    }
    o->totals.seen++;
    if (w->max_depth && slice->depth > w->max_depth) {
        o->totals.deeper++;
    } else if (slice->end - slice->start < w->min_insns && !slice->flags) {
        o->totals.shorter++;
    } else {
        collect(r, slice);
    }
}

/* --- open slices --------------------------------------------------------------------------------------------------------- */

static GxSlice slice_of(const GxSlices *o, const GxOpens *s, uint32_t index)
{
    const GxOpen *open = &s->opens[index];

    return (GxSlice){.start = open->start,
                     .end = o->now,
                     .self = open->self,
                     .inclusive = open->self + open->inside,
                     .address = open->address,
                     .node = open->node,
                     .fn = open->fn,
                     .depth = index + 1,
                     .above = s->above,
                     .task = s->task,
                     .root_fn = s->opens[0].fn,
                     .vcpu = (uint16_t)o->vcpu,
                     .level = s->level,
                     .kind = open->kind,
                     .root_kind = s->opens[0].kind,
                     .flags = open->flags};
}

static void end_piece(GxReplay *r, GxSlicesVcpu *v)
{
    if (v->piece_of) {
        r->observed->totals.seen++;
        collect(r, &v->piece);
        v->piece_of = 0;
    }
}

/* Instructions [start, end) ran in the top slice of a stack. */
static void add_piece(GxReplay *r, GxSlicesVcpu *v, const GxOpens *s, uint64_t start, uint64_t end)
{
    const GxOpen *open = &s->opens[s->n - 1];

    if (v->piece_of == open->serial && v->piece.end == start) {
        v->piece.end = end;
        v->piece.self = v->piece.inclusive = end - v->piece.start;
        return;
    }
    end_piece(r, v);
    v->piece = slice_of(r->observed, s, s->n - 1);
    v->piece.flags = open->start == start && !(open->flags & GX_SLICE_OPEN_START) ? GX_SLICE_FIRST : 0;
    v->piece.address = v->address;
    v->piece.start = start;
    v->piece.end = end;
    v->piece.self = v->piece.inclusive = end - start;
    v->piece_of = open->serial;
}

void gx_slices_at(GxReplay *r, GxVcpu *v, uint64_t now, uint32_t id)
{
    GxSlices *o = r->observed;
    const GxEngine *e = &v->engine;
    GxOpens *s = &e->stack->slices;
    GxSlicesVcpu *own;
    uint64_t start, end;

    for (o->vcpu = 0; r->vcpus[o->vcpu] != v;) {
        o->vcpu++;
    }
    own = &o->vcpus[o->vcpu];
    o->now = now;
    start = own->charged > o->window.from ? own->charged : o->window.from;
    end = now < o->window.to ? now : o->window.to;
    own->charged = now;
    if (start < end && s->n) {
        s->opens[s->n - 1].self += end - start;
        own->run_self += e->n_levels ? 0 : end - start;
        if (o->window.pieces) {
            add_piece(r, own, s, start, end);
        }
    }
    own->address = r->blocks.address[id];
}

static void open_slice(GxReplay *r, GxOpens *s, GxOpen open)
{
    if (s->n == s->capacity) {
        const uint32_t capacity = s->capacity ? s->capacity * 2 : 64;
        GxOpen *opens = realloc(s->opens, capacity * sizeof(*opens));

        if (!opens) {
            r->error = "no memory for open slices";
            return;
        }
        s->opens = opens;
        s->capacity = capacity;
    }
    open.start = r->observed->now;
    open.serial = ++r->observed->serial;
    s->opens[s->n++] = open;
}

static void close_slices(GxReplay *r, GxOpens *s, uint32_t to, unsigned flags)
{
    while (s->n > to) {
        GxSlice slice = slice_of(r->observed, s, s->n - 1);

        slice.flags |= (uint8_t)flags;
        if (--s->n) {
            s->opens[s->n - 1].inside += slice.inclusive;
        }
        give_out(r, &slice);
    }
}

/* --- what the engine says ------------------------------------------------------------------------------------------------- */

/* A stack keeps its track; those of handlers go round when there are too many. */
static void place(GxReplay *r, const GxStack *stack, GxOpens *s)
{
    const GxEngine *e = &r->vcpus[r->observed->vcpu]->engine;

    for (uint32_t i = 0; i < e->n_tasks; i++) {
        if (stack == &e->tasks[i].stack) {
            s->task = i;
        }
    }
    for (uint16_t i = 0; i < GX_LEVELS_MAX; i++) {
        if (stack == &e->levels[i].stack) {
            s->level = i + 1;
        }
    }
    s->placed = true;
}

void gx_slices_push(GxReplay *r, GxStack *stack, uint64_t address, unsigned kind)
{
    const GxFrame *top = &stack->frames[stack->n - 1];
    GxOpens *s = &stack->slices;

    if (!s->placed) {
        place(r, stack, s);
    }
    open_slice(r, s, (GxOpen){.address = address, .node = top->node, .fn = top->fn, .kind = (uint8_t)kind});
}

void gx_slices_copy(GxReplay *r, GxStack *stack, const GxStack *from)
{
    const GxFrame *top = &stack->frames[stack->n - 1];
    GxOpens *s = &stack->slices;
    uint64_t address = 0;

    for (uint32_t i = from->n; i > 0 && !address; i--) {
        address = from->frames[i - 1].fn == top->fn ? from->slices.opens[i - 1].address : 0;
    }
    open_slice(r, s,
               (GxOpen){.address = address,
                        .node = top->node,
                        .fn = top->fn,
                        .kind = top->tail ? GX_NODE_TAIL : GX_NODE_CALL,
                        .flags = GX_SLICE_OPEN_START});
}

void gx_slices_cut(GxReplay *r, GxStack *stack, uint32_t to, unsigned flags)
{
    close_slices(r, &stack->slices, to, flags);
}

void gx_slices_again(GxReplay *r, GxStack *stack, uint64_t address)
{
    GxOpens *s = &stack->slices;
    const GxOpen top = s->opens[s->n - 1];

    close_slices(r, s, s->n - 1, 0);
    open_slice(r, s, (GxOpen){.address = address, .node = top.node, .fn = top.fn, .kind = top.kind});
}

void gx_slices_above(GxStack *stack)
{
    stack->slices.above++;
    stack->slices.opens[0].flags |= GX_SLICE_OPEN_START;
}

void gx_slices_drop(GxReplay *r, GxStack *stack, uint32_t first)
{
    GxOpens *s = &stack->slices;
    const uint32_t n = s->n;
    const GxOpens all = *s;

    /* The outer ones end before the inner ones, which have to begin anew to stay nested. */
    close_slices(r, s, 1, GX_SLICE_OPEN_END);
    for (uint32_t i = first; i < n && !r->error; i++) {
        const GxOpen old = all.opens[i];

        open_slice(r, s,
                   (GxOpen){.address = old.address,
                            .node = old.node,
                            .fn = old.fn,
                            .kind = old.kind,
                            .flags = GX_SLICE_OPEN_START});
    }
}

void gx_slices_was_call(GxReplay *r, GxStack *stack, uint32_t node)
{
    GxOpens *s = &stack->slices;

    close_slices(r, s, 1, 0);
    if (s->n) {
        s->opens[0].kind = GX_NODE_CALL;
        s->opens[0].node = node;
    }
    close_slices(r, s, 0, 0);
}

void gx_slices_began_inside(GxReplay *r, GxEngine *e, unsigned kind)
{
    GxOpens *s = &e->levels[0].stack.slices;

    s->placed = false;
    place(r, &e->levels[0].stack, s);
    e->tasks[e->task].stack.slices.placed = false;
    if (s->n) {
        s->opens[0].kind = (uint8_t)kind;
        s->opens[0].flags |= GX_SLICE_OPEN_START;
    }
    r->observed->vcpus[r->observed->vcpu].running = false;
}

void gx_slices_levels(GxReplay *r, GxEngine *e, uint32_t to, unsigned flags)
{
    for (uint32_t i = e->n_levels; i > to; i--) {
        close_slices(r, &e->levels[i - 1].stack.slices, 0, flags);
    }
}

void gx_slices_run(GxReplay *r, GxEngine *e, bool runs, unsigned flags)
{
    GxSlices *o = r->observed;
    GxSlicesVcpu *own = &o->vcpus[o->vcpu];

    if (own->running && o->window.runs) {
        GxSlice slice = {.start = own->run_start,
                         .end = o->now,
                         .inclusive = own->run_self,
                         .fn = e->tasks[e->task].entry_fn,
                         .depth = 1,
                         .task = e->task,
                         .root_fn = e->tasks[e->task].entry_fn,
                         .vcpu = (uint16_t)o->vcpu,
                         .kind = GX_SLICE_RUN,
                         .root_kind = GX_SLICE_RUN,
                         .flags = (uint8_t)flags};

        give_out(r, &slice);
    }
    own->running = runs;
    own->run_start = o->now;
    own->run_self = 0;
}

void gx_slices_forget(GxReplay *r, GxVcpu *v)
{
    GxEngine *e = &v->engine;

    gx_slices_levels(r, e, 0, GX_SLICE_OPEN_END);
    for (uint32_t i = 0; i < e->n_tasks; i++) {
        close_slices(r, &e->tasks[i].stack.slices, 0, GX_SLICE_OPEN_END);
    }
    gx_slices_run(r, e, false, GX_SLICE_OPEN_END);
    end_piece(r, &r->observed->vcpus[r->observed->vcpu]);
}
