# SPDX-License-Identifier: GPL-2.0-or-later
"""Sources of the small programs that the tests compile."""

from __future__ import annotations

INLINES = """
static inline __attribute__((always_inline)) int twice(int a) { return a + a; }
static inline __attribute__((always_inline)) int quad(int a)
{
    int b = twice(a);
    return twice(b) ^ 5;
}
__attribute__((noinline)) static int local(int a)
{
    int sum = 0;
    for (int i = 0; i < a; i++) {
        sum += quad(i) * a;
        if (sum & 1) {
            sum ^= twice(sum);
        }
    }
    return sum;
}
int shared(int a) { return local(a + 1) + local(a * 3); }
int aliased(int a) __attribute__((alias("shared")));
int weakly(int a) __attribute__((weak, alias("shared")));
int main(void) { return shared(3) + shared(4); }
"""

OTHER = """
__attribute__((noinline)) static int local(int a) { return a * 7 - 3; }
int other(int a)
{
    return local(a) + 1;
}
"""
