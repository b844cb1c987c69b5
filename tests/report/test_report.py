"""The report: every section for what there is, everything from data escaped, the same bytes for the same files."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import samebits
from samebits import pipeline
from samebits.cli.app import run as run_command
from samebits.errors import InputError
from samebits.report.charts import Bar, Line, bar_chart, heat_map, line_chart
from samebits.report.page import make_page

EVIL = '<script>alert("x")</script>'
VOID = {"meta", "img", "br", "link", "rect", "line", "circle", "polyline"}
RECIPE = """
[stage.encodings]
job = "charset train"
inputs = ["texts"]
unit = "line"
[stage.text]
job = "charset decode"
inputs = ["raw"]
[stage.languages]
job = "langid train"
inputs = ["@text"]
ledger_text = true
[stage.clean]
job = "langid clean"
inputs = ["@text"]
model = "@languages"
min_confidence = 0.99
[stage.tokens]
job = "tokens build"
inputs = ["@clean"]
tokenizer = "word"
"""


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pipeline's output whose texts, labels and file names try to be markup."""
    world = tmp_path_factory.mktemp("world")
    german = [f"Der Zug {n} fährt heute später nach Österreich {EVIL}" for n in range(30)]
    english = [f"The train {n} leaves later today for the coast {EVIL}" for n in range(30)]
    for language, texts in (("de", german), ("en", english), ("<b>x", english[:9] + german[:9])):
        for folder in ("texts", "raw"):
            (world / folder / language).mkdir(parents=True)
            (world / folder / language / "a<img src=x>.txt").write_text("\n".join(texts), encoding="utf-8")
    (world / "recipe.toml").write_text(RECIPE, encoding="utf-8")
    pipeline.run(world / "recipe.toml")
    return world / "run"


class Checker(HTMLParser):
    """Checks that tags are closed in order, and notes names, ids and links."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: set[str] = set()
        self.ids: set[str] = set()
        self.links: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        values = dict(attrs)
        self.ids.add(str(values.get("id")))
        if tag == "a":
            self.links.add(str(values["href"]).removeprefix("#"))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


def checked(page: str) -> Checker:
    checker = Checker()
    checker.feed(page)
    assert checker.open == []
    return checker


def test_the_page_has_a_section_for_everything_that_was_run(run_folder: Path) -> None:
    found = checked(make_page([run_folder]))
    assert {"runs", "timeline", "langid", "charset", "tokens", "machine"} <= found.ids
    assert found.links <= found.ids


def test_nothing_from_data_becomes_markup(run_folder: Path) -> None:
    page = make_page([run_folder], title=EVIL)
    names = checked(page).names
    assert "script" not in names
    assert "b" not in names
    assert "&lt;script&gt;alert" in page
    assert "&lt;b&gt;x" in page
    assert "a&lt;img src=x&gt;.txt" in page


def test_the_page_asks_for_nothing_from_the_network(run_folder: Path) -> None:
    page = make_page([run_folder])
    assert "http" not in re.sub(r"http-equiv", "", page)
    assert "default-src 'none'" in page


def test_the_same_files_give_the_same_page(run_folder: Path) -> None:
    assert make_page([run_folder]) == make_page([run_folder])


def test_two_runs_of_one_plan_are_compared(tmp_path: Path) -> None:
    book = tmp_path / "book.txt"
    book.write_text("a b c\n" * 100, encoding="utf-8")
    config = samebits.CountConfig(inputs=(str(book),))
    for workers in ("1", "2"):
        options = samebits.RunOptions(workers=workers)
        samebits.run("count", config, output=tmp_path / "runs" / workers, options=options)
    other = tmp_path / "runs" / "2" / "record.json"
    record = json.loads(other.read_bytes()) | {"workers": 2}  # one shard takes one worker: say there were two
    other.write_text(json.dumps(record), encoding="utf-8")
    page = make_page([tmp_path / "runs"])
    assert "<strong>equal</strong>" in page
    assert "Speed-up" not in page, "two single runs are no measurement"
    first = json.loads((tmp_path / "runs" / "1" / "record.json").read_bytes())
    samebits.run("count", samebits.CountConfig(inputs=(str(book),), n=2), output=tmp_path / "runs" / "3")
    forged = tmp_path / "runs" / "3" / "record.json"
    forged.write_text(json.dumps({**record, "plan_digest": first["plan_digest"]}), encoding="utf-8")
    assert "DIFFERENT: 2 digests" in make_page([tmp_path / "runs"])


def speedup_report() -> dict[str, Any]:
    row = {"fastest": 1.0, "slowest": 1.2, "peak_rss": 1_000_000}
    rows = [
        {"workers": 1, "seconds": 2.0, "speedup": 1.0, "efficiency": 1.0, **row},
        {"workers": 2, "seconds": 1.1, "speedup": 1.8, "efficiency": 0.9, **row},
    ]
    return {"job": "count", "executor": "threads", "rows": rows, "serial_share": 0.1, "digest": "d" * 64}


def test_measurements_and_benchmark_records_are_drawn(tmp_path: Path) -> None:
    (tmp_path / "speedup.json").write_text(json.dumps(speedup_report()), encoding="utf-8")
    details = {"median_seconds": {"Counter": 9.3, "samebits -w 1": 1.66}}
    ratios = {"one_worker": 5.7, "megabytes": 63_090.0, "equal": 1.0}
    record = {"name": "count", "equal": True, "ratios": ratios, "details": details}
    (tmp_path / "count.json").write_text(json.dumps(record), encoding="utf-8")
    page = make_page([tmp_path])
    assert {"speedup", "peers", "parity"} <= checked(page).ids
    assert "11.1% serial" in page
    assert "5.7 times as fast" in page
    assert "9.3 s" in page
    assert "1.66 s" in page
    assert "not on this one" in page
    assert "63,090" not in page, "a ratio of megabytes is no ratio of time"


def test_runs_too_short_to_tell_are_not_drawn(tmp_path: Path) -> None:
    report = speedup_report()
    for row in report["rows"]:
        row["seconds"] /= 10
    (tmp_path / "speedup.json").write_text(json.dumps(report), encoding="utf-8")
    page = make_page([tmp_path])
    assert "Too short to tell: 0.2 s" in page
    assert "Amdahl" not in page


def test_losses_and_samples_of_a_language_model_are_shown(tmp_path: Path) -> None:
    """A model's artifact has steps.jsonl and val.jsonl with exact losses; only the reading is tested here."""
    from samebits.core.plan import Plan, cut
    from samebits.data.artifact import ArtifactWriter
    from samebits.data.bad_rows import BadRows

    out = ArtifactWriter(tmp_path / "model", BadRows())
    steps = [{"step": n, "loss": (3.0 - n / 10).hex()} for n in range(10)]
    out.write_bytes("steps.jsonl", b"".join(json.dumps(step).encode() + b"\n" for step in steps))
    out.write_bytes("val.jsonl", json.dumps({"step": 10, "loss": (2.5).hex()}).encode() + b"\n")
    out.write_bytes("samples/final.txt", EVIL.encode())
    out.commit(
        Plan(
            job="lm",
            version=1,
            seed=0,
            config_digest="c",
            input_digest="i",
            source_names=(),
            shards=cut([], 1),
        ),
        {},
        finish=lambda folder, digest: None,
    )
    page = make_page([tmp_path])
    assert "lm" in checked(page).ids
    assert "polyline" in page
    assert "&lt;script&gt;" in page


