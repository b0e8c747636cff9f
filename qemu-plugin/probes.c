/*
 * Probes. Three kinds of place are looked at, always at the beginning of a block:
 *
 * - the first block of a handler: QEMU reported a trap (from 10.2 on), or the block lies where the vector table points to;
 * - a block that loads the stack pointer, as routines do that switch tasks, and the block after it;
 * - the block after an instruction that returns from traps. On Cortex-M that may be any return or branch through a
 *   register: they are looked at while a handler runs, and recorded if the exception number has changed.
 *
 * A place asks (recorder_probe) before the block's own callback runs, which then finds nothing predicted and comes to
 * read_context() on its slow way. So the usual way through a block does not know of probes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "probes.h"

#include <stdlib.h>
#include <string.h>

#include "stackcode.h"

#if GX_API >= 2

/* Names as in QEMU's gdbstub; the first one that a CPU has counts. */
static const struct {
    uint8_t number;
    uint8_t when; /* GX_PROBE_* bits: read it there */
    const char *name;
    const char *other_name;
} wanted[] = {
    {GX_REG_SP, 0xff, "sp", "rsp"},
    {GX_REG_LR, 0xff, "lr", NULL}, /* with xpsr only */
    {GX_REG_XPSR, 0xff, "xpsr", NULL},
    {GX_REG_MSP, 0xff, "msp", NULL},
    {GX_REG_PSP, 0xff, "psp", NULL},
    {GX_REG_CONTROL, 0xff, "control", NULL},
    {GX_REG_CPSR, 0xff, "cpsr", NULL},
    {GX_REG_ELR, GX_PROBE_TRAP | GX_PROBE_VECTOR, "ELR_EL1", NULL},
    {GX_REG_ESR, GX_PROBE_TRAP | GX_PROBE_VECTOR, "ESR_EL1", NULL},
    {GX_REG_FAR, GX_PROBE_TRAP | GX_PROBE_VECTOR, "FAR_EL1", NULL},
    {GX_REG_SPSR, GX_PROBE_TRAP | GX_PROBE_VECTOR, "SPSR_EL1", NULL},
    {GX_REG_SP_EL0, GX_PROBE_TRAP | GX_PROBE_VECTOR, "SP_EL0", NULL},
    {GX_REG_PRIV, 0xff, "priv", NULL},
    {GX_REG_MCAUSE, GX_PROBE_TRAP | GX_PROBE_VECTOR, "mcause", NULL},
    {GX_REG_MEPC, GX_PROBE_TRAP | GX_PROBE_VECTOR, "mepc", NULL},
    {GX_REG_MTVAL, GX_PROBE_TRAP | GX_PROBE_VECTOR, "mtval", NULL},
    {GX_REG_SCAUSE, GX_PROBE_TRAP | GX_PROBE_VECTOR, "scause", NULL},
    {GX_REG_SEPC, GX_PROBE_TRAP | GX_PROBE_VECTOR, "sepc", NULL},
    {GX_REG_STVAL, GX_PROBE_TRAP | GX_PROBE_VECTOR, "stval", NULL},
    {GX_REG_CS, 0xff, "cs", NULL},
    {GX_REG_SS, 0xff, "ss", NULL},
    {GX_REG_EFLAGS, 0xff, "eflags", NULL},
};
#define N_WANTED (sizeof(wanted) / sizeof(wanted[0]))

/* Where a vector table is. Not recorded: they tell which blocks are entries of handlers. */
static const char *const base_names[] = {"mtvec", "stvec", "VBAR_EL1", "VBAR", "VBAR_EL2", "VBAR_EL3"};
#define N_BASES (sizeof(base_names) / sizeof(base_names[0]))

#define M_VECTORS_MAX 512
#define M_IPSR        0x1ffu

typedef struct VcpuRegisters {
    struct qemu_plugin_register *wanted[N_WANTED];
    struct qemu_plugin_register *bases[N_BASES];
    uint64_t ipsr; /* Cortex-M: exception number at the last look */
} VcpuRegisters;

