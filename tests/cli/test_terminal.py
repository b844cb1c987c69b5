"""Terminals are shown control characters; pipes get them as they are."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

TITLE = "\x1b]0;owned\x07"


def on_terminal(arguments: list[str], cwd: Path) -> bytes:
    """Run a command with a terminal as standard output and error; return all it wrote."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "samebits", *arguments], stdout=theirs, stderr=theirs, stdin=theirs, cwd=cwd
    )
    os.close(theirs)
    written = b""
    while True:
        try:
            block = os.read(ours, 1 << 16)
        except OSError:  # what a closed terminal gives instead of an end
            break
        if not block:
            break
        written += block
    child.wait(60)
    os.close(ours)
    return written


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    (tmp_path / f"a{TITLE}.txt").write_text(f"one {TITLE} two\n" * 3)
    (tmp_path / f"no{TITLE}").mkdir()
    return tmp_path


COMMANDS = [
    ["count", "a\x1b]0;owned\x07.txt", "-o", "out"],
    ["count", "a\x1b]0;owned\x07.txt", "-o", "out2", "-v"],
    ["plan", "count", "a\x1b]0;owned\x07.txt"],
    ["verify", "no\x1b]0;owned\x07"],
    ["charset", "detect", "a\x1b]0;owned\x07.txt"],
    ["charset", "convert", "a\x1b]0;owned\x07.txt"],
    ["langid", "predict", "a\x1b]0;owned\x07.txt"],
    ["\x1b]0;owned\x07"],
]


@pytest.mark.parametrize(
    "arguments", COMMANDS, ids=lambda a: " ".join(a[:2]).replace("\x1b", "ESC").replace("\x07", "")
)
def test_no_escape_sequence_from_outside_reaches_a_terminal(arguments: list[str], hostile: Path) -> None:
    written = on_terminal(arguments, hostile)
    assert written
    assert b"\x1b]" not in written
    assert b"\x07" not in written
    assert (
        b"Traceback" not in written
    )  # the terminal of this test says it has 0 columns, as those of containers do


@pytest.mark.parametrize("order", "\u202a\u202e\u2066\u2069")
def test_orders_to_turn_the_writing_round_are_shown(order: str, tmp_path: Path) -> None:
    """They can make a name look like another; what joins letters in Persian or Hindi is left alone."""
    (tmp_path / "a.txt").write_text(f"one{order}two\u200cthree\n")
    written = on_terminal(["count", "a.txt", "-o", "out"], tmp_path).decode()
    assert f"one\\u{ord(order):04x}two\u200cthree" in written


def test_a_terminal_shows_what_a_pipe_gets_raw(hostile: Path) -> None:
    arguments = ["count", f"a{TITLE}.txt", "-o", "out"]
    assert b"\\x1b]0;owned\\x07" in on_terminal(arguments, hostile)
    piped = subprocess.run(
        [sys.executable, "-m", "samebits", "count", f"a{TITLE}.txt", "-o", "piped"],
        cwd=hostile,
        capture_output=True,
    )
    assert TITLE.encode() in piped.stdout + piped.stderr


def test_a_converted_file_reaches_a_pipe_byte_for_byte_and_a_terminal_in_lines(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(f"one {TITLE}\r\ntwo\r\n".encode())
    arguments = ["charset", "convert", "a.txt", "--from", "utf-8"]
    command = [sys.executable, "-m", "samebits", *arguments]
    piped = subprocess.run(command, cwd=tmp_path, capture_output=True)
    assert piped.stdout == (tmp_path / "a.txt").read_bytes()
    shown = on_terminal(arguments, tmp_path)
    assert b"one \\x1b]0;owned\\x07\r\ntwo\r\n" in shown


def test_the_columns_of_a_table_stand_in_line_on_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("text,lang\nguten Morgen zusammen,de\ngood morning to you all,en\n")
    lines = on_terminal(["langid", "eval", "rows.csv"], tmp_path).decode().split("\r\n")
    starts = {found.end() if (found := re.match(r".+?  +", line)) else 0 for line in lines if line}
    assert len(lines) > 6
    assert len(starts) == 1
