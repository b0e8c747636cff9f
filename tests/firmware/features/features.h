/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions of the symbol test program, by the file that has them. */
#ifndef FEATURES_H
#define FEATURES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* dwarf2.c to dwarf5.c: the same code with each version of DWARF. */
uint32_t dwarf2_work(uint32_t value);
uint32_t dwarf3_work(uint32_t value);
uint32_t dwarf4_work(uint32_t value);
uint32_t dwarf5_work(uint32_t value);

/* aliases.c: several names for one address. */
uint32_t alias_real(uint32_t value);
uint32_t alias_weak(uint32_t value);
uint32_t alias_strong(uint32_t value);
uint32_t folded_second(uint32_t value);
uint32_t overridden(uint32_t value);

/* assembler.S */
uint32_t assembler_plain(uint32_t value);    /* neither size nor type */
uint32_t assembler_sized(uint32_t value);    /* both */
uint32_t assembler_two_doors(uint32_t value); /* falls into assembler_second_door */
uint32_t assembler_second_door(uint32_t value);
uint32_t assembler_literal(uint32_t value);  /* data between instructions */

/* discarded.c */
uint32_t kept(uint32_t value);
uint32_t discarded(uint32_t value);
uint32_t discarded_as_well(uint32_t value);

/* shapes.cpp */
uint32_t shapes(uint32_t value);

/* stripped.c: no debug information */
uint32_t without_debug(uint32_t value);

#ifdef __cplusplus
}
#endif

#endif
