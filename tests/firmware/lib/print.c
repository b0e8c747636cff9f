/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Output of text and numbers, without a C library. */
#include "gx.h"

void gx_puts(const char *text)
{
    gx_write(text);
}

void gx_put_unsigned(uint32_t value)
{
    char digits[11];
    char *at = digits + sizeof(digits) - 1;

    *at = '\0';
    do {
        *--at = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    gx_puts(at);
}

void gx_put_hex(uint32_t value)
{
    char digits[11] = "0x00000000";

    for (int i = 9; i > 1; i--) {
        digits[i] = "0123456789abcdef"[value & 15];
        value >>= 4;
    }
    gx_puts(digits);
}

void gx_put_counter(const char *name, uint32_t value)
{
    gx_puts("counter ");
    gx_puts(name);
    gx_puts(" ");
    gx_put_unsigned(value);
    gx_puts("\n");
}
