/*
 * Stacks of activations: calls, returns, tail calls, unwinding. docs/reconstruction.md, rules C.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>

#include "state.h"

#define SEARCH_MAX 4096 /* frames that are looked through for a return or a function */

static bool reserve(GxReplay *r, GxStack *s)
{
    const uint32_t capacity = s->capacity ? s->capacity * 2 : 64;
    GxFrame *frames;

    if (s->n < s->capacity) {
        return true;
    }
    if (s->n == GX_STACK_MAX) { /* the outermost half is forgotten */
        const uint32_t half = s->n / 2;

        if (r->observed) {
            gx_slices_drop(r, s, half);
        }
        memmove(s->frames + 1, s->frames + half, (s->n - half) * sizeof(*s->frames));
        s->n -= half - 1;
        r->stats.dropped_frames += half - 1;
        return true;
    }
    if (!(frames = realloc(s->frames, capacity * sizeof(*frames)))) {
        r->error = "no memory for a call stack";
        return false;
    }
    s->frames = frames;
    s->capacity = capacity;
    return true;
}

void gx_stack_free(GxStack *s)
{
    free(s->frames);
    free(s->slices.opens);
    *s = (GxStack){.frames = NULL};
}

/* Its node, below `parent`; where its caller has none of its own, it has none either. */
static void place(GxReplay *r, GxFrame *frame, const GxFrame *caller, uint32_t parent, unsigned kind)
{
    const uint64_t before = r->tree.cut_calls;

    if (caller && caller->cut) {
        frame->node = caller->node;
        r->tree.cut_calls++;
    } else {
        frame->node = gx_tree_child(&r->tree, parent, frame->fn, kind);
    }
    frame->cut = r->tree.cut_calls != before;
}

/* The node below which the function that runs calls from block `from`. */
static uint32_t calling_node(GxReplay *r, const GxFrame *top, uint32_t from)
{
    return top->cut ? top->node : gx_calling_node(r, top->node, from);
}

static void push(GxReplay *r, GxStack *s, uint32_t parent, uint32_t id, GxFrame frame, unsigned kind)
{
    if (!reserve(r, s)) {
        return;
    }
    frame.fn = r->blocks.fn_first[id];
    frame.switched = r->blocks.flags[id] & GX_FLAG_SWITCH;
    place(r, &frame, s->n ? &s->frames[s->n - 1] : NULL, parent, kind);
    if (!frame.cut) {
        r->tree.nodes[frame.node].calls++;
    }
    s->frames[s->n++] = frame;
    if (r->observed) {
        gx_slices_push(r, s, r->blocks.address[id], kind);
    }
}

void gx_stack_begin(GxReplay *r, GxStack *s, uint32_t id, unsigned kind)
{
    if (r->observed) {
        gx_slices_cut(r, s, 0, GX_SLICE_OPEN_END);
        s->slices.above = 0;
    }
    s->n = 0;
    push(r, s, 0, id, (GxFrame){.has_ret = false}, kind);
}

/* First frame of the top group: the activation that was called, below the functions it went on to by tail calls. */
static uint32_t group(const GxStack *s, uint32_t top)
{
    while (top > 0 && s->frames[top].tail) {
        top--;
    }
    return top;
}

int gx_stack_find_return(const GxStack *s, uint64_t address)
{
    for (uint32_t i = s->n, left = SEARCH_MAX; i > 0 && left > 0; i--, left--) {
        if (s->frames[i - 1].has_ret && s->frames[i - 1].ret == address) {
            return (int)group(s, i - 1);
        }
    }
    return -1;
}

bool gx_stack_at_base(const GxStack *s)
{
    for (uint32_t i = s->n; i > 1; i--) {
        if (!s->frames[i - 1].tail) {
            return false;
        }
    }
    return true;
}

bool gx_stack_switches(const GxStack *s)
{
    for (uint32_t i = s->n; i > 0; i--) {
        if (s->frames[i - 1].switched) {
            return true;
        }
        if (!s->frames[i - 1].tail) {
            break;
        }
    }
    return false;
}

int gx_stack_waits(const GxStack *s, uint64_t address)
{
    const GxFrame *top = s->n ? &s->frames[s->n - 1] : NULL;

    return top && top->has_ret && top->ret == address ? (int)group(s, s->n - 1) : -1;
}

