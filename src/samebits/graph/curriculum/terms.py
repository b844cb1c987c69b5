"""Expressions as trees, and what each operator looks like in the four styles of the curriculum.

A ``Term`` is an operator with arguments, a number or a variable. ``OPERATORS`` is the one table that rendering, generation
and checking share: an operator's label is the label of its node in the graph.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["OPERATORS", "STYLES", "Operator", "Term", "canonical", "depth_of", "number", "variable"]

STYLES = ("infix", "tight", "polish", "english")


@dataclass(frozen=True, slots=True)
class Term:
    """``label`` is an operator, ``int`` (digits in ``name``) or ``var`` (its letter in ``name``)."""

    label: str
    args: tuple[Term, ...] = ()
    name: str = ""


@dataclass(frozen=True, slots=True)
class Operator:
    """How an operator is written.

    Attributes:
        arity: Number of arguments, 1 or 2.
        level: Precedence between arguments (``=`` 0, ``+`` 1, ``*`` 2, ``^`` 3); None for ``name(a, b)``.
        words: English before the first and between the arguments.
        swapped: English that names the second argument first, or empty.
    """

    arity: int
    level: int | None
    words: tuple[str, str]
    swapped: tuple[str, str] | None = None


OPERATORS = {
    "+": Operator(2, 1, ("the sum of ", " and "), ("add ", " to ")),
    "-": Operator(2, 1, ("the difference of ", " and "), ("subtract ", " from ")),
    "*": Operator(2, 2, ("the product of ", " and ")),
    "/": Operator(2, 2, ("the quotient of ", " and ")),
    "^": Operator(2, 3, ("the power of ", " to ")),
    "=": Operator(2, 0, ("the equation of ", " and ")),
    "abs": Operator(1, None, ("the absolute value of ", "")),
    "min": Operator(2, None, ("the minimum of ", " and ")),
    "max": Operator(2, None, ("the maximum of ", " and ")),
    "gcd": Operator(2, None, ("the greatest common divisor of ", " and ")),
    "lcm": Operator(2, None, ("the least common multiple of ", " and ")),
    "mod": Operator(2, None, ("the remainder of ", " by ")),
    "floor": Operator(1, None, ("the floor of ", "")),
    "ceil": Operator(1, None, ("the ceiling of ", "")),
    "factorial": Operator(1, None, ("the factorial of ", "")),
    "sin": Operator(1, None, ("the sine of ", "")),
    "cos": Operator(1, None, ("the cosine of ", "")),
    "exp": Operator(1, None, ("the exponential of ", "")),
    "derive": Operator(2, None, ("the derivative of ", " with respect to ")),
    "integrate": Operator(2, None, ("the integral of ", " with respect to ")),
    "solve": Operator(2, None, ("the solution of ", " for ")),
}


def number(value: int) -> Term:
    """Return a number; only 0 and above are written in the curriculum."""
    return Term("int", name=str(value))


def variable(name: str) -> Term:
    """Return a variable."""
    return Term("var", name=name)


def depth_of(term: Term) -> int:
    """Return the number of operators on the longest way down.

    >>> depth_of(Term("+", (number(1), Term("*", (number(2), number(3))))))
    2
    """
    return 1 + max(map(depth_of, term.args)) if term.args else 0


def canonical(term: Term, bindings: tuple[tuple[str, int], ...] = ()) -> str:
    """Return the Polish form, which is one for all renderings; its digest decides the split.

    >>> canonical(Term("-", (variable("x"), number(31))), (("x", 2),))
    'x = 2; (- x 31)'
    """
    given = "".join(f"{name} = {value}; " for name, value in bindings)
    return given + _polish(term)


def _polish(term: Term) -> str:
    if not term.args:
        return term.name
    return f"({term.label} {' '.join(map(_polish, term.args))})"
