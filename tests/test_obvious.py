"""The first five minutes: calls and commands that anyone would try. Right ones work; mistakes get a sentence with what to type."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.command_line import Run

import samebits as sb
from samebits import RunOptions, charset, count, graph, langid, lm, tokens
from samebits.errors import ConfigError, InputError, OutputExists, SamebitsError, TooManyBadRows

ROWS = [("good morning to you", "en"), ("guten Morgen euch allen", "de")] * 20


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder like that of a newcomer: a book, comments as CSV and JSON lines, a model of languages."""
    folder = tmp_path_factory.mktemp("world")
    (folder / "book.txt").write_text("the cat sat on the mat\nthe dog sat by the cat\n" * 40)
    (folder / "my notes.txt").write_text("some notes\n")
    csv = "".join(f"{i},{text},{lang}\n" for i, (text, lang) in enumerate(ROWS))
    (folder / "comments.csv").write_text("id,comment,lang\n" + csv)
    jsonl = "".join(f'{{"comment": "{text}", "lang": "{lang}"}}\n' for text, lang in ROWS)
    (folder / "comments.jsonl").write_text(jsonl)
    (folder / "old.txt").write_bytes("Grüße aus München, schöne Straße".encode("cp1252"))
    (folder / "plain.csv").write_text("id,comment\n1,good morning\n")
    nodes = '{"nodes": [{"id": 0, "label": "C"}, {"id": 1, "label": "O"}], "edges": [{"from": 0, "to": 1}]}'
    (folder / "a.json").write_text(nodes)
    langid.train(folder / "comments.csv", text_column="comment", output=folder / "languages")
    return folder


def frame() -> Any:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed: pip install pandas")
    return pandas.DataFrame({"comment": [text for text, _ in ROWS], "lang": [lang for _, lang in ROWS]})


