/*
 * gdbext's QEMU plugin: records every executed block of every vCPU. One source, built for each API family (GX_API).
 * Options: docs/control.md. What is recorded and how: recorder.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "accesses.h"
#include "blocktable.h"
#include "control.h"
#include "filter.h"
#include "mayleave.h"
#include "options.h"
#include "probes.h"
#include "qemu_api.h"
#include "recorder.h"
#include "translated.h"
#include "usermode.h"
#include "worker.h"

GX_EXPORT int qemu_plugin_version = GX_API;

static struct {
    Options options;
    Arch arch;
    unsigned max_vcpus;
    int api_cur;
    gx_vcpu_udata_cb on_block;
#if GX_API >= 2
    bool mixed_up; /* see watch_vcpu_threads() */
    struct qemu_plugin_scoreboard *score;
    qemu_plugin_u64 armed;
    qemu_plugin_u64 cut;
#else
    uint64_t cut; /* one word for all vCPUs: the API has no other */
    Vcpu *last;   /* whose block it is about */
#endif
    uint64_t n_insns;     /* executed, when there is a limit */
    uint32_t *last_block; /* by vCPU, when there is a limit */
} p;

static VcpuElem *elems; /* by vCPU: the scoreboard's memory, or our own */
#if GX_API < 2
static VcpuElem only_elem; /* elems[0] where there is but one vCPU: its address is a constant */
#endif

/* --- execution ------------------------------------------------------------------------------------------------------ */

static inline bool is_armed(VcpuElem *e)
{
#if GX_API >= 2
    (void)e; /* QEMU's inline condition tested it */
    return true;
#else
    return e->armed != 0;
#endif
}

static inline uint64_t *cut_word(VcpuElem *e)
{
#if GX_API >= 2
    return &e->cut;
#else
    (void)e;
    return &p.cut;
#endif
}

/*
 * What a block's callback is told: its key, and what the cut word is until the first instruction that may leave the block
 * is complete (0: there is none).
 */
_Static_assert(sizeof(void *) >= 8, "the word has two halves");
static inline void *block_word(uint32_t id, unsigned first) { return (void *)((uintptr_t)first << 32 | gx_key(id)); }
static inline uint32_t key_of(const void *word) { return (uint32_t)(uintptr_t)word; }
static inline uint32_t first_of(const void *word) { return (uint32_t)((uintptr_t)word >> 32); }

static inline void record_block(VcpuElem *e, const void *word)
{
    if (__builtin_expect(recorder_hit(e, key_of(word)), 1)) {
        *cut_word(e) = first_of(word); /* not before: a request that is served on the way ends the block before */
    } else {
        recorder_miss(e, key_of(word), first_of(word));
    }
}

/* One vCPU, no limit: the path that must be fast. */
static __attribute__((noinline)) void after_cut(VcpuElem *e, const void *word)
{
    if (recorder_cut(e)) {
        record_block(e, word);
    }
}

/* The calls are the last things done, so that the usual way through needs no stack. */
static void on_block(unsigned int index, void *userdata)
{
#if GX_API >= 2
    VcpuElem *e = elems;
#else
    VcpuElem *e = &only_elem;
#endif

    (void)index; /* 0 */
    if (!is_armed(e)) {
        return;
    }
    if (__builtin_expect(*cut_word(e) != 0, 0)) {
        after_cut(e, userdata);
    } else {
        record_block(e, userdata);
    }
}

#if GX_API < 2
/*
 * The one word that all vCPUs share tells something only while blocks run on one thread. Called for every block, recorded
 * or not, so that another thread is noticed before its first block adds to the word.
 */
