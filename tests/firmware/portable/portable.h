/*
 * What portable.c has for the programs around it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef PORTABLE_H
#define PORTABLE_H

/* Everything once; a checksum, the same on every machine. */
unsigned exercise(void);

#endif
