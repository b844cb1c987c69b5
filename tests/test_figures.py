"""Figures in pages are those of the records: the table of benchmarks as a whole, sentences one by one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from benchmarks.pages import prose, table
from benchmarks.pages.records import duration, load, rate, show_like, value_of

from samebits.cli.commands import reference

REPO = Path(__file__).resolve().parent.parent
SENTENCES = list(prose.sentences())
COMMANDS = dict(reference.commands())


def test_the_page_of_benchmarks_is_current() -> None:
    assert (REPO / table.PAGE).read_text(encoding="utf-8") == table.render(), "run: make docs"


@pytest.mark.parametrize(
    "sentence", SENTENCES, ids=lambda sentence: f"{sentence.page}: {sentence.words[:40]}"
)
def test_figures_in_prose_come_from_their_records(sentence: prose.Sentence) -> None:
    assert prose.differing(sentence, (REPO / sentence.page).read_text(encoding="utf-8")) == [], (
        "run: make docs"
    )


def test_a_page_with_another_figure_is_noticed_and_put_right() -> None:
    right = value_of("count", "ratios.one_worker")
    sentence = prose.Sentence("page.md", "{} times as fast", ("count ratios.one_worker",))
    assert prose.differing(sentence, f"is {right:.1f} times\nas fast") == []
    assert prose.differing(sentence, "is 99.9 times as fast") == [
        f"page.md: count ratios.one_worker is {right:.1f}, the page says 99.9"
    ]
    assert prose.differing(sentence, "is fast") == ["page.md: 0 places match '{} times as fast'"]


def test_refreshing_writes_the_figures_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table_of_figures = tmp_path / "figures.toml"
    table_of_figures.write_text('["page.md"]\n', encoding="utf-8")
    table_of_figures.write_text(
        '[["page.md"]]\nwords = "{} and {} times"\nfrom = ["count ratios.one_worker", "count ratios.two_workers"]\n',
        encoding="utf-8",
    )
    monkeypatch.setattr(prose, "FIGURES", table_of_figures)
    page = tmp_path / "page.md"
    page.write_text("before 0.0 and 0.00 times after\n", encoding="utf-8")
    one, two = value_of("count", "ratios.one_worker"), value_of("count", "ratios.two_workers")
    assert prose.refresh(tmp_path) == ["page.md"]
    assert page.read_text(encoding="utf-8") == f"before {one:.1f} and {two:.2f} times after\n"
    assert prose.refresh(tmp_path) == []


def test_every_record_on_the_page_has_a_day_and_equal_answers() -> None:
    names = set(re.findall(r"records/(\w+)\.json", table.render()))
    assert len(names) > 5
    for name in names:
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", load(name)["measured"])
        assert load(name)["equal"] is True


def test_the_commands_beside_complaints_exist() -> None:
    text = table.render().partition("## What people report")[2]
    shown = re.findall(r"`(?:\w+=\w+ )?(samebits [^`]+)`", text)
    assert len(shown) >= 6
    known = [name for name, command in COMMANDS.items() if not hasattr(command, "commands")]
    assert [command for command in shown if not command.startswith(tuple(f"{name} " for name in known))] == []


def test_numbers_are_written_as_people_say_them() -> None:
    assert [duration(47.37), duration(0.0391), duration(2.5e-4)] == ["47.4 s", "39.1 ms", "250 µs"]
    assert rate(33_723, "tokens/s") == "33,700 tokens/s"
    assert [show_like(5.6418, "5.6"), show_like(12345.6, "12,346"), show_like(2, "2.0")] == [
        "5.6",
        "12,346",
        "2.0",
    ]
