/*
 * Where a block may go by itself, as far as its last instruction says: an opcode test by architecture.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef GX_BRANCHES_H
#define GX_BRANCHES_H

#include "mayleave.h"

/*
 * The addresses that may follow a block of these instructions (of Arm: ARCH_T32 or ARCH_A32): its branch's target, and the address after it (whether the
 * branch is conditional is not asked). Result: how many, 0 to 2; 0: not known (indirect, or an instruction not known).
 */
unsigned branch_successors(Arch arch, uint64_t address, unsigned n_insns, const uint8_t *sizes, const uint8_t *bytes,
                           uint64_t successors[2]);

#endif
