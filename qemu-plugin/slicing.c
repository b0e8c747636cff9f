/*
 * What Python calls to have slices.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "library.h"

#include <string.h>

int gx_replay_observe(GxReplay *r, const GxSliceWindow *window)
{
    return !r->observed && gx_slices_new(r, window) ? 0 : -1;
}

uint64_t gx_replay_take_slices(GxReplay *r, GxSlice *out, uint64_t max)
{
    GxSlices *o = r->observed;
    const uint64_t n = o->n < max ? o->n : max;

    if (n) {
        memcpy(out, o->out, n * sizeof(*out));
        memmove(o->out, o->out + n, (o->n - n) * sizeof(*out));
        o->n -= n;
    }
    return n;
}

void gx_replay_end_slices(GxReplay *r)
{
    for (unsigned i = 0; i < GX_VCPUS_MAX; i++) {
        GxVcpu *v = r->vcpus[i];

        if (v) {
            uint64_t insns, blocks;

            gx_replay_totals(r, i, &insns, &blocks);
            gx_slices_at(r, v, insns, 0);
            gx_slices_forget(r, v);
        }
    }
}

void gx_replay_slice_totals(const GxReplay *r, GxSliceTotals *out) { *out = r->observed->totals; }
