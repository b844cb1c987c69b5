"""Compressed files in several shards: the rows, lines and offsets of the whole file, whatever is cut, forged or damaged."""

import gzip
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xxhash
import zstandard
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from samebits.core.engine import Engine
from samebits.core.observing import waiting
from samebits.core.observing.events import Event, StageStarted
from samebits.data.compressed import decoders, index, opening, passes, points, tables, telling, unpacked
from samebits.data.inputs import hashing
from samebits.data.inputs.corpus import Corpus, open_corpus
from samebits.data.inputs.reading import reading_by
from samebits.data.readers.rows import iter_rows
from samebits.errors import InputError
from samebits.testing import ShuffledExecutor

ReadCorpus = Callable[..., Any]
LINES = [
    f'{{"text": "{number} {"é" * (number % 7)} {number**7 % 1000000007:x}"}}\n'.encode()
    for number in range(3000)
]
TEXT = b"".join(LINES)
CSV = b"text,n\n" + b"".join(
    b'"a ""quoted"" line\nof %d",%d\n' % (number, number**7) if number % 3 else b'plain 5" %d,x\n' % number
    for number in range(3000)
)


@pytest.fixture(autouse=True)
def small_cuts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Points every 4 kB of content, in files of any size, and a cache of our own."""
    monkeypatch.setenv("SAMEBITS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(points, "SPACING", 4000)
    monkeypatch.setattr(opening, "LEAST_BYTES", 1)


def deflated(data: bytes, size: int = 1000, *, flush: int = zlib.Z_BLOCK, level: int = 6) -> bytes:
    """One gzip member with a block for every so many bytes."""
    packer = zlib.compressobj(level, wbits=31)
    pieces = [packer.compress(data[at : at + size]) + packer.flush(flush) for at in range(0, len(data), size)]
    return b"".join(pieces) + packer.flush()


def flushed(data: bytes, size: int = 1000) -> bytes:
    return deflated(data, size, flush=zlib.Z_SYNC_FLUSH)


def stored(data: bytes, size: int = 1000) -> bytes:
    return deflated(data, size, level=0)


def members(data: bytes, size: int = 1500) -> bytes:
    return b"".join(gzip.compress(data[at : at + size], mtime=0) for at in range(0, len(data), size))


def bgzipped(data: bytes, size: int = 1500) -> bytes:
    """Members that say their size, and the empty one at the end, as bgzip writes them."""
    return b"".join(map(bgzip_member, [*(data[at : at + size] for at in range(0, len(data), size)), b""]))


def bgzip_member(data: bytes) -> bytes:
    packed = zlib.compress(data, wbits=-15)
    head = struct.pack("<4BI2BH2sHH", 0x1F, 0x8B, 8, 4, 0, 0, 255, 6, b"BC", 2, len(packed) + 25)
    return head + packed + struct.pack("<II", zlib.crc32(data), len(data))


def framed(data: bytes, size: int = 1500, *, sized: bool = True) -> bytes:
    packer = zstandard.ZstdCompressor(write_content_size=sized, write_checksum=True)
    return b"".join(packer.compress(data[at : at + size]) for at in range(0, len(data), size))


def seekable(data: bytes, size: int = 1500) -> bytes:
    """Frames of unknown content with the table of the seekable format behind them."""
    packer = zstandard.ZstdCompressor(write_content_size=False)
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    frames = [packer.compress(piece) for piece in pieces]
    table = b"".join(
        struct.pack("<II", len(frame), len(piece)) for frame, piece in zip(frames, pieces, strict=True)
    )
    table += struct.pack("<IBI", len(frames), 0, 0x8F92EAB1)
    return b"".join(frames) + struct.pack("<II", 0x184D2A5E, len(table)) + table


def unsized(data: bytes, size: int = 1500) -> bytes:
    return framed(data, size, sized=False)


def one_frame(data: bytes, size: int = 0) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


PACKERS: dict[str, tuple[str, Callable[..., bytes]]] = {
    "blocks": ("gz", deflated),
    "flushed blocks": ("gz", flushed),
    "stored blocks": ("gz", stored),
    "members": ("gz", members),
    "sized members": ("gz", bgzipped),
    "frames": ("zst", framed),
    "unsized frames": ("zst", unsized),
    "seekable": ("zst", seekable),
    "one frame": ("zst", one_frame),
}
EVERY = pytest.mark.parametrize("packer", PACKERS)


def opened(tmp_path: Path, data: bytes, name: str, cell_bytes: int) -> Corpus:
    path = tmp_path / name
    path.write_bytes(data)
    return open_corpus([str(path)], cell_bytes=cell_bytes)


def equal(one: Any, other: Any) -> bool:
    names = ("rows", "lines", "offsets", "bad", "num_lines", "num_blank")
    return all(getattr(one, name) == getattr(other, name) for name in names)


@EVERY
@pytest.mark.parametrize(("name", "data"), [("in.txt", TEXT), ("in.jsonl", TEXT), ("in.csv", CSV)])
def test_the_shards_have_the_rows_of_the_plain_file(
    packer: str, name: str, data: bytes, tmp_path: Path, read_corpus: ReadCorpus
) -> None:
    suffix, pack = PACKERS[packer]
    plain = read_corpus(opened(tmp_path, data, name, 1 << 20))
    corpus = opened(tmp_path, pack(data), f"{name}.{suffix}", 9000)
    assert len(corpus.shards()) > 4
    assert equal(read_corpus(corpus), plain)
    assert equal(read_corpus(corpus, stream_bytes=100), plain)
    assert len(plain.rows) == 3000


@EVERY
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.lists(
        st.sampled_from([b"\n", b"\r\n", b'"', b",", b"x", b"word" * 9, "é".encode(), b"\xff", b"1,2\n"])
    ).map(b"".join),
    kind=st.sampled_from(["txt", "csv"]),
    size=st.integers(1, 30),
    spacing=st.integers(3, 20),
    bom=st.booleans(),
)
def test_any_cut_gives_the_rows_of_the_plain_file(
    packer: str,
    data: bytes,
    kind: str,
    size: int,
    spacing: int,
    bom: bool,
    tmp_path: Path,
    read_corpus: ReadCorpus,
) -> None:
    data = b"\xef\xbb\xbf" * bom + (b"text,b\n" if kind == "csv" else b"") + data
    suffix, pack = PACKERS[packer]
    packed = pack(data, size)
    plain = read_corpus(opened(tmp_path, data, f"in.{kind}", 1 << 20), max_line_bytes=20)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(points, "SPACING", spacing)
        corpus = opened(tmp_path, packed, f"in.{kind}.{suffix}", spacing)
        assert equal(read_corpus(corpus, max_line_bytes=20, stream_bytes=spacing), plain)


@EVERY
def test_shards_do_not_depend_on_the_cache(packer: str, tmp_path: Path) -> None:
    suffix, pack = PACKERS[packer]
    first = opened(tmp_path, pack(TEXT), f"in.txt.{suffix}", 9000)
    again = opened(tmp_path, pack(TEXT), f"in.txt.{suffix}", 9000)
    assert again.shards() == first.shards()
    assert again.digest == first.digest


def kept(tmp_path: Path, folder: str) -> Path:
    """The one file that the cache has of a kind."""
    (found,) = (path for path in (tmp_path / "cache" / folder).rglob("*") if path.is_file())
    return found


def test_an_index_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = deflated(TEXT)
    opened(tmp_path, packed, "in.txt.gz", 9000)
    monkeypatch.setattr(passes, "make_index", lambda *_: pytest.fail("made again"))
    assert len(opened(tmp_path, packed, "in.txt.gz", 15_000).shards()) > 2


@pytest.mark.parametrize("damage", ["flip", "shorten", "empty", "other version", "other input"])
def test_an_index_that_is_not_what_it_was_is_made_again(
    damage: str, tmp_path: Path, read_corpus: ReadCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = deflated(TEXT)
    shards = opened(tmp_path, packed, "in.txt.gz", 9000).shards()
    path = kept(tmp_path, "points")
    good = path.read_bytes()
    bad = bytearray(good)
    if damage == "flip":
        bad[-100] ^= 1
    elif damage == "shorten":
        del bad[-10:]
    elif damage == "empty":
        bad.clear()
    elif damage == "other version":
        with monkeypatch.context() as patch:
            patch.setattr(index, "VERSION", 9)
            path.unlink()
            opened(tmp_path, packed, "in.txt.gz", 9000)
            bad = bytearray(path.read_bytes())
    else:
        opened(tmp_path, deflated(TEXT[::-1]), "in.txt.gz", 9000)
        (other,) = (found for found in path.parent.iterdir() if found != path)
        bad = bytearray(other.read_bytes())
        other.unlink()
    path.write_bytes(bad)
    corpus = opened(tmp_path, packed, "in.txt.gz", 9000)
    assert path.read_bytes() == good
    assert corpus.shards() == shards
    assert read_corpus(corpus).num_lines == 3000


def forge(path: Path, change: Callable[[np.ndarray[Any, Any]], None], windows: bytes | None = None) -> None:
    """Write an index that is sealed and wrong."""
    data = path.read_bytes()
    _, header_bytes, table_bytes, _ = index.FOOTER.unpack(data[-index.FOOTER.size :])
    start = len(data) - index.FOOTER.size - header_bytes - table_bytes
    table = np.frombuffer(data[start : start + table_bytes], points.POINT).copy()
    change(table)
    body = table.tobytes() + data[start + table_bytes : -index.FOOTER.size]
    digest = xxhash.xxh3_128_digest(body)
    footer = index.FOOTER.pack(index.MAGIC, header_bytes, table_bytes, digest)
    path.write_bytes((windows or data[:start]) + body + footer)


def shift_content(table: np.ndarray[Any, Any]) -> None:
    table["content"][3] += 7


def shift_position(table: np.ndarray[Any, Any]) -> None:
    table["position"][3] += 8


def change_checksum(table: np.ndarray[Any, Any]) -> None:
    table["checksum"][3] ^= 1


def swap_windows(table: np.ndarray[Any, Any]) -> None:
    for name in ("window", "window_bytes", "digest"):
        table[name][[2, 3]] = table[name][[3, 2]]


def change_state(table: np.ndarray[Any, Any]) -> None:
    table["state"][3] = 3 if table["state"][3] == 0 else 0


def test_an_index_that_does_not_begin_with_the_file_is_made_again(tmp_path: Path) -> None:
    packed = deflated(CSV)
    opened(tmp_path, packed, "in.csv.gz", 4000)
    path = kept(tmp_path, "points")
    good = path.read_bytes()
    for name in ("state", "window", "checksum", "content"):
        forge(path, lambda table, name=name: table[name].__setitem__(0, 1))  # type: ignore[misc]
        opened(tmp_path, packed, "in.csv.gz", 4000)
        assert path.read_bytes() == good


def test_a_forged_state_of_csv_is_found_out(tmp_path: Path, read_corpus: ReadCorpus) -> None:
    packed = deflated(CSV)
    opened(tmp_path, packed, "in.csv.gz", 4000)
    forge(kept(tmp_path, "points"), change_state)
    with pytest.raises(InputError, match="the state at point 3 is another"):
        read_corpus(opened(tmp_path, packed, "in.csv.gz", 4000))
    assert len(read_corpus(opened(tmp_path, packed, "in.csv.gz", 4000)).rows) == 3000


@pytest.mark.parametrize("change", [shift_content, shift_position, change_checksum, swap_windows])
def test_a_forged_index_is_found_out_and_made_again(
    change: Callable[[np.ndarray[Any, Any]], None], tmp_path: Path, read_corpus: ReadCorpus
) -> None:
    packed = deflated(TEXT)
    opened(tmp_path, packed, "in.txt.gz", 4000)
    path = kept(tmp_path, "points")
    good = path.read_bytes()
    forge(path, change)
    with pytest.raises(InputError, match="index of restart points in the cache is wrong"):
        read_corpus(opened(tmp_path, packed, "in.txt.gz", 4000))
    assert not path.exists()
    assert read_corpus(opened(tmp_path, packed, "in.txt.gz", 4000)).num_lines == 3000
    assert path.read_bytes() == good


@pytest.mark.parametrize(("packer", "verb"), [("blocks", "indexing"), ("one frame", "unpacking")])
def test_a_long_pass_says_how_far_it_is(
    packer: str, verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []
    monkeypatch.setattr(waiting, "listener", lines.append)
    monkeypatch.setattr(telling, "TELL_SECONDS", 0.0)
    suffix, pack = PACKERS[packer]
    opened(tmp_path, pack(TEXT), f"in.txt.{suffix}", 9000)
    told = [line for line in lines if line]
    assert told[-1] == f"{verb} {tmp_path / f'in.txt.{suffix}'}: {len(TEXT) / 1000:.1f} kB of content so far"
    assert lines[-1] == ""


def test_windows_that_changed_are_not_used(tmp_path: Path, read_corpus: ReadCorpus) -> None:
    corpus = opened(tmp_path, deflated(TEXT), "in.txt.gz", 9000)
    path = kept(tmp_path, "points")
    path.write_bytes(bytes(20_000) + path.read_bytes()[20_000:])
    with pytest.raises(InputError, match="index of restart points"):
        read_corpus(corpus)


@pytest.mark.parametrize(("packer", "folder"), [("blocks", "points"), ("one frame", "unpacked")])
def test_a_worker_without_the_cache_makes_its_own(
    packer: str, folder: str, tmp_path: Path, read_corpus: ReadCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    suffix, pack = PACKERS[packer]
    corpus = opened(tmp_path, pack(TEXT), f"in.txt.{suffix}", 9000)
    kept(tmp_path, folder).unlink()
    monkeypatch.setenv("SAMEBITS_CACHE_DIR", str(tmp_path / "elsewhere"))
    assert read_corpus(corpus).num_lines == 3000


def test_where_the_cache_cannot_be_written_a_folder_of_the_process_is_used(
    tmp_path: Path, read_corpus: ReadCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("SAMEBITS_CACHE_DIR", str(tmp_path / "file"))
    assert read_corpus(opened(tmp_path, deflated(TEXT), "in.txt.gz", 9000)).num_lines == 3000


def test_a_copy_that_is_not_what_its_name_says_is_made_again(tmp_path: Path, read_corpus: ReadCorpus) -> None:
    packed = one_frame(TEXT)
    corpus = opened(tmp_path, packed, "in.txt.zst", 9000)
    assert (
        f"a copy of {len(TEXT) / 1000:.1f} kB is kept in {tmp_path / 'cache' / 'unpacked'}" in corpus.notes[0]
    )
    path = kept(tmp_path, "unpacked")
    path.write_bytes(TEXT[::-1])
    assert read_corpus(opened(tmp_path, packed, "in.txt.zst", 9000)).num_lines == 3000
    assert path.read_bytes() == TEXT


def test_copies_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacked, "MOST_COPIES", 2 * len(TEXT))
    for number in range(4):
        opened(tmp_path, one_frame(TEXT + b"%d\n" % number * 20), "in.txt.zst", 9000)
    assert len(list((tmp_path / "cache" / "unpacked").iterdir())) == 1
    monkeypatch.setattr(unpacked, "MOST_CONTENT", len(TEXT) - 1)
    corpus = opened(tmp_path, one_frame(TEXT), "in.txt.zst", 9000)
    assert len(corpus.shards()) == 1
    assert "cannot be cut: it keeps one worker busy" in corpus.notes[0]


def test_no_room_for_a_copy_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(unpacked, "_write", full)
    with pytest.raises(InputError, match=r"cannot be unpacked to .*: No space left") as caught:
        opened(tmp_path, one_frame(TEXT), "in.txt.zst", 9000)
    assert "SAMEBITS_CACHE_DIR" in caught.value.hint


@EVERY
@pytest.mark.parametrize("cell_bytes", [5000, 20_000, 1 << 30])
@pytest.mark.parametrize("damage", ["half", "garbage", "flip"])
def test_damage_costs_the_same_rows_however_the_file_is_cut(
    packer: str, cell_bytes: int, damage: str, tmp_path: Path, read_corpus: ReadCorpus
) -> None:
    suffix, pack = PACKERS[packer]
    data = bytearray(pack(TEXT))
    if damage == "half":
        del data[len(data) // 2 :]
    elif damage == "garbage":
        data += b"\x01 no member and no frame"
    else:
        data[len(data) // 2] ^= 0x55
    found = read_corpus(opened(tmp_path, bytes(data), f"in.txt.{suffix}", cell_bytes))
    whole = read_corpus(open_corpus([str(tmp_path / f"in.txt.{suffix}")], cut_compressed=False))
    assert whole.bad
    if damage == "flip" and packer in ("sized members", "frames", "seekable"):
        again = read_corpus(opened(tmp_path, bytes(data), f"in.txt.{suffix}", 10_000))
        assert equal(found, again)
        assert found.bad == whole.bad
        assert len(whole.rows) < 2000 < 2700 < len(found.rows) < 3000
    else:
        assert equal(found, whole)


@EVERY
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(
    at=0.998046875, lost=2, put=b"\0", size=40, kind="txt"
)  # a trailer of seven bytes: its checksum is wrong first
@given(
    at=st.floats(0, 1, exclude_max=True),
    lost=st.integers(0, 40),
    put=st.binary(max_size=20),
    size=st.sampled_from([40, 200, 700]),
    kind=st.sampled_from(["txt", "csv"]),
)
def test_any_damage_costs_the_same_rows_however_the_file_is_cut(
    packer: str,
    at: float,
    lost: int,
    put: bytes,
    size: int,
    kind: str,
    tmp_path: Path,
    read_corpus: ReadCorpus,
) -> None:
    suffix, pack = PACKERS[packer]
    data = bytearray(pack(b"".join(LINES[:250]) if kind == "txt" else CSV[:9000], size))
    start = int(at * len(data))
    data[start : start + lost] = put

    def read(cell_bytes: int, *, cut_compressed: bool = True) -> Any:
        path = _written(tmp_path / f"in.{kind}.{suffix}", bytes(data))
        corpus = open_corpus([str(path)], cell_bytes=cell_bytes, cut_compressed=cut_compressed)
        has_index = corpus.sources[0].points is None or bool(corpus.sources[0].points.index)
        try:
            return read_corpus(corpus, max_line_bytes=2000), has_index
        except InputError as error:  # no header
            return str(error), has_index

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(points, "SPACING", 300)
        found, has_index = read(300)
        others = [read(1500)[0], read(1 << 40)[0]]
        if has_index:  # what is read after damage are parts that the file itself tells
            others.append(read(1, cut_compressed=False)[0])
    assert all(other == found if isinstance(found, str) else equal(other, found) for other in others)


def test_a_damaged_frame_costs_itself(tmp_path: Path, read_corpus: ReadCorpus) -> None:
    """The frames after it are read; the bad row says where the damage is."""
    data = bytearray(framed(TEXT))
    frames = tables.find_frames(str(_written(tmp_path / "good.zst", bytes(data))), len(data))
    data[frames.starts[10] + 30] ^= 0xFF
    corpus = opened(tmp_path, bytes(data), "in.txt.zst", 9000)
    found = read_corpus(corpus)
    assert len(found.bad) == 1
    assert 2850 < len(found.rows) < 3000
    assert found.texts[-1].encode() + b"\n" == LINES[-1]
    assert 10 * 1500 - 100 < found.bad[0][1] < 11 * 1500


def _written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_a_seek_table_that_lies_is_a_fault_and_no_row_comes_twice(
    tmp_path: Path, read_corpus: ReadCorpus
) -> None:
    data = bytearray(seekable(TEXT))
    entry = len(data) - 9 - 8 * -(-len(TEXT) // 1500)
    struct.pack_into("<I", data, entry + 4, 1500 + 700)
    found = read_corpus(opened(tmp_path, bytes(data), "in.txt.zst", 4000))
    assert found.reasons == ["the sizes that the file gives for its parts are wrong"]
    assert len(set(found.texts)) == len(found.texts) > 2900


@pytest.mark.parametrize("packer", ["blocks", "sized members", "frames", "one frame"])
def test_a_bomb_is_refused(
    packer: str, tmp_path: Path, read_corpus: ReadCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoders, "FREE_BYTES", 1 << 20)
    monkeypatch.setattr(decoders, "MAX_RATIO", 3)
    suffix, pack = PACKERS[packer]
    with pytest.raises(InputError, match="expands to more than 3 times"):
        read_corpus(opened(tmp_path, pack(b"word " * (1 << 19)), f"in.txt.{suffix}", 100))


@EVERY
def test_a_changed_input_is_refused_by_the_shard_that_reads_it(packer: str, tmp_path: Path) -> None:
    suffix, pack = PACKERS[packer]
    data = bytearray(pack(TEXT))
    corpus = opened(tmp_path, bytes(data), f"in.txt.{suffix}", 9000)
    if corpus.sources[0].unpacked is not None:
        return  # its rows come from the bytes that were planned
    data[len(data) // 2] ^= 1
    Path(corpus.sources[0].path).write_bytes(data)
    with pytest.raises(InputError, match="changed after the run was planned"):
        list(iter_rows(corpus, corpus.shards()[3]))


def test_a_shard_reads_little_more_than_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of the last record is looked for in small steps, not in a whole piece."""
    corpus = opened(tmp_path, deflated(TEXT), "in.txt.gz", 9000)
    made: list[int] = []
    monkeypatch.setattr(decoders, "GZIP_STEP_BYTES", 500)
    original = decoders.content_from

    def counted(*arguments: Any) -> Iterator[bytes]:
        for data in original(*arguments):
            made.append(len(data))
            yield data

    monkeypatch.setattr("samebits.data.compressed.reading.content_from", counted)
    shard = corpus.shards()[2]
    list(iter_rows(corpus, shard))
    assert sum(made) < (shard.stop - shard.start) + 1500


