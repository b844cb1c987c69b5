"""Plain text as sentences of words, and predictions for them as CoNLL-U.

A simple tokeniser, the same for every language that puts spaces between words: a line is a paragraph; a word is letters, marks and
digits with what joins them (``don't`` stays whole, as do ``3.5`` and ``e-mail``), or a run of one punctuation mark. English clitics are
cut off where the training words have them. A sentence ends after ``. ! ?`` (with closing quotes and brackets) before a space and a
letter that is no small one, unless the point belongs to a single letter or a known abbreviation.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from samebits.graph.anchored import Anchored

__all__ = ["as_conllu", "sentences_of", "words_of"]

WORD = re.compile(r"[^\W_]+(?:[.,'’&@/:_-]+[^\W_]+)*|([^\w\s]|_)\1*")
CLITIC = re.compile(r"(?i)(.+?)(n['’]t|['’](?:s|re|ve|ll|d|m))$")
ABBREVIATIONS = frozenset(
    [
        "mr",
        "mrs",
        "ms",
        "dr",
        "prof",
        "st",
        "vs",
        "etc",
        "jr",
        "sr",
        "inc",
        "ltd",
        "co",
        "no",
        "e.g",
        "i.e",
        "u.s",
        "u.k",
        "a.m",
        "p.m",
    ]
)
ENDS, CLOSING = frozenset(".!?…"), frozenset("\"'”’)]»")


def words_of(line: str, known: Collection[str] = ()) -> list[tuple[str, bool]]:
    """Return the words of a line, each with whether a space follows.

    >>> [word for word, _ in words_of("I don't know, Dr. Who!", {"n't"})]
    ['I', 'do', "n't", 'know', ',', 'Dr.', 'Who', '!']
    """
    found: list[tuple[str, bool]] = []
    pieces = [(match.group(), match.start(), match.end()) for match in WORD.finditer(line)]
    skip = False
    for number, (word, _, end) in enumerate(pieces):
        if skip:
            skip = False
            continue
        after = pieces[number + 1][0] if number + 1 < len(pieces) and pieces[number + 1][1] == end else ""
        if after == "." and _is_short(word):
            word, end, skip = word + ".", end + 1, True
        space = end < len(line) and line[end].isspace()
        clitic = CLITIC.match(word)
        if clitic and clitic.group(2).lower().replace("’", "'") in known:
            found += [(clitic.group(1), False), (clitic.group(2), space)]
        else:
            found.append((word, space))
    return found


def _is_short(word: str) -> bool:
    return word.lower() in ABBREVIATIONS or (len(word) == 1 and word.isupper())


def sentences_of(line: str, known: Collection[str] = ()) -> Iterator[list[tuple[str, bool]]]:
    """Yield the sentences of a line.

    >>> [len(sentence) for sentence in sentences_of("Dr. Who left. He was late.")]
    [4, 4]
    """
    words = words_of(line, known)
    start, ended = 0, False
    for number, (word, space) in enumerate(words):
        ended = word[0] in ENDS or (ended and word[0] in CLOSING)
        following = words[number + 1][0] if number + 1 < len(words) else ""
        if ended and space and following and not following[0].islower():
            yield words[start : number + 1]
            start, ended = number + 1, False
    if words[start:]:
        yield words[start:]


def as_conllu(words: Sequence[tuple[str, bool]], graph: Anchored, tags: Sequence[Sequence[str]]) -> str:
    """Return a sentence with everything that was predicted, as CoNLL-U."""
    text = "".join(word + (" " if space else "") for word, space in words).strip()
    rows = [f"# text = {text}\n"]
    for i, (word, space) in enumerate(words):
        upos, xpos, feats = (names[i] for names in tags) if tags else ("_", "_", "_")
        head, arc = (graph.heads[i] + 1, graph.arcs[i]) if graph.at else ("_", "_")
        spacing = "_" if space or i + 1 == len(words) else "SpaceAfter=No"
        rows.append(f"{i + 1}\t{word}\t_\t{upos}\t{xpos}\t{feats}\t{head}\t{arc}\t_\t{spacing}\n")
    return "".join(rows) + "\n"
