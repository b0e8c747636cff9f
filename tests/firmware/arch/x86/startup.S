/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reset and interrupt entry of the q35 board. QEMU finds the entry point by the PVH note (Xen
 * "PHYS32_ENTRY"), enters in 32-bit protected mode, and we go on to 64-bit mode with the first
 * 4 GiB mapped one to one.
 */

    .section .note.Xen, "a", @note
    .balign 4
    .long   4
    .long   8
    .long   18                  /* XEN_ELFNOTE_PHYS32_ENTRY */
    .asciz  "Xen"
    .quad   _start

    .section .text.start, "ax"
    .code32
    .global _start
    .type _start, @function
_start:
    cli
    cld
    movl    $__stack_top, %esp

    /* Four page directories of 2 MiB pages under one level 4 and one level 3 table. */
    movl    $page_level3 + 3, page_level4
    movl    $page_level2 + 3, %eax
    movl    $page_level3, %edi
    movl    $4, %ecx
1:  movl    %eax, (%edi)
    addl    $0x1000, %eax
    addl    $8, %edi
    loop    1b
    movl    $0x83, %eax
    movl    $page_level2, %edi
    movl    $2048, %ecx
2:  movl    %eax, (%edi)
    addl    $0x200000, %eax
    addl    $8, %edi
    loop    2b

    movl    $page_level4, %eax
    movl    %eax, %cr3
    movl    %cr4, %eax
    orl     $0x20, %eax         /* PAE */
    movl    %eax, %cr4
    movl    $0xc0000080, %ecx   /* EFER */
    rdmsr
    orl     $0x100, %eax        /* LME */
    wrmsr
    movl    %cr0, %eax
    orl     $0x80000001, %eax   /* PG, PE */
    movl    %eax, %cr0
    lgdt    gdt_pointer
    ljmp    $8, $start64
    .size _start, . - _start

    .code64
    .type start64, @function
start64:
    movl    $16, %eax
    movl    %eax, %ds
    movl    %eax, %es
    movl    %eax, %ss
    movq    $__stack_top, %rsp
    leaq    idt_pointer(%rip), %rax
    lidt    (%rax)
    call    x86_setup
    call    main
    movl    %eax, %edi
    call    gx_exit
    .size start64, . - start64

    /* One entry for each vector: an error code (0 where the processor gives none) and the number. */
    .macro entry number, has_error
    .balign 16
    .if \has_error == 0
    pushq   $0
    .endif
    pushq   $\number
    jmp     enter
    .endm

    .section .text.exceptions, "ax"
    .balign 16
    .global x86_entries
    .type x86_entries, @function
x86_entries:
    .altmacro
    .set    vector, 0
    .rept   256
    entry   %vector, %(vector == 8 || (vector >= 10 && vector <= 14) || vector == 17 || vector == 21)
    .set    vector, vector + 1
    .endr
    .noaltmacro
    .size x86_entries, . - x86_entries

    /* The frame: struct x86_frame in x86.h. */
    .type enter, @function
enter:
    pushq   %rax
    pushq   %rbx
    pushq   %rcx
    pushq   %rdx
    pushq   %rsi
    pushq   %rdi
    pushq   %rbp
    pushq   %r8
    pushq   %r9
    pushq   %r10
    pushq   %r11
    pushq   %r12
    pushq   %r13
    pushq   %r14
    pushq   %r15
    cld
    movq    %rsp, %rdi
    movq    %rsp, %rbp
    andq    $-16, %rsp
    call    x86_trap
    movq    %rbp, %rsp
    popq    %r15
    popq    %r14
    popq    %r13
    popq    %r12
    popq    %r11
    popq    %r10
    popq    %r9
    popq    %r8
    popq    %rbp
    popq    %rdi
    popq    %rsi
    popq    %rdx
    popq    %rcx
    popq    %rbx
    popq    %rax
    addq    $16, %rsp
    iretq
    .size enter, . - enter

    .data
    .balign 8
gdt:
    .quad   0
    .quad   0x00af9a000000ffff  /* 8: 64-bit code */
    .quad   0x00cf92000000ffff  /* 16: data */
gdt_pointer:
    .word   . - gdt - 1
    .long   gdt
    .balign 8
idt_pointer:
    .word   256 * 16 - 1
    .quad   x86_idt

    .bss
    .balign 4096
    .global page_level2
page_level4:
    .space  4096
page_level3:
    .space  4096
page_level2:
    .space  4 * 4096

    .section .note.GNU-stack, "", @progbits
