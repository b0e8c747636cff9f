/*
 * Stop conditions: hold a vCPU when an instruction has been executed so many times, so that a controller can stop QEMU
 * there; QEMU's plugin API has no call for it.
 *
 * While a condition is set every block takes the slow way of the encoder (ATTENTION_WATCH), where it is tested; the hot
 * part knows nothing of it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef GX_STOPON_H
#define GX_STOPON_H

#include "recorder.h"

typedef struct StopOnStatus {
    bool set;
    bool hit;
    uint64_t count;   /* executions seen so far */
    uint64_t address; /* the one that hit */
    unsigned vcpu;
    uint64_t released; /* blocks that were let go after the hit */
} StopOnStatus;

/* The block is about to begin. Returns when it may: after a hit, one block for each stopon_release(). */
void stopon_block(Vcpu *v, uint32_t id);
/* The lock is held. */
bool stopon_is_set(void);

/*
 * A controller's request: `add HEX,HEX..` addresses, `set COUNT` (together they were executed so often), `release`, `off`,
 * `status`. False: refused, `message` says why.
 */
bool stopon_request(const char *text, StopOnStatus *status, char *message, size_t message_size);

#endif
