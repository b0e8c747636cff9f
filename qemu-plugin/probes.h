/*
 * Probes: a few registers read where a handler begins, and where a trap may have returned; CONTEXT events of the recording
 * (docs/trace-format.md). API v1 reads no registers: accesses.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef GX_PROBES_H
#define GX_PROBES_H

#include "blocktable.h"
#include "mayleave.h"
#include "qemu_api.h"
#include "recorder.h"

#define GX_PROBES_VCPUS_MAX 64 /* those beyond have none */

#if GX_API >= 2
/* Read registers, and tell the recorder so. `vectors`: address of the vector table that Cortex-M begins with. */
void probes_open(Arch arch, uint64_t vectors, bool traps_reported);
/* Registers can be read. */
bool probes_are_on(void);
/* In the init callback of a vCPU, the only place where QEMU tells its registers. `score`: of VcpuElem. */
void probes_vcpu_init(unsigned index, struct qemu_plugin_scoreboard *score);
/* What callbacks that begin a block must ask for. */
int probes_flags(void);
/* To be called before the block's own callback is registered. `block` as it was read, `id` in the block table. */
void probes_instrument(struct qemu_plugin_tb *tb, const BlockSource *block);
/* QEMU reported a trap: the block that comes is its handler's first. */
void probes_trap(VcpuElem *e);
#endif

#endif
