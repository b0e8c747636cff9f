/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the board gives to smp.c. */
#ifndef SMP_H
#define SMP_H

void smp_start_second(void); /* let the second core run second_main() */
void second_main(void);      /* must not return */

#endif
