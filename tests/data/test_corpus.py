"""The inputs of a run: found, ordered, named, hashed and cut the same way everywhere."""

import fcntl
import io
import os
import pickle
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from samebits.data.inputs.blocks import BLOCK_BYTES, READ_BYTES, hash_blocks
from samebits.data.inputs.corpus import open_corpus
from samebits.data.inputs.reading import reading_threads
from samebits.data.readers.rows import iter_rows
from samebits.errors import ConfigError, InputError


def write(root: Path, *names: str, data: bytes = b"x\n") -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def test_a_folder_gives_its_files_by_the_bytes_of_their_names(tmp_path: Path) -> None:
    write(tmp_path, "b.txt", "a/z.txt", "a.txt", "B.txt", "é.txt", "a/.hidden.txt", ".git/x.txt", "~.txt")
    corpus = open_corpus([str(tmp_path)])
    assert corpus.names == ("B.txt", "a.txt", "a/z.txt", "b.txt", "~.txt", "é.txt")


def test_arguments_keep_their_order_and_may_repeat(tmp_path: Path) -> None:
    write(tmp_path, "b.txt", "a.txt")
    b, a = str(tmp_path / "b.txt"), str(tmp_path / "a.txt")
    assert open_corpus([b, a, b]).names == ("b.txt", "a.txt", "b.txt")


def test_a_glob_names_files_below_its_fixed_part(tmp_path: Path) -> None:
    write(tmp_path, "in/b/2.txt", "in/a/1.txt", "in/a/1.csv", "in/c.txt")
    assert open_corpus([str(tmp_path / "in" / "*" / "*.txt")]).names == ("a/1.txt", "b/2.txt")
    assert open_corpus([str(tmp_path / "in" / "**" / "*.txt")]).names == ("a/1.txt", "b/2.txt", "c.txt")


def test_a_file_whose_name_looks_like_a_glob_is_that_file(tmp_path: Path) -> None:
    write(tmp_path, "a[1].txt", "a1.txt")
    assert open_corpus([str(tmp_path / "a[1].txt")]).names == ("a[1].txt",)


def test_names_with_newlines_and_foreign_bytes_can_be_stored(tmp_path: Path) -> None:
    write(tmp_path, "two\nlines.txt")
    (tmp_path / os.fsdecode(b"caf\xe9.txt")).write_bytes(b"x\n")
    corpus = open_corpus([str(tmp_path)])
    assert corpus.names == ("caf\\xe9.txt", "two\nlines.txt")
    assert all(name.encode() for name in corpus.names)
    shards = corpus.shards()
    assert [
        len(block) for shard in shards for block in iter_rows(pickle.loads(pickle.dumps(corpus)), shard)
    ] == [1, 1]


def test_the_digest_depends_on_names_and_bytes_only(tmp_path: Path) -> None:
    write(tmp_path, "one/a.txt", "one/b.txt", "two/a.txt", "two/b.txt")
    os.utime(tmp_path / "two/a.txt", (1, 1))
    one, two = open_corpus([str(tmp_path / "one")]), open_corpus([str(tmp_path / "two")], cell_bytes=1)
    assert one.digest == two.digest
    write(tmp_path, "two/a.txt", data=b"y\n")
    assert open_corpus([str(tmp_path / "two")]).digest != one.digest
    write(tmp_path, "two/a.txt")
    assert open_corpus([str(tmp_path / "two")]).digest == one.digest
    (tmp_path / "two/a.txt").rename(tmp_path / "two/c.txt")
    assert open_corpus([str(tmp_path / "two")]).digest != one.digest


def test_bytes_moved_from_one_file_to_the_next_change_the_digest(tmp_path: Path) -> None:
    write(tmp_path, "one/a.txt", data=b"xy")
    write(tmp_path, "one/b.txt", data=b"")
    write(tmp_path, "two/a.txt", data=b"x")
    write(tmp_path, "two/b.txt", data=b"y")
    assert open_corpus([str(tmp_path / "one")]).digest != open_corpus([str(tmp_path / "two")]).digest


