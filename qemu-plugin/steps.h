/*
 * The steps of a chunk one by one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef GX_STEPS_H
#define GX_STEPS_H

#include "library.h"

/* One step; false at the end, or when damaged (d->error). */
bool gx_next_item(GxDecoder *d, const uint8_t *raw, size_t length, uint64_t run, GxItem *item);

#endif
