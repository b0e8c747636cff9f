# SPDX-License-Identifier: GPL-2.0-or-later
"""What the recorder is doing, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdbext.render.numbers import amount, bytes_amount

if TYPE_CHECKING:
    from gdbext.render.page import Page
    from gdbext.target.control import Hello, Status

__all__ = ["render_status"]

_STATES = {
    "stopped": "not recording",
    "recording": "recording",
    "failed": "recording failed",
    "limit": "instruction limit reached, not recording",
    "finished": "finished, cannot record any more",
}


def render_status(page: Page, hello: Hello, status: Status) -> None:
    """Print state, instructions, size, gaps and overhead."""
    vcpus = "1 vCPU" if hello.vcpus == 1 else f"{hello.vcpus} vCPUs"
    state = _STATES.get(status.state, status.state)
    message = f": {status.message}" if status.message else ""
    page.line(f"State:         {state}{message}")
    page.line(f"Target:        {hello.target}, {vcpus}, QEMU process {hello.pid}")
    page.line(f"Instructions:  {amount(status.instructions)}")
    page.line(
        f"Blocks:        {amount(status.blocks)} executed, "
        f"{amount(status.distinct_blocks)} distinct"
    )
    rate = ""
    if status.chunks and status.instructions:
        rate = f", {status.stream_bytes / status.instructions:.4f} bytes per instruction"
    page.line(f"Size:          {bytes_amount(status.stream_bytes)}{rate}")
    page.line(f"Gaps:          {amount(status.gaps) if status.gaps else 'none'}")
    if status.ring:
        page.line(
            f"Ring:          {bytes_amount(status.ring)}, "
            f"{amount(status.dropped_instructions)} older instructions dropped"
        )
    if status.filter:
        page.line(f"Filter:        {status.filter}")
    page.line(f"Overhead:      {_overhead(hello.plugin_api, status.recording)}")
    page.line(f"Directory:     {hello.directory}")


def _overhead(plugin_api: int, recording: bool) -> str:
    """What this state costs, from the measurements in docs/benchmarks.md."""
    if recording:
        costs = "1.6 to 2.0" if plugin_api == 1 else "1.4 to 1.6"
    else:
        costs = "1.1 to 1.3" if plugin_api == 1 else "1.0 to 1.1"
    return f"{costs} times the time of a QEMU without the plugin, in our benchmark"
