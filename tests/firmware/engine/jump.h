/* SPDX-License-Identifier: GPL-2.0-or-later */
/* setjmp and longjmp, in assembler: jump-ARCH.S. */
#ifndef JUMP_H
#define JUMP_H

#include <stdint.h>

struct jump_buffer {
    uintptr_t registers[16];
};

/* As setjmp and longjmp. */
uint32_t jump_set(struct jump_buffer *buffer) __attribute__((returns_twice));
void jump_long(struct jump_buffer *buffer, uint32_t value);

#endif
