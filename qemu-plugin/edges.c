/*
 * The edge table: pairs of blocks with counts, found by hash; the usual successors of a block beside it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>

#include "state.h"

static uint32_t edge_hash(uint32_t from, uint32_t to)
{
    uint64_t h = ((uint64_t)from << 32 | to) * 0x9E3779B97F4A7C15ull;

    return (uint32_t)(h >> 32);
}

static bool grow(GxEdges *e)
{
    const uint32_t size = e->index_size ? e->index_size * 2 : 1024;
    uint32_t *index = calloc(size, sizeof(*index));
    GxEdge *edges = realloc(e->edges, (size_t)size / 2 * sizeof(*edges));

    if (edges) {
        e->edges = edges;
    }
    if (!index || !edges) {
        free(index);
        return false;
    }
    e->capacity = size / 2;
    e->count = e->count ? e->count : 1;
    for (uint32_t n = 1; n < e->count; n++) {
        uint32_t i = edge_hash(edges[n].from, edges[n].to) & (size - 1);

        while (index[i]) {
            i = (i + 1) & (size - 1);
        }
        index[i] = n;
    }
    free(e->index);
    e->index = index;
    e->index_size = size;
    return true;
}

bool gx_edges_reserve(GxEdges *e, uint32_t blocks)
{
    GxSuccessors *s = realloc(e->successors, (size_t)blocks * sizeof(*s));

    if (!s) {
        return false;
    }
    e->successors = s;
    return e->index_size || grow(e);
}

uint32_t gx_edges_find(GxReplay *r, uint32_t from, uint32_t to)
{
    GxEdges *e = &r->edges;
    uint32_t i, n;

    if (e->count + 1 >= e->capacity && !grow(e)) {
        return 0;
    }
    for (i = edge_hash(from, to) & (e->index_size - 1); (n = e->index[i]); i = (i + 1) & (e->index_size - 1)) {
        if (e->edges[n].from == from && e->edges[n].to == to) {
            return n;
        }
    }
    n = e->count++;
    e->edges[n] = (GxEdge){.from = from, .to = to, .flags = gx_edge_flags(r, from, to)};
    e->index[i] = n;
    return n;
}

static void flush_one(GxEdges *e, GxSuccessors *s, unsigned k)
{
    if (s->next[k]) {
        e->edges[s->edge[k]].count += s->count[k];
        s->count[k] = 0;
    }
}

/* The edge becomes the first successor of its block; the first the second. */
void gx_edges_cache(GxEdges *e, uint32_t edge)
{
    GxSuccessors *s = &e->successors[e->edges[edge].from];

    flush_one(e, s, 1);
    s->next[1] = s->next[0];
    s->edge[1] = s->edge[0];
    s->count[1] = s->count[0];
    s->flags[1] = s->flags[0];
    s->next[0] = e->edges[edge].to;
    s->edge[0] = edge;
    s->count[0] = 0;
    s->flags[0] = (uint8_t)e->edges[edge].flags;
}

/* No edge from this block is cached any more. */
void gx_edges_uncache(GxEdges *e, uint32_t from)
{
    GxSuccessors *s = &e->successors[from];

    flush_one(e, s, 0);
    flush_one(e, s, 1);
    *s = (GxSuccessors){.next = {0, 0}};
}

/* Counts of the cached successors into the table. */
void gx_edges_flush(GxEdges *e)
{
    for (uint32_t n = 1; n < e->count; n++) {
        GxSuccessors *s = &e->successors[e->edges[n].from];

        flush_one(e, s, 0);
        flush_one(e, s, 1);
    }
}

void gx_edges_free(GxEdges *e)
{
    free(e->edges);
    free(e->index);
    free(e->successors);
}
