"""What crosses the border between driver and worker process, and how it survives the death of either.

Only small messages go through the pool's pipes: the system writes up to 4096 bytes in one piece, so a worker that is
killed cannot leave half a message in the pipe, which would make the driver wait for the other half for ever. Tasks,
states and large outcomes are files in the folder of the run, and the message holds the path.

Pickles are read only from that folder and those pipes: nobody but this user can write to either.
"""

from __future__ import annotations

import os
import pickle
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any

from loky.backend.reduction import dump

from samebits.core.ports.executor import Failed, Outcome

__all__ = ["Parcel", "load_once", "pack", "store", "unpack", "unwrap", "wrap"]

INLINE_BYTES = 2048  # half of PIPE_BUF: room for the pool's own part of the message
_serial = count()


@dataclass(frozen=True, slots=True)
class Parcel:
    """An outcome on its way: ``data`` itself, or the ``path`` of a file that holds it."""

    data: bytes = b""
    path: str = ""


def store(value: Any, path: Path) -> None:
    """Write a task or a state where workers find it; users' own functions may be closures.

    Straight into the file: ``dumps`` gives a view of its buffer, which an error of the disk would keep.
    """
    with path.open("wb") as file:
        dump(value, file)


@lru_cache(maxsize=4)  # the tasks and states of this stage and the one before
def load_once(path: str) -> Any:
    """Return what ``store`` wrote; each process reads it once."""
    return pickle.loads(Path(path).read_bytes())  # noqa: S301 - see the module docstring


def wrap(outcome: Outcome, folder: Path) -> Parcel:
    """Make an outcome ready to be sent.

    Small ones are the message themselves, large ones a file.
    """
    data = pack(outcome)
    if len(data) <= INLINE_BYTES:
        return Parcel(data=data)
    path = folder / f"{os.getpid()}-{next(_serial)}"
    path.write_bytes(data)
    return Parcel(path=str(path))


def pack(outcome: Outcome) -> bytes:
    """Return an outcome as bytes.

    An error is packed on its own: if it explodes on unpickle, everything else about the failure still arrives.
    """
    error = b""
    if isinstance(outcome, Failed) and outcome.error is not None:
        error = _dumps_error(outcome.error)
        outcome = replace(outcome, error=None)
    return pickle.dumps((outcome, error), protocol=pickle.HIGHEST_PROTOCOL)


def _dumps_error(error: Exception) -> bytes:
    try:
        return pickle.dumps(error)
    except Exception:
        return b""  # it cannot be sent; its words are in the outcome


def unwrap(parcel: Parcel) -> Outcome:
    """Return the outcome, and remove its file."""
    data = parcel.data
    if parcel.path:
        path = Path(parcel.path)
        data = path.read_bytes()
        path.unlink()
    return unpack(data)


def unpack(data: bytes) -> Outcome:
    """Return what ``pack`` was given."""
    outcome: Outcome
    outcome, error = pickle.loads(data)  # noqa: S301 - see the module docstring
    if error and isinstance(outcome, Failed):
        try:
            return replace(outcome, error=pickle.loads(error))  # noqa: S301 - see the module docstring
        except Exception:
            return outcome
    return outcome
