"""One definition of a setting serves flags, variables, files and the digest."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from samebits.core.config import (
    config_digest,
    environment_layer,
    from_saved,
    make_config,
    option,
    read_toml,
    saved_fields,
    settings_of,
)
from samebits.core.options import RunOptions
from samebits.errors import ConfigError, InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A setting of every kind."""

    inputs: tuple[str, ...] = option((), help="where", location=True)
    name: str = option("x", help="text")
    size: int = option(1, help="whole number")
    share: float = option(0.5, help="number")
    fast: bool = option(False, help="switch")
    kind: Literal["word", "char"] = option("word", help="choice")
    labels: tuple[str, ...] = option((), help="list")
    limit: int | None = option(None, help="may be absent")


def test_the_first_layer_that_has_a_value_wins() -> None:
    made = make_config(Example, {"size": 3}, {"size": 2, "name": "b"}, {"size": 1, "name": "a", "share": 1})
    assert (made.size, made.name, made.share) == (3, "b", 1.0)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("size", "12", 12),
        ("share", "0.25", 0.25),
        ("share", 2, 2.0),
        ("fast", "yes", True),
        ("fast", "off", False),
        ("kind", "char", "char"),
        ("labels", "a,b", ("a", "b")),
        ("labels", ["a", "b"], ("a", "b")),
        ("limit", None, None),
        ("limit", "7", 7),
    ],
)
def test_text_is_read_as_the_type_of_the_field(name: str, text: object, value: object) -> None:
    assert getattr(make_config(Example, {name: text}), name) == value


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("size", "many", "--size takes a whole number, not 'many'"),
        ("size", 1.5, "--size takes a whole number, not 1.5"),
        ("size", True, "--size takes a whole number, not True"),
        ("share", "half", "--share takes a number"),
        ("fast", "maybe", "--fast takes true or false"),
        ("kind", "wrod", "did you mean 'word'"),
        ("labels", 5, "--labels takes a list"),
        ("sizes", 1, "did you mean 'size'"),
    ],
)
def test_a_wrong_value_is_named_with_what_would_be_right(name: str, text: object, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make_config(Example, {name: text})
    assert words in str(caught.value)


def test_dashes_and_underscores_are_the_same() -> None:
    assert make_config(RunOptions, {"max-bad": "3"}).max_bad == "3"


def test_where_the_input_lies_is_neither_saved_nor_digested() -> None:
    here, there = Example(inputs=("/a/b.txt",)), Example(inputs=("/c/b.txt",))
    assert config_digest(here) == config_digest(there)
    assert "inputs" not in saved_fields(here)


@pytest.mark.parametrize(
    "change", [{"name": "y"}, {"size": 2}, {"share": 0.25}, {"fast": True}, {"labels": ("a",)}, {"limit": 0}]
)
def test_every_other_field_changes_the_digest(change: dict[str, Any]) -> None:
    assert config_digest(Example(**change)) != config_digest(Example())


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """A setting as it was called first."""

    dim: int = option(1, help="width")


@dataclass(frozen=True, slots=True, kw_only=True)
class Now:
    """The same setting under a better name."""

    width: int = option(1, help="width", saved_as="dim")


def test_a_better_name_changes_no_digest_and_what_was_saved_is_read_back() -> None:
    assert config_digest(Now(width=3)) == config_digest(Before(dim=3))
    assert make_config(Now, from_saved(Now, saved_fields(Before(dim=3)))) == Now(width=3)
    with pytest.raises(ConfigError) as caught:
        make_config(Now, {"dim": 3})
    assert caught.value.hint == "it is called width now"


def test_variables_carry_the_prefix_of_their_table() -> None:
    environ = {"SAMEBITS_EXAMPLE_SIZE": "4", "SAMEBITS_SIZE": "5", "SAMEBITS_EXAMPLE_OTHER": "6"}
    assert environment_layer(Example, "SAMEBITS_EXAMPLE_", environ) == {"size": "4"}


def test_every_setting_knows_its_flag_and_help() -> None:
    assert [setting.flag for setting in settings_of(RunOptions)][:2] == ["--workers", "--executor"]
    assert all(setting.help for setting in settings_of(RunOptions))


def test_a_missing_or_broken_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_toml(tmp_path / "missing.toml")
    broken = tmp_path / "broken.toml"
    broken.write_bytes(b"x = \xff")
    with pytest.raises(InputError, match=r"broken.toml: not valid TOML"):
        read_toml(broken)


@pytest.mark.parametrize("workers", ["0", "-1", "two", "1.5", ""])
def test_a_number_of_workers_below_one_is_refused(workers: str) -> None:
    with pytest.raises(ConfigError, match="--workers is"):
        RunOptions(workers=workers).num_workers()


def test_auto_leaves_the_number_of_workers_to_the_machine() -> None:
    assert RunOptions().num_workers() is None
    assert RunOptions(workers="3").num_workers() == 3


def test_stage_caps_are_read_from_pairs() -> None:
    assert RunOptions(stage_workers=("read=2", "fold=1")).stage_caps() == {"read": 2, "fold": 1}
