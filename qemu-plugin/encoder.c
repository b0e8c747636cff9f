/*
 * The encoders: what a vCPU records, and the requests that are made of it. See recorder.h for who may touch what.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#define _GNU_SOURCE
#include "encoder.h"

#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attention.h"
#include "buffers.h"
#include "filter.h"
#include "stopon.h"

/* What is not served by looking at it. */
#define ATTENTION_ALWAYS ((uint32_t)(ATTENTION_WATCH | ATTENTION_FILTER))
#define ATTENTION_STAYS  (ATTENTION_PROBE | ATTENTION_ALWAYS)

/* CPU time after which a thread that serves no request is known to execute no block. */
#define SPIN_NS 300000000u

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
        if (recorder.read_context && vcpu_is_armed(v)) {
            v->probe |= GX_PROBE_START;
            v->attention |= ATTENTION_PROBE;
        }
    }
    if (vcpu_is_armed(v)) {
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
                vcpu_disarm(v);
            }
        }
    }
    v->attention &= vcpu_is_armed(v) ? ATTENTION_FIRST | ATTENTION_STAYS : 0;
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

        if (u && u != v && u->tid == v->tid && vcpu_is_armed(u) && (u->attention & ~ATTENTION_ALWAYS) &&
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
    return vcpu_is_armed(v);
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
 * written, this thread does not sleep, which is what encoder_request() relies on.
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

/*
 * Ask, and wait until it is served. The lock is held. False: no room for it while the vCPU sleeps.
 *
 * A thread that runs but executes no block (each fetch of a trap handler that is not there traps again) never serves. The
 * hot part takes nanoseconds, and cannot begin again without serving: whoever has used SPIN_NS since is not in it.
 */
bool encoder_request(Vcpu *v, uint32_t bits)
{
    uint64_t since;

    recorder_ask(v, bits);
    since = attention_thread_cpu_ns(v->tid);
    while (vcpu_is_armed(v) && (v->attention & bits)) {
        if (!attention_thread_sleeps(v->tid) && attention_thread_cpu_ns(v->tid) < since + SPIN_NS) {
            recorder_wait(1);
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
            encoder_request(recorder.vcpus[i], bits);
        }
    }
}

/* --- vCPU threads --------------------------------------------------------------------------------------------------- */

/* Whether the block is to be recorded, by the filter; on the vCPU's own thread. */
static bool passes(Vcpu *v, uint32_t key)
{
    if (!attend(v)) {
        return false;
    }
    if (!room_left(v)) {
        make_room(v);
    }
    if (!vcpu_is_armed(v)) {
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
            buffer_put_block(v, key);
        }
    } else if (!passes(v, key)) {
        *v->cut = vcpu_is_armed(v) ? cut : *v->cut;
    } else if (ready(v)) {
        *v->cut = cut;
        buffer_put_block(v, key);
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
    return records && vcpu_is_armed(e->vcpu);
}

static bool vcpu_event(VcpuElem *e, unsigned type, unsigned n, const uint64_t *numbers)
{
    if (!attend(e->vcpu)) {
        return false;
    }
    flush_cut(e->vcpu);
    buffer_put_numbers(e->vcpu, type, n, numbers);
    make_room(e->vcpu);
    return vcpu_is_armed(e->vcpu);
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
    if (recorder.read_context && vcpu_is_armed(e->vcpu)) {
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
            recorder_wait(10);
        }
        buffer_open(v, b);
    }
    buffer_put_mark(v, GX_MARK_START, text);
    v->attention = ATTENTION_FIRST | (stopon_is_set() ? ATTENTION_WATCH : 0) | (filter_is_set() ? ATTENTION_FILTER : 0);
    filter_start(v);
    v->watched_insn = 0;
    v->probe = 0;
    v->tid = 0;
    attention_next(v);
    __atomic_store_n(&v->elem->armed, 1, __ATOMIC_SEQ_CST);
}

void encoder_close(Vcpu *v)
{
    if (v->elem->cursor && v->elem->cursor->state == GX_BUFFER_FILLING) {
        buffer_close(v);
    }
}
