"""Curves of a run that was stopped and went on: its log begins late, its own files hold every step."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np

from samebits.serve.live.thinned import Thinned
from samebits.serve.runs.follow import Follower

__all__ = ["read_history"]

MOST_BYTES = 1 << 32


class _Step(msgspec.Struct):
    """A line of ``steps.jsonl`` or ``val.jsonl``, as far as it is drawn; losses may be written exactly, in hexadecimal."""

    step: int
    loss: str | float
    lr: float = float("nan")


def read_history(output: Path) -> dict[str, Thinned]:
    """Return the curves of a finished run by name; empty when it kept none, or none that can be read."""
    found: dict[str, Thinned] = {}
    decoder = msgspec.json.Decoder(_Step)
    for name, key, shift in (("steps.jsonl", "loss", 1), ("val.jsonl", "val_loss", 0)):
        for piece in Follower(output / name).read(MOST_BYTES):
            try:
                steps = decoder.decode_lines(piece)
                losses = [float.fromhex(s.loss) if isinstance(s.loss, str) else s.loss for s in steps]
            except (msgspec.DecodeError, ValueError, OverflowError):
                return {}
            x = np.array([step.step + shift for step in steps], np.float64)
            found.setdefault(key, Thinned()).add(x, np.array(losses))
            if shift:
                found.setdefault("lr", Thinned()).add(x, np.array([step.lr for step in steps]))
    return found
