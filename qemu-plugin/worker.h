/*
 * The worker thread: brings full buffers into the stream. Runs until the process ends.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef GX_WORKER_H
#define GX_WORKER_H

#include <stdbool.h>
#include <stddef.h>

/* After recorder_open(). False: `message` says why. */
bool worker_start(char *message, size_t message_size);

#endif
