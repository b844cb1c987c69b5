"""What one row consists of: columns, literal text and special tokens, in order.

``{bos}{puzzle}{sep}{solution}{eos}`` is five *pieces*: three special tokens and two *runs* of text. Columns and
literal text that touch form one run and are encoded together, because ``"Question: " + text`` has other tokens than
the two encoded apart. Special tokens are inserted as ids, so no text can forge them.

>>> template = parse_template("{bos}Q: {question}{sep}{answer}{eos}")
>>> template.columns
('question', 'answer')
>>> template.pieces
('bos', 0, 'sep', 1, 'eos')
"""

from __future__ import annotations

import string
from collections.abc import Sequence

import numpy as np

from samebits.core.light_dataclass import dataclass
from samebits.data.readers.rowblock import RowBlock, TextColumn
from samebits.errors import ConfigError
from samebits.kernels.tokens.rows import copy_ranges

__all__ = ["Template", "parse_template", "run_texts", "template_of"]

SPECIAL_FIELDS = ("bos", "sep", "eos")


@dataclass(frozen=True, slots=True)
class Template:
    """A parsed template.

    Attributes:
        pieces: Name of a special token, or number of a run.
        runs: Each a tuple of ``("column", name)`` and ``("text", literal)``.
    """

    pieces: tuple[str | int, ...]
    runs: tuple[tuple[tuple[str, str], ...], ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns to read, each once, in the order of first use."""
        names = [name for run in self.runs for kind, name in run if kind == "column"]
        return tuple(dict.fromkeys(names))

    @property
    def has_prompt(self) -> bool:
        """Whether a separator tells where the part to be predicted begins."""
        return "sep" in self.pieces


def template_of(*, template: str | None, columns: Sequence[str], add_bos: bool, add_eos: bool) -> Template:
    """Return the template asked for; without one, the columns joined by separators.

    Raises:
        ConfigError: if both a template and columns are given, or the template cannot be read.
    """
    if template is None:
        template = "{sep}".join("{" + name + "}" for name in columns or ("text",))
    elif columns:
        raise ConfigError("--template and --columns were both given", hint="name the columns in the template")
    if add_bos and not template.startswith("{bos}"):
        template = "{bos}" + template
    if add_eos and not template.endswith("{eos}"):
        template += "{eos}"
    return parse_template(template)


def parse_template(text: str) -> Template:
    """Parse ``{name}`` fields; ``{{`` and ``}}`` stand for braces.

    Raises:
        ConfigError: for unbalanced braces, empty fields, format codes, or no column at all.
    """
    pieces: list[str | int] = []
    runs: list[tuple[tuple[str, str], ...]] = []
    for kind, value in _fields(text):
        if kind == "special":
            pieces.append(value)
        elif pieces and isinstance(pieces[-1], int):
            runs[-1] = (*runs[-1], (kind, value))
        else:
            pieces.append(len(runs))
            runs.append(((kind, value),))
    result = Template(tuple(pieces), tuple(runs))
    if not result.columns:
        raise ConfigError(f"the template {text!r} names no column", hint="for example '{text}{eos}'")
    return result


def _fields(text: str) -> list[tuple[str, str]]:
    fields: list[tuple[str, str]] = []
    try:
        for literal, name, code, conversion in string.Formatter().parse(text):
            if literal:
                fields.append(("text", literal))
            if name is None:
                continue
            if not name or code or conversion:
                raise ValueError("a field is a name alone")
            fields.append(("special" if name in SPECIAL_FIELDS else "column", name))
    except ValueError as error:
        raise ConfigError(
            f"the template {text!r} cannot be read: {error}",
            hint="write {column}, {bos}, {sep} or {eos}; a brace itself is {{ or }}",
        ) from None
    return fields


def run_texts(run: Sequence[tuple[str, str]], block: RowBlock) -> TextColumn:
    """Return the texts of one run; a run of one column is that column itself, nothing is copied."""
    if len(run) == 1 and run[0][0] == "column":
        return block.columns[run[0][1]]
    buffers: list[np.ndarray[tuple[int], np.dtype[np.uint8]]] = []
    begins, ends, base = [], [], 0
    for kind, value in run:
        if kind == "column":
            column = block.columns[value]
            buffers.append(column.buffer)
            begins.append(column.starts + base)
            ends.append(column.stops + base)
        else:
            buffers.append(np.frombuffer(value.encode(), np.uint8))
            begins.append(np.full(len(block), base, np.int64))
            ends.append(begins[-1] + len(buffers[-1]))
        base += len(buffers[-1])
    # starts, stops: (rows, parts of the run), so that copying in C order writes row after row
    starts, stops = np.stack(begins, axis=1), np.stack(ends, axis=1)
    lengths = (stops - starts).sum(axis=1)
    joined = np.empty(int(lengths.sum()), np.uint8)
    copy_ranges(np.concatenate(buffers), starts.reshape(-1), stops.reshape(-1), joined)
    row_stops = np.cumsum(lengths)
    return TextColumn(joined, row_stops - lengths, row_stops)