void gx_stack_copy_above(GxReplay *r, GxStack *to, const GxStack *from, uint32_t at)
{
    while (++at < from->n && from->frames[at].tail) {
    }
    for (; at < from->n && reserve(r, to); at++) {
        const GxFrame *caller = &to->frames[to->n - 1];
        GxFrame frame = from->frames[at];

        place(r, &frame, caller, caller->node, frame.tail ? GX_NODE_TAIL : GX_NODE_CALL);
        to->frames[to->n++] = frame;
        if (r->observed) {
            gx_slices_copy(r, to, from);
        }
    }
}

int gx_stack_find_function(const GxStack *s, uint32_t fn)
{
    for (uint32_t i = s->n, left = SEARCH_MAX; fn && i > 0 && left > 0; i--, left--) {
        if (s->frames[i - 1].fn == fn) {
            return (int)i - 1;
        }
    }
    return -1;
}

/* Leave all frames from index `to` on; those beyond the top group were unwound. */
static void leave_frames(GxReplay *r, GxStack *s, uint32_t to, bool returned)
{
    uint32_t calls = 0;

    for (uint32_t i = to; i < s->n; i++) {
        calls += !s->frames[i].tail;
    }
    r->stats.unwinds += calls - (returned && calls ? 1 : 0);
    if (r->observed) {
        gx_slices_cut(r, s, to, 0);
    }
    s->n = to;
}

/*
 * The activation of its function that block `id` goes on in, with those above it left; -1: none. Rules C4 and C7: of
 * several, the one in which setjmp returned there; that is known after a longjmp told the address, when all is replayed
 * once more.
 */
static int unwound_to(GxReplay *r, const GxStack *s, uint32_t id)
{
    const uint64_t address = r->blocks.address[id];
    const int newest = gx_stack_find_function(s, r->blocks.fn_first[id]);
    uint32_t activations = 0, set = 0;
    int unused = -1, used = -1, to = -1;

    if (newest < 0 || group(s, s->n - 1) <= (uint32_t)newest) { /* no calls to be left */
        return newest;
    }
    for (uint32_t i = (uint32_t)newest + 1, left = SEARCH_MAX; i > 0 && left > 0; i--, left--) {
        const GxFrame *f = &s->frames[i - 1];

        if (f->fn != s->frames[newest].fn) {
            continue;
        }
        activations++;
        if (to < 0 && !(i < s->n && gx_set_has(&r->resumers, s->frames[i].fn))) { /* not the one that is being left */
            to = (int)i - 1;
        }
        if (f->set_jump && r->blocks.address[f->set_jump] == address) {
            set++;
            if (f->jumped && used < 0) {
                used = (int)i - 1;
            } else if (!f->jumped && unused < 0) {
                unused = (int)i - 1;
            }
        }
    }
    if (activations < 2) {
        return newest;
    }
    if (gx_set_has(&r->call_ends, address) && !gx_set_has(&r->set_jumps, address)) {
        r->stats.late += gx_set_add(&r->set_jumps, address);
    }
    r->stats.ambiguous_unwinds += set != 1;
    return unused >= 0 ? unused : used >= 0 ? used : to >= 0 ? to : newest;
}

/* A longjmp, or a jump to a landing pad. */
static void unwind(GxReplay *r, GxStack *s, uint32_t id, uint32_t at)
{
    leave_frames(r, s, at + 1, false);
    if (s->frames[at].set_jump && r->blocks.address[s->frames[at].set_jump] == r->blocks.address[id]) {
        s->frames[at].jumped = 1;
    }
}

/* Nothing is known of who called what runs now. */
static void begin_above(GxReplay *r, GxStack *s, uint32_t id)
{
    const unsigned kind = r->tree.nodes[s->frames[0].node].kind;
    const uint32_t fn = r->blocks.fn_first[id];

    if (r->observed) {
        gx_slices_cut(r, s, 0, 0);
    }
    s->n = 1;
    s->frames[0] = (GxFrame){.fn = fn, .node = gx_tree_child(&r->tree, 0, fn, kind)};
    if (r->observed) {
        gx_slices_push(r, s, r->blocks.address[id], kind);
    }
}

