/*
 * Filters and triggers, as the vCPUs go: which block is recorded. See filter.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "filter.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "blocktable.h"
#include "buffers.h"
#include "filterset.h"
#include "format.h"

#define HOLD_BLOCKS (1u << 20) /* a trap that does not return */

void filter_start(Vcpu *v) { v->filter = (VcpuFilter){.on = !filter_set.from.n, .out = true}; }

/* The last block was left out. */
static void count_last(VcpuFilter *s)
{
    if (s->last) {
        s->n_blocks++;
        s->n_insns += s->begun ? s->begun : blocktable_n_insns()[s->last];
    }
    s->last = 0;
}

static void tell_count(Vcpu *v)
{
    VcpuFilter *s = &v->filter;

    if (s->n_blocks) {
        buffer_put_numbers(v, GX_EVENT_GAP, 3, (const uint64_t[]){GX_GAP_FILTERED, s->n_blocks, s->n_insns});
        s->n_blocks = s->n_insns = 0;
    }
}

static void tell_trigger(Vcpu *v, unsigned kind, uint64_t address)
{
    char text[32];

    snprintf(text, sizeof(text), "0x%" PRIx64, address);
    buffer_put_mark(v, kind, text);
}

/* --to's instruction was in the last block: was it begun? */
static void settle_to(Vcpu *v)
{
    VcpuFilter *s = &v->filter;

    if (s->to_insn && (!s->begun || s->begun >= s->to_insn)) {
        tell_trigger(v, GX_MARK_TO, s->to);
        s->on = false;
        s->done = filter_set.once || !filter_set.from.n;
        s->out = true;
        s->depth = 0;
        s->last = 0; /* it was recorded: not to be counted, nor to be written again */
    }
    s->to_insn = 0;
}

void filter_tell(Vcpu *v, bool all)
{
    if (all) {
        settle_to(v);
    }
    if (v->filter.out) {
        if (all) {
            count_last(&v->filter);
        }
        tell_count(v);
    }
}

/* The last block was left out, and is the one before what is recorded again. */
static void come_in(Vcpu *v)
{
    VcpuFilter *s = &v->filter;
    const uint64_t begun = s->begun;

    tell_count(v);
    if (s->last) {
        buffer_put_block(v, gx_key(s->last));
        if (begun) {
            buffer_put_numbers(v, GX_EVENT_CUT, 1, &begun);
        }
        if (s->trapped) {
            buffer_put_numbers(v, GX_EVENT_TRAP, 3, s->trap);
        }
    }
    s->out = false;
}

static bool goes_to(uint32_t id, uint64_t address)
{
    uint64_t next[2];
    const unsigned n = filter_successors(id, next);

    return !n || next[0] == address || (n == 2 && next[1] == address);
}

/* QEMU has told that a trap came before an instruction of the ranges. */
static bool trap_was_told(const VcpuFilter *s)
{
    return s->trapped && (s->trap[0] == 1 || s->trap[0] == 2) && filter_in_ranges(s->trap[1], s->trap[1] + 1);
}

/*
 * A block that is not of the filter begins. Does the filter go on when a trap is over that came just now: after one of its
 * blocks, or between a block that goes there and its first?
 */
static bool trap_between(const VcpuFilter *s, uint32_t id)
{
    if (!s->last || !filter_set.ranges.n) {
        return false;
    }
    if (trap_was_told(s) || (s->begun && s->in)) {
        return true;
    }
    return !s->begun && (s->in || (filter_flags(s->last) & FILTER_NEAR)) &&
           !goes_to(s->last, gx_get64(blocktable_entry(id)));
}

