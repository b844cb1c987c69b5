"""A small exact algebra of one variable: what derivatives, integrals and equations of the curriculum need.

A ``Form`` is a sum of terms, each a rational coefficient times a power of the variable times sines, cosines and
exponentials of ``a*x + b``. It has one way to be written, so two equal results are equal texts. Everything is a
``Fraction``; sympy is used to check these rules, never to make a result, so no result depends on its version.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

__all__ = [
    "Form",
    "Malformed",
    "add",
    "constant",
    "derive",
    "integrate",
    "multiply",
    "power",
    "solve",
    "wave",
    "x_of",
]

MOST_SIZE = 10**12  # a larger numerator or denominator is refused: no line of an example is unreadable
MOST_POWER = 5

Atom = tuple[str, Fraction, Fraction]  # (sin, a, b) is sin(a*x + b)
Key = tuple[int, tuple[Atom, ...]]  # power of the variable, factors in order
ONE: Key = (0, ())


class Malformed(Exception):
    """A graph that stands for no value; the text says why."""


@dataclass(frozen=True, slots=True)
class Form:
    """A sum of terms; ``name`` is its variable, empty for a constant."""

    terms: dict[Key, Fraction]
    name: str = ""

    @property
    def number(self) -> Fraction:
        """The value of a constant."""
        if self.name:
            raise Malformed(f"{self.name} has no value")
        return self.terms.get(ONE, Fraction(0))

    def __str__(self) -> str:
        order = sorted(self.terms, key=lambda key: (-key[0], key[1]))
        if not order:
            return "0"
        text = ""
        for key in order:
            coefficient = self.terms[key]
            sign = "-" if coefficient < 0 else "+"
            text += f" {sign} " if text else "-" * (coefficient < 0)
            text += _term_text(abs(coefficient), key, self.name)
        return text


def _term_text(coefficient: Fraction, key: Key, name: str) -> str:
    exponent, atoms = key
    factors = [str(coefficient)] if coefficient != 1 or key == ONE else []
    if exponent:
        factors.append(name if exponent == 1 else f"{name}^{exponent}")
    factors += [f"{kind}({Form({(1, ()): a, ONE: b} if b else {(1, ()): a}, name)})" for kind, a, b in atoms]
    return "*".join(factors)


def _form(terms: dict[Key, Fraction], name: str) -> Form:
    kept = {key: value for key, value in terms.items() if value}
    for value in kept.values():
        if abs(value.numerator) > MOST_SIZE or value.denominator > MOST_SIZE:
            raise Malformed(f"a number larger than {MOST_SIZE}")
    return Form(kept, name if any(key != ONE for key in kept) else "")


def _name(a: Form, b: Form) -> str:
    if a.name and b.name and a.name != b.name:
        raise Malformed(f"two variables, {a.name} and {b.name}")
    return a.name or b.name


def constant(value: Fraction) -> Form:
    """Return a number as a form."""
    return _form({ONE: value}, "")


def x_of(name: str) -> Form:
    """Return the variable itself."""
    return Form({(1, ()): Fraction(1)}, name)


def add(a: Form, b: Form, *, sign: int = 1) -> Form:
    """Return a + b, or a - b with ``sign`` -1."""
    terms = dict(a.terms)
    for key, value in b.terms.items():
        terms[key] = terms.get(key, Fraction(0)) + sign * value
    return _form(terms, _name(a, b))


def multiply(a: Form, b: Form) -> Form:
    """Return a * b, multiplied out."""
    name = _name(a, b)
    terms: dict[Key, Fraction] = {}
    for (p, atoms), value in a.terms.items():
        for (q, others), factor in b.terms.items():
            key = (p + q, tuple(sorted(atoms + others)))
            terms[key] = terms.get(key, Fraction(0)) + value * factor
    return _form(terms, name)


def power(a: Form, exponent: Fraction) -> Form:
    """Return a ** exponent for exponents 0 to 5.

    Raises:
        Malformed: for any other exponent.
    """
    if exponent.denominator != 1 or not 0 <= exponent <= MOST_POWER:
        raise Malformed(f"exponent {exponent} is not one of 0 to {MOST_POWER}")
    result = constant(Fraction(1))
    for _ in range(int(exponent)):
        result = multiply(result, a)
    return result


def _linear(a: Form, what: str) -> tuple[Fraction, Fraction]:
    if not a.name or any(atoms or p > 1 for p, atoms in a.terms):
        raise Malformed(f"{what} of something that is not a*x + b")
    return a.terms[1, ()], a.terms.get(ONE, Fraction(0))


def wave(kind: str, a: Form) -> Form:
    """Return sin, cos or exp of ``a*x + b``."""
    slope, shift = _linear(a, kind)
    return Form({(0, ((kind, slope, shift),)): Fraction(1)}, a.name)


def derive(a: Form, name: str) -> Form:
    """Return the derivative: power rule, product rule, chain rule for a*x + b."""
    if a.name and a.name != name:
        raise Malformed(f"derivative by {name} of a form in {a.name}")
    terms: dict[Key, Fraction] = {}

    def put(key: Key, value: Fraction) -> None:
        terms[key] = terms.get(key, Fraction(0)) + value

    for (p, atoms), value in a.terms.items():
        if p:
            put((p - 1, atoms), value * p)
        for i, (kind, slope, shift) in enumerate(atoms):
            after = {"sin": "cos", "cos": "sin", "exp": "exp"}[kind]
            sign = -1 if kind == "cos" else 1
            rest = (*atoms[:i], (after, slope, shift), *atoms[i + 1 :])
            put((p, tuple(sorted(rest))), value * slope * sign)
    return _form(terms, name)


def integrate(a: Form, name: str) -> Form:
    """Return the integral with constant 0, for sums of powers and single waves.

    Raises:
        Malformed: for products, which these rules do not cover.
    """
    if a.name and a.name != name:
        raise Malformed(f"integral by {name} of a form in {a.name}")
    terms: dict[Key, Fraction] = {}
    for (p, atoms), value in a.terms.items():
        if not atoms:
            terms[p + 1, ()] = value / (p + 1)
        elif p == 0 and len(atoms) == 1:
            kind, slope, shift = atoms[0]
            after = {"sin": "cos", "cos": "sin", "exp": "exp"}[kind]
            terms[0, ((after, slope, shift),)] = value / slope * (-1 if kind == "sin" else 1)
        else:
            raise Malformed("the integral of a product is not in the curriculum")
    return _form(terms, name)


def solve(difference: Form, name: str) -> tuple[Fraction, ...]:
    """Return the rational roots of a linear or quadratic form, ascending.

    Raises:
        Malformed: if it is of another kind, or its roots are not rational.
    """
    if difference.name != name or any(atoms or p > 2 for p, atoms in difference.terms):
        raise Malformed(f"not a linear or quadratic equation in {name}")
    a, b, c = (difference.terms.get((p, ()), Fraction(0)) for p in (2, 1, 0))
    if not a:
        return (-c / b,)
    square = b * b - 4 * a * c
    if square < 0:
        raise Malformed("the equation has no real solution")
    top, bottom = isqrt(square.numerator), isqrt(square.denominator)
    if top * top != square.numerator or bottom * bottom != square.denominator:
        raise Malformed("the solutions are not rational")
    root = Fraction(top, bottom)
    return tuple(sorted({(-b - root) / (2 * a), (-b + root) / (2 * a)}))
