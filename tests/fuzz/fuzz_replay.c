/*
 * Fuzz target for what reads recorded bytes: block entries, tokens, and the replay over them. Built with ASan and UBSan
 * (tests/fuzz/Makefile). Beside the sanitizers it checks what must hold for any input: all ways through a chunk agree,
 * in one go or in parts of a chunk that grows, and the counts and slices add up.
 *
 * An input (tests/fuzz/seeds.py makes them of real recordings):
 *
 *   u8 options, u8 budget, u8 n_vectors, u8 n_resets, u16 length of the block table,
 *   n_vectors + n_resets u16 block ids, block entries, for each block u8 end kind, u8 flags, u16 id of the target,
 *   then chunks: u8 vcpu, u8 open run, u16 length, tokens.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdio.h>
#include <stdlib.h>

#include "library.h"

enum { OPTION_EVENTS = 1, OPTION_M_PROFILE = 2, OPTION_PROVISIONAL = 4, OPTION_OBSERVED = 8, OPTION_PIECES = 16 };

#define BLOCKS_MAX      4096
#define BLOCKS_TODO_MAX (1u << 18) /* in one chunk: above PERIOD_RUN of replay.c, and quick */
#define CHUNKS_MAX      16
#define VCPUS           3
#define TAIL            8
#define FUNCTIONS       32

#define CHECK(condition)                                                                   \
    do {                                                                                   \
        if (!(condition)) {                                                                \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                       \
        }                                                                                  \
    } while (0)

typedef struct Input {
    const uint8_t *p;
    const uint8_t *end;
} Input;

typedef struct Table {
    const uint8_t *entries;
    size_t length;
    uint64_t count;
    uint64_t address[BLOCKS_MAX];
    uint16_t n_insns[BLOCKS_MAX + 1]; /* by id */
    uint16_t n_bytes[BLOCKS_MAX];
    uint64_t offset[BLOCKS_MAX];
    uint8_t end_kind[BLOCKS_MAX];
    uint8_t flags[BLOCKS_MAX];
    uint64_t target[BLOCKS_MAX];
} Table;

typedef struct Chunk {
    uint32_t vcpu;
    uint64_t seq;
    uint64_t run;
    const uint8_t *raw; /* a copy of its own, so that ASan sees where it ends */
    size_t length;
    bool good;
} Chunk;

static Table table;

/* The decoder for another way through a chunk. One for all: its table is large, and making it slow. */
static GxDecoder *new_pass(void)
{
    static GxDecoder *decoder;

    if (!decoder) {
        decoder = gx_decoder_new(0);
        CHECK(decoder);
    }
    gx_decoder_reset(decoder, (uint32_t)table.count);
    return decoder;
}

static uint8_t take8(Input *in)
{
    return in->p < in->end ? *in->p++ : 0;
}

static uint16_t take16(Input *in)
{
    const uint8_t low = take8(in);

    return (uint16_t)(low | take8(in) << 8);
}

static uint64_t address_of(uint16_t id)
{
    return id && id <= table.count ? table.address[id - 1] : id * 2ull;
}

/* --- one chunk, by the decoder ---------------------------------------------------------------------------------------- */

/* Blocks in the chunk as its tokens announce them, whether they are right or not. */
static uint64_t announced(const Chunk *c)
{
    GxDecoder *d = new_pass();
    uint64_t n = c->run;
    GxToken t;

    while (n <= BLOCKS_TODO_MAX && gx_decoder_peek(d, c->raw, c->length, &t)) {
        n += t.run + 1;
        d->ended = t.kind == GX_TOKEN_END;
        gx_decoder_skip(d, &t);
    }
    return n;
}

/* All items, in pieces of `step`. Their number; *good: undamaged. */
static uint64_t all_items(const Chunk *c, size_t step, GxItem *last, uint64_t *blocks, bool *good)
{
    GxDecoder *d = new_pass();
    GxItem items[64];
    uint64_t n = 0;
    int64_t got;

    *blocks = 0;
    while ((got = gx_decoder_items(d, c->raw, c->length, c->run, items, step)) > 0) {
        for (int64_t i = 0; i < got; i++) {
            CHECK(items[i].block ? items[i].block <= table.count : items[i].offset < c->length);
            *blocks += items[i].block != 0;
            last[n++ % TAIL] = items[i];
        }
    }
    *good = got == 0;
    CHECK(*good == !gx_decoder_error(d));
    CHECK(gx_decoder_error_offset(d) <= c->length);
    return n;
}

