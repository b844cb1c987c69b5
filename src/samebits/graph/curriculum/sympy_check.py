"""A second opinion on derivatives and integrals: sympy's rules, and numbers at 30 digits.

Every example of levels 5 and 6 passes both before it is written. The graph is turned into a sympy expression by itself,
not by way of ``forms``, so a mistake there cannot hide.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from samebits.errors import MissingExtra
from samebits.graph.anchored import Anchored
from samebits.graph.curriculum import forms
from samebits.graph.curriculum.checker import parents_last

__all__ = ["confirm", "sympy_version"]

POINTS = (Fraction(1, 3), Fraction(-2, 5), Fraction(3, 7), Fraction(5, 4), Fraction(-7, 6))
DIGITS = 30
WORKING_DIGITS = 80
STEP_DIGITS = 25  # central differences err by the square of the step: far below 30 digits of any value here


def sympy_version() -> str:
    """Return the version of sympy.

    Raises:
        MissingExtra: if it is not installed.
    """
    try:
        import sympy
    except ImportError:
        raise MissingExtra("sympy", extra="graph", needed_for="checking derivatives and integrals") from None
    return str(sympy.__version__)


def confirm(text: str, graph: Anchored, result: forms.Form) -> bool:
    """Return whether sympy and numbers agree that ``result`` is what a derive or integrate graph asks for."""
    import sympy

    values = _expressions(text, graph)
    root = graph.at[graph.heads.index(-1)]
    command = graph.labels[graph.at.index(root)]
    body, by = values[root]
    ours = _of_form(result, by)
    whole, part = (body, ours) if command == "derive" else (ours, body)
    if sympy.expand(sympy.diff(whole, by) - part) != 0:
        return False
    return _slopes_agree(whole, part, by)


def _slopes_agree(whole: Any, part: Any, by: Any) -> bool:
    """Compare central differences of ``whole`` with ``part`` at a few points."""
    import mpmath
    import sympy

    f, g = (sympy.lambdify(by, expression, "mpmath") for expression in (whole, part))
    with mpmath.workdps(WORKING_DIGITS):
        h = mpmath.mpf(10) ** -STEP_DIGITS
        for point in POINTS:
            x = mpmath.mpf(point.numerator) / point.denominator
            expected = mpmath.mpf(g(x))
            found = (mpmath.mpf(f(x + h)) - mpmath.mpf(f(x - h))) / (2 * h)
            if abs(found - expected) > mpmath.mpf(10) ** -DIGITS * (1 + abs(expected)):
                return False
    return True


def _expressions(text: str, graph: Anchored) -> dict[int, Any]:
    """Return the sympy expression of every node; of a command, its two arguments."""
    import sympy

    node_of = {position: i for i, position in enumerate(graph.at)}
    children = graph.children()
    values: dict[int, Any] = {}
    for position in parents_last(graph):
        label = graph.labels[node_of[position]]
        below = children.get(position, [])
        if label == "cont":
            continue
        if label == "int":
            values[position] = sympy.Integer(text[position : position + 1 + len(below)])
        elif label == "var":
            values[position] = sympy.Symbol(text[position])
        else:
            args = [values[node] for node in sorted(below, key=lambda node: graph.arcs[node_of[node]])]
            values[position] = _apply(label, args)
    return values


def _apply(label: str, args: list[Any]) -> Any:
    import sympy

    if label in ("derive", "integrate"):
        return tuple(args)
    if label in ("sin", "cos", "exp"):
        return getattr(sympy, label)(args[0])
    a, b = args
    return {"+": a + b, "-": a - b, "*": a * b}[label] if label != "^" else a**b


def _of_form(form: forms.Form, by: Any) -> Any:
    import sympy

    total = sympy.Integer(0)
    for (exponent, atoms), value in form.terms.items():
        term = sympy.Rational(value.numerator, value.denominator) * by**exponent
        for kind, slope, shift in atoms:
            argument = sympy.Rational(slope.numerator, slope.denominator) * by
            term *= getattr(sympy, kind)(argument + sympy.Rational(shift.numerator, shift.denominator))
        total += term
    return total
