/*
 * Single programs. See usermode.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#define _GNU_SOURCE
#include "usermode.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "recorder.h"

/* Descriptors of ours lie this far below the limit, at most where programs that close them one by one mostly end. */
#define FDS_OF_OURS 32
#define FDS_USUAL   1024

static bool on, forked;

/* No lock is taken: a thread that the child does not have may hold it. */
static void in_child(void)
{
    forked = true;
    for (unsigned i = 0; i < recorder.max_vcpus; i++) {
        if (recorder.vcpus[i]) {
            recorder.vcpus[i]->elem->armed = 0;
        }
    }
}

static void in_parent(void)
{
    static bool told;

    if (!forked && !told) {
        told = true;
        fprintf(stderr, "gdbext: the program forked; its first process is recorded, the others are not\n");
    }
}

bool usermode_begin(void)
{
    on = true;
    return pthread_atfork(NULL, in_parent, in_child) == 0;
}

bool usermode_is_on(void) { return on; }

bool usermode_is_fork(void) { return forked; }

void usermode_thread(void)
{
    if (!recorder.blocks_missed) {
        recorder_cannot("the program started a thread; a program of one thread only can be recorded");
    }
}

int usermode_fd(int fd)
{
    struct rlimit limit;
    int moved;

    if (!on || fd < 0 || getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur < 2 * FDS_OF_OURS) {
        return fd;
    }
    moved = fcntl(fd, F_DUPFD_CLOEXEC, (int)(limit.rlim_cur < FDS_USUAL ? limit.rlim_cur : FDS_USUAL) - FDS_OF_OURS);
    if (moved < 0) {
        return fd;
    }
    close(fd);
    return moved;
}