static void decode(Chunk *c)
{
    GxItem one[TAIL], many[TAIL], tail[TAIL];
    uint64_t insns, blocks, n_blocks, again, n, first = 0;
    bool good, good_again;
    int64_t in_tail, skipped = 0;
    int totals;
    GxDecoder *d;

    n = all_items(c, 1, one, &n_blocks, &good);
    CHECK(all_items(c, 64, many, &again, &good_again) == n && again == n_blocks &&
          good_again == good);

    d = new_pass();
    in_tail = gx_decoder_tail(d, c->raw, c->length, c->run, tail, TAIL, &first);
    CHECK(good == (in_tail >= 0));
    for (int64_t i = 0; i < in_tail; i++) { /* behind the last loop that was left out */
        const GxItem *a = &tail[(first + (uint64_t)i) % TAIL];

        if (!a->block && a->event == GX_ITEM_ROUNDS) {
            skipped = i + 1;
        }
    }
    for (int64_t i = skipped; i < in_tail; i++) {
        const GxItem *a = &tail[(first + (uint64_t)i) % TAIL];
        const GxItem *b = &one[(n - (uint64_t)in_tail + (uint64_t)i) % TAIL];

        CHECK(a->block == b->block && a->event == b->event && a->offset == b->offset);
    }

    d = new_pass();
    totals = gx_decoder_totals(d, c->raw, c->length, c->run, table.n_insns, &insns, &blocks);
    CHECK(good || totals < 0); /* it also refuses CUT events that do not fit */
    CHECK(totals < 0 || blocks == n_blocks);
    c->good = totals == 0;
}

/* --- all chunks, by the replay ---------------------------------------------------------------------------------------- */

static uint32_t fn_first[BLOCKS_MAX], fn_last[BLOCKS_MAX];
static uint8_t is_entry[BLOCKS_MAX];

/* A function every 16 bytes, but for some nameless code. */
static void number_functions(void)
{
    for (uint64_t i = 0; i < table.count; i++) {
        const uint64_t address = table.address[i];

        fn_first[i] = address % 128 < 16 ? 0 : (uint32_t)(1 + address / 16 % (FUNCTIONS - 1));
        fn_last[i] = i % 7 ? fn_first[i] : (uint32_t)(i % FUNCTIONS);
        is_entry[i] = fn_first[i] && address % 16 == 0;
    }
}

static GxReplay *new_replay(uint8_t options, unsigned vcpus, const uint64_t *vectors,
                            unsigned n_vectors, const uint64_t *resets, unsigned n_resets)
{
    GxReplay *r = gx_replay_new(options & OPTION_EVENTS, options & OPTION_M_PROFILE);

    CHECK(r);
    for (unsigned i = 0; i < n_vectors; i++) {
        CHECK(gx_replay_add_vector(r, vectors[i], i % 3 ? GX_NODE_TASK + (int)(i % 3) : 0) == 0);
    }
    for (unsigned i = 0; i < n_resets; i++) {
        CHECK(gx_replay_add_reset(r, resets[i]) == 0);
    }
    number_functions();
    CHECK(gx_replay_add_blocks(r, table.entries, table.length, table.count, table.end_kind,
                               table.flags, table.target, fn_first, fn_last, is_entry) == 0);
    for (uint32_t vcpu = 0; vcpu < vcpus; vcpu++) {
        CHECK(gx_replay_add_vcpu(r, vcpu) == 0);
    }
    return r;
}

/* Give a chunk to the replay, `budget` blocks at a time. */
static bool feed(GxReplay *r, const Chunk *c, size_t length, uint64_t run, uint64_t budget)
{
    int result;

    while ((result = gx_replay_feed(r, c->vcpu, c->seq, c->raw, length, run, budget)) == 1) {
    }
    CHECK(result == (gx_replay_error(r) ? -1 : 0));
    return result == 0;
}

