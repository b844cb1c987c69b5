"""Stores against a loop over lines with the json module: the definition of what a build gives."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard
from tests.tokens.conftest import Build

from samebits.data.artifact import open_artifact
from samebits.data.token_store import TokenStore
from samebits.errors import ConfigError, InputError, OutputFailed, TooManyBadRows
from samebits.kernels.tokens.order import hash_rows, permute
from samebits.tokens.config import TokensConfig
from samebits.tokens.encoders.tokenizers_encoder import ReferenceEncoder
from samebits.tokens.job import JOB
from samebits.tokens.readers.inspect_store import tokenizer_of


def plain_rows(data: bytes, columns: tuple[str, ...] = ("text",)) -> list[tuple[int, list[str]]]:
    """(line number, texts) of every usable line."""
    rows = []
    for number, line in enumerate(data.split(b"\n")):
        try:
            document = json.loads(line)
            texts = [document[name] for name in columns]
            "".join(texts).encode()
        except (ValueError, KeyError, TypeError):
            continue
        rows.append((number, texts))
    return rows


def documents(folder: Path, split: str = "train") -> list[list[int]]:
    store = TokenStore.open(folder, split, full_check=True)
    return [store[i].tolist() for i in range(len(store))]


def test_bpe_documents_are_those_of_a_plain_loop_with_tokenizers(
    build: Build, dirty: Path, tokenizer_file: Path
) -> None:
    encoder = ReferenceEncoder(tokenizer_file.read_bytes())
    expected = [
        [*encoder.encode_strings(texts)[0].tolist(), 0] for _, texts in plain_rows(dirty.read_bytes())
    ]
    folder = build(tokenizer=str(tokenizer_file))
    assert documents(folder) == expected
    flat = [i for document in expected for i in document]
    assert (folder / "train.bin").read_bytes() == np.array(flat, "<u2").tobytes()


def test_byte_documents_are_the_bytes(build: Build, dirty: Path) -> None:
    expected = [[*texts[0].encode(), 256] for _, texts in plain_rows(dirty.read_bytes())]
    assert documents(build(tokenizer="byte")) == expected


@pytest.mark.parametrize("kind", ["char", "word"])
def test_learned_vocabularies_are_ordered_by_count_then_bytes(build: Build, dirty: Path, kind: str) -> None:
    folder = build(tokenizer=kind)
    entries = json.loads((folder / "tokenizer.json").read_bytes())["vocabulary"]
    text = " ".join(texts[0] for _, texts in plain_rows(dirty.read_bytes()))
    if kind == "char":
        text = "".join(texts[0] for _, texts in plain_rows(dirty.read_bytes()))
        counts = {c: text.count(c) for c in set(text)}
        assert entries == sorted(counts, key=lambda c: (-counts[c], c.encode()))
    else:
        assert entries[0] == max(entries, key=lambda w: (len(documents_with(folder, w)), w == entries[0]))
    store = TokenStore.open(folder)
    assert store.about["unknown_tokens"] == 0


def documents_with(folder: Path, word: str) -> list[int]:
    store = TokenStore.open(folder)
    word_id = 5 + json.loads((folder / "tokenizer.json").read_bytes())["vocabulary"].index(word)
    return np.flatnonzero(np.asarray(store.tokens) == word_id).tolist()


def test_a_small_vocabulary_counts_what_it_does_not_know(build: Build) -> None:
    folder = build(tokenizer="word", vocab_size=10)
    store = TokenStore.open(folder)
    assert store.about["vocab_size"] == 10
    assert store.about["unknown_tokens"] == int((np.asarray(store.tokens) == 1).sum()) > 0


def test_the_split_depends_on_seed_and_line_number_alone(build: Build, dirty: Path) -> None:
    folder = build(val_ratio=0.2, seed=7)
    rows = plain_rows(dirty.read_bytes())
    is_val = hash_rows(7, np.array([n for n, _ in rows])) < np.uint64(int(0.2 * 2.0**64))
    for split, wanted in (("train", False), ("val", True)):
        store = TokenStore.open(folder, split)
        chosen = [row for row, val in zip(rows, is_val.tolist(), strict=True) if val is wanted]
        assert store.source.tolist() == [n for n, _ in chosen]
        assert documents(folder, split) == [[*texts[0].encode(), 256] for _, texts in chosen]


def test_shuffled_rows_follow_the_permutation(build: Build) -> None:
    straight = TokenStore.open(build())
    mixed = TokenStore.open(build(shuffle=True, seed=0))
    assert sorted(mixed.source.tolist()) == straight.source.tolist()
    assert mixed.source.tolist() != straight.source.tolist()
    by_source = {int(s): straight[i].tolist() for i, s in enumerate(straight.source)}
    assert [mixed[i].tolist() for i in range(len(mixed))] == [by_source[int(s)] for s in mixed.source]
    assert not list(mixed.folder.glob("scratch*"))
    other = TokenStore.open(build(shuffle=True, seed=1))
    assert other.source.tolist() != mixed.source.tolist()
    assert permute(0, 5, np.arange(5)).tolist() != list(range(5))


@pytest.mark.parametrize("limit", [1, 7, 50, 399, 400, 10_000])
def test_a_limit_takes_the_first_usable_rows_and_counts_no_further(
    build: Build, dirty: Path, limit: int
) -> None:
    rows = plain_rows(dirty.read_bytes())
    folder = build(limit=limit, cell_mb=0.01)
    assert documents(folder) == [[*texts[0].encode(), 256] for _, texts in rows[:limit]]
    lines = TokenStore.open(folder).about["lines"]
    assert lines["read"] == lines["used"] + lines["blank"] + lines["bad"] + lines["dropped"]
    if limit < len(rows):
        assert lines["read"] == rows[limit - 1][0] + 1


@pytest.mark.parametrize("cell_mb", [0.003, 0.02, 8])
@pytest.mark.parametrize("truncate", ["cut", "drop", "window"])
def test_rows_are_padded_and_long_ones_handled(
    build: Build, dirty: Path, truncate: str, cell_mb: float
) -> None:
    extra: dict[str, Any] = {"stride": 20} if truncate == "window" else {}
    folder = build(layout="rows", max_length=32, truncate=truncate, cell_mb=cell_mb, limit=150, **extra)
    store = TokenStore.open(folder)
    expected: list[tuple[int, list[int]]] = []
    used = 0
    for number, texts in plain_rows(dirty.read_bytes()):
        ids = [*texts[0].encode(), 256]
        pieces = (
            [ids] if len(ids) <= 33 else {"cut": [ids[:33]], "drop": []}.get(truncate, windows(ids, 33, 20))
        )
        expected += [(number, piece) for piece in pieces]
        used += bool(pieces)
        if used == 150:
            break
    assert store.source.tolist() == [number for number, _ in expected]
    assert store.lengths.tolist() == [len(piece) for _, piece in expected]
    assert store.tokens.tolist() == [(piece + [257] * 33)[:33] for _, piece in expected]
    assert np.shares_memory(store.input, store.target)


def windows(ids: list[int], width: int, step: int) -> list[list[int]]:
    starts = [0]
    while starts[-1] + width < len(ids):
        starts.append(starts[-1] + step)
    return [ids[s : s + width] for s in starts]


def test_a_long_row_can_stop_the_build_by_file_line_and_offset(build: Build, dirty: Path) -> None:
    rows = plain_rows(dirty.read_bytes())
    number = next(n for n, texts in rows if len(texts[0].encode()) + 1 > 101)
    offset = len(b"\n".join(dirty.read_bytes().split(b"\n")[:number])) + 1
    with pytest.raises(InputError) as caught:
        build(layout="rows", max_length=100, truncate="error", cell_mb=0.002)
    assert (caught.value.line, caught.value.offset) == (number + 1, offset)


def test_columns_templates_and_prompts(build: Build, dirty: Path) -> None:
    folder = build(layout="rows", max_length=40, template="{bos}{label}: {sep}{text}{eos}", limit=50)
    store = TokenStore.open(folder)
    rows = plain_rows(dirty.read_bytes(), ("label", "text"))[:50]
    expected = [
        [258, *f"{a}: ".encode(), 259, *b.encode(), 256][:41] for a, b in (texts for _, texts in rows)
    ]
    assert [store[i].tolist() for i in range(len(store))] == expected
    assert store.prompts is not None
    assert store.prompts.tolist() == [len(f"{texts[0]}: ") + 2 for _, texts in rows]
    mask = store.loss_mask()
    for row, ids in enumerate(expected):
        prompt = ids.index(259) + 1
        # targets are ids[1:]; those of the answer begin at prompt - 1
        assert np.flatnonzero(mask[row]).tolist() == list(range(prompt - 1, len(ids) - 1))


def test_materialized_arrays_are_those_of_a_padding_loop(build: Build, dirty: Path) -> None:
    folder = build(layout="rows", max_length=20, materialize=True)
    inputs, targets, mask = (
        open_artifact(folder).array(f"train.{name}.npy")
        for name in ("input_ids", "target_ids", "attention_mask")
    )
    assert [array.dtype.str for array in (inputs, targets, mask)] == ["<i4", "<i4", "|b1"]
    for row, (_, texts) in enumerate(plain_rows(dirty.read_bytes())):
        ids = [*texts[0].encode(), 256][:21]
        k = len(ids) - 1
        assert inputs[row].tolist() == ids[:-1] + [257] * (20 - k)
        assert targets[row].tolist() == ids[1:] + [257] * (20 - k)
        assert mask[row].tolist() == [True] * k + [False] * (20 - k)


def test_bad_lines_are_listed_with_file_line_and_offset(build: Build, dirty: Path) -> None:
    folder = build(cell_mb=0.005)
    data = dirty.read_bytes()
    bad = [json.loads(line) for line in (folder / "bad_rows.jsonl").read_bytes().splitlines()]
    good = {number for number, _ in plain_rows(data)}
    lines = data.split(b"\n")
    expected = [n for n, line in enumerate(lines) if n not in good and line.strip()]
    assert [row["line"] - 1 for row in bad] == expected
    for row in bad:
        assert data[: row["offset"]].count(b"\n") + 1 == row["line"]
        assert row["source"] == "dirty.jsonl"


def test_too_many_bad_lines_stop_the_build(dirty: Path, tmp_path: Path) -> None:
    from samebits.api import run

    with pytest.raises(TooManyBadRows, match=r"dirty\.jsonl, line"):
        run("tokens", TokensConfig(inputs=(str(dirty),)), output=tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("pack", ["gz", "zst"])
def test_compressed_input_gives_the_same_tokens(build: Build, dirty: Path, tmp_path: Path, pack: str) -> None:
    data = dirty.read_bytes()
    packed = gzip.compress(data) if pack == "gz" else zstandard.compress(data)
    path = tmp_path / f"dirty.jsonl.{pack}"
    path.write_bytes(packed)
    assert (build(path) / "train.bin").read_bytes() == (build() / "train.bin").read_bytes()


def test_parquet_input_gives_the_same_tokens(build: Build, dirty: Path, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = [texts[0] for _, texts in plain_rows(dirty.read_bytes())]
    pq.write_table(pa.table({"text": texts}), tmp_path / "t.parquet", row_group_size=37)
    store = TokenStore.open(build(tmp_path / "t.parquet"))
    assert (store.folder / "train.bin").read_bytes() == (build() / "train.bin").read_bytes()
    assert store.source.tolist() == list(range(len(texts)))


def test_plain_text_takes_a_line_as_a_row(build: Build, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\r\n\ntwo")
    assert documents(build(tmp_path / "a.txt")) == [[*b"one", 256], [*b"two", 256]]


def test_many_files_are_numbered_through(build: Build, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for i in range(300):
        (folder / f"{i:03d}.txt").write_text(f"row {i}\n" * (i % 3))
    store = TokenStore.open(build(folder))
    assert store.source.tolist() == list(range(300))


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf", b"nonsense\n"])
def test_no_rows_is_an_error_with_a_name(build: Build, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.jsonl").write_bytes(content)
    with pytest.raises(InputError, match=r"a\.jsonl: no usable rows"):
        build(tmp_path / "a.jsonl")


def test_text_can_be_read_back(build: Build, dirty: Path, tokenizer_file: Path) -> None:
    store = TokenStore.open(build(tokenizer=str(tokenizer_file)))
    tokenizer = tokenizer_of(store)
    for row, (_, texts) in enumerate(plain_rows(dirty.read_bytes())[:50]):
        assert tokenizer.decode(store[row]) == texts[0] + "<|endoftext|>"


def test_a_missing_special_token_is_named_before_any_work(
    build: Build, tokenizer_file: Path, tmp_path: Path
) -> None:
    document = json.loads(tokenizer_file.read_bytes())
    document["added_tokens"] = []
    (tmp_path / "bare.json").write_text(json.dumps(document))
    with pytest.raises(ConfigError, match="no eos token") as caught:
        build(tokenizer=str(tmp_path / "bare.json"))
    assert "--no-add-eos" in caught.value.hint
    assert len(documents(build(tokenizer=str(tmp_path / "bare.json"), add_eos=False))) > 300


def test_a_build_that_cannot_fit_is_refused_first(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    class Small:
        f_bavail, f_frsize = 10, 1

    monkeypatch.setattr(os, "statvfs", lambda folder: Small)
    with pytest.raises(OutputFailed, match="on disk"):
        build()


def test_the_estimate_is_near_the_truth(build: Build, dirty: Path) -> None:
    record = json.loads((build(layout="rows", max_length=64) / "record.json").read_bytes())
    sentence = record["metrics"]["estimate"]
    rows = int(sentence.split()[1].replace(",", ""))
    truth = len(plain_rows(dirty.read_bytes()))
    assert truth * 0.8 < rows < truth * 1.25


@pytest.mark.parametrize(
    "settings",
    [
        {"layout": "rows", "export": ("nanogpt",)},
        {"materialize": True},
        {"truncate": "window"},
        {"stride": 4},
        {"export": ("npz",)},
        {"val_ratio": 1.0},
        {"max_length": 0},
        {"columns": ("a",), "template": "{a}"},
        {"seed": -1},
    ],
)
def test_settings_that_contradict_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        TokensConfig(inputs=("x",), **settings)


def test_ids_that_do_not_fit_are_refused(build: Build) -> None:
    with pytest.raises(ConfigError, match="uint8 is too small for 260"):
        build(dtype="uint8")


def test_nanogpt_gets_sixteen_bits(build: Build, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("ab\nba\n")
    folder = build(tmp_path / "a.txt", tokenizer="char", export=("nanogpt",))
    assert np.fromfile(folder / "train.bin", np.uint16).tolist() == [5, 6, 4, 6, 5, 4]
    assert (build(tmp_path / "a.txt", tokenizer="char") / "train.bin").stat().st_size == 6


def test_the_plan_knows_the_tokenizer_by_content_not_by_place(
    dirty: Path, tokenizer_file: Path, tmp_path: Path
) -> None:
    (tmp_path / "copy.json").write_bytes(tokenizer_file.read_bytes())
    (tmp_path / "other.json").write_bytes(tokenizer_file.read_bytes() + b"\n")
    digests = [
        JOB.plan(TokensConfig(inputs=(str(dirty),), tokenizer=str(path))).digest
        for path in (tokenizer_file, tmp_path / "copy.json", tmp_path / "other.json")
    ]
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize("shuffle", [False, True])
def test_the_manifest_has_the_digests_of_the_files_on_disk(build: Build, *, shuffle: bool) -> None:
    """The stream is hashed while it is written; a full check reads it again."""
    folder = build(val_ratio=0.3, shuffle=shuffle)
    assert len(TokenStore.open(folder, "val", full_check=True)) > 0


def test_a_sample_without_rows_is_followed_by_a_larger_one(build: Build, tmp_path: Path) -> None:
    path = tmp_path / "late.jsonl"
    path.write_bytes(b"\n" * 400_000 + b'{"text": "late"}\n' * 1000)
    folder = build(path)
    assert (
        "estimate: 1,000 rows, 5,000 tokens"
        in json.loads((folder / "record.json").read_bytes())["metrics"]["estimate"]
    )
