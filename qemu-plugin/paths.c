/*
 * Follows evaluations of decisions. A frame's `path` is twice the node, plus 1 while the node's branch has run and where it
 * went is not known yet.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>
#include <string.h>

#include "library.h"

static void settle(GxReplay *r, GxFrame *f, uint64_t address)
{
    GxPaths *p = &r->paths;
    const GxPathNode *node = &p->nodes[f->path >> 1];
    const GxPathBranch *b = &p->branches[node->branch];
    uint32_t next;

    if (address != b->target && address != b->fall) {
        f->path = 0; /* begun, and never complete */
        return;
    }
    next = node->next[address != b->target];
    if (p->nodes[next].branch) {
        f->path = next << 1;
    } else {
        p->counts[next]++;
        f->path = 0;
    }
}

void gx_paths_arrive(GxReplay *r, const GxVcpu *v, uint32_t id)
{
    GxPaths *p = &r->paths;
    const GxStack *s = v->engine.stack;
    const uint32_t branch = id < p->n_blocks ? p->ends[id] : 0;
    GxFrame *f;

    if (!s->n) {
        return;
    }
    f = &s->frames[s->n - 1];
    if (f->path & 1) {
        settle(r, f, r->blocks.address[id]);
    }
    if (!branch) {
        return;
    }
    if (p->branches[branch].root) {
        f->path = p->branches[branch].root << 1 | 1;
        p->counts[f->path >> 1]++;
    } else if (f->path && p->nodes[f->path >> 1].branch == branch) {
        f->path |= 1;
    } else {
        p->lost[branch]++;
        f->path = 0;
    }
}

void gx_paths_cut(GxReplay *r, const GxVcpu *v)
{
    GxPaths *p = &r->paths;
    const GxStack *s = v->engine.stack;
    const uint32_t branch = v->prev < p->n_blocks ? p->ends[v->prev] : 0;
    GxFrame *f = s->n ? &s->frames[s->n - 1] : NULL;

    if (!branch || !f || !(f->path & 1)) {
        return;
    }
    f->path &= ~1u;
    if (p->branches[branch].root) {
        p->counts[f->path >> 1]--;
        f->path = 0;
    }
}

void gx_paths_free(GxPaths *p)
{
    free(p->ends);
    free(p->branches);
    free(p->nodes);
    free(p->counts);
    free(p->lost);
    *p = (GxPaths){.on = false};
}

static void *copied(const void *from, size_t element, uint32_t count)
{
    void *to = calloc(count ? count : 1, element);

    if (to && count) {
        memcpy(to, from, element * count);
    }
    return to;
}

/* No number leads out of the arrays, and no path goes round: nodes come before those that they lead to. */
static bool is_sound(const GxPaths *p)
{
    for (uint32_t i = 0; i < p->n_blocks; i++) {
        if (p->ends[i] && p->ends[i] >= p->n_branches) {
            return false;
        }
    }
    for (uint32_t i = 1; i < p->n_branches; i++) {
        if (p->branches[i].root >= p->n_nodes) {
            return false;
        }
    }
    for (uint32_t i = 1; i < p->n_nodes; i++) {
        const GxPathNode *n = &p->nodes[i];

        if (n->branch >= p->n_branches || (n->branch && (n->next[0] <= i || n->next[0] >= p->n_nodes ||
                                                         n->next[1] <= i || n->next[1] >= p->n_nodes))) {
            return false;
        }
    }
    return true;
}

int gx_replay_follow_paths(GxReplay *r, const uint32_t *ends, uint32_t n_blocks, const GxPathBranch *branches,
                           uint32_t n_branches, const GxPathNode *nodes, uint32_t n_nodes)
{
    GxPaths *p = &r->paths;

    gx_paths_free(p);
    *p = (GxPaths){.n_blocks = n_blocks,
                   .n_branches = n_branches,
                   .n_nodes = n_nodes,
                   .ends = copied(ends, sizeof(*ends), n_blocks),
                   .branches = copied(branches, sizeof(*branches), n_branches),
                   .nodes = copied(nodes, sizeof(*nodes), n_nodes),
                   .counts = calloc(n_nodes + 1, sizeof(*p->counts)),
                   .lost = calloc(n_branches + 1, sizeof(*p->lost))};
    p->on = p->ends && p->branches && p->nodes && p->counts && p->lost && is_sound(p);
    return p->on ? 0 : -1;
}

uint64_t gx_replay_path_counts(const GxReplay *r, uint64_t *out, uint64_t max)
{
    const uint64_t n = r->paths.n_nodes;

    if (max) {
        memcpy(out, r->paths.counts, (n < max ? n : max) * sizeof(*out));
    }
    return n;
}

uint64_t gx_replay_path_losses(const GxReplay *r, uint64_t *out, uint64_t max)
{
    const uint64_t n = r->paths.n_branches;

    if (max) {
        memcpy(out, r->paths.lost, (n < max ? n : max) * sizeof(*out));
    }
    return n;
}
