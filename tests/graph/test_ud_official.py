"""Scores of CoNLL-U texts against the task's own scorer (udtools on PyPI): random texts, cut and joined in every way."""

from __future__ import annotations

import io
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from samebits.core.seeds import rng_for
from samebits.graph.evaluation.ud_scores import SCORES, score

FEATURES = ("_", "Case=Nom", "Case=Nom|Style=Slng", "Number=Sing|Typo=Yes", "Number=Sing")
RELATIONS = ("nsubj", "nsubj:pass", "det", "punct", "obl:tmod", "dep")


def official(gold: str, predicted: str) -> dict[str, float]:
    """What the task's own script says."""
    udeval: Any = pytest.importorskip(
        "udtools.udeval", reason="udtools is not installed: pip install udtools"
    )
    sides = [udeval.load_conllu(io.StringIO(text), "text", {}) for text in (gold, predicted)]
    found = udeval.evaluate(*sides)
    return {name: found[name].f1 for name in SCORES}


def spelled(tokens: list[list[str]]) -> str:
    """A sentence of tokens, each the form and, if it has several, its words; the first word is the root of all others."""
    rows, number = [], 0
    for form, *words in tokens:
        if words:
            rows.append(f"{number + 1}-{number + len(words)}\t{form}" + "\t_" * 8)
        for word in words or [form]:
            number += 1
            rows.append(
                f"{number}\t{word}\t_\t_\t_\t_\t{int(number > 1)}\t{'dep' if number > 1 else 'root'}\t_\t_"
            )
    return "\n".join([*rows, "", ""])


@pytest.mark.parametrize(
    ("gold", "predicted", "right"),
    [  # the examples in the task's own script: tokens by blanks, words of a token after a colon
        ("a", "a", 1),
        ("a b c", "a b c", 3),
        ("abc:a,b,c", "a b c", 3),
        ("a bc:b,c d", "a b c d", 4),
        ("abcd:a,b,c,d", "ab:a,b cd:c,d", 4),
        ("abc:a,b,c de:d,e", "a bcd:b,c,d e", 5),
        ("abcd", "a b c d", 0),
        ("abc d", "a b c d", 1),
        ("a bc d", "a b c d", 2),
        ("a bc:b,c d", "a b cd", 2),
        ("abc:a,BX,c def:d,EX,f", "ab:a,b cd:c,d ef:e,f", 4),
        ("ab:a,b cd:bc,d", "a bc d", 2),
        ("a bc:b,c d", "ab:AX,BX cd:CX,a", 1),
    ],
)
def test_words_are_aligned_as_in_the_examples_of_the_task(gold: str, predicted: str, right: int) -> None:
    sides = [
        [
            [form, *filter(None, words.split(","))]
            for form, _, words in (token.partition(":") for token in text.split())
        ]
        for text in (gold, predicted)
    ]
    words = sum(max(1, len(token) - 1) for side in sides for token in side)
    assert score(*map(spelled, sides))["Words"] == 2 * right / words


class Texts:
    """Random CoNLL-U texts over the same characters."""

    def __init__(self, number: int) -> None:
        self.rng = rng_for(number, "ud_official")
        self.characters = [chr(97 + int(self.rng.integers(3))) for _ in range(int(self.rng.integers(3, 30)))]

    def one_of(self, names: Any) -> Any:
        return names[int(self.rng.integers(len(names)))]

    def cut(self, start: int, stop: int, most: int) -> list[tuple[int, int]]:
        places = [start]
        while places[-1] < stop:
            places.append(min(stop, places[-1] + int(self.rng.integers(1, most + 1))))
        return list(pairwise(places))

    def text(self) -> str:
        """Sentences of tokens, some of several words whose forms need not be spelled like the token; an empty node here and there."""
        return "".join(self.sentence(*span) for span in self.cut(0, len(self.characters), 20))

    def sentence(self, start: int, stop: int) -> str:
        rows: list[tuple[str, str]] = []
        number = 0
        for first, last in self.cut(start, stop, 4):
            form = "".join(self.characters[first:last])
            if self.rng.integers(3):
                number += 1
                rows.append((str(number), form))
                continue
            words = int(self.rng.integers(2, 4))
            rows.append((f"{number + 1}-{number + words}", form))
            for _ in range(words):
                number += 1
                rows.append((str(number), self.one_of(("a", "b", "c", "AB", "ab", "bc"))))
        if not self.rng.integers(4):
            rows.append((f"{number}.1", "elided"))
        return (
            "# a comment\n"
            + "".join(self.row(*row, heads) for heads in [self.heads(number)] for row in rows)
            + "\n"
        )

    def heads(self, n: int) -> list[int]:
        """A tree, often with crossing arcs: every word below one that is in it already."""
        order = self.rng.permutation(n)
        heads = np.zeros(n, np.int64)
        for place in range(1, n):
            heads[order[place]] = order[int(self.rng.integers(place))] + 1
        return [int(head) for head in heads]

    def row(self, number: str, form: str, heads: list[int]) -> str:
        if not number.isdecimal():
            return f"{number}\t{form}\t_\t_\t_\t_\t_\t_\t{'1:dep' if '.' in number else '_'}\t_\n"
        head = heads[int(number) - 1]
        relation = self.one_of(RELATIONS) if head else "root"
        return f"{number}\t{form}\t_\t{self.one_of('NV')}\t{self.one_of('XY')}\t{self.one_of(FEATURES)}\t{head}\t{relation}\t_\t_\n"


def test_random_texts_have_the_scores_of_the_official_script() -> None:
    for number in range(400):
        texts = Texts(number)
        gold, predicted = texts.text(), texts.text()
        assert score(gold, predicted) == pytest.approx(official(gold, predicted), abs=1e-12), number
        assert score(gold, gold) == pytest.approx(official(gold, gold), abs=1e-12), number
