"""The journal: a folder beside the output while a run is unfinished, so that the same command continues.

``plan.json``   which plan this is; a journal of another plan is refused
``parts.bin``   the encodings of finished parts, one after the other
``log.jsonl``   one line a part: stage, shard, place in ``parts.bin``, digest; each line ends with its own checksum
``lock``        held by the run
``checkpoints`` of a job that trains, made and read by ``lockstep``; for resume and clean-up they are finished work too
``events.jsonl`` what the run tells; ``events.earlier.jsonl`` what its interrupted attempts told
``kept``        what workers keep for one another (``data.folding``); the parts in the log say what is in it
``spool``       large parts on their way from the workers of a cluster; what a killed run leaves there is of no use
``done``        the output is about to be put in its place; with an output there, nothing here is needed any more

Both files are only ever appended to. After a crash a torn last line, or a part whose bytes do not have their digest,
costs that part only: it is computed again. The digest in the log stays and is compared with the new one, which is how a
task that is not deterministic gives itself away.

A killed process loses nothing that was written; only a power cut can, so the files are synced at most once in five seconds
instead of after every part (a part costs about 10 µs that way instead of milliseconds), by a thread that only waits: the driver
has shards to compute. What went wrong there is raised the next time.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from io import BytesIO, FileIO
from pathlib import Path
from typing import Any, NamedTuple

from samebits.core.codec import decode, encode_pieces
from samebits.core.digest import canonical_json
from samebits.core.observing import clock
from samebits.core.plan import Plan
from samebits.data.background import Beside
from samebits.data.event_log import EARLIER
from samebits.data.files import remove_tree, write_atomic, writing
from samebits.data.lock import OutputLock
from samebits.errors import OutputBusy, OutputFailed, PlanMismatch

__all__ = [
    "Journal",
    "checkpoint_folder",
    "holds_work",
    "journal_folder",
    "kept_folder",
    "parts_folder",
    "remove_finished",
    "remove_journal",
]

# How ``folding`` gathers shards and nodes into tasks; raised when that changes, because parts are kept by the number of their task.
FOLD_SHAPE = 5
SYNC_SECONDS = 5.0
JOIN_BYTES = 1 << 16  # copying so much costs less than another system call
_to_json = json.JSONEncoder(separators=(",", ":")).encode


class _Entry(NamedTuple):
    offset: int
    size: int
    digest: str


def journal_folder(output: Path) -> Path:
    """Return the journal's place for an output."""
    return output.with_name(output.name + ".journal")


def checkpoint_folder(folder: Path) -> Path:
    """Return where a job that trains keeps its checkpoints."""
    return folder / "checkpoints"


def parts_folder(folder: Path) -> Path:
    """Return where workers keep parts for one another."""
    return folder / "kept"


def kept_folder(output: Path) -> Path:
    """Return where checkpoints are kept that outlive a training run: beside its output, as they are no part of the result."""
    return output.with_name(output.name + ".checkpoints")


def holds_work(folder: Path) -> bool:
    """Tell whether a journal holds anything that a later run could use: a part or a checkpoint."""
    log, checkpoints = folder / "log.jsonl", checkpoint_folder(folder)
    return (log.exists() and log.stat().st_size > 0) or (
        checkpoints.is_dir() and next(checkpoints.iterdir(), None) is not None
    )


class Journal:
    """Finished parts on disk, by (stage, shard index)."""

    def __init__(
        self, folder: Path, plan: Plan, *, resume: bool, settings: Mapping[str, Any] | None = None
    ) -> None:
        self.folder = folder
        self._settings = json.loads(canonical_json(settings or {}))
        self._entries: dict[tuple[str, int], _Entry] = {}
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
        if not resume:
            self._forget()
        self._check_plan(plan)
        with writing(folder):
            (folder / "done").unlink(missing_ok=True)  # a run that was killed before its output was in place
            self._parts = (folder / "parts.bin").open("a+b", buffering=0)
            self._log = (folder / "log.jsonl").open("a+b", buffering=0)
        self._end = self._parts.seek(0, os.SEEK_END)
        self._read_log()
        self._synced_at = clock.seconds()
        self._syncing: Beside[None] | None = None

    @property
    def num_parts(self) -> int:
        """How many parts a run before this one left."""
        return len(self._entries)

    def _forget(self) -> None:
        for name in ("plan.json", "parts.bin", "log.jsonl", "bad_rows.jsonl", "events.jsonl", EARLIER):
            with writing(self.folder):
                (self.folder / name).unlink(missing_ok=True)
        remove_tree(checkpoint_folder(self.folder))
        remove_tree(parts_folder(self.folder))

    def _check_plan(self, plan: Plan) -> None:
        path = self.folder / "plan.json"
        ours = {"digest": plan.digest, **plan.fields(), "settings": self._settings, "shape": FOLD_SHAPE}
        if not path.exists():
            write_atomic(path, canonical_json(ours))
            return
        theirs = _read_object(path)
        if theirs.get("digest") != plan.digest and not holds_work(self.folder):
            write_atomic(path, canonical_json(ours))  # it holds nothing that could be lost
            return
        for name, value in plan.fields().items():
            if theirs.get(name) != value:
                settings = self._changed(theirs.get("settings")) if name == "config_digest" else ""
                raise PlanMismatch(
                    f"{self.folder} belongs to a different run: its plan is {str(theirs.get('digest'))[:16]}, this one "
                    f"{plan.digest[:16]}; first difference: "
                    f"{settings or f'{name} was {theirs.get(name)}, is {value}'}",
                    hint="repeat the command it was made with, or start over with --no-resume",
                )
        if theirs.get("shape") != FOLD_SHAPE and holds_work(self.folder):
            raise PlanMismatch(
                f"{self.folder} was begun by a version of samebits that gathers nodes in another way",
                hint="finish it with that version, or start over with --no-resume",
            )

    def _changed(self, theirs: Any) -> str:
        """Name the first setting that is different, with both values."""
        if not isinstance(theirs, dict) or not self._settings:
            return ""
        for name in sorted({*theirs, *self._settings}):
            before, now = theirs.get(name), self._settings.get(name)
            if before != now:
                return f"--{name.replace('_', '-')} was {before!r}, is {now!r}"
        return ""

    def forget_parts(self) -> None:
        """Throw the finished parts away, because nothing of them could be used: the next run may have other settings."""
        self.close()
        for name in ("parts.bin", "log.jsonl"):
            with writing(self.folder):
                (self.folder / name).unlink(missing_ok=True)
        remove_tree(parts_folder(self.folder))

    def _read_log(self) -> None:
        """Read the entries of an earlier run and cut off a torn last line."""
        self._log.seek(0)
        good_until = 0
        for line in BytesIO(self._log.read()):
            if not line.endswith(b"\n"):
                break
            good_until += len(line)
            if entry := _parse(line):
                stage, index, found = entry
                self._entries[stage, index] = found
        self._log.truncate(good_until)
        self._log.seek(0, os.SEEK_END)

    def known_digest(self, stage: str, index: int) -> str | None:
        """Return the digest a shard had when it finished before, even if its part is damaged now."""
        entry = self._entries.get((stage, index))
        return entry.digest if entry else None

    def load(self, stage: str, index: int) -> tuple[bool, Any]:
        """Return (True, part) if the part is there and its bytes have their digest."""
        entry = self._entries.get((stage, index))
        if entry is None or entry.offset + entry.size > self._end:
            return False, None
        data = os.pread(self._parts.fileno(), entry.size, entry.offset)
        if hashlib.sha256(data).hexdigest() != entry.digest:
            return False, None
        try:
            return True, decode(data)
        except ValueError:
            return False, None

    def save(self, stage: str, index: int, part: Any, digest: str, encoded: bytes | None = None) -> None:
        """Append a finished part, then the line that makes it count."""
        pieces = list(encode_pieces(part)) if encoded is None else [encoded]
        size = sum(len(piece) for piece in pieces)
        entry = _Entry(self._end, size, digest)
        with writing(self.folder):
            if size < JOIN_BYTES:
                pieces = [b"".join(pieces)]
            for piece in pieces:
                _write_all(self._parts, piece)
            _write_all(self._log, _format(stage, index, entry))
            self._sync()
        self._end += size

    def _sync(self) -> None:
        if clock.seconds() - self._synced_at <= SYNC_SECONDS:
            return
        if self._syncing is not None:
            if not self._syncing.is_done:
                return
            self._syncing.result()
        self._syncing = Beside(partial(_sync_files, self._parts.fileno(), self._log.fileno()))
        self._synced_at = clock.seconds()

    def mark_done(self) -> None:
        """Say that the output is complete, before it is renamed: a kill between rename and ``remove`` leaves a folder."""
        with writing(self.folder):
            (self.folder / "done").touch()

    def close(self) -> None:
        """Keep everything for a resume; closing fails on a full disk, which was reported when writing."""
        if self._syncing is not None:
            self._syncing.wait()  # it has the files in hand
        for file in (self._parts, self._log):
            try:
                file.close()
            except OSError:
                continue

    def remove(self) -> None:
        """The output is complete: the journal is not needed any more."""
        self.close()
        remove_journal(self.folder)


def remove_journal(folder: Path) -> None:
    """Remove a journal whose lock is held: the lock last, because from then on the next run may be in the folder."""
    with suppress(OSError):
        remove_tree(checkpoint_folder(folder))
        for path in sorted(folder.iterdir(), key=lambda path: path.name == "lock"):
            remove_tree(path) if path.is_dir() else path.unlink()
        folder.rmdir()


def remove_finished(output: Path) -> None:
    """Remove the journal that a run left which was killed after its output was in place."""
    if output.name in ("", ".."):  # no output of a run: it could not be renamed into place
        return
    folder = journal_folder(output)
    if not (folder / "done").exists() or not (output / "manifest.json").exists():
        return
    with suppress(OutputBusy, OutputFailed):  # it is being removed, or the folder is not ours to write
        lock = OutputLock(folder / "lock", output=output)
        if (folder / "done").exists() or not (
            folder / "plan.json"
        ).exists():  # else a new run has come in between
            remove_journal(folder)
        lock.release()


def _write_all(file: FileIO, data: bytes | memoryview) -> None:
    """Write without a buffer; a disk that fills up takes a first piece and refuses the rest."""
    while data:
        data = memoryview(data)[file.write(data) :]


def _sync_files(*files: int) -> None:
    for file in files:
        os.fdatasync(file)


def _format(stage: str, index: int, entry: _Entry) -> bytes:
    body = _to_json([stage, index, *entry]).encode()
    return body + b"\t%08x\n" % zlib.crc32(body)


def _parse(line: bytes) -> tuple[str, int, _Entry] | None:
    body, _, checksum = line.rstrip(b"\n").rpartition(b"\t")
    if checksum != b"%08x" % zlib.crc32(body):
        return None
    try:
        stage, index, offset, size, digest = json.loads(body)
    except (ValueError, TypeError, RecursionError):
        return None
    if [type(value) for value in (stage, index, offset, size, digest)] != [str, int, int, int, str]:
        return None
    return (stage, index, _Entry(offset, size, digest)) if offset >= 0 and size >= 0 else None


def _read_object(path: Path) -> dict[str, Any]:
    """Read a JSON object; damage reads as an empty one."""
    try:
        found = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
