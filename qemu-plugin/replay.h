/*
 * Replay: goes through the chunks of a recording and fills tables of blocks, edges, cuts and traps. Knows nothing of QEMU.
 * The Python twin is gdbext/replay/; the rules of trap entry and return are in docs/reconstruction.md.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef GX_REPLAY_H
#define GX_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "decoder.h"

#define GX_VCPUS_MAX 256

/* How a block ends: its last instruction. Twin: EndKind in gdbext/replay/classify.py. */
enum {
    GX_END_FALL = 0,
    GX_END_JUMP = 1,
    GX_END_COND = 2,
    GX_END_CALL = 3,
    GX_END_CALL_INDIRECT = 4,
    GX_END_JUMP_INDIRECT = 5,
    GX_END_RETURN = 6,
    GX_END_TRAP_RETURN = 7,
    GX_END_TRAP_CALL = 8,
    GX_END_UNKNOWN = 9
};

/* Twin: BlockFlag in gdbext/replay/classify.py. */
enum { GX_FLAG_CONDITIONAL = 1, GX_FLAG_MEMORY = 2, GX_FLAG_REPEAT = 4, GX_FLAG_MAY_EXC_RETURN = 8, GX_FLAG_WAIT = 16 };

/* What is known of a block; by id, 0 unused. */
typedef struct GxBlocks {
    uint32_t count;
    uint32_t capacity;
    uint64_t *address;
    uint64_t *end;    /* address after the last instruction */
    uint64_t *last;   /* address of the last instruction */
    uint64_t *target; /* static branch target, 0: none */
    uint16_t *n_insns;
    uint8_t *end_kind;
    uint8_t *flags;
    uint64_t *sizes_at; /* where its instruction sizes begin in `sizes` */
    uint8_t *sizes;
    uint64_t sizes_used;
    uint64_t sizes_capacity;
} GxBlocks;

/* Flags of an edge. */
enum {
    GX_EDGE_CONTROL = 1, /* a call or a return: the engine follows it while it is in a trap */
    GX_EDGE_SPECIAL = 2, /* the engine decides each time: a trap, or a return from one */
    GX_EDGE_RESTART = 4  /* QEMU began the last instruction of `from` again */
};

/* A pair of blocks, one executed after the other. */
typedef struct GxEdge {
    uint32_t from;
    uint32_t to;
    uint64_t count;     /* directly, as the program wanted */
    uint64_t recovered; /* as the program wanted, with a trap in between */
    uint32_t flags;
    uint32_t reserved;
} GxEdge;

/* The two most usual successors of a block; counts move to the edge table when results are read. */
typedef struct GxSuccessors {
    uint32_t next[2];
    uint32_t edge[2];
    uint64_t count[2];
    uint8_t flags[2];
} GxSuccessors;

typedef struct GxEdges {
    GxEdge *edges; /* [0] unused */
    uint32_t count;
    uint32_t capacity;
    uint32_t *index;
    uint32_t index_size;
    GxSuccessors *successors; /* by block id */
} GxEdges;

enum { GX_TRAP_SOURCE_EVENT = 1, GX_TRAP_SOURCE_INFERRED = 2 };

/* Trap entries, aggregated: block `from` (left after `begun` instructions, 0: whole), entry block `to`. */
typedef struct GxTrap {
    uint32_t from;
    uint32_t begun;
    uint32_t to;
    uint32_t source;
    uint64_t count;
    uint64_t tail_chained; /* of those: directly after another handler ended */
} GxTrap;

typedef struct GxCut {
    uint32_t block;
    uint32_t begun;
    uint64_t count;
} GxCut;

typedef struct GxStats {
    uint64_t traps; /* entries */
    uint64_t trap_returns;
    uint64_t tail_chains;
    uint64_t task_switches;  /* a trap returned to a context that was suspended earlier */
    uint64_t context_starts; /* a trap returned to where nothing was suspended */
    uint64_t ambiguous;      /* several suspended contexts fitted */
    uint64_t resets;
    uint64_t unmatched_returns; /* returns in a handler that fit no call */
    uint64_t abandoned;         /* traps that never returned, given up by a later return or reset */
    uint64_t unexplained;       /* control moved where the block could not go, and no trap says so */
    uint64_t restarts;          /* instructions that QEMU began twice; counted once */
    uint64_t resumes;           /* blocks left in the middle that went on after (MMIO) */
    uint64_t gaps;
    uint64_t gap_blocks;
    uint64_t starts; /* first blocks after start */
    uint64_t max_nesting;
    uint64_t dropped_contexts;
    uint64_t late; /* edges counted before their end was known as a handler */
} GxStats;

