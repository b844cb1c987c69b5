"""Pass 1: a shard's rows as integers. Every later stage works on these and never reads text again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, NotRequired, TypedDict, cast

import numpy as np
from numpy.typing import NDArray

from samebits.core.plan import Shard
from samebits.data.readers.rows import BadRow, TextColumn
from samebits.kernels.langid.text.encode import encode_rows
from samebits.kernels.langid.text.words import Vocabulary
from samebits.langid.config import MOST_POINTS, LangidConfig
from samebits.langid.sources import LabelledBlock, Sources, iter_labelled
from samebits.langid.tables import load_tables, script_number

__all__ = ["CleanedAgain", "EncodeRows", "EncodedBlock", "RowsPart"]

NARROW_WORDS = 1 << 16


class CleanedAgain(TypedDict):
    """Rows that cleaning changes once more: which they are, and what is left of them."""

    words: NDArray[np.uint8]
    word_sizes: NDArray[Any]
    tokens: NDArray[Any]
    lengths: NDArray[Any]
    rows: NDArray[np.int64]
    kept: NDArray[np.uint8]


class EncodedText(TypedDict):
    """Texts as integers; numbers are as narrow as the largest needs.

    ``num_bytes`` and ``num_kept`` are counted where text is folded, ``again`` is there in exact mode alone.
    """

    words: NDArray[np.uint8]
    word_sizes: NDArray[Any]
    tokens: NDArray[Any]
    lengths: NDArray[Any]
    hashes: NDArray[np.uint64]
    kept: NDArray[np.uint8]
    num_cut: int
    num_bytes: NotRequired[int]
    num_kept: NotRequired[int]
    again: NotRequired[CleanedAgain]


class EncodedBlock(EncodedText):
    """Labelled rows as integers: their texts, labels and places. ``sentence`` is there when texts were split."""

    labels: NDArray[Any]
    label_names: NDArray[np.uint8]
    label_sizes: NDArray[Any]
    lines: NDArray[Any]
    sentence: NotRequired[NDArray[np.int64]]


class RowsPart(NamedTuple):
    """The rows of one shard, block by block, and what was bad."""

    blocks: list[EncodedBlock]
    bad: list[BadRow]
    num_lines: int
    num_blank: int


@dataclass(frozen=True, slots=True)
class EncodeRows:
    """The task: read, split, clean, cut into words, number the words."""

    part_type: ClassVar = RowsPart
    config: LangidConfig

    def __call__(self, shard: Shard, state: Sources, /) -> RowsPart:
        """Return the shard's rows as integers, its words and labels in first-seen order, and what was bad."""
        config = self.config
        # Only rows that a report looks at are cleaned twice, as the reference does.
        reported = shard.source >= state.num_train or state.num_train == len(state.corpus.sources)
        pieces: list[EncodedBlock] = []
        bad: list[BadRow] = []
        num_lines = num_blank = 0
        for block in iter_labelled(
            state, shard, text_column=config.text_column, lang_column=config.lang_column
        ):
            # A shard may be a large file: block by block, its text is let go.
            pieces.append(self.encode(block, again=reported))
            bad += block.bad
            num_lines, num_blank = num_lines + block.num_lines, num_blank + block.num_blank
        return RowsPart(pieces, bad, num_lines, num_blank)

    def encode(self, block: LabelledBlock, *, again: bool) -> EncodedBlock:
        """Encode one block."""
        text, rows, sentence = self.split(block)
        labels = Vocabulary()
        numbers = labels.add(block.label.buffer, block.label.starts, block.label.stops)
        names, ends = labels.export()
        encoded = cast(
            "EncodedBlock", encode_column(self.config, text, again=again)
        )  # the rest is added here
        encoded["labels"] = narrow(numbers[rows])
        encoded["label_names"] = names
        encoded["label_sizes"] = narrow(_lengths(ends))
        encoded["lines"] = narrow(block.lines[rows])
        if self.config.sentences != "none":
            encoded["sentence"] = sentence
        return encoded

    def split(self, block: LabelledBlock) -> tuple[TextColumn, NDArray[np.int64], NDArray[np.int64]]:
        """Return the texts to encode, and for each the row it is from and its number within the row."""
        rows = np.arange(len(block.text), dtype=np.int64)
        if self.config.sentences == "none":
            return block.text, rows, rows
        text = block.text
        if self.config.sentences == "punkt":
            from samebits.langid.training.punkt import split_by_punkt

            rows, starts, stops = split_by_punkt(text)
        else:
            from samebits.kernels.langid.text.sentences import split_sentences

            rows, starts, stops = split_sentences(load_tables(), text.buffer, text.starts, text.stops)
        first = np.searchsorted(rows, rows, side="left")
        return TextColumn(text.buffer, starts, stops), rows, np.arange(len(rows), dtype=np.int64) - first


