"""Who reads a store: our own reader, PyTorch, nanoGPT's loader, Megatron-core, Arrow and Hugging Face datasets."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.tokens.conftest import Build

from samebits.api import run
from samebits.data.token_store import TokenStore, epoch_order
from samebits.errors import ArtifactCorrupt, ConfigError, InputError
from samebits.tokens.config import TokensConfig
from samebits.tokens.layouts.convert import ConvertConfig
from samebits.tokens.readers.handover import to_arrow, to_datasets, write_arrow
from samebits.tokens.readers.inspect_store import length_histogram, parse_rows, show_rows, store_stats


@pytest.fixture
def packed(build: Build) -> TokenStore:
    return TokenStore.open(build(export=("megatron", "nanogpt"), val_ratio=0.2))


@pytest.fixture
def rows(build: Build) -> TokenStore:
    return TokenStore.open(build(layout="rows", max_length=24, template="{label}{sep}{text}{eos}"))


def test_a_store_is_pickled_by_its_place(packed: TokenStore) -> None:
    data = pickle.dumps(packed)
    assert len(data) < 1000
    copy = pickle.loads(data)
    assert np.array_equal(copy.tokens, packed.tokens)


def test_a_flipped_byte_is_found_by_a_full_check(packed: TokenStore) -> None:
    path = packed.folder / "train.bin"
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    with pytest.raises(ArtifactCorrupt, match=r"train\.bin"):
        TokenStore.open(packed.folder, full_check=True)


def test_a_file_cut_short_is_found_at_once(packed: TokenStore) -> None:
    path = packed.folder / "train.bin"
    path.write_bytes(path.read_bytes()[:-2])
    with pytest.raises(ArtifactCorrupt, match=r"train\.bin"):
        TokenStore.open(packed.folder)


def test_a_missing_split_and_a_missing_store_are_named(packed: TokenStore, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        TokenStore.open(packed.folder, "vla")
    assert "did you mean 'val'" in caught.value.hint
    with pytest.raises(InputError):
        TokenStore.open(tmp_path)


def test_views_of_another_layout_are_refused_with_the_way_out(packed: TokenStore) -> None:
    with pytest.raises(ConfigError) as caught:
        _ = packed.input
    assert "convert" in caught.value.hint


def test_windows_cover_the_stream_once(packed: TokenStore) -> None:
    length = 50
    windows = packed.windows(np.arange(packed.num_windows(length)), length)
    flat = windows[:, :-1].reshape(-1)
    assert np.array_equal(flat, packed.tokens[: len(flat)])
    assert len(packed.tokens) - 1 - len(flat) < length
    with pytest.raises(IndexError):
        packed.windows(np.array([packed.num_windows(length)]), length)


def test_epochs_have_orders_of_their_own() -> None:
    first, second = (epoch_order(100, np.arange(100), seed=0, epoch=e).tolist() for e in (0, 1))
    assert first != second
    assert sorted(first) == sorted(second) == list(range(100))


def test_a_nanogpt_loader_reads_the_file(packed: TokenStore) -> None:
    data = np.memmap(packed.folder / "train.bin", dtype=np.uint16, mode="r")
    assert np.array_equal(data, packed.tokens)


def test_rows_decode_with_their_origin(packed: TokenStore) -> None:
    shown = list(show_rows(packed, parse_rows("0:3", len(packed))))
    assert [row.source for row in shown] == packed.source[:3].tolist()
    assert all(row.text.endswith("<|endoftext|>") for row in shown)
    with pytest.raises(ConfigError, match="--rows"):
        parse_rows("a:b", 3)


def test_stats_are_counts_of_the_arrays(rows: TokenStore) -> None:
    stats = store_stats(rows)
    lengths = rows.lengths
    assert stats["tokens"] == int(lengths.sum())
    assert stats["padding_share"] == 1 - int(lengths.sum()) / rows.tokens.size
    assert sum(bin_["rows"] for bin_ in stats["length_histogram"]) == len(rows)
    real = [i for row in range(len(rows)) for i in rows[row].tolist()]
    assert stats["vocabulary"]["used"] == len(set(real))
    assert length_histogram(np.array([5, 6, 7])) == [{"from": 4, "to": 7, "rows": 3}]


def test_converting_there_and_back_gives_the_same_documents(build: Build, tmp_path: Path) -> None:
    store = TokenStore.open(build(val_ratio=0.2))
    longest = int(store.lengths.max())
    first = ConvertConfig(inputs=(str(store.folder),), layout="rows", max_length=longest)
    run("tokens_convert", first, output=tmp_path / "rows")
    second = ConvertConfig(inputs=(str(tmp_path / "rows"),), layout="packed", export=("megatron",))
    run("tokens_convert", second, output=tmp_path / "packed")
    for split in ("train", "val"):
        before, after = (TokenStore.open(folder, split) for folder in (store.folder, tmp_path / "packed"))
        assert np.array_equal(before.tokens, after.tokens)
        assert np.array_equal(before.offsets, after.offsets)
        assert np.array_equal(before.source, after.source)


def test_converted_rows_are_those_of_a_build(build: Build, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"max_length": 20, "truncate": "window", "stride": 7}
    built = TokenStore.open(build(layout="rows", **settings))
    config = ConvertConfig(inputs=(str(build()),), layout="rows", materialize=True, **settings)
    run("tokens_convert", config, output=tmp_path / "rows")
    converted = TokenStore.open(tmp_path / "rows")
    assert np.array_equal(built.tokens, converted.tokens)
    assert np.array_equal(built.source, converted.source)


def test_arrow_tables_share_the_mapped_tokens(packed: TokenStore, rows: TokenStore, tmp_path: Path) -> None:
    import pyarrow as pa

    table = to_arrow(packed)
    assert table["input_ids"][3].as_py() == packed[3].tolist()
    assert table["source"].to_pylist() == packed.source.tolist()
    fixed = to_arrow(rows)
    assert fixed["input_ids"][2].as_py() == rows.tokens[2].tolist()
    assert fixed["length"].to_pylist() == rows.lengths.tolist()
    write_arrow(packed, tmp_path / "store.arrow")
    with pa.memory_map(str(tmp_path / "store.arrow")) as file:
        assert pa.ipc.open_stream(file).read_all().equals(table)


def test_huggingface_datasets_loads_the_store(packed: TokenStore, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="pip install datasets")
    data = to_datasets(packed)
    assert len(data) == len(packed)
    assert data[5]["input_ids"] == packed[5].tolist()
    write_arrow(packed, tmp_path / "store.arrow")
    again = datasets.Dataset.from_file(str(tmp_path / "store.arrow"))
    assert again[7]["input_ids"] == packed[7].tolist()


def test_megatron_core_reads_bin_and_idx(
    packed: TokenStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # importing it would set the variable for good
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    module = pytest.importorskip(
        "megatron.core.datasets.indexed_dataset", reason="pip install megatron-core", exc_type=ImportError
    )
    data = module.IndexedDataset(str(packed.folder / "train"))
    assert len(data) == len(packed)
    assert data.sequence_lengths.tolist() == packed.lengths.tolist()
    for row in range(len(packed)):
        assert data[row].tolist() == packed[row].tolist()


def torch_data() -> tuple[Any, Any]:
    torch = pytest.importorskip("torch", reason="pip install 'samebits[torch]'")
    from samebits.tokens.readers import torch_data as module

    return torch, module


def test_torch_streams_are_the_same_for_any_number_of_loader_workers(packed: TokenStore) -> None:
    torch, module = torch_data()
    stream = module.TokenStream(packed, length=32, batch_size=8, seed=1)
    seen = []
    for workers in (0, 1, 2):
        loader = torch.utils.data.DataLoader(stream, batch_size=None, num_workers=workers)
        seen.append([(inputs.tolist(), targets.tolist()) for inputs, targets in loader])
    assert seen[0] == seen[1] == seen[2]
    assert len(seen[0]) == packed.num_windows(32) // 8
    inputs, targets = seen[0][0]
    assert [row[1:] for row in inputs] == [row[:-1] for row in targets]


def test_torch_streams_resume_exactly(packed: TokenStore) -> None:
    _, module = torch_data()
    settings = {"length": 16, "batch_size": 4, "seed": 5}
    whole = [inputs.tolist() for inputs, _ in module.TokenStream(packed, **settings)]
    first = module.TokenStream(packed, **settings)
    taken = [inputs.tolist() for _, (inputs, _) in zip(range(7), first, strict=False)]
    state = json.loads(json.dumps(first.state_dict(consumed=7)))
    second = module.TokenStream(packed, **settings)
    second.load_state_dict(state)
    assert taken + [inputs.tolist() for inputs, _ in second] == whole
    other = module.TokenStream(packed, length=16, batch_size=4, seed=6)
    with pytest.raises(ConfigError, match="seed 5"):
        other.load_state_dict(state)


def test_torch_replicas_share_each_batch(packed: TokenStore) -> None:
    _, module = torch_data()
    settings = {"length": 16, "batch_size": 4, "seed": 5}
    whole = module.TokenStream(packed, **settings).batch(3)[0].tolist()
    parts = [
        module.TokenStream(packed, replica=r, replicas=2, **settings).batch(3)[0].tolist() for r in (0, 1)
    ]
    assert parts[0] + parts[1] == whole


def test_torch_rows_are_the_views_of_the_store(rows: TokenStore) -> None:
    torch, module = torch_data()
    batches = []
    for workers in (0, 1, 2):
        loader = torch.utils.data.DataLoader(
            module.TokenDataset(rows, loss_on="answer"), batch_size=16, num_workers=workers
        )
        batches.append([[x.tolist() for x in batch] for batch in loader])
    assert batches[0] == batches[1] == batches[2]
    assert batches[0][0][0] == rows.input[:16].tolist()
    assert batches[0][0][1] == rows.target[:16].tolist()
    assert batches[0][0][2] == rows.loss_mask(slice(16)).tolist()


def test_settings_of_a_build_are_in_the_artifact_and_places_are_not(build: Build, dirty: Path) -> None:
    folder = build()
    text = (folder / "manifest.json").read_text() + (folder / "store.json").read_text()
    assert str(dirty.parent) not in text
    assert TokensConfig(inputs=("x",)).splits == ("train",)
