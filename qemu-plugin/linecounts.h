/*
 * Source lines from counts of instructions: how often each line ran, and how much of it. For coverage.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef GX_LINECOUNTS_H
#define GX_LINECOUNTS_H

#include "replay.h"

/* How an instruction, and so a line, stands: reached, but only where a condition of its own may have failed. */
#define GX_UNDECIDED (-1)

enum { GX_LINE_UNCOVERED, GX_LINE_UNDECIDED, GX_LINE_PARTIAL, GX_LINE_COVERED };

/*
 * Instructions are places, 0 to n_places; a piece is the places [first, end) of one row of the line table. The pieces of line i
 * are those from line_from[i] to before line_from[i + 1].
 */
typedef struct GxLinePieces {
    uint32_t n_lines;
    uint32_t n_slots; /* more than any slot */
    const uint32_t *line_from;
    const uint32_t *first;
    const uint32_t *own; /* first place that no piece before has claimed; from it on the piece counts in its file */
    const uint32_t *end;
    const uint32_t *slot; /* which copy of its line it is: 0, 1.. */
    const uint8_t *tells; /* whether it counts for how often its line ran */
} GxLinePieces;

/* By place: times that it certainly took effect, or GX_UNDECIDED; and sums over all places before it. */
typedef struct GxPlaces {
    const int64_t *proven;
    const uint32_t *covered;
    const uint32_t *undecided;
    const uint32_t *outcomes;
    const uint32_t *branches;
    const uint32_t *decisions;
} GxPlaces;

typedef struct GxLineRow {
    int64_t count; /* of its most executed instruction, copies added up; GX_UNDECIDED */
    uint32_t state;
    uint32_t copies;
    uint32_t covered, total; /* instructions of all pieces */
    uint32_t own_total, own_covered, own_undecided, own_outcomes, own_branches, own_decisions;
} GxLineRow;

/* Fill a row for each line. False: no memory. */
GX_PUBLIC bool gx_line_counts(const GxLinePieces *pieces, const GxPlaces *places, GxLineRow *rows);

/* sums[i] is the sum of the values before i; one more than there are values. */
GX_PUBLIC void gx_sums(const uint8_t *values, uint32_t n, uint32_t *sums);

#endif
