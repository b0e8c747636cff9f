/*
 * Runs portable.c on the host.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdio.h>

#include "portable.h"

int main(void)
{
    printf("counter total %u\n", exercise());
    return 0;
}
