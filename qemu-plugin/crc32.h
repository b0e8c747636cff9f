/*
 * CRC-32 as in zlib (polynomial 0xEDB88320, reflected), so that any reader can check records.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef GX_CRC32_H
#define GX_CRC32_H

#include <stddef.h>
#include <stdint.h>

__attribute__((visibility("default"))) uint32_t gx_crc32(uint32_t seed, const void *data, size_t len);

#endif
