/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compiled with -gdwarf-3. */
#define GX_DWARF 3
#define GX_WORK dwarf3_work
#include "dwarf.inc"
