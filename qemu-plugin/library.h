/*
 * What Python calls: gdbext/nativelib.py declares the same.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef GX_LIBRARY_H
#define GX_LIBRARY_H

#include "replay.h"

#define GX_LIBRARY_VERSION 1

/* A decoded step: a block, or (block 0) an event whose length and payload begin at `offset`. */
typedef struct GxItem {
    uint32_t block;
    uint32_t event;
    uint64_t offset;
} GxItem;

/* Beside events: rounds of a loop that are left out; `offset` is their number, shifted, and their length in blocks. */
#define GX_ITEM_ROUNDS       256
#define GX_ITEM_ROUNDS_SHIFT 20

typedef struct GxTreeRow {
    uint32_t parent;
    uint32_t fn;
    uint32_t kind;
    uint32_t depth;
    uint64_t calls;
    uint64_t self;
    uint64_t inclusive;
} GxTreeRow;

typedef struct GxHandlerRow {
    uint64_t address;
    uint64_t count;
    uint64_t complete; /* runs that ended; the numbers of instructions are theirs */
    uint64_t tail_chained;
    uint64_t max_nesting;
    uint64_t self;
    uint64_t min_insns, median_insns, max_insns;
    uint64_t min_period, median_period, max_period;
    uint64_t kinds; /* bits by GX_NODE_INTERRUPT and the others */
} GxHandlerRow;

typedef struct GxTaskRow {
    uint32_t vcpu;
    uint32_t entry_fn;
    uint64_t switches_in;
    uint64_t self;
    uint64_t longest_run;
    uint64_t has_stack; /* 0 or 1: the next is known */
    uint64_t stack;     /* a stack pointer that it had */
} GxTaskRow;

GX_PUBLIC uint32_t gx_version(void);

/* zstd frames. Bytes written, or negative: damaged or too long for the target. */
GX_PUBLIC int64_t gx_decompress(void *dst, size_t capacity, const void *src, size_t length);
GX_PUBLIC int64_t gx_compress(void *dst, size_t capacity, const void *src, size_t length, int level);
GX_PUBLIC size_t gx_compress_bound(size_t length);

/* Check block entries and tell where each begins; arrays may be NULL. Their number, or -1 - (offset of a bad one). */
GX_PUBLIC int64_t gx_blocks_parse(const uint8_t *raw, size_t length, uint64_t max, uint64_t *address, uint16_t *n_insns,
                                  uint16_t *n_bytes, uint64_t *offset);

/* Next steps of a chunk with open run `run`; 0 at the end, negative when damaged. The chunk must not change in between. */
GX_PUBLIC int64_t gx_decoder_items(GxDecoder *d, const uint8_t *raw, size_t length, uint64_t run, GxItem *out,
                                   size_t max);
/*
 * The last `max` steps of a chunk, oldest first, without giving out the others; rounds of a long loop are one step, and
 * at least one round follows it. `out` is a ring of `max`; *first is
 * where the oldest stands. The number of steps in it, negative when damaged.
 */
GX_PUBLIC int64_t gx_decoder_tail(GxDecoder *d, const uint8_t *raw, size_t length, uint64_t run, GxItem *out,
                                  size_t max, uint64_t *first);
/* Instructions and blocks of a whole chunk; n_insns by block id. 0, or -1 when damaged. */
GX_PUBLIC int gx_decoder_totals(GxDecoder *d, const uint8_t *raw, size_t length, uint64_t run, const uint16_t *n_insns,
                                uint64_t *insns, uint64_t *blocks);
GX_PUBLIC uint64_t gx_decoder_error_offset(const GxDecoder *d);
GX_PUBLIC const char *gx_decoder_error(const GxDecoder *d);

/* --- replay; tables are copied out, `max` elements at most, and the number there is is returned -------------------------- */

/* profile: GX_PROFILE_*. */
GX_PUBLIC GxReplay *gx_replay_new(int has_events, int profile);
GX_PUBLIC void gx_replay_free(GxReplay *r);
/* Blocks with the next ids: their entries as in the recording, and what classification says. 0, or -1. */
GX_PUBLIC int gx_replay_add_blocks(GxReplay *r, const uint8_t *entries, size_t length, uint64_t count,
                                   const uint8_t *end_kind, const uint8_t *flags, const uint64_t *target,
                                   const uint32_t *fn_first, const uint32_t *fn_last, const uint8_t *is_entry);
/*
 * Inlined functions: the number of the one that each block's last instruction is part of (0: none), for the blocks from
 * `first` on, before they are replayed. From now on executions are counted by node too.
 */
GX_PUBLIC void gx_replay_inlined(GxReplay *r, uint32_t first, uint32_t count, const uint32_t *sites);
/*
 * Follow the evaluations of decisions from now on (paths.h): for each block the branch that it ends with; branches; nodes,
 * each before those that it leads to. Numbers 0 are unused. 0, or -1: they do not fit together, or no memory.
 */
GX_PUBLIC int gx_replay_follow_paths(GxReplay *r, const uint32_t *ends, uint32_t n_blocks, const GxPathBranch *branches,
                                     uint32_t n_branches, const GxPathNode *nodes, uint32_t n_nodes);
