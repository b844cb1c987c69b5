"""Reading a recipe: order, references, paths, and what is said about mistakes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from samebits.errors import ConfigError
from samebits.jobs import JOBS, get_job
from samebits.pipeline.recipe import COMMANDS, parse_recipe, with_settings


def parse(stages: dict[str, dict[str, Any]], folder: Path) -> Any:
    return parse_recipe({"stage": stages}, folder=folder)


def test_stages_come_after_what_they_need_and_otherwise_as_written(tmp_path: Path) -> None:
    recipe = parse(
        {
            "words": {"job": "count", "inputs": ["@kept"]},
            "other": {"job": "count", "inputs": ["x.txt"]},
            "kept": {"job": "langid clean", "inputs": ["x.jsonl"], "model": "@model"},
            "model": {"job": "langid train", "inputs": ["x.jsonl"]},
        },
        tmp_path,
    )
    assert [stage.name for stage in recipe.stages] == ["other", "model", "kept", "words"]
    assert recipe.stages[2].needs == ("model",)


def test_a_reference_is_the_rows_of_a_stage_or_its_folder_or_one_file(tmp_path: Path) -> None:
    recipe = parse(
        {
            "text": {"job": "charset decode", "inputs": ["raw"]},
            "model": {"job": "langid train", "inputs": ["@text"]},
            "clean": {"job": "langid clean", "inputs": ["@text/rows.jsonl"], "model": "@model"},
        },
        tmp_path,
    )
    model, clean = (recipe.config_of(stage, get_job(stage.job).Config) for stage in recipe.stages[1:])
    run = tmp_path / "run"
    assert model.inputs == (str(run / "text" / "rows.jsonl"),)
    assert (clean.inputs, clean.model) == ((str(run / "text" / "rows.jsonl"),), str(run / "model"))


def test_paths_are_relative_to_the_recipe_and_words_stay_words(tmp_path: Path) -> None:
    (tmp_path / "mine.json").touch()
    recipe = parse(
        {
            "a": {"job": "tokens build", "inputs": ["x.txt", "/far/y.txt", "https://host/z.txt"]},
            "b": {"job": "tokens build", "inputs": ["x.txt"], "tokenizer": "mine.json"},
        },
        tmp_path,
    )
    a, b = (recipe.config_of(stage, get_job(stage.job).Config) for stage in recipe.stages)
    assert a.inputs == (str(tmp_path / "x.txt"), "/far/y.txt", "https://host/z.txt")
    assert (a.tokenizer, b.tokenizer) == ("byte", str(tmp_path / "mine.json"))


@pytest.mark.parametrize(
    ("document", "message", "hint"),
    [
        ({"stages": {}}, "unknown key 'stages'", "did you mean 'stage'?"),
        ({}, "no stages", "pipeline init"),
        ({"stage": {"A b": {"job": "count"}}}, "cannot be called 'A b'", "small letters"),
        ({"stage": {"a": {}}}, "[stage.a] names no job", "job ="),
        ({"stage": {"a": {"job": "langid trian"}}}, "'langid trian'", "did you mean 'langid train'?"),
        ({"stage": {"a": {"job": "count", "inputs": ["@b"]}}}, "[stage.a] reads @b", ""),
        (
            {"stage": {"a": {"job": "count", "inputs": ["@b"]}, "b": {"job": "count", "inputs": ["@a"]}}},
            "stages depend on each other",
            "",
        ),
    ],
)
def test_a_mistake_is_named_with_what_was_meant(
    document: dict[str, Any], message: str, hint: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_recipe(document, folder=tmp_path)
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_an_unknown_setting_names_its_stage(tmp_path: Path) -> None:
    recipe = parse({"a": {"job": "count", "inputs": ["x.txt"], "lowre": True}}, tmp_path)
    with pytest.raises(ConfigError, match=r"unknown setting 'lowre' in \[stage\.a\]"):
        recipe.config_of(recipe.stages[0], get_job("count").Config)


def test_settings_can_be_changed_and_changes_name_a_stage() -> None:
    document = {"stage": {"a": {"job": "count", "n": 1}}}
    assert with_settings(document, ["a.n=2"])["stage"]["a"]["n"] == "2"
    assert document["stage"]["a"]["n"] == 1
    with pytest.raises(ConfigError, match="names the stage 'b'"):
        with_settings(document, ["b.n=2"])
    with pytest.raises(ConfigError, match=r"--set has 'a\.n'"):
        with_settings(document, ["a.n"])


def test_every_command_of_a_recipe_is_a_job() -> None:
    assert set(COMMANDS.values()) <= set(JOBS)
