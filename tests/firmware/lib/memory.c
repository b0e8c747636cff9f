/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions a freestanding compiler may call on its own. */
#include "gx.h"

void *memcpy(void *to, const void *from, size_t size_bytes)
{
    char *out = to;
    const char *in = from;

    while (size_bytes-- != 0) {
        *out++ = *in++;
    }
    return to;
}

void *memset(void *to, int value, size_t size_bytes)
{
    char *out = to;

    while (size_bytes-- != 0) {
        *out++ = (char)value;
    }
    return to;
}
