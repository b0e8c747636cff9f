/*
 * The calling-context tree: nodes in one array, children before no parent; a hash finds the child for a function.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "tree.h"

#include <stdlib.h>
#include <string.h>

static uint32_t child_hash(uint32_t parent, uint32_t fn, unsigned kind)
{
    const uint64_t h = ((uint64_t)parent << 32 | fn) * 0x9E3779B97F4A7C15ull + kind * 0xC2B2AE3D27D4EB4Full;

    return (uint32_t)(h >> 32);
}

static bool grow(GxTree *t)
{
    const uint32_t size = t->index_size ? t->index_size * 2 : 1024;
    uint32_t *index = calloc(size, sizeof(*index));
    GxNode *nodes = realloc(t->nodes, (size_t)size / 2 * sizeof(*nodes));

    if (nodes) {
        t->nodes = nodes;
    }
    if (!index || !nodes) {
        free(index);
        return false;
    }
    t->capacity = size / 2;
    for (uint32_t n = 1; n < t->count; n++) {
        uint32_t i = child_hash(nodes[n].parent, nodes[n].fn, nodes[n].kind) & (size - 1);

        while (index[i]) {
            i = (i + 1) & (size - 1);
        }
        index[i] = n;
    }
    free(t->index);
    t->index = index;
    t->index_size = size;
    return true;
}

bool gx_tree_init(GxTree *t)
{
    if (!grow(t)) {
        return false;
    }
    t->nodes[0] = (GxNode){.kind = GX_NODE_ROOT};
    t->count = 1;
    return true;
}

void gx_tree_free(GxTree *t)
{
    free(t->nodes);
    free(t->index);
}

uint32_t gx_tree_find(GxTree *t, uint32_t parent, uint32_t fn, unsigned kind)
{
    const uint32_t last = t->nodes[parent].last_child;
    uint32_t i, n;

    if (last && t->nodes[last].fn == fn && t->nodes[last].kind == kind) {
        return last;
    }
    for (i = child_hash(parent, fn, kind) & (t->index_size - 1); (n = t->index[i]); i = (i + 1) & (t->index_size - 1)) {
        if (t->nodes[n].parent == parent && t->nodes[n].fn == fn && t->nodes[n].kind == kind) {
            t->nodes[parent].last_child = n;
            return n;
        }
    }
    return 0;
}

uint32_t gx_tree_child(GxTree *t, uint32_t parent, uint32_t fn, unsigned kind)
{
    uint32_t i, n;

    if ((n = gx_tree_find(t, parent, fn, kind))) {
        return n;
    }
    if (parent && (t->nodes[parent].depth >= GX_NODE_DEPTH_MAX || t->count >= GX_NODES_MAX)) {
        t->cut_calls++;
        return parent;
    }
    if (t->count + 1 >= t->capacity && !grow(t)) {
        t->cut_calls++;
        return parent;
    }
    i = child_hash(parent, fn, kind) & (t->index_size - 1);
    while (t->index[i]) {
        i = (i + 1) & (t->index_size - 1);
    }
    n = t->count++;
    t->nodes[n] = (GxNode){.parent = parent,
                           .fn = fn,
                           .kind = (uint16_t)kind,
                           .depth = (uint16_t)(t->nodes[parent].depth + (kind != GX_NODE_INLINED))};
    t->index[i] = n;
    t->nodes[parent].last_child = n;
    if (t->nodes[n].depth > t->nodes[t->deepest].depth) {
        t->deepest = n;
    }
    return n;
}

void gx_tree_rekind(GxTree *t, uint32_t node, unsigned kind)
{
    GxNode *n = &t->nodes[node];
    uint32_t i;

    if (n->kind == kind || n->parent) {
        return;
    }
    n->kind = (uint16_t)kind; /* its old place in the index finds nothing any more */
    for (i = child_hash(0, n->fn, kind) & (t->index_size - 1); t->index[i]; i = (i + 1) & (t->index_size - 1)) {
    }
    t->index[i] = node;
}

/* A child comes after its parent, so one pass from the end adds up everything. */
void gx_tree_inclusive(const GxTree *t, uint64_t *out)
{
    for (uint32_t n = 0; n < t->count; n++) {
        out[n] = t->nodes[n].self;
    }
    for (uint32_t n = t->count - 1; n > 0; n--) {
        out[t->nodes[n].parent] += out[n];
    }
}

/*
 * A node is an outermost activation if no node above it is the same function's. Paths are at most GX_NODE_DEPTH_MAX
 * long; most are short.
 */
static bool outermost(const GxTree *t, uint32_t n)
{
    for (uint32_t up = t->nodes[n].parent; up; up = t->nodes[up].parent) {
        if (t->nodes[up].fn == t->nodes[n].fn) {
            return false;
        }
    }
    return true;
}

bool gx_tree_functions(const GxTree *t, GxFunctionCost *out, uint32_t n_functions)
{
    uint64_t *inclusive = malloc(t->count * sizeof(*inclusive));

    if (!inclusive) {
        return false;
    }
    gx_tree_inclusive(t, inclusive);
    memset(out, 0, n_functions * sizeof(*out));
    for (uint32_t n = 1; n < t->count; n++) {
        const GxNode *node = &t->nodes[n];

        if (node->fn < n_functions) {
            out[node->fn].calls += node->calls;
            out[node->fn].self += node->self;
            out[node->fn].inclusive += outermost(t, n) ? inclusive[n] : 0;
        }
    }
    free(inclusive);
    return true;
}
