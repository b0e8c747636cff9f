/*
 * The recorder: set-up, and what a controller asks. See recorder.h for who may touch what.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#define _GNU_SOURCE
#include "recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attention.h"
#include "blocktable.h"
#include "encoder.h"
#include "filter.h"
#include "stream.h"

/* --- set-up --------------------------------------------------------------------------------------------------------- */

static bool map_live(const char *directory, char *message, size_t message_size)
{
    const size_t size = GX_LIVE_HEADER_SIZE + (size_t)recorder.max_vcpus * recorder.n_buffers * RECORDER_BUFFER_SIZE;
    char path[4096];
    int fd, err;
    void *map;

    snprintf(path, sizeof(path), "%s/live", directory);
    fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        snprintf(message, message_size, "%s: %s", path, strerror(errno));
        return false;
    }
    err = posix_fallocate(fd, 0, (off_t)size);
    map = err ? MAP_FAILED : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) {
        snprintf(message, message_size, "%s: %s (needs %zu KiB)", path, strerror(err ? err : errno), size >> 10);
        close(fd);
        return false;
    }
    close(fd);
    recorder.live = map;
    memcpy(recorder.live->magic, GX_LIVE_MAGIC, 8);
    recorder.live->n_vcpus = recorder.max_vcpus;
    recorder.live->n_buffers = recorder.n_buffers;
    recorder.live->buffer_size = RECORDER_BUFFER_SIZE;
    recorder.live->pid = (uint32_t)getpid();
    return true;
}

/* The lock is held, the worker idle. */
static void fail_write(void)
{
    char message[128];

    snprintf(message, sizeof(message), "cannot write the recording: %s", strerror(errno));
    recorder_fail(GX_GAP_WRITE, message);
}

/* A new, empty stream. */
static bool write_head(char *message, size_t message_size)
{
    recorder.meta_pending = recorder.cut_inexact;
    if (!stream_begin(recorder.live->generation, recorder.meta)) {
        fail_write();
        snprintf(message, message_size, "%s", recorder.message);
        return false;
    }
    return true;
}

static bool write_end(void)
{
    uint64_t *totals = calloc(recorder.max_vcpus, 2 * sizeof(*totals));
    bool ok = totals && recorder_tell_late();

    for (unsigned i = 0; ok && i < recorder.max_vcpus; i++) {
        totals[2 * i] = recorder.vcpus[i] ? recorder.vcpus[i]->n_insns : 0;
        totals[2 * i + 1] = recorder.vcpus[i] ? recorder.vcpus[i]->n_blocks : 0;
    }
    ok = ok && stream_end(totals, recorder.max_vcpus);
    free(totals);
    if (!ok) {
        fail_write();
    }
    return ok;
}

bool recorder_open(const RecorderOptions *options, char *message, size_t message_size)
{
    recorder.max_vcpus = options->max_vcpus;
    recorder.n_buffers = options->max_vcpus <= 2 ? RECORDER_BUFFERS_MAX : RECORDER_BUFFERS_MAX - 1;
    recorder.vcpus = calloc(options->max_vcpus, sizeof(*recorder.vcpus));
    snprintf(recorder.meta, sizeof(recorder.meta), "%s", options->meta);
    if (!recorder.vcpus) {
        snprintf(message, message_size, "no memory for %u vCPUs", options->max_vcpus);
        return false;
    }
    return blocktable_open(options->directory, message, message_size) &&
           map_live(options->directory, message, message_size) &&
           stream_open(options->directory, options->level, message, message_size) && write_head(message, message_size);
}