/* The same as a recorder at work shows it: token by token, the runs before them open. */
static bool feed_growing(GxReplay *r, const Chunk *c, uint64_t budget, uint8_t options)
{
    GxDecoder *d = new_pass();
    bool good = true;
    GxToken t;

    while (good && gx_decoder_peek(d, c->raw, c->length, &t)) {
        if (t.run > 1) {
            good = feed(r, c, d->pos, t.run / 2, budget);
        }
        good = good && feed(r, c, d->pos, t.run, budget);
        if (options & OPTION_PROVISIONAL) {
            gx_replay_provisional(r, c->vcpu, 1);
        }
        d->ended = t.kind == GX_TOKEN_END;
        gx_decoder_skip(d, &t);
    }
    return good && feed(r, c, c->length, c->run, budget);
}

/* What the tree, the tasks and the handlers say of instructions; compared with the totals. */
static void check_tree(GxReplay *r)
{
    const uint64_t n = gx_replay_nodes(r, NULL, 0), n_tasks = gx_replay_tasks(r, NULL, 0);
    const uint64_t n_handlers = gx_replay_handlers(r, NULL, 0);
    GxTreeRow *nodes = calloc(n, sizeof(*nodes));
    GxTaskRow *tasks = calloc(n_tasks + 1, sizeof(*tasks));
    GxHandlerRow *handlers = calloc(n_handlers + 1, sizeof(*handlers));
    GxFunctionCost costs[FUNCTIONS];
    uint64_t total = 0, self = 0, of_functions = 0, insns, blocks, calls = 0;

    CHECK(nodes && tasks && handlers);
    for (uint32_t vcpu = 0; vcpu < VCPUS; vcpu++) {
        gx_replay_totals(r, vcpu, &insns, &blocks);
        total += insns;
    }
    gx_replay_settle(r);
    gx_replay_nodes(r, nodes, n);
    gx_replay_tasks(r, tasks, n_tasks);
    gx_replay_handlers(r, handlers, n_handlers);
    CHECK(gx_replay_costs(r, costs, FUNCTIONS) == 0);
    for (uint64_t i = 0; i < n; i++) {
        CHECK(i == 0 || (nodes[i].parent < i && nodes[i].depth == nodes[nodes[i].parent].depth + 1));
        CHECK(nodes[i].self <= nodes[i].inclusive && nodes[i].fn < FUNCTIONS);
        self += nodes[i].self;
        calls += nodes[i].calls;
    }
    for (uint64_t i = 0; i < FUNCTIONS; i++) {
        CHECK(costs[i].self <= costs[i].inclusive);
        of_functions += costs[i].self;
        calls -= costs[i].calls;
    }
    CHECK(nodes[0].inclusive == self);
    CHECK(of_functions == self);
    CHECK(calls == 0);
    CHECK(self == total);
    for (uint64_t i = 0; i < n_tasks; i++) {
        total -= tasks[i].self;
    }
    for (uint64_t i = 0; i < n_handlers; i++) {
        CHECK(handlers[i].complete <= handlers[i].count + handlers[i].tail_chained);
        total -= handlers[i].self;
    }
    CHECK(total == 0);
    free(nodes);
    free(tasks);
    free(handlers);
}

