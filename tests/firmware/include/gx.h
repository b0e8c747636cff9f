/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What every test firmware shares: counters that tell what the program did, output, exit,
 * and the few things that differ from board to board.
 */
#ifndef GX_H
#define GX_H

#include <stddef.h>
#include <stdint.h>

#define GX_MAGIC 0x47584354u /* "GXCT" */

/*
 * What the program itself counted. Tests read it from guest memory by the symbol's address or
 * from the printed lines; the order of the fields is part of that and only grows at the end.
 */
struct gx_counters {
    uint32_t magic;       /* GX_MAGIC from the first instruction of main on */
    uint32_t iterations;  /* rounds of the main loop that were completed */
    uint32_t interrupts;  /* timer interrupts taken */
    uint32_t pendsv;      /* PendSV exceptions, or software interrupts elsewhere, taken */
    uint32_t svcs;        /* supervisor calls taken (svc, ecall, int 0x80) */
    uint32_t faults;      /* faults taken */
    uint32_t recursive;   /* entries into the recursive function */
    uint32_t indirect;    /* calls through the function-pointer table */
    uint32_t tail;        /* entries into the functions reached by tail calls */
    uint32_t states;      /* steps of the state machine */
    uint32_t checksum;    /* result of the work; does not depend on interrupts */
    uint32_t done;        /* 1 just before the program leaves */
};

extern volatile struct gx_counters gx_counters;

/* Output and end, lib/ and arch/. */
void gx_puts(const char *text);
void gx_put_unsigned(uint32_t value);
void gx_put_hex(uint32_t value);
void gx_put_counter(const char *name, uint32_t value);
void gx_report(const char *program);
void gx_exit(int status) __attribute__((noreturn));
void gx_write(const char *text); /* the architecture's own way out, one string */

/* The board. The timer calls gx_timer_tick(), which the program defines. */
extern const char gx_board_name[];
void board_timer_start(uint32_t period_us);
void board_timer_stop(void);
void board_supervisor_call(void);
void board_software_interrupt(void); /* PendSV on M-profile, a software interrupt elsewhere */
void board_wait(void);               /* sleep until an interrupt */

void gx_timer_tick(void);

int main(void);

#define GX_NOINLINE __attribute__((noinline, noclone))

#endif
