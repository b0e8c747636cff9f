/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Work to measure with: lists, matrices, a state machine and checksums, in turn. -DITER= sets
 * the number of rounds. Every round works on the same data, as CPU benchmarks do; with -DFRESH
 * each has data of its own, so that no branch that depends on it can be foreseen. Prints a
 * checksum, which depends on ITER and FRESH alone.
 */
#include "gx.h"

#ifndef ITER
#define ITER 6000
#endif

#define ITEMS 128
#define SIZE 12

void gx_timer_tick(void)
{
}

/* Checksum: CRC-16, bit by bit (polynomial 0xa001). */

static uint16_t crc_byte(uint8_t byte, uint16_t crc)
{
    for (int bit = 0; bit < 8; bit++) {
        uint16_t low = (crc ^ byte) & 1;

        crc >>= 1;
        byte >>= 1;
        if (low) {
            crc ^= 0xa001;
        }
    }
    return crc;
}

GX_NOINLINE static uint16_t crc_word(uint32_t word, uint16_t crc)
{
    for (int i = 0; i < 4; i++) {
        crc = crc_byte((uint8_t)(word >> (8 * i)), crc);
    }
    return crc;
}

/* Lists: find, reverse, merge sort with a choice of order. */

struct item {
    struct item *next;
    uint32_t key;
    uint32_t value;
};

typedef int order(const struct item *left, const struct item *right);

static struct item items[ITEMS];

static int by_key(const struct item *left, const struct item *right)
{
    return left->key <= right->key;
}

static int by_value(const struct item *left, const struct item *right)
{
    return (left->value & 0xff) <= (right->value & 0xff);
}

static struct item *merge(struct item *left, struct item *right, order *before)
{
    struct item head;
    struct item *tail = &head;

    while (left != NULL && right != NULL) {
        struct item **from = before(left, right) ? &left : &right;

        tail->next = *from;
        tail = *from;
        *from = (*from)->next;
    }
    tail->next = left != NULL ? left : right;
    return head.next;
}

GX_NOINLINE static struct item *sort(struct item *list, order *before)
{
    struct item *middle = list;
    struct item *second;

    if (list == NULL || list->next == NULL) {
        return list;
    }
    for (struct item *end = list->next; end != NULL && end->next != NULL; end = end->next->next) {
        middle = middle->next;
    }
    second = middle->next;
    middle->next = NULL;
    return merge(sort(list, before), sort(second, before), before);
}

GX_NOINLINE static struct item *reverse(struct item *list)
{
    struct item *done = NULL;

    while (list != NULL) {
        struct item *next = list->next;

        list->next = done;
        done = list;
        list = next;
    }
    return done;
}

GX_NOINLINE static uint32_t find(const struct item *list, uint32_t key)
{
    for (; list != NULL; list = list->next) {
        if (list->key == key) {
            return list->value;
        }
    }
    return 0;
}

GX_NOINLINE static uint16_t list_work(uint32_t seed)
{
    struct item *list = NULL;
    uint16_t crc = 0;

    for (uint32_t i = 0; i < ITEMS; i++) {
        seed = seed * 1103515245u + 12345;
        items[i].key = seed >> 8;
        items[i].value = seed ^ i;
        items[i].next = list;
        list = &items[i];
    }
    for (uint32_t i = 0; i < 8; i++) {
        crc = crc_word(find(list, items[i * 16].key), crc);
    }
    list = reverse(sort(list, by_key));
    crc = crc_word(list->value, crc);
    list = sort(list, by_value);
    for (int i = 0; i < 8; i++) {
        crc = crc_word(list->key, crc);
        list = list->next;
    }
    return crc;
}

/* Matrices. */

static int16_t left[SIZE][SIZE];
static int16_t right[SIZE][SIZE];
static int32_t product[SIZE][SIZE];

GX_NOINLINE static void multiply(void)
{
    for (int row = 0; row < SIZE; row++) {
        for (int column = 0; column < SIZE; column++) {
            int32_t sum = 0;

            for (int i = 0; i < SIZE; i++) {
                sum += left[row][i] * right[i][column];
            }
            product[row][column] = sum;
        }
    }
}

GX_NOINLINE static uint16_t matrix_work(uint32_t seed)
{
    uint16_t crc = 0;

    for (int row = 0; row < SIZE; row++) {
        for (int column = 0; column < SIZE; column++) {
            seed = seed * 69069 + 1;
            left[row][column] = (int16_t)(seed >> 20);
            right[row][column] = (int16_t)((seed >> 12) & 0xff);
        }
    }
    multiply();
    for (int i = 0; i < SIZE; i++) {
        crc = crc_word((uint32_t)product[i][i], crc);
    }
    return crc;
}

/* State machine: what kind of number each word is. */

enum state { BEGIN, SIGN, INTEGER, POINT, FRACTION, EXPONENT, EXPONENT_SIGN, SCIENTIFIC, WRONG, STATES };

static enum state step(enum state state, char c)
{
    int digit = c >= '0' && c <= '9';

    switch (state) {
    case BEGIN:
        return digit ? INTEGER : c == '+' || c == '-' ? SIGN : c == '.' ? POINT : WRONG;
    case SIGN:
        return digit ? INTEGER : c == '.' ? POINT : WRONG;
    case INTEGER:
        return digit ? INTEGER : c == '.' ? FRACTION : c == 'e' ? EXPONENT : WRONG;
    case POINT:
        return digit ? FRACTION : WRONG;
    case FRACTION:
        return digit ? FRACTION : c == 'e' ? EXPONENT : WRONG;
    case EXPONENT:
        return digit ? SCIENTIFIC : c == '+' || c == '-' ? EXPONENT_SIGN : WRONG;
    case EXPONENT_SIGN:
        return digit ? SCIENTIFIC : WRONG;
    case SCIENTIFIC:
        return digit ? SCIENTIFIC : WRONG;
    default:
        return WRONG;
    }
}

GX_NOINLINE static uint16_t state_work(uint32_t seed)
{
    static const char *const words[] = {
        "5012,", "-874,", "+122.5,", "0.1e-3,", "seven,", "-.1,", "33e7,", "4e+,", "12.75e10,", "1-2,",
    };
    uint32_t seen[STATES] = { 0 };
    uint16_t crc = 0;

    for (int i = 0; i < 40; i++) {
        const char *at;
        enum state state = BEGIN;

        seed = seed * 69069 + 1;
        for (at = words[(seed >> 16) % 10]; *at != ','; at++) {
            state = step(state, *at);
        }
        seen[state]++;
    }
    for (int i = 0; i < STATES; i++) {
        crc = crc_word(seen[i], crc);
    }
    return crc;
}

int main(void)
{
    static uint16_t (*const volatile works[])(uint32_t) = { list_work, matrix_work, state_work };
    uint16_t crc = 0xffff;

    gx_counters.magic = GX_MAGIC;
    for (uint32_t round = 0; round < ITER; round++) {
        for (int i = 0; i < 3; i++) {
#ifdef FRESH
            crc = crc_word(works[i](round ^ crc), crc);
#else
            crc = crc_word(works[i]((uint32_t)i), crc);
#endif
        }
        gx_counters.iterations++;
        gx_counters.checksum = crc;
    }
    gx_report("bench");
    return 0;
}
