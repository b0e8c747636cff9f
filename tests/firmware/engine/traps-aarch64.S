/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Priorities of `traps`, AArch64: the software interrupt before the timer. Faults: see midblock. */

    .section .text.traps, "ax"
    .global port_setup
    .type   port_setup, %function
port_setup:
    ldr     x0, =0x08000400         /* GICD_IPRIORITYR */
    mov     w1, #0x40
    strb    w1, [x0, #1]
    mov     w1, #0x80
    strb    w1, [x0, #27]
    ret
    .ltorg
    .size   port_setup, . - port_setup

    .global port_stop
    .type   port_stop, %function
port_stop:
    ret
    .size   port_stop, . - port_stop

    .global port_fault
    .type   port_fault, %function
port_fault:
    ret
    .size   port_fault, . - port_fault
