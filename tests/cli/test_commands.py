"""Every command by hand: what goes to stdout, what to stderr, and the exit code."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.command_line import Run

from samebits.cli.app import COMMANDS
from samebits.cli.flags import JOB_ARGUMENTS
from samebits.count.job import JOB
from samebits.jobs import JOBS


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_that_ends_with_an_example(samebits: Run, name: str) -> None:
    ended = samebits(name, "--help")
    assert ended.code == 0
    assert f"Usage: samebits {name}" in ended.out
    assert f"samebits {name}" in ended.out.partition("Example:")[2]


def test_the_help_of_a_job_has_two_sections(samebits: Run) -> None:
    text = samebits("count", "--help").out
    what = text.index("What to compute (changes the result):")
    how = text.index("How to compute it (never changes the result):")
    assert what < text.index("--unit") < how < text.index("--workers")


def test_version(samebits: Run) -> None:
    assert samebits("--version").out.startswith("samebits 0.")


def test_count_prints_data_to_stdout_and_words_to_stderr(samebits: Run, book: Path, tmp_path: Path) -> None:
    ended = samebits("count", book, "-o", tmp_path / "out", "-w", "2")
    assert ended.code == 0
    assert ended.out == "2\tthe\n1\tcat\n1\tdog\n"
    assert "2 lines read = 2 used + 0 blank + 0 bad" in ended.err
    assert "1 worker: 2 requested, only 1 shard" in ended.err


def test_quiet_prints_nothing(samebits: Run, book: Path, tmp_path: Path) -> None:
    ended = samebits("count", book, "-o", tmp_path / "out", "-q")
    assert (ended.code, ended.out, ended.err) == (0, "", "")


def test_json_is_one_object_on_stdout(samebits: Run, book: Path, tmp_path: Path) -> None:
    ended = samebits("count", book, "-o", tmp_path / "out", "--json")
    record = json.loads(ended.out)
    assert record["job"] == "count"
    assert record["metrics"]["ngrams"]["counted"] == 4
    assert (
        record["artifact_digest"] == json.loads((tmp_path / "out" / "manifest.json").read_bytes())["digest"]
    )


def test_the_log_file_holds_every_event(samebits: Run, book: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    assert samebits("count", book, "-o", tmp_path / "out", "-q", "--log-file", log).code == 0
    events = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(event["stage"], event["event"]) for event in events] == [
        (stage, kind)
        for stage in ("count", "count reduce", "count write", "write counts.jsonl")
        for kind in ("StageStarted", "ShardDone", "StageDone")
    ]


def test_verbose_names_every_shard(samebits: Run, book: Path, tmp_path: Path) -> None:
    assert "count: shard 0, " in samebits("count", book, "-o", tmp_path / "out", "-v").err


def test_the_digest_is_that_of_any_other_worker_count(samebits: Run, book: Path, tmp_path: Path) -> None:
    for workers, executor in (("1", "serial"), ("3", "threads")):
        samebits("count", book, "-o", tmp_path / executor, "-w", workers, "-x", executor)
    ended = samebits("verify", tmp_path / "serial", "--against", tmp_path / "threads")
    assert ended.code == 0
    assert "the same bytes" in ended.out


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["conut"], 2, "did you mean 'count'?"),
        (["count", "BOOK"], 2, "--output"),
        (["count", "-o", "OUT"], 2, "INPUT"),
        (["count", "BOOK", "-o", "OUT", "--wrokers", "2"], 2, "--workers"),
        (["count", "BOOK", "-o", "OUT", "--workers", "0"], 2, "give a whole number, 1 or more, or auto"),
        (["count", "BOOK", "-o", "OUT", "--workers", "many"], 2, "give a whole number, 1 or more, or auto"),
        (["count", "BOOK", "-o", "OUT", "-x", "thread"], 2, "did you mean 'threads'?"),
        (["count", "BOOK", "-o", "OUT", "-n", "x"], 2, "--n takes a whole number, not 'x'"),
        (["count", "BOOK", "-o", "OUT", "--max-bad", "few"], 2, "a share like 1%"),
        (["count", "BOOK", "-o", "OUT", "--address", "tcp://x"], 2, "--address does not apply"),
        (["count", "BOOK", "-o", "OUT", "--stage-workers", "count"], 2, "encode=2,learn=1"),
        (["count", "BOOK", "-o", "OUT", "--stage-workers", "read=2"], 2, "known: hash, count, count merge"),
        (["count", "MISSING", "-o", "OUT"], 1, "missing.txt"),
        (["verify", "MISSING"], 1, "not an artifact"),
        (["plan", "cuont", "BOOK"], 2, "cuont"),
        (["bench", "speedup", "count", "BOOK", "--worker-counts", "1,x"], 2, "write it like 1,2,4"),
    ],
)
def test_mistakes_are_answered_with_what_to_type(
    samebits: Run, book: Path, tmp_path: Path, arguments: list[str], code: int, words: str
) -> None:
    names = {"BOOK": str(book), "OUT": str(tmp_path / "out"), "MISSING": str(tmp_path / "missing.txt")}
    ended = samebits(*[names.get(argument, argument) for argument in arguments])
    assert ended.code == code
    assert words in ended.err
    assert "Traceback" not in ended.err
    assert ended.out == ""


def test_an_error_with_json_is_an_object_too(samebits: Run, tmp_path: Path) -> None:
    ended = samebits("count", tmp_path / "missing.txt", "-o", tmp_path / "out", "--json")
    assert ended.code == 1
    assert json.loads(ended.out)["kind"] == "InputError"


def test_verify_names_a_flipped_byte_and_exits_with_3(samebits: Run, book: Path, tmp_path: Path) -> None:
    samebits("count", book, "-o", tmp_path / "out", "-q")
    table = tmp_path / "out" / "counts.jsonl"
    table.write_bytes(table.read_bytes().replace(b"cat", b"cot"))
    ended = samebits("verify", tmp_path / "out")
    assert ended.code == 3
    assert "counts.jsonl: expected sha256" in ended.err


def test_verify_names_the_first_difference_of_two_artifacts(
    samebits: Run, book: Path, tmp_path: Path
) -> None:
    samebits("count", book, "-o", tmp_path / "a", "-q")
    samebits("count", book, "-o", tmp_path / "b", "-q", "--unit", "char")
    ended = samebits("verify", tmp_path / "a", "--against", tmp_path / "b")
    assert ended.code == 3
    assert "differ in counts.jsonl at byte " in ended.err


def test_verify_runs_shards_again_with_other_workers(samebits: Run, book: Path, tmp_path: Path) -> None:
    samebits("count", book, "-o", tmp_path / "out", "-q")
    assert "1 shard computed again" in samebits("verify", tmp_path / "out", "--rerun", "5", "-w", "2").out
    assert samebits("verify", tmp_path / "out", "--rerun", "all").code == 0


def test_verify_refuses_to_run_single_shards_of_a_training_run(
    samebits: Run, book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    samebits("count", book, "-o", tmp_path / "out", "-q")
    monkeypatch.setattr(
        "samebits.verification.artifacts.get_job", lambda name: replace(JOB, default_executor="lockstep")
    )
    ended = samebits("verify", tmp_path / "out", "--rerun", "1")
    assert ended.code == 2
    assert "--replay FROM:TO" in ended.err


def test_verify_notices_that_the_input_changed(samebits: Run, book: Path, tmp_path: Path) -> None:
    samebits("count", book, "-o", tmp_path / "out", "-q")
    book.write_text("something else\n")
    ended = samebits("verify", tmp_path / "out", "--rerun", "1")
    assert ended.code == 1
    assert "the inputs have changed" in ended.err


def test_verify_notices_a_shard_that_comes_out_differently(samebits: Run, book: Path, tmp_path: Path) -> None:
    samebits("count", book, "-o", tmp_path / "out", "-q")
    events = tmp_path / "out" / "events.jsonl"
    lines = [json.loads(line) for line in events.read_text().splitlines()]
    next(line for line in lines if line["event"] == "ShardDone")["digest"] = "0" * 64
    events.write_text("\n".join(map(json.dumps, lines)))
    ended = samebits("verify", tmp_path / "out", "--rerun", "1")
    assert ended.code == 3
    assert "shard 0 (book.txt, 0..16) gave " in ended.err


def test_plan_shows_the_digest_and_computes_nothing(samebits: Run, book: Path) -> None:
    plan = json.loads(samebits("plan", "count", book, "--json").out)
    assert plan["num_shards"] == 1
    assert plan["sources"] == ["book.txt"]
    assert plan["digest"] in samebits("plan", "count", book).out
    assert json.loads(samebits("plan", "count", book, "-n", "2", "--json").out)["digest"] != plan["digest"]


def test_settings_come_from_flag_then_variable_then_file(
    samebits: Run, book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "run.toml"
    file.write_text('[count]\nunit = "char"\nn = 3\n[run]\nworkers = 1\n')
    monkeypatch.setenv("SAMEBITS_COUNT_N", "2")

    def config(name: str, *flags: str) -> dict[str, object]:
        record = json.loads(
            samebits("count", book, "-o", tmp_path / name, "--json", "--config", file, *flags).out
        )
        return dict(record["config"])

    assert (config("a")["unit"], config("b")["n"], config("c", "-n", "1")["n"]) == ("char", 2, 1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[cuont]\n", "did you mean 'count'?"),
        ("[count]\nunti = 1\n", "did you mean 'unit'?"),
        ("[count]\nn = 'x'\n", "--n takes a whole number"),
        ("count = 3\n", "[count] in"),
        ("[count\n", "not valid TOML"),
    ],
)
def test_mistakes_in_a_file_are_named(
    samebits: Run, book: Path, tmp_path: Path, text: str, words: str
) -> None:
    file = tmp_path / "run.toml"
    file.write_text(text)
    ended = samebits("count", book, "-o", tmp_path / "out", "--config", file)
    assert ended.code in (1, 2)
    assert words in ended.err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(samebits: Run, shell: str) -> None:
    assert "_SAMEBITS_COMPLETE" in samebits("completion", shell).out


@pytest.mark.slow
def test_bench_parity_finds_one_digest(samebits: Run, book: Path) -> None:
    ended = samebits(
        "bench",
        "parity",
        "count",
        book,
        "--executors",
        "serial,threads",
        "--worker-counts",
        "2",
        "--hash-seeds",
        "0,1",
    )
    assert ended.code == 0
    assert "4 runs, one digest" in ended.out


@pytest.mark.slow
def test_bench_speedup_writes_its_records(samebits: Run, book: Path, tmp_path: Path) -> None:
    file = tmp_path / "speedup.json"
    ended = samebits("bench", "speedup", "count", book, "--worker-counts", "1", "--repeats", "2", "-o", file)
    assert ended.code == 0
    assert len(json.loads(file.read_bytes())["records"]) == 2


@pytest.mark.slow
def test_doctor_passes_its_self_test(samebits: Run) -> None:
    report = json.loads(samebits("doctor", "--json").out)
    assert all(report["arithmetic"]["right"].values())
    assert report["self_test"]["equal"] is True
    assert all(report["kernels"].values())


def test_a_flag_of_0_1_is_answered_with_its_new_name(samebits: Run, tmp_path: Path) -> None:
    ended = samebits("graph", "train", "x.jsonl", "-o", tmp_path / "out", "--grad-shards", "2")
    assert ended.code == 2
    assert "hint: it is called --shards now" in ended.err
    ended = samebits("lm", "train", "x.txt", "-o", tmp_path / "out", "--dim", "32")
    assert ended.code == 2
    assert "hint: it is called --width now" in ended.err
    ended = samebits("lm", "train", "x.txt", "-o", tmp_path / "out", "--model", "classic")
    assert ended.code == 2
    assert "hint: it is called --kind now" in ended.err


@pytest.mark.parametrize("job", ["lm", "graph"])
def test_what_may_change_the_bits_does_not_stand_under_never_changes_the_result(
    job: str, samebits: Run
) -> None:
    shown = samebits(
        job, "train", "--help-all" if "--help-all" in samebits(job, "train", "--help").out else "--help"
    ).out
    _, _, after = shown.partition("Go on although the bits may change")
    assert "--allow-environment-change" in after.partition("What to print")[0]


def test_a_job_that_makes_its_data_is_planned_without_an_input(samebits: Run) -> None:
    assert "graph_generate" in samebits("plan", "graph", "generate", "-n", "100").out
    assert set(JOB_ARGUMENTS) == set(JOBS)
