/*
 * Filters and triggers: which blocks are recorded.
 *
 * While one is armed every block takes the slow way of the encoder (ATTENTION_FILTER), where the block's flags are looked
 * at; the hot part knows nothing of it. Beside the blocks of the filter's ranges the block before and the block after them
 * are recorded, and the handlers that interrupt them, so that calls and callers are exact. What was left out is counted in
 * GAP events. docs/control.md, "Filters"; docs/reconstruction.md, "Filters".
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef GX_FILTER_H
#define GX_FILTER_H

#include "mayleave.h"
#include "recorder.h"

#define FILTER_TEXT_MAX 512

void filter_open(Arch arch);

/* --- a controller; the lock is held but for filter_request ------------------------------------------------------------ */

/*
 * `clear`, `range HEX-HEX,..`, `from HEX,..`, `to HEX,..`, `once`, `text TEXT`. Takes effect at the next start. False: refused,
 * `message` says why.
 */
bool filter_request(const char *text, char *message, size_t message_size);
/* The same, a line each, from a file; what is wrong is said on standard error. */
bool filter_read(const char *path);
/* Not all blocks are recorded from the next start on. */
bool filter_is_set(void);
/* In people's words; empty: everything is recorded. */
const char *filter_text(void);
/* A recording starts: flags of all blocks as the filter is now. False: no memory. */
bool filter_arm(char *message, size_t message_size);
void filter_start(Vcpu *v);
/* JSON for a META record: the filters that were armed since filter_forget(). */
void filter_meta(char *json, size_t size);
void filter_forget(void);
/* Tell what was left out until now. `all`: the last block, too: recording ends here. */
void filter_tell(Vcpu *v, bool all);

/* --- vCPU threads ------------------------------------------------------------------------------------------------------ */

/* The block with this id begins; nothing that stands before it is to be written any more. False: it is left out. */
bool filter_block(Vcpu *v, uint32_t id);
/* The usual way through, with what is not rare: true: the block is left out, and all is done; false: ask filter_block(). */
bool filter_skips(Vcpu *v, uint32_t id);
/* The last block was left in the middle. False: it was left out, and so is the CUT. */
bool filter_cut(Vcpu *v, uint64_t begun);
/* QEMU reports a trap. False: it comes after a block that was left out, and is not to be written now. */
bool filter_trap(Vcpu *v, const uint64_t trap[3]);

#endif
