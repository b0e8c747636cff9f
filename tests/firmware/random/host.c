/*
 * Runs a random program on the host, compiled with -finstrument-functions, and tells its calls: `arc CALLER CALLEE CALLS` and
 * `depth FUNCTION DEPTH CALLS`. A tail call counts like any other: with these hooks the compiler makes none.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdio.h>
#include <stdlib.h>

#include "random.h"

#define HOOK __attribute__((no_instrument_function))
#define FUNCTIONS_MAX 64
#define DEPTH_MAX 1000

static int stack[DEPTH_MAX];
static int depth;
static unsigned arcs[FUNCTIONS_MAX][FUNCTIONS_MAX];
static unsigned depths[FUNCTIONS_MAX][DEPTH_MAX];

HOOK static int number_of(void *code)
{
    for (int i = 0; random_functions[i].code; i++) {
        if (random_functions[i].code == code) {
            return i;
        }
    }
    fprintf(stderr, "a function that is not listed\n");
    exit(1);
}

HOOK void __cyg_profile_func_enter(void *code, void *site)
{
    int number = number_of(code);
    (void)site;
    if (depth) {
        arcs[stack[depth - 1]][number]++;
    }
    if (depth >= DEPTH_MAX || number >= FUNCTIONS_MAX) {
        fprintf(stderr, "too deep, or too many functions\n");
        exit(1);
    }
    depths[number][depth]++;
    stack[depth++] = number;
}

HOOK void __cyg_profile_func_exit(void *code, void *site)
{
    (void)code;
    (void)site;
    depth--;
}

HOOK int main(void)
{
    printf("counter total %u\n", random_program());
    for (int i = 0; random_functions[i].code; i++) {
        for (int j = 0; random_functions[j].code; j++) {
            if (arcs[i][j]) {
                printf("arc %s %s %u\n", random_functions[i].name, random_functions[j].name, arcs[i][j]);
            }
        }
        for (int j = 0; j < DEPTH_MAX; j++) {
            if (depths[i][j]) {
                printf("depth %s %d %u\n", random_functions[i].name, j, depths[i][j]);
            }
        }
    }
    return 0;
}
