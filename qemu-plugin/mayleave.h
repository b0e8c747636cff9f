/*
 * May QEMU leave a block at this instruction? An opcode test by architecture; when unsure, yes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef GX_MAYLEAVE_H
#define GX_MAYLEAVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum { ARCH_ARM, ARCH_T32, ARCH_A32, ARCH_AARCH64, ARCH_RISCV, ARCH_X86, ARCH_OTHER } Arch;

Arch arch_of_target(const char *target_name);

/*
 * Which instruction set a block of an Arm target is in, as far as its sizes and bytes tell: a two-byte instruction is
 * T32, a word whose first halfword cannot begin a four-byte T32 instruction is A32. ARCH_ARM: neither was found.
 */
Arch arch_of_block(Arch arch, size_t n_insns, const uint8_t *sizes, const uint8_t *bytes);

/* True when the instruction may touch memory or trap. For ARCH_ARM "no" only when both instruction sets say so. */
bool insn_may_leave(Arch arch, const uint8_t *bytes, size_t size);

#endif
