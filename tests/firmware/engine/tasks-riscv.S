/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every trap saves all registers on the task's stack and may return on another one. */
#if __riscv_xlen == 64
#define LOAD ld
#define STORE sd
#define WORD 8
#else
#define LOAD lw
#define STORE sw
#define WORD 4
#endif

    .section .text.tasks_trap, "ax"
    .balign 4
    .global tasks_trap
    .type   tasks_trap, %function
tasks_trap:
    addi    sp, sp, -32 * WORD
    .irp n, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    STORE   x\n, \n * WORD(sp)
    .endr
    csrr    t0, mepc
    STORE   t0, 0(sp)
    mv      a0, sp
    csrr    a1, mcause
    call    riscv_trap
    mv      a0, sp
    call    schedule
    mv      sp, a0
    LOAD    t0, 0(sp)
    csrw    mepc, t0
    .irp n, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    LOAD    x\n, \n * WORD(sp)
    .endr
    addi    sp, sp, 32 * WORD
    mret
    .size   tasks_trap, . - tasks_trap

    .section .text.port, "ax"
    .global port_frame
    .type   port_frame, %function
port_frame:
    addi    a0, a0, -32 * WORD
    STORE   a1, 0(a0)
    STORE   gp, 3 * WORD(a0)
    STORE   zero, 1 * WORD(a0)
    ret
    .size   port_frame, . - port_frame

    .global port_start
    .type   port_start, %function
port_start:
    la      t0, tasks_trap
    csrw    mtvec, t0
    ret
    .size   port_start, . - port_start
