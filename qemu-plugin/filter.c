/*
 * Filters and triggers. See filter.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#define _GNU_SOURCE
#include "filter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "blocktable.h"
#include "branches.h"
#include "buffers.h"
#include "encoder.h"
#include "format.h"

#define META_MAX    4096
#define HOLD_BLOCKS (1u << 20) /* a trap that does not return */

/* By block id; found out when the block is met first. */
enum {
    FLAG_KNOWN = 1,
    FLAG_IN = 2,   /* in the ranges */
    FLAG_NEAR = 4, /* not in them, but its direct end may go there */
    FLAG_FROM = 8, /* holds an instruction where recording begins, */
    FLAG_TO = 16   /* or ends */
};

typedef struct Numbers {
    uint64_t *items;
    size_t n, capacity;
} Numbers;

/* The lock's; changed only while nothing is recorded. */
static struct {
    Arch arch;
    Numbers ranges; /* pairs [start, end), in order and apart once it is armed */
    Numbers from, to;
    bool once;
    char text[FILTER_TEXT_MAX];
    char used
        [META_MAX]; /* the texts of all filters that were armed since the last clear, as a JSON list without its brackets */
    uint8_t *flags;
} f;

void filter_open(Arch arch) { f.arch = arch; }

bool filter_is_set(void) { return f.ranges.n || f.from.n || f.to.n; }

const char *filter_text(void) { return f.text; }

/* --- flags ----------------------------------------------------------------------------------------------------------- */

