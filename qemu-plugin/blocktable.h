/*
 * The block table: an id for each distinct (address, instruction sizes, bytes), kept in the live directory's `blocks`.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef GX_BLOCKTABLE_H
#define GX_BLOCKTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct BlockSource {
    uint64_t address;
    unsigned n_insns;
    unsigned n_bytes;
    uint8_t sizes[1024];
    uint8_t bytes[1024 * 15];
} BlockSource;

/* Create `blocks` in the directory. False: `message` says why. */
bool blocktable_open(const char *directory, char *message, size_t message_size);

/*
 * Id of the block, old or new; 0 when the table is full or the disk is (`blocktable_error` says which).
 * Any thread; published before it returns.
 */
uint32_t blocktable_id(const BlockSource *source);

const char *blocktable_error(void);
bool blocktable_is_full(void);

uint32_t blocktable_count(void);
/* Numbers of instructions, by id; the array stays where it is while it grows. */
const uint16_t *blocktable_n_insns(void);

/* The entry of an id, as in the recording (docs/trace-format.md, "BLOCKS"); it stays where it is. */
const uint8_t *blocktable_entry(uint32_t id);

/* Entries of ids above `id`: start in the mapping and length in bytes; count in *n. */
const uint8_t *blocktable_entries_after(uint32_t id, uint64_t *length, uint32_t *n);

#endif
