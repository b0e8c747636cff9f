/*
 * The recorder: one encoder for each vCPU, a worker that compresses, and the requests that a controller makes of them.
 *
 * The encoder's hot part (encode a block that was predicted) is inline here and touches no lock. Everything else a vCPU
 * does goes through recorder.c. A controller never touches a running encoder: it points the vCPU's `table` to an
 * empty one, so that the next block misses and its own thread serves the request (`attention`). A vCPU whose
 * thread sleeps in the kernel cannot be in the hot part; its requests are served by the controller under the lock.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef GX_RECORDER_H
#define GX_RECORDER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "format.h"
#include "predictor.h"

#define RECORDER_BUFFERS_MAX 4
#define RECORDER_TOKENS_SIZE (1u << 20)
#define RECORDER_SLACK       8192u /* room that encoders leave for a controller's events */
#define RECORDER_BUFFER_SIZE (GX_BUFFER_HEADER_SIZE + RECORDER_TOKENS_SIZE + 2 * RECORDER_SLACK)
#define RECORDER_TEXT_MAX    2048
#define RECORDER_RING_MIN    4096u

typedef struct Vcpu Vcpu;

/* What the callback needs for each block: one cache line. In the scoreboard where the API has one. */
typedef struct VcpuElem {
    uint64_t armed;     /* not 0: record; tested by QEMU's inline condition (v1: by the callback) */
    uint64_t cut;       /* instructions begun, when a block is left in the middle; stored by inline operations */
    GxPredictor *table; /* the predictor, or the empty table when attention is wanted */
    GxBuffer *cursor;
    Vcpu *vcpu;
    uint64_t
        in_handler; /* Cortex-M: number of the exception that a probe saw last, 0: none; tested by inline conditions */
    uint64_t unused[2];
} VcpuElem;

enum {
    ATTENTION_FIRST = 1, /* no block since start: what `cut` says belongs to a block that was not recorded */
    ATTENTION_STOP = 2,
    ATTENTION_MARK = 4,
    ATTENTION_SYNC = 8,
    ATTENTION_PUBLISH = 16, /* tell a live reader how far the last block got */
    ATTENTION_FAIL = 32,
    ATTENTION_LIMIT = 64,
    ATTENTION_PROBE = 128,  /* read registers; served only where a block begins */
    ATTENTION_WATCH = 256,  /* a stop condition is set (stopon.h): stays, so that every block misses */
    ATTENTION_FILTER = 512, /* not all blocks are recorded (filter.h): stays, too */
};

/* filter.c's: what a vCPU remembers while not all of its blocks are recorded. */
#define VCPU_FILTER_DEPTH 8
typedef struct VcpuFilter {
    bool on;        /* between --from and --to */
    bool done;      /* --to was reached for good */
    bool out;       /* the last block was left out */
    bool in;        /* the last block was of the filter, not one beside it */
    uint32_t hold;  /* a trap came between blocks of the filter: all is recorded until it is over, or so many more */
    uint32_t depth; /* how many such traps are open, one in the other */
    uint64_t resume[VCPU_FILTER_DEPTH][6]; /* where each ends: three ranges [start, end) */
    bool trapped;                          /* QEMU reported a trap since the last block */
    uint32_t last;                         /* id of the last block, 0: none */
    uint32_t begun;                        /* of its instructions, when it was left in the middle; 0: all */
    uint32_t to_insn;                      /* which of its instructions is --to's, from 1 on; 0: none */
    uint32_t to_next;                      /* the same of the block that is about to be written */
    uint64_t to;                           /* and its address */
    uint64_t trap[3];                      /* kind, from, to */
    uint64_t n_blocks;                     /* left out, but for the last one, and not told yet */
    uint64_t n_insns;
} VcpuFilter;

struct Vcpu {
    unsigned index;
    VcpuElem *elem;
    uint64_t *cut;
    GxPredictor *table;
    GxBuffer *buffers[RECORDER_BUFFERS_MAX];
    uint32_t attention;
    uint32_t probe;    /* why registers are to be read: GX_PROBE_* */
    pid_t tid;         /* the thread that runs it, 0 before its first recorded block */
    uint64_t next_seq; /* of the buffer to open next */
    /* stopon.c's */
    uint32_t begun;         /* of the last block, when it was left in the middle */
    uint32_t watched_insn;  /* which of its instructions a stop condition waits for, from 1 on; 0: none */
    uint64_t watched_place; /* and its address */
    VcpuFilter filter;
    /* the worker's */
    uint64_t written_seq;
    uint64_t n_insns;
    uint64_t n_blocks;
};

typedef enum { RECORDER_STOPPED, RECORDER_RECORDING, RECORDER_FAILED, RECORDER_LIMIT, RECORDER_FINISHED } RecorderState;

typedef struct RecorderStatus {
    RecorderState state;
    uint64_t n_insns;
    uint64_t n_blocks;
    uint64_t n_chunks;
    uint64_t stream_bytes;
    uint64_t n_gaps;
    uint64_t generation;
    uint64_t ring_size;
    uint64_t dropped_insns;
    uint32_t distinct_blocks;
    char message[256];
    char filter[512]; /* in people's words; empty: everything is recorded */
} RecorderStatus;

