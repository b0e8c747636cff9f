/*
 * The stream: records appended to one file, whole or not at all. docs/trace-format.md.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#define _GNU_SOURCE
#include "stream.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "blocktable.h"
#include "crc32.h"
#include "format.h"
#include "descriptors.h"

/* A record that a ring may drop or must keep. */
typedef struct StreamRecord {
    uint64_t offset;
    uint64_t length; /* header included */
    uint64_t n_insns;
    uint64_t n_blocks;
    uint32_t vcpu;
    bool is_chunk;
} StreamRecord;

typedef struct StreamDropped {
    uint64_t n_chunks, n_insns, n_blocks;
} StreamDropped;

static struct {
    int fd;
    uint64_t size;        /* of `stream`, whole records only */
    uint32_t blocks_done; /* ids up to this are in the stream */
    int level;
    ZSTD_CCtx *zstd;
    uint8_t *out; /* payload of the record in work */
    size_t out_size;
    char path[4096];
    StreamRecord *records; /* META and CHUNK records, in order */
    size_t n_records, records_capacity;
    StreamDropped *dropped; /* by vCPU */
    uint32_t n_dropped;
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

/* The record that was written last. */
static bool note_record(uint64_t offset, const StreamChunk *c)
{
    if (stream.n_records == stream.records_capacity) {
        const size_t capacity = stream.records_capacity ? 2 * stream.records_capacity : 256;
        StreamRecord *records = realloc(stream.records, capacity * sizeof(*records));

        if (!records) {
            errno = ENOMEM;
            return false;
        }
        stream.records = records;
        stream.records_capacity = capacity;
    }
    stream.records[stream.n_records++] = (StreamRecord){.offset = offset,
                                                        .length = stream.size - offset,
                                                        .n_insns = c ? c->n_insns : 0,
                                                        .n_blocks = c ? c->n_blocks : 0,
                                                        .vcpu = c ? c->vcpu : 0,
                                                        .is_chunk = c != NULL};
    return true;
}

bool stream_chunk(const StreamChunk *c)
{
    uint64_t at;
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
    at = stream.size;
    return append_compressed(GX_RECORD_CHUNK, GX_CHUNK_HEADER_SIZE, c->tokens, c->length) && note_record(at, c);
}

bool stream_meta(const char *json)
{
    const uint64_t at = stream.size;

    return append(GX_RECORD_META, json, strlen(json)) && note_record(at, NULL);
}

static bool write_header(uint64_t generation)
{
    uint8_t h[GX_FILE_HEADER_SIZE] = {0};

    memcpy(h, GX_FILE_MAGIC, 8);
    gx_put16(h + 8, GX_FORMAT_VERSION);
    gx_put16(h + 10, GX_FILE_HEADER_SIZE);
    gx_put64(h + 16, generation);
    gx_put32(h + 28, gx_crc32(0, h, 28));
    stream.size = GX_FILE_HEADER_SIZE;
    stream.blocks_done = 0;
    return write_at(h, sizeof(h), 0);
}

bool stream_begin(uint64_t generation, const char *meta)
{
    stream.n_records = 0;
    stream.n_dropped = 0;
    return !ftruncate(stream.fd, 0) && write_header(generation) && stream_meta(meta);
}

uint64_t stream_dropped(void)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < stream.n_dropped; i++) {
        n += stream.dropped[i].n_insns;
    }
    return n;
}

static bool count_dropped(const StreamRecord *r)
{
    if (r->vcpu >= stream.n_dropped) {
        StreamDropped *dropped = realloc(stream.dropped, (r->vcpu + 1) * sizeof(*dropped));

        if (!dropped) {
            errno = ENOMEM;
            return false;
        }
        memset(dropped + stream.n_dropped, 0, (r->vcpu + 1 - stream.n_dropped) * sizeof(*dropped));
        stream.dropped = dropped;
        stream.n_dropped = r->vcpu + 1;
    }
    stream.dropped[r->vcpu].n_chunks++;
    stream.dropped[r->vcpu].n_insns += r->n_insns;
    stream.dropped[r->vcpu].n_blocks += r->n_blocks;
    return true;
}