static void watch_threads(void)
{
    static __thread char here;
    static const char *first;
    const char *seen = __atomic_load_n(&first, __ATOMIC_RELAXED);

    if (__builtin_expect(seen == &here, 1) || recorder.cut_inexact) {
        return;
    }
    if (seen || !__atomic_compare_exchange_n(&first, &seen, &here, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
        recorder_set_cut_inexact();
    }
}
#endif

/* Several vCPUs. On one thread they take turns, which is recorded; on threads of their own they never do. */
static void on_block_multi(unsigned int index, void *userdata)
{
    static __thread unsigned running = UINT32_MAX;
    VcpuElem *e = &elems[index];

#if GX_API < 2
    watch_threads();
#endif
    if (!is_armed(e)) {
        return;
    }
#if GX_API < 2
    if (!recorder.cut_inexact) {
        if (p.cut && p.last && !recorder_cut(p.last->elem) && p.last == e->vcpu) { /* on this thread, too */
            return;
        }
        p.last = e->vcpu;
        recorder.cut_owner = e->vcpu;
    }
#else
    if (__builtin_expect(e->cut != 0, 0) && !recorder_cut(e)) {
        return;
    }
#endif
    if (running != index) {
        const bool turn = running != UINT32_MAX;

        running = index;
        if (turn && !recorder_turn(e)) {
            return;
        }
    }
    record_block(e, userdata);
}

/* With an instruction limit: count what is complete, end before the block that would begin after it. */
static void on_block_limit(unsigned int index, void *userdata)
{
    VcpuElem *e = &elems[index];
    const uint64_t cut = *cut_word(e);
    uint32_t *last = &p.last_block[index];

    if (!is_armed(e)) {
        *last = 0;
        return;
    }
    if (e->vcpu->attention & ATTENTION_FIRST) {
        *last = 0;
    }
    if (*last) {
        const uint64_t n = cut && !recorder.cut_inexact ? cut : blocktable_n_insns()[*last];

        if (__atomic_add_fetch(&p.n_insns, n, __ATOMIC_RELAXED) >= p.options.insns) {
            recorder_limit(e);
            return;
        }
    }
    if (p.max_vcpus > 1) {
        on_block_multi(index, userdata);
    } else {
        on_block(index, userdata);
    }
    *last = gx_id(key_of(userdata));
}

/* A single program: threads but the first one have vCPUs of their own. */
static void on_block_user(unsigned int index, void *userdata)
{
    if (index == 0) {
        if (p.options.insns) {
            on_block_limit(index, userdata);
        } else {
            on_block(index, userdata);
        }
    }
}

/* --- translation ---------------------------------------------------------------------------------------------------- */

static void store_cut(struct qemu_plugin_insn *insn, uint64_t value, uint64_t *now)
{
#if GX_API >= 2
    (void)now;
    qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, QEMU_PLUGIN_INLINE_STORE_U64, p.cut, value);
#else
    qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_PLUGIN_INLINE_ADD_U64, &p.cut, value - *now);
    *now = value;
#endif
}

/*
 * Before each instruction but the last that may leave the block, note how many were begun; before the last, that all
 * were. The block's callback does it for the first: result, 0 if there is none. (v1 can only add: the amounts cancel at
 * the last, with what the callback has written.)
 */
static unsigned instrument_cuts(struct qemu_plugin_tb *tb, const BlockSource *s)
{
    const Arch arch = arch_of_block(p.arch, s->n_insns, s->sizes, s->bytes);
    const uint8_t *bytes = s->bytes;
    unsigned first = 0;
    uint64_t now = 0;

    for (unsigned i = 0; i + 1 < s->n_insns; bytes += s->sizes[i++]) {
        if (!insn_may_leave(arch, bytes, s->sizes[i]) && !(i + 2 == s->n_insns && translated_ends_in_piece(s))) {
            continue;
        }
        if (first) {
            store_cut(qemu_plugin_tb_get_insn(tb, i), i + 1, &now);
        } else {
            now = first = i + 1;
        }
    }
    if (first) {
        store_cut(qemu_plugin_tb_get_insn(tb, s->n_insns - 1), 0, &now);
    }
    return first;
}

static void on_translate(GX_ID_ARG struct qemu_plugin_tb *tb GX_UDATA_ARG)
{
    BlockSource source; /* 17 KiB: on the stack, since translation is no hot path but several threads may be here */
    void *word;
    uint32_t id;

#if GX_API < 7
    (void)plugin_id;
#else
    (void)userdata;
#endif
#if GX_API >= 2
    if (p.mixed_up) {
        return;
    }
#endif
    if (usermode_is_fork() || translated_only_traps(tb)) {
        return;
    }
    if (!translated_read(tb, &source) || !(id = blocktable_id(&source))) {
        recorder_table_full();
        return;
    }
    word = block_word(id, instrument_cuts(tb, &source));
#if GX_API >= 2
    probes_instrument(tb, &source);
    qemu_plugin_register_vcpu_tb_exec_cond_cb(tb, p.on_block, probes_flags(), QEMU_PLUGIN_COND_NE, p.armed, 0, word);
#else
    accesses_instrument(tb, &source);
    qemu_plugin_register_vcpu_tb_exec_cb(tb, p.on_block, QEMU_PLUGIN_CB_NO_REGS, word);
#endif
}