static void tail_call(GxReplay *r, GxStack *s, uint32_t from, uint32_t id)
{
    const uint32_t fn = r->blocks.fn_first[id];
    const GxFrame top = s->frames[s->n - 1];

    if (s->n == 1 && !top.fn && fn) { /* from a boot ROM into the program: it begins here */
        begin_above(r, s, id);
        r->tree.nodes[s->frames[0].node].calls++;
        return;
    }
    /* Tail calls that go round need no more stack each time. */
    for (uint32_t i = s->n; i > 0; i--) {
        if (s->frames[i - 1].fn == fn && fn) {
            if (s->frames[i - 1].cut) {
                r->tree.cut_calls++;
            } else {
                r->tree.nodes[s->frames[i - 1].node].calls++;
            }
            if (r->observed) {
                gx_slices_cut(r, s, i, 0);
                gx_slices_again(r, s, r->blocks.address[id]);
            }
            s->n = i;
            return;
        }
        if (!s->frames[i - 1].tail) {
            break;
        }
    }
    push(r, s, calling_node(r, &top, from), id, (GxFrame){.ret = top.ret, .has_ret = top.has_ret, .tail = true},
         GX_NODE_TAIL);
}

static void jump(GxReplay *r, GxStack *s, uint32_t from, uint32_t id)
{
    const GxBlocks *b = &r->blocks;
    const uint32_t fn = b->fn_first[id];
    int at;

    if (fn == b->fn_last[from] && fn == s->frames[s->n - 1].fn) {
        return;
    }
    if (b->is_entry[id]) {
        tail_call(r, s, from, id);
    } else if ((at = unwound_to(r, s, id)) >= 0) { /* back from a cold part, or a landing pad */
        unwind(r, s, id, (uint32_t)at);
    } else {
        r->stats.middle_entries++;
        tail_call(r, s, from, id);
    }
}

/* A return to one of the stack's calls. False: it fits none. */
static bool do_return(GxReplay *r, GxStack *s, uint32_t id)
{
    const int at = gx_stack_find_return(s, r->blocks.address[id]);

    if (at <= 0) {
        return false;
    }
    leave_frames(r, s, (uint32_t)at, true);
    return true;
}

void gx_calls_unmatched(GxReplay *r, GxStack *s, uint32_t from, uint32_t id)
{
    const GxBlocks *b = &r->blocks;
    int at;

    if (b->is_entry[id]) { /* a jump by means of a return instruction */
        jump(r, s, from, id);
    } else if ((at = unwound_to(r, s, id)) >= 0 && (uint32_t)at + 1 < s->n) { /* longjmp */
        unwind(r, s, id, (uint32_t)at);
    } else {
        if (group(s, s->n - 1) > 0) {
            r->stats.unmatched_returns++;
        } else {
            r->stats.above_start++;
        }
        begin_above(r, s, id);
        if (r->observed) {
            gx_slices_above(s);
        }
    }
}

bool gx_calls_edge(GxReplay *r, GxStack *s, uint32_t from, uint32_t id)
{
    const GxBlocks *b = &r->blocks;
    const uint8_t kind = b->end_kind[from];
    const uint64_t address = b->address[id];
    const GxFrame top = s->frames[s->n - 1];
    const bool falls = address == b->end[from] && (kind == GX_END_FALL || b->flags[from] & GX_FLAG_CONDITIONAL);

    if (falls) {
        jump(r, s, from, id);
    } else if (kind == GX_END_CALL || kind == GX_END_CALL_INDIRECT) {
        r->stats.middle_entries += !b->is_entry[id] && b->fn_first[id];
        push(r, s, calling_node(r, &top, from), id, (GxFrame){.ret = b->end[from], .has_ret = true}, GX_NODE_CALL);
    } else if (kind == GX_END_RETURN) {
        if (!do_return(r, s, id)) {
            return false;
        }
        if (gx_set_has(&r->set_jumps, address)) { /* C7 */
            s->frames[s->n - 1].set_jump = id;
            s->frames[s->n - 1].jumped = 0;
        }
    } else if (kind == GX_END_JUMP_INDIRECT && top.has_ret && top.ret == address && group(s, s->n - 1) > 0) {
        leave_frames(r, s, group(s, s->n - 1), true);
    } else {
        jump(r, s, from, id);
    }
    return true;
}
