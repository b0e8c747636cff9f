/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Books: what a program itself knows of its calls, to compare with what is reconstructed from outside.
 *
 * Each context (a task, a handler) has a tree of the paths of calls that were taken in it. A
 * function begins with ENTER(name), or TAILED(name) where it is reached by a tail call; whoever
 * calls one says CALL(expression), which comes back to its own place in the tree also after a
 * longjmp. A program lists its functions as BOOKS(X) and the trees as TREES(X) before it includes
 * this file. Functions in assembler count themselves in `book_NAME`.
 */
#ifndef BOOKS_H
#define BOOKS_H

#include "gx.h"

#define NODES_MAX 160

struct book_node {
    uint16_t parent;
    uint8_t function;
    uint8_t tail;
    uint32_t calls;
};

struct book_tree {
    const char *name;
    uint32_t at; /* the node of what runs */
    uint32_t count;
    struct book_node nodes[NODES_MAX]; /* [0] is the root */
};

/* The tree of the context that runs. */
extern struct book_tree *volatile book_now;

#define BOOK_NUMBER(name) BOOK_##name,
enum book_function { BOOK_NONE, BOOKS(BOOK_NUMBER) BOOKS_COUNT };

/* Printed as `counter path:TREE/F/G N` and `counter calls:F N`. */
void books_print(struct book_tree *const trees[], int n_trees);
void book_print_calls(const char *name, uint32_t calls);
extern const char *const book_names[];

#define BOOK_INLINE static inline __attribute__((always_inline))

/* A tail call that comes round to a function of the same chain is in its node again. */
BOOK_INLINE int book_comes_round(struct book_tree *t, uint32_t function)
{
    for (uint32_t n = t->at; n != 0; n = t->nodes[n].parent) {
        if (t->nodes[n].function == function) {
            t->nodes[n].calls++;
            t->at = n;
            return 1;
        }
        if (!t->nodes[n].tail) {
            break;
        }
    }
    return 0;
}

BOOK_INLINE void book_enter(uint32_t function, uint32_t tail)
{
    struct book_tree *t = book_now;
    uint32_t n;

    if (tail && book_comes_round(t, function)) {
        return;
    }
    for (n = 1; n <= t->count; n++) {
        const struct book_node *node = &t->nodes[n];

        if (node->parent == t->at && node->function == function && node->tail == tail) {
            break;
        }
    }
    if (n > t->count) {
        t->count = n;
        t->nodes[n].parent = (uint16_t)t->at;
        t->nodes[n].function = (uint8_t)function;
        t->nodes[n].tail = (uint8_t)tail;
    }
    t->nodes[n].calls++;
    t->at = n;
}

#define ENTER(name) book_enter(BOOK_##name, 0)
#define TAILED(name) book_enter(BOOK_##name, 1)

#define CALL(expression)                                        \
    ({                                                          \
        uint32_t at_ = book_now->at;                            \
        __typeof__(expression) value_ = (expression);           \
        book_now->at = at_;                                     \
        value_;                                                 \
    })

#define RUN(statement)                                          \
    do {                                                        \
        uint32_t at_ = book_now->at;                            \
        statement;                                              \
        book_now->at = at_;                                     \
    } while (0)

/* A handler's function: its own tree while it runs. */
#define HANDLER_BEGIN(tree, name)                               \
    struct book_tree *interrupted_ = book_now;                  \
    book_now = &(tree);                                         \
    book_now->at = 0;                                           \
    ENTER(name)
#define HANDLER_END() (book_now = interrupted_)

/* Functions as they are written: not inlined, not cloned, not merged. */
#define KEPT __attribute__((noipa))
/* The same, and its last call is a tail call also in a build without optimisation. */
#define KEPT_TAIL __attribute__((noipa, optimize("O2")))

#endif
