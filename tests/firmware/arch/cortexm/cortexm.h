/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Registers of the M-profile core that the firmware uses (Armv7-M ARM, B3.2). */
#ifndef CORTEXM_H
#define CORTEXM_H

#include <stdint.h>

#define REG32(address) (*(volatile uint32_t *)(address))

#define SYST_CSR REG32(0xe000e010u)
#define SYST_RVR REG32(0xe000e014u)
#define SYST_CVR REG32(0xe000e018u)
#define NVIC_ISER0 REG32(0xe000e100u)
#define NVIC_ICER0 REG32(0xe000e180u)
#define SCB_ICSR REG32(0xe000ed04u)
#define SCB_VTOR REG32(0xe000ed08u)
#define SCB_CCR REG32(0xe000ed14u)
#define SCB_SHPR3 REG32(0xe000ed20u)
#define SCB_SHCSR REG32(0xe000ed24u)

#define ICSR_PENDSVSET (1u << 28)

#endif
