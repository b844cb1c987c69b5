"""From costs to confidence, calibrated on text that no model was trained on.

Byte pairs of one text are not independent, so a bit of cost is worth less than a bit of certainty: `TEMPER` is the worth that makes
answers given with confidence 0.9 right nine times in ten on held-out text (the guide shows the plot).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from samebits.charset.detection.readings import ByteReading

__all__ = ["shares", "utf8_confidence"]

TEMPER = 0.5
#: No answer from statistics alone is surer than this.
MOST = 0.99


def shares(readings: Sequence[ByteReading], num_bytes: int) -> list[float]:
    """Confidence of each reading, the cheapest first.

    >>> shares([ByteReading(10.0, ("cp1252",), "de"), ByteReading(90.0, ("cp1250",), "pl")], 40)
    [0.99, 0.0]
    """
    least = readings[0].cost
    weights = [2.0 ** (-TEMPER * (reading.cost - least)) for reading in readings]
    total = math.fsum(weights)
    return [round(min(MOST, weight / total), 6) for weight in weights]


def utf8_confidence(num_chars: int) -> float:
    """How sure valid UTF-8 is: every character beyond ASCII makes chance eight times less likely.

    >>> utf8_confidence(1), utf8_confidence(3)
    (0.875, 0.998047)
    """
    return round(1 - 0.125 ** min(num_chars, 6), 6)