bool recorder_vcpu_init(unsigned index, VcpuElem *elem, uint64_t *cut)
{
    Vcpu *v;
    uint8_t *base;

    if (index >= recorder.max_vcpus) {
        return false;
    }
    pthread_mutex_lock(&recorder.lock);
    v = recorder.vcpus[index];
    if (!v) {
        v = calloc(1, sizeof(*v));
        base =
            (uint8_t *)recorder.live + GX_LIVE_HEADER_SIZE + (size_t)index * recorder.n_buffers * RECORDER_BUFFER_SIZE;
        if (!v || !(v->table = malloc(sizeof(*v->table)))) {
            free(v);
            pthread_mutex_unlock(&recorder.lock);
            return false;
        }
        v->index = index;
        for (unsigned i = 0; i < recorder.n_buffers; i++) {
            v->buffers[i] = (GxBuffer *)(void *)(base + (size_t)i * RECORDER_BUFFER_SIZE);
        }
        v->elem = elem;
        v->cut = cut;
        elem->vcpu = v;
        elem->table = v->table;
        recorder.vcpus[index] = v;
        if (recorder.state == RECORDER_RECORDING) {
            encoder_start(v, "");
        }
    }
    v->elem = elem;
    v->cut = cut;
    pthread_mutex_unlock(&recorder.lock);
    return true;
}

/* The lock is held, the worker idle. Inexact cuts: only with API v1, which has no other feature to tell. */
bool recorder_tell_late(void)
{
    char json[5000];

    if (recorder.meta_pending && !stream_meta("{\"features\": [\"cut-inexact\"]}")) {
        return false;
    }
    recorder.meta_pending = false;
    if (recorder.filters_pending) {
        filter_meta(json, sizeof(json));
        if (!stream_meta(json)) {
            return false;
        }
    }
    recorder.filters_pending = false;
    return true;
}

void recorder_set_cut_inexact(void)
{
    pthread_mutex_lock(&recorder.lock);
    __atomic_store_n(&recorder.cut_inexact, true, __ATOMIC_RELEASE);
    recorder.meta_pending = true;
    pthread_cond_broadcast(&recorder.changed);
    pthread_mutex_unlock(&recorder.lock);
}

/* --- a controller --------------------------------------------------------------------------------------------------- */

bool recorder_start(const char *text, bool *already, unsigned *n_vcpus, char *message, size_t message_size)
{
    bool ok = false;

    pthread_mutex_lock(&recorder.lock);
    *already = recorder.state == RECORDER_RECORDING;
    *n_vcpus = 0;
    if (recorder.state == RECORDER_FAILED) {
        snprintf(message, message_size, "%.150s; %s", recorder.message,
                 recorder.blocks_missed ? "start QEMU again" : "use clear to begin anew");
    } else if (recorder.state == RECORDER_FINISHED || recorder.state == RECORDER_LIMIT) {
        snprintf(message, message_size, "the recording is finished");
    } else if (*already || filter_arm(message, message_size)) {
        recorder.state = RECORDER_RECORDING;
        for (unsigned i = 0; i < recorder.max_vcpus; i++) {
            if (recorder.vcpus[i]) {
                if (!*already) {
                    encoder_start(recorder.vcpus[i], text);
                }
                ++*n_vcpus;
            }
        }
        ok = true;
    }
    pthread_mutex_unlock(&recorder.lock);
    return ok;
}

static void stop_locked(void)
{
    recorder.text[0] = '\0';
    encoder_request_all(ATTENTION_STOP);
    if (recorder.state == RECORDER_RECORDING) {
        recorder.state = RECORDER_STOPPED;
    }
}

bool recorder_stop(bool *already)
{
    pthread_mutex_lock(&recorder.lock);
    *already = recorder.state != RECORDER_RECORDING;
    stop_locked();
    pthread_mutex_unlock(&recorder.lock);
    return true;
}

void recorder_mark(const char *text)
{
    pthread_mutex_lock(&recorder.lock);
    snprintf(recorder.text, sizeof(recorder.text), "%s", text);
    encoder_request_all(ATTENTION_MARK);
    recorder.text[0] = '\0';
    pthread_mutex_unlock(&recorder.lock);
}

static bool work_pending(void)
{
    for (unsigned i = 0; i < recorder.max_vcpus; i++) {
        for (unsigned k = 0; recorder.vcpus[i] && k < recorder.n_buffers; k++) {
            if (recorder.vcpus[i]->buffers[k]->state == GX_BUFFER_FULL) {
                return true;
            }
        }
    }
    return false;
}

