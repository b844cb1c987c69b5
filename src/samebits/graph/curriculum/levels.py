"""Seven levels of mathematics in four styles: what a text-to-graph model is trained and judged on.

Level  expression                                              result
1      n op n                                                  rational
2      nested, depths in the shares that are asked for         rational
3      names defined first, then used: x = 2; x + 3            rational
4      with abs min max gcd lcm mod floor ceil factorial ^     rational
5      derivative of polynomials, products, sin cos exp        expression
6      integral of polynomials and single sin cos exp          expression
7      linear equations; quadratics with rational roots        solutions

Example ``i`` of a level draws from its own address (seed, level, i), so it is the same whoever makes it. What has no
value (division by zero, a domain error) is drawn again. All numbers are whole, half of them 0 to 9 and half 0 to 99.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from samebits.errors import ConfigError
from samebits.graph.curriculum.bits import Bits
from samebits.graph.curriculum.checker import Malformed, Result, check
from samebits.graph.curriculum.render import Rendered, render
from samebits.graph.curriculum.symbolic_terms import draw_derivative, draw_equation, draw_integral
from samebits.graph.curriculum.terms import OPERATORS, STYLES, Term, canonical, depth_of, number, variable

__all__ = ["DEPTHS", "LEVEL_ONE_SIZE", "Example", "draw_example", "split_of"]

DEPTHS = {1: ((1, 1),), 2: ((2, 20), (3, 40), (4, 40)), 3: ((2, 50), (3, 50)), 4: ((2, 50), (3, 50))}
LEVEL_ONE_SIZE = 39_900  # 100 x 100 operands and 4 operators without x / 0
LEAF_PERCENT = 25
MOST_CHARACTERS = 512
MOST_TRIES = 10_000
NAMES = "abcmnpqrstuvwxyz"
ARITHMETIC = ("+", "-", "*", "/")
FUNCTIONS = ("abs", "min", "max", "gcd", "lcm", "mod", "floor", "ceil", "factorial", "^")

Split = Literal["train", "valid", "test"]


@dataclass(frozen=True, slots=True)
class Example:
    """One text with its graph and exact result; ``key`` is its expression in Polish form."""

    key: str
    depth: int
    style: str
    rendered: Rendered
    result: Result
    bindings: tuple[tuple[str, int], ...]


def split_of(key: str) -> Split:
    """Return the split of an expression: 5 % test, 5 % valid, by digest, so all its renderings are on one side."""
    bucket = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big") % 1000
    return "test" if bucket < 50 else "valid" if bucket < 100 else "train"


def draw_example(seed: int, level: int, index: int, depths: tuple[tuple[int, int], ...]) -> Example:
    """Draw example ``index`` of a level.

    Args:
        seed: Root of the randomness.
        level: 1 to 7.
        index: Which example.
        depths: (depth, weight) pairs; levels 5 to 7 have shapes of their own and ignore it.

    Raises:
        ConfigError: if nothing usable comes up, e.g. for a depth whose texts are all too long.
    """
    bits = Bits(seed, "graph.curriculum", level, index)
    style = STYLES[bits.below(len(STYLES))]
    depth = depths[bits.weighted([weight for _, weight in depths])][0] if depths else 0
    for _ in range(MOST_TRIES):
        term, bindings = _draw(level, depth, bits)
        if depth and depth_of(term) != depth:
            continue
        rendered = render(term, style, bits, bindings=bindings)
        if len(rendered.text) > MOST_CHARACTERS:
            continue
        try:
            result = check(rendered.text, rendered.graph)
        except Malformed:
            continue
        return Example(canonical(term, bindings), depth_of(term), style, rendered, result, bindings)
    raise ConfigError(
        f"no expression of level {level} and depth {depth} in {MOST_TRIES} draws",
        hint=f"texts are at most {MOST_CHARACTERS} characters long: use smaller depths",
    )


def _draw(level: int, depth: int, bits: Bits) -> tuple[Term, tuple[tuple[str, int], ...]]:
    if level <= 2:
        return _nested(bits, depth, ARITHMETIC), ()
    if level == 3:
        return _with_names(bits, _nested(bits, depth, ARITHMETIC))
    if level == 4:
        return _nested(bits, depth, (*ARITHMETIC, *FUNCTIONS)), ()
    return (draw_derivative, draw_integral, draw_equation)[level - 5](bits), ()


def _number(bits: Bits) -> Term:
    return number(bits.below(100 if bits.percent(50) else 10))


def _nested(bits: Bits, depth: int, operators: tuple[str, ...], *, top: bool = True) -> Term:
    """Draw a tree of at most this depth; below the top, a branch ends early in one of four cases."""
    if depth == 0 or (not top and bits.percent(LEAF_PERCENT)):
        return _number(bits)
    label = _operator(bits, operators)
    arity = OPERATORS[label].arity
    args = tuple(_nested(bits, depth - 1, operators, top=False) for _ in range(arity))
    if label == "^":  # an exponent drawn like any number would nearly always be too large
        args = (args[0], number(bits.below(6)))
    return Term(label, args)


def _operator(bits: Bits, operators: tuple[str, ...]) -> str:
    """Draw an operator; where there are functions, they are half of the draws."""
    if len(operators) > len(ARITHMETIC) and bits.percent(50):
        return bits.choice(operators[len(ARITHMETIC) :])
    return bits.choice(operators[: len(ARITHMETIC)])


def _with_names(bits: Bits, term: Term) -> tuple[Term, tuple[tuple[str, int], ...]]:
    """Define one to three names and put each in the place of at least one number."""
    num_leaves = _count_leaves(term)
    wanted = min(1 + bits.below(3), num_leaves)
    letters = list(NAMES)
    names = [letters.pop(bits.below(len(letters))) for _ in range(wanted)]
    places = list(range(num_leaves))
    named: dict[int, str] = {places.pop(bits.below(len(places))): name for name in names}
    for place in places:
        if bits.percent(LEAF_PERCENT):
            named[place] = bits.choice(names)
    bindings = tuple((name, bits.below(100 if bits.percent(50) else 10)) for name in names)
    return _replaced(term, named, iter(range(num_leaves))), bindings


def _count_leaves(term: Term) -> int:
    return sum(map(_count_leaves, term.args)) if term.args else 1


def _replaced(term: Term, named: dict[int, str], places: Iterator[int]) -> Term:
    """Return the term with its leaves, numbered from the left, replaced by names."""
    if not term.args:
        place = next(places)
        return variable(named[place]) if place in named else term
    return Term(term.label, tuple(_replaced(argument, named, places) for argument in term.args))
