"""Parquet: string columns of any Arrow kind, cut between row groups."""

from pathlib import Path
from typing import Any

import pytest

from samebits.data.inputs.blocks import BLOCK_BYTES
from samebits.data.inputs.corpus import open_corpus
from samebits.data.readers.rows import iter_rows
from samebits.errors import InputError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

TEXTS = ["one", "", "two\nlines", "é漢🙂", None, "x" * 1000, "last"]


def write(path: Path, table: Any, **options: Any) -> str:
    pq.write_table(table, path, **options)
    return str(path)


@pytest.mark.parametrize("kind", ["string", "large_string", "string_view", "dictionary"])
def test_rows_of_every_string_kind(tmp_path: Path, kind: str, read_corpus: Any) -> None:
    types = {"string": pa.string(), "large_string": pa.large_string(), "string_view": pa.string_view()}
    column = pa.array(TEXTS)
    column = column.dictionary_encode() if kind == "dictionary" else column.cast(types[kind])
    path = write(tmp_path / "in.parquet", pa.table({"id": range(7), "text": column}), row_group_size=3)
    found = read_corpus(open_corpus([path], cell_bytes=1))
    assert found.texts == [text for text in TEXTS if text is not None]
    assert found.bad == [(4, None, "'text' is null, not a string")]
    assert found.offsets == [0, 1, 2, 3, 5, 6]
    assert found.num_blank == 0


def test_row_groups_are_joined_up_to_the_size_of_a_cell(tmp_path: Path, read_corpus: Any) -> None:
    table = pa.table({"text": [f"{number}" * 50 for number in range(1000)]})
    path = write(tmp_path / "in.parquet", table, row_group_size=10, use_dictionary=False)
    shards = {cell: open_corpus([path], cell_bytes=cell).shards() for cell in (1, 5000, 1 << 20)}
    assert len(shards[1]) == 100
    assert 1 < len(shards[5000]) < 100
    assert [(shard.start, shard.stop) for shard in shards[1 << 20]] == [(0, 100)]
    for cell in shards:
        found = read_corpus(open_corpus([path], cell_bytes=cell))
        assert found.texts == table["text"].to_pylist()
        assert found.lines == list(range(1000))


def test_several_columns_and_large_files(tmp_path: Path, read_corpus: Any) -> None:
    table = pa.table({"a": [f"a{n}" * 20 for n in range(30_000)], "b": [f"b{n}" * 5 for n in range(30_000)]})
    path = write(tmp_path / "in.parquet", table, compression="none", use_dictionary=False)
    assert Path(path).stat().st_size > 4 * BLOCK_BYTES
    found = read_corpus(open_corpus([path]), ("b", "a"))
    assert found.rows == list(zip(table["b"].to_pylist(), table["a"].to_pylist(), strict=True))
    assert found.num_blocks > 1


def test_invalid_utf8_is_a_bad_row_also_at_the_border_of_two_values(tmp_path: Path, read_corpus: Any) -> None:
    raw = [b"good", b"a\xff", "é".encode()[:1], "é".encode()[1:], b"good too"]
    column = pa.array(raw, pa.binary()).view(pa.string())
    found = read_corpus(open_corpus([write(tmp_path / "in.parquet", pa.table({"text": column}))]))
    assert found.texts == ["good", "good too"]
    assert found.bad == [
        (1, None, "invalid UTF-8 at byte 1: 0xff"),
        (2, None, "invalid UTF-8 at byte 0: 0xc3"),
        (3, None, "invalid UTF-8 at byte 0: 0xa9"),
    ]


def test_a_value_that_is_too_long_is_bad(tmp_path: Path, read_corpus: Any) -> None:
    path = write(tmp_path / "in.parquet", pa.table({"text": ["x" * 11, "x" * 10]}))
    found = read_corpus(open_corpus([path]), max_line_bytes=10)
    assert (found.texts, found.bad) == (["x" * 10], [(0, None, "longer than 10 bytes")])


def test_a_table_without_rows_gives_none(tmp_path: Path, read_corpus: Any) -> None:
    path = write(tmp_path / "in.parquet", pa.table({"text": pa.array([], pa.string())}))
    assert read_corpus(open_corpus([path])).rows == []


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"texts": ["a"]}, r"no column 'text'\nhint: did you mean 'texts'\?"),
        ({"text": [1], "body": ["a"]}, r"column 'text' holds int64, not strings\nhint: string columns: body"),
        ({"text": [b"a"]}, "column 'text' holds binary, not strings"),
        ({"text": [["a"]]}, "column 'text' holds list<.*, not strings"),
    ],
)
def test_columns_that_cannot_be_used_are_errors(
    tmp_path: Path, table: dict[str, Any], message: str, read_corpus: Any
) -> None:
    corpus = open_corpus([write(tmp_path / "in.parquet", pa.table(table))])
    with pytest.raises(InputError, match=message):
        read_corpus(corpus)


@pytest.mark.parametrize(
    "data", [b"", b"not parquet", b"PAR1" + bytes(100) + b"PAR1"], ids=["empty", "text", "zeros"]
)
def test_other_files_are_refused_when_planned(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "in.parquet"
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"in\.parquet: not a readable Parquet file"):
        open_corpus([str(path)])


def test_half_a_file_is_refused(tmp_path: Path) -> None:
    path = Path(write(tmp_path / "in.parquet", pa.table({"text": TEXTS})))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match="not a readable Parquet file"):
        open_corpus([str(path)])


def test_input_changed_after_the_plan_is_refused(tmp_path: Path) -> None:
    table = pa.table({"text": [f"{n}" * 30 for n in range(30_000)]})
    path = Path(write(tmp_path / "in.parquet", table, compression="none", use_dictionary=False))
    corpus = open_corpus([str(path)])
    data = bytearray(path.read_bytes())
    data[BLOCK_BYTES + 1] ^= 1
    path.write_bytes(data)
    with pytest.raises(InputError, match="changed after the run was planned") as caught:
        list(iter_rows(corpus, corpus.shards()[0]))
    assert caught.value.offset == BLOCK_BYTES
