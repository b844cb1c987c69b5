"""Examples as training, prediction and evaluation read them: JSON lines with text and graph, or CoNLL-U sentences.

Files are cut on a byte grid, compressed ones not at all; a CoNLL-U sentence belongs to the cell that holds its first byte. What cannot be used is a bad row with
file, line and reason; more than ``--max-bad`` of them stop the run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import msgspec

from samebits.core.plan import Shard
from samebits.data.compressed.decoders import BrokenStream, decompressed
from samebits.data.inputs.blocks import BLOCK_BYTES, VerifiedFile
from samebits.data.inputs.corpus import Corpus, Source, open_corpus
from samebits.data.readers.rows import BadRow, iter_rows
from samebits.errors import InputError
from samebits.graph.anchored import Anchored, from_json
from samebits.graph.formats.conllu import ConlluError, Sentence, graph_of, read_sentences

__all__ = [
    "CELL_BYTES",
    "MOST_POSITIONS",
    "ReadShard",
    "Sample",
    "is_conllu",
    "open_samples",
    "samples_of",
    "tags_of",
]

CELL_BYTES = 1 << 18  # about 200 examples of level 2: enough for a batch, small enough for many workers
MOST_POSITIONS = 512  # longer texts are refused in training and said to be too long in prediction
LOOK_AHEAD = 1 << 16  # bytes read at once in search of the end of a sentence
BLANK = re.compile(rb"\n\r?\n")
ABOUT = ("id", "level", "depth", "style", "result")


@dataclass(frozen=True, slots=True)
class Sample:
    """One example.

    Attributes:
        tokens: The positions: characters of a text, or words of a sentence.
        graph: What is expected.
        about: What else the line said: id, depth, result.
        raw: The line or the lines it came from.
    """

    tokens: tuple[str, ...]
    graph: Anchored
    about: dict[str, Any]
    raw: tuple[str, ...] = ()


def tags_of(sample: Sample) -> tuple[tuple[str, ...], ...]:
    """Return part of speech, tag and features of every word of a sentence."""
    rows = [
        line.split("\t")[3:6]
        for line in sample.raw
        if line[:1] != "#" and line.partition("\t")[0].isdecimal()
    ]
    return tuple(tuple(row[task] for row in rows) for task in range(3))


def is_conllu(inputs: Sequence[str]) -> bool:
    """Tell whether the inputs are CoNLL-U; they must all be, or none.

    Raises:
        InputError: for a mixture.
    """
    found = [
        name.lower().removesuffix(".gz").removesuffix(".zst").endswith((".conllu", ".conll"))
        for name in inputs
    ]
    if any(found) and not all(found):
        raise InputError(
            "CoNLL-U and JSON lines in one run", path=inputs[found.index(False)], hint="train two models"
        )
    return any(found)


def open_samples(inputs: Sequence[str]) -> Corpus:
    """List and hash the inputs; both formats are lines of text to the reader."""
    return open_corpus(inputs, format="txt", cell_bytes=CELL_BYTES, cut_compressed=False)


class SamplesPart(NamedTuple):
    """The usable examples of one shard, each a list of its fields, and what was bad; see ``samples_of``."""

    examples: list[list[Any]]
    bad: list[BadRow]
    num_lines: int


@dataclass(frozen=True, slots=True)
class ReadShard:
    """The task: the usable examples of one shard as plain data.

    Attributes:
        conllu: Which format.
        subtypes: Keep the subtypes of CoNLL-U relations.
    """

    part_type: ClassVar = SamplesPart
    conllu: bool
    subtypes: bool = True

    def __call__(self, shard: Shard, state: Corpus, /) -> SamplesPart:
        """Return examples, bad rows and the number of lines."""
        bad: list[BadRow] = []
        examples: list[list[Any]] = []
        num_lines = 0
        if self.conllu:
            text = read_part(state.sources[shard.source], shard)
            num_lines = text.count("\n")
            rows = _conllu_samples(text, bad, subtypes=self.subtypes)
            examples = [_plain(sample) for _, sample in rows if sample is not None]
        else:
            for block in iter_rows(state, shard):
                bad += block.bad
                num_lines += block.num_lines
                for i, line in enumerate(block.columns["text"].texts()):
                    try:
                        examples.append(_plain(parse_line(line)))
                    except ValueError as error:
                        place: BadRow = {
                            "line": int(block.lines[i]),
                            "offset": int(block.offsets[i]),
                            "reason": str(error),
                        }
                        bad.append(place)
        bad.sort(key=lambda row: row["line"])
        return SamplesPart(examples, bad, num_lines)


def read_part(source: Source, shard: Shard) -> str:
    """Return the text of the sentences that begin in a shard.

    Raises:
        InputError: if it is no UTF-8 or cannot be decompressed.
    """
    first = 0
    with source.open() as file:
        try:
            if source.compression:
                data = b"".join(decompressed(file, source.compression))
            else:
                first, last = (_sentence_start(file, at, source.size) for at in (shard.start, shard.stop))
                data = _bytes(file, first, last)
        except BrokenStream as error:
            raise InputError(f"cannot be decompressed: {error}", path=source.origin) from None
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"not UTF-8: {error.reason}", path=source.origin, offset=first + error.start
        ) from None


def _bytes(file: VerifiedFile, start: int, stop: int) -> bytes:
    on_grid = start // BLOCK_BYTES * BLOCK_BYTES
    return file.read(on_grid, stop)[start - on_grid : stop - on_grid].tobytes() if start < stop else b""


def _sentence_start(file: VerifiedFile, at: int, size: int) -> int:
    """Return the first place from ``at`` on that follows a blank line, or the end; both neighbours of a cut ask for the same."""
    if at == 0 or at >= size:
        return min(at, size)
    begin = max(0, at - 3)
    while begin < size:
        stop = min(size, begin + LOOK_AHEAD)
        for match in BLANK.finditer(_bytes(file, begin, stop)):
            if begin + match.end() >= at:
                return begin + match.end()
        if stop == size:
            break
        begin = stop - 3
    return size


def parse_line(line: str, *, graph: bool = True) -> Sample:
    """Read one JSON line.

    Args:
        line: An object with ``text`` and, if asked for, ``graph``.
        graph: Whether the graph is needed.

    Raises:
        ValueError: says what is wrong.
    """
    try:
        record = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"not valid JSON: {error}") from None
    if not isinstance(record, dict) or not isinstance(record.get("text"), str):
        raise ValueError("no text in this line")
    text = record["text"]
    if graph and not text:
        raise ValueError("the text is empty")
    if graph and len(text) > MOST_POSITIONS:
        raise ValueError(f"a text of {len(text)} characters is longer than {MOST_POSITIONS}")
    about = {name: record[name] for name in ABOUT if name in record}
    found = from_json(record.get("graph"), length=len(text)) if graph else Anchored((), (), (), ())
    return Sample(tuple(text), found, about)


def _conllu_samples(
    text: str, bad: list[BadRow], *, subtypes: bool
) -> Iterator[tuple[Sentence, Sample | None]]:
    """Yield each sentence with its example; what cannot be learned is bad and has none."""
    errors: list[ConlluError] = []
    for sentence in read_sentences(text, on_error=errors):
        try:
            if not sentence.words:
                if all(line[:1] == "#" or not line.strip() for line in sentence.raw):
                    continue  # comments alone, as of a document without text
                raise ConlluError("a sentence without words", sentence.line)
            if len(sentence.words) > MOST_POSITIONS:
                raise ConlluError(f"a sentence of {len(sentence.words)} words is too long", sentence.line)
            graph = graph_of(sentence, subtypes=subtypes)
        except ConlluError as error:
            errors.append(error)
            yield sentence, None
        else:
            yield sentence, Sample(sentence.forms, graph, {}, sentence.raw)
    bad += [{"line": error.line, "offset": None, "reason": str(error)} for error in errors]


def _plain(sample: Sample) -> list[Any]:
    graph = sample.graph
    tokens = "".join(sample.tokens) if not sample.raw else list(sample.tokens)
    return [
        tokens,
        list(graph.at),
        list(graph.labels),
        list(graph.heads),
        list(graph.arcs),
        sample.about,
        list(sample.raw),
    ]


def samples_of(part: SamplesPart) -> list[Sample]:
    """Turn the plain data of a part back into examples."""
    return [
        Sample(
            tuple(tokens),
            Anchored(tuple(at), tuple(labels), tuple(heads), tuple(arcs)),
            about,
            tuple(raw),
        )
        for tokens, at, labels, heads, arcs, about, raw in part.examples
    ]
