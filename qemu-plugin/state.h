/*
 * Replay: goes through the chunks of a recording and fills tables of blocks, edges, cuts and traps. Knows nothing of QEMU.
 * The Python twin is gdbext/replay/; the rules of trap entry and return are in docs/reconstruction.md.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef GX_STATE_H
#define GX_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "decoder.h"
#include "nodeblocks.h"
#include "tree.h"

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
enum {
    GX_FLAG_CONDITIONAL = 1,
    GX_FLAG_MEMORY = 2,
    GX_FLAG_REPEAT = 4,
    GX_FLAG_MAY_EXC_RETURN = 8,
    GX_FLAG_WAIT = 16,
    GX_FLAG_SWITCH = 32
};

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
    uint32_t *fn_first; /* number of the function of its first instruction, 0: none */
    uint32_t *fn_last;  /* and of its last */
    uint8_t *is_entry;  /* its first instruction is that function's first */
    uint32_t *site;     /* number of the inlined function that its last instruction is part of, 0: none */
    uint64_t *sizes_at; /* where its instruction sizes begin in `sizes` */
    uint8_t *sizes;
    uint64_t sizes_used;
    uint64_t sizes_capacity;
} GxBlocks;

/* Flags of an edge. */
enum {
    GX_EDGE_CONTROL = 1, /* into another function, or a call or return: the engine follows it */
    GX_EDGE_SPECIAL = 2, /* the engine decides each time: a trap, or a return from one */
    GX_EDGE_RESTART = 4, /* QEMU began the last instruction of `from` again */
    GX_EDGE_CALL = 8,    /* CONTROL, and a call */
    GX_EDGE_RETURN = 16  /* CONTROL, and a return */
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

enum { GX_TRAP_SOURCE_EVENT = 1, GX_TRAP_SOURCE_INFERRED = 2, GX_TRAP_SOURCE_PROBE = 3 };
#define GX_TRAP_EVENT_PROBE 4 /* in place of the kind that QEMU reports */

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

#include "engine.h"
#include "paths.h"
#include "strides.h"

typedef struct GxVcpu {
    GxDecoder *decoder;
    uint32_t index;
    uint64_t next_seq;    /* of the chunk to begin next */
    bool open;            /* a chunk has been begun and not ended */
    uint32_t prev;        /* last block, 0: none since start, gap or reset */
    uint32_t cut;         /* it was left after this many instructions, 0: whole */
    uint32_t provisional; /* as `cut`, as far as a live recording knows now */
    uint8_t trap_event;   /* a TRAP event stands before the next block: its kind; or GX_TRAP_EVENT_PROBE; 0: none */
    GxProbe probe;
    uint64_t n_insns;
    uint64_t n_blocks;
    GxEngine engine;
} GxVcpu;

typedef struct GxAddressSet {
    uint64_t *slots; /* open addressing; stored + 1, 0 empty */
    uint32_t size;
    uint32_t count;
} GxAddressSet;

/* What is special about the traps of a target. Twin: gdbext/replay/replay.py. */
enum { GX_PROFILE_OTHER = 0, GX_PROFILE_M = 1, GX_PROFILE_AARCH64 = 2, GX_PROFILE_A32 = 3, GX_PROFILE_X86 = 4 };

/* A function that begins with a handler. */
typedef struct GxHandlerFn {
    uint32_t fn;
    uint64_t address;
} GxHandlerFn;

typedef struct GxReplay {
    GxBlocks blocks;
    GxEdges edges;
    uint64_t *other_arrivals; /* by block id: executions that no edge counts */
    uint64_t *continued;      /* of those: it goes on inside a block that was left in the middle */
    GxCut *cuts;
    uint32_t n_cuts, cuts_capacity;
    GxTrap *traps;
    uint32_t n_traps, traps_capacity;
    uint32_t *first_cut, *next_cut; /* newest row about a block, by block id; the one before it, by row; both plus 1 */
    uint32_t *first_trap, *next_trap; /* the same by `from` */
    GxAddressSet vectors;             /* handler entries: from the vector table, and learned */
    GxAddressSet resets;
    GxAddressSet call_ends; /* addresses that a call returns to */
    GxAddressSet set_jumps; /* of those: where setjmp returns to, as longjmps told. Rule C7 */
    GxAddressSet resumers;  /* numbers of the functions that go on unwinding, out of their caller. Rule C4 */
    GxHandlerFn *handler_fns;
    uint32_t n_handler_fns;
    GxAddressSet task_starts; /* where a trap return began a task */
    GxAddressSet switchers;   /* numbers of functions that loaded the stack pointer, */
    GxAddressSet schedulers;  /* and from which a task went on, outside of handlers */
    GxAddressSet interrupts;  /* handlers known to be asynchronous, */
    GxAddressSet exceptions;  /* and synchronous */
    bool has_events;          /* QEMU reported traps (discontinuity callback) */
    int profile;              /* GX_PROFILE_* */
    GxStats stats;
    GxTree tree;
    GxStrides strides;
    GxNodeBlocks node_blocks;
    GxPaths paths;
    GxHandler *handlers;
    uint32_t n_handlers, handlers_capacity;
    GxVcpu *vcpus[GX_VCPUS_MAX];
    /* NULL: nobody looks. Else every change of the stacks goes through gx_engine_step(). */
    GxSlices *observed;
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

/* flow.c */
/* Where block `from` may go by itself to `address`. */
bool gx_may_follow(const GxBlocks *b, uint32_t from, uint64_t address);
bool gx_is_indirect(const GxBlocks *b, uint32_t id);
uint32_t gx_edge_flags(GxReplay *r, uint32_t from, uint32_t to);
/* AGAIN: with the instruction that was begun last; EXACT: with the next one. */
typedef enum { GX_FIT_NONE, GX_FIT_POSSIBLE, GX_FIT_AGAIN, GX_FIT_EXACT } GxFit;
/* Could the context go on at this address? Rule T4. */
GxFit gx_fits(const GxBlocks *b, const GxContext *c, uint64_t address);
bool gx_set_add(GxAddressSet *s, uint64_t address);
bool gx_set_has(const GxAddressSet *s, uint64_t address);

/* calls.c */
/* The node below which a call by block `from` goes: `node`, or an inlined function's below it. */
static inline uint32_t gx_calling_node(GxReplay *r, uint32_t node, uint32_t from)
{
    const uint32_t site = r->blocks.site[from];

    return site ? gx_tree_child(&r->tree, node, site, GX_NODE_INLINED) : node;
}
void gx_stack_begin(GxReplay *r, GxStack *s, uint32_t id, unsigned kind);
void gx_stack_free(GxStack *s);
/* The program went from block `from` to block `id` by itself. Rules C1 to C5. False: a return that fits no call. */
bool gx_calls_edge(GxReplay *r, GxStack *s, uint32_t from, uint32_t id);
/* It went nowhere else either. Rules C6 to C8. */
void gx_calls_unmatched(GxReplay *r, GxStack *s, uint32_t from, uint32_t id);
/* A return to one of this stack's frames? Its index; -1: none. */
int gx_stack_find_return(const GxStack *s, uint64_t address);
/* An activation of this function? The newest one's index; -1: none. */
int gx_stack_find_function(const GxStack *s, uint32_t fn);
/* What was called first runs, or a function it went on to by tail calls; none that it called. */
bool gx_stack_at_base(const GxStack *s);
/* The routine that runs, or one that went on to it by tail calls, loads the stack pointer. */
bool gx_stack_switches(const GxStack *s);
/* The newest activation returns to this address? The index of what was called; -1: it does not. */
int gx_stack_waits(const GxStack *s, uint64_t address);
/* What `from` has open above the activation at index `at` is open in `to` as well. */
void gx_stack_copy_above(GxReplay *r, GxStack *to, const GxStack *from, uint32_t at);

/* tasks.c */
void gx_task_suspend(GxReplay *r, GxVcpu *v, GxContext place);
void gx_task_switch(GxReplay *r, GxEngine *e, uint32_t task);
void gx_task_begin(GxReplay *r, GxEngine *e, uint32_t id);
/* A trap returned to `address`, where nothing waits: a scheduler's loop that begins anew? Its task, or -1. Rule S8. */
int gx_task_scheduler(const GxReplay *r, const GxEngine *e, uint64_t address, const GxProbe *now);
/* Where the task waits in a routine that switches, also if a trap came there; NULL: it does not. Rule S7. */
const GxContext *gx_task_left(const GxTask *t);
/* `now`: registers at that address, or NULL. */
GxFit gx_context_fits(const GxReplay *r, const GxStack *s, const GxContext *c, uint64_t address, const GxProbe *now);
const GxStack *gx_stack_below(const GxEngine *e, uint32_t n);
int gx_task_find(GxReplay *r, const GxEngine *e, uint64_t address, GxFit at_least, const GxProbe *now, bool *ambiguous);

/* context.c */
/* False: the payload is cut. */
bool gx_probe_take(GxVcpu *v, const uint8_t *payload, const uint8_t *end);
/* Registers at the beginning of the block that comes next; NULL: they were not read. */
const GxProbe *gx_probe(const GxVcpu *v);
static inline bool gx_probe_pending(const GxVcpu *v) { return v->probe.before == v->n_blocks + 1; }
/* Cortex-M: the exception number, 0 in thread mode. False: not known; as for all of these, also where p is NULL. */
bool gx_probe_exception(const GxProbe *p, uint32_t *number);
/* Cortex-M: this is how a handler begins; */
bool gx_probe_begins_m(const GxProbe *p);
/* and it interrupted no other handler; */
bool gx_probe_from_thread(const GxProbe *p);
/* this is a handler's first block, but it was called like a function. */
bool gx_probe_denies(const GxProbe *p);
/* After GX_TRAP_EVENT_PROBE. */
bool gx_probe_is_entry(const GxReplay *r, const GxVcpu *v, uint32_t id);
/* The block that follows the probe: does it begin a handler, after one whose begin was not recorded? */
bool gx_probe_chains_unseen(const GxReplay *r, const GxVcpu *v);
/* GX_NODE_INTERRUPT, GX_NODE_EXCEPTION, or 0: not known. */
unsigned gx_probe_kind(const GxProbe *p);
/* At a handler's first block: the stack pointer of what it interrupted; `outermost`: no open handler. */
void gx_probe_interrupted(const GxProbe *p, bool outermost, GxContext *c);
typedef enum { GX_SP_UNKNOWN, GX_SP_SAME, GX_SP_OTHER } GxSpFit;
/* The stack pointer of what runs. False: not known. */
bool gx_probe_stack(const GxProbe *p, uint64_t *sp);
/* Does the context's stack go on? */
GxSpFit gx_probe_sp(const GxProbe *p, const GxContext *c);

/* As gx_probe(), where a trap returns: what its level's accesses restored is known besides. `room`: for the answer. */
const GxProbe *gx_probe_leaving(const GxVcpu *v, const GxLevel *level, GxProbe *room);
/* What a trap interrupted, to be compared with that: where nothing was restored, it goes on whatever was saved. */
GxContext gx_probe_below(const GxLevel *level);

/* How far the stack that a routine switched to is from that of a task (NULL: the running one); UINT64_MAX: another. */
uint64_t gx_switch_distance(const GxEngine *e, const GxContext *place);
/* The running task is suspended by such a routine. */
void gx_switch_place(GxEngine *e, GxContext *place);

/* records.c */
/* The row of the traps table: an index into r->traps. */
uint32_t gx_trap_row(GxReplay *r, uint32_t from, uint32_t begun, uint32_t to, uint32_t source);
/* A block was left after `begun` instructions. False: no memory. */
bool gx_cut_count(GxReplay *r, uint32_t block, uint32_t begun);

/* traps.c */
void gx_trap_learn(GxReplay *r, uint64_t address);
void gx_trap_enter(GxReplay *r, GxVcpu *v, GxContext interrupted, uint32_t id, bool tail_chained, bool maybe_call);
/* What runs since the recording began is a handler. Rule T9. */
void gx_trap_began_inside(GxReplay *r, GxVcpu *v);
/* The same, if what is at the bottom of the stack is a function that begins with a handler (Cortex-M). */
void gx_trap_begins_inside(GxReplay *r, GxVcpu *v);
bool gx_trap_infers_chains(const GxReplay *r);
/* The open trap is over. What was interrupted. */
GxContext gx_trap_close(GxReplay *r, GxVcpu *v);
/* The handler that runs ended by switching to a task: nothing is open any more. What was interrupted. Rule S6. */
GxContext gx_trap_close_all(GxReplay *r, GxVcpu *v);

/* switches.c */
/* As gx_calls_edge() in the current stack; a return that fits no call may go to another task. Rules S3 to S5. */
void gx_tasks_edge(GxReplay *r, GxVcpu *v, uint32_t from, uint32_t id);

/* returns.c */
void gx_trap_leave(GxReplay *r, GxVcpu *v, uint32_t id);
/* A trap return with no trap open goes on in a task that a trap had suspended. False: there is none. Rule R4. */
bool gx_trap_resume_task(GxReplay *r, GxVcpu *v, uint32_t id);

/* engine.c */
bool gx_engine_init(GxEngine *e);
void gx_engine_free(GxEngine *e);
/* The engine sees block `id` after v->prev (0: nothing is known). True: an edge of the program, to be counted as such. */
bool gx_engine_step(GxReplay *r, GxVcpu *v, uint32_t id);
void gx_engine_reset(GxReplay *r, GxVcpu *v);
/* Instructions since the last time go to the current node. */
static inline void gx_engine_charge(GxReplay *r, GxEngine *e, uint64_t n_insns)
{
    if (e->stack->n) {
        r->tree.nodes[e->stack->frames[e->stack->n - 1].node].self += n_insns - e->charged;
    }
    e->charged = n_insns;
}
/* As gx_engine_step(), for the usual calls and returns, where no probe is pending. False: it is none of them, and nothing was done. */
static inline bool gx_engine_quick(GxReplay *r, GxEngine *e, uint32_t from, uint32_t id, uint32_t flags,
                                   uint64_t n_insns)
{
    GxStack *s = e->stack;
    const GxFrame *top = &s->frames[s->n - 1];

    if (r->observed) {
        return false;
    }
    if ((flags & GX_EDGE_CALL) && !top->cut) {
        const uint32_t site = r->blocks.site[from];
        uint32_t node = r->tree.nodes[top->node].last_child;

        if (site) { /* the call is an inlined function's */
            if (r->tree.nodes[node].fn != site || r->tree.nodes[node].kind != GX_NODE_INLINED) {
                return false;
            }
            node = r->tree.nodes[node].last_child;
        }
        if (s->n == s->capacity || r->tree.nodes[node].fn != r->blocks.fn_first[id] ||
            r->tree.nodes[node].kind != GX_NODE_CALL || !r->blocks.is_entry[id]) {
            return false;
        }
        gx_engine_charge(r, e, n_insns);
        r->tree.nodes[node].calls++;
        s->frames[s->n++] =
            (GxFrame){.ret = r->blocks.end[from], .node = node, .fn = r->tree.nodes[node].fn, .has_ret = true};
        return true;
    }
    if ((flags & GX_EDGE_RETURN) && top->has_ret && top->ret == r->blocks.address[id] && !top->tail && !top->switched) {
        gx_engine_charge(r, e, n_insns);
        s->n--;
        return true;
    }
    return false;
}
GxStack *gx_engine_stack(GxEngine *e);
/* Instructions since the last change of task or trap go to the one that ran. */
void gx_engine_charge_context(GxReplay *r, GxVcpu *v);

/* replay.c */
static inline void gx_count_in_node(GxReplay *r, uint32_t node, uint32_t block, uint32_t lost, uint64_t count)
{
    if (r->node_blocks.on && !gx_node_blocks_add(&r->node_blocks, node, block, lost, count)) {
        r->error = "no memory for the executions by node";
    }
}

/* handlers.c */
GxHandler *gx_handler(GxReplay *r, uint64_t address);
void gx_histogram_add(GxHistogram *h, uint64_t value);
void gx_histogram_free(GxHistogram *h);
uint64_t gx_histogram_median(const GxHistogram *h);

#endif
