"""CoNLL-U in and out: every byte that is not HEAD or DEPREL survives a round trip.

A sentence keeps its raw lines. Multiword ranges (3-4), empty nodes (5.1), comments and all other columns are carried along;
only the columns HEAD and DEPREL of words are ever replaced. Enhanced dependencies (DEPS) are read over, not trained.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from samebits.graph.anchored import ROOT, Anchored

__all__ = ["WORD_LABEL", "ConlluError", "Sentence", "graph_of", "read_sentences", "with_graph"]

COLUMNS = 10
FORM, HEAD, DEPREL = 1, 6, 7
WORD_LABEL = "word"


class ConlluError(ValueError):
    """A sentence that is not CoNLL-U; ``line`` counts from 0."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence.

    Attributes:
        raw: Its lines with their line ends, the blank line after it, and further blank lines around it.
        words: Indices of its basic words among the lines.
        line: Number of its first line, from 0.
    """

    raw: tuple[str, ...]
    words: tuple[int, ...]
    line: int

    @property
    def forms(self) -> tuple[str, ...]:
        """The words as written."""
        return tuple(self.raw[k].split("\t")[FORM] for k in self.words)


def read_sentences(text: str, *, on_error: list[ConlluError] | None = None) -> Iterator[Sentence]:
    """Yield the sentences of a file; joining all ``raw`` lines gives the file again.

    Args:
        text: The whole file, line ends as they are.
        on_error: Where errors go; without a list, the first is raised.

    Raises:
        ConlluError: columns that are not 10, word ids out of order, a HEAD that is no word.
    """
    for start, block in _blocks(text):
        try:
            yield Sentence(tuple(block), _words(block, start), start)
        except ConlluError as error:
            if on_error is None:
                raise
            on_error.append(error)


def _blocks(text: str) -> list[tuple[int, list[str]]]:
    """Cut after the blank line that ends a sentence; further blank lines belong to the next one, at the end to the last."""
    found: list[tuple[int, list[str]]] = []
    block: list[str] = []
    has_text = False
    for number, line in enumerate(_lines(text)):
        block.append(line)
        if line.strip("\r\n"):
            has_text = True
        elif has_text:
            found.append((number + 1 - len(block), block))
            block, has_text = [], False
    if has_text:
        found.append((text.count("\n") + (not text.endswith("\n")) - len(block), block))
    elif block and found:
        found[-1][1].extend(block)
    return found


def _lines(text: str) -> list[str]:
    """Cut at newlines only: str.splitlines would also cut at characters that words may hold."""
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _words(block: Sequence[str], start: int) -> tuple[int, ...]:
    found: list[int] = []
    for k, line in enumerate(block):
        stripped = line.rstrip("\r\n")
        if not stripped or stripped.startswith("#"):
            continue
        columns = stripped.split("\t")
        if len(columns) != COLUMNS:
            raise ConlluError(f"{len(columns)} columns instead of {COLUMNS}", start + k)
        if columns[0].isdecimal():
            found.append(k)
            if int(columns[0]) != len(found):
                raise ConlluError(f"word id {columns[0]} instead of {len(found)}", start + k)
    for k in found:
        head = block[k].split("\t")[HEAD]
        if head != "_" and not (head.isdecimal() and int(head) <= len(found)):
            raise ConlluError(f"HEAD {head!r} is not one of 0 to {len(found)}", start + k)
    return tuple(found)


def graph_of(sentence: Sentence, *, subtypes: bool = True) -> Anchored:
    """Return the basic tree over the words.

    Args:
        sentence: One that ``read_sentences`` gave.
        subtypes: Keep ``nsubj:pass`` as it is; without, the part before the colon.

    Raises:
        ConlluError: a word without a head, a word that is its own head, several roots or none, a cycle.
    """
    heads, arcs = [], []
    for number, k in enumerate(sentence.words):
        columns = sentence.raw[k].split("\t")
        if columns[HEAD] == "_":
            raise ConlluError("a word without HEAD", sentence.line + k)
        head = int(columns[HEAD]) - 1
        if head == number:
            raise ConlluError(f"word {number + 1} is its own head", sentence.line + k)
        heads.append(head)
        relation = columns[DEPREL] if subtypes else columns[DEPREL].partition(":")[0]
        arcs.append(relation)
    if heads.count(ROOT) != 1:
        raise ConlluError(f"{heads.count(ROOT)} roots instead of one", sentence.line + sentence.words[0])
    _refuse_cycle(sentence, heads)
    n = len(heads)
    return Anchored(tuple(range(n)), (WORD_LABEL,) * n, tuple(heads), tuple(arcs))


def _refuse_cycle(sentence: Sentence, heads: Sequence[int]) -> None:
    safe = {ROOT}
    for start in range(len(heads)):
        walk: dict[int, None] = {}
        word = start
        while word not in safe:
            if word in walk:
                raise ConlluError(f"cycle through word {word + 1}", sentence.line + sentence.words[word])
            walk[word] = None
            word = heads[word]
        safe.update(walk)


def with_graph(sentence: Sentence, graph: Anchored) -> str:
    """Return the sentence's text with HEAD and DEPREL of its words replaced, and nothing else."""
    out = list(sentence.raw)
    for k, head, arc in zip(sentence.words, graph.heads, graph.arcs, strict=True):
        columns = out[k].split("\t")
        columns[HEAD], columns[DEPREL] = str(head + 1), arc
        out[k] = "\t".join(columns)
    return "".join(out)
