/*
 * Stack-switching code, told by opcodes: instructions that load the stack pointer, and the accesses of a block whose
 * addresses tell which stack is left and which one goes on. docs/reconstruction.md, rules S and P.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef GX_STACKCODE_H
#define GX_STACKCODE_H

#include "blocktable.h"
#include "mayleave.h"

/* An instruction of a block that accesses a stack: the stack pointer is its (first, lowest) address minus `offset`. */
typedef struct StackAccess {
    int insn; /* index in the block, -1: there is none */
    int32_t offset;
} StackAccess;

/* An instruction that loads the stack pointer from memory or a register other than the frame pointer. */
bool insn_loads_sp(Arch arch, const uint8_t *bytes, size_t size);

/*
 * `save`: registers go to the stack that is left; told is the stack pointer at the end of what is saved.
 * `restore`: registers come from the stack that goes on; told is the stack pointer before any was loaded.
 */
void stackcode_find(Arch arch, const BlockSource *block, StackAccess *save, StackAccess *restore);

#endif
