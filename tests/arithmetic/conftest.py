"""Every instruction set of this processor, one after the other; the best one is back in use afterwards."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from samebits import arithmetic


@pytest.fixture(autouse=True)
def _the_best_again() -> Iterator[None]:
    before = arithmetic.isa()
    yield
    arithmetic.use(before)
