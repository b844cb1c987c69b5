"""What each edit costs, as exact numbers: integers or decimals, scaled to integers for the kernels. No float decides.

>>> Costs(node_sub="0.5").scaled().prices.tolist()
[5, 10, 10, 10, 10, 10]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from decimal import Decimal, InvalidOperation

import numpy as np
from numpy.typing import NDArray

from samebits.errors import ConfigError, did_you_mean

__all__ = ["Costs", "Number", "Scaled", "parse_costs"]

Number = int | Decimal
MOST_DIGITS = 9  # decimals of a cost
MOST_SCALED = 10**12  # doubled and added over 512 nodes and all edges between them, this stays below 2^60


@dataclass(frozen=True, slots=True)
class Scaled:
    """Costs as the kernels take them.

    Attributes:
        prices: node_sub, node_del, node_ins, edge_sub, edge_del, edge_ins, all times ten to the power ``digits``.
        digits: Decimals of the costs.
        grain: What every doubled distance is a multiple of; a bound between two multiples can be lifted.
    """

    prices: NDArray[np.int64]
    digits: int
    grain: int

    def value(self, scaled: int) -> Number:
        """Return a scaled distance in the user's unit, exactly."""
        return scaled if self.digits == 0 else Decimal(scaled).scaleb(-self.digits)

    def whole(self, value: Number | float | str, name: str) -> int:
        """Return a user's value in scaled units; digits beyond the costs' own are dropped, no distance has them."""
        return int(_decimal(value, name).scaleb(self.digits))


@dataclass(frozen=True, slots=True)
class Costs:
    """The cost of each kind of edit. An int, a Decimal or text like ``"0.25"`` is taken as it is, a float as it is printed.

    Raises:
        ConfigError: for a cost that is negative, not a number or needs more than nine decimals.
    """

    node_sub: Number | float | str = 1
    node_del: Number | float | str = 1
    node_ins: Number | float | str = 1
    edge_sub: Number | float | str = 1
    edge_del: Number | float | str = 1
    edge_ins: Number | float | str = 1

    def __post_init__(self) -> None:
        self.scaled()

    def scaled(self) -> Scaled:
        """Return the costs as integers with a common scale."""
        names = [field.name for field in fields(self)]
        exact = [_decimal(getattr(self, name), name) for name in names]
        digits = max(0, *(-int(value.normalize().as_tuple().exponent) for value in exact))
        scaled = [int(value.scaleb(digits)) for value in exact]
        for name, value in zip(names, scaled, strict=True):
            if value > MOST_SCALED:
                raise ConfigError(
                    f"{name} is {getattr(self, name)}, too large", hint="divide all costs by the same number"
                )
        grain = 2 * math.gcd(*scaled) or 1
        return Scaled(np.array(scaled, np.int64), digits, grain)


def _decimal(value: Number | float | str, name: str) -> Decimal:
    try:
        found = Decimal(repr(value) if isinstance(value, float) else value)
    except (InvalidOperation, TypeError, ValueError):
        raise ConfigError(f"{name} is {value!r}", hint="give a number like 1 or 0.5") from None
    if not found.is_finite() or found < 0:
        raise ConfigError(f"{name} is {value!r}", hint="a cost is zero or more")
    if int(found.normalize().as_tuple().exponent) < -MOST_DIGITS:
        raise ConfigError(f"{name} is {value!r}: more than {MOST_DIGITS} decimals", hint="round it")
    return found


def parse_costs(items: Sequence[str]) -> Costs:
    """Read ``["node_sub=2", "edge_ins=0.5"]``; what is not named costs 1.

    >>> parse_costs(["node_sub=2"]).node_sub
    '2'
    """
    known = [field.name for field in fields(Costs)]
    found: dict[str, str] = {}
    for item in items:
        name, sign, value = item.partition("=")
        if not sign or name not in known:
            raise ConfigError(
                f"--costs has {item!r}", hint=did_you_mean(name, known) + " write it like node_sub=2"
            )
        found[name] = value
    return Costs(**found)
