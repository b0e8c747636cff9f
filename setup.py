# SPDX-License-Identifier: GPL-2.0-or-later
"""The build step that pyproject.toml cannot say: compile the C parts, and copy the boards in.

Everything else is in pyproject.toml. The libraries are found by path (ctypes, `qemu -plugin`), not
imported, so a wheel fits every Python 3 but only one machine type: its tag is `py3-none-PLATFORM`.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

HERE = Path(__file__).resolve().parent


class BuildWithNative(build_py):  # type: ignore[misc]  # setuptools has no types here
    """`build_py` that makes `gdbext/native/*.so` first, and ships `config/` as `gdbext/config/`."""

    def run(self) -> None:
        subprocess.run(["make", "-C", str(HERE / "qemu-plugin")], check=True)
        # setuptools lists data files when it is configured, which was before make had run.
        self.__dict__.pop("data_files", None)
        super().run()
        if not self.editable_mode:
            shutil.copytree(
                HERE / "config", Path(self.build_lib) / "gdbext" / "config", dirs_exist_ok=True
            )


class WheelForAnyPython3(bdist_wheel):  # type: ignore[misc]  # setuptools has no types here
    """`bdist_wheel` whose tag names the machine but no Python ABI."""

    def get_tag(self) -> tuple[str, str, str]:
        _python, _abi, platform = super().get_tag()
        return "py3", "none", platform


class BinaryDistribution(Distribution):  # type: ignore[misc]  # setuptools has no types here
    """A distribution that holds compiled code, though setuptools did not compile it."""

    def has_ext_modules(self) -> bool:
        return True


setup(
    distclass=BinaryDistribution,
    cmdclass={"build_py": BuildWithNative, "bdist_wheel": WheelForAnyPython3},
)