static struct {
    bool on;
    bool m_profile;
    bool traps_reported;
    Arch arch;
    uint64_t vectors;
    uint32_t handlers[M_VECTORS_MAX]; /* Cortex-M: what the table held when it was read, sorted */
    unsigned n_handlers;
    bool table_read;
    qemu_plugin_u64 armed;
    qemu_plugin_u64 in_handler;
    VcpuRegisters vcpus[GX_PROBES_VCPUS_MAX];
} probes;

/* --- reading -------------------------------------------------------------------------------------------------------- */

static bool read_register(struct qemu_plugin_register *handle, uint64_t *value)
{
    static __thread GByteArray *buffer;

    if (!handle) {
        return false;
    }
    if (!buffer) {
        buffer = g_byte_array_new();
    }
    g_byte_array_set_size(buffer, 0);
    qemu_plugin_read_register(handle, buffer);
    if (buffer->len == 0) {
        return false;
    }
    *value = 0;
    memcpy(value, buffer->data, buffer->len < sizeof(*value) ? buffer->len : sizeof(*value));
    return true;
}

static struct qemu_plugin_register *wanted_handle(unsigned vcpu, unsigned number)
{
    for (unsigned i = 0; i < N_WANTED; i++) {
        if (wanted[i].number == number) {
            return probes.vcpus[vcpu].wanted[i];
        }
    }
    return NULL;
}

/* Cortex-M: nothing has changed since the last look, so that a function has returned, not a handler. */
static bool is_plain_return(VcpuElem *e, unsigned vcpu)
{
    VcpuRegisters *v = &probes.vcpus[vcpu];
    uint64_t xpsr = 0, lr = 0;
    bool same;

    if (!read_register(wanted_handle(vcpu, GX_REG_XPSR), &xpsr) ||
        !read_register(wanted_handle(vcpu, GX_REG_LR), &lr)) {
        return false;
    }
    same = v->ipsr == (xpsr & M_IPSR) && lr < GX_EXC_RETURN;
    v->ipsr = xpsr & M_IPSR;
    __atomic_store_n(&e->in_handler, v->ipsr, __ATOMIC_RELAXED);
    return same;
}

/* The recorder's hook: the payload's numbers, at most GX_CONTEXT_NUMBERS_MAX; 0: there is nothing to record. */
static unsigned read_context(VcpuElem *e, unsigned vcpu, unsigned why, uint64_t *numbers)
{
    unsigned n = 1;

    if (vcpu >= GX_PROBES_VCPUS_MAX || (probes.m_profile && is_plain_return(e, vcpu) && why == GX_PROBE_RETURN)) {
        return 0;
    }
    numbers[n++] = GX_REG_PROBE;
    numbers[n++] = why;
    for (unsigned i = 0; i < N_WANTED; i++) {
        if ((wanted[i].when & why) && read_register(probes.vcpus[vcpu].wanted[i], &numbers[n + 1])) {
            numbers[n] = wanted[i].number;
            n += 2;
        }
    }
    numbers[0] = (n - 1) / 2;
    return n;
}

/* --- places --------------------------------------------------------------------------------------------------------- */

static VcpuElem *elem_of(unsigned vcpu) { return qemu_plugin_scoreboard_find(probes.armed.score, vcpu); }

static void on_vector(unsigned int vcpu, void *userdata)
{
    (void)userdata;
    recorder_probe(elem_of(vcpu), GX_PROBE_VECTOR);
}

static void on_return(unsigned int vcpu, void *userdata)
{
    VcpuElem *e = elem_of(vcpu);

    (void)userdata;
    if (e->armed) {
        recorder_probe(e, GX_PROBE_RETURN);
    } else {
        e->in_handler = 0; /* nobody looks, so nobody would clear it */
    }
}

static void on_switch(unsigned int vcpu, void *userdata)
{
    recorder_probe(elem_of(vcpu), (unsigned)(uintptr_t)userdata);
}

void probes_trap(VcpuElem *e) { recorder_probe(e, GX_PROBE_TRAP); }

