"""Optional members of objectives and batch sources: looked for by name, so that a small class stays small."""

from __future__ import annotations

from typing import Any

from samebits.errors import ConfigError

__all__ = [
    "check_data",
    "check_shards",
    "identity_of",
    "is_portable",
    "tell_changed",
    "tell_step",
    "units_of",
]


def check_shards(part: Any, num_shards: int) -> None:
    """Let a part refuse a number of shards, if it has an opinion."""
    if check := getattr(part, "check", None):
        check(num_shards)


def check_data(data: Any, num_shards: int) -> None:
    """Refuse to start without batches, or with batches that cannot be cut.

    Raises:
        ConfigError: There are none.
    """
    if data is None:
        raise ConfigError("the objective has no data", hint="give it as the second argument of samebits.fit")
    check_shards(data, num_shards)


def identity_of(part: Any) -> dict[str, Any]:
    """Return what a part wants compared on a resume."""
    identity = getattr(part, "identity", None)
    return dict(identity()) if identity else {}


def is_portable(part: Any) -> bool:
    """Tell whether a part says that its bits are the same on every CPU."""
    return bool(getattr(part, "portable", False))


def tell_changed(part: Any) -> None:
    """Let a part know that the parameters are others now although no step was done, if it keeps something made of them."""
    if changed := getattr(part, "changed", None):
        changed()


def tell_step(part: Any, step: int) -> None:
    """Let a part know how many steps are done, if it wants to."""
    if reached := getattr(part, "reached", None):
        reached(step)


def units_of(part: Any) -> int:
    """Return the examples or tokens of one step, or 0 where nobody knows."""
    return int(getattr(part, "units_per_step", 0) or 0)
