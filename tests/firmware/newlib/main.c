/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program that uses a real C library: newlib's malloc, free, realloc, qsort and printf. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES 40

static int compare(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static char *make_name(uint32_t number)
{
    char text[24];
    size_t size_bytes = (size_t)snprintf(text, sizeof(text), "item-%lu", (unsigned long)number) + 1;
    char *name = malloc(size_bytes);

    if (name == NULL) {
        abort();
    }
    return memcpy(name, text, size_bytes);
}

int main(void)
{
    char **names = NULL;
    uint32_t seed = 7;

    for (size_t i = 0; i < NAMES; i++) {
        names = realloc(names, (i + 1) * sizeof(*names));
        if (names == NULL) {
            abort();
        }
        seed = seed * 1103515245u + 12345;
        names[i] = make_name(seed >> 12);
    }
    qsort(names, NAMES, sizeof(*names), compare);
    for (size_t i = 0; i < NAMES; i += 10) {
        printf("%2u %s\n", (unsigned)i, names[i]);
    }
    for (size_t i = 0; i < NAMES; i++) {
        free(names[i]);
    }
    free(names);
    puts("done");
    return 0;
}
