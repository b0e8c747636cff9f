/*
 * Runs paths.c on this machine.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdio.h>

#include "paths.h"

int main(void)
{
    printf("counter total %u\n", exercise());
    return 0;
}
