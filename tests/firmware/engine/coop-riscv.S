/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The assembler part of `coop` for RISC-V; with -DSCHEDULER it leaves for a scheduler's stack. */
#if __riscv_xlen == 64
#define LOAD ld
#define STORE sd
#define WORD 8
#else
#define LOAD lw
#define STORE sw
#define WORD 4
#endif

    .macro function name
    .section .text.\name, "ax"
    .balign 4
    .global \name
    .type   \name, %function
\name:
    .endm

    .macro end name
    .size   \name, . - \name
    .endm

    .macro restore
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
    LOAD    s\n, \n * WORD(sp)
    .endr
    LOAD    ra, 12 * WORD(sp)
    addi    sp, sp, 16 * WORD
    ret
    .endm

    function coop_switch
    addi    sp, sp, -16 * WORD
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
    STORE   s\n, \n * WORD(sp)
    .endr
    STORE   ra, 12 * WORD(sp)
    STORE   sp, 0(a0)
#ifdef SCHEDULER
    la      t0, coop_next
    STORE   a1, 0(t0)
    la      t1, coop_stack_end
    mv      sp, t1
    j       coop_schedule
    end coop_switch

    function coop_schedule
    la      t0, coop_next
    LOAD    sp, 0(t0)
    restore
    end coop_schedule
#else
    mv      sp, a1
    restore
    end coop_switch
#endif

    function coop_frame
    addi    a0, a0, -16 * WORD
    STORE   a1, 12 * WORD(a0)
    ret
    end coop_frame

    .bss
    .balign 16
coop_next:
    .space  16
    .space  512
coop_stack_end:
