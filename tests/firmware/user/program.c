/*
 * A static Linux program without a C library: calls, recursion, a function pointer, a signal for which there is a handler.
 * It tells how often it ran what by its output, and ends with the status 7. `threads` and `fork` are other ends of it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
typedef unsigned long word;

#if defined(__x86_64__)
enum { WRITE = 1, SIGACTION = 13, GETPID = 39, CLONE = 56, FORK = 57, EXIT = 60, KILL = 62, WAIT = 61, GROUP = 231 };
#define RESTORER 0x04000000
static inline __attribute__((always_inline)) word call(word n, word a, word b, word c, word d)
{
    register word r10 __asm__("r10") = d;
    word result;

    __asm__ volatile("syscall" : "=a"(result) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
    return result;
}
__asm__(".globl _start\n_start: xor %ebp, %ebp\n and $-16, %rsp\n call program\n");
__asm__(".globl restore\n.type restore, @function\nrestore: mov $15, %rax\n syscall\n.size restore, 9\n");
#elif defined(__arm__)
enum { WRITE = 4, SIGACTION = 174, GETPID = 20, CLONE = 120, FORK = 2, EXIT = 1, KILL = 37, WAIT = 114, GROUP = 248 };
#define RESTORER 0x04000000
static inline __attribute__((always_inline)) word call(word n, word a, word b, word c, word d)
{
    register word r7 __asm__("r7") = n;
    register word r0 __asm__("r0") = a;
    register word r1 __asm__("r1") = b;
    register word r2 __asm__("r2") = c;
    register word r3 __asm__("r3") = d;

    __asm__ volatile("svc 0" : "+r"(r0) : "r"(r7), "r"(r1), "r"(r2), "r"(r3) : "memory");
    return r0;
}
__asm__(".arm\n.globl _start\n.type _start, %function\n_start: bl program\n");
__asm__(".arm\n.globl restore\n.type restore, %function\nrestore: mov r7, #119\n svc 0\n.size restore, 8\n");
#else /* aarch64, riscv64: the kernel's generic numbers */
#define RESTORER 0x04000000
enum { WRITE = 64, SIGACTION = 134, GETPID = 172, CLONE = 220, EXIT = 93, KILL = 129, WAIT = 260, GROUP = 94 };
#if defined(__aarch64__)
#define NUMBER "x8"
#define TRAP   "svc 0"
#define ARG(n) "x" #n
__asm__(".globl _start\n_start: bl program\n");
__asm__(".globl restore\n.type restore, %function\nrestore: mov x8, #139\n svc 0\n.size restore, 8\n");
#else
#define NUMBER "a7"
#define TRAP   "ecall"
#define ARG(n) "a" #n
__asm__(
    ".globl _start\n_start: .option push\n .option norelax\n la gp, __global_pointer$\n .option pop\n call program\n");
#endif
static inline __attribute__((always_inline)) word call(word n, word a, word b, word c, word d)
{
    register word number __asm__(NUMBER) = n;
    register word r0 __asm__(ARG(0)) = a;
    register word r1 __asm__(ARG(1)) = b;
    register word r2 __asm__(ARG(2)) = c;
    register word r3 __asm__(ARG(3)) = d;

    __asm__ volatile(TRAP : "+r"(r0) : "r"(number), "r"(r1), "r"(r2), "r"(r3) : "memory");
    return r0;
}
#endif

#define NOINLINE __attribute__((noinline))
volatile int twice_calls, tree_calls, handled, sum;
struct action {
    void (*handler)(int);
    word flags;
#if !defined(__riscv)
    void (*restorer)(void);
#endif
    word mask[2];
};
#if !defined(__riscv)
extern void restore(void);
#endif

NOINLINE int twice(int n)
{
    twice_calls++;
    return 2 * n;
}

NOINLINE int tree(int n)
{
    tree_calls++;
    return n < 2 ? n : tree(n - 1) + tree(n - 2);
}

NOINLINE void note(void) { handled++; }

void on_signal(int number)
{
    (void)number;
    note();
}

NOINLINE void other(void) /* the second thread, or process */
{
    for (int i = 0; i < 100000; i++) {
        sum++;
    }
}

NOINLINE void tell(int number)
{
    char text[12];
    int at = sizeof(text);

    text[--at] = '\n';
    do {
        text[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    call(WRITE, 1, (word)(text + at), sizeof(text) - (word)at, 0);
}

static char stack[8192] __attribute__((aligned(16)));

void program(void)
{
    int (*volatile through)(int) = twice;
    struct action action = {.handler = on_signal};

#if !defined(__riscv)
    action.flags = RESTORER;
    action.restorer = restore;
#endif
    call(SIGACTION, 10, (word)&action, 0, 8);
    for (int i = 0; i < 5; i++) {
        sum += through(i) + tree(6);
        call(KILL, call(GETPID, 0, 0, 0, 0), 10, 0, 0);
    }
    tell(twice_calls);
    tell(tree_calls);
    tell(handled);
#if defined(THREADS)
    /* CLONE_VM, FS, FILES, SIGHAND, THREAD, SYSVSEM */
    if (call(CLONE, 0x50f00, (word)(stack + sizeof(stack)), 0, 0) == 0) {
        for (;;) {
            other();
        }
    }
    for (int i = 0; i < 50; i++) {
        twice(i);
    }
#elif defined(FORK_TOO)
    if (call(CLONE, 17, 0, 0, 0) == 0) {
        other();
        call(EXIT, 3, 0, 0, 0);
    }
    call(WAIT, (word)-1, 0, 0, 0);
    twice(1);
#elif defined(CLOSE_ALL)
    for (word fd = 3; fd < 1024; fd++) {
        call(3, fd, 0, 0, 0); /* close, on x86-64 */
    }
#elif defined(CRASH)
    *(volatile int *)8 = 1;
#endif
    (void)stack;
    call(GROUP, 7, 0, 0, 0);
}
