/*
 * Addresses of accesses that stack-switching code makes. See accesses.h. One access of a block's is looked at for what is
 * saved, and one for what is restored; before the next block they become an event (recorder_probe). Other blocks are as they
 * were.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "accesses.h"

#if GX_API < 2

#include <stdlib.h>

#include "stackcode.h"

typedef struct Pending { /* of a vCPU, for its next event */
    uint64_t sp[2];
    bool has[2];
} Pending;

static struct {
    Arch arch;
    VcpuElem *elems;
    Pending *pending;
} accesses;

static const uint64_t numbers_of[2] = {GX_REG_SAVED, GX_REG_RESTORED};

/* What a callback is told: the access's offset from the stack pointer, and which of the two it is. */
static void *access_word(int32_t offset, unsigned which) { return (void *)(intptr_t)((int64_t)offset * 2 + which); }

static void on_access(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *userdata)
{
    const intptr_t word = (intptr_t)userdata;
    const unsigned which = word & 1;
    VcpuElem *e = &accesses.elems[vcpu];
    Pending *p = &accesses.pending[vcpu];

    (void)info;
    if (!e->armed) {
        return;
    }
    if (!(e->vcpu->probe & GX_PROBE_ACCESS)) { /* what the last event did not tell was before a stop */
        *p = (Pending){.has = {false, false}};
    }
    if (!p->has[which]) { /* an instruction for several registers makes several accesses, upwards */
        p->sp[which] = address - (uint64_t)(int64_t)((word - (intptr_t)which) / 2);
        p->has[which] = true;
        recorder_probe(e, GX_PROBE_ACCESS);
    }
}

/* The recorder's hook: the payload's numbers, at most GX_CONTEXT_NUMBERS_MAX; 0: there is nothing to record. */
static unsigned read_accesses(VcpuElem *e, unsigned vcpu, unsigned why, uint64_t *numbers)
{
    unsigned n = 1;

    (void)e;
    if (!(why & GX_PROBE_ACCESS)) {
        return 0;
    }
    numbers[n++] = GX_REG_PROBE;
    numbers[n++] = GX_PROBE_ACCESS;
    for (unsigned i = 0; i < 2; i++) {
        if (accesses.pending[vcpu].has[i]) {
            numbers[n++] = numbers_of[i];
            numbers[n++] = accesses.pending[vcpu].sp[i];
        }
    }
    numbers[0] = (n - 1) / 2;
    return n;
}

void accesses_instrument(struct qemu_plugin_tb *tb, const BlockSource *block)
{
    StackAccess found[2];

    if (!accesses.pending) {
        return;
    }
    stackcode_find(arch_of_block(accesses.arch, block->n_insns, block->sizes, block->bytes), block, &found[0],
                   &found[1]);
    for (unsigned i = 0; i < 2; i++) {
        if (found[i].insn >=
            0) { /* it does only one of the two; QEMU 7.2 does not call for loads where only those are asked for */
            qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(tb, (size_t)found[i].insn), on_access,
                                             QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
                                             access_word(found[i].offset, i));
        }
    }
}

bool accesses_are_watched(void) { return accesses.pending != NULL; }

bool accesses_open(Arch arch, VcpuElem *elems, unsigned n_vcpus)
{
    if (arch != ARCH_ARM && arch != ARCH_AARCH64 && arch != ARCH_RISCV) {
        return true;
    }
    accesses.arch = arch;
    accesses.elems = elems;
    accesses.pending = calloc(n_vcpus, sizeof(*accesses.pending));
    if (accesses.pending) {
        recorder.read_context = read_accesses;
    }
    return accesses.pending != NULL;
}

#else

typedef int gx_accesses_are_not_watched; /* a file must hold something */

#endif
