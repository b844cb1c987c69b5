"""The first cells of an input, read and encoded before the plan is made.

Python imports for 0.1 s before a build can begin, on one core. Meanwhile a thread does here what workers are going to do: it reads a
cell, takes the texts out, and encodes them. It needs no NumPy, which is a third of what is imported, and asks for the GIL three times a cell. It
only guesses what will be asked for, so nothing is decided here:

* A cell is handed over for the same bytes of the same file, cut and parsed in the same way, and nothing else.
* Its blocks must have the digests of the plan, as those of any other read (``data.inputs.blocks``).
* Its ids are those of this very encoder, with the same ids around each text. The texts themselves are gone by then.
* A cell with a line that the kernels are not sure of is left to whoever needs it.

Who does not find a cell here reads and encodes it as ever. A failure here shows there, where it would have shown anyway.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from samebits.data.inputs.blocks import BLOCK_BYTES, Noted, UnplannedFile
from samebits.tokens.early.cut import Cut
from samebits.tokens.encoders.tokenizer_json import added_tokens, num_ids, read_tokenizer_json
from samebits.tokens.tokenizers.special_ids import special_ids

if TYPE_CHECKING:
    from samebits.data.readers.rowblock import RowBlock, TextColumn
    from samebits.tokens.encoders.interface import Rows

__all__ = ["CellEncoder", "FirstCells", "begin_cells", "row_end", "taken_cell", "taken_rows"]

NARROW = 1 << 16
MOST_CELLS = 8  # some 2 MB each; more are not done before a build begins


class CellEncoder(Protocol):
    """An encoder that takes a cell of JSON lines as it is."""

    def encode_json_cell(
        self, data: memoryview, start: int, stop: int, *, is_end: bool, column: str, after: Sequence[int]
    ) -> tuple[bytearray, ...] | None:
        """Return what ``kernels.tokens.byte_pairs.json_rows`` does."""
        ...


class _Cell(NamedTuple):
    noted: Noted
    base: int  # where what was read begins in the file
    encoder: CellEncoder
    after: tuple[int, ...]
    found: tuple[bytearray, ...]


class FirstCells:
    """A thread that encodes one cell after the other until somebody asks for one.

    State, under ``_change``: ``_done`` cells by their first byte; ``_current`` the cell at work; ``_ending`` when no other is begun.
    """

    def __init__(self, cut: Cut, make: Callable[[], tuple[CellEncoder, tuple[int, ...]]]) -> None:
        self._cut, self._make = cut, make
        self._change = threading.Condition()
        self._done: dict[int, _Cell] = {}
        self._current: int | None = None
        self._ending = False
        self._thread = threading.Thread(target=self._run, name="samebits-early")
        self._thread.start()

    def _run(self) -> None:
        try:
            encoder, after = self._make()
            with UnplannedFile(self._cut.path) as file:
                for start in range(
                    0, min(MOST_CELLS * self._cut.cell_bytes, file.size), self._cut.cell_bytes
                ):
                    if not self._begins(start):
                        return
                    cell = self._encoded(file, start, encoder, after)
                    if cell is not None:
                        with self._change:
                            self._done[start] = cell
        except Exception:
            return  # who needs the cell makes its own, which then raises
        finally:
            with self._change:
                self._current, self._ending = None, True
                self._change.notify_all()

    def _begins(self, start: int) -> bool:
        with self._change:
            self._current = None if self._ending else start
            self._change.notify_all()
            return not self._ending

    def _encoded(
        self, file: UnplannedFile, start: int, encoder: CellEncoder, after: tuple[int, ...]
    ) -> _Cell | None:
        cut, base = self._cut, max(start - 1, 0) // BLOCK_BYTES * BLOCK_BYTES
        stop = min(start + cut.cell_bytes, file.size)
        data: Any = file.read(base, stop + BLOCK_BYTES)
        if len(data) > cut.max_line_bytes:
            return None
        is_end = base + len(data) == file.size
        found = encoder.encode_json_cell(
            memoryview(data), start - base, stop - base, is_end=is_end, column=cut.column, after=after
        )
        return _Cell(file.noted, base, encoder, after, found) if found is not None else None

    def take(self, cut: Cut, start: int) -> _Cell | None:
        """Return a cell, waiting for it if it is at work, once; from now on no other is begun."""
        with self._change:
            self._ending = True
            while self._current == start:
                self._change.wait()
            found = self._done.pop(start, None)
        return found if cut == self._cut else None


_BEGUN: list[FirstCells] = []
_ROWS: dict[int, tuple[TextColumn, Rows]] = {}  # of cells handed over, by the ``id`` of the column


def row_end(document: bytes) -> tuple[int, ...]:
    """Return what ends a row unless a flag says otherwise: the end-of-text id of a file.

    Raises:
        ValueError: if it has none, or ids that do not fit 16 bits.
    """
    file = read_tokenizer_json(document)
    end = special_ids({token.content: token.id for token in added_tokens(file) if token.special}).eos
    if end is None or num_ids(file) > NARROW:
        raise ValueError("rows of such a file are not written at once")
    return (end,)


def begin_cells(cut: Cut, make: Callable[[], tuple[CellEncoder, tuple[int, ...]]]) -> None:
    """Start encoding; ``make`` gives the encoder and the ids that end a row."""
    if not _BEGUN:
        _BEGUN.append(FirstCells(cut, make))


def taken_cell(
    cut: Cut, start: int, stop: int, *, size: int, blocks: bytes, encoder: object, after: Sequence[int]
) -> RowBlock | None:
    """Return the rows of a cell that was encoded early, if what was read is what the plan has seen, and it is what this encoder makes.

    Its column has places of texts but no text; ``taken_rows`` has the ids.
    """
    cell = _BEGUN[0].take(cut, start) if _BEGUN else None
    if cell is None or stop != min(start + cut.cell_bytes, size) or not cell.noted.is_of(size, blocks):
        return None
    if cell.encoder is not encoder or cell.after != tuple(after):
        return None
    import numpy as np

    from samebits.data.readers.rowblock import RowBlock, TextColumn

    lines, starts, stops, lengths = (np.frombuffer(numbers, np.int64) for numbers in cell.found[:4])
    column = TextColumn(np.empty(0, np.uint8), starts, stops)
    _ROWS[id(column)] = column, (np.frombuffer(cell.found[4], np.uint16), lengths)
    return RowBlock(
        columns={cut.column: column},
        lines=np.arange(len(lines)),
        offsets=cell.base + lines,
        num_lines=len(lines),
        num_blank=0,
        bad=[],
    )


def taken_rows(texts: TextColumn) -> Rows | None:
    """Return the ids of a column that was encoded early, once; None if it was not."""
    column, rows = _ROWS.pop(id(texts), (None, None))
    return rows if column is texts else None