static bool append_ring_meta(uint64_t size)
{
    const size_t room = 128 + 128 * (size_t)stream.n_dropped;
    char *json = malloc(room);
    size_t used;
    bool ok;

    if (!json) {
        return false;
    }
    used = (size_t)snprintf(json, room, "{\"ring\": {\"size\": %" PRIu64 ", \"dropped\": [", size);
    for (uint32_t i = 0; i < stream.n_dropped; i++) {
        used += (size_t)snprintf(json + used, room - used,
                                 "%s{\"chunks\": %" PRIu64 ", \"instructions\": %" PRIu64 ", \"blocks\": %" PRIu64 "}",
                                 i ? ", " : "", stream.dropped[i].n_chunks, stream.dropped[i].n_insns,
                                 stream.dropped[i].n_blocks);
    }
    snprintf(json + used, room - used, "]}}");
    ok = append(GX_RECORD_META, json, strlen(json));
    free(json);
    return ok;
}

/* From the old file to the end of the new one. */
static bool copy_record(int from, StreamRecord *r)
{
    uint64_t done = 0;

    if (!reserve_out(r->length)) {
        return false;
    }
    while (done < r->length) {
        const ssize_t n = pread(from, stream.out + done, r->length - done, (off_t)(r->offset + done));

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            errno = n ? errno : EIO;
            return false;
        }
        done += (uint64_t)n;
    }
    if (!write_at(stream.out, r->length, stream.size)) {
        return false;
    }
    r->offset = stream.size;
    stream.size += r->length;
    return true;
}

/* The new file's records: META, blocks, the chunks from number `first` of the records on. */
static bool fill_turned(int old, uint64_t generation, uint64_t size, StreamRecord *records, size_t first)
{
    if (!write_header(generation)) {
        return false;
    }
    for (size_t i = 0; i < stream.n_records; i++) {
        if (!records[i].is_chunk && !copy_record(old, &records[i])) {
            return false;
        }
    }
    if (!append_ring_meta(size) || !append_blocks()) {
        return false;
    }
    for (size_t i = first; i < stream.n_records; i++) {
        if (records[i].is_chunk && !copy_record(old, &records[i])) {
            return false;
        }
    }
    return true;
}

bool stream_turn(uint64_t generation, uint64_t size)
{
    const int old = stream.fd;
    const uint64_t old_size = stream.size;
    const uint32_t old_blocks = stream.blocks_done;
    StreamRecord *records = malloc(stream.n_records * sizeof(*records));
    size_t first = stream.n_records, n = 0;
    uint64_t kept = 0;
    char path[sizeof(stream.path) + 8];
    int err;

    if (!records) {
        return false;
    }
    memcpy(records, stream.records, stream.n_records * sizeof(*records));
    while (first && (!records[first - 1].is_chunk || !kept || kept + records[first - 1].length <= size)) {
        first--;
        kept += records[first].is_chunk ? records[first].length : 0;
    }
    for (size_t i = 0; i < first; i++) {
        if (records[i].is_chunk && !count_dropped(&records[i])) {
            free(records);
            return false;
        }
    }
    snprintf(path, sizeof(path), "%s.new", stream.path);
    stream.fd = descriptors_move(open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (stream.fd < 0 || !fill_turned(old, generation, size, records, first) || rename(path, stream.path)) {
        err = errno;
        if (stream.fd >= 0) {
            close(stream.fd);
            unlink(path);
        }
        stream.fd = old;
        stream.size = old_size;
        stream.blocks_done = old_blocks;
        free(records);
        errno = err;
        return false;
    }
    close(old);
    for (size_t i = 0; i < stream.n_records; i++) {
        if (!records[i].is_chunk || i >= first) {
            stream.records[n++] = records[i];
        }
    }
    stream.n_records = n;
    free(records);
    return true;
}

bool stream_end(const uint64_t *totals, unsigned n_vcpus)
{
    return append_blocks() && append(GX_RECORD_END, totals, (size_t)n_vcpus * 2 * sizeof(*totals));
}

bool stream_open(const char *directory, int level, char *message, size_t message_size)
{
    char *const path = stream.path;

    snprintf(path, sizeof(stream.path), "%s/stream", directory);
    stream.level = level;
    stream.zstd = ZSTD_createCCtx();
    stream.fd = descriptors_move(open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (stream.fd < 0 || !stream.zstd) {
        snprintf(message, message_size, "%s: %s", path, strerror(stream.zstd ? errno : ENOMEM));
        return false;
    }
    return true;
}
