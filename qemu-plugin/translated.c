/*
 * Reading a block that QEMU translates. See translated.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "translated.h"

#include <string.h>

#include "format.h"

static Arch the_arch;
static int the_api;

void translated_open(Arch arch, int api)
{
    the_arch = arch;
    the_api = api;
}

#if GX_API < 2
/*
 * QEMU up to 8.2 looks ahead when a T32 instruction ends just before a page border, and then reports the halfword that it
 * looked at as part of the instruction. The next instruction's address, or T32's own encoding, tells the true size.
 */
static size_t true_size(const struct qemu_plugin_tb *tb, unsigned i, unsigned n, const uint8_t *data, size_t size)
{
    static bool seen_t32, seen_a32; /* only ever set */
    const uint64_t address = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, i));
    const bool wide = data[1] >= 0xE8;

    if (the_arch != ARCH_ARM) {
        return size;
    }
    if (i + 1 < n) {
        const uint64_t next = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, i + 1));

        seen_t32 |= size == 2;
        seen_a32 |= size == 4 && !wide && next == address + 4;
        return next - address < size ? (size_t)(next - address) : size;
    }
    if (size == 6) {
        return 4;
    }
    return size == 4 && !wide && (address & 0x3ff) == 0x3fc && seen_t32 && !seen_a32 ? 2 : size;
}
#endif

/*
 * Where the program counter is misaligned, QEMU up to 8.2 makes a block of one instruction without bytes, which raises the
 * exception. Nothing is executed in it, and later QEMUs show no such block.
 */
bool translated_only_traps(const struct qemu_plugin_tb *tb)
{
    return qemu_plugin_tb_n_insns(tb) == 1 && qemu_plugin_insn_size(qemu_plugin_tb_get_insn(tb, 0)) == 0;
}

bool translated_read(const struct qemu_plugin_tb *tb, BlockSource *s)
{
    uint8_t *bytes = s->bytes;

    s->address = qemu_plugin_tb_vaddr(tb);
    s->n_insns = (unsigned)qemu_plugin_tb_n_insns(tb);
    if (s->n_insns == 0 || s->n_insns > GX_BLOCK_INSNS_MAX) {
        return false;
    }
    for (unsigned i = 0; i < s->n_insns; i++) {
        const struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        size_t size = qemu_plugin_insn_size(insn);
        uintptr_t data;

        if (size == 0 || size > GX_BLOCK_INSN_SIZE_MAX) {
            return false;
        }
        data = qemu_plugin_insn_data(insn, bytes, size);
        if (the_api < GX_INSN_DATA_COPIES_FROM) {
#if GX_API < 2
            size = true_size(tb, i, s->n_insns, (const uint8_t *)data, size);
#endif
            memcpy(bytes, (const void *)data, size);
        }
        s->sizes[i] = (uint8_t)size;
        bytes += size;
    }
    s->n_bytes = (unsigned)(bytes - s->bytes);
    return true;
}

/*
 * QEMU up to 8.2 shows plugins the first bytes of an x86 instruction that crosses into the next page as the last of the
 * block. It is not executed there, nor is the inline operation before it: the block ends at the one before.
 */
bool translated_ends_in_piece(const BlockSource *s)
{
    const uint64_t last = s->address + s->n_bytes - s->sizes[s->n_insns - 1];

    return GX_API < 2 && the_arch == ARCH_X86 && (last & 0xfff) > 0x1000 - GX_BLOCK_INSN_SIZE_MAX;
}
