/*
 * Replay: the loop over the tokens of chunks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef GX_REPLAY_H
#define GX_REPLAY_H

#include "state.h"

/*
 * Give a chunk, or more of it, to the replay; goes at most `budget` blocks (about) far. Result: 0 all of it is done,
 * 1 call again, -1 damaged (gx_replay_error).
 */
GX_PUBLIC int gx_replay_feed(GxReplay *r, uint32_t vcpu, uint64_t seq, const uint8_t *raw, uint64_t length,
                             uint64_t run, uint64_t budget);

#endif
