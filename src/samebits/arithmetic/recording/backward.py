"""Where gradients are kept on the way back, for the tokens of one chunk.

Values that are used in the segment that makes them have places which the values of other segments use at other times. Those that
cross into another segment follow one another like links of a chain, so two buffers take turns. A sum hands its gradient on as it
is: both of its terms refer to the same place, and the next operation that adds to it writes elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from samebits.arithmetic.recording.ops import PANEL, Arena, Buffer, Op, Value, round_up

__all__ = ["plan_gradients"]


@dataclass(slots=True)
class _Plan:
    arena: Arena
    tokens: int
    crossing: set[int]
    known: dict[int, Buffer] = field(default_factory=dict)  # by the identity of a value
    own: dict[int, Buffer] = field(default_factory=dict)
    turns: list[Buffer] = field(default_factory=list)
    num_crossing: int = 0
    segment_start: int = 0
    used: dict[int, int] = field(default_factory=dict)  # segment -> floats in use behind segment_start

    def place(self, value: Value) -> Buffer:
        """Return the value's own place, made on the first call."""
        key = id(value)
        if key not in self.own:
            if key in self.crossing:
                self.own[key] = self.turns[self.num_crossing % 2]
                self.num_crossing += 1
            else:
                at, size = self.used.get(value.made_in, 0), self.tokens * value.rows
                self.own[key] = self.arena.take_at(self.segment_start + at, size)
                self.used[value.made_in] = at + round_up(size, 16)
        return self.own[key]

    def write(self, op: Op, value: Value, name: str) -> None:
        """Let an operation write the gradient of one of its inputs, adding what is known of it already."""
        before = self.known.get(id(value))
        found = self.place(value)
        op.places[f"{name}_grad"] = found
        if before is not None:
            assert (op.kind, name) in (("norm", "x"), ("product", "x")), f"{op.kind} cannot add to a gradient"
            op.places["around"] = before
        self.known[id(value)] = found


def plan_gradients(ops: Sequence[Op], arena: Arena, tokens: int) -> None:
    """Write the places of all gradients, of chunks of so many tokens, into the operations."""
    crossing = _crossing(ops)
    plan = _Plan(arena, tokens, crossing)
    widest = max(value.rows for op in ops for value in (op.x, op.out) if value and id(value) in crossing)
    plan.turns = [arena.take(tokens * widest) for _ in range(2)]
    flipped = [op for op in ops if op.kind == "product" and op.x and op.out and op.x.rows > op.out.rows]
    spare = arena.take(max((op.x.rows * op.out.rows for op in flipped if op.x and op.out), default=0))
    for op in flipped:
        op.places["flipped"] = spare
    for op in ops:
        if op.kind == "norm" and op.weight and op.x is not None:
            op.places["flipped"] = arena.take(PANEL * op.x.rows)
    plan.segment_start = arena.size
    for op in reversed(ops):
        _back(op, plan)


def _crossing(ops: Sequence[Op]) -> set[int]:
    found = set()
    for op in ops:
        for value in (op.x, op.other):
            if value is not None and (value.made_in != op.segment or op.kind == "loss"):
                found.add(id(value))
    return found


def _back(op: Op, plan: _Plan) -> None:
    if op.kind == "heads":  # in place
        assert op.x is not None
        op.places["x_grad"] = plan.known[id(op.x)]
        return
    if op.kind != "loss":
        op.places["out_grad"] = place = plan.known[id(op.out)]
        if op.kind in ("product", "drop", "ngram") and op.other is not None:
            assert id(op.other) not in plan.known, "a term of a sum has a gradient already"
            plan.known[id(op.other)] = place
    if op.kind == "product" and op.x is not None and op.x.slope is not None:
        op.places["x_slope"] = op.x.slope
    if op.x is not None:
        plan.write(op, op.x, "x")
    if op.kind == "gate" and op.other is not None:
        plan.write(op, op.other, "other")
