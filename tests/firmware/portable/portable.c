/*
 * Calls of many kinds in portable C: the same calls are made wherever it runs, so that a profiler on the host tells the
 * truth about a board. No division and nothing else that some compilers make a call of.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "portable.h"

#define N_ITEMS 40
#define N_NODES 24

typedef int (*comparison)(unsigned, unsigned);
typedef unsigned (*visitor)(unsigned value, void *context);
typedef unsigned (*operation)(unsigned, unsigned);

struct node {
    struct node *left, *right;
    unsigned key;
};

static struct node nodes[N_NODES];
static unsigned n_nodes;
static unsigned seed = 12345;

static unsigned draw(void)
{
    seed = seed * 1664525u + 1013904223u;
    return seed >> 16;
}

/* --- recursion, alone and in a circle ---------------------------------------------------------- */

static unsigned fibonacci(unsigned n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static unsigned ackermann(unsigned m, unsigned n)
{
    if (m == 0) {
        return n + 1;
    }
    return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

static unsigned male(unsigned n);

/* Hofstadter's two sequences, each made of the other. */
static unsigned female(unsigned n)
{
    return n == 0 ? 1 : n - male(female(n - 1));
}

static unsigned male(unsigned n)
{
    return n == 0 ? 0 : n - female(male(n - 1));
}

static unsigned third(unsigned n);

static unsigned first(unsigned n)
{
    return n == 0 ? 1 : third(n - 1) + 2;
}

static unsigned second(unsigned n)
{
    return n == 0 ? 2 : first(n - 1) ^ 4;
}

static unsigned third(unsigned n)
{
    return n == 0 ? 3 : second(n - 1) + (n & 1 ? first(n >> 1) : 0);
}

/* --- callbacks ----------------------------------------------------------------------------------- */

static int ascending(unsigned a, unsigned b)
{
    return a < b ? -1 : a > b;
}

static int descending(unsigned a, unsigned b)
{
    return -ascending(a, b);
}

static void swap(unsigned *a, unsigned *b)
{
    unsigned kept = *a;
    *a = *b;
    *b = kept;
}

static void sort(unsigned *items, int low, int high, comparison compare)
{
    int last = low;
    if (low >= high) {
        return;
    }
    swap(&items[low], &items[low + ((high - low) >> 1)]);
    for (int i = low + 1; i <= high; i++) {
        if (compare(items[i], items[low]) < 0) {
            swap(&items[++last], &items[i]);
        }
    }
    swap(&items[low], &items[last]);
    sort(items, low, last - 1, compare);
    sort(items, last + 1, high, compare);
}

static unsigned sum_up(unsigned value, void *context)
{
    return *(unsigned *)context += value;
}

static struct node *insert(struct node *tree, unsigned key);

/* A callback that goes on into the function which calls it, on another tree. */
static unsigned copy_into(unsigned value, void *context)
{
    struct node **tree = context;
    if (n_nodes < N_NODES) {
        *tree = insert(*tree, value ^ 0x55);
    }
    return value;
}

static struct node *insert(struct node *tree, unsigned key)
{
    if (tree == 0) {
        tree = &nodes[n_nodes++];
        tree->left = tree->right = 0;
        tree->key = key;
    } else if (ascending(key, tree->key) < 0) {
        tree->left = insert(tree->left, key);
    } else {
        tree->right = insert(tree->right, key);
    }
    return tree;
}

static unsigned walk(const struct node *tree, visitor visit, void *context)
{
    unsigned value;
    if (tree == 0) {
        return 0;
    }
    value = walk(tree->left, visit, context);
    value ^= visit(tree->key, context);
    return value + walk(tree->right, visit, context);
}

/* --- function pointers ------------------------------------------------------------------------- */

static unsigned add(unsigned a, unsigned b)
{
    return a + b;
}

static unsigned both(unsigned a, unsigned b)
{
    return add(a, b) ^ add(b, 1);
}

static unsigned never(unsigned a, unsigned b)
{
    return a - b;
}

static unsigned machine(unsigned a, unsigned b);

static const operation operations[] = { add, both, machine, never };

/* One step of a table-driven machine; now and then a step is the machine itself. */
static unsigned machine(unsigned a, unsigned b)
{
    for (unsigned step = 0; step < 3; step++) {
        unsigned which = b == 0 ? 0 : draw() & 3;
        a = operations[which == 3 ? 0 : which](a, b >> 1);
    }
    return a;
}

/* Calls what it is given with what it is given. */
static unsigned twice(operation operate, unsigned a, unsigned b)
{
    return operate(operate(a, b), b);
}

static unsigned exercise_callbacks(void)
{
    unsigned items[N_ITEMS], sum = 0;
    struct node *tree = 0, *copy = 0;
    for (int i = 0; i < N_ITEMS; i++) {
        items[i] = draw();
    }
    sort(items, 0, N_ITEMS - 1, ascending);
    sort(items, 0, N_ITEMS - 1, descending);
    for (int i = 0; i < 10; i++) {
        tree = insert(tree, items[i * 3 & 31]);
    }
    walk(tree, copy_into, &copy);
    walk(copy, sum_up, &sum);
    return sum ^ items[0];
}

unsigned exercise(void)
{
    unsigned total = fibonacci(9) + ackermann(2, 3) + female(12) + male(9) + first(20);
    total ^= exercise_callbacks();
    total += twice(add, total, 3) ^ twice(both, total, 5);
    for (unsigned i = 0; i < 6; i++) {
        total ^= machine(total, 9);
    }
    return total;
}
