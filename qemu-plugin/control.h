/*
 * The control socket: docs/control.md. A thread of its own; one client at a time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef GX_CONTROL_H
#define GX_CONTROL_H

#include <stdbool.h>
#include <stddef.h>

bool control_open(const char *directory, const char *target, char *message, size_t message_size);

/* Remove the socket; the thread ends with the process. */
void control_close(void);

#endif
