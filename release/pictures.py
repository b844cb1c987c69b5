"""Make the pictures of README and guides from real runs: ``python -m release.pictures [chain|terminal|report|serve ...]``.

``chain`` runs the recipe of ``samebits pipeline init`` twice, with different executors and numbers of workers, and draws its
stages with the digests that both gave. ``terminal`` types commands into a terminal of 80 columns (tmux) and keeps the screen.
``report`` keeps the top of the demo's page, ``serve`` three pages of ``samebits serve``. They are looked at, not compared: whoever changes a screen makes them again.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parent.parent
PICTURES = REPO / "docs" / "pictures"
GUIDES = REPO / "docs" / "guides" / "pictures"
TEXTS = "Der Zug nach München fährt heute vom anderen Gleis ab. The train leaves from another platform."
SAMEBITS = Path(sys.executable).with_name("samebits")
SAMPLES = REPO / "src" / "samebits" / "samples"
RAW = {"de": "cp1252", "ru": "koi8-r", "el": "iso8859-7", "pl": "cp1250"}
SHOWN = {
    "text": ("text", "charset"),
    "clean": ("languages", "langid"),
    "tokens": ("tokens", "tokens"),
    "model": ("a model", "lm"),
}
SESSION = [
    "samebits lm train book.txt -o one -w 2 --preset tiny -s 50",
    "SAMEBITS_ISA=avx2 samebits lm train book.txt -o two -w 1 --preset tiny -s 50",
    "samebits verify one --against two",
    "samebits langid predict lines.txt",
]
COLOURS = {
    "30": "#484f58",
    "31": "#ff7b72",
    "32": "#7ee787",
    "33": "#e3b341",
    "34": "#79c0ff",
    "35": "#d2a8ff",
    "36": "#76e3ea",
    "37": "#c9d1d9",
}


def main() -> None:
    """Make the pictures that were asked for, or all."""
    PICTURES.mkdir(exist_ok=True)
    wanted = sys.argv[1:] or ["chain", "terminal", "report", "serve"]
    with tempfile.TemporaryDirectory() as scratch:
        for name in wanted:
            {"chain": chain, "terminal": terminal, "report": report, "serve": serve}[name](Path(scratch))


def chain(folder: Path) -> None:
    """Run the recipe in two ways and draw it."""
    for language, encoding in RAW.items():
        text = (SAMPLES / f"{language}.txt").read_text(encoding="utf-8")
        for place, as_bytes in (("texts", text.encode()), ("raw", text.encode(encoding, "ignore"))):
            (folder / place / language).mkdir(parents=True)
            (folder / place / language / "a.txt").write_bytes(as_bytes)
    _samebits(folder, "pipeline", "init", "recipe.toml")
    found: list[dict[str, Any]] = []
    for ways in (("-w", "1", "-x", "serial"), ("-w", "3", "-x", "processes")):
        output = f"run{len(found)}"
        _samebits(folder, "pipeline", "run", "recipe.toml", "-o", output, "--set", "model.steps=20", *ways)
        found.append(json.loads((folder / output / "pipeline.json").read_text(encoding="utf-8")))
    assert found[0] == found[1], "the recipe gave two results"
    (PICTURES / "chain.svg").write_text(_draw(found[0]), encoding="utf-8")


def _draw(found: dict[str, Any]) -> str:
    """Draw boxes for the stages, with arrows that name the job and the digest of what it made."""
    digests = {stage["name"]: stage["digest"] for stage in found["stages"]}
    boxes = [("bytes", "", ""), *((title, job, digests[name][:8]) for name, (title, job) in SHOWN.items())]
    step, box = 180, 96
    parts = []
    for number, (title, job, digest) in enumerate(boxes):
        x = 8 + number * step
        parts.append(f'<rect x="{x}" y="34" width="{box}" height="44" rx="7" class="box"/>')
        parts.append(f'<text x="{x + box / 2}" y="61" class="title">{title}</text>')
        if number:
            middle = x - (step - box) / 2
            parts.append(f'<path d="M{x - step + box + 6} 56H{x - 12}" class="line"/>')
            parts.append(f'<path d="M{x - 14} 51l9 5-9 5z" class="tip"/>')
            parts.append(f'<text x="{middle}" y="46" class="job">{job}</text>')
            parts.append(f'<text x="{x + box / 2}" y="98" class="digest">{digest}…</text>')
    width = 16 + (len(boxes) - 1) * step + box
    note = "the same digests with one worker in one thread and with three processes"
    parts.append(f'<text x="{width / 2}" y="124" class="note">{note}</text>')
    style = (
        "text{font-family:system-ui,sans-serif;text-anchor:middle;fill:#57606a}"
        ".title{font-size:15px;font-weight:600;fill:#0b5cad}.job{font-size:13px}.note{font-size:12px}"
        ".digest{font:12px ui-monospace,monospace;fill:#1a7f37}.box{fill:none;stroke:#0b5cad;stroke-width:1.6}"
        ".line{stroke:#57606a;stroke-width:1.4}.tip{fill:#57606a}"
        "@media(prefers-color-scheme:dark){text{fill:#9da7b3}.title{fill:#79c0ff}.digest{fill:#7ee787}"
        ".box{stroke:#79c0ff}.line{stroke:#9da7b3}.tip{fill:#9da7b3}}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} 134" width="{width}" height="134" role="img">'
        f"<title>From bytes to a model, with the digest of every stage</title><style>{style}</style>"
        f"{''.join(parts)}</svg>\n"
    )


def terminal(folder: Path) -> None:
    """Type the session into a terminal of 80 columns and keep its screen."""
    text = (SAMPLES / "en.txt").read_text(encoding="utf-8")
    (folder / "book.txt").write_text(text, encoding="utf-8")
    lines = "Guten Morgen, wie geht es dir?\nBuenos días, ¿cómo estás?\nМы гуляли в парке.\n"
    (folder / "lines.txt").write_text(lines, encoding="utf-8")
    tmux = ["tmux", "-L", f"samebits-{folder.name}"]
    shell = f"PATH={SAMEBITS.parent}:$PATH PS1='$ ' bash --norc --noprofile"
    subprocess.run([*tmux, "new-session", "-d", "-x", "80", "-y", "32", "-c", str(folder), shell], check=True)
    try:
        _wait_for_prompt(tmux)
        for command in SESSION:
            subprocess.run([*tmux, "send-keys", command, "Enter"], check=True)
            _wait_for_prompt(tmux)
        screen = subprocess.run(
            [*tmux, "capture-pane", "-p", "-e"], check=True, capture_output=True, text=True
        ).stdout
    finally:
        subprocess.run([*tmux, "kill-server"], check=False)
    _photograph_html(_as_html(screen.rstrip().removesuffix("$").rstrip()), PICTURES / "terminal.png")


def _wait_for_prompt(tmux: list[str]) -> None:
    for _ in range(600):
        time.sleep(0.2)
        pane = subprocess.run(
            [*tmux, "capture-pane", "-p"], check=True, capture_output=True, text=True
        ).stdout
        if pane.rstrip().split("\n")[-1] == "$":
            return
    raise TimeoutError("the command did not end within two minutes")


def _as_html(screen: str) -> str:
    """Turn a screen with colours into a page."""
    body, opened = "", False
    for part in re.split(r"(\x1b\[[\d;]*m)", screen):
        code = re.fullmatch(r"\x1b\[([\d;]*)m", part)
        if code is None:
            body += html.escape(part)
            continue
        body += "</span>" if opened else ""
        colour = next((COLOURS[number] for number in code[1].split(";") if number in COLOURS), None)
        weight = "font-weight:bold;" if "1" in code[1].split(";") else ""
        opened = bool(colour or weight)
        body += f'<span style="{weight}color:{colour or "inherit"}">' if opened else ""
    look = "margin:0;padding:14px 18px;background:#0d1117;color:#e6edf3;font:14px/1.45 ui-monospace,monospace;display:inline-block"
    return f'<body style="margin:0;background:#0d1117"><pre style="{look}">{body}{"</span>" if opened else ""}</pre>'


def _photograph_html(page: str, target: Path) -> None:
    from tests.serve.browser import opened

    with opened() as browser:
        tab = browser.new_page(viewport={"width": 780, "height": 400})
        tab.set_content(page)
        tab.locator("pre").screenshot(path=target)


def report(folder: Path) -> None:
    """Run the demo and keep the top of its page."""
    from tests.serve.browser import opened

    records = REPO / "benchmarks" / "records"  # as make demo shows it
    _samebits(folder, "demo", "-o", "demo", "--no-progress", "--with", str(records))
    with opened() as browser:
        tab = browser.new_page(viewport={"width": 960, "height": 720}, color_scheme="light")
        tab.goto((folder / "demo" / "report.html").as_uri())
        tab.screenshot(path=PICTURES / "report.png")


def serve(folder: Path) -> None:
    """Train two models whose learning rates part halfway and a third that goes on, and keep three pages of the server."""
    from samebits.cli.commands.demo_story import story

    (folder / "book.txt").write_text(story(), encoding="utf-8")
    train = ["lm", "train", "book.txt", "--preset", "tiny", "--no-progress"]
    for name, cooldown in (("night-1", "0.5"), ("night-2", "0.4")):
        _samebits(folder, *train, "-o", f"runs/{name}", "-s", "60", "--cooldown", cooldown)
    live = subprocess.Popen(
        [str(SAMEBITS), *train, "-o", "runs/live", "-s", "600"], cwd=folder, stderr=subprocess.DEVNULL
    )
    server = subprocess.Popen(
        [str(SAMEBITS), "serve", "runs", "--no-open", "--port", "0"],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        _photograph_server(server.stdout.readline().strip())
    finally:
        for child in (live, server):
            child.terminate()
            child.wait()


def _photograph_server(address: str) -> None:
    from urllib.request import urlopen

    from tests.serve.browser import opened

    with urlopen(f"{address}api/v1/runs") as answer:
        keys = {run["name"]: run["key"] for run in json.load(answer)["runs"]}
    with opened() as browser:
        tab = browser.new_page(viewport={"width": 860, "height": 560}, color_scheme="light")
        tab.goto(f"{address}try")
        tab.locator("textarea").first.fill(TEXTS)
        tab.get_by_role("button", name="Which language?").click()
        tab.get_by_text("sure, among").wait_for(timeout=60_000)
        tab.evaluate("window.scrollTo(0, 300)")
        tab.screenshot(path=GUIDES / "serve-try-language.png")
        tab.goto(f"{address}compare?runs={keys['night-1']},{keys['night-2']}")
        tab.get_by_text("First step that differs").wait_for()
        tab.screenshot(path=GUIDES / "serve-different.png")
        tab.goto(f"{address}runs/{keys['live']}")
        tab.wait_for_timeout(4000)
        tab.screenshot(path=GUIDES / "serve-live.png")


def _samebits(folder: Path, *arguments: str) -> None:
    subprocess.run([str(SAMEBITS), *arguments], cwd=folder, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    if shutil.which("tmux") is None:
        sys.exit("the picture of a terminal needs tmux: apt-get install tmux")
    main()