/* The last instruction: returns and branches through a register that may end a handler of Cortex-M. */
static bool m_may_return(const uint8_t *bytes, size_t size)
{
    uint16_t h[2] = {0, 0};

    memcpy(h, bytes, size < sizeof(h) ? size : sizeof(h));
    if (size == 2) {
        return (h[0] & 0xFF87) == 0x4700 || (h[0] & 0xFF00) == 0xBD00;
    }
    if ((h[0] & 0xFFD0) == 0xE890 || (h[0] & 0xFFD0) == 0xE910) {
        return h[1] & 0x8000;
    }
    return (h[0] & 0xFF70) == 0xF850 && h[1] >> 12 == 15;
}

/* An instruction that returns from traps and does nothing else. */
static bool is_trap_return(Arch arch, const uint8_t *bytes, size_t size)
{
    uint16_t h[2] = {0, 0};
    uint32_t word = 0;

    memcpy(h, bytes, size < sizeof(h) ? size : sizeof(h));
    memcpy(&word, bytes, size < sizeof(word) ? size : sizeof(word));
    switch (arch) {
    case ARCH_T32: /* subs pc, lr, #n (eret); rfe */
        return size == 4 && ((h[0] == 0xF3DE && (h[1] & 0xFF00) == 0x8F00) || (h[0] & 0xFFD0) == 0xE810 ||
                             (h[0] & 0xFFD0) == 0xE990);
    case ARCH_A32: /* rfe; ldm ^ with pc; data processing that sets flags and pc; eret */
        return (word & 0xFE50FFFF) == 0xF8100A00 || (word & 0x0E508000) == 0x08508000 ||
               ((word & 0x0C10F000) == 0x0010F000 && word >> 28 != 15) || (word & 0x0FFFFFFF) == 0x0160006E;
    case ARCH_AARCH64: /* eret, eretaa, eretab */
        return word >> 16 == 0xD69F;
    case ARCH_RISCV: /* uret, sret, mret, mnret, dret */
        return word == 0x00200073 || word == 0x10200073 || word == 0x30200073 || word == 0x70200073 ||
               word == 0x7B200073;
    case ARCH_X86: /* iret; sysret, sysexit */
        return (size <= 3 && bytes[size - 1] == 0xCF) ||
               (size >= 2 && bytes[size - 2] == 0x0F && (bytes[size - 1] == 0x07 || bytes[size - 1] == 0x35));
    default:
        return false;
    }
}

static void instrument_switch(struct qemu_plugin_tb *tb, const BlockSource *block, Arch arch)
{
    const uint8_t *at = block->bytes;
    bool found = false;

    for (unsigned i = 0; i < block->n_insns && !found; at += block->sizes[i++]) {
        found = insn_loads_sp(arch, at, block->sizes[i]);
    }
    if (found) {
        qemu_plugin_register_vcpu_tb_exec_cond_cb(tb, on_switch, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_COND_NE,
                                                  probes.armed, 0, (void *)(uintptr_t)GX_PROBE_SWITCH);
        qemu_plugin_register_vcpu_insn_exec_cond_cb(qemu_plugin_tb_get_insn(tb, block->n_insns - 1), on_switch,
                                                    QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_COND_NE, probes.armed, 0,
                                                    (void *)(uintptr_t)GX_PROBE_SWITCHED);
    }
}

