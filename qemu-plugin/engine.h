/*
 * What the reconstruction engine keeps: stacks, tasks, traps, and counters of what it had to repair.
 * Included by state.h. The rules are in docs/reconstruction.md.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef GX_ENGINE_H
#define GX_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "slices.h"

typedef struct GxStats {
    uint64_t traps; /* entries */
    uint64_t trap_returns;
    uint64_t tail_chains;
    uint64_t task_switches;  /* control went on in a stack that was suspended earlier */
    uint64_t context_starts; /* control went to where nothing was suspended: a task begins */
    uint64_t ambiguous;      /* several suspended contexts fitted */
    uint64_t late_switches;  /* of the switches: told only by a later return */
    uint64_t resets;
    uint64_t unmatched_returns; /* returns that fit no call, with calls open */
    uint64_t above_start;       /* returns out of what was open when the recording began */
    uint64_t unwinds;           /* frames that were left at once: longjmp, exceptions */
    uint64_t ambiguous_unwinds; /* times that several activations of a recursive function could be meant */
    uint64_t middle_entries;    /* functions entered in the middle */
    uint64_t abandoned;         /* traps that never returned, given up by a later return or reset */
    uint64_t unexplained;       /* control moved where the block could not go, and no trap says so */
    uint64_t restarts;          /* instructions that QEMU began twice; counted once */
    uint64_t resumes;           /* blocks left in the middle that went on after (MMIO) */
    uint64_t gaps;
    uint64_t gap_blocks;
    uint64_t filtered; /* places where a filter left out blocks: as many, with so many instructions */
    uint64_t filtered_blocks;
    uint64_t filtered_insns;
    uint64_t starts; /* first blocks after start */
    uint64_t max_nesting;
    uint64_t dropped_contexts;
    uint64_t dropped_frames; /* outermost frames of a stack that grew beyond its limit */
    uint64_t late;           /* edges counted before their end was known as a handler, or as where longjmps go */
} GxStats;

/* A place where a program was interrupted. */
typedef struct GxContext {
    uint32_t from;  /* the block, 0: none */
    uint32_t begun; /* instructions of it that were begun; 0: it was complete */
    uint64_t sp;    /* its stack pointer, as a probe told; at most sp_slack more */
    uint32_t sp_slack;
    bool has_sp;
    bool has_saved;
    uint64_t saved; /* its stack pointer, as an access told. Rule P8 */
} GxContext;

/* The last CONTEXT event. */
typedef struct GxProbe {
    uint64_t before; /* it stands before the vCPU's block of this number, from 1 on; 0: none */
    uint64_t known;  /* bit GX_REG_*: has a value below */
    uint64_t why;    /* GX_PROBE_* */
    uint64_t sp;
    uint64_t lr, xpsr, msp, psp;
    uint64_t cpsr, spsr, sp_el0;
    uint64_t priv, mcause, scause;
    uint64_t saved, restored; /* stack pointers that accesses of the block before told */
    bool leaving;             /* what goes on is told by accesses: `restored`, or it was interrupted last */
} GxProbe;

/* One activation of a function. */
typedef struct GxFrame {
    uint64_t ret;  /* return address; of a tail call, its caller's */
    uint32_t node; /* in the tree */
    uint32_t fn;
    bool has_ret; /* false: how it was entered is not known */
    bool tail;
    bool switched;          /* it loaded the stack pointer with something else */
    bool cut;               /* the tree has no node for it: it counts at its caller's, and so does all that it calls */
    uint32_t set_jump : 31; /* block where setjmp returned to it last, 0: none known. Rule C7 */
    uint32_t jumped : 1;    /* and a longjmp has come there since */
    uint32_t path;          /* of the decision that it evaluates (paths.c); 0: none */
} GxFrame;

typedef struct GxStack {
    GxFrame *frames;
    uint32_t n;
    uint32_t capacity;
    GxOpens slices; /* one for each frame, when the engine is observed */
} GxStack;

