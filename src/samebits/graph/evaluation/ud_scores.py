"""The scores of the CoNLL 2018 shared task for two CoNLL-U texts over the same characters, which may be cut into other words.

Words are aligned by the characters they cover; words of one multiword token (``3-4``) by the longest common sequence of their forms.
A score is F1: 2 * right / (words of one + words of the other). A head is right if both are the root or aligned words. Relations are
compared without their subtype, features only as far as they are universal, as the task's own script does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from samebits.graph.formats.conllu import Sentence, read_sentences

__all__ = ["SCORES", "score", "universal"]

SCORES = ("Words", "UPOS", "XPOS", "UFeats", "UAS", "LAS", "CLAS")
CONTENT = frozenset(
    [
        "nsubj",
        "obj",
        "iobj",
        "csubj",
        "ccomp",
        "xcomp",
        "obl",
        "vocative",
        "expl",
        "dislocated",
        "advcl",
        "advmod",
        "discourse",
        "nmod",
        "appos",
        "nummod",
        "acl",
        "amod",
        "conj",
        "fixed",
        "flat",
        "compound",
        "list",
        "parataxis",
        "orphan",
        "goeswith",
        "reparandum",
        "root",
        "dep",
    ]
)
FEATURES = frozenset(
    [
        "PronType",
        "NumType",
        "Poss",
        "Reflex",
        "Foreign",
        "Abbr",
        "Gender",
        "Animacy",
        "Number",
        "Case",
        "Definite",
        "Degree",
        "VerbForm",
        "Mood",
        "Tense",
        "Aspect",
        "Voice",
        "Evident",
        "Polarity",
        "Person",
        "Polite",
    ]
)


@dataclass(eq=False, slots=True)
class _Word:
    """A word, the characters of its token, and its head (None: the root)."""

    columns: list[str]
    start: int
    stop: int
    multiword: bool
    head: _Word | None = None


def universal(relation: str) -> str:
    """Return a relation without its subtype.

    >>> universal("nsubj:pass")
    'nsubj'
    """
    return relation.partition(":")[0]


def score(gold: str, predicted: str) -> dict[str, float]:
    """Return the F1 of every score, from 0 to 1.

    Raises:
        ValueError: if the texts do not have the same characters, or a head is missing.
    """
    ours, theirs = _words(gold), _words(predicted)
    texts = ["".join(_forms(read_sentences(text))) for text in (gold, predicted)]
    if texts[0] != texts[1]:
        raise ValueError("the two texts do not have the same characters")
    aligned = _aligned(ours, theirs)
    partner = {id(b): a for a, b in aligned}

    def f1(right: Callable[[_Word, _Word], bool], counts: Callable[[_Word], bool] = lambda _: True) -> float:
        found = sum(1 for a, b in aligned if counts(a) and counts(b) and right(a, b))
        words = sum(map(counts, ours)) + sum(map(counts, theirs))
        return 2 * found / words if words else 0.0

    def same_head(a: _Word, b: _Word) -> bool:
        return a.head is b.head if a.head is None or b.head is None else partner.get(id(b.head)) is a.head

    def same_arc(a: _Word, b: _Word) -> bool:
        return same_head(a, b) and universal(a.columns[7]) == universal(b.columns[7])

    return {
        "Words": f1(lambda a, b: True),
        "UPOS": f1(lambda a, b: a.columns[3] == b.columns[3]),
        "XPOS": f1(lambda a, b: a.columns[4] == b.columns[4]),
        "UFeats": f1(lambda a, b: _features(a.columns[5]) == _features(b.columns[5])),
        "UAS": f1(same_head),
        "LAS": f1(same_arc),
        "CLAS": f1(same_arc, lambda word: universal(word.columns[7]) in CONTENT),
    }


def _features(text: str) -> list[str]:
    return sorted(feature for feature in text.split("|") if feature.partition("=")[0] in FEATURES)


def _forms(sentences: Iterator[Sentence]) -> Iterator[str]:
    for sentence in sentences:
        for form, _ in _tokens(sentence):
            yield "".join(form.split())


def _tokens(sentence: Sentence) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield every token with its words: several for a range, one otherwise; empty nodes are none."""
    rows = [line.rstrip("\r\n").split("\t") for line in sentence.raw if line.strip() and line[0] != "#"]
    words = {row[0]: row for row in rows if row[0].isdecimal()}
    covered = 0
    for row in rows:
        first, _, last = row[0].partition("-")
        if last:
            covered = int(last)
            yield row[1], [words[str(number)] for number in range(int(first), covered + 1)]
        elif row[0].isdecimal() and int(row[0]) > covered:
            yield row[1], [row]


