/*
 * Every executed branch, in order, as CSV. The Python twin is gdbext/replay/branchlog.py.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef GX_BRANCHLOG_H
#define GX_BRANCHLOG_H

#include <stdint.h>

#include "decoder.h"

/* What is known of the blocks; by id, 0 unused. The arrays stay the caller's, and must stay. */
typedef struct GxLogBlocks {
    uint64_t count; /* the greatest id */
    const uint64_t *address;
    const uint16_t *n_insns;
    const uint16_t *n_bytes;
    const uint64_t *offset; /* of the block's entry in raw */
    const uint8_t *raw;
    const uint8_t *end_kind;
    const uint8_t *flags;
    const uint64_t *target; /* UINT64_MAX: none */
    const uint16_t *from;   /* place (from 1) of the instruction that the log begins with; 0: it is not in the block */
    const uint16_t *to;     /* of the one it ends before */
} GxLogBlocks;

enum { GX_LOG_VCPU_COLUMN = 1, GX_LOG_HAS_EVENTS = 2, GX_LOG_FROM_START = 4 };

typedef struct GxLogTotals {
    uint64_t rows;
    uint64_t unknown; /* of those: without a target */
    uint32_t failed;  /* errno of a write that failed, 0: none */
    uint32_t on;      /* the first instruction was seen */
    uint32_t over;    /* the last one was, or `max` rows were written and there are more */
    uint32_t reserved;
} GxLogTotals;

typedef struct GxBranchLog GxBranchLog;

/* handlers: addresses of trap handlers. Rows go to the file descriptor. */
GX_PUBLIC GxBranchLog *gx_branch_log_new(const GxLogBlocks *blocks, const uint64_t *handlers, uint64_t n_handlers,
                                         int flags, int fd, uint64_t max);
GX_PUBLIC void gx_branch_log_free(GxBranchLog *log);
/* A chunk, at most `budget` steps of it: 0 all of it is done, 1 call again, -1 damaged. */
GX_PUBLIC int gx_branch_log_feed(GxBranchLog *log, uint32_t vcpu, uint64_t seq, const uint8_t *raw, uint64_t length,
                                 uint64_t run, uint64_t budget);
/* After the vCPU's last chunk: of its last block so many instructions were begun, 0 all. */
GX_PUBLIC void gx_branch_log_end(GxBranchLog *log, uint32_t vcpu, uint32_t begun);
GX_PUBLIC void gx_branch_log_totals(const GxBranchLog *log, GxLogTotals *out);
GX_PUBLIC const char *gx_branch_log_error(const GxBranchLog *log);

#endif
