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
/* Two totals for each vCPU: instructions, blocks. */
bool stream_end(const uint64_t *totals, unsigned n_vcpus);

/* Size in bytes. */
uint64_t stream_bytes(void);

#endif
