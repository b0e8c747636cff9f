/*
 * The recorder's file descriptors, kept out of the way of a single program's (usermode.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef GX_DESCRIPTORS_H
#define GX_DESCRIPTORS_H

#include <stdbool.h>

/* From here on a program has descriptors in this process, too. */
void descriptors_share(void);
bool descriptors_are_shared(void);
/* A file descriptor of ours (or -1), moved out of the way of the program's; with a machine it stays. */
int descriptors_move(int fd);

#endif
