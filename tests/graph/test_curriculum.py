"""The curriculum: every example checked, fair draws, splits that share nothing, bytes that never change."""

from __future__ import annotations

import hashlib
import json
import math
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import samebits
from samebits.graph.anchored import from_json
from samebits.graph.config import GenerateConfig
from samebits.graph.curriculum.bits import Bits
from samebits.graph.curriculum.checker import Result, check
from samebits.graph.curriculum.forms import Form, Malformed, constant
from samebits.graph.curriculum.generate import example_line
from samebits.graph.curriculum.levels import DEPTHS, Example, draw_example, split_of
from samebits.graph.curriculum.sympy_check import confirm
from samebits.graph.curriculum.terms import STYLES

SERIAL = samebits.RunOptions(executor="serial")
PINNED = {
    1: "3f9f7793efdf74047dfc5f36cda66db0180f0bc61cf1c5d0c8bacff7bcc10fc7",
    2: "60224c5b1ce01398c5671100890409d7071d148642e346d4da3ef4e7b3cfcf94",
    3: "62ac0344b37233080ebc8ab5c6c22f88fc1aef2070d2bcb44659e92ece87d4c1",
    4: "c8cca48fce34c4f93154f93f3a768cdb08c32c6ac1a2fe00df831d79694d639f",
    5: "db43bb91695c0491afb308b99c80fc2ac8c6bd95acd04d4fd86f373777b85a43",
    6: "c32ed508b8403cf9fdba2d21947801577f157ec6d507d22e91d77c00d224e6f4",
    7: "cc5526c62e86257a6869d523ddc33dd7a8dbb5d63dbd1a18369a3b500d82ab5b",
}


def examples(level: int, n: int, seed: int = 1) -> list[Example]:
    return [draw_example(seed, level, i, DEPTHS.get(level, ())) for i in range(n)]


@pytest.mark.parametrize("level", PINNED)
def test_the_bytes_of_every_level_are_pinned(level: int) -> None:
    lines = b"\n".join(example_line(example, level) for example in examples(level, 200))
    assert hashlib.sha256(lines).hexdigest() == PINNED[level]


@pytest.mark.parametrize("level", range(1, 8))
def test_the_checker_gives_the_value_of_every_example(level: int) -> None:
    for example in examples(level, 200, seed=5):
        record = json.loads(example_line(example, level))
        graph = from_json(record["graph"], length=len(record["text"]))
        assert check(record["text"], graph) == Result(record["result"]["kind"], record["result"]["value"])


def value_of_polish(text: str) -> Fraction:
    """An evaluator of its own: a stack over the Polish form, from the right."""
    given = dict(re.findall(r"(\w) = (\d+);", text))
    stack: list[Fraction] = []
    operators: dict[str, Any] = {
        "+": lambda a, b: a + b,
        "-": lambda a, b: a - b,
        "*": lambda a, b: a * b,
        "/": lambda a, b: a / b,
        "^": lambda a, b: a ** int(b),
        "abs": abs,
        "min": min,
        "max": max,
        "gcd": lambda a, b: Fraction(math.gcd(int(a), int(b))),
        "lcm": lambda a, b: Fraction(math.lcm(int(a), int(b))),
        "mod": lambda a, b: a % b,
        "floor": lambda a: Fraction(math.floor(a)),
        "ceil": lambda a: Fraction(math.ceil(a)),
        "factorial": lambda a: Fraction(math.factorial(int(a))),
    }
    body = text.rpartition(";")[2]
    for token in reversed(body.replace("(", " ").replace(")", " ").split()):
        if token in operators:
            count = 1 if token in ("abs", "floor", "ceil", "factorial") else 2
            stack.append(Fraction(operators[token](*[stack.pop() for _ in range(count)])))
        else:
            stack.append(Fraction(given.get(token, token)))
    (value,) = stack
    return value


@pytest.mark.parametrize("level", [1, 2, 3, 4])
def test_values_are_those_of_another_evaluator(level: int) -> None:
    for example in examples(level, 200, seed=7):
        assert str(value_of_polish(example.key)) == example.result.value


@pytest.mark.parametrize("level", [5, 6])
def test_sympy_and_numbers_confirm_derivatives_and_integrals(level: int) -> None:
    for example in examples(level, 12, seed=3):
        assert example.result.form is not None
        text, graph = example.rendered.text, example.rendered.graph
        assert confirm(text, graph, example.result.form)
        wrong = Form({**example.result.form.terms, (3, ()): Fraction(7, 11)}, "x")
        assert not confirm(text, graph, wrong)


