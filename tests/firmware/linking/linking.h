/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef LINKING_H
#define LINKING_H

#include <stdint.h>

uint32_t twin_first(uint32_t value);
uint32_t twin_second(uint32_t value);
uint32_t twin_third(uint32_t value);
uint32_t from_ram(uint32_t value);
uint32_t never_from_ram(uint32_t value);
uint32_t across(uint32_t value);

#endif