typedef struct GxContext {
    uint32_t from;  /* the block that was interrupted */
    uint32_t begun; /* 0: it was complete */
} GxContext;

typedef struct GxFrame {
    GxContext interrupted;
    uint32_t entry;  /* first block of the handler */
    uint32_t base;   /* calls on the shadow stack before it */
    uint32_t trap;   /* index into the traps table */
    bool maybe_call; /* entered by an indirect branch: may prove to be a call */
} GxFrame;

#define GX_FRAMES_MAX    64
#define GX_CALLS_MAX     4096
#define GX_SUSPENDED_MAX 256

/* Trap stack of one vCPU. */
typedef struct GxEngine {
    GxFrame frames[GX_FRAMES_MAX];
    uint32_t n_frames;
    uint64_t calls[GX_CALLS_MAX]; /* return addresses, in traps only */
    uint32_t n_calls;
    GxContext suspended[GX_SUSPENDED_MAX];
    uint32_t n_suspended;
} GxEngine;

typedef struct GxVcpu {
    GxDecoder *decoder;
    uint64_t next_seq;    /* of the chunk to begin next */
    bool open;            /* a chunk has been begun and not ended */
    uint32_t prev;        /* last block, 0: none since start, gap or reset */
    uint32_t cut;         /* it was left after this many instructions, 0: whole */
    uint32_t provisional; /* as `cut`, as far as a live recording knows now */
    bool trap_event;      /* a TRAP event stands before the next block */
    uint64_t n_insns;
    uint64_t n_blocks;
    GxEngine engine;
} GxVcpu;

typedef struct GxAddressSet {
    uint64_t *slots; /* open addressing; stored + 1, 0 empty */
    uint32_t size;
    uint32_t count;
} GxAddressSet;

typedef struct GxReplay {
    GxBlocks blocks;
    GxEdges edges;
    uint64_t *other_arrivals; /* by block id: executions that no edge counts */
    uint64_t *continued;      /* of those: it goes on inside a block that was left in the middle */
    GxCut *cuts;
    uint32_t n_cuts, cuts_capacity;
    GxTrap *traps;
    uint32_t n_traps, traps_capacity;
    GxAddressSet vectors; /* handler entries: from the vector table, and learned */
    GxAddressSet resets;
    bool has_events; /* QEMU reported traps (discontinuity callback) */
    bool m_profile;
    GxStats stats;
    GxVcpu *vcpus[GX_VCPUS_MAX];
    const char *error;
    uint64_t error_offset;
} GxReplay;

/* edges.c */
bool gx_edges_reserve(GxEdges *e, uint32_t blocks);
uint32_t gx_edges_find(GxReplay *r, uint32_t from, uint32_t to); /* made when new, 0: no memory */
void gx_edges_cache(GxEdges *e, uint32_t edge);
void gx_edges_uncache(GxEdges *e, uint32_t from);
void gx_edges_flush(GxEdges *e);
void gx_edges_free(GxEdges *e);

/* engine.c */
/* Where block `from` may go by itself to `address`; begun: it was left after so many instructions. */
bool gx_may_follow(const GxBlocks *b, uint32_t from, uint64_t address);
uint32_t gx_edge_flags(GxReplay *r, uint32_t from, uint32_t to);
/* The engine sees block `id` after v->prev. True: it is an edge of the program, to be counted as such. */
bool gx_engine_step(GxReplay *r, GxVcpu *v, uint32_t id);
void gx_engine_reset(GxReplay *r, GxVcpu *v);
/* Edge flags that must reach the engine in its present state. */
static inline uint32_t gx_engine_mask(const GxEngine *e)
{
    return e->n_frames ? GX_EDGE_CONTROL | GX_EDGE_SPECIAL : GX_EDGE_SPECIAL;
}

/* replay.c */
GX_PUBLIC int gx_replay_feed(GxReplay *r, uint32_t vcpu, uint64_t seq, const uint8_t *raw, uint64_t length,
                             uint64_t run, uint64_t budget);
void gx_step_slow(GxReplay *r, GxVcpu *v, uint32_t id);

bool gx_set_add(GxAddressSet *s, uint64_t address);
bool gx_set_has(const GxAddressSet *s, uint64_t address);

#endif
