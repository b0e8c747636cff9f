/*
 * The worker: takes full buffers, decodes them (which counts instructions and checks the encoder), compresses them and
 * appends them to `stream`. A buffer is free again only after its record is in the file whole.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "blocktable.h"
#include "crc32.h"
#include "decoder.h"
#include "recorder.h"

#define TICK_MS   10
#define RUN_FLUSH (1ull << (GX_WORD_RUN_BITS - 2))

static struct {
    int fd;
    uint64_t size;        /* of `stream`, whole records only */
    uint32_t blocks_done; /* ids up to this are in the stream */
    int level;
    ZSTD_CCtx *zstd;
    GxDecoder *decoder;
    uint8_t *out; /* payload of the record in work */
    size_t out_size;
} w = {.fd = -1};

uint64_t worker_stream_bytes(void) { return w.size; }

/* --- records; nothing is left of one that could not be written whole ------------------------------------------------ */

static bool write_at(const void *data, size_t length, uint64_t offset)
{
    const uint8_t *p = data;

    while (length) {
        ssize_t n = pwrite(w.fd, p, length, (off_t)offset);

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
    if (write_at(h, sizeof(h), w.size) && write_at(payload, length, w.size + sizeof(h))) {
        w.size += sizeof(h) + length;
        return true;
    }
    err = errno;
    if (ftruncate(w.fd, (off_t)w.size)) {
        err = errno; /* the reader stops at the half record */
    }
    errno = err;
    return false;
}

static bool reserve_out(size_t need)
{
    if (need > w.out_size) {
        uint8_t *p = realloc(w.out, need);

        if (!p) {
            errno = ENOMEM;
            return false;
        }
        w.out = p;
        w.out_size = need;
    }
    return true;
}

static bool append_compressed(unsigned type, size_t header, const uint8_t *raw, size_t length)
{
    size_t n = ZSTD_compressCCtx(w.zstd, w.out + header, w.out_size - header, raw, length, w.level);

    if (ZSTD_isError(n)) {
        errno = ENOMEM;
        return false;
    }
    return append(type, w.out, header + n);
}

static bool append_blocks(void)
{
    uint64_t length;
    uint32_t n;
    const uint8_t *raw = blocktable_entries_after(w.blocks_done, &length, &n);

    if (!n) {
        return true;
    }
    if (!reserve_out(GX_BLOCKS_HEADER_SIZE + ZSTD_compressBound(length))) {
        return false;
    }
    gx_put32(w.out, w.blocks_done + 1);
    gx_put32(w.out + 4, n);
    gx_put64(w.out + 8, length);
    if (!append_compressed(GX_RECORD_BLOCKS, GX_BLOCKS_HEADER_SIZE, raw, length)) {
        return false;
    }
    w.blocks_done += n;
    return true;
}

static bool append_chunk(const Vcpu *v, const GxBuffer *b, const GxChunkCounts *counts)
{
    const uint32_t length = (uint32_t)(b->word >> GX_WORD_RUN_BITS);

    if (!reserve_out(GX_CHUNK_HEADER_SIZE + ZSTD_compressBound(length))) {
        return false;
    }
    gx_put32(w.out, v->index);
    gx_put32(w.out + 4, 0);
    gx_put64(w.out + 8, b->seq);
    gx_put64(w.out + 16, v->n_insns);
    gx_put64(w.out + 24, counts->n_insns);
    gx_put64(w.out + 32, counts->n_blocks);
    gx_put64(w.out + 40, b->time_ns);
    gx_put32(w.out + 48, length);
    gx_put32(w.out + 52, 0);
    return append_compressed(GX_RECORD_CHUNK, GX_CHUNK_HEADER_SIZE, b->tokens, length);
}

/* The lock is held; errno says why. */
static void fail_write(void)
{
    char message[128];

    snprintf(message, sizeof(message), "cannot write the recording: %s", strerror(errno));
    recorder_fail(GX_GAP_WRITE, message);
}

/* The lock is held, the worker idle. Only API v1 comes here, which has no other feature to tell. */
static bool append_pending_meta(void)
{
    static const char inexact[] = "{\"features\": [\"cut-inexact\"]}";

    if (recorder.meta_pending && !append(GX_RECORD_META, inexact, sizeof(inexact) - 1)) {
        return false;
    }
    recorder.meta_pending = false;
    return true;
}

/* File header and META; the lock is held, the worker idle. */
bool worker_write_head(void)
{
    uint8_t h[GX_FILE_HEADER_SIZE] = {0};

    memcpy(h, GX_FILE_MAGIC, 8);
    gx_put16(h + 8, GX_FORMAT_VERSION);
    gx_put16(h + 10, GX_FILE_HEADER_SIZE);
    gx_put64(h + 16, recorder.live->generation);
    gx_put32(h + 28, gx_crc32(0, h, 28));
    w.size = GX_FILE_HEADER_SIZE;
    w.blocks_done = 0;
    recorder.meta_pending = recorder.cut_inexact;
    if (ftruncate(w.fd, 0) || !write_at(h, sizeof(h), 0) ||
        !append(GX_RECORD_META, recorder.meta, strlen(recorder.meta)) || !append_pending_meta()) {
        fail_write();
        return false;
    }
    return true;
}

bool worker_write_end(void)
{
    uint8_t *totals = calloc(recorder.max_vcpus, 16);
    bool ok = totals && append_pending_meta() && append_blocks();

    for (unsigned i = 0; ok && i < recorder.max_vcpus; i++) {
        gx_put64(totals + 16 * i, recorder.vcpus[i] ? recorder.vcpus[i]->n_insns : 0);
        gx_put64(totals + 16 * i + 8, recorder.vcpus[i] ? recorder.vcpus[i]->n_blocks : 0);
    }
    ok = ok && append(GX_RECORD_END, totals, 16 * recorder.max_vcpus);
    free(totals);
    if (!ok) {
        fail_write();
    }
    return ok;
}

/* --- the thread ------------------------------------------------------------------------------------------------------ */

static GxBuffer *next_full(Vcpu *v)
{
    for (unsigned i = 0; i < recorder.n_buffers; i++) {
        if (v->buffers[i]->state == GX_BUFFER_FULL && v->buffers[i]->seq == v->written_seq) {
            return v->buffers[i];
        }
    }
    return NULL;
}

/* The lock is held on entry and on return. */
static void write_buffer(Vcpu *v, GxBuffer *b)
{
    GxChunkCounts counts;
    bool good, written;
    int err;

    recorder.worker_busy = true;
    pthread_mutex_unlock(&recorder.lock);
    good = gx_decoder_count(w.decoder, b->tokens, b->word >> GX_WORD_RUN_BITS, blocktable_count(), blocktable_n_insns(),
                            &counts) &&
           counts.history == b->history;
    written = append_blocks() && append_chunk(v, b, &counts);
    err = errno;
    pthread_mutex_lock(&recorder.lock);
    recorder.worker_busy = false;
    if (written) {
        v->n_insns += counts.n_insns;
        v->n_blocks += counts.n_blocks;
        v->written_seq++;
        recorder.n_chunks++;
        __atomic_store_n(&b->state, GX_BUFFER_FREE, __ATOMIC_RELEASE);
    } else {
        char message[160];

        snprintf(message, sizeof(message), "cannot write the recording: %s; what ran until now is kept", strerror(err));
        recorder_fail(GX_GAP_WRITE, message);
    }
    if (!good) {
        recorder_fail(GX_GAP_ENCODER, "the recorder's own check failed: chunk does not decode to what was executed");
    }
    pthread_cond_broadcast(&recorder.changed);
}

static bool several_threads(void)
{
    pid_t tid = 0;

    for (unsigned i = 0; i < recorder.max_vcpus; i++) {
        if (recorder.vcpus[i] && recorder.vcpus[i]->tid) {
            if (tid && tid != recorder.vcpus[i]->tid) {
                return true;
            }
            tid = recorder.vcpus[i]->tid;
        }
    }
    return false;
}

/* Epochs for vCPUs on several threads; and no run may grow out of its field. */
static void tick(void)
{
    const bool epoch = several_threads();

    recorder.sync_epoch += epoch;
    for (unsigned i = 0; i < recorder.max_vcpus; i++) {
        Vcpu *v = recorder.vcpus[i];

        if (v && v->elem->armed && (epoch || (v->elem->cursor->word & GX_WORD_RUN_MASK) > RUN_FLUSH)) {
            recorder_ask(v, ATTENTION_SYNC);
        }
    }
}

static void *worker_main(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&recorder.lock);
    for (;;) {
        bool worked = false;
        struct timespec ts;

        if (recorder.state != RECORDER_FAILED && !append_pending_meta()) {
            fail_write();
        }
        for (unsigned i = 0; i < recorder.max_vcpus && recorder.state != RECORDER_FAILED; i++) {
            GxBuffer *b = recorder.vcpus[i] ? next_full(recorder.vcpus[i]) : NULL;

            if (b) {
                write_buffer(recorder.vcpus[i], b);
                worked = true;
            }
        }
        if (worked) {
            continue;
        }
        clock_gettime(CLOCK_REALTIME, &ts);
        ts.tv_nsec += TICK_MS * 1000000;
        ts.tv_sec += ts.tv_nsec / 1000000000;
        ts.tv_nsec %= 1000000000;
        if (pthread_cond_timedwait(&recorder.changed, &recorder.lock, &ts) == ETIMEDOUT &&
            recorder.state == RECORDER_RECORDING) {
            tick();
        }
    }
    return NULL;
}

bool worker_start(int level, const char *directory, char *message, size_t message_size)
{
    char path[4096];
    sigset_t all, old;
    pthread_t thread;
    int err;

    snprintf(path, sizeof(path), "%s/stream", directory);
    w.level = level;
    w.zstd = ZSTD_createCCtx();
    w.decoder = gx_decoder_new(0);
    w.fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (w.fd < 0 || !w.zstd || !w.decoder || !reserve_out(ZSTD_compressBound(RECORDER_TOKENS_SIZE * 2))) {
        snprintf(message, message_size, "%s: %s", path, strerror(errno));
        return false;
    }
    if (!worker_write_head()) {
        snprintf(message, message_size, "%s: %s", path, recorder.message);
        return false;
    }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    err = pthread_create(&thread, NULL, worker_main, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (err) {
        snprintf(message, message_size, "cannot start the worker thread: %s", strerror(err));
        return false;
    }
    pthread_detach(thread);
    return true;
}