def encode_column(config: LangidConfig, text: TextColumn, *, again: bool) -> EncodedText:
    """Encode texts: tokens, lengths (tokens per row), words, identities, and which rows have nothing left."""
    if config.mode != "exact":
        from samebits.kernels.langid.text.fold import fold_rows

        folded = fold_rows(load_tables(), text.buffer, text.starts, text.stops, MOST_POINTS)
        return {
            "words": folded["words"],
            "word_sizes": narrow(_lengths(folded["word_stops"])),
            "tokens": _narrow_tokens(folded["tokens"], len(folded["word_stops"])),
            "lengths": narrow(_lengths(folded["token_stops"])),
            "hashes": folded["hashes"],
            "kept": (_lengths(folded["token_stops"]) > 0).view(np.uint8),
            "num_cut": int(folded["cut"].sum()),
            "num_bytes": int((text.stops - text.starts).sum()),
            "num_kept": int((_lengths(folded["word_stops"])[folded["tokens"]] + 1).sum()),
        }
    script = script_number(config.script)
    encoded = encode_rows(load_tables(), text.buffer, text.starts, text.stops, script, int(again))
    part: EncodedText = {
        "words": encoded["words"],
        "word_sizes": narrow(_lengths(encoded["word_stops"])),
        "tokens": _narrow_tokens(encoded["tokens"], len(encoded["word_stops"])),
        "lengths": narrow(_lengths(encoded["token_stops"])),
        "hashes": encoded["hashes"],
        "kept": (encoded["sizes"] > 0).view(np.uint8),
        "num_cut": 0,
    }
    unstable = np.flatnonzero(encoded["unstable"]) if again else np.empty(0, np.int64)
    if len(unstable):
        part["again"] = _clean_again(encoded["texts"], encoded["sizes"], encoded["hashes"], unstable, script)
    return part


def _clean_again(
    texts: NDArray[np.uint8],
    sizes: NDArray[np.int64],
    hashes: NDArray[np.uint64],
    rows: NDArray[np.int64],
    script: int,
) -> CleanedAgain:
    """Clean the cleaned rows once more, and return those that changed: the reference reports on these."""
    stops = np.cumsum(sizes[rows])
    second = encode_rows(load_tables(), texts, stops - sizes[rows], stops, script, 0)
    changed = np.flatnonzero((second["hashes"] != hashes[rows]).any(axis=1) | (second["sizes"] == 0))
    ends = second["token_stops"]
    starts = ends - _lengths(ends)
    picked = [second["tokens"][starts[i] : ends[i]] for i in changed.tolist()]
    return {
        "words": second["words"],
        "word_sizes": narrow(_lengths(second["word_stops"])),
        "tokens": np.concatenate(picked) if picked else np.empty(0, np.uint32),
        "lengths": narrow((ends - starts)[changed]),
        "rows": rows[changed],
        "kept": (second["sizes"][changed] > 0).view(np.uint8),
    }


def _lengths(stops: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.diff(stops, prepend=np.int64(0))


def narrow(numbers: NDArray[Any]) -> NDArray[Any]:
    """Return whole numbers in as few bytes as the largest needs: a part is digested, journalled and read again."""
    return numbers.astype(np.min_scalar_type(int(numbers.max()) if len(numbers) else 0))


def _narrow_tokens(tokens: NDArray[np.uint32], num_words: int) -> NDArray[Any]:
    """Two bytes a token where they are enough, and never one: they are most of a part, and have a kernel of their own."""
    return tokens.astype(np.uint16) if num_words <= NARROW_WORDS else tokens
