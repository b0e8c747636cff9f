/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compiled with -gdwarf-2. */
#define GX_DWARF 2
#define GX_WORK dwarf2_work
#include "dwarf.inc"
