/*
 * Strides: finding, checking and going through them, and round loops of them. See strides.h; stride_record.c makes them.
 *
 * A stride is right when the predictor holds what it held, the bytes are the same, and the activations that it returns
 * from are those that it returned from before. All else follows from the state where it begins.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "strides.h"

#include <stdlib.h>

#include "state.h"

#define STRIDES_MAX (1u << 15)
#define INDEX_SIZE  (2 * STRIDES_MAX)
#define SEEN_SIZE   4096
#define STEPS_MAX   (1u << 20)
#define ENTRIES_MAX (1u << 20)
#define FRAMES_MAX  (1u << 17)
#define BYTES_MAX   (1u << 20)

#define LOOK_COST   5
#define RECORD_COST 500
#define LOOKS       (1u << 15) /* after so many it is seen whether they pay */
#define REST_MAX    (1u << 24) /* tokens */

#define LOOP_RUN    65536 /* blocks; shorter runs are not worth the search for a loop */
#define PATH_MAX    8192  /* strides of a loop that is found */
#define LOOP_FRAMES 16    /* activations that a loop may return from and enter again */

/* --- memory --------------------------------------------------------------------------------------------------------------- */

static bool allocate(GxStrides *s)
{
    if (s->index) {
        return true;
    }
    s->strides = malloc(STRIDES_MAX * sizeof(*s->strides));
    s->steps = malloc(STEPS_MAX * sizeof(*s->steps));
    s->entries = malloc(ENTRIES_MAX * sizeof(*s->entries));
    s->frames = malloc(FRAMES_MAX * sizeof(*s->frames));
    s->bytes = malloc(BYTES_MAX);
    s->path = malloc(PATH_MAX * sizeof(*s->path));
    s->seen = calloc(SEEN_SIZE, sizeof(*s->seen));
    s->record = calloc(1, sizeof(*s->record));
    s->index = calloc(INDEX_SIZE, sizeof(*s->index));
    if (!s->strides || !s->steps || !s->entries || !s->frames || !s->bytes || !s->path || !s->seen || !s->record ||
        !s->index) {
        gx_strides_free(s);
        return false;
    }
    s->n = 1;
    return true;
}

void gx_strides_free(GxStrides *s)
{
    free(s->strides);
    free(s->steps);
    free(s->entries);
    free(s->frames);
    free(s->bytes);
    free(s->path);
    free(s->seen);
    free(s->record);
    free(s->index);
    *s = (GxStrides){.n = 0};
}

static void flush_one(GxReplay *r, GxStride *stride)
{
    const GxStrideStep *step = r->strides.steps + stride->steps;

    for (uint32_t i = 0; stride->count && i < stride->n_blocks; i++) {
        GxEdge *edge = &r->edges.edges[step[i].edge];
        GxNode *node = &r->tree.nodes[step[i].node];

        edge->count += stride->count;
        node->self += r->blocks.n_insns[edge->to] * stride->count;
        if (edge->flags & GX_EDGE_CALL) {
            node->calls += stride->count;
        }
        gx_count_in_node(r, step[i].node, edge->to, 0, stride->count);
    }
    stride->count = 0;
}

void gx_strides_flush(GxReplay *r)
{
    for (uint32_t i = 1; i < r->strides.n; i++) {
        flush_one(r, &r->strides.strides[i]);
    }
}

void gx_strides_clear(GxReplay *r)
{
    GxStrides *s = &r->strides;

    if (s->index) {
        gx_strides_flush(r);
        memset(s->index, 0, INDEX_SIZE * sizeof(*s->index));
        s->n = 1;
        s->n_steps = s->n_entries = s->n_frames = s->n_bytes = 0;
        s->record->on = false;
        s->last_known = false;
    }
}

/* --- finding -------------------------------------------------------------------------------------------------------------- */

static uint32_t hash_of(const GxStrideBegin *k)
{
    uint64_t h = ((uint64_t)k->history << 32 | k->node) * 0x9E3779B97F4A7C15ull;

    h = (h ^ k->ret ^ (uint64_t)k->token << 32 ^ (uint64_t)k->prev << 12 ^ (uint64_t)k->vcpu << 50) *
        0xC2B2AE3D27D4EB4Full;
    return (uint32_t)(h >> 32);
}

