/*
 * What recorder.c asks of the encoders; the lock is held.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef GX_ENCODER_H
#define GX_ENCODER_H

#include "recorder.h"

/* The vCPU records from its next block on. */
void encoder_start(Vcpu *v, const char *text);
/* Its buffer is full; it has stopped. */
void encoder_close(Vcpu *v);
/* Ask all vCPUs, and wait until they have served it, or it is served for those that sleep. */
void encoder_request_all(uint32_t bits);
/* The same of one; false: no room for it while the vCPU sleeps. */
bool encoder_request(Vcpu *v, uint32_t bits);

#endif
