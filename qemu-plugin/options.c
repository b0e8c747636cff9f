/*
 * The plugin's options, and the directory that it records into. See options.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "options.h"
#include "recorder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
    char *end;

    errno = 0;
    *value = strtoull(text, &end, 0);
    return *text >= '0' && *text <= '9' && !*end && !errno && *value >= min && *value <= max;
}

static bool parse_switch(const char *text, bool *value)
{
    *value = !strcmp(text, "on") || !strcmp(text, "true") || !strcmp(text, "yes");
    return *value || !strcmp(text, "off") || !strcmp(text, "false") || !strcmp(text, "no");
}

bool options_parse(int argc, char **argv, Options *o)
{
    for (int i = 0; i < argc; i++) {
        char *value = strchr(argv[i], '=');
        const size_t length = value ? (size_t)(value - argv[i]) : strlen(argv[i]);
        const char *wants;
        uint64_t number = 0;
        bool good;

        value = value ? value + 1 : argv[i] + length;
        if (length == 3 && !strncmp(argv[i], "dir", 3)) {
            o->dir = value;
            good = *value != '\0';
            wants = "a directory";
        } else if (length == 6 && !strncmp(argv[i], "filter", 6)) {
            o->filter = value;
            good = *value != '\0';
            wants = "a file";
        } else if (length == 6 && !strncmp(argv[i], "record", 6)) {
            good = parse_switch(value, &o->record);
            wants = "on or off";
        } else if (length == 5 && !strncmp(argv[i], "insns", 5)) {
            good = parse_number(value, 0, UINT64_MAX / 2, &o->insns);
            wants = "a number of instructions";
        } else if (length == 4 && !strncmp(argv[i], "ring", 4)) {
            good = parse_number(value, RECORDER_RING_MIN, UINT64_MAX / 2, &o->ring);
            wants = "a number of bytes, 4096 or more";
        } else if (length == 5 && !strncmp(argv[i], "level", 5)) {
            good = parse_number(value, 1, 19, &number);
            o->level = (int)number;
            wants = "a number from 1 to 19";
        } else if (length == 6 && !strncmp(argv[i], "probes", 6)) {
            good = parse_switch(value, &o->probes);
            wants = "on or off";
        } else if (length == 7 && !strncmp(argv[i], "vectors", 7)) {
            good = parse_number(value, 0, UINT64_MAX, &o->vectors);
            wants = "the address of the vector table";
        } else {
            fprintf(stderr,
                    "gdbext: unknown plugin option '%.*s'; known: dir, record, filter, insns, ring, level, probes, "
                    "vectors\n",
                    (int)length, argv[i]);
            return false;
        }
        if (!good) {
            fprintf(stderr, "gdbext: plugin option '%s': wants %s\n", argv[i], wants);
            return false;
        }
    }
    if (!o->dir) {
        fprintf(stderr, "gdbext: plugin option 'dir=DIRECTORY' is missing: where to record\n");
        return false;
    }
    return true;
}

/* What a recording consists of. */
static const char *const files[] = {"blocks", "live", "stream"};
#define N_FILES (sizeof(files) / sizeof(files[0]))

bool recording_directory_make(const char *dir)
{
    struct stat st;

    if (mkdir(dir, 0700) && errno != EEXIST) {
        fprintf(stderr, "gdbext: %s: %s\n", dir, strerror(errno));
        return false;
    }
    if (stat(dir, &st) || !S_ISDIR(st.st_mode)) {
        fprintf(stderr, "gdbext: %s: not a directory\n", dir);
        return false;
    }
    if (st.st_uid != geteuid() || (st.st_mode & 077)) {
        fprintf(stderr, "gdbext: %s: must be yours alone (chmod 700)\n", dir);
        return false;
    }
    for (unsigned i = 0; i < N_FILES; i++) {
        char path[4096];

        snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
        if (!lstat(path, &st)) {
            fprintf(stderr, "gdbext: %s: holds a recording already; name another directory\n", dir);
            return false;
        }
    }
    return true;
}

/* A start that failed leaves nothing that would be in the way of the next one. */
void recording_directory_clear(const char *dir)
{
    for (unsigned i = 0; i < N_FILES; i++) {
        char path[4096];

        snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
        unlink(path);
    }
}