#if GX_API >= 2
/*
 * With several vCPUs on one thread, QEMU from 10.0 on (seen to 11.1) gives the callbacks the vCPU that translated a block,
 * whichever runs it, and its inline operations on a scoreboard overwrite a constant of the guest's code, unless that is
 * vCPU 0. So nothing is instrumented there, which is known before the first block runs. (API number 4 came with 9.2.)
 */
static void watch_vcpu_threads(void)
{
    static __thread bool seen;

    if (seen && p.api_cur >= 4 && !p.mixed_up) {
        p.mixed_up = true;
        recorder_cannot(
            "this QEMU cannot tell several vCPUs on one thread apart (-icount, thread=single); use one vCPU, "
            "or -accel tcg,thread=multi without -icount");
    }
    seen = true;
}
#endif

/* --- vCPU life ------------------------------------------------------------------------------------------------------ */

static void vcpu_init(unsigned index)
{
    if (usermode_is_fork()) {
        return;
    }
#if GX_API >= 2
    elems = qemu_plugin_scoreboard_find(p.score, 0); /* it moves when vCPUs are added */
    for (unsigned i = 0; i < index; i++) {
        if (elems[i].vcpu) {
            recorder_vcpu_init(i, &elems[i], &elems[i].cut);
        }
    }
#endif
    if (usermode_is_on() && index > 0) {
        usermode_thread();
        return;
    }
    if (!recorder_vcpu_init(index, &elems[index], cut_word(&elems[index]))) {
        fprintf(stderr, "gdbext: vCPU %u is not recorded: no room for it\n", index);
    }
#if GX_API >= 2
    probes_vcpu_init(index, p.score);
    watch_vcpu_threads();
#endif
}

static void vcpu_sleep(unsigned index, bool resume)
{
    if (elems && elems[index].vcpu && elems[index].armed) {
        recorder_sleep(&elems[index], resume);
    }
}

static void at_exit(void)
{
    if (!usermode_is_fork()) {
        recorder_finish();
        control_close();
    }
}

#if GX_API >= 7
static void on_vcpu_init(unsigned int index, void *userdata)
{
    (void)userdata;
    vcpu_init(index);
}
static void on_vcpu_idle(unsigned int index, void *userdata)
{
    (void)userdata;
    vcpu_sleep(index, false);
}
static void on_vcpu_resume(unsigned int index, void *userdata)
{
    (void)userdata;
    vcpu_sleep(index, true);
}
static void on_exit_cb(void *userdata)
{
    (void)userdata;
    at_exit();
}
#else
static void on_vcpu_init(qemu_plugin_id_t id, unsigned int index)
{
    (void)id;
    vcpu_init(index);
}
static void on_vcpu_idle(qemu_plugin_id_t id, unsigned int index)
{
    (void)id;
    vcpu_sleep(index, false);
}
static void on_vcpu_resume(qemu_plugin_id_t id, unsigned int index)
{
    (void)id;
    vcpu_sleep(index, true);
}
static void on_exit_cb(qemu_plugin_id_t id, void *userdata)
{
    (void)id;
    (void)userdata;
    at_exit();
}
#endif

static void on_discontinuity(GX_ID_ARG unsigned int index, int type, uint64_t from_pc, uint64_t to_pc GX_UDATA_ARG)
{
    const unsigned kind = type == QEMU_PLUGIN_DISCON_INTERRUPT ? 1 : type == QEMU_PLUGIN_DISCON_EXCEPTION ? 2 : 3;

#if GX_API < 7
    (void)plugin_id;
#else
    (void)userdata;
#endif
    if (elems && elems[index].vcpu && elems[index].armed) {
        recorder_trap(&elems[index], kind + (kind == 3), from_pc, to_pc);
#if GX_API >= 2
        if (kind != 3) {
            probes_trap(&elems[index]);
        }
#endif
    }
}

/* --- install --------------------------------------------------------------------------------------------------------- */

