/*
 * The stream: records appended to one file, whole or not at all. docs/trace-format.md.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#define _GNU_SOURCE
#include "stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "blocktable.h"
#include "crc32.h"
#include "format.h"

static struct {
    int fd;
    uint64_t size;        /* of `stream`, whole records only */
    uint32_t blocks_done; /* ids up to this are in the stream */
    int level;
    ZSTD_CCtx *zstd;
    uint8_t *out; /* payload of the record in work */
    size_t out_size;
} stream = {.fd = -1};

uint64_t stream_bytes(void) { return stream.size; }

/* --- records; nothing is left of one that could not be written whole ------------------------------------------------ */

static bool write_at(const void *data, size_t length, uint64_t offset)
{
    const uint8_t *p = data;

    while (length) {
        ssize_t n = pwrite(stream.fd, p, length, (off_t)offset);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return false;
        }
        p += n;
        length -= (size_t)n;
        offset += (uint64_t)n;
    }
    return true;
}

/* False: errno says why, and the stream is as before. */
static bool append(unsigned type, const void *payload, size_t length)
{
    uint8_t h[GX_RECORD_HEADER_SIZE];
    int err;

    gx_put32(h, GX_RECORD_MAGIC);
    gx_put16(h + 4, (uint16_t)type);
    gx_put16(h + 6, 0);
    gx_put64(h + 8, length);
    gx_put32(h + 16, gx_crc32(0, payload, length));
    gx_put32(h + 20, gx_crc32(0, h, 20));
    if (write_at(h, sizeof(h), stream.size) && write_at(payload, length, stream.size + sizeof(h))) {
        stream.size += sizeof(h) + length;
        return true;
    }
    err = errno;
    if (ftruncate(stream.fd, (off_t)stream.size)) {
        err = errno; /* the reader stops at the half record */
    }
    errno = err;
    return false;
}

static bool reserve_out(size_t need)
{
    if (need > stream.out_size) {
        uint8_t *p = realloc(stream.out, need);

        if (!p) {
            errno = ENOMEM;
            return false;
        }
        stream.out = p;
        stream.out_size = need;
    }
    return true;
}

static bool append_compressed(unsigned type, size_t header, const uint8_t *raw, size_t length)
{
    size_t n = ZSTD_compressCCtx(stream.zstd, stream.out + header, stream.out_size - header, raw, length, stream.level);

    if (ZSTD_isError(n)) {
        errno = ENOMEM;
        return false;
    }
    return append(type, stream.out, header + n);
}

static bool append_blocks(void)
{
    uint64_t length;
    uint32_t n;
    const uint8_t *raw = blocktable_entries_after(stream.blocks_done, &length, &n);

    if (!n) {
        return true;
    }
    if (!reserve_out(GX_BLOCKS_HEADER_SIZE + ZSTD_compressBound(length))) {
        return false;
    }
    gx_put32(stream.out, stream.blocks_done + 1);
    gx_put32(stream.out + 4, n);
    gx_put64(stream.out + 8, length);
    if (!append_compressed(GX_RECORD_BLOCKS, GX_BLOCKS_HEADER_SIZE, raw, length)) {
        return false;
    }
    stream.blocks_done += n;
    return true;
}

bool stream_chunk(const StreamChunk *c)
{
    if (!append_blocks() || !reserve_out(GX_CHUNK_HEADER_SIZE + ZSTD_compressBound(c->length))) {
        return false;
    }
    gx_put32(stream.out, c->vcpu);
    gx_put32(stream.out + 4, 0);
    gx_put64(stream.out + 8, c->seq);
    gx_put64(stream.out + 16, c->first_insn);
    gx_put64(stream.out + 24, c->n_insns);
    gx_put64(stream.out + 32, c->n_blocks);
    gx_put64(stream.out + 40, c->time_ns);
    gx_put32(stream.out + 48, c->length);
    gx_put32(stream.out + 52, 0);
    return append_compressed(GX_RECORD_CHUNK, GX_CHUNK_HEADER_SIZE, c->tokens, c->length);
}

bool stream_meta(const char *json) { return append(GX_RECORD_META, json, strlen(json)); }

bool stream_begin(uint64_t generation, const char *meta)
{
    uint8_t h[GX_FILE_HEADER_SIZE] = {0};

    memcpy(h, GX_FILE_MAGIC, 8);
    gx_put16(h + 8, GX_FORMAT_VERSION);
    gx_put16(h + 10, GX_FILE_HEADER_SIZE);
    gx_put64(h + 16, generation);
    gx_put32(h + 28, gx_crc32(0, h, 28));
    stream.size = GX_FILE_HEADER_SIZE;
    stream.blocks_done = 0;
    return !ftruncate(stream.fd, 0) && write_at(h, sizeof(h), 0) && stream_meta(meta);
}

bool stream_end(const uint64_t *totals, unsigned n_vcpus)
{
    return append_blocks() && append(GX_RECORD_END, totals, (size_t)n_vcpus * 2 * sizeof(*totals));
}

bool stream_open(const char *directory, int level, char *message, size_t message_size)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s/stream", directory);
    stream.level = level;
    stream.zstd = ZSTD_createCCtx();
    stream.fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (stream.fd < 0 || !stream.zstd) {
        snprintf(message, message_size, "%s: %s", path, strerror(stream.zstd ? errno : ENOMEM));
        return false;
    }
    return true;
}