def test_roots_solve_their_equations() -> None:
    for example in examples(7, 100, seed=2):
        body = example.key.removeprefix("(solve (= ").rpartition(") ")[0]
        name = example.key[-2]
        for root in example.result.value.split(", "):
            shown = re.sub(rf"\b{name}\b", root, body)
            left, right = split_polish(shown)
            assert value_of_polish(left) == value_of_polish(right)


def split_polish(text: str) -> tuple[str, str]:
    depth = 0
    for i, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == " " and depth == 0:
            return text[:i], text[i + 1 :]
    raise AssertionError(text)


def test_every_style_comes_up_equally_often_and_depths_in_their_shares() -> None:
    found = examples(2, 1000)
    for style in STYLES:
        assert 210 < sum(example.style == style for example in found) < 290
    counts = {depth: sum(example.depth == depth for example in found) for depth in (2, 3, 4)}
    assert sum(counts.values()) == 1000
    assert 160 < counts[2] < 240
    assert 350 < counts[3] < 450


def test_draws_are_fair() -> None:
    """Chi-square over 7 classes; 22.5 is exceeded once in a thousand fair cases, and this seed is fixed."""
    bits = Bits(3, "fair")
    counts = [0] * 7
    for _ in range(7000):
        counts[bits.below(7)] += 1
    assert sum((count - 1000) ** 2 for count in counts) / 1000 < 22.5


def test_operands_of_both_parities_meet() -> None:
    pairs = [[int(x) % 2 for x in re.findall(r"\d+", example.key)] for example in examples(1, 400)]
    assert {tuple(pair) for pair in pairs} == {(0, 0), (0, 1), (1, 0), (1, 1)}


@pytest.mark.parametrize(("workers", "executor"), [("1", "serial"), ("3", "threads"), ("2", "processes")])
def test_generation_is_the_same_for_every_worker_count(workers: str, executor: str, tmp_path: Path) -> None:
    config = GenerateConfig(level=1, n=1500, seed=4)
    options = samebits.RunOptions(workers=workers, executor=executor)
    record = samebits.run("graph_generate", config, output=tmp_path / "out", options=options)
    assert record.artifact_digest == "427d6c1367fc2206ef24ff396eaa3b3d874fc902959aa42e733144e91b0e3546"


def test_splits_share_no_expression_and_no_text(tmp_path: Path) -> None:
    samebits.run("graph_generate", GenerateConfig(n=1200), output=tmp_path / "out", options=SERIAL)
    texts: dict[str, set[str]] = {}
    for split in ("train", "valid", "test"):
        rows = [json.loads(line) for line in (tmp_path / "out" / f"{split}.jsonl").read_text().splitlines()]
        assert list(rows[0]) == ["id", "level", "depth", "style", "text", "graph", "result"]
        texts[split] = {row["text"] for row in rows}
        assert len(texts[split]) == len(rows)
    assert sum(map(len, texts.values())) == 1200
    assert not texts["train"] & (texts["valid"] | texts["test"])


def test_all_renderings_of_an_expression_are_in_one_split() -> None:
    assert split_of("(+ 1 2)") == split_of("(+ 1 2)")
    assert {split_of(f"(+ {i} 2)") for i in range(200)} == {"train", "valid", "test"}


def test_more_examples_than_there_are_is_an_error_not_an_endless_loop(tmp_path: Path) -> None:
    with pytest.raises(samebits.SamebitsError, match="39,900 expressions"):
        GenerateConfig(level=1, n=39_901)
    config = GenerateConfig(level=2, n=39_000, depths="1:1")
    assert config.depth_weights() == ((1, 1),)


@pytest.mark.parametrize(
    "settings",
    [{"level": 0}, {"level": 8}, {"n": 0}, {"depths": "x"}, {"depths": "9:1"}, {"level": 5, "depths": "2:1"}],
)
def test_settings_that_cannot_be_meant_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(samebits.SamebitsError):
        GenerateConfig(**settings)


def test_numbers_that_grow_too_large_are_refused() -> None:
    with pytest.raises(Malformed, match="larger"):
        constant(Fraction(10**13))
