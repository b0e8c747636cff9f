/*
 * CRC-32 as in zlib; a table made at load time. Payloads are compressed, so this is no hot loop.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "crc32.h"

static uint32_t table[256];

__attribute__((constructor)) static void crc32_init(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;

        for (int bit = 0; bit < 8; bit++) {
            c = (c >> 1) ^ ((c & 1) ? 0xEDB88320u : 0);
        }
        table[i] = c;
    }
}

uint32_t gx_crc32(uint32_t seed, const void *data, size_t len)
{
    const uint8_t *p = data;
    uint32_t c = ~seed;

    for (size_t i = 0; i < len; i++) {
        c = table[(c ^ p[i]) & 0xff] ^ (c >> 8);
    }
    return ~c;
}
