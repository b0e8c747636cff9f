/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compiled without -g: a function that only the symbol table knows. */
#include "features.h"

uint32_t without_debug(uint32_t value)
{
    return (value << 1) ^ 0x1021;
}
