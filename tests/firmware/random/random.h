/*
 * What a random program (tests/support/random_programs.py) has for the programs around it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef RANDOM_H
#define RANDOM_H

#include <stdint.h>

struct random_function {
    void *code;
    const char *name;
};

/* The functions that are compared; ends with a null pointer. */
extern const struct random_function random_functions[];

/* Runs it; a checksum, the same on every machine. */
uint32_t random_program(void);

#endif
