"""The grid of training runs: parts are added up, and one different digest is found wherever it is."""

from __future__ import annotations

import pytest
from benchmarks.lm_bits import Parts, columns, compare, merged

NAMES = list(columns())


def record(digest: str = "aa", *, short: str = "bb") -> Parts:
    return {
        "workers": {place: dict.fromkeys(NAMES, "aa") for place in ("1 worker", "2 workers")},
        "gcc": {"gcc -O1": {**dict.fromkeys(NAMES, "aa"), NAMES[3]: digest}},
        "aarch64": {
            "here": dict.fromkeys(NAMES, "bb"),
            "there": {**dict.fromkeys(NAMES, "bb"), NAMES[0]: short},
        },
    }


def test_equal_digests_are_counted() -> None:
    """Runs of fewer steps have digests of their own and are compared with one another."""
    assert compare(record()) == (True, {"digests": 5 * len(NAMES), "different": 0})


@pytest.mark.parametrize("found", [record("other"), record(short="other")], ids=["50 steps", "20 steps"])
def test_one_different_digest_is_found(found: Parts) -> None:
    equal, counts = compare(found)
    assert (equal, counts["different"]) == (False, 1)


def test_columns_that_are_run_later_join_their_place() -> None:
    first, second = ({"gcc": {"gcc -O1": {name: "aa"}}} for name in NAMES[:2])
    assert merged(first, second) == {"gcc": {"gcc -O1": {NAMES[0]: "aa", NAMES[1]: "aa"}}}
