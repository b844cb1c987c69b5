"""Forged artifacts whose manifest fits: refused by name, never believed. Past findings are replayed first."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.fuzz import inputs
from tests.fuzz.artifacts import USES, try_one
from tests.fuzz.forge import rehash
from tests.fuzz.genuine import FORGEABLE

import samebits
from samebits.data.array_file import map_array
from samebits.errors import ArtifactCorrupt, InputError
from samebits.langid.model.model import LangidModel

LIGHT = (
    "characters",
    "charset",
    "count",
    "langid",
    "langid_compact",
    "langid_exact",
    "tokens_packed",
    "tokens_rows",
)
RUNS = 40  # of each kind; 20,000 by 'make sanitize'


@pytest.fixture(scope="module")
def genuine(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("genuine")
    return {kind: FORGEABLE[kind](place / kind) for kind in LIGHT}


def forged(genuine: Path, place: Path, change: Callable[[Path], Any]) -> Path:
    shutil.copytree(genuine, place)
    change(place)
    rehash(place, json.loads((place / "manifest.json").read_bytes()))
    return place


def with_array(name: str, change: Callable[[Any], Any]) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        np.save(folder / name, change(np.load(folder / name)))

    return apply


def first(value: int) -> Callable[[Any], Any]:
    def apply(values: Any) -> Any:
        values.reshape(-1)[0] = value
        return values

    return apply


FINDINGS = {
    "signed sizes of words": ("word_sizes.npy", lambda v: -(v.astype(np.int32))),
    "sizes of words that go round": ("word_sizes.npy", lambda v: np.append(v.astype(np.int64), [5, -5])),
    "signed sizes of entries": ("entry_sizes.npy", lambda v: v.astype(np.int64)),
    "a key with more languages than there are": ("key_sizes.npy", lambda v: np.array([v.sum()], np.uint32)),
    "a language that is not there": ("value_languages.npy", first(60000)),
    "a language of an entry that is not there": ("entry_languages.npy", first(60000)),
    "keys out of order": ("keys.npy", lambda v: v[::-1]),
    "a floor whose sums overflow": ("floors.npy", first(-(2**31))),
    "floors of one group": ("floors.npy", lambda v: v[:1]),
    "values of another type": ("values.npy", lambda v: v.astype(np.float64)),
    "words cut inside a character": ("words.npy", lambda v: np.full_like(v, 0x80)),
    "rank two": ("words.npy", lambda v: v.reshape(1, -1)),
}


@pytest.mark.parametrize("name", sorted(FINDINGS))
def test_a_forged_langid_model_is_refused_before_a_kernel_sees_it(
    name: str, genuine: dict[str, Path], tmp_path: Path
) -> None:
    file, change = FINDINGS[name]
    folder = forged(genuine["langid"], tmp_path / "forged", with_array(file, change))
    samebits.verify(folder)  # the manifest fits
    with pytest.raises(ArtifactCorrupt, match=r"forged"):
        LangidModel.load(folder)


def test_a_header_that_tells_of_terabytes_allocates_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.zeros(3, np.uint8))
    path.write_bytes(path.read_bytes().replace(b"(3,), }" + b" " * 12, b"(7000000000000,), }"))
    with pytest.raises(ArtifactCorrupt, match="7000000000000"):
        map_array(path)


@pytest.mark.parametrize(
    "value", [np.zeros(3), np.zeros((2, 0), np.int8), np.arange(6, dtype="<u2").reshape(2, 3)]
)
def test_what_numpy_saves_is_read_as_it_is(value: Any, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", value)
    found = map_array(tmp_path / "a.npy")
    assert (found.dtype, found.shape, found.tolist()) == (value.dtype, value.shape, value.tolist())


@pytest.mark.parametrize("value", [np.array(["a"]), np.array([1 + 2j]), np.zeros(1, ">i4")])
def test_only_plain_numbers_are_arrays(value: Any, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", value)
    with pytest.raises(ArtifactCorrupt, match="not an array of plain numbers"):
        map_array(tmp_path / "a.npy")


@pytest.mark.parametrize("kind", ["pipe", "folder", "loop"])
def test_a_manifest_that_is_no_file_is_named_at_once(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(path)
    with pytest.raises(InputError, match=r"manifest\.json: (not a file|cannot be read)"):
        samebits.verify(tmp_path)


def test_disordered_offsets_of_a_store_are_refused(genuine: dict[str, Path], tmp_path: Path) -> None:
    def swap(offsets: Any) -> Any:
        offsets[[1, 2]] = offsets[[2, 1]]
        return offsets

    folder = forged(genuine["tokens_packed"], tmp_path / "forged", with_array("train.offsets.npy", swap))
    with pytest.raises(ArtifactCorrupt, match="offsets go back"):
        USES["tokens_packed"][0](folder)


@pytest.mark.parametrize("kind", LIGHT)
def test_forged_artifacts_end_in_a_result_or_a_named_error(
    kind: str, genuine: dict[str, Path], tmp_path: Path
) -> None:
    for use in USES[kind]:
        use(genuine[kind])
    ends = [try_one(kind, number, genuine[kind], tmp_path / "forged") for number in range(RUNS)]
    assert [done for ended, done in ends if ended == "finding"] == []
    assert len({ended for ended, _ in ends}) > 1, "every forgery was used, or none: the forger does nothing"


def test_mutated_inputs_end_in_a_result_or_a_named_error(tmp_path: Path) -> None:
    """Numbers 58 and 166 were findings: bytes that are no UTF-8 in a file for ``langid import``."""
    ends = [inputs.try_one(number, tmp_path) for number in (58, 166, *range(120))]
    assert [said for ended, said in ends if ended == "finding"] == []
    assert {ended for ended, _ in ends} >= {"used", "InputError"}