def test_small_files_and_small_shares_are_left_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "LEAST_BYTES", 1 << 20)
    assert len(opened(tmp_path, deflated(TEXT), "in.txt.gz", 900).shards()) == 1
    monkeypatch.setattr(opening, "LEAST_BYTES", 1)
    monkeypatch.setattr(opening, "INDEX_SHARE", 0.5)
    (tmp_path / "large.txt").write_bytes(TEXT * 3)
    corpus = open_corpus([str(tmp_path / "in.txt.gz"), str(tmp_path / "large.txt")], cell_bytes=900)
    assert (corpus.shards().columns[0] == 0).sum() == 1


@pytest.mark.parametrize("packer", ["sized members", "frames", "seekable"])
def test_points_that_the_file_tells_need_no_pass(
    packer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("samebits.data.compressed.decoders._Members.run", lambda *_: pytest.fail("inflated"))
    monkeypatch.setattr("samebits.data.compressed.decoders._Frames.run", lambda *_: pytest.fail("inflated"))
    suffix, pack = PACKERS[packer]
    assert len(opened(tmp_path, pack(TEXT), f"in.txt.{suffix}", 9000).shards()) > 4


@EVERY
def test_workers_elsewhere_make_the_passes(
    packer: str, tmp_path: Path, read_corpus: ReadCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stage that hashes makes indexes and copies too; the driver decompresses nothing."""
    suffix, pack = PACKERS[packer]
    expected = opened(tmp_path, pack(TEXT), f"in.txt.{suffix}", 9000)
    monkeypatch.setattr(hashing, "FEWEST_BYTES", 1)
    monkeypatch.setenv("SAMEBITS_CACHE_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setattr(passes, "read_each", lambda _, items: pytest.fail("the driver") if items else [])
    events: list[Event] = []
    engine = Engine(ShuffledExecutor(seed=1), observer=events.append)
    with reading_by(1, lambda files, num_shards: engine):
        corpus = opened(tmp_path, pack(TEXT), f"in.txt.{suffix}", 9000)
    assert corpus.shards() == expected.shards()
    assert {event.stage for event in events if isinstance(event, StageStarted)} == {"hash"}
    assert equal(read_corpus(corpus), read_corpus(expected))
