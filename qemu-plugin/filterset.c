/*
 * What a filter is, and what it says of each block. See filter.h and filterset.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#define _GNU_SOURCE
#include "filterset.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "blocktable.h"
#include "branches.h"
#include "format.h"

FilterSet filter_set;

void filter_open(Arch arch) { filter_set.arch = arch; }

bool filter_is_set(void) { return filter_set.ranges.n || filter_set.from.n || filter_set.to.n; }

const char *filter_text(void) { return filter_set.text; }

/* --- flags ----------------------------------------------------------------------------------------------------------- */

bool filter_in_ranges(uint64_t start, uint64_t end)
{
    size_t low = 0, high = filter_set.ranges.n / 2;

    while (low < high) { /* the first range that ends after start */
        const size_t middle = low + (high - low) / 2;

        if (filter_set.ranges.items[2 * middle + 1] <= start) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < filter_set.ranges.n / 2 && filter_set.ranges.items[2 * low] < end;
}

/* Arm: the instruction set of a block; one that may be both is of the set that others were. */
static Arch arch_of(uint64_t address, unsigned n, const uint8_t *sizes, const uint8_t *bytes)
{
    static bool seen_t32, seen_a32; /* only ever set */
    const Arch arch = arch_of_block(filter_set.arch, n, sizes, bytes);

    seen_t32 |= arch == ARCH_T32;
    seen_a32 |= arch == ARCH_A32;
    if (arch != ARCH_ARM) {
        return arch;
    }
    return (address & 2) || (seen_t32 && !seen_a32) ? ARCH_T32 : seen_a32 && !seen_t32 ? ARCH_A32 : ARCH_ARM;
}

unsigned filter_successors(uint32_t id, uint64_t successors[2])
{
    const uint8_t *e = blocktable_entry(id), *sizes = e + GX_BLOCK_HEADER_SIZE;
    const unsigned n = gx_get16(e + 8);

    return branch_successors(arch_of(gx_get64(e), n, sizes, sizes + n), gx_get64(e), n, sizes, sizes + n, successors);
}

uint32_t filter_insn_at(uint32_t id, const Numbers *addresses, uint64_t *address)
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
    uint8_t flags = FILTER_KNOWN;

    if (!filter_set.ranges.n || filter_in_ranges(start, start + gx_get16(e + 10))) {
        flags |= FILTER_IN;
    } else {
        for (unsigned i = filter_successors(id, next); i > 0; i--) {
            flags |= filter_in_ranges(next[i - 1], next[i - 1] + 1) ? FILTER_NEAR : 0;
        }
    }
    flags |= filter_insn_at(id, &filter_set.from, &address) ? FILTER_FROM : 0;
    flags |= filter_insn_at(id, &filter_set.to, &address) ? FILTER_TO : 0;
    return flags;
}

uint8_t filter_flags(uint32_t id)
{
    uint8_t flags = __atomic_load_n(&filter_set.flags[id], __ATOMIC_RELAXED);

    if (__builtin_expect(!flags, 0)) {
        flags = find_flags(id); /* every thread finds the same */
        __atomic_store_n(&filter_set.flags[id], flags, __ATOMIC_RELAXED);
    }
    return flags;
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
    filter_set.ranges.n = filter_set.from.n = filter_set.to.n = 0;
    filter_set.once = false;
    filter_set.text[0] = '\0';
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
        filter_set.once = true;
    } else if (!strncmp(text, "text ", 5)) {
        snprintf(filter_set.text, sizeof(filter_set.text), "%s", text + 5);
        for (char *p = filter_set.text; *p; p++) {
            *p = *p < ' ' || *p == '"' || *p == '\\' || *p == 0x7f ? '?' : *p;
        }
    } else {
        ok = (!strncmp(text, "range ", 6) && parse(&filter_set.ranges, true, text + 6)) ||
             (!strncmp(text, "from ", 5) && parse(&filter_set.from, false, text + 5)) ||
             (!strncmp(text, "to ", 3) && parse(&filter_set.to, false, text + 3));
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
    const size_t used = strlen(filter_set.used);

    snprintf(item, sizeof(item), "\"%s\"", filter_set.text);
    if (!strstr(filter_set.used, item) && used + strlen(item) + 4 < sizeof(filter_set.used)) {
        snprintf(filter_set.used + used, sizeof(filter_set.used) - used, "%s%s", used ? ", " : "", item);
    }
    recorder.filters_pending = true;
}

void filter_forget(void) { filter_set.used[0] = '\0'; }

void filter_meta(char *json, size_t size) { snprintf(json, size, "{\"filters\": [%s]}", filter_set.used); }

bool filter_arm(char *message, size_t message_size)
{
    size_t n = 0;

    if (!filter_is_set()) {
        return true;
    }
    if (!filter_set.flags) {
        void *p =
            mmap(NULL, GX_BLOCK_ID_MAX + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (p == MAP_FAILED) {
            snprintf(message, message_size, "no address space for the filter's flags");
            return false;
        }
        filter_set.flags = p;
    }
    madvise(filter_set.flags, GX_BLOCK_ID_MAX + 1, MADV_DONTNEED); /* all 0 again */
    if (filter_set.ranges.n) {
        qsort(filter_set.ranges.items, filter_set.ranges.n / 2, 2 * sizeof(*filter_set.ranges.items), by_start);
        for (size_t i = 0; i < filter_set.ranges.n; i += 2) {
            const uint64_t start = filter_set.ranges.items[i], end = filter_set.ranges.items[i + 1];

            if (n && start <= filter_set.ranges.items[n - 1]) {
                filter_set.ranges.items[n - 1] =
                    end > filter_set.ranges.items[n - 1] ? end : filter_set.ranges.items[n - 1];
            } else {
                filter_set.ranges.items[n] = start;
                filter_set.ranges.items[n + 1] = end;
                n += 2;
            }
        }
        filter_set.ranges.n = n;
    }
    note_used();
    return true;
}
