/*
 * The calling-context tree: one node for each distinct path of calls. docs/reconstruction.md, "The tree".
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef GX_TREE_H
#define GX_TREE_H

#include <stdbool.h>
#include <stdint.h>

/* Kinds of nodes. Twin: NodeKind in gdbext/replay/calls.py. */
enum {
    GX_NODE_ROOT = 0,
    GX_NODE_CALL = 1,
    GX_NODE_TAIL = 2,
    GX_NODE_TASK = 3, /* where a task, or what ran first, begins */
    GX_NODE_INTERRUPT = 4,
    GX_NODE_EXCEPTION = 5,
    GX_NODE_TRAP = 6,   /* one of the two; which is not known */
    GX_NODE_INLINED = 7 /* a function that is part of its parent's code: nothing runs in it but what it calls */
};

/* Twins: MAX_PATHS and MAX_DEPTH in gdbext/replay/calls.py. */
#define GX_NODES_MAX      (1u << 20)
#define GX_NODE_DEPTH_MAX 1000

typedef struct GxNode {
    uint32_t parent;
    uint32_t fn; /* number of the function, as Python gave it; 0 unknown */
    uint16_t kind;
    uint16_t depth;      /* the root's children have 1; an inlined function has its parent's */
    uint32_t last_child; /* the child found last: most calls repeat */
    uint64_t calls;
    uint64_t self;
} GxNode;

typedef struct GxTree {
    GxNode *nodes; /* [0] is the root */
    uint32_t count;
    uint32_t capacity;
    uint32_t *index;
    uint32_t index_size;
    uint32_t deepest;   /* the node of greatest depth, the first one */
    uint64_t cut_calls; /* calls that got no node of their own: too deep, or too many paths */
} GxTree;

/* Per function, over the whole tree. */
typedef struct GxFunctionCost {
    uint64_t calls;
    uint64_t self;
    uint64_t inclusive; /* of its outermost activations */
} GxFunctionCost;

bool gx_tree_init(GxTree *t);
void gx_tree_free(GxTree *t);
/* The child of `parent` for fn; 0: there is none. */
uint32_t gx_tree_find(GxTree *t, uint32_t parent, uint32_t fn, unsigned kind);
/* The same, made when new. Where the tree is full or too deep: `parent` itself, and it is
 * counted; but what is at the top always gets one. */
uint32_t gx_tree_child(GxTree *t, uint32_t parent, uint32_t fn, unsigned kind);

/* A root of the tree turns out to be of another kind. */
void gx_tree_rekind(GxTree *t, uint32_t node, unsigned kind);
/* Inclusive cost by node: `out` has t->count elements. */
void gx_tree_inclusive(const GxTree *t, uint64_t *out);
/* Costs by function number below n_functions. False: no memory. */
bool gx_tree_functions(const GxTree *t, GxFunctionCost *out, uint32_t n_functions);

#endif