static bool same_begin(const GxStrideBegin *a, const GxStrideBegin *b)
{
    return a->history == b->history && a->prev == b->prev && a->node == b->node && a->ret == b->ret &&
           a->token == b->token && a->vcpu == b->vcpu;
}

void gx_stride_begin_of(const GxVcpu *v, GxStrideBegin *begin)
{
    const GxFrame *top = &v->engine.stack->frames[v->engine.stack->n - 1];

    *begin = (GxStrideBegin){
        .ret = top->ret, .node = top->node, .history = v->decoder->history, .prev = v->prev, .vcpu = v->index};
}

uint32_t gx_stride_token(const uint8_t *raw, size_t length, size_t pos)
{
    return pos + 4 <= length ? gx_get32(raw + pos) + 1 : 0;
}

static uint32_t *place_of(const GxStrides *s, const GxStrideBegin *begin, uint32_t hash)
{
    uint32_t i = hash & (INDEX_SIZE - 1);

    while (s->index[i] && !same_begin(&s->strides[s->index[i]].begin, begin)) {
        i = (i + 1) & (INDEX_SIZE - 1);
    }
    return &s->index[i];
}

/* A state where no stride goes on is asked for up to three times. */
uint32_t gx_stride_find(GxStrides *s, const GxStrideBegin *begin, uint32_t *hash)
{
    if (!s->last_known || !same_begin(&s->last, begin)) {
        s->last = *begin;
        s->last_hash = hash_of(begin);
        s->last_id = *place_of(s, begin, s->last_hash);
        s->last_known = true;
    }
    *hash = s->last_hash;
    return s->last_id;
}

uint32_t gx_stride_take(GxReplay *r, const GxStrideBegin *begin, uint32_t n_entries, uint32_t n_frames,
                        uint32_t n_bytes)
{
    GxStrides *s = &r->strides;
    uint32_t *place;

    if (n_bytes > UINT16_MAX) {
        return 0;
    }
    if (s->n == STRIDES_MAX || s->n_steps + GX_STRIDE_MAX > STEPS_MAX || s->n_entries + n_entries > ENTRIES_MAX ||
        s->n_frames + n_frames > FRAMES_MAX || s->n_bytes + n_bytes > BYTES_MAX) {
        gx_strides_clear(r);
    }
    s->score -= n_bytes ? RECORD_COST : 0;
    s->last_known = false;
    place = place_of(s, begin, hash_of(begin));
    if (*place) {
        flush_one(r, &s->strides[*place]);
    } else {
        *place = s->n++;
    }
    return *place;
}

/* --- checking ------------------------------------------------------------------------------------------------------------- */

static inline uint32_t *entry_of(GxPredictor *table, uint32_t at)
{
    return at < GX_PREDICTOR_ENTRIES ? &table->first[at] : &table->second[at - GX_PREDICTOR_ENTRIES];
}

/* The predictor still says what it said. */
static bool fits_predictor(const GxStrides *s, const GxVcpu *v, GxStride *stride)
{
    const GxStrideEntry *check = s->entries + stride->entries;

    if (stride->checked == v->decoder->changes) {
        return true;
    }
    for (uint32_t i = 0; i < stride->n_checks; i++) {
        if (*entry_of(v->decoder->table, check[i].at) != check[i].key) {
            return false;
        }
    }
    stride->checked = v->decoder->changes;
    return true;
}

/* It returns from the activations that are open now; and there is room for those that it opens. */
static bool fits_stack(const GxStrides *s, const GxStride *stride, const GxStack *stack)
{
    const GxFrame *expected = s->frames + stride->frames;
    const GxFrame *top = stack->frames + stack->n - 1;

    if (stack->n <= stride->pops || stack->n + stride->pushes > stack->capacity) {
        return false;
    }
    for (uint32_t i = 0; i < stride->pops; i++, top--) {
        if (!top->has_ret || top->tail || top->switched || top->ret != expected[i].ret ||
            top[-1].node != expected[i].node) {
            return false;
        }
    }
    return true;
}

