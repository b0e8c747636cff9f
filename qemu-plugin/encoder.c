/*
 * The encoders: what a vCPU records, and the requests that are made of it. See recorder.h for who may touch what.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#define _GNU_SOURCE
#include "encoder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "blocktable.h"
#include "buffers.h"
#include "filter.h"
#include "stopon.h"

Recorder recorder = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* Never written: no id is 0, so every block misses. */
static GxPredictor empty_table;

/* What is not served by looking at it. */
#define ATTENTION_ALWAYS ((uint32_t)(ATTENTION_WATCH | ATTENTION_FILTER))
#define ATTENTION_STAYS  (ATTENTION_PROBE | ATTENTION_ALWAYS)

/* CPU time after which a thread that serves no request is known to execute no block. */
#define SPIN_NS      300000000u
#define HOLD_SECONDS 60

uint64_t recorder_now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void encoder_wait(unsigned ms)
{
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    ts.tv_nsec += (long)(ms % 1000) * 1000000;
    ts.tv_sec += ms / 1000 + ts.tv_nsec / 1000000000;
    ts.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&recorder.changed, &recorder.lock, &ts);
}

/* --- attention ----------------------------------------------------------------------------------------------------- */

/* The cut word belongs to this vCPU's last recorded block. */
static bool cut_is_mine(const Vcpu *v)
{
    return !(v->attention & ATTENTION_FIRST) && !__atomic_load_n(&recorder.cut_inexact, __ATOMIC_ACQUIRE) &&
           (!recorder.cut_owner || recorder.cut_owner == v);
}

static void flush_cut(Vcpu *v)
{
    /* Read first: by the time another thread could add to it, it is known to be inexact (API v1). */
    const uint64_t begun = __atomic_load_n(v->cut, __ATOMIC_ACQUIRE);

    if (begun && cut_is_mine(v)) {
        if (!(v->attention & ATTENTION_FILTER) || filter_cut(v, begun)) {
            buffer_put_numbers(v, GX_EVENT_CUT, 1, &begun);
        }
        v->begun = (uint32_t)begun;
        *v->cut = 0;
    }
}

/* Serve what was asked. The lock is held; by the vCPU's thread, or for it while it sleeps. */
static void serve_locked(Vcpu *v, bool own_thread)
{
    uint32_t bits = v->attention;
    GxBuffer *b = v->elem->cursor;

    if (own_thread && (bits & ATTENTION_FIRST)) {
        v->tid = (pid_t)syscall(SYS_gettid);
        *v->cut = 0;
        v->attention &= ~(uint32_t)ATTENTION_FIRST;
        if (recorder.read_context && buffer_is_armed(v)) {
            v->probe |= GX_PROBE_START;
            v->attention |= ATTENTION_PROBE;
        }
    }
    if (buffer_is_armed(v)) {
        if (bits & ATTENTION_MARK) {
            buffer_put_mark(v, GX_MARK_USER, recorder.text);
        }
        if (bits & ATTENTION_SYNC) {
            buffer_put_numbers(v, GX_EVENT_SYNC, 2, (const uint64_t[]){recorder.sync_epoch, recorder_now_ns()});
        }
        if (bits & ATTENTION_PUBLISH) {
            if (bits & ATTENTION_FILTER) {
                filter_tell(v, false);
            }
            b->cut = cut_is_mine(v) && !((bits & ATTENTION_FILTER) && v->filter.out) ? (uint32_t)*v->cut : 0;
            __atomic_store_n(&b->cut_word, b->word, __ATOMIC_RELEASE);
        }
        if (bits & (ATTENTION_STOP | ATTENTION_FAIL | ATTENTION_LIMIT)) {
            flush_cut(v);
            if (bits & ATTENTION_FILTER) {
                filter_tell(v, true);
            }
            if (bits & ATTENTION_FAIL) {
                buffer_end_with_gap(v);
            } else {
                buffer_put_mark(v, bits & ATTENTION_LIMIT ? GX_MARK_LIMIT : GX_MARK_STOP, recorder.text);
                buffer_disarm(v);
            }
        }
    }
    v->attention &= buffer_is_armed(v) ? ATTENTION_FIRST | ATTENTION_STAYS : 0;
    if (!v->attention) {
        __atomic_store_n(&v->elem->table, v->table, __ATOMIC_RELEASE);
    }
    pthread_cond_broadcast(&recorder.changed);
}

/* A controller may write into the last part of the buffer. */
static bool room_for_request(const Vcpu *v, uint32_t bits)
{
    const uint32_t need = bits & ATTENTION_MARK ? 2 * RECORDER_TEXT_MAX : 256;

    return buffer_word_bytes(v->elem->cursor->word) + need <= RECORDER_TOKENS_SIZE + 2 * RECORDER_SLACK;
}

