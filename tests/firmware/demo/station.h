/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The demo firmware: a control station that works off lines of commands. */
#ifndef STATION_H
#define STATION_H

#include <stddef.h>
#include <stdint.h>

/* allocator.c */
void *malloc(size_t size_bytes);
void free(void *block);
size_t heap_in_use(void);
void heap_dump(void);

/* commands.c */
struct station {
    uint32_t lamps;    /* one bit a lamp */
    int32_t heat;      /* wanted temperature */
    uint32_t commands; /* carried out */
    uint32_t errors;
};

int command_run(struct station *station, const char *line);

/* main.c */
void message_post(const char *text, int32_t value);
void panic(const char *reason) __attribute__((noreturn));

#endif
