"""Expressions with a variable: what levels 5 to 7 of the curriculum differentiate, integrate and solve."""

from __future__ import annotations

from collections.abc import Sequence

from samebits.graph.curriculum.bits import Bits
from samebits.graph.curriculum.terms import Term, number, variable

__all__ = ["draw_derivative", "draw_equation", "draw_integral"]

VARIABLES = "xyzt"
WAVES = ("sin", "cos", "exp")
MOST_TERMS = 3


def draw_derivative(bits: Bits) -> Term:
    """Draw the derivative of a sum of powers up to 5, waves, and products of two of them."""
    name = bits.choice(VARIABLES)
    terms = []
    for _ in range(1 + bits.below(MOST_TERMS)):
        kind = bits.below(3)
        if kind == 0:
            terms.append(_power(bits, name, 5))
        elif kind == 1:
            terms.append(_scaled(bits, _wave(bits, name)))
        else:
            factors = [_wave(bits, name), _sum_of(bits, name)]
            terms.append(Term("*", tuple(factors if bits.percent(50) else factors[::-1])))
    return Term("derive", (_joined(bits, terms), variable(name)))


def draw_integral(bits: Bits) -> Term:
    """Draw the integral of a sum of powers up to 4 and single waves."""
    name = bits.choice(VARIABLES)
    terms = [
        _power(bits, name, 4) if bits.percent(60) else _scaled(bits, _wave(bits, name))
        for _ in range(1 + bits.below(MOST_TERMS))
    ]
    return Term("integrate", (_joined(bits, terms), variable(name)))


def draw_equation(bits: Bits) -> Term:
    """Draw ``a*x + b = c*x + d`` with a != c, or a quadratic made from two rational roots."""
    name = bits.choice(VARIABLES)
    if bits.percent(50):
        a = 1 + bits.below(20)
        c = bits.below(20)
        c += c >= a  # every other slope is equally likely
        left = _polynomial(name, (bits.below(41) - 20, a))
        right = _polynomial(name, (bits.below(41) - 20, c))
    else:
        p, r = 1 + bits.below(4), 1 + bits.below(4)
        q, s = bits.below(19) - 9, bits.below(19) - 9
        left = _polynomial(name, (q * s, -(p * s + q * r), p * r))
        right = number(0)
    return Term("solve", (Term("=", (left, right)), variable(name)))


def _joined(bits: Bits, terms: Sequence[Term]) -> Term:
    total = terms[0]
    for term in terms[1:]:
        total = Term(bits.choice("+-"), (total, term))
    return total


def _scaled(bits: Bits, term: Term) -> Term:
    factor = 1 + bits.below(9)
    return term if factor == 1 else Term("*", (number(factor), term))


def _power(bits: Bits, name: str, most: int) -> Term:
    exponent = bits.below(most + 1)
    return _monomial(1 + bits.below(9), name, exponent)


def _monomial(factor: int, name: str, exponent: int) -> Term:
    if exponent == 0:
        return number(factor)
    base = variable(name) if exponent == 1 else Term("^", (variable(name), number(exponent)))
    return base if factor == 1 else Term("*", (number(factor), base))


def _wave(bits: Bits, name: str) -> Term:
    argument = _monomial(1 + bits.below(9), name, 1)
    shift = bits.below(10)
    if shift:
        argument = Term(bits.choice("+-"), (argument, number(shift)))
    return Term(bits.choice(WAVES), (argument,))


def _sum_of(bits: Bits, name: str) -> Term:
    """Draw the other factor of a product: a power, or a sum of a power and a number."""
    power = _monomial(1 + bits.below(9), name, 1 + bits.below(3))
    return power if bits.percent(50) else Term(bits.choice("+-"), (power, number(1 + bits.below(9))))


def _polynomial(name: str, coefficients: Sequence[int]) -> Term:
    """Write a polynomial, highest power first, without terms that are 0; the first coefficient is above 0."""
    total: Term | None = None
    for exponent in range(len(coefficients) - 1, -1, -1):
        factor = coefficients[exponent]
        if not factor:
            continue
        term = _monomial(abs(factor), name, exponent)
        if total is None:
            total = term if factor > 0 else Term("-", (number(0), term))
        else:
            total = Term("+" if factor > 0 else "-", (total, term))
    return total or number(0)
