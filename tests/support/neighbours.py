# SPDX-License-Identifier: GPL-2.0-or-later
"""A bootloader, an application and a library in one memory, each an ELF file of its own.

The bootloader calls `boot_work` five times and jumps to the application, which calls the library's
`lib_twice` seven times. The library is linked at 0, where the bootloader is, and loaded at 0x4000.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

__all__ = ["BOARD", "LIBRARY_ADDRESS", "Neighbours", "build_neighbours"]

BOARD = "mps2-an385"
LIBRARY_ADDRESS = 0x4000
_SOURCES = {
    "boot": """\
int rounds;
__attribute__((noinline)) int boot_work(int n) { rounds += n; return rounds; }
void boot_main(void) {
    for (int i = 0; i < 5; i++)
        boot_work(i);
    ((void (*)(void))0x8001)();
    for (;;) { }
}
__attribute__((section(".vectors"))) const void *vectors[] = {(void *)0x20008000, boot_main};
""",
    "app": """\
int (*const twice)(int) = (int (*)(int))0x4001;
int total;
__attribute__((noinline)) void leave(void) {
    static const unsigned block[2] = {0x20026, 0};
    register unsigned r0 __asm__("r0") = 0x20;
    register const void *r1 __asm__("r1") = block;
    __asm__ volatile("bkpt 0xab" : : "r"(r0), "r"(r1) : "memory");
}
__attribute__((section(".first"))) void app_main(void) {
    for (int i = 0; i < 7; i++)
        total += twice(i);
    leave();
}
""",
    "lib": '__attribute__((section(".first"))) int lib_twice(int n) { return n + n; }\n',
}
_PLACES = {
    "boot": ("--section-start=.vectors=0x0,-Ttext=0x100,-Tbss=0x20000100,-eboot_main", ()),
    "app": ("--section-start=.first=0x8000,-Ttext=0x8100,-Tbss=0x20001100,-eapp_main", ()),
    "lib": ("--section-start=.first=0x0,-elib_twice", ("-fPIC",)),
}


@dataclass(frozen=True)
class Neighbours:
    """The files, and how QEMU and gdbext are told of them."""

    boot: Path
    app: Path
    lib: Path
    symbols: tuple[str, ...]
    """`--symbols` words."""
    qemu_args: tuple[str, ...]


def build_neighbours(directory: Path) -> Neighbours:
    """Build the three; skips without the cross compiler."""
    if shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("arm-none-eabi-gcc is not installed")
    compiler = ["arm-none-eabi-gcc", "-mcpu=cortex-m3", "-mthumb", "-g", "-O1"]
    compiler += ["-nostdlib", "-ffreestanding"]
    elfs = {}
    for name, source in _SOURCES.items():
        (directory / f"{name}.c").write_text(source)
        places, words = _PLACES[name]
        elfs[name] = directory / f"{name}.elf"
        command = [*compiler, *words, f"-Wl,{places}", f"{name}.c", "-o", f"{name}.elf"]
        subprocess.run(command, check=True, cwd=directory)
    raw = directory / "lib.bin"
    copy = ["arm-none-eabi-objcopy", "-O", "binary", "-j", ".first", str(elfs["lib"]), str(raw)]
    subprocess.run(copy, check=True)
    library = f"{elfs['lib']}@{LIBRARY_ADDRESS:#x}"
    return Neighbours(
        **elfs,
        symbols=("--symbols", str(elfs["boot"]), "--symbols", library),
        qemu_args=(
            *("-device", f"loader,file={elfs['boot']}"),
            *("-device", f"loader,file={raw},addr={LIBRARY_ADDRESS:#x}"),
        ),
    )
