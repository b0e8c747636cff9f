/*
 * Executions of blocks by node of the tree: for functions that the compiler inlined, whose code is part of blocks of others.
 * Only where it is asked for: it costs a look for each block.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef GX_NODEBLOCKS_H
#define GX_NODEBLOCKS_H

#include <stdbool.h>
#include <stdint.h>

/* Block `block` was executed `count` times in node `node`, its last `lost` instructions not. */
typedef struct GxNodeBlock {
    uint32_t node;
    uint32_t block;
    uint32_t lost;
    uint32_t reserved;
    uint64_t count;
} GxNodeBlock;

/* An execution that was cut is there twice: as a whole one (lost 0), and with what it lost. */
typedef struct GxNodeBlocks {
    bool on;
    GxNodeBlock *rows; /* [0] unused */
    uint32_t n;
    uint32_t *index; /* of twice `capacity` */
    uint32_t capacity;
    uint32_t *last; /* by block id: the row that it counted in last, 0 none */
    uint32_t n_last;
} GxNodeBlocks;

/* `blocks`: ids are below. False: no memory. */
bool gx_node_blocks_reserve(GxNodeBlocks *t, uint32_t blocks);
void gx_node_blocks_free(GxNodeBlocks *t);
/* False: no memory. */
bool gx_node_blocks_add(GxNodeBlocks *t, uint32_t node, uint32_t block, uint32_t lost, uint64_t count);

#endif
