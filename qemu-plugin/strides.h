/*
 * Strides: blocks that were gone through before, from the same state and told by the same bytes, and are counted as one.
 * There are two sorts: those inside a run of predicted blocks, and those of whole tokens. docs/reconstruction.md, "Speed".
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef GX_STRIDES_H
#define GX_STRIDES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine.h"
#include "predictor.h"

#define GX_STRIDE_MIN    8  /* blocks inside a run; it ends where the history says so, that strides meet, */
#define GX_STRIDE_RUN    64 /* or here; a longer run is no part of a stride of tokens, */
#define GX_STRIDE_TOKENS 32
#define GX_STRIDE_MAX    128 /* blocks of any */

/* The history says that a stride inside a run ends here: one state of sixteen. */
static inline bool gx_stride_ends(uint32_t history) { return (history >> 18 & 15) == 0; }

typedef struct GxStrideStep {
    uint32_t edge; /* to this block */
    uint32_t node; /* where it runs */
} GxStrideStep;

/* An entry of the predictor: its first candidates, then its second ones. */
typedef struct GxStrideEntry {
    uint32_t at;
    uint32_t key;
} GxStrideEntry;

/* Where a stride begins. */
typedef struct GxStrideBegin {
    uint64_t ret; /* return address of the activation that runs */
    uint32_t node;
    uint32_t history;
    uint32_t prev;
    uint32_t vcpu;
    uint32_t token; /* the bytes that come, as far as they tell strides apart; 0: it is inside a run */
} GxStrideBegin;

typedef struct GxStride {
    GxStrideBegin begin;
    uint32_t end_history;
    uint32_t end_prev;
    uint32_t n_insns;
    uint16_t n_blocks; /* as many steps */
    uint16_t n_bytes;
    uint16_t n_checks; /* what the predictor must hold */
    uint16_t n_writes; /* and holds afterwards */
    uint16_t pops;     /* activations that it returns from: innermost first, with the node below; */
    uint16_t pushes;   /* and those that it leaves open */
    uint32_t steps;    /* where they are in the arenas: steps, */
    uint32_t entries;  /* checks and writes, */
    uint32_t frames;   /* pops and pushes, */
    uint32_t bytes;
    uint32_t next;    /* the stride that came after it last */
    uint32_t wrong;   /* times in a row that the predictor, the bytes or the stack were others */
    uint64_t checked; /* state of the predictor for which it was right last */
    uint64_t count;   /* times that are not in the tables yet */
} GxStride;

/* One that is being recorded. */
typedef struct GxStrideRecord {
    bool on;
    GxStrideBegin begin;
    size_t pos; /* of its bytes in the chunk */
    uint32_t n_blocks;
    uint32_t n_insns;
    uint32_t pops;
    uint32_t open; /* its activations that are open */
    uint32_t n_checks;
    uint32_t n_changed;
    GxStrideStep steps[GX_STRIDE_MAX];
    GxFrame popped[GX_STRIDE_MAX];
    GxStrideEntry checks[3 * GX_STRIDE_MAX];
    uint32_t changed[2 * GX_STRIDE_MAX]; /* entries */
    uint32_t serial;
    uint32_t known[2 * GX_PREDICTOR_ENTRIES]; /* `serial` where it is known what the entry held at the beginning */
} GxStrideRecord;

typedef struct GxStrides {
    GxStride *strides; /* [0] unused */
    uint32_t n;
    uint32_t *index;
    GxStrideStep *steps;
    uint32_t n_steps;
    GxStrideEntry *entries;
    uint32_t n_entries;
    GxFrame *frames;
    uint32_t n_frames;
    uint8_t *bytes;
    uint32_t n_bytes;
    uint32_t *path; /* strides gone through since a state that may come again */
    uint32_t *seen; /* hashes of beginnings */
    GxStrideRecord *record;
    int64_t score;      /* blocks that strides of tokens have saved, */
    uint32_t looks;     /* in so many looks for one; */
    uint32_t resting;   /* tokens for which none is looked for now, */
    uint32_t rest;      /* and last time */
    GxStrideBegin last; /* what gx_stride_find() was asked last, and its answer */
    uint32_t last_hash;
    uint32_t last_id;
    bool last_known;
} GxStrides;

struct GxReplay;
struct GxVcpu;

void gx_strides_free(GxStrides *s);
/* Blocks that known strides cover: at most n, all of them predicted. */
uint64_t gx_strides_run(struct GxReplay *r, struct GxVcpu *v, uint64_t n);
/* The same with whole tokens from the decoder's position on; no run may be begun. 0 also where they do not pay. */
uint64_t gx_strides_tokens(struct GxReplay *r, struct GxVcpu *v, const uint8_t *raw, size_t length, uint64_t n);
/* What strides have counted goes to edges and nodes; and no stride is known any more. */
void gx_strides_flush(struct GxReplay *r);
void gx_strides_clear(struct GxReplay *r);
/* The number of the stride that begins so; 0: there is none, and *hash is for *gx_stride_slot(). */
uint32_t gx_stride_find(GxStrides *s, const GxStrideBegin *begin, uint32_t *hash);
void gx_stride_begin_of(const struct GxVcpu *v, GxStrideBegin *begin);
uint32_t gx_stride_token(const uint8_t *raw, size_t length, size_t pos);
/* Its number is free for another one. */
uint32_t gx_stride_take(struct GxReplay *r, const GxStrideBegin *begin, uint32_t n_entries, uint32_t n_frames,
                        uint32_t n_bytes);

/* stride_record.c */
/* Whether what comes now shall be recorded; raw NULL: inside a run. */
bool gx_stride_begin(struct GxReplay *r, struct GxVcpu *v, const uint8_t *raw, size_t length);
/* A block was predicted, or a token is about to change an entry of the predictor. */
void gx_stride_predicted(GxStrideRecord *now, uint32_t slot, uint32_t key);
void gx_stride_change(GxStrideRecord *now, const GxPredictor *table, uint32_t slot, bool second);
/* It was gone to; `left` is what the innermost activation was before. */
void gx_stride_step(GxStrideRecord *now, struct GxVcpu *v, uint32_t edge, uint32_t edge_flags, uint32_t n_insns,
                    const GxFrame *left);
void gx_stride_end(struct GxReplay *r, struct GxVcpu *v, const uint8_t *raw);

#endif
