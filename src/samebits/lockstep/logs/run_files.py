"""The files of a training run that every trained job writes: weights, the log of its steps, validations, a picture."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from samebits.data.artifact import ArtifactWriter
from samebits.lockstep.logs.loss_plot import Scale, draw_losses
from samebits.lockstep.parent.train import FitResult

__all__ = ["step_rows", "validation_rows", "write_training"]


def write_training(out: ArtifactWriter, result: FitResult, *, scale: Scale = "linear") -> None:
    """Write ``model.safetensors``, ``steps.jsonl``, ``val.jsonl`` and ``loss.svg``."""
    from safetensors.numpy import save

    out.write_bytes("model.safetensors", save({name: value.copy() for name, value in result.params.items()}))
    columns = (result.losses, result.grad_norms, result.lrs, result.norms_crcs)
    out.write_bytes(
        "steps.jsonl", _lines(step_rows(zip(*(column.tolist() for column in columns), strict=True)))
    )
    out.write_bytes("val.jsonl", _lines(validation_rows(result.validations)))
    out.write_bytes("loss.svg", draw_losses(result.losses.tolist(), result.validations, scale=scale).encode())


def step_rows(steps: Iterable[tuple[float, float, float, int]]) -> Iterator[dict[str, Any]]:
    """Yield one row per step of (loss, gradient norm, learning rate, crc32 of the chunk norms), from step 0.

    Two machines find their first differing step by comparing two files.
    """
    for step, (loss, norm, lr, crc) in enumerate(steps):
        exact = {**_exact("loss", loss), **_exact("grad_norm", norm)}
        yield {"step": step, **exact, "lr": lr, "norms_crc": f"{crc:08x}"}


def validation_rows(validations: Iterable[tuple[int, float]]) -> Iterator[dict[str, Any]]:
    """Yield one row per validation of (steps done, loss)."""
    for step, loss in validations:
        yield {"step": step, **_exact("loss", loss)}


def _exact(name: str, value: float) -> dict[str, Any]:
    """A number for people and for programs, and the same with every bit to be seen."""
    return {name: value, f"{name}_hex": value.hex()}


def _lines(rows: Iterable[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()
