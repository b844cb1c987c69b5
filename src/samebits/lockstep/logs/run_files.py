"""The files of a training run that every trained job writes: weights, the log of its steps, validations, a picture."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from samebits.data.artifact import ArtifactWriter
from samebits.lockstep.logs.loss_plot import Scale, draw_losses
from samebits.lockstep.parent.train import FitResult

__all__ = ["write_training"]


def write_training(out: ArtifactWriter, result: FitResult, *, scale: Scale = "linear") -> None:
    """Write ``model.safetensors``, ``steps.jsonl``, ``val.jsonl`` and ``loss.svg``."""
    from safetensors.numpy import save

    out.write_bytes("model.safetensors", save({name: value.copy() for name, value in result.params.items()}))
    out.write_bytes("steps.jsonl", _lines(_steps(result)))
    out.write_bytes(
        "val.jsonl", _lines({"step": step, **_exact("loss", x)} for step, x in result.validations)
    )
    out.write_bytes("loss.svg", draw_losses(result.losses.tolist(), result.validations, scale=scale).encode())


def _steps(result: FitResult) -> Iterable[dict[str, Any]]:
    """Yield one row per step; two machines find their first differing step by comparing two files."""
    columns = (result.losses, result.grad_norms, result.lrs, result.norms_crcs)
    for step, (loss, norm, lr, crc) in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        exact = {**_exact("loss", loss), **_exact("grad_norm", norm)}
        yield {"step": step, **exact, "lr": lr, "norms_crc": f"{crc:08x}"}


def _exact(name: str, value: float) -> dict[str, Any]:
    """A number for people and for programs, and the same with every bit to be seen."""
    return {name: value, f"{name}_hex": value.hex()}


def _lines(rows: Iterable[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()
