/*
 * What a filter is: its ranges and triggers, and what they say of each block. For filter.c; others ask filter.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef GX_FILTERSET_H
#define GX_FILTERSET_H

#include "filter.h"

#define FILTER_META_MAX 4096

/* By block id; found out when the block is met first. */
enum {
    FILTER_KNOWN = 1,
    FILTER_IN = 2,   /* in the ranges */
    FILTER_NEAR = 4, /* not in them, but its direct end may go there */
    FILTER_FROM = 8, /* holds an instruction where recording begins, */
    FILTER_TO = 16   /* or ends */
};

typedef struct Numbers {
    uint64_t *items;
    size_t n, capacity;
} Numbers;

/* The lock's; changed only while nothing is recorded. */
typedef struct FilterSet {
    Arch arch;
    Numbers ranges; /* pairs [start, end), in order and apart once it is armed */
    Numbers from, to;
    bool once;
    char text[FILTER_TEXT_MAX];
    /* The texts of all filters that were armed since the last clear, as a JSON list without its brackets. */
    char used[FILTER_META_MAX];
    uint8_t *flags;
} FilterSet;

extern FilterSet filter_set;

/* The FILTER_ bits of a block; once the filter is armed. */
uint8_t filter_flags(uint32_t id);
/* Whether [start, end) touches the ranges. */
bool filter_in_ranges(uint64_t start, uint64_t end);
/* Where the block may go by itself, as far as its last instruction says; how many. */
unsigned filter_successors(uint32_t id, uint64_t successors[2]);
/* Which of the block's instructions, from 1 on, begins at one of the addresses; 0: none. */
uint32_t filter_insn_at(uint32_t id, const Numbers *addresses, uint64_t *address);

#endif
