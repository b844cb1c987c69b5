"""One checked door for everything that is read from an artifact: nothing in a file is believed before it is looked at.

A digest says that a file is what its maker wrote, not that its maker was honest: a forged model has a manifest that fits.
So every loader takes its JSON, arrays and tensors from here and says what it expects. What does not fit is
ArtifactCorrupt with the file's name, before anything is allocated from a number in the file and before a kernel, which
checks nothing, sees it.

    sizes = checked.array(artifact, "key_sizes.npy", np.uint32, high=len(languages))
    stops = checked.stops(artifact, "key_sizes.npy", sizes, total=len(values))
    about = checked.fields(artifact, "model.json", ModelInfo)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import DTypeLike, NDArray

from samebits.data.array_file import map_array
from samebits.data.artifact import Artifact
from samebits.errors import ArtifactCorrupt, SamebitsError

__all__ = [
    "array",
    "ensure",
    "fields",
    "increasing_within",
    "loading",
    "offsets",
    "stops",
    "tensors",
]

T = TypeVar("T")
Shape = tuple[int | None, ...]
LINE = (None,)
MOST_SHOWN = 200  # characters of a message about a file that may be hostile


def ensure(holds: bool, path: Path | str, message: str) -> None:
    """Refuse a file for a reason.

    Raises:
        ArtifactCorrupt: unless it ``holds``.
    """
    if not holds:
        raise ArtifactCorrupt(f"{path}: {message[:MOST_SHOWN]}")


@contextmanager
def loading(folder: Path | str) -> Iterator[None]:
    """Give whatever a parser below may raise the one name that loaders promise.

    The checks of this file come first and say what is wrong; this is for the libraries that read tensors and
    tokenizers, each of which has exceptions of its own.

    Raises:
        ArtifactCorrupt: instead of anything but our own errors, Ctrl-C, packages that are not there and errors of the
            operating system.
    """
    try:
        yield
    except (SamebitsError, OSError, ImportError):
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise ArtifactCorrupt(f"{folder}: cannot be read ({reason[:MOST_SHOWN]})") from error


def fields(artifact: Artifact, name: str, kind: type[T]) -> T:
    """Read a JSON file as a dataclass, Struct or TypedDict: every field has its type, none is missing.

    Raises:
        ArtifactCorrupt: names the file and the field.
    """
    value = artifact.json(name)
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, RecursionError, ValueError, TypeError) as error:
        raise ArtifactCorrupt(f"{artifact.folder / name}: {str(error)[:MOST_SHOWN]}") from None


def array(
    artifact: Artifact,
    name: str,
    dtype: DTypeLike,
    *,
    shape: Shape = LINE,
    low: int | None = None,
    high: int | None = None,
    increasing: bool = False,
    mmap: bool = False,
) -> NDArray[Any]:
    """Read a ``.npy`` file of one type.

    Args:
        artifact: Where it lies.
        name: Its name there.
        dtype: The type it must have; nothing is converted.
        shape: The lengths it must have; None for any.
        low: Smallest value allowed; None for any. Floats must be finite in any case.
        high: Largest value allowed; None for any.
        increasing: Whether each value must be above the one before it.
        mmap: Leave it in the file; values are then looked at only where ``low``, ``high`` or ``increasing`` ask for it.

    Raises:
        ArtifactCorrupt: names the file and what does not fit.
    """
    path = artifact.path(name)
    found = map_array(path)
    wanted = np.dtype(dtype).newbyteorder("<")
    ensure(found.dtype == wanted, path, f"expected numbers of type {wanted.str}, found {found.dtype.str}")
    fits = len(shape) == found.ndim and all(n in (None, m) for n, m in zip(shape, found.shape, strict=True))
    ensure(fits, path, f"expected shape {shape}, found {found.shape}")
    values = found if mmap else np.array(found)
    if values.size:
        if values.dtype.kind == "f" and not mmap:
            ensure(bool(np.isfinite(values).all()), path, "holds a number that is not finite")
        if low is not None:
            ensure(int(values.min()) >= low, path, f"holds {values.min()}, below {low}")
        if high is not None:
            ensure(int(values.max()) <= high, path, f"holds {values.max()}, above {high}")
        if increasing:
            ensure(bool((values[1:] > values[:-1]).all()), path, "values do not increase")
    return values


def stops(artifact: Artifact, name: str, sizes: NDArray[Any], *, total: int) -> NDArray[np.int64]:
    """Add up sizes that were read from ``name``: stops of ranges that must cover ``total`` exactly.

    Raises:
        ArtifactCorrupt: if they do not.
    """
    found = np.cumsum(sizes, dtype=np.int64)
    # Sizes of at most 32 bits: their sum cannot go round.
    ensure(sizes.dtype.itemsize <= 4 and sizes.dtype.kind == "u", artifact.folder / name, "signed sizes")
    last = int(found[-1]) if len(found) else 0
    ensure(last == total, artifact.folder / name, f"sizes add up to {last}, not {total}")
    return found


def offsets(path: Path, found: NDArray[Any], *, total: int) -> None:
    """Check offsets: 0 first, ``total`` last, never going back.

    Raises:
        ArtifactCorrupt: if they do.
    """
    ensure(len(found) > 0 and int(found[0]) == 0, path, "offsets do not start at 0")
    ensure(int(found[-1]) == total, path, f"offsets end at {int(found[-1])}, not {total}")
    ensure(bool((found[1:] >= found[:-1]).all()), path, "offsets go back")


def increasing_within(path: Path | str, values: NDArray[Any], ends: NDArray[np.int64]) -> None:
    """Check that values increase inside each range that ends at one of ``ends``, so none is there twice.

    Raises:
        ArtifactCorrupt: if they do not.
    """
    follows = np.ones(len(values), bool)  # whether a value is not the first of its range
    first = np.concatenate([np.zeros(1, np.int64), ends])
    follows[first[first < len(values)]] = False
    above = np.ones(len(values), bool)
    above[1:] = values[1:] > values[:-1]
    ensure(bool((above | ~follows).all()), path, "numbers inside a row do not increase")


def tensors(artifact: Artifact, name: str, wanted: Mapping[str, tuple[int, ...]]) -> dict[str, Any]:
    """Read a safetensors file of float32: exactly the tensors that are wanted, every number finite.

    Raises:
        ArtifactCorrupt: names the first tensor that does not fit.
    """
    from safetensors.numpy import load_file

    path = artifact.path(name)
    with loading(path):
        found: dict[str, Any] = load_file(path)
    for key in sorted({*wanted, *found}):
        if key not in found or key not in wanted:
            ensure(False, path, f"tensor {key!r} is {'missing' if key in wanted else 'one too many'}")
        value = found[key]
        told = f"tensor {key!r} is {value.dtype} of shape {value.shape}, expected float32 of {wanted[key]}"
        ensure(value.dtype == np.float32 and value.shape == tuple(wanted[key]), path, told)
        ensure(bool(np.isfinite(value).all()), path, f"tensor {key!r} holds a number that is not finite")
    return found
