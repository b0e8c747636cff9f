/*
 * Paths through decisions: which conditions of one evaluation came out how. Each activation of a function follows at most
 * one evaluation, in its frame, so interrupts, recursion and task switches in between do not matter. Included by state.h.
 * The Python twin is gdbext/replay/paths.py.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef GX_PATHS_H
#define GX_PATHS_H

#include <stdbool.h>
#include <stdint.h>

/* A conditional branch that is a condition of a decision. */
typedef struct GxPathBranch {
    uint64_t target; /* where it goes when taken, */
    uint64_t fall;   /* and when not */
    uint32_t root;   /* an evaluation begins here: the node to begin with; 0: it does not */
    uint32_t reserved;
} GxPathBranch;

/* A part of a path: what came so far, with the branch that comes next; its nodes are a tree. */
typedef struct GxPathNode {
    uint32_t branch;  /* 0: a whole path */
    uint32_t next[2]; /* the node when it is taken, and when not */
} GxPathNode;

typedef struct GxPaths {
    bool on;
    uint32_t n_blocks, n_branches, n_nodes;
    uint32_t *ends; /* by block id: the branch that it ends with, 0 none */
    GxPathBranch *branches;
    GxPathNode *nodes;
    uint64_t *counts; /* by node: whole paths; of a root, evaluations begun */
    uint64_t *lost;   /* by branch: executions that no evaluation was followed to */
} GxPaths;

struct GxReplay;
struct GxVcpu;

void gx_paths_free(GxPaths *p);
/* Block `id` began; the stacks are as they are while it runs. */
void gx_paths_arrive(struct GxReplay *r, const struct GxVcpu *v, uint32_t id);
/* The vCPU's last block was left in the middle: its branch did not run. */
void gx_paths_cut(struct GxReplay *r, const struct GxVcpu *v);

#endif
