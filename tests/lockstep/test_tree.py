"""The tree: one bracketing for any number of shards, and a division of labour that neither loses nor doubles a merge."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samebits.errors import ConfigError
from samebits.lockstep.exchange.tree import fold, merges, owner_of, shards_of, slice_of, split, turns_of
from samebits.lockstep.problem.config import FitConfig
from samebits.lockstep.problem.layout import CHUNK, make_layout
from samebits.lockstep.problem.objective import TensorSpec
from samebits.lockstep.worker.optimizers.muon import matrices_of
from samebits.lockstep.worker.optimizers.share import share_matrices, share_of

SHARDS = st.integers(1, 70)


def reference(values: list[float]) -> float:
    """The same bracketing written as a recursion: the left part is the largest power of two below the size."""
    if len(values) == 1:
        return values[0]
    half = 1 << (len(values) - 1).bit_length() - 1
    return reference(values[:half]) + reference(values[half:])


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=70))
def test_the_fold_is_the_recursive_sum(values: list[float]) -> None:
    assert fold(list(values)) == reference(values)


@given(SHARDS, st.data())
def test_the_merges_of_all_workers_are_those_of_the_tree(num_shards: int, data: st.DataObject) -> None:
    workers = data.draw(st.integers(1, num_shards))
    parts = [split(worker, workers, num_shards) for worker in range(workers)]
    local = [merge for part in parts for found in part.local.values() for merge in found]
    assert all(part.cross == parts[0].cross for part in parts), (
        "everybody does the same merges between workers"
    )
    key = lambda merge: (merge.left, merge.right)  # noqa: E731
    assert sorted([*local, *parts[0].cross], key=key) == sorted(merges(num_shards), key=key)


@given(SHARDS, st.data())
def test_workers_in_any_order_give_the_sum_of_the_tree(num_shards: int, data: st.DataObject) -> None:
    workers = data.draw(st.integers(1, num_shards))
    values = [data.draw(st.floats(-1e6, 1e6)) for _ in range(num_shards)]
    rows = list(values)
    for worker in data.draw(st.permutations(range(workers))):
        part = split(worker, workers, num_shards)
        for shard in shards_of(worker, workers, num_shards):
            for merge in part.local.get(shard, ()):
                rows[merge.left] += rows[merge.right]
    for merge in split(0, workers, num_shards).cross:
        rows[merge.left] += rows[merge.right]
    assert rows[0] == reference(values)


@given(SHARDS, st.data())
def test_every_shard_has_one_owner_and_every_worker_has_work(num_shards: int, data: st.DataObject) -> None:
    workers = data.draw(st.integers(1, num_shards))
    owned = [shards_of(worker, workers, num_shards) for worker in range(workers)]
    assert [shard for shards in owned for shard in shards] == list(range(num_shards))
    assert all(shards for shards in owned)
    for worker, shards in enumerate(owned):
        assert all(owner_of(shard, workers, num_shards) == worker for shard in shards)


@given(st.integers(0, 300), st.integers(1, 70))
def test_slices_cover_a_range_once_on_chunk_borders(num_chunks: int, workers: int) -> None:
    start, stop = 5 * CHUNK, (5 + num_chunks) * CHUNK
    slices = [slice_of(worker, workers, start, stop, CHUNK) for worker in range(workers)]
    assert slices[0][0] == start
    assert slices[-1][1] == stop
    assert all(one[1] == two[0] for one, two in itertools.pairwise(slices))
    assert all(border % CHUNK == 0 for pair in slices for border in pair)


SPECS = [
    TensorSpec("v", (5000,), "vector"),
    TensorSpec("m", (64, 100), "matrix"),
    TensorSpec("e", (10, 3), "embedding"),
    TensorSpec("stack", (3, 8, 8), "matrix"),
]


def test_tensors_are_aligned_and_groups_start_on_chunks() -> None:
    layout = make_layout(SPECS)
    assert [entry.spec.name for entry in layout.entries] == ["m", "stack", "e", "v"]
    assert all(entry.offset % 16 == 0 for entry in layout.entries)
    assert [layout.bounds(group)[0] % CHUNK for group in ("matrix", "embedding", "vector")] == [0, 0, 0]
    assert layout.size == layout.ends[-1] == (2 + 1 + 2) * CHUNK
    views = layout.views(np.arange(layout.size, dtype=np.float32))
    assert views["stack"].shape == (3, 8, 8)
    assert views["stack"][0, 0, 0] == layout.entries[1].offset


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
@pytest.mark.parametrize("workers", [1, 2, 3, 9])
def test_the_shares_of_all_workers_update_every_parameter_once(optimizer: str, workers: int) -> None:
    layout = make_layout(SPECS)
    config = FitConfig(steps=1, shards=9, optimizer=optimizer)  # type: ignore[arg-type]
    touched = np.zeros(layout.size, int)
    for worker in range(workers):
        share = share_of(config, layout, worker, workers)
        for start, stop, _ in share.slices:
            touched[start:stop] += 1
        for start, rows, columns in share.matrices:
            touched[start : start + rows * columns] += 1
    for view in layout.views(touched).values():
        assert (view == 1).all()


def test_the_dearest_matrices_go_to_the_least_loaded() -> None:
    shares = share_matrices(matrices_of(make_layout(SPECS)), 2)
    assert [len(share) for share in shares] == [1, 3]


@pytest.mark.parametrize(
    ("specs", "words"),
    [
        ([], "no parameters"),
        ([SPECS[0], SPECS[0]], "two tensors named 'v'"),
        ([TensorSpec("x", (3, 0), "matrix")], "is empty"),
        ([TensorSpec("x", (3,), "scalar")], "group 'scalar'"),  # type: ignore[arg-type]
    ],
)
def test_tensors_that_cannot_be_placed_are_refused(specs: list[TensorSpec], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        make_layout(specs)


@pytest.mark.parametrize("workers", [1, 2, 3, 4])
def test_the_first_turns_of_all_workers_are_all_shards_and_a_late_worker_still_finds_the_rest(
    workers: int,
) -> None:
    turns = [turns_of(worker, workers, 12) for worker in range(workers)]
    assert all(sorted(found) == list(range(12)) for found in turns)
    own = [found[: 12 // workers] for found in turns]
    assert sorted(shard for found in own for shard in found) == list(range(12))
    assert all(
        found == sorted(found) for found in own
    )  # so the lowest shard that raises is reached by its owner


def test_two_workers_share_long_and_short_shards_evenly() -> None:
    lengths = [40, 32, 14, 9]  # longest first, as the parser puts them
    own = [turns_of(worker, 2, 4)[:2] for worker in range(2)]
    assert [sum(lengths[shard] for shard in found) for found in own] == [49, 46]