Call = Callable[[Path, Path], Any]
RIGHT_CALLS: dict[str, Call] = {
    "names of the package": lambda w, o: [*dir(sb), dir(langid), dir(lm), dir(tokens)],
    "langid, reached by attribute": lambda w, o: sb.langid.train({"en": ["good"], "de": ["gut"]}),
    "langid of a dict": lambda w, o: langid.train({"en": ["good morning"], "de": ["guten Morgen"]}),
    "langid of rows": lambda w, o: langid.train([{"text": t, "lang": x} for t, x in ROWS]),
    "langid of tuples": lambda w, o: langid.train(ROWS),
    "langid of a generator": lambda w, o: langid.train(row for row in ROWS),
    "langid of a frame": lambda w, o: langid.train(frame(), text_column="comment"),
    "langid of a str path": lambda w, o: langid.train(str(w / "comments.csv"), text_column="comment"),
    "langid of a Path": lambda w, o: langid.train(w / "comments.jsonl", text_column="comment"),
    "langid of paths": lambda w, o: langid.train([w / "comments.csv"], text_column="comment"),
    "langid with two workers": lambda w, o: langid.train(ROWS, options=RunOptions(workers=2)),
    "langid with workers auto": lambda w, o: langid.train(ROWS, options=RunOptions(workers="auto")),
    "a model saved and loaded": lambda w, o: _saved(w, o),
    "predict one text, no model in hand": lambda w, o: langid.predict("Guten Morgen, mein Freund") == "de",
    "predict texts, no model in hand": lambda w, o: (
        langid.predict(["Good morning, my friend", "Guten Morgen"], languages=["en", "de"]) == ["en", "de"]
    ),
    "spans of one text": lambda w, o: (
        langid.spans("Guten Morgen zusammen, how are you today?")[0].label == "de"
    ),
    "predict a list": lambda w, o: _model(w).predict(["good morning", ""]),
    "predict with gaps": lambda w, o: _model(w).predict(frame()["comment"].where(frame().index > 1)),
    "predict a column": lambda w, o: _model(w).predict(frame()["comment"]),
    "predict a generator": lambda w, o: _model(w).predict(text for text, _ in ROWS),
    "predict nothing": lambda w, o: [_model(w).predict([]) == []],
    "predict a file": lambda w, o: list(
        langid.predict_files(_model(w), w / "comments.csv", column="comment", workers=2)
    ),
    "the classifier": lambda w, o: langid.LangidClassifier(n_jobs=-1).fit(*zip(*ROWS, strict=True)),
    "count a path": lambda w, o: count.count(w / "book.txt")["the"] == 160,
    "count texts": lambda w, o: count.count({"text": ["to be or not to be"]})["be"] == 2,
    "count a frame": lambda w, o: count.count(frame(), column="comment", unit="char", n=2),
    "run with one path": lambda w, o: sb.run("count", _config(str(w / "book.txt")), output=o / "c"),
    "run with a Path": lambda w, o: sb.run("count", _config((w / "book.txt",)), output=o / "c"),
    "plan with one path": lambda w, o: sb.plan("count", _config(str(w / "book.txt"))),
    "tokens of a path": lambda w, o: tokens.build(w / "book.txt", output=o / "t"),
    "tokens of a frame": lambda w, o: tokens.build(
        frame(), output=o / "t", columns=["comment"], tokenizer="char", val_ratio=0.2
    ),
    "tokens of texts": lambda w, o: tokens.build({"text": ["one", "two"]}, output=o / "t").tokens.size,
    "a tokenizer": lambda w, o: tokens.train_tokenizer(w / "book.txt", output=o / "t", kind="word").exists(),
    "a store opened": lambda w, o: tokens.TokenStore.open(
        tokens.build({"text": ["one"]}, output=o / "t").folder
    ),
    "detect bytes": lambda w, o: charset.detect((w / "old.txt").read_bytes()).encoding == "cp1252",
    "a distance of graphs": lambda w, o: graph.ged(
        graph.Graph(labels=["C", "O"], edges=[(0, 1)]), graph.Graph(labels=["C"], edges=[])
    ),
    "verify by str": lambda w, o: sb.verify(str(w / "languages")),
    "open by Path": lambda w, o: sb.open_artifact(w / "languages").files,
    "map over a list": lambda w, o: (
        sb.map_examples(_length, ["a", "bc"], options=RunOptions(executor="serial")).total == 3
    ),
    "map over a frame": lambda w, o: (
        sb.map_examples(
            lambda row, _: len(row["comment"]), frame(), options=RunOptions(executor="serial")
        ).total
    ),
    "map over a generator": lambda w, o: (
        sb.map_examples(
            _length, (text for text, _ in ROWS), options=RunOptions(executor="serial", workers=1)
        ).total
    ),
    "progress, shown": lambda w, o: count.count({"text": ["a"]}, progress=True),
    "short reprs": lambda w, o: all(len(repr(thing)) < 160 for thing in (_model(w), _store(o))),
    "objectives at the front door": lambda w, o: [sb.FunctionObjective, sb.ArrayBatches],
}


def _config(inputs: Any) -> sb.CountConfig:
    return sb.CountConfig(inputs=inputs)


def _length(example: Any, state: Any) -> int:
    return len(example)


def _model(world: Path) -> langid.LangidModel:
    return langid.LangidModel.load(world / "languages")


def _store(out: Path) -> tokens.TokenStore:
    return tokens.build({"text": ["one", "two"]}, output=out / "store")


def _saved(world: Path, out: Path) -> bool:
    model = _model(world)
    model.save(out / "m")
    again = langid.LangidModel.load(out / "m")
    return again.predict(["good", "gut"]) == model.predict(["good", "gut"])


@pytest.mark.parametrize("name", RIGHT_CALLS)
def test_an_obvious_call_works(name: str, world: Path, tmp_path: Path) -> None:
    assert RIGHT_CALLS[name](world, tmp_path) is not False


# what was called, the error, and words that must be in it: what is wrong, or what to write
WRONG_CALLS: dict[str, tuple[Call, type[SamebitsError], str]] = {
    "a setting with a typo": (
        lambda w, o: langid.train(ROWS, cycels=2),
        ConfigError,
        "did you mean 'cycles'",
    ),
    "a column with a typo": (
        lambda w, o: langid.train(frame(), text_column="coment"),
        ConfigError,
        "did you mean text_column='comment'",
    ),
    "a frame without the column": (
        lambda w, o: langid.train(frame()),
        ConfigError,
        "it has 'comment', 'lang'",
    ),
    "a frame to predict": (lambda w, o: _model(w).predict(frame()), ConfigError, r"data\['comment'\]"),
    "texts for paths": (lambda w, o: count.count(["one text", "two texts"]), ConfigError, '{"text": '),
    "a missing file": (lambda w, o: count.count("bok.txt"), InputError, "no such file"),
    "minus one worker": (
        lambda w, o: langid.train(ROWS, options=RunOptions(workers=-1)),
        ConfigError,
        "or auto",
    ),
    "half a worker": (
        lambda w, o: langid.train(ROWS, options=RunOptions(workers=0.5)),  # type: ignore[arg-type]
        ConfigError,
        "whole number",
    ),
    "an unknown executor": (
        lambda w, o: langid.train(ROWS, options=RunOptions(executor="thread")),
        ConfigError,
        "did you mean 'threads'",
    ),
    "an unknown job": (lambda w, o: sb.run("cuont", None, output=o), ConfigError, "did you mean 'count'"),
    "an output that is there": (
        lambda w, o: langid.train(ROWS, output=w / "languages"),
        OutputExists,
        "overwrite",
    ),
    "a model that is none": (lambda w, o: langid.LangidModel.load(w), InputError, "hint|no "),
    "progress with a typo": (
        lambda w, o: count.count({"text": ["a"]}, progress="yes"),  # type: ignore[arg-type]
        ConfigError,
        'True, False or "auto"',
    ),
    "graphs of a frame": (lambda w, o: graph.train(frame(), output=o / "g"), ConfigError, "CoNLL-U"),
    "predict a number": (lambda w, o: langid.predict(5), ConfigError, "text"),  # type: ignore[call-overload]
    "no rows": (lambda w, o: tokens.build([], output=o / "t"), ConfigError, "without rows"),
    "the wrong key of JSON lines": (
        lambda w, o: langid.train(w / "comments.jsonl"),
        TooManyBadRows,
        "'comment', 'lang'; choose it with --text-column",
    ),
    "a string to map over": (lambda w, o: sb.map_examples(_length, "abc"), ConfigError, "pass a list"),
}


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_an_obvious_mistake_gets_a_sentence(name: str, world: Path, tmp_path: Path) -> None:
    call, kind, words = WRONG_CALLS[name]
    with pytest.raises(kind, match=words) as caught:
        call(world, tmp_path)
    assert caught.value.hint or "overwrite" in str(caught.value) or "no such" in str(caught.value)
    assert caught.value._render_traceback_() == [f"{kind.__name__}: {caught.value}"], "short in a notebook"


