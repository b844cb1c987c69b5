"""Expressions as text, in four styles, with the graph that says which character is which node.

Every node lies on the first character of its piece of text. A number is an ``int`` node on its first digit and ``cont``
nodes on the others, so that a model which reads characters can say how far a number goes.
"""

from __future__ import annotations

from dataclasses import dataclass

from samebits.graph.anchored import ROOT, ROOT_ARC, Anchored
from samebits.graph.curriculum.bits import Bits
from samebits.graph.curriculum.terms import OPERATORS, Term

__all__ = ["Rendered", "render"]

REDUNDANT_PERCENT = 10  # parentheses that are not needed, so that the model cannot count on their absence
SWAPPED_PERCENT = 40  # English that names the second argument first
SIDES = ("L", "R")


@dataclass(frozen=True, slots=True)
class Rendered:
    """A text and its graph."""

    text: str
    graph: Anchored


class _Sheet:
    """Text under construction; ``node_at`` maps the position of a node to (label, head, arc)."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.length = 0
        self.node_at: dict[int, tuple[str, int, str]] = {}

    def say(self, text: str) -> int:
        """Append text that is no node; return where it starts."""
        start = self.length
        self.pieces.append(text)
        self.length += len(text)
        return start

    def node(self, text: str, label: str) -> int:
        """Append a piece whose first character is a node; it has no head yet."""
        start = self.say(text)
        self.node_at[start] = (label, ROOT, ROOT_ARC)
        return start

    def leaf(self, term: Term) -> int:
        """Append a number or a variable."""
        start = self.node(term.name, term.label)
        for position in range(start + 1, start + len(term.name)):
            self.node_at[position] = ("cont", start, "cont")
        return start

    def hang(self, position: int, head: int, arc: str) -> None:
        """Give a node its head."""
        self.node_at[position] = (self.node_at[position][0], head, arc)

    def finish(self) -> Rendered:
        """Return text and graph."""
        order = sorted(self.node_at)
        rows = [self.node_at[position] for position in order]
        labels, heads, arcs = zip(*rows, strict=True)
        return Rendered("".join(self.pieces), Anchored(tuple(order), labels, heads, arcs))


def render(term: Term, style: str, bits: Bits, *, bindings: tuple[tuple[str, int], ...] = ()) -> Rendered:
    """Write an expression in one of ``STYLES``; ``bits`` chooses among equal ways to write it."""
    sheet = _Sheet()
    writer = _Writer(sheet, style, bits)
    given = [writer.binding(name, value) for name, value in bindings]
    root = writer.write(term)
    for position in given:
        sheet.hang(position, root, "where")
    return sheet.finish()


class _Writer:
    """Writes terms onto a sheet; each ``write`` returns the position of the term's node."""

    def __init__(self, sheet: _Sheet, style: str, bits: Bits) -> None:
        self.sheet = sheet
        self.style = style
        self.bits = bits
        self.gap = "" if style == "tight" else " "

    def binding(self, name: str, value: int) -> int:
        """Write ``x = 2; `` or ``let x be 2, ``."""
        sheet, letter, digits = self.sheet, Term("var", name=name), Term("int", name=str(value))
        if self.style == "english":
            node = sheet.node("let ", "=")
            left = sheet.leaf(letter)
            sheet.say(" be ")
            right = sheet.leaf(digits)
            sheet.say(", ")
        else:
            left = sheet.leaf(letter)
            sheet.say(self.gap)
            node = sheet.node("=", "=")
            sheet.say(self.gap)
            right = sheet.leaf(digits)
            sheet.say(";" + self.gap)
        sheet.hang(left, node, "L")
        sheet.hang(right, node, "R")
        return node

    def write(self, term: Term) -> int:
        """Write any term."""
        if not term.args:
            return self.sheet.leaf(term)
        if self.style == "english":
            node, places = self.english(term)
        elif self.style == "polish":
            node, places = self.polish(term)
        elif OPERATORS[term.label].level is None:
            node, places = self.call(term)
        else:
            node, places = self.between(term)
        for place, side in zip(places, SIDES, strict=False):
            self.sheet.hang(place, node, side)
        return node

    def english(self, term: Term) -> tuple[int, list[int]]:
        operator = OPERATORS[term.label]
        words, order = operator.words, list(range(operator.arity))
        if operator.swapped and self.bits.percent(SWAPPED_PERCENT):
            words, order = operator.swapped, order[::-1]
        node = self.sheet.node(words[0], term.label)
        places = [0] * operator.arity
        for number, argument in enumerate(order):
            if number:
                self.sheet.say(words[1])
            places[argument] = self.write(term.args[argument])
        return node, places

    def polish(self, term: Term) -> tuple[int, list[int]]:
        self.sheet.say("(")
        node = self.sheet.node(term.label, term.label)
        places = []
        for argument in term.args:
            self.sheet.say(" ")
            places.append(self.write(argument))
        self.sheet.say(")")
        return node, places

    def call(self, term: Term) -> tuple[int, list[int]]:
        node = self.sheet.node(term.label, term.label)
        self.sheet.say("(")
        places = []
        for number, argument in enumerate(term.args):
            if number:
                self.sheet.say("," + self.gap)
            places.append(self.write(argument))
        self.sheet.say(")")
        return node, places

    def between(self, term: Term) -> tuple[int, list[int]]:
        left = self.wrapped(term, 0)
        self.sheet.say(self.gap)
        node = self.sheet.node(term.label, term.label)
        self.sheet.say(self.gap)
        return node, [left, self.wrapped(term, 1)]

    def wrapped(self, term: Term, side: int) -> int:
        """Write an argument of an operator, in parentheses where precedence needs them and sometimes where not."""
        argument = term.args[side]
        level = OPERATORS[argument.label].level if argument.args else None
        own = OPERATORS[term.label].level
        assert own is not None
        needs = level is not None and (level < own or (level == own and (side == 1 or own == 3)))
        if not needs and not (argument.args and self.bits.percent(REDUNDANT_PERCENT)):
            return self.write(argument)
        self.sheet.say("(")
        place = self.write(argument)
        self.sheet.say(")")
        return place
