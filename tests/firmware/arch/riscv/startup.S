/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reset, trap entry and semihosting of the virt RISC-V boards, in M-mode. */

#if __riscv_xlen == 64
#define LOAD ld
#define STORE sd
#define WORD 8
#else
#define LOAD lw
#define STORE sw
#define WORD 4
#endif

    .section .text.start, "ax"
    .global _start
    .type _start, %function
_start:
    la      t0, trap_entry
    csrw    mtvec, t0
    csrr    t0, mhartid
    bnez    t0, 3f
    la      sp, __stack_top
    la      t1, __bss_start
    la      t2, __bss_end
1:  bgeu    t1, t2, 2f
    STORE   zero, 0(t1)
    addi    t1, t1, WORD
    j       1b
2:  call    main
    call    gx_exit
3:  la      sp, __second_stack_top  /* another hart: waits until it is given work */
    la      t1, second_entry
4:  LOAD    t0, 0(t1)
    beqz    t0, 4b
    jalr    t0
5:  j       5b
    .size _start, . - _start

    .data                           /* not cleared by the first hart */
    .balign WORD
    .global second_entry
second_entry:
    .space  WORD

/* a0 = riscv_semihosting(operation, argument) */
    .section .text.semihosting, "ax"
    .option push
    .option norvc
    .balign 16
    .global riscv_semihosting
    .type riscv_semihosting, %function
riscv_semihosting:
    slli    zero, zero, 0x1f
    ebreak
    srai    zero, zero, 7
    ret
    .size riscv_semihosting, . - riscv_semihosting
    .option pop

/* The frame: x1 to x31 by number, x0's place holds mepc (struct riscv_frame in riscv.h). */
    .section .text.trap, "ax"
    .balign 4
    .global trap_entry
    .type trap_entry, %function
trap_entry:
    addi    sp, sp, -32 * WORD
    .irp n, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    STORE   x\n, \n * WORD(sp)
    .endr
    csrr    t0, mepc
    STORE   t0, 0(sp)
    mv      a0, sp
    csrr    a1, mcause
    call    riscv_trap
    LOAD    t0, 0(sp)
    csrw    mepc, t0
    .irp n, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    LOAD    x\n, \n * WORD(sp)
    .endr
    addi    sp, sp, 32 * WORD
    mret
    .size trap_entry, . - trap_entry
