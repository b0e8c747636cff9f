/*
 * Executions of blocks by node: rows in one array, found by hash, or at once where a block is in the same node again.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "nodeblocks.h"

#include <stdlib.h>
#include <string.h>

static uint32_t hash_of(uint32_t node, uint32_t block, uint32_t lost)
{
    const uint64_t h = ((uint64_t)node << 32 | block) * 0x9E3779B97F4A7C15ull + lost * 0xC2B2AE3D27D4EB4Full;

    return (uint32_t)(h >> 32);
}

static bool grow(GxNodeBlocks *t)
{
    const uint32_t capacity = t->capacity ? t->capacity * 2 : 1024;
    uint32_t *index = calloc(2 * (size_t)capacity, sizeof(*index));
    GxNodeBlock *rows = realloc(t->rows, capacity * sizeof(*rows));

    if (rows) {
        t->rows = rows;
    }
    if (!index || !rows) {
        free(index);
        return false;
    }
    t->n = t->n ? t->n : 1;
    for (uint32_t n = 1; n < t->n; n++) {
        uint32_t i = hash_of(rows[n].node, rows[n].block, rows[n].lost) & (2 * capacity - 1);

        while (index[i]) {
            i = (i + 1) & (2 * capacity - 1);
        }
        index[i] = n;
    }
    free(t->index);
    t->index = index;
    t->capacity = capacity;
    return true;
}

bool gx_node_blocks_reserve(GxNodeBlocks *t, uint32_t blocks)
{
    uint32_t *last;

    if (!t->capacity && !grow(t)) {
        return false;
    }
    if (blocks > t->n_last) {
        if (!(last = realloc(t->last, blocks * sizeof(*last)))) {
            return false;
        }
        memset(last + t->n_last, 0, (blocks - t->n_last) * sizeof(*last));
        t->last = last;
        t->n_last = blocks;
    }
    return true;
}

void gx_node_blocks_free(GxNodeBlocks *t)
{
    free(t->rows);
    free(t->index);
    free(t->last);
}

bool gx_node_blocks_add(GxNodeBlocks *t, uint32_t node, uint32_t block, uint32_t lost, uint64_t count)
{
    GxNodeBlock *last = &t->rows[t->last[block]];
    uint32_t i, n;

    if (t->last[block] && last->node == node && last->lost == lost) {
        last->count += count;
        return true;
    }
    if (t->n + 1 >= t->capacity && !grow(t)) {
        return false;
    }
    for (i = hash_of(node, block, lost) & (2 * t->capacity - 1); (n = t->index[i]);
         i = (i + 1) & (2 * t->capacity - 1)) {
        if (t->rows[n].node == node && t->rows[n].block == block && t->rows[n].lost == lost) {
            break;
        }
    }
    if (!n) {
        n = t->n++;
        t->rows[n] = (GxNodeBlock){.node = node, .block = block, .lost = lost};
        t->index[i] = n;
    }
    t->rows[n].count += count;
    if (!lost) {
        t->last[block] = n;
    }
    return true;
}
