/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The second core of the virt board: PSCI's CPU_ON (Arm DEN 0022, 5.1.4). */
#include "aarch64.h"
#include "smp.h"

extern char __second_stack_top[];

/* Entered with the context, the stack, in x0. */
__asm__(".text\n"
        ".type second_entry, %function\n"
        "second_entry:\n\t"
        "mov sp, x0\n\t"
        "bl second_main\n"
        ".size second_entry, . - second_entry");
void second_entry(void);

void smp_start_second(void)
{
    register uint64_t function __asm__("x0") = 0xc4000003;
    register uint64_t core __asm__("x1") = 1;
    register uint64_t entry __asm__("x2") = (uintptr_t)second_entry;
    register uint64_t context __asm__("x3") = (uintptr_t)__second_stack_top;

    __asm__ volatile("hvc #0" : "+r"(function) : "r"(core), "r"(entry), "r"(context) : "memory");
}
