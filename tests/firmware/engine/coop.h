/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The assembler part of `coop`. */
#ifndef COOP_H
#define COOP_H

#include <stdint.h>

/* What coop_switch() comes back from, below `top`: its stack pointer. */
uintptr_t coop_frame(uintptr_t *top, void (*entry)(void));
/* Keeps what a function must, leaves the stack pointer in `from` and goes on with `to`. */
void coop_switch(uintptr_t *from, uintptr_t to);

#endif
