# SPDX-License-Identifier: GPL-2.0-or-later
"""Boards are read from YAML, and what is wrong in it is said with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from gdbext.errors import ConfigError
from gdbext.target.boards import Board, board_directories, boards, load_board

GOOD = """\
name: mine
description: My board
qemu: qemu-system-arm
args:
  - -machine
  - mps2-an385
  - -kernel
  - "{elf}"
cpu: cortex-m3
gdb_architecture: armv7
target: arm
vector_table: 0x400
icount: shift=5
"""

OURS = {
    "mps2-an385",
    "mps2-an386",
    "mps2-an500",
    "mps2-an505",
    "mps2-an521",
    "microbit",
    "virt-aarch64",
    "vexpress-a9",
    "virt-rv32",
    "virt-rv64",
    "q35-x86_64",
}


@pytest.fixture(autouse=True)
def _no_user_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GDBEXT_CONFIG", raising=False)


def read(tmp_path: Path, text: str) -> Board:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    return load_board(str(path))


def message(tmp_path: Path, text: str) -> str:
    """The error's text, with the folder taken out."""
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, text)
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(f"{tmp_path}/", "")


def test_our_boards_are_all_there_and_right() -> None:
    assert {board.name for board in boards()} == OURS


def test_keys_of_a_file_become_attributes(tmp_path: Path) -> None:
    board = read(tmp_path, GOOD)

    assert board == Board(
        name="mine",
        description="My board",
        qemu="qemu-system-arm",
        args=("-machine", "mps2-an385", "-kernel", "{elf}"),
        cpu="cortex-m3",
        gdb_architecture="armv7",
        target="arm",
        vector_table=0x400,
        icount="shift=5",
        path=tmp_path / "mine.yaml",
    )


def test_vector_table_may_be_a_symbol_or_nothing(tmp_path: Path) -> None:
    assert read(tmp_path, GOOD.replace("0x400", "__vectors")).vector_table == "__vectors"
    assert read(tmp_path, GOOD.replace("0x400", "null")).vector_table is None


def test_program_takes_the_place_of_its_mark(tmp_path: Path) -> None:
    board = read(tmp_path, GOOD)

    assert board.arguments("/a,b.elf") == ["-machine", "mps2-an385", "-kernel", "/a,b.elf"]


def test_comma_of_the_path_is_doubled_inside_an_option(tmp_path: Path) -> None:
    board = read(tmp_path, GOOD.replace('"{elf}"', '"loader,file={elf},cpu-num=0"'))

    assert board.arguments("/a,b.elf")[-1] == "loader,file=/a,,b.elf,cpu-num=0"


def test_unknown_board_names_the_nearest_and_all() -> None:
    with pytest.raises(ConfigError) as caught:
        load_board("mps2-a385")

    text = str(caught.value)
    assert text.startswith("unknown board 'mps2-a385'; did you mean 'mps2-an385'?; boards: ")
    assert all(name in text for name in OURS)


def test_unknown_key_tells_line_and_nearest_key(tmp_path: Path) -> None:
    assert (
        message(tmp_path, GOOD.replace("target:", "tarqet:"))
        == "mine.yaml:11: unknown key 'tarqet'; did you mean 'target'?"
    )


def test_key_like_no_other_is_unknown_without_advice(tmp_path: Path) -> None:
    assert message(tmp_path, GOOD + "zzzzzz: 1\n") == "mine.yaml:14: unknown key 'zzzzzz'"


def test_key_twice_tells_both_lines(tmp_path: Path) -> None:
    assert (
        message(tmp_path, GOOD + "cpu: cortex-m4\n")
        == "mine.yaml:14: key 'cpu' again; line 9 has it too"
    )


@pytest.mark.parametrize(
    ("key", "old", "new", "wanted"),
    [
        ("cpu", "cpu: cortex-m3", "cpu: 3", "cpu must be a text, not 3"),
        ("cpu", "cpu: cortex-m3", "cpu:", "cpu must be a text, not null"),
        ("icount", "shift=5", "5", "icount must be a text or null, not 5"),
        ("icount", "shift=5", "off", "icount must be a text or null, not False"),
        (
            "vector_table",
            "0x400",
            "[1]",
            "vector_table must be an address, a symbol or null, not a list",
        ),
        (
            "args",
            "  - mps2-an385",
            "  - 128",
            "args must be a list of texts, not a list with 128 (put it in quotes)",
        ),
    ],
)
def test_wrong_type_tells_line_and_wanted_type(
    tmp_path: Path, key: str, old: str, new: str, wanted: str
) -> None:
    line = 1 + [row.split(":")[0] for row in GOOD.splitlines()].index(key)

    assert message(tmp_path, GOOD.replace(old, new)) == f"mine.yaml:{line}: {wanted}"


