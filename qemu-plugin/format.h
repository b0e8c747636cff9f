/*
 * Constants of the recording format, version 1: docs/trace-format.md. Twin: gdbext/recording/format.py.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef GX_FORMAT_H
#define GX_FORMAT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the shared mappings are written in host order, which must be little-endian"
#endif

#define GX_FILE_MAGIC       "\x89GDBX\r\n\x1a"
#define GX_FORMAT_VERSION   1
#define GX_FILE_HEADER_SIZE 32

#define GX_RECORD_MAGIC       0x31525847u /* "GXR1" */
#define GX_RECORD_HEADER_SIZE 24
#define GX_RECORD_LENGTH_MAX  (1ull << 30)
enum { GX_RECORD_META = 1, GX_RECORD_BLOCKS = 2, GX_RECORD_CHUNK = 3, GX_RECORD_END = 4 };

#define GX_BLOCKS_HEADER_SIZE  16
#define GX_BLOCKS_RAW_MAX      (1ull << 28)
#define GX_BLOCK_HEADER_SIZE   12
#define GX_BLOCK_INSNS_MAX     1024
#define GX_BLOCK_INSN_SIZE_MAX 15
#define GX_BLOCK_ID_MAX        (4u << 20) /* the table's stated limit */

#define GX_CHUNK_HEADER_SIZE 56
#define GX_CHUNK_RAW_MAX     (1u << 22)

#define GX_BLOCKS_FILE_MAGIC       "GXBLOCK1"
#define GX_BLOCKS_FILE_HEADER_SIZE 64

#define GX_LIVE_MAGIC         "GXLIVE1"
#define GX_LIVE_HEADER_SIZE   4096
#define GX_BUFFER_HEADER_SIZE 64
enum { GX_BUFFER_FREE = 0, GX_BUFFER_FILLING = 1, GX_BUFFER_FULL = 2 };

/* Token: bits 0-1 kind, bits 2-7 run. */
enum { GX_TOKEN_SECOND = 0, GX_TOKEN_NEW = 1, GX_TOKEN_EVENT = 2, GX_TOKEN_END = 3 };
#define GX_TOKEN_RUN_LONG 63

enum {
    GX_EVENT_CUT = 1,
    GX_EVENT_TRAP = 2,
    GX_EVENT_CONTEXT = 3,
    GX_EVENT_IDLE = 4,
    GX_EVENT_RESUME = 5,
    GX_EVENT_MARK = 6,
    GX_EVENT_RESET = 7,
    GX_EVENT_GAP = 8,
    GX_EVENT_TURN = 9,
    GX_EVENT_SYNC = 10,
    GX_EVENT_LAST = GX_EVENT_SYNC
};
enum { GX_MARK_START = 1, GX_MARK_STOP = 2, GX_MARK_USER = 3, GX_MARK_LIMIT = 4, GX_MARK_FROM = 5, GX_MARK_TO = 6 };
enum { GX_GAP_WRITE = 1, GX_GAP_TABLE = 2, GX_GAP_ENCODER = 3, GX_GAP_UNSUPPORTED = 4, GX_GAP_FILTERED = 5 };

/* Register numbers of CONTEXT. */
enum {
    GX_REG_PROBE = 1, /* no register: why it was read, GX_PROBE_* */
    GX_REG_SP = 2,
    GX_REG_SAVED = 3,    /* no registers: stack pointers that the block before left, and went on with, */
    GX_REG_RESTORED = 4, /* as its accesses tell */
    GX_REG_LR = 16,      /* Cortex-M */
    GX_REG_XPSR = 17,
    GX_REG_MSP = 18,
    GX_REG_PSP = 19,
    GX_REG_CONTROL = 20,
    GX_REG_CPSR = 32, /* A profile; AArch64: PSTATE in the layout of SPSR */
    GX_REG_ELR = 33,  /* of EL1, as the next four */
    GX_REG_ESR = 34,
    GX_REG_FAR = 35,
    GX_REG_SPSR = 36,
    GX_REG_SP_EL0 = 37,
    GX_REG_PRIV = 48, /* RISC-V */
    GX_REG_MCAUSE = 49,
    GX_REG_MEPC = 50,
    GX_REG_MTVAL = 51,
    GX_REG_SCAUSE = 52,
    GX_REG_SEPC = 53,
    GX_REG_STVAL = 54,
    GX_REG_CS = 64, /* x86 */
    GX_REG_SS = 65,
    GX_REG_EFLAGS = 66
};
enum {
    GX_PROBE_START = 1,
    GX_PROBE_TRAP = 2,
    GX_PROBE_VECTOR = 4,
    GX_PROBE_RETURN = 8,
    GX_PROBE_SWITCH = 16,
    GX_PROBE_SWITCHED = 32,
    GX_PROBE_ACCESS = 64
};
#define GX_CONTEXT_NUMBERS_MAX 64
/* Cortex-M: values of LR from here on are EXC_RETURN (or FNC_RETURN, which no handler begins with). */
#define GX_EXC_RETURN          0xFF000000u

/* word of a live buffer: published bytes and open run, one store. */
#define GX_WORD_RUN_BITS 40
#define GX_WORD_RUN_MASK ((1ull << GX_WORD_RUN_BITS) - 1)

/* Header of a live buffer, 64 bytes; the encoder's hot part. */
typedef struct GxBuffer {
    uint64_t word;
    uint32_t history;
    uint32_t state;
    uint32_t vcpu;
    uint32_t reserved;
    uint64_t seq;
    uint64_t time_ns;
    uint64_t cut_word; /* value of `word` for which `cut` is true */
    uint32_t cut;      /* instructions begun in the last block, 0: all */
    uint32_t reserved2;
    uint64_t reserved3;
    uint8_t tokens[];
} GxBuffer;

typedef struct GxLiveHeader {
    char magic[8];
    uint32_t n_vcpus;
    uint32_t n_buffers;
    uint64_t buffer_size;
    uint64_t generation;
    uint32_t pid;
    uint32_t held; /* 1: a stop condition has hit and a vCPU waits for its controller (docs/control.md) */
} GxLiveHeader;

#define GX_LEB_MAX 10

static inline uint8_t *gx_leb_put(uint8_t *p, uint64_t value)
{
    while (value >= 0x80) {
        *p++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *p++ = (uint8_t)value;
    return p;
}

/* Read a LEB128 number; NULL when it is cut by `end` or longer than 64 bits. */
static inline const uint8_t *gx_leb_get(const uint8_t *p, const uint8_t *end, uint64_t *value)
{
    uint64_t result = 0;

    for (unsigned shift = 0; shift < 64 && p < end; shift += 7) {
        uint8_t byte = *p++;

        if (shift == 63 && byte > 1) {
            return NULL;
        }
        result |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *value = result;
            return p;
        }
    }
    return NULL;
}

static inline void gx_put16(uint8_t *p, uint16_t v) { memcpy(p, &v, 2); }
static inline void gx_put32(uint8_t *p, uint32_t v) { memcpy(p, &v, 4); }
static inline void gx_put64(uint8_t *p, uint64_t v) { memcpy(p, &v, 8); }
static inline uint16_t gx_get16(const uint8_t *p)
{
    uint16_t v;
    memcpy(&v, p, 2);
    return v;
}
static inline uint32_t gx_get32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}
static inline uint64_t gx_get64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}

#endif
