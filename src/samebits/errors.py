"""Every error a user can meet.

Each carries what happened with its values, and a ``hint``: what to type next. The command line prints both and
exits with the class's ``exit_code``; library users catch the class and read its attributes::

    SamebitsError
    ├── ConfigError (also ValueError)   a setting is wrong                         exit 2
    ├── InputError                      a file, line or offset cannot be used      exit 1
    ├── TooManyBadRows                  more bad rows than --max-bad allows        exit 1
    ├── PlanMismatch                    the journal belongs to another run         exit 1
    ├── ShardFailed                     a task raised an exception                 exit 1
    ├── WorkerLost                      a worker died, hung or ran out of memory   exit 1
    ├── ClusterLost                     a scheduler, head or rank is out of reach  exit 1
    ├── NotDeterministic                two runs of one shard differ               exit 3
    ├── NotFinite                       a loss or gradient is NaN or infinite      exit 1
    ├── OutputExists                    the output is there already                exit 1
    ├── OutputBusy                      another run holds the output               exit 1
    ├── OutputFailed                    the output cannot be written (disk full)   exit 1
    ├── ArtifactCorrupt                 a file is not what its manifest says       exit 3
    ├── ParityError                     two results that must be equal differ      exit 3
    ├── EnvironmentMismatch             another CPU type or library version        exit 1
    ├── MissingExtra                    an optional dependency is not installed    exit 1
    └── Interrupted                     Ctrl-C; finished parts are kept            exit 130
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = [
    "ArtifactCorrupt",
    "ClusterLost",
    "ConfigError",
    "EnvironmentMismatch",
    "InputError",
    "Interrupted",
    "MissingExtra",
    "NotDeterministic",
    "NotFinite",
    "OutputBusy",
    "OutputExists",
    "OutputFailed",
    "ParityError",
    "PlanMismatch",
    "SamebitsError",
    "ShardFailed",
    "TooManyBadRows",
    "WorkerLost",
    "did_you_mean",
    "from_plain",
    "to_plain",
]


class SamebitsError(Exception):
    """Base of all errors raised on purpose.

    Attributes:
        hint: What to type or change next; empty when the message says it all.
    """

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by state: subclasses take other arguments than ``args`` holds."""
        return _rebuild, (type(self), self.__dict__)

    def _render_traceback_(self) -> list[str]:
        """Show message and hint alone in IPython and Jupyter: the way through our own files helps nobody there."""
        return [f"{type(self).__name__}: {self}"]

    def __str__(self) -> str:
        return f"{self.message}\nhint: {self.hint}" if self.hint else self.message


def _rebuild(cls: type[SamebitsError], state: dict[str, object]) -> SamebitsError:
    error = cls.__new__(cls)
    error.__dict__.update(state)
    error.args = (state["message"],)
    return error


class ConfigError(SamebitsError, ValueError):
    """A setting has a wrong name, type or value."""

    exit_code = 2


class InputError(SamebitsError):
    """An input cannot be used.

    Attributes:
        path: The file, as the user named it.
        line: One-based line number, when known.
        offset: Byte offset in the (decompressed) file, when known.
        column: The column that is missing, where that is the trouble.
    """

    def __init__(
        self,
        message: str,
        *,
        path: str,
        line: int | None = None,
        offset: int | None = None,
        hint: str = "",
        column: str = "",
    ) -> None:
        where = path
        if line is not None:
            where += f", line {line}"
        if offset is not None:
            where += f", byte {offset}"
        super().__init__(f"{where}: {message}", hint=hint)
        self.path = path
        self.line = line
        self.offset = offset
        self.column = column