static bool fits_all(const GxStrides *s, GxVcpu *v, GxStride *stride)
{
    if (fits_stack(s, stride, v->engine.stack) && fits_predictor(s, v, stride)) {
        stride->wrong = 0;
        return true;
    }
    stride->wrong++;
    return false;
}

static void apply(const GxStrides *s, GxStride *stride, GxVcpu *v)
{
    const GxStrideEntry *writes = s->entries + stride->entries + stride->n_checks;
    GxStack *stack = v->engine.stack;

    stride->count++;
    stack->n -= stride->pops;
    for (uint32_t i = 0; i < stride->pushes; i++) {
        stack->frames[stack->n++] = s->frames[stride->frames + stride->pops + i];
    }
    if (stride->n_writes) {
        for (uint32_t i = 0; i < stride->n_writes; i++) {
            *entry_of(v->decoder->table, writes[i].at) = writes[i].key;
        }
        v->decoder->changes++;
    }
    v->prev = stride->end_prev;
    v->decoder->history = stride->end_history;
    v->n_insns += stride->n_insns;
    v->n_blocks += stride->n_blocks;
}

/* --- loops of strides ----------------------------------------------------------------------------------------------------- */

/* A state, and the strides since then. When it comes again, what lies between can be counted as often as it fits. */
typedef struct Loop {
    uint32_t history;
    uint32_t prev;
    uint32_t depth;  /* of the stack */
    uint32_t lowest; /* that it had since */
    uint32_t n;      /* strides */
    uint32_t limit;  /* of them; then the search begins at a later state */
    uint64_t n_blocks;
    uint64_t n_insns;
    GxFrame frames[LOOP_FRAMES]; /* the innermost */
} Loop;

static uint32_t n_kept(const Loop *loop) { return loop->depth < LOOP_FRAMES ? loop->depth : LOOP_FRAMES; }

static void loop_begin(Loop *loop, const GxVcpu *v)
{
    const GxStack *stack = v->engine.stack;

    loop->history = v->decoder->history;
    loop->prev = v->prev;
    loop->depth = loop->lowest = stack->n;
    loop->n = 0;
    loop->n_blocks = loop->n_insns = 0;
    memcpy(loop->frames, stack->frames + stack->n - n_kept(loop), n_kept(loop) * sizeof(*loop->frames));
}

static bool same_frame(const GxFrame *a, const GxFrame *b)
{
    return a->ret == b->ret && a->node == b->node && a->fn == b->fn && a->has_ret == b->has_ret && a->tail == b->tail &&
           a->switched == b->switched;
}

static bool loop_is_round(const Loop *loop, const GxVcpu *v)
{
    const GxStack *stack = v->engine.stack;
    const uint32_t kept = n_kept(loop);

    if (loop->history != v->decoder->history || loop->prev != v->prev || loop->depth != stack->n ||
        loop->lowest + kept < loop->depth) {
        return false;
    }
    for (uint32_t i = 0; i < kept; i++) {
        if (!same_frame(&loop->frames[i], &stack->frames[stack->n - kept + i])) {
            return false;
        }
    }
    return true;
}

/* Stride `id` was gone through, `left` blocks are left: how many of them are rounds that are counted now? */
static uint64_t go_round(GxReplay *r, GxVcpu *v, Loop *loop, uint32_t id, uint64_t left)
{
    GxStrides *s = &r->strides;
    const GxStride *stride = &s->strides[id];
    const uint32_t lowest = v->engine.stack->n - stride->pushes;
    uint64_t times;

    s->path[loop->n++] = id;
    loop->lowest = lowest < loop->lowest ? lowest : loop->lowest;
    loop->n_blocks += stride->n_blocks;
    loop->n_insns += stride->n_insns;
    if (!loop_is_round(loop, v)) {
        if (loop->n == loop->limit) {
            loop->limit = loop->limit < PATH_MAX ? loop->limit * 2 : PATH_MAX;
            loop_begin(loop, v);
        }
        return 0;
    }
    times = left / loop->n_blocks;
    for (uint32_t i = 0; i < loop->n; i++) {
        s->strides[s->path[i]].count += times;
    }
    v->n_insns += times * loop->n_insns;
    v->n_blocks += times * loop->n_blocks;
    times *= loop->n_blocks;
    loop_begin(loop, v);
    return times;
}

