/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The assembler part of `calls`. */
#ifndef CALLS_H
#define CALLS_H

#include "jump.h"

uint32_t veneer(uint32_t value);       /* jumps through a register to veneered() */
uint32_t asm_tail(uint32_t value);     /* a direct jump to tail_target() */
uint32_t mid_function(uint32_t value); /* goes on into its own middle, mid_inside */
#ifdef __thumb__
/* A label without a type: newer linkers do not branch to it, so it is called through a pointer. */
extern const char mid_inside_label[] __asm__("mid_inside");
#define mid_inside(value) (((uint32_t (*)(uint32_t))((uintptr_t)mid_inside_label | 1))(value))
#else
uint32_t mid_inside(uint32_t value); /* a label inside mid_function */
#endif
uint32_t shared_one(uint32_t value);   /* both end in the epilogue of shared_holder */
uint32_t shared_two(uint32_t value);
uint32_t shared_holder(uint32_t value);
extern uint32_t (*const nameless)(uint32_t value); /* code without symbols, which calls called_back() */

uint32_t called_back(uint32_t value);
uint32_t tail_target(uint32_t value);
uint32_t veneered(uint32_t value);

#endif
