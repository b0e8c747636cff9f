/*
 * Observer of the reconstruction engine: every activation of a function as a slice of its vCPU's instructions.
 * Included by state.h. docs/reconstruction.md, "Slices".
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef GX_SLICES_H
#define GX_SLICES_H

#include <stdbool.h>
#include <stdint.h>

/* A kind beside those of nodes: a task between two switches. Twin: SliceKind in gdbext/replay/slices.py. */
#define GX_SLICE_RUN 7

/* Twin: SliceFlag in gdbext/replay/slices.py. */
enum {
    GX_SLICE_OPEN_START = 1, /* it was open before `start` */
    GX_SLICE_OPEN_END = 2,   /* it was open after `end`, or nothing is known of its end */
    GX_SLICE_FIRST = 4       /* of a piece: it begins where the slice does */
};

/* Numbers of instructions are the vCPU's, from 0; [start, end). Twin: SliceRow in gdbext/replay/slices.py. */
typedef struct GxSlice {
    uint64_t start;
    uint64_t end;
    uint64_t self;      /* instructions of its own */
    uint64_t inclusive; /* with the slices inside it; handlers and other tasks left out */
    uint64_t address;   /* where it was entered; of a piece: where it begins */
    uint32_t node;      /* in the tree */
    uint32_t fn;
    uint32_t depth; /* in its track, 1 outermost */
    uint32_t above; /* how often the track had gone on above what was known */
    uint32_t task;  /* index of the vCPU's task; of a handler: 0 */
    uint32_t root_fn;
    uint16_t vcpu;
    uint16_t level; /* 0: of a task, else of a handler that is nested so deep */
    uint8_t kind;
    uint8_t root_kind; /* kind of the slice at the bottom of its track */
    uint8_t flags;
    uint8_t reserved;
} GxSlice;

/* An activation that is not over: beside each GxFrame. */
typedef struct GxOpen {
    uint64_t start;
    uint64_t self;
    uint64_t inside; /* instructions of the slices inside it */
    uint64_t address;
    uint64_t serial;
    uint32_t node;
    uint32_t fn;
    uint8_t kind;
    uint8_t flags;
} GxOpen;

typedef struct GxOpens {
    GxOpen *opens;
    uint32_t n;
    uint32_t capacity;
    uint32_t above;
    uint32_t task;
    uint16_t level;
    bool placed; /* task and level are set */
} GxOpens;

/* What is wanted. Twin: CSliceWindow in gdbext/replay/slices.py. */
typedef struct GxSliceWindow {
    uint64_t from; /* instructions of each vCPU: [from, to) */
    uint64_t to;
    uint64_t min_insns; /* shorter slices are counted, not kept; those open at an edge are kept */
    uint32_t max_depth; /* deeper ones likewise; 0: none are */
    uint32_t longest;   /* keep only so many, the longest (pieces: the last ones); 0: all */
    uint32_t pieces;    /* 1: instead of slices, what ran without a break in each of them */
    uint32_t runs;      /* 1: also the runs of tasks */
} GxSliceWindow;

typedef struct GxSliceTotals {
    uint64_t seen;    /* slices in the window */
    uint64_t shorter; /* of those, left out by min_insns, */
    uint64_t deeper;  /* by max_depth, */
    uint64_t dropped; /* and by longest */
} GxSliceTotals;

typedef struct GxSlicesVcpu {
    uint64_t charged;   /* instructions up to here are given to slices; the next one */
    uint64_t address;   /* is here */
    uint64_t run_start; /* of the task's run */
    uint64_t run_self;
    bool running;
    GxSlice piece; /* the last one, which may go on */
    uint64_t piece_of;
} GxSlicesVcpu;

typedef struct GxSlices {
    GxSliceWindow window;
    GxSliceTotals totals;
    GxSlicesVcpu *vcpus;
    uint32_t vcpu; /* where the engine is at work, */
    uint64_t now;  /* and when */
    uint64_t serial;
    GxSlice *out; /* not yet taken; with `longest` a heap, the shortest first */
    uint64_t n;
    uint64_t capacity;
    uint64_t oldest; /* of the last pieces: where in `out` */
} GxSlices;

struct GxReplay;
struct GxVcpu;
struct GxStack;
struct GxEngine;

bool gx_slices_new(struct GxReplay *r, const GxSliceWindow *window);
void gx_slices_free(GxSlices *o);

/* The engine calls these only where r->observed is set. The stacks of vCPU v change now; block `id` (0: none) is next. */
void gx_slices_at(struct GxReplay *r, struct GxVcpu *v, uint64_t now, uint32_t id);
/* The stack has one more frame, at its top, entered at `address`. */
void gx_slices_push(struct GxReplay *r, struct GxStack *s, uint64_t address, unsigned kind);
/* It is about to lose all frames from index `to` on. flags: GX_SLICE_OPEN_END where they did not return. */
void gx_slices_cut(struct GxReplay *r, struct GxStack *s, uint32_t to, unsigned flags);
/* Its top activation is over and begins again: a tail call that comes round. */
void gx_slices_again(struct GxReplay *r, struct GxStack *s, uint64_t address);
/* It has one more frame, at its top, a copy of one that `from` still has, which was open before. */
void gx_slices_copy(struct GxReplay *r, struct GxStack *s, const struct GxStack *from);
/* Its bottom frame, just pushed, was open before. */
void gx_slices_above(struct GxStack *s);
/* It is about to lose its frames 1 to `first` - 1. */
void gx_slices_drop(struct GxReplay *r, struct GxStack *s, uint32_t first);
/* The top handler was a call, to be known as `node`. */
void gx_slices_was_call(struct GxReplay *r, struct GxStack *s, uint32_t node);
/* What the current task had open is the first handler's, of this kind; the task did not run. */
void gx_slices_began_inside(struct GxReplay *r, struct GxEngine *e, unsigned kind);
/* Handlers from level `to` (0: the first) on are about to be over. */
void gx_slices_levels(struct GxReplay *r, struct GxEngine *e, uint32_t to, unsigned flags);
/* The current task stops, or begins, to run. */
void gx_slices_run(struct GxReplay *r, struct GxEngine *e, bool runs, unsigned flags);
/* Everything of a vCPU is over: a gap, a reset, the end. */
void gx_slices_forget(struct GxReplay *r, struct GxVcpu *v);

#endif
