/*
 * Writes every executed branch, in order, as CSV: opcode bytes as in memory, address, where control went. The Python twin
 * is gdbext/replay/branchlog.py.
 *
 * A branch is written when the next block of its vCPU begins, which is where it went, unless an interrupt or exception came
 * in between. Then QEMU's TRAP event tells, or, for a branch with one possible target, the instruction. Where nothing
 * tells, the target is left empty and counted.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "branchlog.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "state.h"
#include "steps.h"

#define BUFFER_SIZE (1 << 16)
#define ROW_MAX     128

typedef struct GxLogVcpu {
    GxDecoder *decoder;
    uint64_t next_seq;
    uint32_t prev;      /* block whose branch is not written yet; 0: none */
    uint32_t cut;       /* it was left after so many instructions; 0: whole */
    uint64_t trap_from; /* a TRAP event stands before the next block: */
    bool trap;          /* it came before the instruction at trap_from */
} GxLogVcpu;

struct GxBranchLog {
    GxLogBlocks blocks;
    GxLogVcpu *vcpus[GX_VCPUS_MAX];
    GxAddressSet handlers;
    bool vcpu_column;
    bool has_events;
    bool on;   /* the first block of the window was seen */
    bool over; /* its end, or the greatest number of rows */
    uint64_t rows, max, unknown;
    int fd;
    int failed; /* errno of a write */
    const char *error;
    size_t used;
    char buffer[BUFFER_SIZE];
};

static void flush(GxBranchLog *log)
{
    size_t at = 0;

    while (at < log->used && !log->failed) {
        const ssize_t n = write(log->fd, log->buffer + at, log->used - at);

        if (n < 0 && errno != EINTR) {
            log->failed = errno;
        } else if (n > 0) {
            at += (size_t)n;
        }
    }
    log->used = 0;
}

GxBranchLog *gx_branch_log_new(const GxLogBlocks *blocks, const uint64_t *handlers, uint64_t n_handlers, int flags,
                               int fd, uint64_t max)
{
    GxBranchLog *log = calloc(1, sizeof(*log));

    if (!log) {
        return NULL;
    }
    log->blocks = *blocks;
    log->vcpu_column = flags & GX_LOG_VCPU_COLUMN;
    log->has_events = flags & GX_LOG_HAS_EVENTS;
    log->on = flags & GX_LOG_FROM_START;
    log->fd = fd;
    log->max = max;
    for (uint64_t i = 0; i < n_handlers; i++) {
        if (!gx_set_add(&log->handlers, handlers[i])) {
            gx_branch_log_free(log);
            return NULL;
        }
    }
    return log;
}

void gx_branch_log_free(GxBranchLog *log)
{
    for (unsigned i = 0; i < GX_VCPUS_MAX; i++) {
        if (log->vcpus[i]) {
            gx_decoder_free(log->vcpus[i]->decoder);
            free(log->vcpus[i]);
        }
    }
    free(log->handlers.slots);
    free(log);
}

static void put_hex(GxBranchLog *log, uint64_t value)
{
    log->used += (size_t)snprintf(log->buffer + log->used, ROW_MAX / 3, "0x%08" PRIx64, value);
}

/* One row; `known`: the branch went to `target`. */
static void put_row(GxBranchLog *log, uint32_t vcpu, uint32_t block, bool known, uint64_t target)
{
    static const char digits[] = "0123456789abcdef";
    const GxLogBlocks *b = &log->blocks;
    const uint8_t *entry = b->raw + b->offset[block];
    const unsigned n_insns = b->n_insns[block], n_bytes = b->n_bytes[block];
    const unsigned size = entry[GX_BLOCK_HEADER_SIZE + n_insns - 1];
    const uint8_t *code = entry + GX_BLOCK_HEADER_SIZE + n_insns + n_bytes - size;

    if (log->rows == log->max) {
        log->over = true;
        return;
    }
    if (log->used + ROW_MAX > BUFFER_SIZE) {
        flush(log);
    }
    for (unsigned i = 0; i < size; i++) {
        log->buffer[log->used++] = digits[code[i] >> 4];
        log->buffer[log->used++] = digits[code[i] & 15];
    }
    log->buffer[log->used++] = ',';
    put_hex(log, b->address[block] + n_bytes - size);
    log->buffer[log->used++] = ',';
    if (known) {
        put_hex(log, target);
    }
    if (log->vcpu_column) {
        log->used += (size_t)snprintf(log->buffer + log->used, 16, ",%" PRIu32, vcpu);
    }
    log->buffer[log->used++] = '\n';
    log->rows++;
    log->unknown += !known;
}

static bool is_branch(unsigned kind) { return kind >= GX_END_JUMP && kind <= GX_END_TRAP_RETURN; }

