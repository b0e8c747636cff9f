/*
 * API v1, which reads no registers: the stack pointers that routines switch between, told by the addresses of their own
 * accesses (stackcode.h); CONTEXT events of the recording (docs/trace-format.md). Later APIs have probes instead.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef GX_ACCESSES_H
#define GX_ACCESSES_H

#if GX_API < 2

#include "blocktable.h"
#include "mayleave.h"
#include "qemu_api.h"
#include "recorder.h"

/* Watch, and tell the recorder so. `elems`: of `n_vcpus`. False: no memory. */
bool accesses_open(Arch arch, VcpuElem *elems, unsigned n_vcpus);
bool accesses_are_watched(void);
void accesses_instrument(struct qemu_plugin_tb *tb, const BlockSource *block);

#endif

#endif