def test_negative_vector_table_is_no_address(tmp_path: Path) -> None:
    assert (
        message(tmp_path, GOOD.replace("0x400", "-4"))
        == "mine.yaml:12: vector_table is no address: -4"
    )


def test_missing_key_is_named(tmp_path: Path) -> None:
    text = GOOD.replace("target: arm\n", "")

    assert message(tmp_path, text) == "mine.yaml: no key 'target'; it must be a text"


def test_args_without_the_program_are_refused(tmp_path: Path) -> None:
    text = GOOD.replace("{elf}", "firmware.elf")

    assert message(tmp_path, text) == "mine.yaml:4: no {elf} in args; say where the program goes"


def test_name_must_be_the_files(tmp_path: Path) -> None:
    text = GOOD.replace("name: mine", "name: other")

    assert message(tmp_path, text).startswith("mine.yaml:1: name 'other' in a file of another name")


def test_qemu_is_a_name_without_folder(tmp_path: Path) -> None:
    text = GOOD.replace("qemu-system-arm", "/usr/bin/qemu-system-arm")

    assert message(tmp_path, text).startswith("mine.yaml:3: qemu '/usr/bin/qemu-system-arm' has a")


@pytest.mark.parametrize("text", ["", "- a\n- b\n", "just words\n"])
def test_file_that_is_no_mapping_is_no_board(tmp_path: Path, text: str) -> None:
    assert message(tmp_path, text) == "mine.yaml:1: not a board; write keys such as 'name: mine'"


@pytest.mark.parametrize("text", ["name: [1\n", "a: b: c\n", "name: 'x\n", "\tname: x\n"])
def test_broken_yaml_tells_the_line(tmp_path: Path, text: str) -> None:
    assert message(tmp_path, text).startswith(
        ("mine.yaml:1: not YAML: ", "mine.yaml:2: not YAML: ")
    )


def test_file_with_other_bytes_than_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_bytes(b"name: \xff\n")

    with pytest.raises(ConfigError, match=r"mine\.yaml: cannot be read: not UTF-8 text"):
        load_board(str(path))


def test_missing_file_is_named() -> None:
    with pytest.raises(ConfigError, match=r"nowhere/b\.yaml: cannot be read: No such file"):
        load_board("nowhere/b.yaml")


def test_users_board_is_found_and_hides_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "boards"
    folder.mkdir()
    (folder / "mine.yaml").write_text(GOOD)
    (folder / "microbit.yaml").write_text(GOOD.replace("mine", "microbit"))
    monkeypatch.setenv("GDBEXT_CONFIG", str(tmp_path))

    assert board_directories()[0] == folder
    assert load_board("mine").description == "My board"
    assert load_board("microbit").description == "My board"
    assert {board.name for board in boards()} == OURS | {"mine"}


def test_earlier_user_folder_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        folder = tmp_path / name / "boards"
        folder.mkdir(parents=True)
        (folder / "mine.yaml").write_text(GOOD.replace("My board", name))
    monkeypatch.setenv("GDBEXT_CONFIG", f"{tmp_path}/one:{tmp_path}/two")

    assert load_board("mine").description == "one"


def test_user_folder_without_boards_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GDBEXT_CONFIG", str(tmp_path))

    with pytest.raises(ConfigError, match=r"GDBEXT_CONFIG: .*/boards is no folder"):
        boards()


def test_task_names_are_by_symbol_and_may_be_left_out(tmp_path: Path) -> None:
    names = "task_names:\n  stacks: red\n  stacks+0x100: green\n"

    assert read(tmp_path, GOOD).task_names == {}
    assert read(tmp_path, GOOD + names).task_names == {"stacks": "red", "stacks+0x100": "green"}


@pytest.mark.parametrize("wrong", ["stacks: 3", "8: red", "stacks+x: red", "stacks: ''"])
def test_wrong_task_names_are_refused_with_their_line(tmp_path: Path, wrong: str) -> None:
    line = 1 + len(GOOD.splitlines())

    said = message(tmp_path, f"{GOOD}task_names: {{{wrong}}}\n")

    assert said.startswith(f"mine.yaml:{line}: task_names: ")
