/*
 * How recordings end that nobody stops: at the instruction limit, and where they cannot go on. See recorder.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attention.h"
#include "blocktable.h"
#include "encoder.h"

#define HOLD_SECONDS 60

void recorder_limit(VcpuElem *e)
{
    const uint64_t until = recorder_now_ns() + HOLD_SECONDS * 1000000000ull;

    pthread_mutex_lock(&recorder.lock);
    if (recorder.state == RECORDER_RECORDING) {
        recorder.state = RECORDER_LIMIT;
        recorder.held = true;
        recorder.text[0] = '\0';
        e->vcpu->tid = (pid_t)syscall(SYS_gettid);
        encoder_request_all(ATTENTION_LIMIT);
    }
    while (recorder.held && recorder_now_ns() < until) {
        recorder_wait(200);
    }
    recorder.held = false;
    pthread_mutex_unlock(&recorder.lock);
}

/* Recording cannot go on: every vCPU ends with a gap at its next block. The lock is held. */
void recorder_fail(uint32_t reason, const char *message)
{
    if (recorder.state == RECORDER_FAILED) {
        return;
    }
    fprintf(stderr, "gdbext: recording %s: %s\n", recorder.state == RECORDER_RECORDING ? "stopped" : "not possible",
            message);
    snprintf(recorder.message, sizeof(recorder.message), "%s", message);
    recorder.gap_reason = reason;
    recorder.state = RECORDER_FAILED;
    for (unsigned i = 0; i < recorder.max_vcpus; i++) {
        if (recorder.vcpus[i]) {
            recorder_ask(recorder.vcpus[i], ATTENTION_FAIL);
        }
    }
    pthread_cond_broadcast(&recorder.changed);
}

void recorder_table_full(void)
{
    const pid_t self = (pid_t)syscall(SYS_gettid);

    pthread_mutex_lock(&recorder.lock);
    recorder.blocks_missed = true;
    recorder_fail(blocktable_is_full() ? GX_GAP_TABLE : GX_GAP_WRITE,
                  *blocktable_error() ? blocktable_error() : "QEMU shows a block that cannot be read");
    /* This thread translates what it runs next, which has no callback any more: end its vCPUs here. */
    for (unsigned i = 0; i < recorder.max_vcpus; i++) {
        if (recorder.vcpus[i] && recorder.vcpus[i]->tid == self) {
            encoder_request(recorder.vcpus[i], ATTENTION_FAIL);
        }
    }
    pthread_mutex_unlock(&recorder.lock);
}

void recorder_cannot(const char *message)
{
    pthread_mutex_lock(&recorder.lock);
    recorder.blocks_missed = true;
    recorder_fail(GX_GAP_UNSUPPORTED, message);
    for (unsigned i = 0; i < recorder.max_vcpus; i++) {
        if (recorder.vcpus[i]) {
            encoder_request(recorder.vcpus[i], ATTENTION_FAIL);
        }
    }
    pthread_mutex_unlock(&recorder.lock);
}
