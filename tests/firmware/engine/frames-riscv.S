/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames of two kinds, told by their first word: 0, what a call keeps, gone back to by `ret`; 1, all registers of an
 * interrupted task, gone back to by `mret`. One loop goes to tasks of either kind.
 */
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

    .macro interrupt_return
    LOAD    t0, 1 * WORD(sp)
    csrw    mepc, t0
    li      t0, 0x1880              /* MPP: machine mode, which `mret` clears; MPIE */
    csrs    mstatus, t0
    .irp n, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    LOAD    x\n, (\n + 1) * WORD(sp)
    .endr
    addi    sp, sp, 36 * WORD
    mret
    .endm

    function frames_trap
    addi    sp, sp, -36 * WORD
    STORE   ra, 2 * WORD(sp)
    call    context_save
    csrr    a1, mcause
    li      a0, 0
    call    riscv_trap
    j       context_restore
    end frames_trap

    function context_save
    .irp n, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    STORE   x\n, (\n + 1) * WORD(sp)
    .endr
    li      t0, 1
    STORE   t0, 0(sp)
    csrr    t0, mepc
    STORE   t0, 1 * WORD(sp)
    la      t0, frames_current
    LOAD    t1, 0(t0)
    beqz    t1, 1f
    STORE   sp, 0(t1)
    la      t1, frames_stack_end
    mv      sp, t1
1:  ret
    end context_save

    function context_restore
    la      t0, frames_current
    LOAD    t1, 0(t0)
    beqz    t1, 2f                  /* it came in the loop */
    la      t2, frames_preempt
    lw      t3, 0(t2)
    bnez    t3, 1f
    LOAD    sp, 0(t1)
    interrupt_return
1:  STORE   zero, 0(t0)
2:  la      t1, frames_stack_end
    mv      sp, t1
    j       schedule
    end context_restore

    function schedule
1:  csrci   mstatus, 8
    call    dispatch
    bnez    a0, 2f
    csrsi   mstatus, 8
    nop
    nop
    j       1b
2:  mv      sp, a0
    LOAD    t0, 0(sp)
    beqz    t0, 3f
    interrupt_return
3:  LOAD    ra, 1 * WORD(sp)
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
    LOAD    s\n, (2 + \n) * WORD(sp)
    .endr
    addi    sp, sp, 16 * WORD
    csrsi   mstatus, 8
    ret
    end schedule

    function port_leave
    csrci   mstatus, 8
    addi    sp, sp, -16 * WORD
    STORE   zero, 0(sp)
    STORE   ra, 1 * WORD(sp)
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
    STORE   s\n, (2 + \n) * WORD(sp)
    .endr
    la      t0, frames_current
    LOAD    t1, 0(t0)
    STORE   sp, 0(t1)
    STORE   zero, 0(t0)
    la      t1, frames_stack_end
    mv      sp, t1
    j       schedule
    end port_leave

    function port_frame
    addi    a0, a0, -36 * WORD
    li      t0, 1
    STORE   t0, 0(a0)
    STORE   a1, 1 * WORD(a0)
    STORE   zero, 2 * WORD(a0)
    STORE   gp, 4 * WORD(a0)
    ret
    end port_frame

    function port_start
    la      t0, frames_trap
    csrw    mtvec, t0
    la      t1, frames_stack_end
    mv      sp, t1
    j       schedule
    end port_start

    .bss
    .balign 16
    .space  2048
frames_stack_end:
