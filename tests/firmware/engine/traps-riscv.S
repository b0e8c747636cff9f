/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recovered faults of `traps`, RISC-V. */

    .section .text.traps, "ax"
    .global port_setup
    .type   port_setup, %function
port_setup:
    ret
    .size   port_setup, . - port_setup

    .global port_stop
    .type   port_stop, %function
port_stop:
    ret
    .size   port_stop, . - port_stop

    .global port_fault
    .type   port_fault, %function
    .option push
    .option norvc
port_fault:
    lui     a0, 0x08000
    li      a1, 1
    lw      a2, 0(a0)               /* nothing is there */
    addi    a1, a1, 1
    ret
    .size   port_fault, . - port_fault

/* Goes on after the load of four bytes; riscv_trap() counts the fault. */
    .global riscv_access_fault
    .type   riscv_access_fault, %function
riscv_access_fault:
    lw      a1, 0(a0)
    addi    a1, a1, 4
    sw      a1, 0(a0)
    ret
    .size   riscv_access_fault, . - riscv_access_fault
    .option pop