/* --- running -------------------------------------------------------------------------------------------------------------- */

/* The stride that begins so: the one that came next last time, or found by hash, and then the next one. */
static GxStride *next_of(GxStrides *s, const GxStrideBegin *begin, uint32_t **next)
{
    uint32_t id = *next ? **next : 0;
    uint32_t hash;

    if (!id || !same_begin(&s->strides[id].begin, begin)) {
        id = gx_stride_find(s, begin, &hash);
        if (*next && id) {
            **next = id;
        }
    }
    *next = &s->strides[id].next;
    return id ? &s->strides[id] : NULL;
}

static bool may_run(GxReplay *r, const GxVcpu *v)
{
    const GxStack *stack = v->engine.stack;

    return !r->observed && !r->paths.on && v->prev && stack->n && !stack->frames[stack->n - 1].cut &&
           allocate(&r->strides);
}

uint64_t gx_strides_run(GxReplay *r, GxVcpu *v, uint64_t n)
{
    GxStrides *s = &r->strides;
    GxStrideBegin begin;
    uint64_t left = n;
    uint32_t *next = NULL;
    GxStride *stride;
    Loop loop;

    if (n < GX_STRIDE_RUN || !may_run(r, v)) {
        return 0;
    }
    loop.limit = 1;
    loop_begin(&loop, v);
    gx_engine_charge(r, &v->engine, v->n_insns);
    for (;;) {
        gx_stride_begin_of(v, &begin);
        stride = next_of(s, &begin, &next);
        if (!stride || stride->n_blocks > left || !fits_all(s, v, stride)) {
            break;
        }
        apply(s, stride, v);
        left -= stride->n_blocks;
        if (left >= LOOP_RUN) {
            left -= go_round(r, v, &loop, (uint32_t)(stride - s->strides), left);
        }
    }
    v->engine.charged = v->n_insns;
    return n - left;
}

/*
 * Strides of tokens pay where the program's data repeat. Where they do not, they are given up for a while, longer each time.
 * Costs are in blocks that are gone through one by one.
 */
static void weigh(GxStrides *s, uint64_t n_blocks)
{
    s->score += (int64_t)n_blocks - LOOK_COST;
    if (++s->looks < LOOKS) {
        return;
    }
    s->rest = s->score > 0 ? 0 : s->rest ? s->rest * 2 : 4 * LOOKS;
    s->rest = s->rest < REST_MAX ? s->rest : REST_MAX;
    s->resting = s->rest;
    s->looks = 0;
    s->score = 0;
}

uint64_t gx_strides_tokens(GxReplay *r, GxVcpu *v, const uint8_t *raw, size_t length, uint64_t n)
{
    GxStrides *s = &r->strides;
    GxDecoder *d = v->decoder;
    GxStrideBegin begin;
    uint64_t left = n;
    uint32_t *next = NULL;
    GxStride *stride;

    if (s->resting) {
        s->resting--;
        return 0;
    }
    if (!may_run(r, v)) {
        return 0;
    }
    gx_engine_charge(r, &v->engine, v->n_insns);
    for (;;) {
        gx_stride_begin_of(v, &begin);
        if (!(begin.token = gx_stride_token(raw, length, d->pos))) {
            break;
        }
        stride = next_of(s, &begin, &next);
        if (!stride || stride->n_blocks > left || stride->n_bytes > length - d->pos ||
            memcmp(raw + d->pos, s->bytes + stride->bytes, stride->n_bytes) || !fits_all(s, v, stride)) {
            break;
        }
        apply(s, stride, v);
        d->pos += stride->n_bytes;
        left -= stride->n_blocks;
    }
    v->engine.charged = v->n_insns;
    weigh(s, n - left);
    return n - left;
}
