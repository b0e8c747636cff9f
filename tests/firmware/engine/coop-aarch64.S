/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The assembler part of `coop` for AArch64; with -DSCHEDULER it leaves for a scheduler's stack. */

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

    .macro pairs what
    \what   x19, x20, [sp, #0]
    \what   x21, x22, [sp, #16]
    \what   x23, x24, [sp, #32]
    \what   x25, x26, [sp, #48]
    \what   x27, x28, [sp, #64]
    \what   x29, x30, [sp, #80]
    .endm

    .macro restore
    pairs   ldp
    add     sp, sp, #96
    ret
    .endm

    function coop_switch
    sub     sp, sp, #96
    pairs   stp
    mov     x9, sp
    str     x9, [x0]
#ifdef SCHEDULER
    adrp    x10, coop_next
    str     x1, [x10, :lo12:coop_next]
    adrp    x11, coop_stack_end
    add     x11, x11, :lo12:coop_stack_end
    mov     sp, x11
    b       coop_schedule
    end coop_switch

    function coop_schedule
    adrp    x10, coop_next
    ldr     x9, [x10, :lo12:coop_next]
    mov     sp, x9
    restore
    end coop_schedule
#else
    mov     sp, x1
    restore
    end coop_switch
#endif

    function coop_frame
    sub     x0, x0, #96
    stp     xzr, x1, [x0, #80]
    ret
    end coop_frame

    .bss
    .balign 16
coop_next:
    .space  16
    .space  1024
coop_stack_end:
