"""Artifacts: whole or not there, checked byte by byte, and unable to reach outside their folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samebits.core.digest import canonical_json
from samebits.core.plan import Plan, cut
from samebits.data.artifact import (
    FORMAT,
    ArtifactWriter,
    check_output,
    manifest_digest,
    open_artifact,
)
from samebits.data.bad_rows import BadRows
from samebits.errors import ArtifactCorrupt, InputError, OutputExists, OutputFailed, SamebitsError
from samebits.verification import artifacts

PLAN = Plan(
    job="job",
    version=1,
    seed=0,
    config_digest="config",
    input_digest="input",
    source_names=("a",),
    shards=cut([5], 1),
)


def nothing(folder: Path, digest: str) -> None:
    """Write no record."""


def make(folder: Path, text: str = "hello") -> str:
    out = ArtifactWriter(folder, BadRows())
    out.write_json("a.json", {"text": text})
    out.write_array("deep/b.npy", np.arange(10))
    digest = out.commit(PLAN, {"n": 1}, finish=nothing)
    out.close()
    return digest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make(tmp_path / "out")
    return tmp_path / "out"


def forge(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change a manifest and give it the digest that fits: what an attacker would do."""
    manifest = json.loads((folder / "manifest.json").read_bytes())
    change(manifest)
    with suppress(ValueError):
        manifest["digest"] = manifest_digest(manifest)
    (folder / "manifest.json").write_bytes(json.dumps(manifest).encode())


def test_what_was_written_is_read(folder: Path) -> None:
    artifact = open_artifact(folder, job="job")
    assert artifact.json("a.json") == {"text": "hello"}
    assert artifact.array("deep/b.npy").tolist() == list(range(10))
    assert artifact.config == {"n": 1}
    assert list(artifact.files) == ["a.json", "bad_rows.jsonl", "deep/b.npy"]


def test_the_same_content_has_the_same_digest_wherever_it_lies(tmp_path: Path) -> None:
    assert make(tmp_path / "x") == make(tmp_path / "deep" / "y") != make(tmp_path / "z", "hullo")