def _words(text: str) -> list[_Word]:
    found: list[_Word] = []
    place = 0
    for sentence in read_sentences(text):
        here: list[_Word] = []
        for form, rows in _tokens(sentence):
            stop = place + len("".join(form.split()))
            here += [_Word(row, place, stop, len(rows) > 1) for row in rows]
            place = stop
        for word in here:
            head = int(word.columns[6])
            word.head = here[head - 1] if head else None
        found += here
    return found


def _aligned(ours: Sequence[_Word], theirs: Sequence[_Word]) -> list[tuple[_Word, _Word]]:
    """Return pairs of words that cover the same characters."""
    pairs = []
    i = j = 0
    while i < len(ours) and j < len(theirs):
        a, b = ours[i], theirs[j]
        if a.multiword or b.multiword:
            # a plain word that begins before the token of the other side is not part of it
            i += b.multiword and not a.multiword and a.start < b.start
            j += a.multiword and not b.multiword and b.start < a.start
            first, second = _region(ours, theirs, i, j, a.stop if a.multiword else b.stop)
            pairs += _common(ours[i:first], theirs[j:second])
            i, j = first, second
        elif (a.start, a.stop) == (b.start, b.stop):
            pairs.append((a, b))
            i, j = i + 1, j + 1
        elif a.start <= b.start:
            i += 1
        else:
            j += 1
    return pairs


def _region(ours: Sequence[_Word], theirs: Sequence[_Word], i: int, j: int, stop: int) -> tuple[int, int]:
    """Return where the words end that belong to the characters up to ``stop``.

    Words are taken as they begin. A plain word belongs to them if it ends there, one of a multiword token if it begins there; and its
    token moves the end to its own.
    """

    def outside(words: Sequence[_Word], at: int) -> bool:
        if at == len(words):
            return True
        return words[at].start >= stop if words[at].multiword else words[at].stop > stop

    while not (outside(ours, i) and outside(theirs, j)):
        from_ours = j == len(theirs) or (i < len(ours) and ours[i].start <= theirs[j].start)
        word = ours[i] if from_ours else theirs[j]
        i, j = i + from_ours, j + (not from_ours)
        if word.multiword:
            stop = max(stop, word.stop)
    return i, j


def _common(ours: Sequence[_Word], theirs: Sequence[_Word]) -> list[tuple[_Word, _Word]]:
    """Return the longest common sequence of forms; earlier words first among equals."""
    table = [[0] * (len(theirs) + 1) for _ in range(len(ours) + 1)]
    for i in reversed(range(len(ours))):
        for j in reversed(range(len(theirs))):
            same = ours[i].columns[1].lower() == theirs[j].columns[1].lower()
            table[i][j] = 1 + table[i + 1][j + 1] if same else max(table[i + 1][j], table[i][j + 1])
    pairs, i, j = [], 0, 0
    while i < len(ours) and j < len(theirs):
        if ours[i].columns[1].lower() == theirs[j].columns[1].lower():
            pairs.append((ours[i], theirs[j]))
            i, j = i + 1, j + 1
        elif table[i + 1][j] >= table[i][j + 1]:
            i += 1
        else:
            j += 1
    return pairs
