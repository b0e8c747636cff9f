/*
 * Single programs (QEMU's user-mode emulators, qemu-arm and alike): what differs from a machine.
 *
 * The program shares QEMU's process: its file descriptors are beside ours, and a fork of it copies us without our threads.
 * One thread is recorded, vCPU 0. There are no traps: a signal's handler is entered from any block.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef GX_USERMODE_H
#define GX_USERMODE_H

#include <stdbool.h>

/* From here on it is a single program. False: no memory for it. */
bool usermode_begin(void);
bool usermode_is_on(void);
/* This process is a fork of the recorded one: it touches nothing that both share. */
bool usermode_is_fork(void);
/* Another vCPU, which is another thread of the program, is about to run: the recording ends, with a gap. */
void usermode_thread(void);

#endif
