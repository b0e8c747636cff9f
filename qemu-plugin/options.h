/*
 * The plugin's options (docs/control.md), and the directory that it records into. What is wrong is said in one line on
 * standard error.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef GX_OPTIONS_H
#define GX_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Options {
    const char *dir;
    const char *filter; /* a file with requests of docs/control.md, "Filters"; NULL: none */
    bool record;
    uint64_t insns;
    uint64_t ring;
    uint64_t vectors;
    int level;
    bool probes;
} Options;

bool options_parse(int argc, char **argv, Options *o);
/* Made if it is not there; false when it is not the user's alone or holds a recording. */
bool recording_directory_make(const char *dir);
/* A start that failed leaves nothing that would be in the way of the next one. */
void recording_directory_clear(const char *dir);

#endif
