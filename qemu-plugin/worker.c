/*
 * The worker: takes full buffers, decodes them (which counts instructions and checks the encoder) and has the stream
 * append them. A buffer is free again only after its record is in the file whole.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#define _GNU_SOURCE
#include "worker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "blocktable.h"
#include "decoder.h"
#include "recorder.h"
#include "stream.h"

#define TICK_MS   10
#define RUN_FLUSH (1ull << (GX_WORD_RUN_BITS - 2))

static GxDecoder *decoder;

static GxBuffer *next_full(Vcpu *v)
{
    for (unsigned i = 0; i < recorder.n_buffers; i++) {
        if (v->buffers[i]->state == GX_BUFFER_FULL && v->buffers[i]->seq == v->written_seq) {
            return v->buffers[i];
        }
    }
    return NULL;
}

/* The lock is held; errno says why. */
static void fail_write(void)
{
    char message[160];

    snprintf(message, sizeof(message), "cannot write the recording: %s; what ran until now is kept", strerror(errno));
    recorder_fail(GX_GAP_WRITE, message);
}

/* The lock is held on entry and on return. */
static void write_buffer(Vcpu *v, GxBuffer *b)
{
    StreamChunk chunk = {.vcpu = v->index,
                         .length = (uint32_t)(b->word >> GX_WORD_RUN_BITS),
                         .seq = b->seq,
                         .first_insn = v->n_insns,
                         .time_ns = b->time_ns,
                         .tokens = b->tokens};
    GxChunkCounts counts = {0};
    bool good, written;
    int err;

    const uint64_t ring = recorder.ring_size, generation = recorder.live->generation;

    recorder.worker_busy = true;
    pthread_mutex_unlock(&recorder.lock);
    good = gx_decoder_count(decoder, b->tokens, chunk.length, blocktable_count(), blocktable_n_insns(), &counts) &&
           counts.history == b->history;
    chunk.n_insns = counts.n_insns;
    chunk.n_blocks = counts.n_blocks;
    written = stream_chunk(&chunk) && (!ring || stream_bytes() <= ring + ring / 4 || stream_turn(generation, ring));
    err = errno;
    pthread_mutex_lock(&recorder.lock);
    recorder.worker_busy = false;
    recorder.dropped_insns = stream_dropped();
    if (written) {
        v->n_insns += counts.n_insns;
        v->n_blocks += counts.n_blocks;
        v->written_seq++;
        recorder.n_chunks++;
        __atomic_store_n(&b->state, GX_BUFFER_FREE, __ATOMIC_RELEASE);
    } else {
        errno = err;
        fail_write();
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

        if (recorder.state != RECORDER_FAILED && !recorder_tell_late()) {
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

bool worker_start(char *message, size_t message_size)
{
    sigset_t all, old;
    pthread_t thread;
    int err;

    if (!(decoder = gx_decoder_new(0))) {
        snprintf(message, message_size, "no memory for the worker");
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
