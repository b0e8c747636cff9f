/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every exception saves all registers on the task's stack and may return on another one. */

    .macro  pairs what
    \what   x0, x1, [sp, #0]
    \what   x2, x3, [sp, #16]
    \what   x4, x5, [sp, #32]
    \what   x6, x7, [sp, #48]
    \what   x8, x9, [sp, #64]
    \what   x10, x11, [sp, #80]
    \what   x12, x13, [sp, #96]
    \what   x14, x15, [sp, #112]
    \what   x16, x17, [sp, #128]
    \what   x18, x19, [sp, #144]
    \what   x20, x21, [sp, #160]
    \what   x22, x23, [sp, #176]
    \what   x24, x25, [sp, #192]
    \what   x26, x27, [sp, #208]
    \what   x28, x29, [sp, #224]
    .endm

    .macro  enter handler
    sub     sp, sp, #272
    pairs   stp
    mrs     x0, elr_el1
    mrs     x1, spsr_el1
    stp     x30, x0, [sp, #240]
    str     x1, [sp, #256]
    mov     x0, sp
    bl      \handler
    b       switch_and_leave
    .endm

    .section .text.tasks_exceptions, "ax"
    .type   synchronous_body, %function
synchronous_body:
    enter   aarch64_synchronous
    .size   synchronous_body, . - synchronous_body

    .type   interrupt_body, %function
interrupt_body:
    enter   aarch64_interrupt
    .size   interrupt_body, . - interrupt_body

    .type   switch_and_leave, %function
switch_and_leave:
    mov     x0, sp
    bl      schedule
    mov     sp, x0
    ldp     x30, x0, [sp, #240]
    ldr     x1, [sp, #256]
    msr     elr_el1, x0
    msr     spsr_el1, x1
    pairs   ldp
    add     sp, sp, #272
    eret
    .size   switch_and_leave, . - switch_and_leave

    .section .text.tasks_vectors, "ax"
    .balign 0x800
tasks_vectors:
    .rept   4
    b       .
    .balign 0x80
    .endr
    .type   vector_synchronous, %function
vector_synchronous:
    b       synchronous_body
    .size   vector_synchronous, . - vector_synchronous
    .balign 0x80
    .type   vector_interrupt, %function
vector_interrupt:
    b       interrupt_body
    .size   vector_interrupt, . - vector_interrupt
    .balign 0x80
    .rept   10
    b       .
    .balign 0x80
    .endr

    .section .text.port, "ax"
    .global port_frame
    .type   port_frame, %function
port_frame:
    sub     x0, x0, #272
    stp     xzr, x1, [x0, #240]
    mov     x2, #0x345              /* EL1h, debug, SError and FIQ masked, interrupts on */
    str     x2, [x0, #256]
    ret
    .size   port_frame, . - port_frame

    .global port_start
    .type   port_start, %function
port_start:
    adrp    x0, tasks_vectors
    add     x0, x0, :lo12:tasks_vectors
    msr     vbar_el1, x0
    isb
    ret
    .size   port_start, . - port_start