/* Sum of what the tables say of instructions and blocks; compared with the totals. */
static void check_sums(GxReplay *r)
{
    uint64_t n_insns = 0, n_blocks = 0, insns, blocks;
    const uint64_t n = gx_replay_executions(r, NULL, 0);
    const uint64_t n_cuts = gx_replay_cuts(r, NULL, 0), n_edges = gx_replay_edges(r, NULL, 0);
    uint64_t *executions = calloc(n + 1, sizeof(*executions));
    GxCut *cuts = calloc(n_cuts + 1, sizeof(*cuts));
    GxEdge *edges = calloc(n_edges + 1, sizeof(*edges));

    CHECK(executions && cuts && edges && n == table.count + 1);
    gx_replay_executions(r, executions, n);
    gx_replay_cuts(r, cuts, n_cuts);
    gx_replay_edges(r, edges, n_edges);
    for (uint32_t vcpu = 0; vcpu < VCPUS; vcpu++) {
        gx_replay_provisional(r, vcpu, 0);
        gx_replay_totals(r, vcpu, &insns, &blocks);
        n_insns += insns;
        n_blocks += blocks;
    }
    for (uint64_t id = 1; id < n; id++) {
        n_blocks -= executions[id];
        n_insns -= executions[id] * table.n_insns[id];
    }
    for (uint64_t i = 0; i < n_cuts; i++) {
        CHECK(cuts[i].block && cuts[i].block <= table.count &&
              cuts[i].begun < table.n_insns[cuts[i].block]);
        n_insns += (uint64_t)(table.n_insns[cuts[i].block] - cuts[i].begun) * cuts[i].count;
    }
    for (uint64_t i = 0; i < n_edges; i++) {
        CHECK(edges[i].from && edges[i].from <= table.count && edges[i].to &&
              edges[i].to <= table.count);
        n_insns += edges[i].flags & GX_EDGE_RESTART ? edges[i].count : 0;
    }
    CHECK(n_blocks == 0);
    CHECK(n_insns == 0);
    free(executions);
    free(cuts);
    free(edges);
    check_tree(r);
}

static void check_same(GxReplay *a, GxReplay *b)
{
    const uint64_t n_edges = gx_replay_edges(a, NULL, 0), n_traps = gx_replay_traps(a, NULL, 0);
    GxEdge *edges = calloc(2 * n_edges + 1, sizeof(*edges));
    GxTrap *traps = calloc(2 * n_traps + 1, sizeof(*traps));
    GxStats stats[2];

    CHECK(edges && traps);
    gx_replay_stats(a, &stats[0]);
    gx_replay_stats(b, &stats[1]);
    CHECK(!memcmp(&stats[0], &stats[1], sizeof(stats[0])));
    CHECK(gx_replay_edges(b, NULL, 0) == n_edges && gx_replay_traps(b, NULL, 0) == n_traps);
    gx_replay_edges(a, edges, n_edges);
    gx_replay_edges(b, edges + n_edges, n_edges);
    gx_replay_traps(a, traps, n_traps);
    gx_replay_traps(b, traps + n_traps, n_traps);
    CHECK(!memcmp(edges, edges + n_edges, n_edges * sizeof(*edges)));
    CHECK(!memcmp(traps, traps + n_traps, n_traps * sizeof(*traps)));
    free(edges);
    free(traps);
}

/* Every instruction is in one slice, and in the outermost one of its track. The replay is over then. */
static void check_slices(GxReplay *r, bool pieces)
{
    uint64_t total = 0, self = 0, outermost = 0, n = 0, insns, blocks;
    GxSliceTotals totals;
    GxSlice slice;

    for (uint32_t vcpu = 0; vcpu < VCPUS; vcpu++) {
        gx_replay_totals(r, vcpu, &insns, &blocks);
        total += insns;
    }
    gx_replay_end_slices(r);
    for (; gx_replay_take_slices(r, &slice, 1); n++) {
        CHECK(slice.start <= slice.end && slice.self <= slice.inclusive);
        CHECK(slice.inclusive <= slice.end - slice.start);
        CHECK(slice.depth && slice.vcpu < VCPUS && slice.level <= GX_LEVELS_MAX);
        CHECK(slice.fn < FUNCTIONS && slice.root_fn < FUNCTIONS);
        CHECK(!pieces || slice.self == slice.end - slice.start);
        self += slice.self;
        outermost += slice.depth == 1 && slice.kind != GX_SLICE_RUN ? slice.inclusive : 0;
    }
    gx_replay_slice_totals(r, &totals);
    CHECK(totals.seen == n && !totals.shorter && !totals.deeper && !totals.dropped);
    CHECK(self == total);
    CHECK(pieces || outermost == total);
}

static void replay(const Chunk *chunks, unsigned n, uint8_t options, uint64_t budget,
                   GxReplay *whole, GxReplay *slices)
{
    bool good = true;

    for (unsigned i = 0; good && i < n; i++) {
        good = feed(whole, &chunks[i], chunks[i].length, chunks[i].run, UINT32_MAX);
        CHECK(feed_growing(slices, &chunks[i], budget, options) == good);
        CHECK(!good || chunks[i].good);
    }
    if (good) {
        check_sums(whole);
        check_sums(slices);
        if (options & OPTION_OBSERVED) {
            check_slices(slices, options & OPTION_PIECES);
        } else { /* where registers that were read contradict the flow, an observed replay may differ */
            check_same(whole, slices);
        }
    }
    gx_replay_edges(whole, NULL, 0);
}

