/*
 * What QEMU says of a block that it translates: address, sizes and bytes of its instructions, without QEMU's slips.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef GX_TRANSLATED_H
#define GX_TRANSLATED_H

#include <stdbool.h>

#include "blocktable.h"
#include "mayleave.h"
#include "qemu_api.h"

/* api: the API version that QEMU has. */
void translated_open(Arch arch, int api);
/* False: no block that can be recorded. */
bool translated_read(const struct qemu_plugin_tb *tb, BlockSource *s);
bool translated_only_traps(const struct qemu_plugin_tb *tb);
bool translated_ends_in_piece(const BlockSource *s);

#endif
