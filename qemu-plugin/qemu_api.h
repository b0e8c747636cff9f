/*
 * QEMU's plugin API, declared by us: Debian ships no qemu-plugin.h. One header for the three families; GX_API is 1
 * (QEMU up to 8.2), 2 (9.0 to 11.0) or 7 (11.1 on). The functions are exported by the qemu-system-* binary itself.
 * Calls that are newer than the family's oldest member are weak: NULL when this QEMU lacks them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef GX_QEMU_API_H
#define GX_QEMU_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GX_EXPORT __attribute__((visibility("default")))
#define GX_WEAK   __attribute__((weak))

typedef uint64_t qemu_plugin_id_t;

typedef struct qemu_info_t {
    const char *target_name;
    struct {
        int min;
        int cur;
    } version;
    bool system_emulation;
    union {
        struct {
            int smp_vcpus;
            int max_vcpus;
        } system;
    };
} qemu_info_t;

struct qemu_plugin_tb;
struct qemu_plugin_insn;

enum { QEMU_PLUGIN_CB_NO_REGS = 0, QEMU_PLUGIN_CB_R_REGS = 1, QEMU_PLUGIN_CB_RW_REGS = 2 };
enum { QEMU_PLUGIN_COND_NEVER = 0, QEMU_PLUGIN_COND_ALWAYS = 1, QEMU_PLUGIN_COND_EQ = 2, QEMU_PLUGIN_COND_NE = 3 };
enum { QEMU_PLUGIN_INLINE_ADD_U64 = 0, QEMU_PLUGIN_INLINE_STORE_U64 = 1 };
enum { QEMU_PLUGIN_DISCON_INTERRUPT = 1, QEMU_PLUGIN_DISCON_EXCEPTION = 2, QEMU_PLUGIN_DISCON_HOSTCALL = 4 };

typedef void (*gx_vcpu_udata_cb)(unsigned int vcpu_index, void *userdata);

#if GX_API >= 7
typedef void (*gx_vcpu_cb)(unsigned int vcpu_index, void *userdata);
typedef void (*gx_tb_trans_cb)(struct qemu_plugin_tb *tb, void *userdata);
typedef void (*gx_atexit_cb)(void *userdata);
typedef void (*gx_discon_cb)(unsigned int vcpu_index, int type, uint64_t from_pc, uint64_t to_pc, void *userdata);
#define GX_ID_ARG
#define GX_UDATA_ARG  , void *userdata
#define GX_UDATA_PASS , NULL
#else
typedef void (*gx_vcpu_cb)(qemu_plugin_id_t id, unsigned int vcpu_index);
typedef void (*gx_tb_trans_cb)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);
typedef void (*gx_atexit_cb)(qemu_plugin_id_t id, void *userdata);
typedef void (*gx_discon_cb)(qemu_plugin_id_t id, unsigned int vcpu_index, int type, uint64_t from_pc, uint64_t to_pc);
#define GX_ID_ARG qemu_plugin_id_t plugin_id,
#define GX_UDATA_ARG
#define GX_UDATA_PASS
#endif

#if GX_API >= 7
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, gx_tb_trans_cb cb, void *userdata);
void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t id, gx_vcpu_cb cb, void *userdata);
void qemu_plugin_register_vcpu_idle_cb(qemu_plugin_id_t id, gx_vcpu_cb cb, void *userdata);
void qemu_plugin_register_vcpu_resume_cb(qemu_plugin_id_t id, gx_vcpu_cb cb, void *userdata);
void qemu_plugin_register_vcpu_discon_cb(qemu_plugin_id_t id, int types, gx_discon_cb cb, void *userdata) GX_WEAK;
#else
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, gx_tb_trans_cb cb);
void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t id, gx_vcpu_cb cb);
void qemu_plugin_register_vcpu_idle_cb(qemu_plugin_id_t id, gx_vcpu_cb cb);
void qemu_plugin_register_vcpu_resume_cb(qemu_plugin_id_t id, gx_vcpu_cb cb);
void qemu_plugin_register_vcpu_discon_cb(qemu_plugin_id_t id, int types, gx_discon_cb cb) GX_WEAK;
#endif
/* Ours, called by QEMU when it loads the plugin. */
GX_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv);

void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, gx_atexit_cb cb, void *userdata);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, gx_vcpu_udata_cb cb, int flags, void *userdata);

#if GX_API >= 2
struct qemu_plugin_scoreboard;
typedef struct qemu_plugin_u64 {
    struct qemu_plugin_scoreboard *score;
    size_t offset;
} qemu_plugin_u64;
struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t element_size);
void *qemu_plugin_scoreboard_find(struct qemu_plugin_scoreboard *score, unsigned int vcpu_index);
void qemu_plugin_register_vcpu_tb_exec_cond_cb(struct qemu_plugin_tb *tb, gx_vcpu_udata_cb cb, int flags, int cond,
                                               qemu_plugin_u64 entry, uint64_t imm, void *userdata);
void qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(struct qemu_plugin_insn *insn, int op, qemu_plugin_u64 entry,
                                                         uint64_t imm);
void qemu_plugin_register_vcpu_insn_exec_cond_cb(struct qemu_plugin_insn *insn, gx_vcpu_udata_cb cb, int flags,
                                                 int cond, qemu_plugin_u64 entry, uint64_t imm, void *userdata);

/* Registers. The parts of glib that they take; QEMU has glib loaded. */
typedef struct GArray {
    char *data;
    unsigned len;
} GArray;
typedef struct GByteArray {
    uint8_t *data;
    unsigned len;
} GByteArray;
GByteArray *g_byte_array_new(void);
GByteArray *g_byte_array_set_size(GByteArray *array, unsigned length);
uint8_t *g_byte_array_free(GByteArray *array, int free_segment);
unsigned g_array_get_element_size(GArray *array);
char *g_array_free(GArray *array, int free_segment);

struct qemu_plugin_register;
typedef struct qemu_plugin_reg_descriptor { /* its beginning */
    struct qemu_plugin_register *handle;
    const char *name;
    const char *feature;
} qemu_plugin_reg_descriptor;
GArray *qemu_plugin_get_registers(void) GX_WEAK;
/* Appends the value, in the target's byte order. What it returns differs between versions: look at the length. */
int qemu_plugin_read_register(struct qemu_plugin_register *handle, GByteArray *buffer) GX_WEAK;
bool qemu_plugin_read_memory_vaddr(uint64_t address, GByteArray *buffer, size_t length) GX_WEAK; /* 9.2 on */
#else
typedef uint32_t qemu_plugin_meminfo_t;
typedef void (*gx_vcpu_mem_cb)(unsigned int vcpu_index, qemu_plugin_meminfo_t info, uint64_t vaddr, void *userdata);
enum { QEMU_PLUGIN_MEM_RW = 3 };
/* After the access. */
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, gx_vcpu_mem_cb cb, int flags, int rw,
                                      void *userdata);
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *insn, int op, void *ptr, uint64_t imm);
#endif

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t idx);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);

/*
 * Up to API version 2: `const void *insn_data(insn)`. From 3 on: `size_t insn_data(insn, dest, len)`. The symbol is the
 * same, the family v2 has both, so it is called with three arguments (the old one ignores two) and the result is read by
 * the version that QEMU reports.
 */
uintptr_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *dest, size_t len);
#define GX_INSN_DATA_COPIES_FROM 3

#endif