def test_a_damaged_artifact_is_named_and_the_rest_is_shown(run_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(run_folder, tmp_path / "run")
    (tmp_path / "run" / "clean" / "kept.jsonl").write_bytes(b"{}")
    page = make_page([tmp_path / "run"])
    assert "Could not be read" in page
    assert "kept.jsonl" in page
    assert 'id="tokens"' in page


def test_nothing_to_show_is_an_error_that_says_what_to_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no artifacts or records"):
        make_page([tmp_path])
    with pytest.raises(InputError, match="no such file"):
        make_page([tmp_path / "absent"])


def test_the_command_writes_a_page_and_replaces_none(
    run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "report.html"
    assert run_command(["report", str(run_folder), "-o", str(target)]) == 0
    assert target.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert run_command(["report", str(run_folder), "-o", str(target)]) == 1
    assert "--overwrite" in capsys.readouterr().err


def test_charts_leave_out_what_cannot_be_drawn() -> None:
    nothing = line_chart("t", [Line("a", [(1.0, float("nan"))])], x_label="x", y_label="y")
    assert (nothing, bar_chart("t", []), heat_map("t", [], [], [])) == ("", "", "")
    one = line_chart("t", [Line("a", [(1.0, 2.0)])], x_label="x", y_label="y")
    assert "circle" in one
    assert "1,000" in bar_chart("t", [Bar("a", 1000.0), Bar("b", 0.0)])


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine (Debian: apt install chromium)")
@pytest.mark.parametrize("width", [1280, 400])
def test_a_browser_shows_it_without_a_word_of_complaint(run_folder: Path, tmp_path: Path, width: int) -> None:
    page, picture = tmp_path / "report.html", tmp_path / "page.png"
    page.write_text(make_page([run_folder]), encoding="utf-8")
    flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--enable-logging=stderr",
        "--dump-dom",
    ]
    command = [
        str(CHROMIUM),
        *flags,
        f"--user-data-dir={tmp_path / 'profile'}",
        f"--window-size={width},2000",
    ]
    done = subprocess.run([*command, page.as_uri()], capture_output=True, text=True, check=True)
    assert "CONSOLE" not in done.stderr
    assert 'id="langid"' in done.stdout
    flags.remove("--dump-dom")
    shot = [str(CHROMIUM), *flags, f"--user-data-dir={tmp_path / 'profile'}", f"--window-size={width},2000"]
    subprocess.run([*shot, f"--screenshot={picture}", page.as_uri()], capture_output=True, check=True)
    assert picture.stat().st_size > 10_000


def test_results_come_first_and_tables_are_folded(tmp_path: Path) -> None:
    book = tmp_path / "book.txt"
    book.write_text("a b c\n" * 100, encoding="utf-8")
    for name in ("one", "two"):
        config = samebits.CountConfig(inputs=(str(book),))
        samebits.run("count", config, output=tmp_path / "runs" / name)
    page = make_page([tmp_path / "runs"])
    sections = re.findall(r'<section id="(\w+)">', page)
    assert sections[0] == "results"
    assert sections.index("parity") < sections.index("runs")
    assert "1 of 1" in page, "the same computation twice, the same digest"
    assert page.partition('<section id="runs">')[2].partition("<table")[0].count("<details>") == 1
