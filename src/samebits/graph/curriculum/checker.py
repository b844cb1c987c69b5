"""The formal half of the math job: the exact value of a graph, or the reason why it has none.

The same function checks every generated example and judges every prediction, so a predicted graph is right when it has
the value of the expected one, and an ill-formed graph says so instead of being guessed at. No recursion: a predicted
graph may be deep.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from samebits.graph.anchored import ROOT, Anchored
from samebits.graph.curriculum import forms
from samebits.graph.curriculum.forms import Form, Malformed
from samebits.graph.curriculum.terms import OPERATORS

__all__ = ["Malformed", "Result", "bind_edges", "check", "parents_last"]

MOST_FACTORIAL = 12
COMMANDS = ("derive", "integrate", "solve")


@dataclass(frozen=True, slots=True)
class Result:
    """``kind`` is rational, expression or solutions; ``value`` its only spelling; ``form`` the expression itself."""

    kind: str
    value: str
    form: Form | None = field(default=None, compare=False, repr=False)


Equation = tuple[Form, Form]
Value = Form | Equation | Result


def check(text: str, graph: Anchored) -> Result:
    """Return the value of a graph over a text.

    Raises:
        Malformed: the graph is no expression, or has no value (division by zero, a domain error).
    """
    children = graph.children()
    if len(children.get(ROOT, [])) != 1:
        raise Malformed(f"{len(children.get(ROOT, []))} roots instead of one")
    root = children[ROOT][0]
    order = parents_last(graph)
    known = _bound(text, graph, children, root)
    values: dict[int, Value] = {}
    node_of = {position: i for i, position in enumerate(graph.at)}
    for position in order:
        i = node_of[position]
        if graph.labels[i] == "cont":
            continue
        arcs = {node: graph.arcs[node_of[node]] for node in children.get(position, [])}
        if position == root:
            arcs = {node: arc for node, arc in arcs.items() if arc != "where"}
        values[position] = _value(text, graph.labels[i], position, arcs, values, known)
    result = values.get(root)
    if isinstance(result, Result):
        return result
    if isinstance(result, Form):
        return Result("rational", str(result.number))
    raise Malformed("an equation that nobody solves")


def parents_last(graph: Anchored) -> list[int]:
    """Return positions so that each comes after its children.

    Raises:
        Malformed: if a node cannot be reached from a root: there is a cycle or a head that is no node.
    """
    children = graph.children()
    order: list[int] = []
    stack = list(children.get(ROOT, []))
    while stack:
        position = stack.pop()
        order.append(position)
        stack += children.get(position, [])
    if len(order) != len(graph.at):
        raise Malformed(f"{len(graph.at) - len(order)} nodes hang from no root")
    return order[::-1]


def bind_edges(text: str, graph: Anchored) -> list[tuple[int, int]]:
    """Return (use, definition) for every variable below the root that a ``where`` node defines, by name.

    They are computed, not learned: a node has one head, and the name says it all.
    """
    node_of = {position: i for i, position in enumerate(graph.at)}
    inside: dict[int, int] = {}  # variable on the left of a definition -> the definition
    for i, position in enumerate(graph.at):
        head = graph.heads[i]
        if head in node_of and graph.arcs[i] == "L" and graph.arcs[node_of[head]] == "where":
            inside[position] = head
    by_name = {text[position]: definition for position, definition in inside.items()}
    return [
        (position, by_name[text[position]])
        for position, label in zip(graph.at, graph.labels, strict=True)
        if label == "var" and position not in inside and text[position] in by_name
    ]


def _bound(text: str, graph: Anchored, children: dict[int, list[int]], root: int) -> dict[str, Form]:
    """Return the values of the names that ``where`` nodes below the root define."""
    node_of = {position: i for i, position in enumerate(graph.at)}
    known: dict[str, Form] = {}
    for position in children.get(root, []):
        if graph.arcs[node_of[position]] != "where":
            continue
        arcs = {graph.arcs[node_of[node]]: node for node in children.get(position, [])}
        if graph.labels[node_of[position]] != "=" or sorted(arcs) != ["L", "R"]:
            raise Malformed("a definition is not name = number")
        name, value = arcs["L"], arcs["R"]
        if graph.labels[node_of[name]] != "var" or graph.labels[node_of[value]] != "int":
            raise Malformed("a definition is not name = number")
        if text[name] in known:
            raise Malformed(f"{text[name]} is defined twice")
        conts = {node: graph.arcs[node_of[node]] for node in children.get(value, [])}
        known[text[name]] = _number(text, value, conts)
    return known


def _value(
    text: str,
    label: str,
    position: int,
    arcs: dict[int, str],
    values: dict[int, Value],
    known: dict[str, Form],
) -> Value:
    if label == "int":
        return _number(text, position, arcs)
    if label == "var":
        if arcs:
            raise Malformed("a variable has arguments")
        return known.get(text[position]) or forms.x_of(text[position])
    if label not in OPERATORS:
        raise Malformed(f"{label!r} is no operator")
    wanted = ["L", "R"][: OPERATORS[label].arity]
    if sorted(arcs.values()) != wanted:
        raise Malformed(f"{label} has the arguments {sorted(arcs.values())} instead of {wanted}")
    by_side = {arc: node for node, arc in arcs.items()}
    if not all(node in values for node in by_side.values()):
        raise Malformed(f"an argument of {label} is a digit without its number")
    arguments = [values[by_side[side]] for side in wanted]
    if label == "=":
        return (_form(arguments[0], label), _form(arguments[1], label))
    if label in COMMANDS:
        return _command(label, arguments[0], arguments[1])
    return _apply(label, [_form(argument, label) for argument in arguments])


def _form(value: Value, label: str) -> Form:
    if isinstance(value, Form):
        return value
    raise Malformed(f"an argument of {label} is no expression")


def _number(text: str, position: int, arcs: dict[int, str]) -> Form:
    run = sorted(arcs)
    digits = "".join(text[i] for i in (position, *run))
    if any(arc != "cont" for arc in arcs.values()) or run != list(
        range(position + 1, position + 1 + len(run))
    ):
        raise Malformed("the digits of a number do not follow one another")
    if not (digits.isascii() and digits.isdigit()):
        raise Malformed(f"{digits!r} is no number")
    return forms.constant(Fraction(int(digits)))


def _command(label: str, body: Value, by: Value) -> Result:
    if not isinstance(by, Form) or by != forms.x_of(by.name):
        raise Malformed(f"{label} by something that is no variable")
    if label == "solve":
        if not isinstance(body, tuple):
            raise Malformed("solve needs an equation")
        roots = forms.solve(forms.add(body[0], body[1], sign=-1), by.name)
        return Result("solutions", ", ".join(map(str, roots)))
    rule = forms.derive if label == "derive" else forms.integrate
    form = rule(_form(body, label), by.name)
    return Result("expression", str(form), form)


def _apply(label: str, arguments: list[Form]) -> Form:
    a, b = arguments[0], arguments[-1]
    if label in ("+", "-"):
        return forms.add(a, b, sign=1 if label == "+" else -1)
    if label == "*":
        return forms.multiply(a, b)
    if label == "^":
        return forms.power(a, b.number)
    if label in ("sin", "cos", "exp"):
        return forms.wave(label, a)
    if label == "/":
        if not b.number:
            raise Malformed("division by zero")
        return forms.multiply(a, forms.constant(1 / b.number))
    return forms.constant(NUMERIC[label](*[argument.number for argument in arguments]))


def _whole(value: Fraction) -> int:
    if value.denominator != 1:
        raise Malformed(f"{value} is not a whole number")
    return int(value)


def _mod(a: Fraction, b: Fraction) -> Fraction:
    if not b:
        raise Malformed("remainder by zero")
    return Fraction(_whole(a) % _whole(b))


def _factorial(a: Fraction) -> Fraction:
    if not 0 <= _whole(a) <= MOST_FACTORIAL:
        raise Malformed(f"factorial of {a} is not one of 0 to {MOST_FACTORIAL}")
    return Fraction(math.factorial(int(a)))


NUMERIC: dict[str, Callable[..., Fraction]] = {
    "abs": abs,
    "min": min,
    "max": max,
    "gcd": lambda a, b: Fraction(math.gcd(_whole(a), _whole(b))),
    "lcm": lambda a, b: Fraction(math.lcm(_whole(a), _whole(b))),
    "mod": _mod,
    "floor": lambda a: Fraction(math.floor(a)),
    "ceil": lambda a: Fraction(math.ceil(a)),
    "factorial": _factorial,
}
