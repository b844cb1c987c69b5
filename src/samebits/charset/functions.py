"""What ``from samebits import charset`` offers as plain functions."""

from __future__ import annotations

from samebits.charset.detection.detect import Detection, detect_with
from samebits.charset.detection.model import CharsetModel, default_model

__all__ = ["detect"]


def detect(data: bytes, model: CharsetModel | None = None, *, top: int = 5) -> Detection:
    """Find the encoding of some bytes.

    Args:
        data: The bytes; the first 16 KiB are scored, all of them must decode.
        model: A trained model; without one, the package's own.
        top: How many candidates to give.
    """
    return detect_with(default_model() if model is None else model, data, top=top)
