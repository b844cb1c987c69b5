"""Open files of this process: whether as many more may be opened as something needs, before half of it is there."""

from __future__ import annotations

import resource
from pathlib import Path

from samebits.errors import ConfigError

__all__ = ["require_descriptors"]


def require_descriptors(number: int, needed_for: str) -> None:
    """Refuse by name where ``ulimit -n`` leaves too little.

    Raises:
        ConfigError: fewer than ``number`` descriptors are free.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return
    try:
        used = len(list(Path("/proc/self/fd").iterdir())) - 1  # one of them is that of the listing
    except OSError:
        used = limit
    if limit - used < number:
        raise ConfigError(
            f"{needed_for} needs {number} more open files, and {max(0, limit - used)} are left of the limit of {limit}",
            hint="raise the limit (ulimit -n 1024) or use fewer workers",
        )
