"""The journal: what survives a crash, what a damaged byte costs, and what is refused."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import threading
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samebits.core.codec import decode, encode
from samebits.core.digest import digest_of_part
from samebits.core.plan import Plan, cut
from samebits.data import journal as journal_module
from samebits.data.journal import Journal, journal_folder
from samebits.errors import OutputFailed, PlanMismatch

PLAN = Plan(
    job="job",
    version=1,
    seed=0,
    config_digest="config",
    input_digest="input",
    source_names=("a",),
    shards=cut([5], 1),
)
PARTS: list[Any] = [{"n": i, "data": np.arange(50 + i)} for i in range(5)]


def open_journal(folder: Path, plan: Plan = PLAN, *, resume: bool = True) -> Journal:
    return Journal(folder, plan, resume=resume)


def fill(folder: Path) -> None:
    journal = open_journal(folder)
    for index, part in enumerate(PARTS):
        journal.save("s", index, part, digest_of_part(part))
    journal.close()


def test_a_part_that_comes_encoded_is_kept_as_it_is(tmp_path: Path) -> None:
    for name in ("parts", "encoded"):
        journal = open_journal(tmp_path / name)
        for index, part in enumerate(PARTS):
            known = encode(part) if name == "encoded" else None
            journal.save("s", index, part, digest_of_part(part), known)
        journal.close()
    kept = [(tmp_path / name / "parts.bin").read_bytes() for name in ("parts", "encoded")]
    assert kept[0] == kept[1]


def found(folder: Path) -> list[bool]:
    """Which of the five parts a new run finds; each that is found must be the one that was saved."""
    journal = open_journal(folder)
    try:
        flags = []
        for index, part in enumerate(PARTS):
            there, loaded = journal.load("s", index)
            assert not there or digest_of_part(loaded) == digest_of_part(part)
            flags.append(there)
        return flags
    finally:
        journal.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = journal_folder(tmp_path / "out")
    fill(path)
    return path


def log_line(*fields: object) -> bytes:
    body = json.dumps(fields, separators=(",", ":")).encode()
    return body + b"\t%08x\n" % zlib.crc32(body)


def test_every_part_is_found_again(folder: Path) -> None:
    assert found(folder) == [True] * 5
    journal = open_journal(folder)
    assert journal.num_parts == 5
    assert journal.load("another stage", 0) == (False, None)
    assert journal.load("s", 5) == (False, None)
    journal.close()


def test_a_slow_disk_keeps_no_part_waiting_and_is_waited_for_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "SYNC_SECONDS", 0.0)
    may_end, synced = threading.Event(), []

    def slow(file: int) -> None:
        assert may_end.wait(60)
        synced.append(os.fstat(file).st_size > 0)  # the file is open still

    monkeypatch.setattr(os, "fdatasync", slow)
    journal = open_journal(tmp_path / "journal")
    for index, part in enumerate(PARTS):
        journal.save("s", index, part, digest_of_part(part))
    assert synced == []
    may_end.set()
    journal.close()
    assert synced == [True, True]


def test_a_disk_that_cannot_be_synced_is_named_by_a_later_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "SYNC_SECONDS", 0.0)

    def broken(file: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fdatasync", broken)
    journal = open_journal(tmp_path / "journal")
    journal.save("s", 0, PARTS[0], digest_of_part(PARTS[0]))
    assert journal._syncing is not None
    journal._syncing.wait()
    with pytest.raises(OutputFailed, match="Input/output error"):
        journal.save("s", 1, PARTS[1], digest_of_part(PARTS[1]))
    journal.close()
    assert found(tmp_path / "journal") == [True, True, False, False, False]  # written they were


@pytest.mark.parametrize("cut_bytes", [1, 5, 40])
def test_a_torn_last_line_costs_that_part_only(folder: Path, cut_bytes: int) -> None:
    log = folder / "log.jsonl"
    log.write_bytes(log.read_bytes()[:-cut_bytes])
    assert found(folder) == [True] * 4 + [False]
    fill_again = open_journal(folder)
    fill_again.save("s", 4, PARTS[4], digest_of_part(PARTS[4]))
    fill_again.close()
    assert found(folder) == [True] * 5


def test_a_flipped_byte_in_a_part_costs_that_part_only(folder: Path) -> None:
    sizes = [len(encode(part)) for part in PARTS]
    parts = folder / "parts.bin"
    whole = parts.read_bytes()
    for victim in range(5):
        at = sum(sizes[:victim]) + sizes[victim] // 2
        parts.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert found(folder) == [index != victim for index in range(5)]


def test_a_damaged_part_keeps_its_digest_for_the_self_check(folder: Path) -> None:
    (folder / "parts.bin").write_bytes(b"")
    journal = open_journal(folder)
    assert journal.load("s", 1) == (False, None)
    assert journal.known_digest("s", 1) == digest_of_part(PARTS[1])
    journal.close()


def test_no_parts_at_all_cost_all_parts_and_new_ones_go_where_they_are_found(folder: Path) -> None:
    (folder / "parts.bin").write_bytes(b"")
    assert found(folder) == [False] * 5
    fill(folder)
    assert found(folder) == [True] * 5


def test_a_cut_parts_file_costs_what_was_cut_off(folder: Path) -> None:
    parts = folder / "parts.bin"
    parts.write_bytes(parts.read_bytes()[:-1])
    assert found(folder) == [True] * 4 + [False]


def test_garbage_between_the_lines_costs_nothing(folder: Path) -> None:
    log = folder / "log.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    garbage = b"\xff\x00garbage\n\n{}\n" + b"a" * 100_000 + b"\n"
    log.write_bytes(garbage + garbage.join(lines))
    assert found(folder) == [True] * 5


@pytest.mark.parametrize(
    "fields",
    [
        (),
        ("s",),
        ("s", 0, 0, 10),
        ("s", 0, 0, 10, "d", 1),
        ("s", "0", 0, 10, "d"),
        ("s", 0, -5, 10, "d"),
        ("s", 0, 0, -1, "d"),
        ("s", 0, 1.5, 2, "d"),
        ("s", 0, 0, 1 << 70, "d"),
        ("s", 0, None, None, None),
        (["s"], 0, 0, 10, "d"),
        ({"s": 1}, 0, 0, 10, "d"),
    ],
)
def test_a_line_of_another_shape_is_no_line(folder: Path, fields: tuple[object, ...]) -> None:
    log = folder / "log.jsonl"
    log.write_bytes(log_line(*fields) + log.read_bytes())
    assert found(folder) == [True] * 5


def test_a_part_with_the_right_digest_and_no_sense_is_computed_again(folder: Path) -> None:
    nonsense = b"SBP1" + (4).to_bytes(8, "little") + b'{"x"'
    parts, log = folder / "parts.bin", folder / "log.jsonl"
    at = parts.stat().st_size
    parts.write_bytes(parts.read_bytes() + nonsense)
    line = log_line("s", 0, at, len(nonsense), hashlib.sha256(nonsense).hexdigest())
    log.write_bytes(log.read_bytes() + line)
    assert found(folder) == [False] + [True] * 4


def test_a_journal_of_another_plan_is_refused_with_the_first_difference(folder: Path) -> None:
    with pytest.raises(PlanMismatch, match="first difference: config_digest was config, is other") as caught:
        open_journal(folder, replace(PLAN, config_digest="other", seed=0))
    assert "--no-resume" in caught.value.hint
    assert found(folder) == [True] * 5


@pytest.mark.parametrize("shape", [None, 1])
def test_a_journal_whose_nodes_were_gathered_otherwise_is_refused(folder: Path, shape: int | None) -> None:
    plan = json.loads((folder / "plan.json").read_bytes())
    (folder / "plan.json").write_text(json.dumps({**plan, "shape": shape}))
    with pytest.raises(PlanMismatch, match="gathers nodes in another way") as caught:
        open_journal(folder)
    assert "--no-resume" in caught.value.hint


def test_a_journal_of_another_plan_without_a_part_is_no_obstacle(tmp_path: Path) -> None:
    open_journal(tmp_path / "j").close()
    other = replace(PLAN, seed=9)
    open_journal(tmp_path / "j", other).close()
    open_journal(tmp_path / "j", other).close()


@pytest.mark.parametrize("text", [b"", b"[]", b"null", b"{", b"\xff", b"[" * 100_000, b'{"job": NaN}'])
def test_a_damaged_plan_file_is_refused_by_name(folder: Path, text: bytes) -> None:
    (folder / "plan.json").write_bytes(text)
    with pytest.raises(PlanMismatch, match="belongs to a different run"):
        open_journal(folder)


def test_no_resume_forgets_everything(folder: Path) -> None:
    open_journal(folder, resume=False).close()
    assert found(folder) == [False] * 5


@given(data=st.binary(max_size=300))
def test_any_bytes_as_a_log_are_read_without_an_error(
    data: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("fuzz")
    open_journal(folder).close()
    (folder / "log.jsonl").write_bytes(data)
    (folder / "parts.bin").write_bytes(data)
    assert found(folder) == [False] * 5


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.lists(inner).map(tuple),
    max_leaves=8,
)


@given(value=plain, flips=st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(1, 255)), max_size=3))
def test_a_changed_encoding_gives_another_value_or_a_value_error(
    value: Any, flips: list[tuple[int, int]]
) -> None:
    data = bytearray(encode(value))
    for at, mask in flips:
        data[at % len(data)] ^= mask
    try:
        decode(bytes(data))
    except ValueError:
        return


heads = st.recursive(
    st.none()
    | st.integers()
    | st.floats()
    | st.sampled_from(["<i8", "|O", "|S0", "<U4", "m8[s]", "x", "0x1p3"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["f", "b", "t", "d", "a", "x"]), inner, max_size=2)
    ),
    max_leaves=12,
)


@given(head=heads, tail=st.binary(max_size=40))
def test_any_head_is_decoded_or_refused_with_a_value_error(head: Any, tail: bytes) -> None:
    text = json.dumps(head).encode()
    data = b"SBP1" + len(text).to_bytes(8, "little") + text + tail
    try:
        decode(data)
    except ValueError:
        return


@pytest.mark.parametrize(
    "head",
    [
        b'{"a":["<i8",[1152921504606846976,0]]}',
        b'{"a":["|S0",[99999999999999999999]]}',
        b'{"a":["<i8",[0,99999999999999999999999]]}',
        b'{"a":["<i8",["x"]]}',
        b'{"a":["nonsense",[1]]}',
        b'{"a":["<i8,<i8",[1]]}',
        b'{"d":[1]}',
        b'{"d":[[1,2,3]]}',
        b'{"b":99999999999999999999}',
        b'{"f":"nonsense"}',
        b"[" * 100_000,
        b"\xff",
        b"",
    ],
)
def test_a_hostile_head_is_refused_with_a_value_error(head: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - that it is no other error is the promise
        decode(b"SBP1" + len(head).to_bytes(8, "little") + head)