/* Record everything until that trap returns. */
static void hold(VcpuFilter *s)
{
    const uint8_t *last = blocktable_entry(s->last);
    uint64_t *resume = s->resume[s->depth];
    uint64_t next[2];

    if (s->depth == VCPU_FILTER_DEPTH) {
        return;
    }
    s->depth++;
    s->hold = HOLD_BLOCKS;
    memset(resume, 0, sizeof(*s->resume));
    if (trap_was_told(s)) {
        resume[0] = s->trap[1];
        resume[1] = s->trap[1] + GX_BLOCK_INSN_SIZE_MAX + 1; /* or after the instruction that trapped */
    }
    if (s->begun) {
        resume[2] = gx_get64(last);
        resume[3] = gx_get64(last) + gx_get16(last + 10) + 1;
        return;
    }
    for (unsigned i = filter_successors(s->last, next); i > 0; i--) {
        resume[2 * i] = next[i - 1];
        resume[2 * i + 1] = next[i - 1] + 1;
    }
}

/* A block of the filter begins in a trap that is held: is it where the trap returns to, or does the handler call it? */
static bool resumes(const VcpuFilter *s, uint32_t id)
{
    const uint64_t address = gx_get64(blocktable_entry(id));
    uint64_t next[2];

    for (unsigned i = 0; i < 6; i += 2) {
        if (s->resume[s->depth - 1][i] <= address && address < s->resume[s->depth - 1][i + 1]) {
            return !filter_successors(s->last, next);
        }
    }
    return false;
}

/* Whether to record the block; what is left out before it is told. */
static bool decide(Vcpu *v, uint32_t id, uint8_t flags)
{
    VcpuFilter *s = &v->filter;
    const bool of_filter = s->on && (flags & FILTER_IN);
    bool record;

    if (of_filter) {
        if (s->out) {
            come_in(v);
        }
        if (s->depth && (--s->hold == 0 || resumes(s, id))) {
            s->depth = s->hold ? s->depth - 1 : 0;
        }
        record = true;
    } else if (!s->on) {
        record = false;
    } else if (trap_between(s, id)) {
        if (s->out) {
            come_in(v);
        }
        hold(s);
        record = true;
    } else if (s->depth) {
        s->depth = --s->hold ? s->depth : 0;
        record = true;
    } else {
        record = !s->out && s->in; /* the block that the filter goes to */
    }
    s->in = of_filter;
    return record;
}

bool filter_block(Vcpu *v, uint32_t id)
{
    VcpuFilter *s = &v->filter;
    const uint8_t flags = filter_flags(id);
    uint64_t address = 0;
    bool record;

    s->to_next = 0;
    if (s->to_insn) {
        settle_to(v);
    }
    if ((flags & FILTER_FROM) && !s->on && !s->done) {
        s->on = true;
        tell_count(v);
        filter_insn_at(id, &filter_set.from, &address);
        tell_trigger(v, GX_MARK_FROM, address);
    }
    record = decide(v, id, flags);
    if (s->out) {
        count_last(s);
    }
    s->out = !record;
    s->last = id;
    s->begun = 0;
    s->trapped = false;
    if (record && (flags & FILTER_TO)) {
        s->to_next = filter_insn_at(id, &filter_set.to, &s->to);
    }
    return record;
}

bool filter_skips(Vcpu *v, uint32_t id)
{
    VcpuFilter *s = &v->filter;
    const uint8_t flags = filter_set.flags[id];

    if (!s->out || s->trapped || !flags || (flags & (s->on ? FILTER_IN : FILTER_FROM)) ||
        (s->on && s->last && (filter_set.flags[s->last] & FILTER_NEAR))) {
        return false;
    }
    count_last(s);
    s->last = id;
    s->begun = 0;
    s->in = false;
    return true;
}

bool filter_cut(Vcpu *v, uint64_t begun)
{
    v->filter.begun = (uint32_t)begun;
    return !v->filter.out;
}

bool filter_trap(Vcpu *v, const uint64_t trap[3])
{
    memcpy(v->filter.trap, trap, sizeof(v->filter.trap));
    v->filter.trapped = true;
    return !v->filter.out;
}
