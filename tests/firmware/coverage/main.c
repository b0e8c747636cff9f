/*
 * Runs paths.c on a board.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "gx.h"
#include "paths.h"

void gx_timer_tick(void)
{
}

int main(void)
{
    gx_put_counter("total", exercise());
    return 0;
}
