"""Small disks: a tmpfs of so many bytes, which only root may mount."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

__all__ = ["Disk", "can_mount", "small_disk"]


@dataclass(frozen=True)
class Disk:
    """A mounted disk."""

    path: Path

    def grow(self, size: str) -> None:
        """Make room."""
        subprocess.run(["mount", "-o", f"remount,size={size}", str(self.path)], check=True)


@contextmanager
def small_disk(path: Path, size: str) -> Iterator[Disk]:
    """Mount a disk of that size; it is gone afterwards."""
    path.mkdir(exist_ok=True)
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(path)], check=True, capture_output=True
    )
    try:
        yield Disk(path)
    finally:
        subprocess.run(["umount", str(path)], check=True)


@lru_cache
def can_mount() -> bool:
    """Tell whether a small disk can be made here: it takes root, and a container may forbid it all the same."""
    if os.geteuid() != 0:
        return False
    with tempfile.TemporaryDirectory(prefix="samebits-mount-") as folder:
        try:
            with small_disk(Path(folder), "64k"):
                return True
        except subprocess.CalledProcessError:
            return False
