/*
 * Stop conditions. See stopon.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "stopon.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blocktable.h"
#include "attention.h"
#include "format.h"

#define HOLD_NS 10000000000ull /* nobody releases: the condition is dropped, so that the guest goes on */

/* All of it is the lock's. */
static struct {
    uint64_t *addresses; /* ascending once the condition is set */
    size_t n, capacity;
    uint64_t wanted;
    bool go; /* the held vCPU may execute one block */
    StopOnStatus status;
} s;

bool stopon_is_set(void) { return s.status.set; }

static void drop(void)
{
    for (unsigned i = 0; i < recorder.max_vcpus; i++) {
        Vcpu *v = recorder.vcpus[i];

        if (v && (v->attention & ATTENTION_WATCH)) {
            v->watched_insn = 0;
            v->attention &= ~(uint32_t)ATTENTION_WATCH;
            if (!v->attention) {
                __atomic_store_n(&v->elem->table, v->table, __ATOMIC_RELEASE);
            }
        }
    }
    s.n = 0;
    s.go = false;
    s.status = (StopOnStatus){.set = false};
    recorder.live->held = 0;
    pthread_cond_broadcast(&recorder.changed);
}

/* --- vCPU threads ---------------------------------------------------------------------------------------------------- */

/* The lowest watched address in [start, end); SIZE_MAX: none. */
static size_t find(uint64_t start, uint64_t end)
{
    size_t low = 0, high = s.n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (s.addresses[middle] < start) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < s.n && s.addresses[low] < end ? low : SIZE_MAX;
}

static void count(const Vcpu *v, uint64_t address)
{
    if (++s.status.count == s.wanted) {
        s.status.hit = true;
        s.status.address = address;
        s.status.vcpu = v->index;
        __atomic_store_n(&recorder.live->held, 1, __ATOMIC_RELEASE);
    }
}

/* What the block before this one waited for was executed, unless the block was left before it was complete. */
static void settle(Vcpu *v)
{
    if (v->watched_insn > 1 && (!v->begun || v->begun > v->watched_insn)) {
        count(v, v->watched_place);
    } else if (v->watched_insn == 1 && v->begun == 1 && !s.status.hit) {
        s.status.count--; /* it comes again */
    }
    v->watched_insn = v->begun = 0;
}

static void look_into(Vcpu *v, uint32_t id)
{
    const uint8_t *e = blocktable_entry(id);
    const uint64_t start = gx_get64(e);
    const size_t found = find(start, start + gx_get16(e + 10));
    uint64_t at = start;

    if (found == SIZE_MAX) {
        return;
    }
    v->watched_insn = 1;
    for (unsigned i = 0; at < s.addresses[found] && i < gx_get16(e + 8); i++) {
        at += e[GX_BLOCK_HEADER_SIZE + i];
        v->watched_insn++;
    }
    v->watched_place = s.addresses[found];
    if (v->watched_insn == 1) { /* nothing can come between */
        count(v, v->watched_place);
    }
}

static void hold(void)
{
    const uint64_t until = recorder_now_ns() + HOLD_NS;

    while (s.status.hit && !s.go && recorder_now_ns() < until) {
        recorder_wait(200);
    }
    if (s.go) {
        s.go = false;
        s.status.released++;
    } else if (s.status.hit) {
        drop();
    }
}

void stopon_block(Vcpu *v, uint32_t id)
{
    pthread_mutex_lock(&recorder.lock);
    if (s.status.set && !(v->attention & ATTENTION_FIRST)) {
        settle(v);
    }
    if (s.status.set) {
        if (!s.status.hit) {
            look_into(v, id);
        }
        if (s.status.hit) {
            hold();
        }
    }
    pthread_mutex_unlock(&recorder.lock);
}

/* --- a controller ---------------------------------------------------------------------------------------------------- */

static bool add(const char *text, char *message, size_t message_size)
{
    while (*text) {
        char *end;
        const uint64_t address = strtoull(text, &end, 16);

        if (end == text || (*end && *end != ',')) {
            snprintf(message, message_size, "stop-on add: '%.20s' is no list of hexadecimal addresses", text);
            return false;
        }
        if (s.n == s.capacity) {
            const size_t capacity = s.capacity ? s.capacity * 2 : 64;
            uint64_t *addresses = realloc(s.addresses, capacity * sizeof(*addresses));

            if (!addresses) {
                snprintf(message, message_size, "no memory for %zu addresses", capacity);
                return false;
            }
            s.addresses = addresses;
            s.capacity = capacity;
        }
        s.addresses[s.n++] = address;
        text = *end ? end + 1 : end;
    }
    return true;
}

static int by_value(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return a < b ? -1 : a > b;
}

static bool set(const char *text, char *message, size_t message_size)
{
    char *end;
    const uint64_t wanted = strtoull(text, &end, 10);

    if (end == text || *end || !wanted || !s.n) {
        snprintf(message, message_size, "stop-on set: needs addresses, and a count from 1 on");
        return false;
    }
    if (recorder.state != RECORDER_RECORDING) {
        snprintf(message, message_size, "a stop condition needs a recording: start one first");
        return false;
    }
    qsort(s.addresses, s.n, sizeof(*s.addresses), by_value);
    s.wanted = wanted;
    s.status = (StopOnStatus){.set = true};
    for (unsigned i = 0; i < recorder.max_vcpus; i++) {
        if (recorder.vcpus[i]) {
            recorder.vcpus[i]->watched_insn = recorder.vcpus[i]->begun = 0;
            recorder_ask(recorder.vcpus[i], ATTENTION_WATCH);
        }
    }
    return true;
}

bool stopon_request(const char *text, StopOnStatus *status, char *message, size_t message_size)
{
    bool ok = true;

    pthread_mutex_lock(&recorder.lock);
    if (!strncmp(text, "add ", 4)) {
        if (s.status.set) {
            drop();
        }
        ok = add(text + 4, message, message_size);
    } else if (!strncmp(text, "set ", 4)) {
        ok = set(text + 4, message, message_size);
    } else if (!strcmp(text, "release")) {
        s.go = s.status.hit;
        pthread_cond_broadcast(&recorder.changed);
    } else if (!strcmp(text, "off")) {
        drop();
    } else if (strcmp(text, "status") != 0) {
        snprintf(message, message_size, "stop-on: add, set, release, off or status");
        ok = false;
    }
    *status = s.status;
    pthread_mutex_unlock(&recorder.lock);
    return ok;
}
