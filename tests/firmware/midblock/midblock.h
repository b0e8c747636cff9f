/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the architecture gives to midblock.c. */
#ifndef MIDBLOCK_H
#define MIDBLOCK_H

#include <stdint.h>

/* What the fault handler does with the next fault. */
enum recovery {
    RECOVER_SKIP,    /* go on behind the instruction */
    RECOVER_RESTART, /* remove the cause and execute the instruction again */
    RECOVER_NOT,     /* report and leave the program, from the handler */
};

extern volatile enum recovery midblock_recovery;

/* Faults that cannot be recovered end here, in the handler. */
void midblock_give_up(void) __attribute__((noreturn));

/*
 * Each is one straight piece of code without branches, whose middle does what its name says.
 * The result depends on every instruction of the piece.
 */
void midblock_setup(void);
uint32_t midblock_interrupt(uint32_t seed);   /* a device store that raises an interrupt at once */
uint32_t midblock_device_read(uint32_t seed); /* a device load that raises nothing */
uint32_t midblock_fault(uint32_t seed);       /* a load that faults */
uint32_t midblock_multiple(uint32_t seed);    /* a load of several words that faults in some */

#endif