/* This thread executes `v`, so not the others that it executes in turn: one that idles would never serve itself. */
static void serve_others_of_thread(const Vcpu *v)
{
    for (unsigned i = 0; i < recorder.max_vcpus; i++) {
        Vcpu *u = recorder.vcpus[i];

        if (u && u != v && u->tid == v->tid && buffer_is_armed(u) && (u->attention & ~ATTENTION_ALWAYS) &&
            room_for_request(u, u->attention)) {
            serve_locked(u, false);
        }
    }
}

/* Serve, on the vCPU's own thread, what is asked, but for probes. False: it does not record (any more). */
static bool attend(Vcpu *v)
{
    while (__atomic_load_n(&v->attention, __ATOMIC_ACQUIRE) & ~(uint32_t)ATTENTION_STAYS) {
        pthread_mutex_lock(&recorder.lock);
        serve_locked(v, true);
        serve_others_of_thread(v);
        pthread_mutex_unlock(&recorder.lock);
    }
    return buffer_is_armed(v);
}

/* Room for blocks ends before the buffer does: what is left takes the events that belong to the last block. */
static bool room_left(const Vcpu *v)
{
    return buffer_word_bytes(v->elem->cursor->word) + 4 * GX_LEB_MAX <= RECORDER_TOKENS_SIZE;
}

/* After an event was put, so that the next block finds room. Never between a block and its CUT. */
static void make_room(Vcpu *v)
{
    if (!room_left(v)) {
        pthread_mutex_lock(&recorder.lock);
        buffer_roll_over(v);
        pthread_mutex_unlock(&recorder.lock);
    }
}

/* Read registers, on the vCPU's own thread, where a block begins that is recorded or left out. */
static void probe(Vcpu *v, bool recorded)
{
    uint64_t numbers[GX_CONTEXT_NUMBERS_MAX];
    unsigned n;

    pthread_mutex_lock(&recorder.lock);
    if (v->attention & ATTENTION_PROBE) {
        flush_cut(v);
        n = recorder.read_context(v->elem, v->index, v->probe, numbers);
        if (n && recorded) {
            buffer_put_numbers(v, GX_EVENT_CONTEXT, n, numbers);
        }
        v->probe = 0;
        v->attention &= ~(uint32_t)ATTENTION_PROBE;
        if (!v->attention) {
            __atomic_store_n(&v->elem->table, v->table, __ATOMIC_RELEASE);
        }
    }
    pthread_mutex_unlock(&recorder.lock);
}

/*
 * Make the vCPU's own thread ready to write a block. False: it no longer records. From true on, until the block is
 * written, this thread does not sleep, which is what request() relies on.
 */
static bool ready(Vcpu *v)
{
    for (;;) {
        if (!attend(v)) {
            return false;
        }
        if (v->attention & ATTENTION_PROBE) {
            probe(v, true);
        } else if (room_left(v)) {
            return true;
        } else {
            make_room(v);
        }
    }
}

/* Ask for attention at the next block; does not wait. The lock is held. */
void recorder_ask(Vcpu *v, uint32_t bits)
{
    if (buffer_is_armed(v)) {
        __atomic_store_n(&v->attention, v->attention | bits, __ATOMIC_RELEASE);
        __atomic_store_n(&v->elem->table, &empty_table, __ATOMIC_SEQ_CST);
    }
}

/* True when the thread sleeps in the kernel (or is gone), so that it is not in the hot part. */
static bool thread_sleeps(pid_t tid)
{
    char path[64];
    char buf[256];
    const char *end;
    ssize_t n;
    int fd;

    if (tid == 0 || tid == (pid_t)syscall(SYS_gettid)) {
        return true;
    }
    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOENT || errno == ESRCH;
    }
    n = read(fd, buf, sizeof(buf) - 1);
    close(fd);
    if (n <= 0) {
        return n < 0 && errno == ESRCH;
    }
    buf[n] = '\0';
    end = strrchr(buf, ')');
    return end && (end[2] == 'S' || end[2] == 'Z' || end[2] == 'X');
}

