/*
 * The stream: the recording's file, as it grows. One thread at a time. A call that returns false has left the file as it
 * was, and errno says why.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef GX_STREAM_H
#define GX_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A full chunk; fields as in docs/trace-format.md, "CHUNK". */
typedef struct StreamChunk {
    uint32_t vcpu;
    uint32_t length;
    uint64_t seq;
    uint64_t first_insn;
    uint64_t n_insns;
    uint64_t n_blocks;
    uint64_t time_ns;
    const uint8_t *tokens;
} StreamChunk;

/* Create `stream` in the directory. False: `message` says why. */
bool stream_open(const char *directory, int level, char *message, size_t message_size);

/* Empty the file and begin it: header and META. */
bool stream_begin(uint64_t generation, const char *meta);
bool stream_meta(const char *json);
/* The chunk, and before it the blocks that are new in the table. */
bool stream_chunk(const StreamChunk *c);
/*
 * The ring is full: a new file with the newest chunks, at most `size` bytes of them, takes the place of the old one, whole or
 * not at all. What the old ones held is told in META. False: errno says why, and the file is as it was.
 */
bool stream_turn(uint64_t generation, uint64_t size);
/* Instructions in the chunks that the ring has dropped. */
uint64_t stream_dropped(void);
/* Two totals for each vCPU: instructions, blocks. */
bool stream_end(const uint64_t *totals, unsigned n_vcpus);

/* Size in bytes. */
uint64_t stream_bytes(void);

#endif
