/*
 * The recorder's state that all its parts share, and how a vCPU's attention is called. See attention.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#define _GNU_SOURCE
#include "attention.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

Recorder recorder = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* Never written: no id is 0, so every block misses. */
static GxPredictor empty_table;

uint64_t recorder_now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void recorder_wait(unsigned ms)
{
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    ts.tv_nsec += (long)(ms % 1000) * 1000000;
    ts.tv_sec += ms / 1000 + ts.tv_nsec / 1000000000;
    ts.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&recorder.changed, &recorder.lock, &ts);
}

void attention_next(Vcpu *v) { __atomic_store_n(&v->elem->table, &empty_table, __ATOMIC_SEQ_CST); }

void recorder_ask(Vcpu *v, uint32_t bits)
{
    if (vcpu_is_armed(v)) {
        __atomic_store_n(&v->attention, v->attention | bits, __ATOMIC_RELEASE);
        attention_next(v);
    }
}

bool attention_thread_sleeps(pid_t tid)
{
    char path[64];
    char buf[256];
    const char *end;
    ssize_t n;
    int fd;

    if (tid == 0 || tid == (pid_t)syscall(SYS_gettid)) {
        return true;
    }
    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOENT || errno == ESRCH;
    }
    n = read(fd, buf, sizeof(buf) - 1);
    close(fd);
    if (n <= 0) {
        return n < 0 && errno == ESRCH;
    }
    buf[n] = '\0';
    end = strrchr(buf, ')');
    return end && (end[2] == 'S' || end[2] == 'Z' || end[2] == 'X');
}

uint64_t attention_thread_cpu_ns(pid_t tid)
{
    struct timespec used;

    /* The clock that pthread_getcpuclockid() makes of a thread's id. */
    if (tid == 0 || clock_gettime((clockid_t)(~(unsigned)tid << 3 | 6), &used) != 0) {
        return 0;
    }
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}
