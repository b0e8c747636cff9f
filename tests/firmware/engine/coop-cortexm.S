/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The assembler part of `coop` for Cortex-M3; with -DSCHEDULER it leaves for a scheduler's stack. */
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

    function coop_switch
    push    {r4-r11, lr}
    str     sp, [r0]
#ifdef SCHEDULER
    ldr     r2, =coop_next
    str     r1, [r2]
    ldr     r3, =coop_stack_end
    mov     sp, r3
    b       coop_schedule
    end coop_switch

    function coop_schedule
    ldr     r2, =coop_next
    ldr.w   sp, [r2]
    pop     {r4-r11, lr}
    bx      lr
    end coop_schedule
#else
    mov     sp, r1
    pop     {r4-r11, pc}
    end coop_switch
#endif

    function coop_frame
    orr     r1, r1, #1
    sub     r0, r0, #40
    str     r1, [r0, #32]
    bx      lr
    end coop_frame

    .bss
    .balign 8
coop_next:
    .space  8
    .space  512
coop_stack_end:
