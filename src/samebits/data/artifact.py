"""Artifacts: folders that hold a result and nothing else. Same plan, same bytes, same digest.

A writer fills a temporary sibling folder; ``commit`` writes the manifest, syncs and renames. So a folder with a manifest
is whole, and a crash leaves no half of one. ``record.json`` and ``events.jsonl`` lie beside the manifest in the same
folder but are not listed in it: they hold the accidents (time, workers, machine).

A reader checks every file's size and sha256 before anything is used, and loading never runs code.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from samebits.core.digest import canonical_json
from samebits.core.plan import Plan
from samebits.core.regular_file import read_regular
from samebits.data.array_file import map_array
from samebits.data.bad_rows import BadRows
from samebits.data.files import remove_tree, sync_all, sync_folder, writing
from samebits.data.sealing import found_seal, seal_file
from samebits.errors import ArtifactCorrupt, InputError, OutputExists

__all__ = [
    "BESIDE",
    "Artifact",
    "ArtifactWriter",
    "check_file",
    "check_output",
    "manifest_digest",
    "open_artifact",
]

FORMAT = "samebits.artifact.v1"
BESIDE = ("manifest.json", "record.json", "events.jsonl")


class ArtifactWriter:
    """Collects the files of one artifact.

    Attributes:
        bad_rows: Where a job reports rows it could not use.
    """

    def __init__(self, output: Path, bad_rows: BadRows) -> None:
        self.output = output
        self.bad_rows = bad_rows
        self._known: dict[str, dict[str, Any]] = {}
        self._partial = output.with_name(output.name + ".partial")
        with writing(self._partial):
            remove_tree(self._partial)
            self._partial.mkdir(parents=True)

    def path(self, name: str) -> Path:
        """Return where a file is to be written, e.g. for a memory map; folders are made as needed."""
        _check_name(name, self.output)
        path = self._partial / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def open(self, name: str) -> IO[bytes]:
        """Open a file for writing; the caller closes it."""
        return self.path(name).open("wb")

    def know(self, name: str, entry: dict[str, Any]) -> None:
        """Take the manifest's entry of a finished file from whoever wrote it, and hashed it."""
        self._known[name] = entry

    def write_bytes(self, name: str, data: bytes) -> None:
        """Write a whole file."""
        with writing(self.output / name):
            self.path(name).write_bytes(data)

    def write_json(self, name: str, value: Any) -> None:
        """Write canonical JSON."""
        self.write_bytes(name, canonical_json(value))

    def write_array(self, name: str, array: NDArray[Any]) -> None:
        """Write a little-endian, C-contiguous ``.npy`` file of format 1.0, the same bytes from every NumPy."""
        little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        with writing(self.output / name), self.open(name) as file:
            npy.write_array(file, little, version=(1, 0), allow_pickle=False)

    def commit(self, plan: Plan, config: dict[str, Any], *, finish: Callable[[Path, str], None]) -> str:
        """Write the manifest and put the folder in its place; return the artifact's digest.

        Args:
            plan: What was done.
            config: The saved fields of its Config.
            finish: Writes the record into the folder, given its place and the digest, before it is renamed.
        """
        with writing(self.output):
            self.bad_rows.write(self.path("bad_rows.jsonl"))
            names = sorted(
                p.relative_to(self._partial).as_posix() for p in self._partial.rglob("*") if p.is_file()
            )
            manifest: dict[str, Any] = {
                "format": FORMAT,
                "job": plan.job,
                "job_version": plan.version,
                "config": config,
                "input_digest": plan.input_digest,
                "files": {name: self._known.get(name) or seal_file(self._partial / name) for name in names},
            }
            manifest["digest"] = manifest_digest(manifest)
            (self._partial / "manifest.json").write_bytes(canonical_json(manifest))
            finish(self._partial, manifest["digest"])
            self._put_in_place()
        return str(manifest["digest"])

    def _put_in_place(self) -> None:
        sync_all([*self._partial.rglob("*"), self._partial])
        old = self.output.with_name(self.output.name + ".old")
        if self.output.exists():
            remove_tree(old)  # a run that was killed right here may have left it
            self.output.rename(old)
        self._partial.rename(self.output)
        sync_folder(self.output.parent)
        remove_tree(old)

    def close(self) -> None:
        """Remove what was written and not committed."""
        remove_tree(self._partial)


def check_output(output: Path, *, overwrite: bool) -> None:
    """Refuse an output that is there already, or that is no folder of ours to replace.

    Raises:
        OutputExists: unless it is absent, an empty folder, or an artifact and ``overwrite`` is set.
    """
    if output.name in ("", ".."):  # it could not be renamed into place
        raise OutputExists(
            f"{output} is a folder without a name of its own", hint="choose a different output"
        )
    if not output.exists() or (output.is_dir() and not any(output.iterdir())):
        return
    if not output.is_dir() or not (output / "manifest.json").exists():
        raise OutputExists(f"{output} exists and is not an artifact", hint="choose a different output")
    if not overwrite:
        raise OutputExists(
            f"{output} already exists", hint="add --overwrite to replace it, or choose a different output"
        )


def manifest_digest(manifest: dict[str, Any]) -> str:
    """Return the digest of everything a manifest says but the digest itself."""
    return hashlib.sha256(canonical_json({k: v for k, v in manifest.items() if k != "digest"})).hexdigest()


def _check_name(name: str, folder: Path) -> None:
    parts = Path(name).parts
    if not parts or Path(name).is_absolute() or ".." in parts or "\0" in name or parts[-1] in BESIDE:
        raise ArtifactCorrupt(f"{folder}: {name!r} is not a name an artifact may hold")


class Artifact:
    """A checked artifact, ready to be read."""

    def __init__(self, folder: Path, manifest: dict[str, Any]) -> None:
        self.folder = folder
        self.manifest = manifest

    @property
    def digest(self) -> str:
        """The artifact's digest."""
        return str(self.manifest["digest"])

    @property
    def config(self) -> dict[str, Any]:
        """The Config it was made with."""
        return dict(self.manifest["config"])

    @property
    def files(self) -> dict[str, dict[str, Any]]:
        """Name -> size and sha256."""
        return dict(self.manifest["files"])

    def path(self, name: str) -> Path:
        """Return the place of a listed file."""
        if name not in self.manifest["files"]:
            raise ArtifactCorrupt(
                f"{self.folder} has no file {name!r}", hint="it was made by a different job or version"
            )
        return self.folder / name

    def json(self, name: str) -> Any:
        """Read a JSON file."""
        try:
            return json.loads(read_regular(self.path(name)))
        except (ValueError, RecursionError) as error:
            raise ArtifactCorrupt(f"{self.folder / name}: not valid JSON ({error})") from None

    def array(self, name: str, *, mmap: bool = False) -> NDArray[Any]:
        """Read a ``.npy`` file of numbers; loaders say what they expect of it by ``checked.array``."""
        found = map_array(self.path(name))
        return found if mmap else np.array(found)


def open_artifact(
    folder: Path | str, *, job: str | None = None, check: Literal["full", "sizes"] = "full"
) -> Artifact:
    """Open and check an artifact.

    Args:
        folder: Its place.
        job: Refuse an artifact of another job.
        check: ``full`` hashes every file; ``sizes`` is for token stores of many gigabytes.

    Raises:
        InputError: if there is no artifact.
        ArtifactCorrupt: if anything differs from the manifest; names file, expected and found.
    """
    folder = Path(folder)
    manifest = _read_manifest(folder)
    if job is not None and manifest["job"] != job:
        raise InputError(f"this is an artifact of {manifest['job']!r}, not of {job!r}", path=str(folder))
    for name, expected in manifest["files"].items():
        _check_name(name, folder)
        check_file(folder, name, expected, check=check)
    return Artifact(folder, manifest)


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / "manifest.json"
    try:
        manifest: dict[str, Any] = json.loads(read_regular(path))
    except (FileNotFoundError, NotADirectoryError):
        hint = "give the folder that a samebits command wrote with -o"
        raise InputError("no manifest.json here: not an artifact", path=str(folder), hint=hint) from None
    except (ValueError, RecursionError) as error:
        raise ArtifactCorrupt(f"{path}: not valid JSON ({error})") from None
    if not isinstance(manifest, dict):
        raise ArtifactCorrupt(f"{path}: expected an object, found {type(manifest).__name__}")
    found, wanted = _digest_or_nothing(manifest), str(manifest.get("digest"))
    if found != wanted:
        raise ArtifactCorrupt(f"{path}: expected digest {wanted[:16]}, found {found[:16]}")
    if manifest.get("format") != FORMAT:
        raise ArtifactCorrupt(f"{path}: expected format {FORMAT!r}, found {manifest.get('format')!r}")
    for name, kind in (("job", str), ("config", dict), ("files", dict), ("input_digest", str)):
        if not isinstance(manifest.get(name), kind):
            raise ArtifactCorrupt(f"{path}: {name!r} is {manifest.get(name)!r}")
    return manifest


def _digest_or_nothing(manifest: dict[str, Any]) -> str:
    try:
        return manifest_digest(manifest)
    except (TypeError, ValueError, RecursionError):
        return "nothing: it holds values no manifest has"


def check_file(folder: Path, name: str, expected: Any, *, check: Literal["full", "sizes"]) -> None:
    """Compare one file with what the manifest says.

    Raises:
        ArtifactCorrupt: names file, expected and found.
    """
    path = folder / name
    if (
        not isinstance(expected, dict)
        or not isinstance(expected.get("sha256"), str)
        or "size" not in expected
        or not _are_blocks(expected.get("block_bytes", 1))
    ):
        raise ArtifactCorrupt(f"{path}: the manifest says {expected!r} instead of size and sha256")
    try:
        if not path.is_file():
            raise ArtifactCorrupt(f"{path}: missing")
        if path.resolve() != folder.resolve() / name:
            raise ArtifactCorrupt(f"{path}: expected a file, found a link to {path.resolve()}")
        size = path.stat().st_size
    except (OSError, RuntimeError, ValueError) as error:  # a name too long, a loop of links
        raise ArtifactCorrupt(f"{path}: cannot be read ({error})") from None
    if size != expected["size"]:
        raise ArtifactCorrupt(f"{path}: expected {expected['size']} bytes, found {size}")
    if check == "full" and (found := found_seal(path, expected)) != expected["sha256"]:
        raise ArtifactCorrupt(f"{path}: expected sha256 {expected['sha256'][:16]}, found {found[:16]}")


def _are_blocks(size: Any) -> bool:
    return type(size) is int and size > 0
