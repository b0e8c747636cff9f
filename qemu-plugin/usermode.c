/*
 * Single programs. See usermode.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#define _GNU_SOURCE
#include "usermode.h"

#include <pthread.h>
#include <stdio.h>

#include "descriptors.h"
#include "recorder.h"

static bool forked;

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
    descriptors_share();
    return pthread_atfork(NULL, in_parent, in_child) == 0;
}

bool usermode_is_on(void) { return descriptors_are_shared(); }

bool usermode_is_fork(void) { return forked; }

void usermode_thread(void)
{
    if (!recorder.blocks_missed) {
        recorder_cannot("the program started a thread; a program of one thread only can be recorded");
    }
}
