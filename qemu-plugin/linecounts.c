/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "linecounts.h"

#include <stdlib.h>

/* Of two instructions or pieces of one copy: the more executed; undecided if neither ran and one may have. */
static int64_t both(int64_t a, int64_t b)
{
    int64_t more = a > b ? a : b;

    return more ? more : a < b ? a : b;
}

static uint32_t within(const uint32_t *before, uint32_t first, uint32_t end) { return before[end] - before[first]; }

static void add_piece(const GxLinePieces *p, uint32_t piece, const GxPlaces *at, GxLineRow *row)
{
    uint32_t first = p->first[piece], own = p->own[piece], end = p->end[piece];

    row->covered += within(at->covered, first, end);
    row->own_undecided += within(at->undecided, own, end);
    row->total += end - first;
    row->own_total += end - own;
    row->own_covered += within(at->covered, own, end);
    row->own_outcomes += within(at->outcomes, own, end);
    row->own_branches += within(at->branches, own, end);
    row->own_decisions += within(at->decisions, own, end);
}

static void finish(GxLineRow *row, const int64_t *copies, uint32_t undecided)
{
    bool may_have = false;

    for (uint32_t i = 0; i < row->copies; i++) {
        if (copies[i] == GX_UNDECIDED) {
            may_have = true;
        } else {
            row->count += copies[i];
        }
    }
    if (row->count) {
        row->state = row->covered + undecided < row->total ? GX_LINE_PARTIAL : GX_LINE_COVERED;
    } else if (may_have) {
        row->count = GX_UNDECIDED;
        row->state = GX_LINE_UNDECIDED;
    }
}

bool gx_line_counts(const GxLinePieces *p, const GxPlaces *at, GxLineRow *rows)
{
    int64_t *copies = calloc(p->n_slots + 1, sizeof *copies);

    if (copies == NULL) {
        return false;
    }
    for (uint32_t line = 0; line < p->n_lines; line++) {
        GxLineRow row = {0};
        uint32_t undecided = 0;

        for (uint32_t piece = p->line_from[line]; piece < p->line_from[line + 1]; piece++) {
            uint32_t slot = p->slot[piece];

            add_piece(p, piece, at, &row);
            undecided += within(at->undecided, p->first[piece], p->end[piece]);
            if (!p->tells[piece]) {
                continue;
            }
            while (row.copies <= slot) {
                copies[row.copies++] = 0;
            }
            for (uint32_t place = p->first[piece]; place < p->end[piece]; place++) {
                copies[slot] = both(copies[slot], at->proven[place]);
            }
        }
        finish(&row, copies, undecided);
        rows[line] = row;
    }
    free(copies);
    return true;
}

void gx_sums(const uint8_t *values, uint32_t n, uint32_t *sums)
{
    sums[0] = 0;
    for (uint32_t i = 0; i < n; i++) {
        sums[i + 1] = sums[i] + values[i];
    }
}