def test_shards_cover_each_byte_of_each_file_once(tmp_path: Path) -> None:
    for name, size in (("a.txt", 10), ("b.txt", 0), ("c.txt", 3), ("d.txt", 4)):
        write(tmp_path, name, data=b"x" * size)
    shards = open_corpus([str(tmp_path)], cell_bytes=4).shards()
    assert [(shard.index, shard.source, shard.start, shard.stop) for shard in shards] == [
        (0, 0, 0, 4),
        (1, 0, 4, 8),
        (2, 0, 8, 10),
        (3, 2, 0, 3),
        (4, 3, 0, 4),
    ]


def test_standard_input_is_a_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"one\ntwo\n")))
    corpus = open_corpus(["-"], cell_bytes=3)
    texts = [
        text
        for shard in corpus.shards()
        for block in iter_rows(corpus, shard)
        for text in block.columns["text"].texts()
    ]
    assert (corpus.names, texts) == (("stdin",), ["one", "two"])


def test_ten_thousand_files_are_sources_each_with_its_shard(tmp_path: Path) -> None:
    for number in range(10):
        (tmp_path / f"{number:05}.txt").write_bytes(b"%d\n" % number)
    for number in range(10, 10_000):  # links: writing that many files would be most of the test
        os.link(tmp_path / f"{number % 10:05}.txt", tmp_path / f"{number:05}.txt")
    corpus = open_corpus([str(tmp_path)])
    shards = corpus.shards()
    assert len(corpus.sources) == len(shards) == 10_000
    assert next(iter_rows(corpus, shards[9_999])).columns["text"][0] == b"9"


def test_a_file_of_unknown_suffix_needs_a_format(tmp_path: Path) -> None:
    write(tmp_path, "notes.log")
    path = str(tmp_path / "notes.log")
    with pytest.raises(InputError, match=r"suffix '\.log' is not a known format(?s:.*)--input-format txt"):
        open_corpus([path])
    assert open_corpus([path], format="txt").names == ("notes.log",)


def test_a_misspelt_suffix_is_recognised(tmp_path: Path) -> None:
    write(tmp_path, "rows.josnl")
    with pytest.raises(InputError, match=r"did you mean '\.jsonl'"):
        open_corpus([str(tmp_path / "rows.josnl")])


def test_files_of_a_folder_without_known_suffix_are_left_out_and_said_so(tmp_path: Path) -> None:
    write(tmp_path, "README.md", "a.txt")
    corpus = open_corpus([str(tmp_path)])
    assert corpus.names == ("a.txt",)
    assert "files of unknown suffix skipped (1)" in corpus.notes[0]
    assert open_corpus([str(tmp_path)], format="txt").names == ("README.md", "a.txt")


def test_a_folder_without_usable_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no files there"):
        open_corpus([str(tmp_path)])
    write(tmp_path, "a.md")
    with pytest.raises(InputError, match="none of its 1 files has a known suffix"):
        open_corpus([str(tmp_path)])
    with pytest.raises(InputError, match="no files there"):
        open_corpus([str(tmp_path / "*.txt")])


def test_a_missing_file_names_the_sibling_that_was_meant(tmp_path: Path) -> None:
    write(tmp_path, "corpus.txt")
    with pytest.raises(InputError, match=r"no such file(?s:.*)did you mean '.*corpus\.txt'"):
        open_corpus([str(tmp_path / "corpsu.txt")])
    with pytest.raises(InputError, match="there is no folder"):
        open_corpus([str(tmp_path / "nowhere" / "corpus.txt")])


@pytest.mark.parametrize(
    ("asked", "meant"),
    [("corpus", "corpus.txt"), ("corpus.csv", "corpus.txt"), ("nofile.txt", ""), ("l.jsonl", "l.txt")],
)
def test_a_sibling_is_not_meant_for_its_suffix_alone(tmp_path: Path, asked: str, meant: str) -> None:
    for name in ("corpus.txt", "l.txt"):
        write(tmp_path, name)
    with pytest.raises(InputError) as refused:
        open_corpus([str(tmp_path / asked)])
    assert refused.value.hint == (f"did you mean {str(tmp_path / meant)!r}?" if meant else "")


def test_a_broken_link_says_where_it_points(tmp_path: Path) -> None:
    (tmp_path / "a.txt").symlink_to("gone.txt")
    for argument in (tmp_path / "a.txt", tmp_path):
        with pytest.raises(InputError, match=r"a\.txt: broken link to 'gone\.txt'"):
            open_corpus([str(argument)])