/* CPU time that a thread has used, in ns; 0 if it cannot be told. */
static uint64_t thread_cpu_ns(pid_t tid)
{
    struct timespec used;

    /* The clock that pthread_getcpuclockid() makes of a thread's id. */
    if (tid == 0 || clock_gettime((clockid_t)(~(unsigned)tid << 3 | 6), &used) != 0) {
        return 0;
    }
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

/*
 * Ask, and wait until it is served. The lock is held. False: no room for it while the vCPU sleeps.
 *
 * A thread that runs but executes no block (each fetch of a trap handler that is not there traps again) never serves. The
 * hot part takes nanoseconds, and cannot begin again without serving: whoever has used SPIN_NS since is not in it.
 */
static bool request(Vcpu *v, uint32_t bits)
{
    uint64_t since;

    recorder_ask(v, bits);
    since = thread_cpu_ns(v->tid);
    while (buffer_is_armed(v) && (v->attention & bits)) {
        if (!thread_sleeps(v->tid) && thread_cpu_ns(v->tid) < since + SPIN_NS) {
            encoder_wait(1);
        } else if (room_for_request(v, bits)) {
            serve_locked(v, false);
        } else if ((*v->cut && cut_is_mine(v)) || !buffer_roll_over(v)) {
            return false;
        }
    }
    return true;
}

void encoder_request_all(uint32_t bits)
{
    for (unsigned i = 0; i < recorder.max_vcpus; i++) {
        if (recorder.vcpus[i]) {
            recorder_ask(recorder.vcpus[i], bits);
        }
    }
    for (unsigned i = 0; i < recorder.max_vcpus; i++) {
        if (recorder.vcpus[i]) {
            request(recorder.vcpus[i], bits);
        }
    }
}

/* --- vCPU threads --------------------------------------------------------------------------------------------------- */

static void put_block(Vcpu *v, uint32_t key)
{
    GxBuffer *b = v->elem->cursor;
    const uint64_t word = b->word;
    const uint32_t slot = gx_slot(b->history);
    uint8_t *p;

    b->history = gx_step(b->history, key);
    if (v->table->first[slot] == key) { /* it was only asked for attention */
        __atomic_store_n(&b->word, word + 1, __ATOMIC_RELAXED);
        return;
    }
    p = b->tokens + buffer_word_bytes(word);
    if (v->table->second[slot] == key) {
        p = buffer_put_head(p, word & GX_WORD_RUN_MASK, GX_TOKEN_SECOND);
        gx_take_second(v->table, slot);
    } else {
        p = buffer_put_head(p, word & GX_WORD_RUN_MASK, GX_TOKEN_NEW);
        p = gx_leb_put(p, gx_id(key));
        gx_take_new(v->table, slot, key);
    }
    buffer_publish(b, p);
}

void encoder_put_block(Vcpu *v, uint32_t id) { put_block(v, gx_key(id)); }

/* Whether the block is to be recorded, by the filter; on the vCPU's own thread. */
static bool passes(Vcpu *v, uint32_t key)
{
    if (!attend(v)) {
        return false;
    }
    if (!room_left(v)) {
        make_room(v);
    }
    if (!buffer_is_armed(v)) {
        return false;
    }
    if (filter_block(v, gx_id(key))) {
        return true;
    }
    if (v->attention & ATTENTION_PROBE) {
        probe(v, false); /* what it saw last has it asked at returns */
    }
    return false;
}

void recorder_miss(VcpuElem *e, uint32_t key, uint32_t cut)
{
    Vcpu *v = e->vcpu;
    const uint32_t stays = __atomic_load_n(&v->attention, __ATOMIC_RELAXED);

    if (stays == ATTENTION_FILTER && filter_skips(v, gx_id(key))) {
        *v->cut = cut;
        return;
    }
    if (stays & ATTENTION_WATCH) {
        stopon_block(v, gx_id(key)); /* it may sleep */
    }
    if (!(stays & ATTENTION_FILTER)) {
        if (ready(v)) {
            *v->cut = cut;
            put_block(v, key);
        }
    } else if (!passes(v, key)) {
        *v->cut = buffer_is_armed(v) ? cut : *v->cut;
    } else if (ready(v)) {
        *v->cut = cut;
        put_block(v, key);
        v->filter.to_insn = v->filter.to_next;
    }
}

bool recorder_cut(VcpuElem *e)
{
    const bool records = attend(e->vcpu);

    if (records) {
        flush_cut(e->vcpu);
        make_room(e->vcpu);
    }
    *e->vcpu->cut = 0;
    return records && buffer_is_armed(e->vcpu);
}

static bool vcpu_event(VcpuElem *e, unsigned type, unsigned n, const uint64_t *numbers)
{
    if (!attend(e->vcpu)) {
        return false;
    }
    flush_cut(e->vcpu);
    buffer_put_numbers(e->vcpu, type, n, numbers);
    make_room(e->vcpu);
    return buffer_is_armed(e->vcpu);
}

void recorder_trap(VcpuElem *e, unsigned kind, uint64_t from, uint64_t to)
{
    const uint64_t trap[3] = {kind, from, to};

    if (!attend(e->vcpu)) {
        return;
    }
    flush_cut(e->vcpu);
    if (!(e->vcpu->attention & ATTENTION_FILTER) || filter_trap(e->vcpu, trap)) {
        vcpu_event(e, GX_EVENT_TRAP, 3, trap);
    }
}

void recorder_sleep(VcpuElem *e, bool resume)
{
    vcpu_event(e, resume ? GX_EVENT_RESUME : GX_EVENT_IDLE, 1, (const uint64_t[]){recorder_now_ns()});
}

void recorder_probe(VcpuElem *e, unsigned why)
{
    pthread_mutex_lock(&recorder.lock);
    if (recorder.read_context && buffer_is_armed(e->vcpu)) {
        e->vcpu->probe |= why;
        recorder_ask(e->vcpu, ATTENTION_PROBE);
    }
    pthread_mutex_unlock(&recorder.lock);
}

bool recorder_turn(VcpuElem *e)
{
    static uint64_t number; /* all vCPUs take turns on one thread, so nobody races */

    return vcpu_event(e, GX_EVENT_TURN, 1, (const uint64_t[]){number++});
}

void recorder_limit(VcpuElem *e)
{
    const uint64_t until = recorder_now_ns() + HOLD_SECONDS * 1000000000ull;

    pthread_mutex_lock(&recorder.lock);
    if (recorder.state == RECORDER_RECORDING) {
        recorder.state = RECORDER_LIMIT;
        recorder.held = true;
        recorder.text[0] = '\0';
        e->vcpu->tid = (pid_t)syscall(SYS_gettid);
        encoder_request_all(ATTENTION_LIMIT);
    }
    while (recorder.held && recorder_now_ns() < until) {
        encoder_wait(200);
    }
    recorder.held = false;
    pthread_mutex_unlock(&recorder.lock);
}

/* Recording cannot go on: every vCPU ends with a gap at its next block. The lock is held. */
void recorder_fail(uint32_t reason, const char *message)
{
    if (recorder.state == RECORDER_FAILED) {
        return;
    }
    fprintf(stderr, "gdbext: recording %s: %s\n", recorder.state == RECORDER_RECORDING ? "stopped" : "not possible",
            message);
    snprintf(recorder.message, sizeof(recorder.message), "%s", message);
    recorder.gap_reason = reason;
    recorder.state = RECORDER_FAILED;
    for (unsigned i = 0; i < recorder.max_vcpus; i++) {
        if (recorder.vcpus[i]) {
            recorder_ask(recorder.vcpus[i], ATTENTION_FAIL);
        }
    }
    pthread_cond_broadcast(&recorder.changed);
}

void recorder_table_full(void)
{
    const pid_t self = (pid_t)syscall(SYS_gettid);

    pthread_mutex_lock(&recorder.lock);
    recorder.blocks_missed = true;
    recorder_fail(blocktable_is_full() ? GX_GAP_TABLE : GX_GAP_WRITE,
                  *blocktable_error() ? blocktable_error() : "QEMU shows a block that cannot be read");
    /* This thread translates what it runs next, which has no callback any more: end its vCPUs here. */
    for (unsigned i = 0; i < recorder.max_vcpus; i++) {
        if (recorder.vcpus[i] && recorder.vcpus[i]->tid == self) {
            request(recorder.vcpus[i], ATTENTION_FAIL);
        }
    }
    pthread_mutex_unlock(&recorder.lock);
}

void recorder_cannot(const char *message)
{
    pthread_mutex_lock(&recorder.lock);
    recorder.blocks_missed = true;
    recorder_fail(GX_GAP_UNSUPPORTED, message);
    for (unsigned i = 0; i < recorder.max_vcpus; i++) {
        if (recorder.vcpus[i]) {
            request(recorder.vcpus[i], ATTENTION_FAIL);
        }
    }
    pthread_mutex_unlock(&recorder.lock);
}

/* --- for recorder.c ------------------------------------------------------------------------------------------------- */

void encoder_start(Vcpu *v, const char *text)
{
    GxBuffer *b = v->elem->cursor;

    /* Starts and stops of a vCPU that executes nothing fill a buffer too. */
    if (b && b->state == GX_BUFFER_FILLING && !room_for_request(v, ATTENTION_MARK)) {
        buffer_close(v);
    }
    if (!b || b->state != GX_BUFFER_FILLING) {
        while (!(b = buffer_free(v))) {
            if (recorder.state == RECORDER_FAILED) {
                return;
            }
            encoder_wait(10);
        }
        buffer_open(v, b);
    }
    buffer_put_mark(v, GX_MARK_START, text);
    v->attention = ATTENTION_FIRST | (stopon_is_set() ? ATTENTION_WATCH : 0) | (filter_is_set() ? ATTENTION_FILTER : 0);
    filter_start(v);
    v->watched_insn = 0;
    v->probe = 0;
    v->tid = 0;
    __atomic_store_n(&v->elem->table, &empty_table, __ATOMIC_RELEASE);
    __atomic_store_n(&v->elem->armed, 1, __ATOMIC_SEQ_CST);
}

void encoder_close(Vcpu *v)
{
    if (v->elem->cursor && v->elem->cursor->state == GX_BUFFER_FILLING) {
        buffer_close(v);
    }
}