static int by_address(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

/* Cortex-M: entries 1 (reset) is none; the table ends where no Thumb address stands. */
static void read_table(void)
{
    GByteArray *buffer;

    probes.table_read = true;
    if (!qemu_plugin_read_memory_vaddr) {
        return;
    }
    buffer = g_byte_array_new();
    for (unsigned i = 2; i < M_VECTORS_MAX; i++) {
        uint32_t word;

        g_byte_array_set_size(buffer, 0);
        if (!qemu_plugin_read_memory_vaddr(probes.vectors + 4 * i, buffer, 4) || buffer->len != 4) {
            break;
        }
        memcpy(&word, buffer->data, 4);
        if (word & 1) {
            probes.handlers[probes.n_handlers++] = word & ~1u;
        } else if (word) {
            break;
        }
    }
    g_byte_array_free(buffer, 1);
    qsort(probes.handlers, probes.n_handlers, sizeof(*probes.handlers), by_address);
}

static bool in_table(uint64_t address)
{
    const uint32_t key = (uint32_t)address;

    if (!probes.table_read) {
        read_table();
    }
    return bsearch(&key, probes.handlers, probes.n_handlers, sizeof(key), by_address) != NULL;
}

/* The block begins where a trap goes to, as the vector tables say now. */
static bool is_vector(uint64_t address)
{
    if (probes.m_profile) {
        return in_table(address);
    }
    for (unsigned i = 0; i < N_BASES; i++) { /* all vCPUs have the same registers, and nearly always the same tables */
        uint64_t base;

        if (!read_register(probes.vcpus[0].bases[i], &base)) {
            continue;
        }
        if (probes.arch == ARCH_RISCV) { /* mode 1: interrupt n goes to base + 4 n */
            const uint64_t at = address - (base & ~3ull);

            if (base & ~3ull && (at == 0 || ((base & 3) == 1 && at < 4 * 64 && !(at & 3)))) {
                return true;
            }
        } else if (probes.arch == ARCH_AARCH64 && base && address - base < 0x800 && !((address - base) & 0x7f)) {
            return true;
        }
    }
    return false;
}

void probes_instrument(struct qemu_plugin_tb *tb, const BlockSource *block)
{
    const size_t size = block->sizes[block->n_insns - 1];
    const uint8_t *last = block->bytes + block->n_bytes - size;
    struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, block->n_insns - 1);
    const Arch arch = arch_of_block(probes.arch, block->n_insns, block->sizes, block->bytes);

    if (!probes.on) {
        return;
    }
    instrument_switch(tb, block, arch);
    if (!probes.traps_reported && is_vector(block->address)) {
        qemu_plugin_register_vcpu_tb_exec_cond_cb(tb, on_vector, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_COND_NE,
                                                  probes.armed, 0, NULL);
    }
    if (probes.m_profile ? m_may_return(last, size) : is_trap_return(arch, last, size)) {
        qemu_plugin_register_vcpu_insn_exec_cond_cb(insn, on_return, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_COND_NE,
                                                    probes.m_profile ? probes.in_handler : probes.armed, 0, NULL);
    }
}

/* --- set-up --------------------------------------------------------------------------------------------------------- */

void probes_open(Arch arch, uint64_t vectors, bool traps_reported)
{
    probes.on = qemu_plugin_get_registers && qemu_plugin_read_register && arch != ARCH_OTHER;
    probes.arch = arch;
    probes.vectors = vectors;
    probes.traps_reported = traps_reported;
    if (probes.on) {
        recorder.read_context = read_context;
    }
}

bool probes_are_on(void) { return probes.on; }

int probes_flags(void) { return probes.on ? QEMU_PLUGIN_CB_R_REGS : QEMU_PLUGIN_CB_NO_REGS; }

void probes_vcpu_init(unsigned index, struct qemu_plugin_scoreboard *score)
{
    VcpuRegisters *v = &probes.vcpus[index < GX_PROBES_VCPUS_MAX ? index : 0];
    GArray *list;
    size_t step;

    probes.armed = (qemu_plugin_u64){score, offsetof(VcpuElem, armed)};
    probes.in_handler = (qemu_plugin_u64){score, offsetof(VcpuElem, in_handler)};
    if (!probes.on || index >= GX_PROBES_VCPUS_MAX) {
        return;
    }
    list = qemu_plugin_get_registers();
    step = g_array_get_element_size(list); /* the descriptor grew in 11.1 */
    for (unsigned k = 0; k < list->len; k++) {
        const qemu_plugin_reg_descriptor *d = (const void *)(list->data + k * step);

        for (unsigned i = 0; i < N_WANTED; i++) {
            if (!strcmp(d->name, wanted[i].name) || (wanted[i].other_name && !strcmp(d->name, wanted[i].other_name))) {
                v->wanted[i] = d->handle;
            }
        }
        for (unsigned i = 0; i < N_BASES; i++) {
            if (!strcmp(d->name, base_names[i])) {
                v->bases[i] = d->handle;
            }
        }
    }
    g_array_free(list, 1);
    probes.m_profile = probes.arch == ARCH_ARM && wanted_handle(index, GX_REG_XPSR);
    for (unsigned i = 0; i < N_WANTED && !probes.m_profile; i++) {
        if (wanted[i].number == GX_REG_LR) {
            v->wanted[i] = NULL;
        }
    }
}

#endif