def test_links_to_files_are_followed_and_links_to_folders_are_not(tmp_path: Path) -> None:
    write(tmp_path, "in/a.txt")
    (tmp_path / "in" / "b.txt").symlink_to("a.txt")
    (tmp_path / "in" / "round").symlink_to(tmp_path)
    corpus = open_corpus([str(tmp_path / "in")])
    assert corpus.names == ("a.txt", "b.txt")
    assert corpus.notes == (f"{tmp_path / 'in'}: 1 links to folders not followed, first round",)


def test_a_pipe_is_refused_without_being_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.txt")
    with pytest.raises(InputError, match=r"a pipe, not a file(?s:.*)samebits … - <"):
        open_corpus([str(tmp_path / "a.txt")])


def test_a_device_is_refused() -> None:
    with pytest.raises(InputError, match="a device or socket"):
        open_corpus(["/dev/null"], format="txt")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_read_permission_is_named(tmp_path: Path) -> None:
    write(tmp_path, "a.txt")
    (tmp_path / "a.txt").chmod(0)
    with pytest.raises(InputError, match=r"a\.txt: cannot be read: Permission denied"):
        open_corpus([str(tmp_path)])


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ([], {}, "no inputs"),
        (["-"], {"format": "josnl"}, "did you mean 'jsonl'"),
        (["-"], {"cell_bytes": 0}, "cells of 0 bytes"),
        (["-", "-"], {}, "standard input can be read once"),
    ],
)
def test_wrong_settings_are_config_errors(
    arguments: list[str], options: dict[str, int], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        open_corpus(arguments, **options)  # type: ignore[arg-type]  # wrong on purpose


def test_input_changed_after_the_plan_is_refused_with_name_and_offset(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    data = np.full(3 * BLOCK_BYTES, ord("x"), dtype=np.uint8)
    data[99::100] = 10
    path.write_bytes(data.tobytes())
    corpus = open_corpus([str(path)], cell_bytes=BLOCK_BYTES)
    shards = corpus.shards()
    data[2 * BLOCK_BYTES + 7] = ord("y")
    path.write_bytes(data.tobytes())
    assert len(next(iter_rows(corpus, shards[0]))) > 0
    with pytest.raises(
        InputError, match="the input changed after the run was planned: other bytes"
    ) as caught:
        next(iter_rows(corpus, shards[2]))
    assert (caught.value.path, caught.value.offset) == (str(path), 2 * BLOCK_BYTES)
    path.write_bytes(data.tobytes()[:-1])
    with pytest.raises(InputError, match="it has 786431 bytes, it had 786432"):
        next(iter_rows(corpus, shards[0]))
    path.unlink()
    with pytest.raises(InputError, match="cannot be opened: No such file"):
        next(iter_rows(corpus, shards[0]))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_large_file_is_hashed_in_spans_with_the_digests_of_one_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    data = np.arange(3 * READ_BYTES // 4 + 1000, dtype=np.uint32).tobytes() + b"end"
    write(tmp_path, "a.txt", "b.txt", data=data)
    monkeypatch.setattr("samebits.data.inputs.hashing.SPAN_BYTES", READ_BYTES)
    with reading_threads(threads):
        corpus = open_corpus([str(tmp_path)])
    wanted = b"".join(digest for _, digest in hash_blocks(io.BytesIO(data)))
    assert [(source.size, source.blocks) for source in corpus.sources] == [(len(data), wanted)] * 2


def test_a_file_that_shrinks_while_it_is_hashed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "a.txt", data=b"x" * (2 * READ_BYTES))
    monkeypatch.setattr("samebits.data.inputs.hashing.SPAN_BYTES", READ_BYTES)
    monkeypatch.setattr(
        "samebits.data.inputs.hashing.hash_blocks", lambda file, num_bytes: iter([(b"x", b"digest")])
    )
    with pytest.raises(InputError, match="became shorter"):
        open_corpus([str(tmp_path)])


def test_standard_input_that_a_killed_run_left_is_removed_and_that_of_a_living_one_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "samebits-stdin-left").write_bytes(b"left")
    living = (tmp_path / "samebits-stdin-living").open("wb")
    fcntl.flock(living, fcntl.LOCK_EX)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"one\n")))
    open_corpus(["-"])
    names = sorted(path.name for path in tmp_path.iterdir())
    living.close()
    assert "samebits-stdin-living" in names
    assert "samebits-stdin-left" not in names
    assert len(names) == 2  # the living one's, and this run's own