/* --- input ------------------------------------------------------------------------------------------------------------ */

static void take_table(Input *in, size_t length)
{
    int64_t found;

    length = length < (size_t)(in->end - in->p) ? length : (size_t)(in->end - in->p);
    found = gx_blocks_parse(in->p, length, BLOCKS_MAX, NULL, NULL, NULL, NULL);
    table.entries = in->p;
    table.length = found < 0 ? (size_t)(-1 - found) : length; /* go on with the good ones */
    found = gx_blocks_parse(table.entries, table.length, BLOCKS_MAX, table.address,
                            table.n_insns + 1, table.n_bytes, table.offset);
    CHECK(found >= 0);
    table.count = (uint64_t)found;
    if (found) { /* in case there were more than BLOCKS_MAX */
        table.length = table.offset[found - 1] + GX_BLOCK_HEADER_SIZE + table.n_insns[found] +
                       table.n_bytes[found - 1];
    }
    in->p += length;
    for (uint64_t i = 0; i < table.count; i++) {
        table.end_kind[i] = take8(in) % (GX_END_UNKNOWN + 1);
        table.flags[i] = take8(in);
        table.target[i] = address_of(take16(in));
    }
}

static unsigned take_chunks(Input *in, Chunk *chunks)
{
    uint64_t next_seq[VCPUS] = {0};
    unsigned n = 0;

    while (in->p < in->end && n < CHUNKS_MAX) {
        Chunk *c = &chunks[n];
        uint8_t *copy;
        size_t length;

        c->vcpu = take8(in) % VCPUS;
        c->run = take8(in);
        length = take16(in);
        length = length < (size_t)(in->end - in->p) ? length : (size_t)(in->end - in->p);
        if (!(copy = malloc(length + !length))) {
            break;
        }
        memcpy(copy, in->p, length);
        in->p += length;
        *c = (Chunk){.vcpu = c->vcpu, .run = c->run, .raw = copy, .length = length};
        if (announced(c) > BLOCKS_TODO_MAX) {
            free(copy);
            continue;
        }
        c->seq = next_seq[c->vcpu]++;
        decode(c);
        n++;
    }
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Input in = {data, data + size};
    const uint8_t options = take8(&in), budget = take8(&in), n_vectors = take8(&in) % 32,
                  n_resets = take8(&in) % 4;
    const uint16_t table_length = take16(&in);
    uint64_t vectors[32], resets[4];
    uint16_t ids[36];
    Chunk chunks[CHUNKS_MAX];
    const GxSliceWindow window = {
        .to = UINT64_MAX, .pieces = (options & OPTION_PIECES) != 0, .runs = 1};
    GxReplay *whole, *slices;
    unsigned n, vcpus = 0;

    for (unsigned i = 0; i < n_vectors + n_resets; i++) {
        ids[i] = take16(&in);
    }
    take_table(&in, table_length);
    for (unsigned i = 0; i < n_vectors + n_resets; i++) {
        (i < n_vectors ? &vectors[i] : &resets[i - n_vectors])[0] = address_of(ids[i]);
    }
    n = take_chunks(&in, chunks);
    for (unsigned i = 0; i < n; i++) {
        vcpus = chunks[i].vcpu >= vcpus ? chunks[i].vcpu + 1 : vcpus;
    }

    whole = new_replay(options, vcpus, vectors, n_vectors, resets, n_resets);
    slices = new_replay(options, vcpus, vectors, n_vectors, resets, n_resets);
    CHECK(!(options & OPTION_OBSERVED) || gx_replay_observe(slices, &window) == 0);
    replay(chunks, n, options, budget + 1u, whole, slices);
    gx_replay_free(whole);
    gx_replay_free(slices);
    for (unsigned i = 0; i < n; i++) {
        free((void *)(uintptr_t)chunks[i].raw);
    }
    return 0;
}