/* The branch that ends v->prev, after which block `id` began (0: nothing is known of what came). */
static void settle(GxBranchLog *log, GxLogVcpu *v, uint32_t vcpu, uint32_t id)
{
    const GxLogBlocks *b = &log->blocks;
    const uint32_t prev = v->prev;
    const unsigned kind = b->end_kind[prev];
    const bool conditional = kind == GX_END_COND || b->flags[prev] & GX_FLAG_CONDITIONAL;
    const uint64_t end = b->address[prev] + b->n_bytes[prev];
    const uint64_t target = b->target[prev];
    uint64_t to;

    if (!is_branch(kind)) {
        return;
    }
    if (!conditional && target != UINT64_MAX) { /* it can go nowhere else */
        put_row(log, vcpu, prev, true, target);
    } else if (!id) {
        put_row(log, vcpu, prev, false, 0);
    } else if (v->trap) {
        put_row(log, vcpu, prev, true, v->trap_from);
    } else {
        to = b->address[id];
        if (target != UINT64_MAX) {
            put_row(log, vcpu, prev, to == target || to == end, to);
        } else { /* where QEMU reports no traps, a handler may have come */
            put_row(log, vcpu, prev, log->has_events || !gx_set_has(&log->handlers, to), to);
        }
    }
}

static void arrive(GxBranchLog *log, GxLogVcpu *v, uint32_t vcpu, uint32_t id)
{
    const GxLogBlocks *b = &log->blocks;

    if (v->prev) {
        const uint32_t n = b->n_insns[v->prev];
        const uint32_t begun = v->cut ? v->cut : n;
        const uint16_t from = b->from[v->prev], to = b->to[v->prev];

        const bool was_on = log->on;

        log->on = was_on || (from && begun >= from);
        if (log->on && to && begun >= to && (was_on || to > from)) {
            log->over = true;
        }
        if (log->on && !log->over && !v->cut) {
            settle(log, v, vcpu, id);
        }
    }
    v->prev = id;
    v->cut = 0;
    v->trap = false;
}

static bool take_event(GxLogVcpu *v, const uint8_t *raw, size_t length, const GxItem *item)
{
    uint64_t size = 0, a = 0, b = 0;
    const uint8_t *p = gx_leb_get(raw + item->offset, raw + length, &size);
    const uint8_t *end = p ? p + size : NULL;

    p = p ? gx_leb_get(p, end, &a) : NULL;
    p = p ? gx_leb_get(p, end, &b) : NULL;
    switch (item->event) {
    case GX_EVENT_CUT:
        v->cut = (uint32_t)a;
        return true;
    case GX_EVENT_TRAP:
        v->trap = p && (a == 1 || a == 2);
        v->trap_from = b;
        return true;
    case GX_EVENT_MARK:
        return a == 3;
    case GX_EVENT_RESET:
    case GX_EVENT_GAP:
        return false;
    default:
        return true;
    }
}

int gx_branch_log_feed(GxBranchLog *log, uint32_t vcpu, uint64_t seq, const uint8_t *raw, uint64_t length, uint64_t run,
                       uint64_t budget)
{
    GxLogVcpu *v = vcpu < GX_VCPUS_MAX ? log->vcpus[vcpu] : NULL;
    GxItem item;

    if (!v) {
        if (vcpu >= GX_VCPUS_MAX || !(v = calloc(1, sizeof(*v)))) {
            log->error = "no such vCPU, or no memory";
            return -1;
        }
        log->vcpus[vcpu] = v;
        if (!(v->decoder = gx_decoder_new(log->blocks.count))) {
            log->error = "no memory";
            return -1;
        }
    }
    if (seq >= v->next_seq) {
        gx_decoder_reset(v->decoder, log->blocks.count);
        v->next_seq = seq + 1;
    }
    while (!log->over && !log->failed) {
        if (!budget--) {
            return 1;
        }
        if (!gx_next_item(v->decoder, raw, length, run, &item)) {
            break;
        }
        if (item.block) {
            arrive(log, v, vcpu, item.block);
        } else if (!take_event(v, raw, length, &item)) {
            arrive(log, v, vcpu, 0);
        }
    }
    if (v->decoder->error) {
        log->error = v->decoder->error;
        return -1;
    }
    return 0;
}

void gx_branch_log_end(GxBranchLog *log, uint32_t vcpu, uint32_t begun)
{
    GxLogVcpu *v = vcpu < GX_VCPUS_MAX ? log->vcpus[vcpu] : NULL;

    if (v && !log->over) {
        v->cut = v->cut ? v->cut : begun;
        arrive(log, v, vcpu, 0);
    }
    flush(log);
}

void gx_branch_log_totals(const GxBranchLog *log, GxLogTotals *out)
{
    *out = (GxLogTotals){
        .rows = log->rows, .unknown = log->unknown, .failed = log->failed, .on = log->on, .over = log->over};
}

const char *gx_branch_log_error(const GxBranchLog *log) { return log->error; }
