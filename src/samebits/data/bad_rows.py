"""Rows that could not be used: counted, named, written down. Nothing disappears silently.

A job hands over each part's bad rows in shard order; ``BadRows`` turns line numbers within a shard into line numbers of
the file, keeps the total against the limit of ``--max-bad``, and writes ``bad_rows.jsonl``. The limit is about *whether* a
run succeeds, never about what it gives, so it is a run option.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from samebits.core.light_dataclass import dataclass
from samebits.core.observing.events import Metric, Observer, ignore
from samebits.core.plan import Plan, Shard
from samebits.data.files import writing
from samebits.data.readers.missing_columns import with_flag
from samebits.errors import ConfigError, TooManyBadRows, did_you_mean

__all__ = ["BadRows", "Limit", "parse_limit"]

HOPELESS_ROWS = 1000
MOST_LINE = 1 << 20  # bytes of a row whose keys are shown


@dataclass(frozen=True, slots=True)
class Limit:
    """At most ``count`` bad rows, or at most ``percent`` of all rows."""

    count: int | None
    percent: float | None

    def exceeded(self, num_bad: int, num_read: int) -> bool:
        """Tell whether there are too many."""
        if self.count is not None:
            return num_bad > self.count
        return self.percent is not None and num_bad * 100 > self.percent * num_read


def parse_limit(text: str) -> Limit:
    """Read ``"100"`` or ``"1%"``.

    >>> parse_limit("100"), parse_limit("0.5%")
    (Limit(count=100, percent=None), Limit(count=None, percent=0.5))

    Raises:
        ConfigError: if it is neither.
    """
    try:
        if text.endswith("%") and 0 <= float(text[:-1]) <= 100:
            return Limit(None, float(text[:-1]))
        if text.isdecimal():
            return Limit(int(text), None)
    except ValueError:
        pass
    raise ConfigError(f"--max-bad is {text!r}", hint="give a number of rows like 100, or a share like 1%")


class BadRows:
    """Collects bad rows in row order.

    Attributes:
        num_read: Lines read so far, good and bad.
        num_bad: Bad rows so far.
        reasons: How many bad rows for each reason.
    """

    def __init__(
        self,
        limit: str | int = "1%",
        *,
        spill: Path | None = None,
        observer: Observer = ignore,
        column_flags: Mapping[str, str] | None = None,
    ) -> None:
        self.limit = parse_limit(str(limit))
        self.limit_text = limit
        self.column_flags = column_flags or {}  # column -> the flag that chose it, for hints
        self.num_read = 0
        self.reasons: Counter[str] = Counter()
        self._num_bad = 0
        self._first = ""
        self._lines = bytearray()  # as they will be written: a fifth of the memory of a dict a row
        self._spill = spill
        self._observer = observer
        self._lines_before: Counter[int] = Counter()  # source -> lines in its shards so far
        self._first_keys: Callable[[], list[str]] = (
            list  # reads the keys of the first bad row, if it lacks one
        )

    @property
    def num_bad(self) -> int:
        """Bad rows so far."""
        return self._num_bad

    def take(self, plan: Plan, shard: Shard, bad: Sequence[Mapping[str, Any]], *, num_lines: int) -> None:
        """Take one shard's bad rows; shards must come in order."""
        base = self._lines_before[shard.source]
        if bad and not self._first:
            self._first_keys = partial(_keys_at, plan.inputs, shard.source, bad[0]["offset"])
        for row in bad:
            line = None if row["line"] is None else base + int(row["line"]) + 1
            self.add(
                source=plan.source_names[shard.source], line=line, offset=row["offset"], reason=row["reason"]
            )
        self._lines_before[shard.source] += num_lines
        self.num_read += num_lines
        if bad:
            self._observer(Metric("bad_rows", self.num_bad))
        if self.limit.count is not None or self._is_hopeless():
            self.check()

    def _is_hopeless(self) -> bool:
        """Tell a wrong file or column, where nearly every row is bad, from the odd bad row.

        A share is judged when all rows were read. A run of hours need not go on to the end if it has met a thousand
        bad rows and they are the greater part; shards come in order, so it stops at the same row every time.
        """
        return self.num_bad >= HOPELESS_ROWS and self.num_bad * 2 > self.num_read

    def add(self, *, source: str, line: int | None, offset: int | None, reason: str) -> None:
        """Take one bad row; ``line`` is one-based, as editors count."""
        import msgspec  # most inputs have no bad row

        row = {"source": source, "line": line, "offset": offset, "reason": reason}
        place = "".join(
            f", {name} {number}" for name, number in (("line", line), ("byte", offset)) if number is not None
        )
        self._first = self._first or f"{source}{place}: {reason}"
        self._lines += msgspec.json.encode(row) + b"\n"
        self._num_bad += 1
        self.reasons[reason.partition(":")[0]] += 1

    def check(self) -> None:
        """Stop the run if there are too many; a share is judged when all rows were read (see ``take``).

        Raises:
            TooManyBadRows: names the first bad row and where the list is.
        """
        if not self.limit.exceeded(self.num_bad, self.num_read):
            return
        where = ""
        if self._spill is not None:
            self.write(self._spill)
            where = f"; the list is in {self._spill}"
        raise TooManyBadRows(
            f"{self.num_bad:,} of {self.num_read:,} rows are unusable, more than --max-bad {self.limit_text}; first: "
            f"{self._first}{where}",
            hint=self._missing_key() or f"fix them, or allow more: --max-bad {self.num_bad}",
            num_bad=self.num_bad,
            num_read=self.num_read,
        )

    def _missing_key(self) -> str:
        """Say which columns there are, where most rows lack the wanted one."""
        _, found, name = self._first.partition(": no key ")
        keys = self._first_keys() if found else []
        if not keys or self.reasons[f"no key {name}"] * 2 < self.num_bad:
            return ""
        wanted = name.strip("'\"")
        flag = self.column_flags.get(wanted, "")
        guess = did_you_mean(wanted, keys)
        if not guess.startswith("did you mean"):
            guess = "the row has " + ", ".join(map(repr, keys))
        return with_flag(guess, flag) if flag else guess

    def write(self, path: Path) -> None:
        """Write one JSON object a line, in row order; an empty file says that there were none."""
        with writing(path):
            path.write_bytes(self._lines)


def _keys_at(inputs: Any, source: int, offset: int | None) -> list[str]:
    """Return the keys of the JSON object at a place of a corpus; none where it cannot be read again."""
    import json

    corpus = getattr(inputs, "corpus", inputs)
    sources = getattr(corpus, "sources", ())
    if offset is None or source >= len(sources) or sources[source].compression:
        return []
    try:
        with Path(sources[source].path).open("rb") as file:
            file.seek(offset)
            row = json.loads(file.readline(MOST_LINE))
    except (OSError, ValueError, RecursionError):
        return []
    return list(row) if isinstance(row, dict) else []