typedef struct Recorder {
    pthread_mutex_t lock;   /* everything below, and every encoder outside its hot part */
    pthread_cond_t changed; /* broadcast at every change that somebody may wait for */
    Vcpu **vcpus;           /* by index, NULL before its init callback */
    unsigned max_vcpus;
    unsigned n_buffers;
    GxLiveHeader *live;
    RecorderState state;
    Vcpu *cut_owner; /* API v1, several vCPUs on one thread: whose block the shared cut word is about; else NULL */
    bool cut_inexact;
    bool blocks_missed;   /* some were translated without an id; they carry no callback: that cannot be mended */
    bool meta_pending;    /* the stream does not say cut_inexact yet, */
    bool filters_pending; /* nor which filters were set */
    bool held;
    uint32_t gap_reason;
    uint32_t sync_epoch;
    char text[RECORDER_TEXT_MAX + 1];
    uint64_t n_gaps;
    uint64_t n_chunks;
    uint64_t ring_size; /* bytes of chunks that are kept at least; 0: all */
    uint64_t dropped_insns;
    char message[256];
    char meta[1024];
    /* The numbers of a CONTEXT event, and how many they are; on the vCPU's thread. NULL: no registers are read. */
    unsigned (*read_context)(VcpuElem *e, unsigned vcpu, unsigned why, uint64_t *numbers);
    bool worker_busy;
    bool quit;
} Recorder;

extern Recorder recorder;

/* --- the hot part ------------------------------------------------------------------------------------------------ */

/* True when the block with this key (predictor.h) was as predicted and is recorded. */
static inline bool recorder_hit(VcpuElem *e, uint32_t key)
{
    GxBuffer *b = e->cursor;
    uint32_t history = b->history;
    GxPredictor *table = __atomic_load_n(&e->table, __ATOMIC_RELAXED);

    if (__builtin_expect(table->first[gx_slot(history)] != key, 0)) {
        return false;
    }
    b->history = gx_step(history, key);
    __atomic_store_n(&b->word, b->word + 1, __ATOMIC_RELAXED);
    return true;
}

/* --- called by vCPU threads --------------------------------------------------------------------------------------- */

/* The block with this key (predictor.h) begins, and it was not predicted; the cut word is `cut` then. */
void recorder_miss(VcpuElem *e, uint32_t key, uint32_t cut);
/* False, here and below: recording ended meanwhile, so the block that comes must not be written. */
bool recorder_cut(VcpuElem *e);
void recorder_trap(VcpuElem *e, unsigned kind, uint64_t from, uint64_t to);
void recorder_sleep(VcpuElem *e, bool resume);
/* Where the next block begins, registers are to be read. */
void recorder_probe(VcpuElem *e, unsigned why);
bool recorder_turn(VcpuElem *e);
/* The instruction limit is reached: end all recordings and hold this vCPU until recorder_release(). */
void recorder_limit(VcpuElem *e);
/* The block table took no more: ends the recording with a gap. */
void recorder_table_full(void);
/* From here on nothing can be recorded, on this vCPU's thread: as above, for good. */
void recorder_cannot(const char *message);

/* --- set-up -------------------------------------------------------------------------------------------------------- */

typedef struct RecorderOptions {
    const char *directory;
    unsigned max_vcpus;
    int level;
    const char *meta; /* JSON of the first META record */
} RecorderOptions;

bool recorder_open(const RecorderOptions *options, char *message, size_t message_size);
/* A vCPU exists, its element is at `elem` from now on (again when the scoreboard moved). `cut`: its cut word. */
bool recorder_vcpu_init(unsigned index, VcpuElem *elem, uint64_t *cut);
/* Blocks left in the middle cannot be told on this machine: say so in the recording. */
void recorder_set_cut_inexact(void);

/* --- called by a controller ---------------------------------------------------------------------------------------- */

/* False: refused, `message` says why. */
bool recorder_start(const char *text, bool *already, unsigned *n_vcpus, char *message, size_t message_size);
bool recorder_stop(bool *already);
void recorder_mark(const char *text);
void recorder_sync(void);
bool recorder_clear(char *message, size_t message_size);
bool recorder_finish(void);
void recorder_release(void);
/* Keep the newest chunks only, so many bytes at least; 0: all. */
void recorder_ring(uint64_t size);
void recorder_status(RecorderStatus *status);

/* --- for the worker; the lock is held -------------------------------------------------------------------------------- */

/* Recording cannot go on: every vCPU ends with a gap at its next block. */
void recorder_fail(uint32_t reason, const char *message);
/* Ask for attention at the next block; does not wait. */
void recorder_ask(Vcpu *v, uint32_t bits);
/* Have the stream say what was found out late. False: it cannot be written, errno says why. */
bool recorder_tell_late(void);
uint64_t recorder_now_ns(void);

#endif