RIGHT_COMMANDS = [
    "--help",
    "--version",
    "count --help",
    "count --help-all",
    "lm train --help",
    "lm train --help-all",
    "tokens build --help",
    "langid --help",
    "doctor --help",
    "count {w}/book.txt -o {o}/c",
    "count {w}/book.txt {w}/old.txt -o {o}/c --max-bad 50%",
    "count {w}/*.txt -o {o}/c --max-bad 5 -w 2",
    "count {w}/comments.csv -o {o}/c --column comment -n 2 --unit char --lower",
    "count {w}/comments.csv -o {o}/c --text-column comment",
    "count {w}/book.txt -o {o}/c --json",
    "count {w}/book.txt -o {o}/c -q --no-progress",
    "count {w}/book.txt -o {o}/c -x processes -w 1",
    "langid train {w}/comments.csv -o {o}/m --text-column comment",
    "langid predict -m {w}/languages {w}/comments.csv --text-column comment",
    "langid eval -m {w}/languages {w}/comments.csv --text-column comment",
    "tokens build {w}/book.txt -o {o}/t",
    "tokens build {w}/comments.jsonl -o {o}/t --columns comment -t char",
    "charset detect {w}/old.txt",
    "lm train {w}/comments.csv -o {o}/m --text-column comment --preset tiny --dry-run",
    "plan count {w}/book.txt",
    "plan tokens build {w}/book.txt",
    "verify {w}/languages",
    "verify {w}/languages --against {w}/languages",
    "report {w}/languages -o {o}/report.html",
    "completion bash",
    "tokens --help",
    "langid predict {w}/book.txt",
    "langid predict {w}/plain.csv --text-column comment -o {o}/labelled.csv",
    "langid predict {w}/book.txt --languages en,de --json",
    "langid spans {w}/book.txt",
    "langid clean {w}/comments.csv -m {w}/languages -o {o}/cleaned --text-column comment",
    "charset convert {w}/old.txt -o {o}/utf8",
    "charset detect {w}/old.txt --json",
    "charset pairs",
    "tokens train-tokenizer {w}/book.txt -o {o}/t --kind word",
    "lm train {w}/book.txt -o {o}/m --preset tiny --steps 2 --no-progress",
    "graph distance {w}/a.json {w}/a.json",
    "bench parity count {w}/book.txt --worker-counts 1,2 --hash-seeds 0",
    "plan langid {w}/comments.csv --text-column comment",
]


@pytest.mark.parametrize("line", RIGHT_COMMANDS)
def test_an_obvious_command_works(line: str, world: Path, tmp_path: Path, samebits: Run) -> None:
    done = samebits(*[part.format(w=world, o=tmp_path) for part in line.split()])
    assert done.code == 0, done.err


WRONG_COMMANDS = {
    "cuont {w}/book.txt": "did you mean 'count'",
    "count {w}/book.txt": "-o",
    "count {w}/bok.txt -o {o}/c": "book.txt",
    "count {w}/book.txt -o {o}/c --wokers 2": "--workers",
    "count {w}/book.txt -o {o}/c -w many": "auto",
    "count {w}/book.txt -o {o}/c -x proceses": "did you mean 'processes'",
    "count {w}/book.txt -o {w}/languages": "--overwrite",
    "count {w}/comments.csv -o {o}/c": "did you mean 'comment'|known: comment, id, lang; choose it with --text-column",
    "count {w}/comments.jsonl -o {o}/c": "choose it with --text-column",
    "langid train {w}/comments.csv -o {o}/m": "choose it with --text-column",
    "langid train {w}/comments.jsonl -o {o}/m": "choose it with --text-column",
    "langid predict {w}/comments.csv -m {w}": "manifest|model|artifact",
    "lm train {w}/comments.csv -o {o}/m": "choose it with --text-column",
    "lm sample": "-m RUN",
    "lm sample -m {w}/nowhere": "nowhere",
    "lm eval -m {w}/nowhere": "INPUT",
    "tokens build {w}/book.txt -o {o}/t -t nothing.json": "nothing.json",
    "verify {w}/nowhere": "nowhere",
    "report {w}/nowhere": "no such file",
    "bench speedup count {w}/book.txt": "too few for 2 workers",
    "": "Usage",
    "count": "missing argument",
    "help": "samebits --help",
    "langid": "Usage|Commands",
    "langid predict {w}/comments.csv": "choose it with --text-column",
    "langid eval {w}/comments.csv --text-column comment --lang-column lan": "'lang'. Choose it with --lang-column",
    "langid spans {w}/comments.csv": "choose it with --text-column",
    "langid train {w}/comments.csv -o {o}/m --mode exakt": "'exact'",
    "langid predict {w}/book.txt --languages klingon": "klingon",
    "langid predict {w}/book.txt -m {w}/book.txt": "book.txt",
    "charset detect {w}/nope.txt": "nope.txt",
    "charset detct {w}/old.txt": "did you mean 'detect'",
    "charset convert": "missing argument",
    "lm train {w}/book.txt -o {o}/m --preset huge": "'tiny'",
    "lm train {w}/book.txt -o {o}/m --steps many": "--steps",
    "lm train {w}/my -o {o}/m": "my notes.txt|no such file",
    "tokens build {w}/comments.csv -o {o}/t": "choose it with --text-column",
    "graph distance {w}/a.json": "missing argument|two",
    "graph distance {w}/a.json {w}/book.txt": "book.txt",
    "plan cuont {w}/book.txt": "did you mean 'count'",
    "pipeline run {w}/recipe.toml": "recipe.toml",
}


@pytest.mark.parametrize("line", WRONG_COMMANDS)
def test_an_obvious_slip_is_answered_with_what_to_type(
    line: str, world: Path, tmp_path: Path, samebits: Run
) -> None:
    import re

    done = samebits(*[part.format(w=world, o=tmp_path) for part in line.split()])
    assert done.code in (1, 2)
    assert re.search(WRONG_COMMANDS[line], done.err), done.err
    assert "Traceback" not in done.err


def test_there_are_forty_of_each() -> None:
    assert len(RIGHT_CALLS) >= 40
    assert len(RIGHT_COMMANDS) >= 40
    assert len(WRONG_COMMANDS) >= 40


def test_a_corrected_column_goes_on_without_no_resume(world: Path, tmp_path: Path, samebits: Run) -> None:
    """What a typo leaves behind does not stand in the way of the corrected command."""
    first = ["langid", "train", str(world / "comments.jsonl"), "-o", str(tmp_path / "m")]
    assert samebits(*first, "--text-column", "coment").code == 1
    assert samebits(*first, "--text-column", "comment").code == 0


def test_help_shows_few_flags_and_help_all_shows_all(samebits: Run) -> None:
    short, long = samebits("lm", "train", "--help").out, samebits("lm", "train", "--help-all").out
    assert "--muon-lr" in long
    assert "--muon-lr" not in short
    assert "more flags: samebits lm train --help-all" in short
    assert short.count("\n  -") <= 25


def test_a_notebook_shows_records_reports_and_graphs(world: Path, tmp_path: Path) -> None:
    record = sb.run("count", _config(str(world / "book.txt")), output=tmp_path / "c")
    assert record.artifact_digest in record._repr_html_()
    assert "<svg" in graph.Graph(labels=["C", "O"], edges=[(0, 1)])._repr_svg_()
    (tmp_path / "swapped.csv").write_text("text,lang\ngood morning to you,de\nguten Morgen euch allen,en\n")
    report = langid.evaluate_files(_model(world), tmp_path / "swapped.csv")
    assert repr(report) == "<LanguageReport: 0.0000 of 2 rows right, macro F1 0.0000>"
    assert "<td style='text-align:left'>de and en</td>" in report._repr_html_()


def test_a_journal_of_other_settings_is_refused_with_both_values(tmp_path: Path, samebits: Run) -> None:
    """The settings of an interrupted run are compared: the one that changed is named, old and new."""
    (tmp_path / "rows.jsonl").write_text('{"text": "fine"}\n' * 200_000 + "no row\n" * 9000)
    command = ["count", str(tmp_path / "rows.jsonl"), "-o", str(tmp_path / "c"), "-w", "1"]
    assert samebits(*command).code == 1, "too many bad rows, after shards that finished"
    done = samebits(*command, "--lower")
    assert done.code == 1
    assert "lower was False, is True" in done.err
    assert "--no-resume" in done.err
