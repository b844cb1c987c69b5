"""Running a recipe: one digest for any number of workers, and only what changed is redone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from samebits import pipeline
from samebits.cli.app import run as run_command
from samebits.core.options import RunOptions
from samebits.core.seeds import rng_for
from samebits.errors import ConfigError, OutputExists, ParityError

STAGES = ["encodings", "text", "languages", "clean", "tokens"]


def skipped(result: pipeline.PipelineResult) -> dict[str, bool]:
    return {stage.name: stage.skipped for stage in result.stages}


def test_the_digest_is_the_same_for_any_executor_and_number_of_workers(world: Path) -> None:
    digests = set()
    for executor, workers in (("serial", "1"), ("threads", "3"), ("processes", "2")):
        recipe = pipeline.load(world / "recipe.toml", output=world / f"{executor}{workers}")
        options = RunOptions(executor=executor, workers=workers)
        digests.add(pipeline.run(recipe, options=options).digest)
    assert len(digests) == 1


def test_a_second_run_skips_every_stage_and_says_so(world: Path) -> None:
    first = pipeline.run(world / "recipe.toml")
    second = pipeline.run(world / "recipe.toml")
    assert list(skipped(first)) == STAGES
    assert not any(skipped(first).values())
    assert all(skipped(second).values())
    assert second.digest == first.digest
    assert {stage.why for stage in second.stages} == {"unchanged"}
    assert second.stages[3].metrics == first.stages[3].metrics
    made = json.loads((world / "run" / "pipeline.json").read_bytes())
    assert made["digest"] == first.digest
    assert [stage["name"] for stage in made["stages"]] == STAGES


def test_the_journal_of_a_stage_killed_after_its_last_rename_goes_with_the_next_run(world: Path) -> None:
    """Found by killing a pipeline at each of its renames and syncs: the stage is whole, so it is skipped."""
    first = pipeline.run(world / "recipe.toml")
    journal = world / "run" / "text.journal"
    journal.mkdir()
    (journal / "done").touch()
    assert pipeline.run(world / "recipe.toml").digest == first.digest
    assert not journal.exists()


def test_a_changed_setting_redoes_its_stage_and_what_comes_out_different(world: Path) -> None:
    pipeline.run(world / "recipe.toml")
    changed = pipeline.load(world / "recipe.toml", changes=["clean.min_confidence=1.0"])
    assert {item.spec.name: item.why for item in pipeline.outlook(changed)} == {
        "encodings": "unchanged",
        "text": "unchanged",
        "languages": "unchanged",
        "clean": "changed",
        "tokens": "waits",
    }
    result = pipeline.run(changed)
    assert skipped(result) == dict.fromkeys(STAGES[:3], True) | {"clean": False, "tokens": False}


def test_a_stage_is_skipped_when_its_changed_input_comes_out_the_same(world: Path) -> None:
    pipeline.run(world / "recipe.toml")
    # other settings, other artifact, but the rows that are kept are the same
    result = pipeline.run(pipeline.load(world / "recipe.toml", changes=["clean.min_confidence=0.0001"]))
    kept = pipeline.run(pipeline.load(world / "recipe.toml", changes=["clean.min_confidence=0.0002"]))
    assert not skipped(result)["clean"]
    assert skipped(kept) == dict.fromkeys(STAGES, True) | {"clean": False}


def test_a_changed_input_file_redoes_what_depends_on_it(world: Path) -> None:
    pipeline.run(world / "recipe.toml")
    with (world / "raw" / "de" / "a.txt").open("ab") as file:
        file.write("\nNoch ein Satz für das Ende der Datei.".encode("cp1252"))
    result = pipeline.run(world / "recipe.toml")
    assert skipped(result)["encodings"]
    assert not skipped(result)["text"]


def test_a_damaged_stage_is_made_again(world: Path) -> None:
    first = pipeline.run(world / "recipe.toml")
    (world / "run" / "text" / "rows.jsonl").write_bytes(b"{}\n")
    again = pipeline.run(world / "recipe.toml")
    assert {stage.name: stage.why for stage in again.stages}["text"] == "damaged"
    assert again.digest == first.digest


def test_a_folder_that_no_stage_made_is_left_alone(world: Path) -> None:
    (world / "run" / "text").mkdir(parents=True)
    (world / "run" / "text" / "letter.txt").write_text("dear", encoding="utf-8")
    with pytest.raises(OutputExists, match="no stage made it"):
        pipeline.run(world / "recipe.toml")
    assert (world / "run" / "text" / "letter.txt").read_text(encoding="utf-8") == "dear"


def test_a_mistake_in_the_last_stage_is_reported_before_the_first_runs(world: Path) -> None:
    recipe = pipeline.load(world / "recipe.toml", changes=["tokens.vocab_size=many"])
    with pytest.raises(ConfigError, match="vocab-size"):
        pipeline.run(recipe)
    assert not (world / "run").exists()


def test_the_commands_plan_run_and_show(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = str(world / "recipe.toml")
    assert run_command(["pipeline", "plan", recipe]) == 0
    assert "run:  not made yet" in capsys.readouterr().out
    assert run_command(["pipeline", "run", recipe, "--no-progress", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert [stage["name"] for stage in made["stages"]] == STAGES
    assert run_command(["pipeline", "plan", recipe, "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["runs"] for line in lines] == [False] * len(STAGES)
    assert run_command(["pipeline", "run", str(world / "none.toml")]) == 1


def test_the_recipe_that_init_writes_is_valid_and_not_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.toml"
    assert run_command(["pipeline", "init", str(path)]) == 0
    recipe = pipeline.load(path)
    assert [stage.name for stage in recipe.stages][-1] == "model"
    assert run_command(["pipeline", "init", str(path)]) == 1
    assert "already exists" in capsys.readouterr().err


@pytest.mark.slow
def test_bench_parity_runs_the_recipe_over_the_grid(
    world: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["bench", "parity", "pipeline", str(world / "recipe.toml"), "--json"]
    grid = ["--executors", "serial,threads", "--worker-counts", "2", "--hash-seeds", "random"]
    assert run_command([*command, *grid]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["equal"]
    assert len(found["runs"]) == 2


def test_bench_parity_names_the_first_stage_that_differs(
    world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from samebits.bench import pipeline_parity
    from samebits.bench.cell import Cell

    made = iter(
        {"digest": d, "seconds": 1.0, "stages": [{"name": "a", "digest": "0"}, {"name": "b", "digest": d}]}
        for d in ("1", "2")
    )
    monkeypatch.setattr(pipeline_parity, "_run_cell", lambda *_: next(made))
    with pytest.raises(ParityError, match="stage 'b'"):
        pipeline_parity.check_pipeline_parity(
            world / "recipe.toml", (), [Cell("serial", 1), Cell("threads", 2)], tell=lambda _: None
        )


@pytest.mark.slow
def test_killed_at_random_moments_the_same_command_ends_with_the_same_digest(world: Path) -> None:
    expected = pipeline.run(pipeline.load(world / "recipe.toml", output=world / "undisturbed")).digest
    command = [
        sys.executable,
        "-m",
        "samebits",
        "pipeline",
        "run",
        str(world / "recipe.toml"),
        "--json",
        "-q",
    ]
    rng = rng_for(5, "pipeline kills")
    for _ in range(4):
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            child.wait(0.3 + 1.2 * float(rng.random()))
        except subprocess.TimeoutExpired:
            os.kill(child.pid, signal.SIGKILL)
        child.wait()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["digest"] == expected