/* Whether [start, end) touches the ranges. */
static bool in_ranges(uint64_t start, uint64_t end)
{
    size_t low = 0, high = f.ranges.n / 2;

    while (low < high) { /* the first range that ends after start */
        const size_t middle = low + (high - low) / 2;

        if (f.ranges.items[2 * middle + 1] <= start) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < f.ranges.n / 2 && f.ranges.items[2 * low] < end;
}

/* Arm: the instruction set of a block; one that may be both is of the set that others were. */
static Arch arch_of(uint64_t address, unsigned n, const uint8_t *sizes, const uint8_t *bytes)
{
    static bool seen_t32, seen_a32; /* only ever set */
    const Arch arch = arch_of_block(f.arch, n, sizes, bytes);

    seen_t32 |= arch == ARCH_T32;
    seen_a32 |= arch == ARCH_A32;
    if (arch != ARCH_ARM) {
        return arch;
    }
    return (address & 2) || (seen_t32 && !seen_a32) ? ARCH_T32 : seen_a32 && !seen_t32 ? ARCH_A32 : ARCH_ARM;
}

static unsigned successors_of(uint32_t id, uint64_t successors[2])
{
    const uint8_t *e = blocktable_entry(id), *sizes = e + GX_BLOCK_HEADER_SIZE;
    const unsigned n = gx_get16(e + 8);

    return branch_successors(arch_of(gx_get64(e), n, sizes, sizes + n), gx_get64(e), n, sizes, sizes + n, successors);
}

/* Which of the block's instructions, from 1 on, begins at one of the addresses; 0: none. */
static uint32_t insn_at(uint32_t id, const Numbers *addresses, uint64_t *address)
{
    const uint8_t *e = blocktable_entry(id);
    uint64_t at = gx_get64(e);

    for (uint32_t i = 0; addresses->n && i < gx_get16(e + 8); at += e[GX_BLOCK_HEADER_SIZE + i++]) {
        for (size_t k = 0; k < addresses->n; k++) {
            if (addresses->items[k] == at) {
                *address = at;
                return i + 1;
            }
        }
    }
    return 0;
}

static uint8_t find_flags(uint32_t id)
{
    const uint8_t *e = blocktable_entry(id);
    const uint64_t start = gx_get64(e);
    uint64_t address, next[2];
    uint8_t flags = FLAG_KNOWN;

    if (!f.ranges.n || in_ranges(start, start + gx_get16(e + 10))) {
        flags |= FLAG_IN;
    } else {
        for (unsigned i = successors_of(id, next); i > 0; i--) {
            flags |= in_ranges(next[i - 1], next[i - 1] + 1) ? FLAG_NEAR : 0;
        }
    }
    flags |= insn_at(id, &f.from, &address) ? FLAG_FROM : 0;
    flags |= insn_at(id, &f.to, &address) ? FLAG_TO : 0;
    return flags;
}

static uint8_t flags_of(uint32_t id)
{
    uint8_t flags = __atomic_load_n(&f.flags[id], __ATOMIC_RELAXED);

    if (__builtin_expect(!flags, 0)) {
        flags = find_flags(id); /* every thread finds the same */
        __atomic_store_n(&f.flags[id], flags, __ATOMIC_RELAXED);
    }
    return flags;
}

/* --- vCPU threads ---------------------------------------------------------------------------------------------------- */

void filter_start(Vcpu *v) { v->filter = (VcpuFilter){.on = !f.from.n, .out = true}; }

/* The last block was left out. */
static void count_last(VcpuFilter *s)
{
    if (s->last) {
        s->n_blocks++;
        s->n_insns += s->begun ? s->begun : blocktable_n_insns()[s->last];
    }
    s->last = 0;
}

static void tell_count(Vcpu *v)
{
    VcpuFilter *s = &v->filter;

    if (s->n_blocks) {
        buffer_put_numbers(v, GX_EVENT_GAP, 3, (const uint64_t[]){GX_GAP_FILTERED, s->n_blocks, s->n_insns});
        s->n_blocks = s->n_insns = 0;
    }
}

static void tell_trigger(Vcpu *v, unsigned kind, uint64_t address)
{
    char text[32];

    snprintf(text, sizeof(text), "0x%" PRIx64, address);
    buffer_put_mark(v, kind, text);
}

/* --to's instruction was in the last block: was it begun? */
static void settle_to(Vcpu *v)
{
    VcpuFilter *s = &v->filter;

    if (s->to_insn && (!s->begun || s->begun >= s->to_insn)) {
        tell_trigger(v, GX_MARK_TO, s->to);
        s->on = false;
        s->done = f.once || !f.from.n;
        s->out = true;
        s->depth = 0;
        s->last = 0; /* it was recorded: not to be counted, nor to be written again */
    }
    s->to_insn = 0;
}

void filter_tell(Vcpu *v, bool all)
{
    if (all) {
        settle_to(v);
    }
    if (v->filter.out) {
        if (all) {
            count_last(&v->filter);
        }
        tell_count(v);
    }
}

/* The last block was left out, and is the one before what is recorded again. */
static void come_in(Vcpu *v)
{
    VcpuFilter *s = &v->filter;
    const uint64_t begun = s->begun;

    tell_count(v);
    if (s->last) {
        encoder_put_block(v, s->last);
        if (begun) {
            buffer_put_numbers(v, GX_EVENT_CUT, 1, &begun);
        }
        if (s->trapped) {
            buffer_put_numbers(v, GX_EVENT_TRAP, 3, s->trap);
        }
    }
    s->out = false;
}

static bool goes_to(uint32_t id, uint64_t address)
{
    uint64_t next[2];
    const unsigned n = successors_of(id, next);

    return !n || next[0] == address || (n == 2 && next[1] == address);
}

/* QEMU has told that a trap came before an instruction of the ranges. */
static bool trap_was_told(const VcpuFilter *s)
{
    return s->trapped && (s->trap[0] == 1 || s->trap[0] == 2) && in_ranges(s->trap[1], s->trap[1] + 1);
}

/*
 * A block that is not of the filter begins. Does the filter go on when a trap is over that came just now: after one of its
 * blocks, or between a block that goes there and its first?
 */
static bool trap_between(const VcpuFilter *s, uint32_t id)
{
    if (!s->last || !f.ranges.n) {
        return false;
    }
    if (trap_was_told(s) || (s->begun && s->in)) {
        return true;
    }
    return !s->begun && (s->in || (flags_of(s->last) & FLAG_NEAR)) && !goes_to(s->last, gx_get64(blocktable_entry(id)));
}

/* Record everything until that trap returns. */
static void hold(VcpuFilter *s)
{
    const uint8_t *last = blocktable_entry(s->last);
    uint64_t *resume = s->resume[s->depth];
    uint64_t next[2];

    if (s->depth == VCPU_FILTER_DEPTH) {
        return;
    }
    s->depth++;
    s->hold = HOLD_BLOCKS;
    memset(resume, 0, sizeof(*s->resume));
    if (trap_was_told(s)) {
        resume[0] = s->trap[1];
        resume[1] = s->trap[1] + GX_BLOCK_INSN_SIZE_MAX + 1; /* or after the instruction that trapped */
    }
    if (s->begun) {
        resume[2] = gx_get64(last);
        resume[3] = gx_get64(last) + gx_get16(last + 10) + 1;
        return;
    }
    for (unsigned i = successors_of(s->last, next); i > 0; i--) {
        resume[2 * i] = next[i - 1];
        resume[2 * i + 1] = next[i - 1] + 1;
    }
}

/* A block of the filter begins in a trap that is held: is it where the trap returns to, or does the handler call it? */
static bool resumes(const VcpuFilter *s, uint32_t id)
{
    const uint64_t address = gx_get64(blocktable_entry(id));
    uint64_t next[2];

    for (unsigned i = 0; i < 6; i += 2) {
        if (s->resume[s->depth - 1][i] <= address && address < s->resume[s->depth - 1][i + 1]) {
            return !successors_of(s->last, next);
        }
    }
    return false;
}

/* Whether to record the block; what is left out before it is told. */
static bool decide(Vcpu *v, uint32_t id, uint8_t flags)
{
    VcpuFilter *s = &v->filter;
    const bool of_filter = s->on && (flags & FLAG_IN);
    bool record;

    if (of_filter) {
        if (s->out) {
            come_in(v);
        }
        if (s->depth && (--s->hold == 0 || resumes(s, id))) {
            s->depth = s->hold ? s->depth - 1 : 0;
        }
        record = true;
    } else if (!s->on) {
        record = false;
    } else if (trap_between(s, id)) {
        if (s->out) {
            come_in(v);
        }
        hold(s);
        record = true;
    } else if (s->depth) {
        s->depth = --s->hold ? s->depth : 0;
        record = true;
    } else {
        record = !s->out && s->in; /* the block that the filter goes to */
    }
    s->in = of_filter;
    return record;
}

bool filter_block(Vcpu *v, uint32_t id)
{
    VcpuFilter *s = &v->filter;
    const uint8_t flags = flags_of(id);
    uint64_t address = 0;
    bool record;

    s->to_next = 0;
    if (s->to_insn) {
        settle_to(v);
    }
    if ((flags & FLAG_FROM) && !s->on && !s->done) {
        s->on = true;
        tell_count(v);
        insn_at(id, &f.from, &address);
        tell_trigger(v, GX_MARK_FROM, address);
    }
    record = decide(v, id, flags);
    if (s->out) {
        count_last(s);
    }
    s->out = !record;
    s->last = id;
    s->begun = 0;
    s->trapped = false;
    if (record && (flags & FLAG_TO)) {
        s->to_next = insn_at(id, &f.to, &s->to);
    }
    return record;
}

bool filter_skips(Vcpu *v, uint32_t id)
{
    VcpuFilter *s = &v->filter;
    const uint8_t flags = f.flags[id];

    if (!s->out || s->trapped || !flags || (flags & (s->on ? FLAG_IN : FLAG_FROM)) ||
        (s->on && s->last && (f.flags[s->last] & FLAG_NEAR))) {
        return false;
    }
    count_last(s);
    s->last = id;
    s->begun = 0;
    s->in = false;
    return true;
}

bool filter_cut(Vcpu *v, uint64_t begun)
{
    v->filter.begun = (uint32_t)begun;
    return !v->filter.out;
}

bool filter_trap(Vcpu *v, const uint64_t trap[3])
{
    memcpy(v->filter.trap, trap, sizeof(v->filter.trap));
    v->filter.trapped = true;
    return !v->filter.out;
}

/* --- a controller ---------------------------------------------------------------------------------------------------- */

static bool push(Numbers *numbers, uint64_t value)
{
    if (numbers->n == numbers->capacity) {
        const size_t capacity = numbers->capacity ? numbers->capacity * 2 : 64;
        uint64_t *items = realloc(numbers->items, capacity * sizeof(*items));

        if (!items) {
            return false;
        }
        numbers->items = items;
        numbers->capacity = capacity;
    }
    numbers->items[numbers->n++] = value;
    return true;
}

/* HEX,HEX,.. or, for pairs, HEX-HEX,HEX-HEX,.. with each end above its start. */
static bool parse(Numbers *numbers, bool pairs, const char *text)
{
    do {
        char *end;
        uint64_t value = strtoull(text, &end, 16);

        if (end == text || !push(numbers, value)) {
            return false;
        }
        if (pairs) {
            const uint64_t start = value;

            text = end + 1;
            value = *end == '-' ? strtoull(text, &end, 16) : 0;
            if (value <= start || !push(numbers, value)) {
                return false;
            }
        }
        if (*end && *end != ',') {
            return false;
        }
        text = *end ? end + 1 : end;
    } while (*text);
    return true;
}

static void clear(void)
{
    f.ranges.n = f.from.n = f.to.n = 0;
    f.once = false;
    f.text[0] = '\0';
}

bool filter_request(const char *text, char *message, size_t message_size)
{
    bool ok = true;

    pthread_mutex_lock(&recorder.lock);
    if (recorder.state == RECORDER_RECORDING) {
        snprintf(message, message_size, "it records already: stop it before the filter is changed");
        ok = false;
    } else if (!strcmp(text, "clear")) {
        clear();
    } else if (!strcmp(text, "once")) {
        f.once = true;
    } else if (!strncmp(text, "text ", 5)) {
        snprintf(f.text, sizeof(f.text), "%s", text + 5);
        for (char *p = f.text; *p; p++) {
            *p = *p < ' ' || *p == '"' || *p == '\\' || *p == 0x7f ? '?' : *p;
        }
    } else {
        ok = (!strncmp(text, "range ", 6) && parse(&f.ranges, true, text + 6)) ||
             (!strncmp(text, "from ", 5) && parse(&f.from, false, text + 5)) ||
             (!strncmp(text, "to ", 3) && parse(&f.to, false, text + 3));
        if (!ok) {
            clear();
            snprintf(message, message_size,
                     "filter '%.40s': wants clear, range HEX-HEX,.., from HEX,.., to HEX,.., once or text TEXT", text);
        }
    }
    pthread_mutex_unlock(&recorder.lock);
    return ok;
}

bool filter_read(const char *path)
{
    FILE *file = fopen(path, "re");
    char message[256], *line = NULL;
    size_t size = 0;
    ssize_t n;
    bool ok = true;

    if (!file) {
        fprintf(stderr, "gdbext: %s: %s\n", path, strerror(errno));
        return false;
    }
    while (ok && (n = getline(&line, &size, file)) > 0) {
        line[n - 1] = line[n - 1] == '\n' ? '\0' : line[n - 1];
        ok = filter_request(line, message, sizeof(message));
    }
    if (!ok) {
        fprintf(stderr, "gdbext: %s: %s\n", path, message);
    }
    free(line);
    fclose(file);
    return ok;
}

static int by_start(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return a < b ? -1 : a > b;
}

/* Characters that JSON wants escaped do not get into the text (filter_request). */
static void note_used(void)
{
    char item[FILTER_TEXT_MAX + 8];
    const size_t used = strlen(f.used);

    snprintf(item, sizeof(item), "\"%s\"", f.text);
    if (!strstr(f.used, item) && used + strlen(item) + 4 < sizeof(f.used)) {
        snprintf(f.used + used, sizeof(f.used) - used, "%s%s", used ? ", " : "", item);
    }
    recorder.filters_pending = true;
}

void filter_forget(void) { f.used[0] = '\0'; }

void filter_meta(char *json, size_t size) { snprintf(json, size, "{\"filters\": [%s]}", f.used); }

bool filter_arm(char *message, size_t message_size)
{
    size_t n = 0;

    if (!filter_is_set()) {
        return true;
    }
    if (!f.flags) {
        void *p =
            mmap(NULL, GX_BLOCK_ID_MAX + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (p == MAP_FAILED) {
            snprintf(message, message_size, "no address space for the filter's flags");
            return false;
        }
        f.flags = p;
    }
    madvise(f.flags, GX_BLOCK_ID_MAX + 1, MADV_DONTNEED); /* all 0 again */
    if (f.ranges.n) {
        qsort(f.ranges.items, f.ranges.n / 2, 2 * sizeof(*f.ranges.items), by_start);
        for (size_t i = 0; i < f.ranges.n; i += 2) {
            const uint64_t start = f.ranges.items[i], end = f.ranges.items[i + 1];

            if (n && start <= f.ranges.items[n - 1]) {
                f.ranges.items[n - 1] = end > f.ranges.items[n - 1] ? end : f.ranges.items[n - 1];
            } else {
                f.ranges.items[n] = start;
                f.ranges.items[n + 1] = end;
                n += 2;
            }
        }
        f.ranges.n = n;
    }
    note_used();
    return true;
}
