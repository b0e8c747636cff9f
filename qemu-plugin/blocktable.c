/*
 * The block table. Ids are found by a hash over all that makes a block what it is, so that code that QEMU translates again
 * (breakpoints, cache flush, single step) keeps its id. The arrays are reserved address space, touched as they fill.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#define _GNU_SOURCE
#include "blocktable.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format.h"
#include "descriptors.h"

#define SEGMENT_SIZE (256u << 10)
#define MAPPING_SIZE (2ull << 30)

static struct {
    pthread_mutex_t lock;
    int fd;
    uint8_t *map; /* MAPPING_SIZE reserved, `mapped` bytes of it backed by the file */
    uint64_t mapped;
    uint64_t used;  /* entries, after the header */
    uint32_t count; /* ids 1..count */
    bool full;
    char error[160];
    uint64_t *offset;    /* by id: where the entry begins, after the header */
    uint16_t *n_insns;   /* by id */
    uint32_t *hash;      /* by id */
    uint32_t *index;     /* open addressing, 0 empty */
    uint32_t index_size; /* a power of two */
} bt = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

static void *reserve(size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

static bool grow_mapping(uint64_t need)
{
    while (bt.mapped < need) {
        int err = posix_fallocate(bt.fd, (off_t)bt.mapped, SEGMENT_SIZE);

        if (err) {
            snprintf(bt.error, sizeof(bt.error), "cannot extend the block table: %s", strerror(err));
            return false;
        }
        if (bt.mapped + SEGMENT_SIZE > MAPPING_SIZE) {
            snprintf(bt.error, sizeof(bt.error), "the block table is full");
            bt.full = true;
            return false;
        }
        if (mmap(bt.map + bt.mapped, SEGMENT_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, bt.fd,
                 (off_t)bt.mapped) == MAP_FAILED) {
            snprintf(bt.error, sizeof(bt.error), "cannot map the block table: %s", strerror(errno));
            return false;
        }
        bt.mapped += SEGMENT_SIZE;
    }
    return true;
}

bool blocktable_open(const char *directory, char *message, size_t message_size)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s/blocks", directory);
    bt.fd = descriptors_move(open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (bt.fd < 0) {
        snprintf(message, message_size, "%s: %s", path, strerror(errno));
        return false;
    }
    bt.map = mmap(NULL, MAPPING_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    bt.offset = reserve((GX_BLOCK_ID_MAX + 1) * sizeof(*bt.offset));
    bt.n_insns = reserve((GX_BLOCK_ID_MAX + 1) * sizeof(*bt.n_insns));
    bt.hash = reserve((GX_BLOCK_ID_MAX + 1) * sizeof(*bt.hash));
    bt.index_size = 1u << 14;
    bt.index = calloc(bt.index_size, sizeof(*bt.index));
    if (bt.map == MAP_FAILED || !bt.offset || !bt.n_insns || !bt.hash || !bt.index) {
        snprintf(message, message_size, "no address space for the block table");
        return false;
    }
    if (!grow_mapping(GX_BLOCKS_FILE_HEADER_SIZE)) {
        snprintf(message, message_size, "%s: %s", path, bt.error);
        return false;
    }
    memcpy(bt.map, GX_BLOCKS_FILE_MAGIC, 8);
    return true;
}

/* 64-bit multiply-and-fold over sizes and bytes; equality is checked on the entry itself. */
static uint32_t source_hash(const BlockSource *s)
{
    uint64_t h = s->address * 0x9E3779B97F4A7C15ull + s->n_insns;

    for (unsigned i = 0; i < s->n_bytes; i++) {
        h = (h ^ s->bytes[i]) * 0x100000001B3ull;
    }
    for (unsigned i = 0; i < s->n_insns; i++) {
        h = (h ^ s->sizes[i]) * 0x100000001B3ull;
    }
    h ^= h >> 32;
    return (uint32_t)(h * 0x9E3779B1u) | 1;
}

static bool same(uint32_t id, const BlockSource *s)
{
    const uint8_t *e = bt.map + GX_BLOCKS_FILE_HEADER_SIZE + bt.offset[id];

    return gx_get64(e) == s->address && gx_get16(e + 8) == s->n_insns && gx_get16(e + 10) == s->n_bytes &&
           !memcmp(e + GX_BLOCK_HEADER_SIZE, s->sizes, s->n_insns) &&
           !memcmp(e + GX_BLOCK_HEADER_SIZE + s->n_insns, s->bytes, s->n_bytes);
}

static bool grow_index(void)
{
    uint32_t size = bt.index_size * 2;
    uint32_t *index = calloc(size, sizeof(*index));

    if (!index) {
        snprintf(bt.error, sizeof(bt.error), "no memory for the block table");
        return false;
    }
    for (uint32_t id = 1; id <= bt.count; id++) {
        uint32_t i = bt.hash[id] & (size - 1);

        while (index[i]) {
            i = (i + 1) & (size - 1);
        }
        index[i] = id;
    }
    free(bt.index);
    bt.index = index;
    bt.index_size = size;
    return true;
}

static uint32_t add(const BlockSource *s, uint32_t hash)
{
    uint64_t length = GX_BLOCK_HEADER_SIZE + s->n_insns + s->n_bytes;
    uint32_t id = bt.count + 1;
    uint8_t *e;

    if (bt.count >= GX_BLOCK_ID_MAX) {
        snprintf(bt.error, sizeof(bt.error), "the block table is full (%u blocks)", GX_BLOCK_ID_MAX);
        bt.full = true;
        return 0;
    }
    if (!grow_mapping(GX_BLOCKS_FILE_HEADER_SIZE + bt.used + length) ||
        (bt.count * 2 >= bt.index_size && !grow_index())) {
        return 0;
    }
    e = bt.map + GX_BLOCKS_FILE_HEADER_SIZE + bt.used;
    gx_put64(e, s->address);
    gx_put16(e + 8, (uint16_t)s->n_insns);
    gx_put16(e + 10, (uint16_t)s->n_bytes);
    memcpy(e + GX_BLOCK_HEADER_SIZE, s->sizes, s->n_insns);
    memcpy(e + GX_BLOCK_HEADER_SIZE + s->n_insns, s->bytes, s->n_bytes);
    bt.offset[id] = bt.used;
    bt.n_insns[id] = (uint16_t)s->n_insns;
    bt.hash[id] = hash;
    bt.used += length;
    __atomic_store_n(&bt.count, id, __ATOMIC_RELEASE);
    __atomic_store_n((uint64_t *)(void *)(bt.map + 8), bt.used, __ATOMIC_RELEASE);
    for (uint32_t i = hash & (bt.index_size - 1);; i = (i + 1) & (bt.index_size - 1)) {
        if (!bt.index[i]) {
            bt.index[i] = id;
            return id;
        }
    }
}

uint32_t blocktable_id(const BlockSource *source)
{
    uint32_t hash = source_hash(source);
    uint32_t id;

    pthread_mutex_lock(&bt.lock);
    for (uint32_t i = hash & (bt.index_size - 1);; i = (i + 1) & (bt.index_size - 1)) {
        id = bt.index[i];
        if (!id) {
            id = add(source, hash);
            break;
        }
        if (bt.hash[id] == hash && same(id, source)) {
            break;
        }
    }
    pthread_mutex_unlock(&bt.lock);
    return id;
}

const char *blocktable_error(void) { return bt.error; }

bool blocktable_is_full(void) { return bt.full; }

uint32_t blocktable_count(void) { return __atomic_load_n(&bt.count, __ATOMIC_ACQUIRE); }

const uint16_t *blocktable_n_insns(void) { return bt.n_insns; }

const uint8_t *blocktable_entry(uint32_t id) { return bt.map + GX_BLOCKS_FILE_HEADER_SIZE + bt.offset[id]; }

const uint8_t *blocktable_entries_after(uint32_t id, uint64_t *length, uint32_t *n)
{
    uint64_t from;

    pthread_mutex_lock(&bt.lock);
    from = id < bt.count ? bt.offset[id + 1] : bt.used;
    *n = bt.count - id;
    *length = bt.used - from;
    pthread_mutex_unlock(&bt.lock);
    return bt.map + GX_BLOCKS_FILE_HEADER_SIZE + from;
}