static bool open_all(const qemu_info_t *info)
{
    const bool traps = qemu_plugin_register_vcpu_discon_cb && !usermode_is_on();
#if GX_API >= 2
    const char *const stacks = probes_are_on() ? "\"probes\"" : "";
#else
    const char *const stacks = accesses_are_watched() ? "\"accesses\"" : "";
#endif
    char meta[512], message[512];
    const RecorderOptions ro = {
        .directory = p.options.dir, .max_vcpus = p.max_vcpus, .level = p.options.level, .meta = meta};

    snprintf(meta, sizeof(meta),
             "{\"target\": \"%s\", \"plugin_version\": \"" GX_VERSION "\", \"plugin_api\": %d, \"qemu_api\": [%d, %d], "
             "\"vcpus\": %d, \"features\": [%s%s%s], \"start_time_ns\": %" PRIu64 "%s}",
             info->target_name, GX_API, info->version.min, info->version.cur,
             usermode_is_on() ? 1 : info->system.smp_vcpus, traps ? "\"discontinuity\"" : "",
             traps && *stacks ? ", " : "", stacks, recorder_now_ns(), usermode_is_on() ? ", \"user_mode\": true" : "");
    if (!recording_directory_make(p.options.dir)) {
        return false;
    }
    if (!recorder_open(&ro, message, sizeof(message)) || !worker_start(message, sizeof(message)) ||
        !control_open(p.options.dir, info->target_name, message, sizeof(message))) {
        fprintf(stderr, "gdbext: %s\n", message);
        recording_directory_clear(p.options.dir);
        return false;
    }
    return true;
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
    bool already;
    unsigned n;
    char message[256];

    p.options = (Options){.level = 3, .probes = true};
    if (!options_parse(argc, argv, &p.options) || (p.options.filter && !filter_read(p.options.filter))) {
        return -1;
    }
    if (!info->system_emulation) {
        if (GX_API >= 2) {
            fprintf(stderr, "gdbext: single programs can be recorded with qemu-user up to 8.2 only\n");
            return -1;
        }
        if (!usermode_begin()) {
            return -1;
        }
        p.options.probes = false;
    }
    p.arch = arch_of_target(info->target_name);
    p.api_cur = info->version.cur;
    translated_open(p.arch, p.api_cur);
    filter_open(p.arch);
    recorder_ring(p.options.ring);
    p.max_vcpus = 1;
    if (info->system_emulation) {
        p.max_vcpus = (unsigned)(info->system.max_vcpus > info->system.smp_vcpus ? info->system.max_vcpus
                                                                                 : info->system.smp_vcpus);
    }
    p.on_block = usermode_is_on()  ? on_block_user
                 : p.options.insns ? on_block_limit
                 : p.max_vcpus > 1 ? on_block_multi
                                   : on_block;
    p.last_block = calloc(p.max_vcpus, sizeof(*p.last_block));
#if GX_API >= 2
    p.score = qemu_plugin_scoreboard_new(sizeof(VcpuElem));
    p.armed = (qemu_plugin_u64){p.score, offsetof(VcpuElem, armed)};
    p.cut = (qemu_plugin_u64){p.score, offsetof(VcpuElem, cut)};
#else
    elems = p.max_vcpus > 1 ? calloc(p.max_vcpus, sizeof(*elems)) : &only_elem;
#endif
    if (p.options.probes) {
#if GX_API >= 2
        probes_open(p.arch, p.options.vectors, qemu_plugin_register_vcpu_discon_cb);
#else
        if (!elems || !accesses_open(p.arch, elems, p.max_vcpus)) {
            return -1;
        }
#endif
    }
    if (!p.last_block || !open_all(info)) {
        return -1;
    }
    if (p.options.record && !recorder_start("", &already, &n, message, sizeof(message))) {
        fprintf(stderr, "gdbext: %s\n", message);
        return -1;
    }
    qemu_plugin_register_vcpu_init_cb(id, on_vcpu_init GX_UDATA_PASS);
    qemu_plugin_register_vcpu_idle_cb(id, on_vcpu_idle GX_UDATA_PASS);
    qemu_plugin_register_vcpu_resume_cb(id, on_vcpu_resume GX_UDATA_PASS);
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate GX_UDATA_PASS);
    qemu_plugin_register_atexit_cb(id, on_exit_cb, NULL);
    if (qemu_plugin_register_vcpu_discon_cb && !usermode_is_on()) {
        qemu_plugin_register_vcpu_discon_cb(
            id, QEMU_PLUGIN_DISCON_INTERRUPT | QEMU_PLUGIN_DISCON_EXCEPTION | QEMU_PLUGIN_DISCON_HOSTCALL,
            on_discontinuity GX_UDATA_PASS);
    }
    return 0;
}
