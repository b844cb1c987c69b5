"""The first cells of an input, read and encoded before the plan is made.

Python imports for 0.1 s before a build can begin, on one core. Meanwhile a thread does here what workers are going to do: it reads a
cell, takes the texts out, and encodes them. It only guesses what will be asked for, so nothing is decided here:

* A cell is handed over for the same bytes of the same file, cut and parsed in the same way, and nothing else.
* Its blocks must have the digests of the plan, as those of any other read (``data.inputs.blocks``).
* The ids of its texts belong to this very column and this very encoder; for other ids around the texts they are made again.

Who does not find a cell here reads and encodes it as ever. A failure here shows there, where it would have shown anyway.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple

from samebits.data.inputs.blocks import UnplannedFile
from samebits.data.readers.json_rows import JsonParser
from samebits.data.readers.pieces import LineFraming, read_cell
from samebits.data.readers.rowblock import RowBlock, TextColumn
from samebits.tokens.early.cut import Cut
from samebits.tokens.encoders.interface import RowEncoder, Rows
from samebits.tokens.encoders.tokenizer_json import added_tokens, num_ids, read_tokenizer_json
from samebits.tokens.tokenizers.special_ids import special_ids

__all__ = ["FirstCells", "begin_cells", "row_end", "taken_cell", "taken_rows"]

NARROW = 1 << 16
MOST_CELLS = 6  # some 6 MB each; more are not done before a build begins


class _Encoded(NamedTuple):
    encoder: RowEncoder
    column: TextColumn
    after: tuple[int, ...]
    rows: Rows


class _Cell(NamedTuple):
    file: UnplannedFile
    block: RowBlock
    encoded: _Encoded


class FirstCells:
    """A thread that encodes one cell after the other until somebody asks for one.

    State, under ``_change``: ``_done`` cells by their first byte; ``_current`` the cell at work; ``_ending`` when no other is begun.
    """

    def __init__(self, cut: Cut, make: Callable[[], tuple[RowEncoder, tuple[int, ...]]]) -> None:
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
            for number in range(MOST_CELLS):
                if not self._begins(number * self._cut.cell_bytes):
                    return
                cell = self._encoded(number * self._cut.cell_bytes, encoder, after)
                with self._change:
                    self._done[number * self._cut.cell_bytes] = cell
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

    def _encoded(self, start: int, encoder: RowEncoder, after: tuple[int, ...]) -> _Cell:
        cut = self._cut
        with UnplannedFile(cut.path) as file:
            stop = min(start + cut.cell_bytes, file.size)
            if start >= stop:
                raise EOFError
            piece = read_cell(file, start, stop, framing=LineFraming(), max_line_bytes=cut.max_line_bytes)
        block = JsonParser((cut.column,), cut.max_line_bytes)(piece, first_line=0)
        column = block.columns[cut.column]
        return _Cell(file, block, _Encoded(encoder, column, after, encoder.encode_rows(column, (), after)))

    def take(self, cut: Cut, start: int) -> _Cell | None:
        """Return a cell, waiting for it if it is at work, once; from now on no other is begun."""
        with self._change:
            self._ending = True
            while self._current == start:
                self._change.wait()
            found = self._done.pop(start, None)
        return found if cut == self._cut else None


_BEGUN: list[FirstCells] = []
_ENCODED: dict[int, _Encoded] = {}  # of cells handed over, by the ``id`` of the column


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


def begin_cells(cut: Cut, make: Callable[[], tuple[RowEncoder, tuple[int, ...]]]) -> None:
    """Start encoding; ``make`` gives the encoder and the ids that end a row."""
    if not _BEGUN:
        _BEGUN.append(FirstCells(cut, make))


def taken_cell(cut: Cut, start: int, stop: int, *, size: int, blocks: bytes) -> RowBlock | None:
    """Return the rows of a cell that was encoded early, if what was read is what the plan has seen."""
    if not _BEGUN:
        return None
    cell = _BEGUN[0].take(cut, start)
    if cell is None or stop != min(start + cut.cell_bytes, size) or not cell.file.gave(size, blocks):
        return None
    _ENCODED[id(cell.encoded.column)] = cell.encoded
    return cell.block


def taken_rows(
    encoder: RowEncoder, texts: TextColumn, before: Sequence[int], after: Sequence[int]
) -> Rows | None:
    """Return the ids of a column that this encoder has encoded early, once; None if it has not, or with other ids around the texts."""
    found = _ENCODED.pop(id(texts), None)
    if found is None or found.column is not texts or found.encoder is not encoder:
        return None
    return found.rows if not before and tuple(after) == found.after else None