#define GX_STACK_MAX (1u << 18) /* twin: MAX_OPEN_CALLS in gdbext/replay/calls.py */

typedef struct GxTask {
    GxStack stack;
    GxContext place; /* where a trap suspended it; from 0: it waits in a routine that switches */
    bool suspended;
    bool doubtful;     /* others fitted as well when it was switched to */
    uint32_t entry_fn; /* function it began with */
    uint64_t began_at; /* where a trap return began it, plus 1; perhaps a handler. 0: otherwise */
    uint64_t began_sp; /* its stack pointer then, */
    uint64_t sp;       /* and when it was suspended last */
    bool has_began_sp, has_sp;
    GxContext left; /* from 0: what it left in a routine that switches, before the trap that suspended it. Rule S7 */
    uint64_t switches_in;
    uint64_t self;      /* instructions, handlers not among them */
    uint64_t run_start; /* `self` at the last switch to it */
    uint64_t longest_run;
    uint64_t suspended_at; /* order of suspensions */
} GxTask;

#define GX_TASKS_MAX 4096

/* An open trap. */
typedef struct GxLevel {
    GxStack stack;
    GxContext interrupted;
    uint32_t entry;   /* first block of the handler */
    uint32_t trap;    /* index into the traps table */
    uint32_t handler; /* index into the handlers table */
    bool maybe_call;  /* entered by an indirect branch: may prove to be a call */
    bool partial;     /* its entry was not recorded */
    bool probed;      /* Cortex-M: a probe told the number of the exception, and will tell when it changes */
    uint32_t exception;
    uint64_t restored; /* the stack pointer that its accesses restored last, or those of what it follows tail-chained */
    bool has_restored;
    uint64_t self; /* instructions of this run of the handler, nested traps not among them */
} GxLevel;

#define GX_LEVELS_MAX 64

/* Values and how often: exact below 4,096, else to 12 significant bits. */
typedef struct GxHistogram {
    uint32_t *keys; /* open addressing; key + 1, 0 empty */
    uint64_t *counts;
    uint32_t size;
    uint32_t used;
    uint64_t n;
    uint64_t min;
    uint64_t max;
} GxHistogram;

typedef struct GxHandler {
    uint64_t address;
    uint64_t kinds; /* bits by GX_NODE_INTERRUPT and the others */
    uint64_t count;
    uint64_t tail_chained;
    uint64_t max_nesting;
    uint64_t self;
    uint64_t last_entry; /* instruction count of the vCPU, plus 1 */
    GxHistogram insns;   /* of complete runs */
    GxHistogram period;  /* instructions from one entry to the next */
} GxHandler;

#define GX_BEGAN_MAX 64

/* One vCPU. */
typedef struct GxEngine {
    GxTask *tasks;
    uint32_t n_tasks;
    uint32_t task; /* the current one */
    uint32_t n_levels;
    GxLevel levels[GX_LEVELS_MAX];
    GxStack *stack;           /* the current one, of a task or a trap */
    uint64_t charged;         /* instruction count up to which all are given to nodes, */
    uint64_t context_charged; /* and to tasks and handlers */
    uint64_t suspect;         /* where an indirect branch went that fits no call, plus 1: perhaps a handler */
    uint64_t order;           /* of suspensions */
    uint64_t old_sp;          /* stack pointers before and after it was loaded, by the last routine that switches, */
    uint64_t new_sp;          /* as probes told */
    bool has_old_sp, has_new_sp;
    bool restores_match;  /* a task went on that an access had told; */
    bool restores_unseen; /* one did that no access tells */
    bool inside;          /* what runs since the recording began may be a handler; then */
    uint32_t n_began;     /* these nodes are not a task's: */
    uint32_t began[GX_BEGAN_MAX];
    uint64_t began_self; /* instructions of its task before */
} GxEngine;

#endif
