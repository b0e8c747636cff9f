/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compiled with -gdwarf-5. */
#define GX_DWARF 5
#define GX_WORK dwarf5_work
#include "dwarf.inc"
