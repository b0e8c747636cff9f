/*
 * Recording strides: what they count, what they need of the predictor and of the stack, what they change. See strides.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "state.h"

#define WRONG_MAX 4 /* times until a stride is recorded anew */

bool gx_stride_begin(GxReplay *r, GxVcpu *v, const uint8_t *raw, size_t length)
{
    GxStrides *s = &r->strides;
    GxStrideRecord *now = s->record;
    GxStrideBegin begin;
    uint32_t hash, id;

    if (!s->index || r->observed || r->paths.on || (raw && s->resting) || !v->prev || !v->engine.stack->n ||
        v->engine.stack->frames[v->engine.stack->n - 1].cut) {
        return false;
    }
    gx_stride_begin_of(v, &begin);
    begin.token = raw ? gx_stride_token(raw, length, v->decoder->pos) : 0;
    if (raw && !begin.token) {
        return false;
    }
    if ((id = gx_stride_find(s, &begin, &hash))) {
        if (s->strides[id].wrong < WRONG_MAX) {
            return false;
        }
    } else if (s->seen[hash >> 20] != hash) {
        s->seen[hash >> 20] = hash; /* once is not worth it */
        return false;
    }
    now->on = true;
    now->begin = begin;
    now->pos = v->decoder->pos;
    now->n_blocks = now->n_insns = now->pops = now->open = now->n_checks = now->n_changed = 0;
    if (!++now->serial) {
        memset(now->known, 0, sizeof(now->known));
        now->serial = 1;
    }
    return true;
}

static void check(GxStrideRecord *now, uint32_t at, uint32_t key)
{
    if (now->known[at] != now->serial) {
        now->known[at] = now->serial;
        now->checks[now->n_checks++] = (GxStrideEntry){.at = at, .key = key};
    }
}

void gx_stride_predicted(GxStrideRecord *now, uint32_t slot, uint32_t key) { check(now, slot, key); }

void gx_stride_change(GxStrideRecord *now, const GxPredictor *table, uint32_t slot, bool second)
{
    check(now, slot, table->first[slot]);
    if (second) {
        check(now, GX_PREDICTOR_ENTRIES + slot, table->second[slot]);
    }
    now->known[GX_PREDICTOR_ENTRIES + slot] = now->serial;
    now->changed[now->n_changed++] = slot;
    now->changed[now->n_changed++] = GX_PREDICTOR_ENTRIES + slot;
}

void gx_stride_step(GxStrideRecord *now, GxVcpu *v, uint32_t edge, uint32_t edge_flags, uint32_t n_insns,
                    const GxFrame *left)
{
    const GxStack *stack = v->engine.stack;
    const uint32_t node = stack->frames[stack->n - 1].node;

    if (edge_flags & GX_EDGE_CALL) {
        now->open++;
    } else if (edge_flags && now->open) {
        now->open--;
    } else if (edge_flags) {
        now->popped[now->pops++] = (GxFrame){.ret = left->ret, .node = node};
    }
    now->steps[now->n_blocks++] = (GxStrideStep){.edge = edge, .node = node};
    now->n_insns += n_insns;
}

static uint32_t value_of(const GxPredictor *table, uint32_t at)
{
    return at < GX_PREDICTOR_ENTRIES ? table->first[at] : table->second[at - GX_PREDICTOR_ENTRIES];
}

void gx_stride_end(GxReplay *r, GxVcpu *v, const uint8_t *raw)
{
    GxStrides *s = &r->strides;
    GxStrideRecord *now = s->record;
    const GxStack *stack = v->engine.stack;
    const uint32_t n_bytes = raw ? (uint32_t)(v->decoder->pos - now->pos) : 0;
    GxStride *stride;
    uint32_t id;

    now->on = false;
    if (now->n_blocks < 2 ||
        !(id = gx_stride_take(r, &now->begin, now->n_checks + now->n_changed, now->pops + now->open, n_bytes))) {
        return;
    }
    stride = &s->strides[id];
    *stride = (GxStride){.begin = now->begin,
                         .end_history = v->decoder->history,
                         .end_prev = v->prev,
                         .n_insns = now->n_insns,
                         .n_blocks = (uint16_t)now->n_blocks,
                         .n_bytes = (uint16_t)n_bytes,
                         .n_checks = (uint16_t)now->n_checks,
                         .n_writes = (uint16_t)now->n_changed,
                         .pops = (uint16_t)now->pops,
                         .pushes = (uint16_t)now->open,
                         .steps = s->n_steps,
                         .entries = s->n_entries,
                         .frames = s->n_frames,
                         .bytes = s->n_bytes,
                         .checked = UINT64_MAX};
    memcpy(s->steps + s->n_steps, now->steps, now->n_blocks * sizeof(*s->steps));
    s->n_steps += now->n_blocks;
    memcpy(s->entries + s->n_entries, now->checks, now->n_checks * sizeof(*s->entries));
    s->n_entries += now->n_checks;
    for (uint32_t i = 0; i < now->n_changed; i++) {
        s->entries[s->n_entries++] =
            (GxStrideEntry){.at = now->changed[i], .key = value_of(v->decoder->table, now->changed[i])};
    }
    memcpy(s->frames + s->n_frames, now->popped, now->pops * sizeof(*s->frames));
    s->n_frames += now->pops;
    memcpy(s->frames + s->n_frames, stack->frames + stack->n - now->open, now->open * sizeof(*s->frames));
    s->n_frames += now->open;
    if (raw) {
        memcpy(s->bytes + s->n_bytes, raw + now->pos, n_bytes);
        s->n_bytes += n_bytes;
    }
}
