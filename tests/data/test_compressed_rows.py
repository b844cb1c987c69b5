"""Compressed files: the same rows as the plain file, in bounded blocks; broken ones give what they have."""

import gzip
import json
import zlib
from collections.abc import Callable
from typing import Any

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from samebits.data.compressed import decoders
from samebits.data.inputs.blocks import BLOCK_BYTES
from samebits.errors import InputError

Reader = Callable[..., Any]
PACK: dict[str, Callable[[bytes], bytes]] = {"gz": gzip.compress, "zst": zstandard.ZstdCompressor().compress}
BOTH = pytest.mark.parametrize("packer", ["gz", "zst"])
TEXTS = st.lists(
    st.sampled_from([b"\n", b"\r", b'"', b",", b"x", b"xyz", "é".encode(), b"\xff", b'{"text":"a"}\n'])
).map(b"".join)


@BOTH
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=TEXTS,
    kind=st.sampled_from(["txt", "jsonl", "csv"]),
    stream_bytes=st.integers(1, 30),
    bom=st.booleans(),
)
def test_the_rows_are_those_of_the_plain_file(
    read: Reader, packer: str, data: bytes, kind: str, stream_bytes: int, bom: bool
) -> None:
    data = b"\xef\xbb\xbf" * bom + (b"text,b\n" if kind == "csv" else b"") + data
    plain = read(data, name=f"in.{kind}", max_line_bytes=12)
    packed = read(
        PACK[packer](data), name=f"in.{kind}.{packer}", max_line_bytes=12, stream_bytes=stream_bytes
    )
    assert (packed.rows, packed.bad, packed.num_blank) == (plain.rows, plain.bad, plain.num_blank)
    assert (packed.lines, packed.offsets) == (plain.lines, plain.offsets)


@BOTH
def test_a_large_file_comes_in_blocks(read: Reader, packer: str) -> None:
    texts = [f"line {number} " * (number % 9 + 1) for number in range(40_000)]
    found = read(PACK[packer]("\n".join(texts).encode()), name=f"in.txt.{packer}", stream_bytes=100_000)
    assert found.texts == texts
    assert found.num_blocks > 2


@BOTH
def test_parts_one_after_the_other_are_one_file(read: Reader, packer: str) -> None:
    data = PACK[packer](b"one\ntw") + PACK[packer](b"") + PACK[packer](b"o\nthree")
    assert read(data, name=f"in.txt.{packer}").texts == ["one", "two", "three"]


def test_zero_bytes_after_gzip_data_are_padding(read: Reader) -> None:
    assert read(gzip.compress(b"one\n") + bytes(1000), name="in.txt.gz").texts == ["one"]


@BOTH
@pytest.mark.parametrize("text", [b"", b"\xef\xbb\xbf"], ids=["empty", "only BOM"])
def test_nothing_inside_gives_no_rows(read: Reader, packer: str, text: bytes) -> None:
    found = read(PACK[packer](text), name=f"in.txt.{packer}")
    assert (found.rows, found.num_lines) == ([], 0)


@BOTH
def test_half_a_file_gives_the_rows_before_the_break_and_one_bad_row(read: Reader, packer: str) -> None:
    words = [json.dumps({"text": f"{number**3 % 99999989}"}) for number in range(50_000)]
    data = PACK[packer]("\n".join(words).encode())
    found = read(data[: len(data) // 2], name=f"in.jsonl.{packer}", stream_bytes=10_000)
    name = {"gz": "gzip", "zst": "zstd"}[packer]
    assert found.texts == [json.loads(word)["text"] for word in words[: len(found.texts)]]
    assert len(found.texts) > 10_000
    assert found.reasons == [f"the {name} data end too early"]
    line, offset, _ = found.bad[0]
    assert line == len(found.texts)
    assert offset == sum(len(word) + 1 for word in words[:line])


def test_damage_in_the_middle_is_named(read: Reader) -> None:
    good = gzip.compress(b"one\ntwo\n")
    found = read(good + b"\x01 no gzip member", name="in.txt.gz")
    assert found.texts == ["one", "two"]
    assert found.reasons == ["damaged gzip data: Error -3 while decompressing data: incorrect header check"]
    found = read(good[:-8] + bytes(8), name="in.txt.gz")
    assert found.texts == ["one", "two"]
    assert found.reasons == ["damaged gzip data: Error -3 while decompressing data: incorrect data check"]
    found = read(PACK["zst"](b"one\n") + b"no zstd frame", name="in.txt.zst")
    assert (found.texts, len(found.bad)) == (["one"], 1)
    assert found.reasons[0].startswith("damaged zstd data: ")


@BOTH
def test_a_plain_file_with_a_wrong_suffix_is_one_bad_row(read: Reader, packer: str) -> None:
    found = read(b"not compressed at all\n", name=f"in.txt.{packer}")
    assert (found.texts, len(found.bad)) == ([], 1)


@BOTH
def test_a_csv_without_a_whole_header_is_refused(read: Reader, packer: str) -> None:
    data = PACK[packer](b"text,n\n" + bytes(range(256)) * 40)
    with pytest.raises(InputError, match=r"the header row cannot be used: the .* data end too early"):
        read(data[:15], name=f"in.csv.{packer}")


@BOTH
def test_a_huge_line_is_skipped_in_bounded_memory(read: Reader, packer: str) -> None:
    data = b"before\n" + b"x" * 5_000_000 + b"\nafter\n"
    found = read(PACK[packer](data), name=f"in.txt.{packer}", stream_bytes=10_000, max_line_bytes=1000)
    assert (found.texts, found.bad) == (["before", "after"], [(1, 7, "longer than 1000 bytes")])


@BOTH
def test_a_bomb_is_refused(read: Reader, packer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoders, "FREE_BYTES", 1 << 20)
    data = PACK[packer](b"\n" * (8 << 20))
    with pytest.raises(InputError, match="expands to more than 200 times"):
        read(data, name=f"in.txt.{packer}")


def test_a_gzip_step_is_bounded() -> None:
    packed = zlib.compress(bytes(64 << 20), wbits=31)
    stream = decoders._Members(decoders.START, decoders._Nowhere())
    assert max(len(step) for step in stream.run(iter([packed]))) == decoders.GZIP_STEP_BYTES


def test_a_compressed_file_is_checked_block_by_block(read: Reader, tmp_path: Any) -> None:
    from samebits.data.inputs.corpus import open_corpus
    from samebits.data.readers.rows import iter_rows

    path = tmp_path / "in.txt.gz"
    data = bytearray(gzip.compress(bytes(range(32, 127)) * 40_000, compresslevel=0))
    path.write_bytes(data)
    corpus = open_corpus([str(path)], cut_compressed=False)
    assert len(corpus.shards()) == 1
    data[BLOCK_BYTES + 5] ^= 1
    path.write_bytes(data)
    with pytest.raises(InputError, match="changed after the run was planned") as caught:
        list(iter_rows(corpus, corpus.shards()[0]))
    assert caught.value.offset == BLOCK_BYTES
