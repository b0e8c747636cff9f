/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compiled with -gdwarf-4. */
#define GX_DWARF 4
#define GX_WORK dwarf4_work
#include "dwarf.inc"
