/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory: first fit in a list of blocks by address, neighbours joined when they are freed. */
#include "station.h"
#include "gx.h"

#define POOL_BYTES 4096
#define ALIGNMENT 8

struct block {
    struct block *next;
    uint32_t size_bytes; /* with this header */
    uint32_t used;
    uint32_t guard; /* to see damage */
};

#define GUARD 0xfeedbeefu

static union {
    struct block first;
    uint8_t bytes[POOL_BYTES];
} pool __attribute__((aligned(ALIGNMENT)));

static size_t in_use;

static void pool_prepare(void)
{
    pool.first.next = NULL;
    pool.first.size_bytes = POOL_BYTES;
    pool.first.used = 0;
    pool.first.guard = GUARD;
}

static struct block *find_free(uint32_t size_bytes)
{
    struct block *block = &pool.first;

    while (block != NULL && (block->used || block->size_bytes < size_bytes)) {
        block = block->next;
    }
    return block;
}

static void split(struct block *block, uint32_t size_bytes)
{
    struct block *rest;

    if (block->size_bytes - size_bytes < sizeof(struct block) + ALIGNMENT) {
        return;
    }
    rest = (struct block *)((uint8_t *)block + size_bytes);
    rest->next = block->next;
    rest->size_bytes = block->size_bytes - size_bytes;
    rest->used = 0;
    rest->guard = GUARD;
    block->next = rest;
    block->size_bytes = size_bytes;
}

static void join_neighbours(void)
{
    struct block *block = &pool.first;

    while (block->next != NULL) {
        if (!block->used && !block->next->used) {
            block->size_bytes += block->next->size_bytes;
            block->next = block->next->next;
        } else {
            block = block->next;
        }
    }
}

void *malloc(size_t size_bytes)
{
    uint32_t needed = (uint32_t)(size_bytes + sizeof(struct block) + ALIGNMENT - 1) & ~(ALIGNMENT - 1u);
    struct block *block;

    if (pool.first.size_bytes == 0) {
        pool_prepare();
    }
    block = find_free(needed);
    if (block == NULL) {
        return NULL;
    }
    split(block, needed);
    block->used = 1;
    in_use += block->size_bytes;
    return block + 1;
}

void free(void *memory)
{
    struct block *block = memory;

    if (memory == NULL) {
        return;
    }
    block--;
    if (block->guard != GUARD || !block->used) {
        heap_dump();
        panic("free: not a block");
    }
    block->used = 0;
    in_use -= block->size_bytes;
    join_neighbours();
}

size_t heap_in_use(void)
{
    return in_use;
}

void heap_dump(void)
{
    for (struct block *block = &pool.first; block != NULL; block = block->next) {
        gx_put_hex((uint32_t)(uintptr_t)block);
        gx_puts(block->used ? " used " : " free ");
        gx_put_unsigned(block->size_bytes);
        gx_puts("\n");
    }
}