GX_PUBLIC int gx_replay_add_vcpu(GxReplay *r, uint32_t vcpu);
/* A handler's entry; kind: GX_NODE_INTERRUPT, GX_NODE_EXCEPTION, or 0 where that is not known. */
GX_PUBLIC int gx_replay_add_vector(GxReplay *r, uint64_t address, int kind);
/* The function with this number begins with the handler at `address`. */
GX_PUBLIC int gx_replay_add_handler_function(GxReplay *r, uint32_t fn, uint64_t address);
GX_PUBLIC int gx_replay_add_reset(GxReplay *r, uint64_t address);
/* The function with this number goes on unwinding, as _Unwind_Resume does. */
GX_PUBLIC int gx_replay_add_resumer(GxReplay *r, uint32_t fn);
/* Where longjmps go to, as an earlier replay learned (gx_replay_set_jumps). */
GX_PUBLIC int gx_replay_add_set_jump(GxReplay *r, uint64_t address);
/* A live recording: how many instructions of the vCPU's last block were begun, as far as known; 0 all. */
GX_PUBLIC void gx_replay_provisional(GxReplay *r, uint32_t vcpu, uint32_t begun);

GX_PUBLIC void gx_replay_totals(const GxReplay *r, uint32_t vcpu, uint64_t *insns, uint64_t *blocks);
GX_PUBLIC void gx_replay_stats(const GxReplay *r, GxStats *out);
GX_PUBLIC uint64_t gx_replay_edges(GxReplay *r, GxEdge *out, uint64_t max);
/* Executions by block id, from 0 (unused) on. */
GX_PUBLIC uint64_t gx_replay_executions(GxReplay *r, uint64_t *out, uint64_t max);
/* Of those, the ones that no edge counts, and of these the ones that went on inside a block. */
GX_PUBLIC uint64_t gx_replay_arrivals(GxReplay *r, uint64_t *other, uint64_t *continued, uint64_t max);
GX_PUBLIC uint64_t gx_replay_cuts(const GxReplay *r, GxCut *out, uint64_t max);
GX_PUBLIC uint64_t gx_replay_traps(const GxReplay *r, GxTrap *out, uint64_t max);
/* What arrives at the blocks that begin at one address; cheap enough for a question at each stop. */
GX_PUBLIC uint64_t gx_replay_edges_to(GxReplay *r, uint64_t address, GxEdge *out, uint64_t max);
GX_PUBLIC uint64_t gx_replay_traps_to(const GxReplay *r, uint64_t address, GxTrap *out, uint64_t max);
/* Times that the handler at this address was entered. */
GX_PUBLIC uint64_t gx_replay_handler_runs(GxReplay *r, uint64_t address);
GX_PUBLIC uint64_t gx_replay_vectors(const GxReplay *r, uint64_t *out, uint64_t max);
GX_PUBLIC uint64_t gx_replay_set_jumps(const GxReplay *r, uint64_t *out, uint64_t max);
GX_PUBLIC void gx_replay_settle(GxReplay *r);
/* The calling-context tree: a node's number is its place, parents come before children, 0 is the root. */
GX_PUBLIC uint64_t gx_replay_nodes(const GxReplay *r, GxTreeRow *out, uint64_t max);
/* Executions of blocks by node of the tree. */
GX_PUBLIC uint64_t gx_replay_node_blocks(GxReplay *r, GxNodeBlock *out, uint64_t max);
/* Calls, self and inclusive instructions by function number. 0, or -1: no memory. */
GX_PUBLIC int gx_replay_costs(const GxReplay *r, GxFunctionCost *out, uint32_t n_functions);
GX_PUBLIC void gx_replay_tree_info(const GxReplay *r, uint32_t *deepest, uint64_t *cut_calls);
GX_PUBLIC uint64_t gx_replay_handlers(const GxReplay *r, GxHandlerRow *out, uint64_t max);
GX_PUBLIC uint64_t gx_replay_tasks(const GxReplay *r, GxTaskRow *out, uint64_t max);
/* Slices (slices.h); before the first chunk. 0, or -1: no memory. */
GX_PUBLIC int gx_replay_observe(GxReplay *r, const GxSliceWindow *window);
/* Take out at most `max` slices that are over (with `longest`: after gx_replay_end_slices() only). Their number. */
GX_PUBLIC uint64_t gx_replay_take_slices(GxReplay *r, GxSlice *out, uint64_t max);
/* What is open now ends; the replay does not go on. */
GX_PUBLIC void gx_replay_end_slices(GxReplay *r);
GX_PUBLIC void gx_replay_slice_totals(const GxReplay *r, GxSliceTotals *out);
/* By node: times that the path was gone; of an evaluation's first node, times that it began. */
GX_PUBLIC uint64_t gx_replay_path_counts(const GxReplay *r, uint64_t *out, uint64_t max);
/* By branch: executions that belong to no evaluation that was followed. */
GX_PUBLIC uint64_t gx_replay_path_losses(const GxReplay *r, uint64_t *out, uint64_t max);
GX_PUBLIC const char *gx_replay_error(const GxReplay *r);
GX_PUBLIC uint64_t gx_replay_error_offset(const GxReplay *r);

#endif