def test_a_byte_flipped_in_any_file_is_named_with_expected_and_found(folder: Path) -> None:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.stat().st_size]
    assert len(files) == 3
    for path in files:
        whole = path.read_bytes()
        for at in {0, len(whole) // 2, len(whole) - 1}:
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
            for check in (open_artifact, artifacts.verify):
                with pytest.raises(ArtifactCorrupt) as caught:
                    check(folder)
                assert path.name in caught.value.message
                assert "expected" in caught.value.message or "not valid JSON" in caught.value.message
        path.write_bytes(whole)
    artifacts.verify(folder)


def test_a_missing_a_longer_and_an_extra_file_are_named(folder: Path) -> None:
    path = folder / "a.json"
    whole = path.read_bytes()
    path.unlink()
    with pytest.raises(ArtifactCorrupt, match=r"a\.json: missing"):
        open_artifact(folder)
    path.write_bytes(whole + b" ")
    with pytest.raises(ArtifactCorrupt, match=rf"expected {len(whole)} bytes, found {len(whole) + 1}"):
        open_artifact(folder)
    path.write_bytes(whole)
    (folder / "extra").touch()
    with pytest.raises(ArtifactCorrupt, match="extra: not listed"):
        artifacts.verify(folder)


def test_an_artifact_of_another_job_and_no_artifact_are_told_apart(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="an artifact of 'job', not of 'count'"):
        open_artifact(folder, job="count")
    with pytest.raises(InputError, match="not an artifact"):
        open_artifact(tmp_path)


@pytest.mark.parametrize(
    "name", ["../secret", "/etc/passwd", "a/../../secret", "", ".", "record.json", "a\0b"]
)
def test_names_that_leave_the_folder_are_refused(folder: Path, name: str) -> None:
    (folder.parent / "secret").write_text("x")
    forge(folder, lambda manifest: manifest["files"].update({name: {"size": 1, "sha256": "0" * 64}}))
    with pytest.raises(ArtifactCorrupt, match="is not a name an artifact may hold"):
        open_artifact(folder)
    with pytest.raises(ArtifactCorrupt):
        ArtifactWriter(folder.parent / "new", BadRows()).path(name)


def test_a_link_is_no_file_of_an_artifact_and_no_way_out(folder: Path) -> None:
    outside = folder.parent / "elsewhere"
    (folder / "deep").rename(outside)
    (folder / "deep").symlink_to(outside)
    with pytest.raises(ArtifactCorrupt, match=r"b\.npy"):
        open_artifact(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.pop("job"),
        lambda m: m.pop("config"),
        lambda m: m.update(config=[]),
        lambda m: m.update(files=[]),
        lambda m: m["files"].update({"a.json": None}),
        lambda m: m["files"].update({"a.json": {}}),
        lambda m: m["files"].update({"a.json": {"size": "5", "sha256": 7}}),
        lambda m: m["files"]["a.json"].update(sha256=None),
        lambda m: m.update(format="samebits.artifact.v9"),
        lambda m: m.update(config={"x": float("nan")}),
    ],
)
def test_a_manifest_of_another_shape_is_corrupt(
    folder: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    forge(folder, change)
    with pytest.raises(ArtifactCorrupt):
        open_artifact(folder, job="job")


@pytest.mark.parametrize("text", [b"", b"[]", b"7", b"null", b"\xff", b"[" * 100_000, b'{"digest": 1}'])
def test_a_manifest_that_is_no_object_is_corrupt(folder: Path, text: bytes) -> None:
    (folder / "manifest.json").write_bytes(text)
    with pytest.raises(ArtifactCorrupt):
        open_artifact(folder)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(
    files=st.dictionaries(
        st.sampled_from(["a", "../x", "a/b", ""]) | st.text(max_size=4), json_values, max_size=2
    )
    | json_values,
    rest=st.dictionaries(st.sampled_from(["job", "config", "job_version", "x"]), json_values),
)
def test_any_manifest_is_read_or_refused_by_name(
    files: Any, rest: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("fuzz")
    manifest = {**rest, "format": FORMAT, "files": files}
    try:
        manifest["digest"] = manifest_digest(manifest)
    except ValueError:
        manifest["digest"] = ""
    (folder / "manifest.json").write_bytes(json.dumps(manifest).encode())
    try:
        artifact = open_artifact(folder)
    except SamebitsError:
        return
    assert artifact.files == files


def test_a_listed_file_that_makes_no_sense_is_corrupt(tmp_path: Path) -> None:
    out = ArtifactWriter(tmp_path / "out", BadRows())
    out.write_bytes("a.json", b"{")
    out.write_bytes("b.npy", b"not an array")
    np.save(out.path("c.npy"), np.array([{}], dtype=object), allow_pickle=True)
    out.commit(PLAN, {}, finish=nothing)
    artifact = open_artifact(tmp_path / "out")
    with pytest.raises(ArtifactCorrupt, match=r"a\.json"):
        artifact.json("a.json")
    for name in ("b.npy", "c.npy"):
        with pytest.raises(ArtifactCorrupt, match=name.replace(".", r"\.")):
            artifact.array(name)


def test_nothing_is_in_place_before_the_commit_and_nothing_stays_after_a_close(tmp_path: Path) -> None:
    out = ArtifactWriter(tmp_path / "out", BadRows())
    out.write_bytes("a", b"x")
    assert not (tmp_path / "out").exists()
    out.close()
    assert list(tmp_path.iterdir()) == []


def test_a_record_that_cannot_be_written_leaves_the_old_output(folder: Path) -> None:
    before = open_artifact(folder).digest

    def full(place: Path, digest: str) -> None:
        raise OSError(28, "No space left on device")

    out = ArtifactWriter(folder, BadRows())
    with pytest.raises(OutputFailed, match="No space left on device") as caught:
        out.commit(PLAN, {}, finish=full)
    out.close()
    assert "free some space" in caught.value.hint
    assert open_artifact(folder).digest == before
    assert sorted(path.name for path in folder.parent.iterdir()) == ["out"]


def test_an_overwrite_survives_what_an_earlier_crash_left(folder: Path) -> None:
    """Killed after the new folder was in place and before the old one was removed."""
    old = folder.with_name("out.old")
    old.mkdir()
    (old / "leftover").touch()
    digest = make(folder, "new")
    assert open_artifact(folder).digest == digest
    assert sorted(path.name for path in folder.parent.iterdir()) == ["out"]


def test_an_output_that_is_there_is_kept(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(OutputExists, match="already exists") as caught:
        check_output(folder, overwrite=False)
    assert "--overwrite" in caught.value.hint
    check_output(folder, overwrite=True)
    (tmp_path / "empty").mkdir()
    check_output(tmp_path / "empty", overwrite=False)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.doc").touch()
    with pytest.raises(OutputExists, match="is not an artifact"):
        check_output(tmp_path / "mine", overwrite=True)


def test_a_manifest_is_canonical(folder: Path) -> None:
    data = (folder / "manifest.json").read_bytes()
    assert data == canonical_json(json.loads(data))