/* Wait until the worker has nothing to do, or has failed. The lock is held. */
static void drain(void)
{
    while (recorder.worker_busy || (work_pending() && recorder.state != RECORDER_FAILED)) {
        recorder_wait(10);
    }
}

void recorder_sync(void)
{
    pthread_mutex_lock(&recorder.lock);
    encoder_request_all(ATTENTION_PUBLISH);
    drain();
    pthread_mutex_unlock(&recorder.lock);
}

bool recorder_clear(char *message, size_t message_size)
{
    bool was_recording, ok;

    pthread_mutex_lock(&recorder.lock);
    was_recording = recorder.state == RECORDER_RECORDING;
    if (recorder.state == RECORDER_FINISHED) {
        snprintf(message, message_size, "the recording is finished");
        pthread_mutex_unlock(&recorder.lock);
        return false;
    }
    if (recorder.blocks_missed) {
        snprintf(message, message_size, "%.150s; blocks were missed: only a new QEMU can record again",
                 recorder.message);
        pthread_mutex_unlock(&recorder.lock);
        return false;
    }
    stop_locked();
    drain();
    for (unsigned i = 0; i < recorder.max_vcpus; i++) {
        Vcpu *v = recorder.vcpus[i];

        if (v) {
            for (unsigned k = 0; k < recorder.n_buffers; k++) {
                v->buffers[k]->state = GX_BUFFER_FREE;
            }
            v->next_seq = v->written_seq = v->n_insns = v->n_blocks = 0;
        }
    }
    recorder.live->generation++;
    recorder.n_gaps = recorder.n_chunks = recorder.dropped_insns = 0;
    recorder.state = RECORDER_STOPPED;
    recorder.message[0] = '\0';
    filter_forget();
    ok = write_head(message, message_size) && (!was_recording || filter_arm(message, message_size));
    if (ok && was_recording) {
        recorder.state = RECORDER_RECORDING;
        for (unsigned i = 0; i < recorder.max_vcpus; i++) {
            if (recorder.vcpus[i]) {
                encoder_start(recorder.vcpus[i], "");
            }
        }
    }
    pthread_mutex_unlock(&recorder.lock);
    return ok;
}

bool recorder_finish(void)
{
    bool ok;

    pthread_mutex_lock(&recorder.lock);
    stop_locked();
    for (unsigned i = 0; i < recorder.max_vcpus; i++) {
        Vcpu *v = recorder.vcpus[i];

        if (v) {
            encoder_close(v);
        }
    }
    drain();
    ok = recorder.state == RECORDER_FINISHED || (recorder.state != RECORDER_FAILED && write_end());
    if (ok) {
        recorder.state = RECORDER_FINISHED;
    }
    pthread_mutex_unlock(&recorder.lock);
    return ok;
}

void recorder_ring(uint64_t size)
{
    pthread_mutex_lock(&recorder.lock);
    recorder.ring_size = size;
    pthread_mutex_unlock(&recorder.lock);
}

void recorder_release(void)
{
    pthread_mutex_lock(&recorder.lock);
    recorder.held = false;
    pthread_cond_broadcast(&recorder.changed);
    pthread_mutex_unlock(&recorder.lock);
}

void recorder_status(RecorderStatus *status)
{
    memset(status, 0, sizeof(*status));
    pthread_mutex_lock(&recorder.lock);
    status->state = recorder.state;
    for (unsigned i = 0; i < recorder.max_vcpus; i++) {
        if (recorder.vcpus[i]) {
            status->n_insns += recorder.vcpus[i]->n_insns;
            status->n_blocks += recorder.vcpus[i]->n_blocks;
        }
    }
    status->n_chunks = recorder.n_chunks;
    status->stream_bytes = stream_bytes();
    status->n_gaps = recorder.n_gaps;
    status->generation = recorder.live->generation;
    status->ring_size = recorder.ring_size;
    status->dropped_insns = recorder.dropped_insns;
    status->distinct_blocks = blocktable_count();
    snprintf(status->message, sizeof(status->message), "%s", recorder.message);
    snprintf(status->filter, sizeof(status->filter), "%s", filter_text());
    pthread_mutex_unlock(&recorder.lock);
}
