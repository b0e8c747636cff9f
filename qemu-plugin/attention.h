/*
 * How a vCPU's attention is called: its next block misses, and its own thread looks what is asked. The lock is held.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef GX_ATTENTION_H
#define GX_ATTENTION_H

#include "recorder.h"

static inline void vcpu_disarm(Vcpu *v) { __atomic_store_n(&v->elem->armed, 0, __ATOMIC_SEQ_CST); }

static inline bool vcpu_is_armed(const Vcpu *v) { return __atomic_load_n(&v->elem->armed, __ATOMIC_ACQUIRE) != 0; }

/* The vCPU's next block misses. */
void attention_next(Vcpu *v);
/* Wait for a change of the recorder, so long at most. */
void recorder_wait(unsigned ms);
/* True when the thread sleeps in the kernel (or is gone), so that it is not in the hot part. */
bool attention_thread_sleeps(pid_t tid);
/* CPU time that a thread has used, in ns; 0 if it cannot be told. */
uint64_t attention_thread_cpu_ns(pid_t tid);

#endif
