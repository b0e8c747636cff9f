/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reset, exception vectors and semihosting of the virt AArch64 board. QEMU enters at EL1. */

    .section .text.start, "ax"
    .global _start
    .type _start, %function
_start:
    msr     daifset, #15
    adrp    x1, vectors
    add     x1, x1, :lo12:vectors
    msr     vbar_el1, x1
    isb
    ldr     x1, =__stack_top
    mov     sp, x1
    ldr     x1, =__bss_start
    ldr     x2, =__bss_end
1:  cmp     x1, x2
    b.hs    2f
    str     xzr, [x1], #8
    b       1b
2:  bl      main
    bl      gx_exit
    .size _start, . - _start

/* x0 = aarch64_semihosting(operation, argument) */
    .section .text.semihosting, "ax"
    .global aarch64_semihosting
    .type aarch64_semihosting, %function
aarch64_semihosting:
    hlt     #0xf000
    ret
    .size aarch64_semihosting, . - aarch64_semihosting

/* The frame: x0 to x30, ELR, SPSR (struct aarch64_frame in board.c). */
    .macro enter handler
    sub     sp, sp, #272
    stp     x0, x1, [sp, #0]
    stp     x2, x3, [sp, #16]
    stp     x4, x5, [sp, #32]
    stp     x6, x7, [sp, #48]
    stp     x8, x9, [sp, #64]
    stp     x10, x11, [sp, #80]
    stp     x12, x13, [sp, #96]
    stp     x14, x15, [sp, #112]
    stp     x16, x17, [sp, #128]
    stp     x18, x19, [sp, #144]
    stp     x20, x21, [sp, #160]
    stp     x22, x23, [sp, #176]
    stp     x24, x25, [sp, #192]
    stp     x26, x27, [sp, #208]
    stp     x28, x29, [sp, #224]
    mrs     x0, elr_el1
    mrs     x1, spsr_el1
    stp     x30, x0, [sp, #240]
    str     x1, [sp, #256]
    mov     x0, sp
    bl      \handler
    b       leave
    .endm

    .section .text.exceptions, "ax"
    .type synchronous, %function
synchronous:
    enter   aarch64_synchronous
    .size synchronous, . - synchronous

    .type interrupt, %function
interrupt:
    enter   aarch64_interrupt
    .size interrupt, . - interrupt

    .type leave, %function
leave:
    ldp     x30, x0, [sp, #240]
    ldr     x1, [sp, #256]
    msr     elr_el1, x0
    msr     spsr_el1, x1
    ldp     x0, x1, [sp, #0]
    ldp     x2, x3, [sp, #16]
    ldp     x4, x5, [sp, #32]
    ldp     x6, x7, [sp, #48]
    ldp     x8, x9, [sp, #64]
    ldp     x10, x11, [sp, #80]
    ldp     x12, x13, [sp, #96]
    ldp     x14, x15, [sp, #112]
    ldp     x16, x17, [sp, #128]
    ldp     x18, x19, [sp, #144]
    ldp     x20, x21, [sp, #160]
    ldp     x22, x23, [sp, #176]
    ldp     x24, x25, [sp, #192]
    ldp     x26, x27, [sp, #208]
    ldp     x28, x29, [sp, #224]
    add     sp, sp, #272
    eret
    .size leave, . - leave

    .type unexpected, %function
unexpected:
    mov     x0, #3
    bl      gx_exit
    .size unexpected, . - unexpected

    .macro vector target
    .balign 0x80
    b       \target
    .endm

    .section .text.vectors, "ax"
    .balign 0x800
    .global vectors
vectors:
    vector  unexpected
    vector  unexpected
    vector  unexpected
    vector  unexpected
    vector  synchronous
    vector  interrupt
    vector  unexpected
    vector  unexpected
    .rept 8
    vector  unexpected
    .endr
