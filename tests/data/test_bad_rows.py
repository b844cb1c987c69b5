"""Bad rows: numbered as editors do, counted against the limit, written in order."""

import json
from pathlib import Path
from typing import Any

import pytest

from samebits.core.plan import Plan, ShardTable
from samebits.data.bad_rows import BadRows, Limit, parse_limit
from samebits.errors import ConfigError, TooManyBadRows


@pytest.fixture
def plan() -> Plan:
    shards = ShardTable.from_ranges(source=[0, 0, 1], start=[0, 10, 0], stop=[10, 20, 5])
    return Plan(
        job="count",
        version=1,
        seed=0,
        config_digest="",
        input_digest="",
        source_names=("a.txt", "b.txt"),
        shards=shards,
    )


def bad(*lines: int, reason: str = "invalid UTF-8 at byte 0: 0xff") -> list[dict[str, Any]]:
    return [{"line": line, "offset": 100 + line, "reason": reason} for line in lines]


def test_lines_of_a_shard_become_lines_of_the_file(plan: Plan, tmp_path: Path) -> None:
    rows = BadRows("100%")
    rows.take(plan, plan.shards[0], bad(0, 4), num_lines=5)
    rows.take(plan, plan.shards[1], bad(2), num_lines=7)
    rows.take(plan, plan.shards[2], bad(1, reason="no key 'text'"), num_lines=3)
    rows.write(tmp_path / "bad_rows.jsonl")
    written = [json.loads(line) for line in (tmp_path / "bad_rows.jsonl").read_bytes().splitlines()]
    assert [(row["source"], row["line"]) for row in written] == [
        ("a.txt", 1),
        ("a.txt", 5),
        ("a.txt", 8),
        ("b.txt", 2),
    ]
    assert written[0] == {
        "source": "a.txt",
        "line": 1,
        "offset": 100,
        "reason": "invalid UTF-8 at byte 0: 0xff",
    }
    assert (rows.num_read, rows.num_bad) == (15, 4)
    assert rows.reasons == {"invalid UTF-8 at byte 0": 3, "no key 'text'": 1}


def test_no_bad_rows_are_an_empty_file(tmp_path: Path) -> None:
    BadRows().write(tmp_path / "bad_rows.jsonl")
    assert (tmp_path / "bad_rows.jsonl").read_bytes() == b""


def test_a_count_stops_as_soon_as_it_is_passed(plan: Plan, tmp_path: Path) -> None:
    rows = BadRows("2", spill=tmp_path / "bad_rows.jsonl")
    rows.take(plan, plan.shards[0], bad(1, 2), num_lines=5)
    with pytest.raises(
        TooManyBadRows, match=r"3 of 10 rows.*first: a\.txt, line 2, byte 101: invalid"
    ) as caught:
        rows.take(plan, plan.shards[1], bad(0), num_lines=5)
    assert caught.value.hint == "fix them, or allow more: --max-bad 3"
    assert len((tmp_path / "bad_rows.jsonl").read_bytes().splitlines()) == 3


def test_a_share_is_judged_at_the_end(plan: Plan) -> None:
    rows = BadRows("1%")
    rows.take(plan, plan.shards[0], bad(0, 1), num_lines=2)
    rows.take(plan, plan.shards[1], [], num_lines=198)
    rows.check()
    rows.take(plan, plan.shards[2], bad(0), num_lines=1)
    with pytest.raises(TooManyBadRows, match="3 of 201 rows"):
        rows.check()


def test_a_share_stops_early_when_nearly_everything_is_bad(plan: Plan) -> None:
    rows = BadRows("1%")
    rows.take(plan, plan.shards[0], bad(*range(999)), num_lines=1000)
    with pytest.raises(TooManyBadRows, match="1,000 of 1,001 rows"):
        rows.take(plan, plan.shards[1], bad(0), num_lines=1)
    allowed = BadRows("100%")
    allowed.take(plan, plan.shards[0], bad(*range(5000)), num_lines=5000)
    allowed.check()


@pytest.mark.parametrize(
    ("text", "limit"),
    [("0", Limit(0, None)), ("100", Limit(100, None)), ("1%", Limit(None, 1.0)), ("0%", Limit(None, 0.0))],
)
def test_limits(text: str, limit: Limit) -> None:
    assert parse_limit(text) == limit


@pytest.mark.parametrize("text", ["", "-1", "1.5", "%", "101%", "-1%", "nan%", "ten"])
def test_other_limits_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="--max-bad"):
        parse_limit(text)


@pytest.mark.parametrize(
    ("limit", "num_bad", "stops"), [("0", 0, False), ("0", 1, True), ("1%", 1, False), ("1%", 2, True)]
)
def test_the_limit_itself_is_allowed(limit: str, num_bad: int, stops: bool) -> None:
    assert parse_limit(limit).exceeded(num_bad, 100) == stops
