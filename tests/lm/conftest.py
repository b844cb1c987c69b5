"""A small text with some structure, and one math thread: two of them wait for one another on a busy machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

WORDS = [
    "the",
    "river",
    "runs",
    "past",
    "the",
    "old",
    "mill",
    "and",
    "the",
    "mill",
    "turns",
    "slowly",
    "while",
    "the",
    "miller",
    "counts",
    "his",
    "sacks",
    "of",
    "flour",
]


def make_text(num_lines: int = 60) -> str:
    """Return lines of words in an order that repeats late enough to be worth learning."""
    lines = (
        " ".join(WORDS[(line * 7 + i * (1 + line % 3)) % len(WORDS)] for i in range(9))
        for line in range(num_lines)
    )
    return "".join(f"{line.capitalize()}.\n" for line in lines)


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def text_file(tmp_path: Path) -> Path:
    """A text of about 3,000 characters."""
    path = tmp_path / "mill.txt"
    path.write_text(make_text(), encoding="utf-8")
    return path