class TooManyBadRows(SamebitsError):
    """More rows were unusable than ``max_bad`` allows; the first one is named.

    Attributes:
        num_bad: How many.
        num_read: Of how many.
    """

    def __init__(self, message: str, *, num_bad: int, num_read: int, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.num_bad = num_bad
        self.num_read = num_read


class PlanMismatch(SamebitsError):
    """A journal or artifact was made by another plan; both digests and the first differing field are named."""


class ShardFailed(SamebitsError):
    """A task raised; ``shard`` is the lowest failing index and ``remote_traceback`` the worker's own words."""

    def __init__(self, message: str, *, shard: int, remote_traceback: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.shard = shard
        self.remote_traceback = remote_traceback


class WorkerLost(SamebitsError):
    """A worker was killed, stopped answering or ran out of memory.

    Attributes:
        shard: Index of the shard it had in hand, or None when none is known.
        reason: What is known of the cause, e.g. ``"killed by SIGKILL"``.
        rank: The rank of torchrun that is lost, or None for any other worker.
    """

    def __init__(
        self,
        message: str,
        *,
        shard: int | None = None,
        reason: str = "",
        rank: int | None = None,
        hint: str = "",
    ) -> None:
        super().__init__(message, hint=hint)
        self.shard = shard
        self.reason = reason
        self.rank = rank


class ClusterLost(SamebitsError):
    """The scheduler, the head, every worker of a cluster, or the other ranks are out of reach; finished parts are kept."""


class NotDeterministic(SamebitsError):
    """Two runs of one shard gave different digests, so no result could be trusted."""

    exit_code = 3


class NotFinite(SamebitsError):
    """Training met a NaN or an infinity; the weights before that step are kept.

    Attributes:
        step: The step, counted from 0.
        shard: The lowest shard whose loss or gradient it is, or None when only their sum overflowed.
    """

    def __init__(self, message: str, *, step: int, shard: int | None, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.step = step
        self.shard = shard


class OutputExists(SamebitsError):
    """The output folder exists and ``overwrite`` was not asked for."""


class OutputBusy(SamebitsError):
    """Another run holds the lock of this output."""


class OutputFailed(SamebitsError):
    """The output or journal could not be written: disk full, read-only folder, no permission."""


class ArtifactCorrupt(SamebitsError):
    """A file of an artifact is missing, damaged or not listed; names file, expected and found."""

    exit_code = 3


class ParityError(SamebitsError):
    """Two results that must be equal are not; names the first difference."""

    exit_code = 3


class EnvironmentMismatch(SamebitsError):
    """Another CPU type or library version, where equal bits are not promised; names the field and where it was found."""


class MissingExtra(SamebitsError):
    """An optional dependency is not installed; the hint is the install line."""

    def __init__(self, package: str, *, extra: str, needed_for: str) -> None:
        super().__init__(
            f"{needed_for} needs the package {package!r}, which is not installed",
            hint=f"pip install 'samebits[{extra}]'",
        )
        self.package = package
        self.extra = extra


class Interrupted(SamebitsError):
    """Ctrl-C; finished parts are kept and the hint says how to go on."""

    exit_code = 130


def to_plain(error: SamebitsError) -> dict[str, object]:
    """Return an error as plain data, for another machine: reading it back runs no code, as unpickling would.

    >>> from_plain(to_plain(ConfigError("lr is -1", hint="use 0 or more"))).hint
    'use 0 or more'
    """
    return {"class": type(error).__name__, "state": dict(error.__dict__)}


def from_plain(fields: dict[str, object]) -> SamebitsError:
    """Read what ``to_plain`` wrote; a class that is not in this file becomes a SamebitsError."""
    found, state = globals().get(str(fields["class"])), fields["state"]
    assert isinstance(state, dict)
    cls = found if isinstance(found, type) and issubclass(found, SamebitsError) else SamebitsError
    return _rebuild(cls, {"message": "", "hint": "", **state})


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Say which known name was probably meant.

    >>> did_you_mean("wrods", ["words", "chars"])
    "did you mean 'words'?"
    >>> did_you_mean("xyz", ["words", "chars"])
    'known: chars, words'
    """
    import difflib  # only for mistakes

    options = sorted(known)
    close = difflib.get_close_matches(name, options, n=1)
    return f"did you mean {close[0]!r}?" if close else "known: " + ", ".join(options)
