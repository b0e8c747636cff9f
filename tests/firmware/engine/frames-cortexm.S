/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames of two kinds, told by their first word: 0, what a call keeps, gone back to by `bx lr`; 1, r4-r11 and what the core
 * keeps, gone back to by an exception return (SVC). One loop, in thread mode, goes to tasks of either kind.
 */
    .syntax unified
    .thumb

    .macro function name
    .section .text.\name, "ax"
    .balign 4
    .global \name
    .type   \name, %function
    .thumb_func
\name:
    .endm

    .macro end name
    .ltorg
    .size   \name, . - \name
    .endm

    function schedule
1:  cpsid   i
    bl      dispatch
    cbnz    r0, 2f
    cpsie   i
    isb
    nop
    b       1b
2:  ldr     r1, [r0]
    cbnz    r1, 3f
    adds    r0, #4
    mov     sp, r0
    pop     {r4-r11, lr}
    cpsie   i
    bx      lr
3:  ldr     r1, =frames_sp
    str     r0, [r1]
    cpsie   i
    svc     #1
4:  b       4b
    end schedule

    function port_leave
    cpsid   i
    push    {r4-r11, lr}
    movs    r0, #0
    push    {r0}
    ldr     r1, =frames_current
    ldr     r2, [r1]
    mov     r3, sp
    str     r3, [r2]
    str     r0, [r1]
    ldr     r3, =frames_stack_end
    mov     sp, r3
    b       schedule
    end port_leave

    function SVC_Handler
    ldr     r0, =frames_sp
    ldr     r0, [r0]
    adds    r0, #4
    ldmia   r0!, {r4-r11}
    msr     psp, r0
    bx      lr
    end SVC_Handler

/* A task is interrupted for good: to the loop. */
    function PendSV_Handler
    ldr     r1, =frames_current
    ldr     r2, [r1]
    cbz     r2, 1f
    mrs     r0, psp
    stmdb   r0!, {r4-r11}
    movs    r3, #1
    str     r3, [r0, #-4]!
    str     r0, [r2]
    movs    r2, #0
    str     r2, [r1]
    ldr     r0, =frames_stack_end - 32
    ldr     r1, =schedule
    bic     r1, r1, #1
    str     r1, [r0, #24]
    mov     r1, #0x01000000
    str     r1, [r0, #28]
    msr     psp, r0
1:  bx      lr
    end PendSV_Handler

    function port_frame
    sub     r0, r0, #72
    movs    r2, #1
    str     r2, [r0]
    bic     r1, r1, #1
    str     r1, [r0, #60]
    mov     r2, #0x01000000
    str     r2, [r0, #64]
    mvn     r2, #0
    str     r2, [r0, #56]
    bx      lr
    end port_frame

/* SysTick above PendSV; the loop on the process stack. */
    function port_start
    ldr     r0, =0xe000ed20
    ldr     r1, =0x80ff0000
    str     r1, [r0]
    ldr     r0, =frames_stack_end
    msr     psp, r0
    movs    r0, #2
    msr     control, r0
    isb
    b       schedule
    end port_start

    .bss
    .balign 8
frames_sp:
    .space  8
    .space  1024
frames_stack_end:
