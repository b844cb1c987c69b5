"""Pictures of every page, on a desk and on a phone, in light and dark: ``python -m tests.serve.pictures FOLDER``.

They are looked at, not compared: whoever changes how a page looks makes them again. With ``--guide`` the few pictures of
docs/guides/serve.md are made as well.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tests.serve.browser import opened
from tests.serve.conftest import REPO, Served, serving, trained, until
from tests.serve.test_places import start

from samebits import graph, langid, lm, run
from samebits.core.options import RunOptions
from samebits.graph.config import GenerateConfig
from samebits.langid.clean import CleanConfig
from samebits.tokens import TokensConfig

if TYPE_CHECKING:
    from playwright.sync_api import Page

SAMPLES = REPO / "src" / "samebits" / "samples"
GUIDE = REPO / "docs" / "guides" / "pictures"
WIDTHS = (1280, 400)
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
WRITES = (
    "The harbour was quiet when the last boat came in.\nNobody on the pier had expected it before morning,"
)
ONE = RunOptions(workers="1", max_bad="100%")


def make_scene(folder: Path) -> None:
    """One run of each kind that has a view of its own."""
    book = folder.parent / "book.txt"
    book.write_text((SAMPLES / "en.txt").read_text(encoding="utf-8"), encoding="utf-8")
    run("graph_generate", GenerateConfig(level=2, n=400, depths="2:1"), output=folder / "math", options=ONE)
    small: dict[str, Any] = {"steps": 120, "batch": 16, "shards": 1, "width": 32}
    graph.train(str(folder / "math"), output=folder / "parser", options=ONE, **small)
    rows = []
    for path in sorted(SAMPLES.glob("*.txt")):
        wrong = {"de": "nl", "fr": "es", "pt": "es", "cs": "pl", "sv": "de"}.get(path.stem, path.stem)
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line][:60]
        rows += [{"text": line, "lang": wrong if k % 7 == 0 else path.stem} for k, line in enumerate(lines)]
    table = folder.parent / "comments.jsonl"
    table.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    langid.train(str(table), output=folder / "languages", options=ONE)
    cleaning = CleanConfig(inputs=(str(table),), model=str(folder / "languages"))
    run("langid_clean", cleaning, output=folder / "clean", options=ONE)
    run("tokens", TokensConfig(inputs=(str(book),), tokenizer="word"), output=folder / "tokens", options=ONE)
    tiny: dict[str, Any] = {"layers": 2, "heads": 2, "width": 32, "block": 32, "shards": 1, "steps": 40}
    lm.train(str(book), output=folder / "writer", options=ONE, **tiny)
    trained(folder / "night-1", steps=2000, sample=WRITES)
    trained(folder / "night-2", steps=2000, sample=WRITES)
    trained(folder / "night-3", steps=2000, seed=1, sample=WRITES)


def pages_of(served: Served) -> dict[str, str]:
    """Name of the picture -> page."""
    key = served.key
    return {
        "runs": "/",
        "live": f"/runs/{key('live')}",
        "stopped": f"/runs/{key('stopped')}",
        "finished": f"/runs/{key('night-1')}",
        "clean": f"/runs/{key('clean')}",
        "table": f"/runs/{key('clean')}/file?file=dropped.jsonl",
        "tokens": f"/runs/{key('tokens')}/tokens",
        "choose": "/compare",
        "same": f"/compare?runs={key('night-1')},{key('night-2')}",
        "different": f"/compare?runs={key('night-1')},{key('night-3')}",
        "error": "/nothing-here",
        **{
            f"try-{tab}": f"/try#{tab}"
            for tab in ("language", "encoding", "tokens", "text", "graph", "distance")
        },
    }


def use(page: Page, name: str, folder: Path) -> None:
    """Press the button of a form, so that there is an answer to look at."""
    tab = name.removeprefix("try-")
    if tab == "language":
        page.fill(
            "#language-text",
            "Der Zug nach München fährt heute vom anderen Gleis ab. The train leaves from another platform.",
        )
    if tab == "text":
        page.select_option("#text select", label="writer")
    if tab == "encoding":
        page.set_input_files("#encoding-file", folder / "old.txt")
    else:
        page.click(f"#{tab} button[type=submit]")
    page.wait_for_selector(f"#{tab} .answer > *")
    page.wait_for_selector(f"#{tab} button[type=submit]:enabled", timeout=60_000)


def take(served: Served, output: Path, *, guide: bool) -> None:
    """Take all pictures."""
    (output / "old.txt").write_bytes(
        (SAMPLES / "ru.txt").read_text(encoding="utf-8")[:600].encode("koi8_r", "replace")
    )
    with opened() as browser:
        for width in WIDTHS:
            for scheme in SCHEMES:
                context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
                page = context.new_page()
                for name, path in pages_of(served).items():
                    page.goto("about:blank")
                    page.goto(served.url + path)
                    page.wait_for_timeout(400)
                    if name.startswith("try-"):
                        use(page, name, output)
                    page.screenshot(path=output / f"{name}-{width}-{scheme}.png", full_page=True)
                context.close()
        if guide:
            GUIDE.mkdir(exist_ok=True)
            page = browser.new_page(viewport={"width": 860, "height": 560}, color_scheme="light")
            for name in ("live", "different", "try-language"):
                page.goto("about:blank")
                page.goto(served.url + pages_of(served)[name])
                page.wait_for_timeout(400)
                if name.startswith("try-"):
                    use(page, name, output)
                    page.locator(".tabs").scroll_into_view_if_needed()
                    page.evaluate("document.querySelector('textarea').rows = 2; scrollTo(0, 80)")
                page.screenshot(path=GUIDE / f"serve-{name}.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--guide", action="store_true")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "runs"
        folder.mkdir()
        make_scene(folder)
        stopped = start(folder / "stopped", pace=0.005, steps=400)
        until(lambda: (folder / "stopped.journal" / "checkpoints" / "lm" / "step-000100.txt").exists())
        stopped.kill()
        stopped.wait()
        live = start(folder / "live", pace=0.2, steps=2000)
        try:
            until(lambda: (folder / "live.journal" / "checkpoints" / "lm" / "step-000060.txt").exists(), 60)
            with serving(folder) as served:
                take(served, given.output, guide=given.guide)
        finally:
            live.kill()
            live.wait()


if __name__ == "__main__":
    main()
