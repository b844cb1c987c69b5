"""Put the sections on one page: no script, no network, styles inline. The same files give the same bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import resources
from pathlib import Path

from markupsafe import Markup

from samebits.report.collect import Collection, collect
from samebits.report.models import graph_section, lm_section
from samebits.report.parts import Section, details, join
from samebits.report.peers import peers_section
from samebits.report.results import results_section
from samebits.report.runs import machine_section, parity_section, runs_section
from samebits.report.texts import charset_section, langid_section, tokens_section
from samebits.report.timing import memory_section, speedup_section, timeline_section

__all__ = ["make_page"]

# Results first, then pictures, then tables to unfold.
SECTIONS: tuple[Callable[[Collection], Section | None], ...] = (
    results_section,
    lm_section,
    graph_section,
    langid_section,
    charset_section,
    tokens_section,
    timeline_section,
    speedup_section,
    memory_section,
    parity_section,
    runs_section,
    peers_section,
    machine_section,
)
FOLDED = ("runs", "peers", "machine")
# The policy forbids every script and request: whatever a text contains, the page stays a page.
PAGE = Markup("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>{title}</title>
<style>
{style}
</style>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header><h1>{title}</h1><nav aria-label="Sections"><ul>{links}</ul></nav></header>
<main id="main">
{sections}
</main>
<footer>Made by samebits from records and artifacts alone; the same files give the same page.</footer>
</body>
</html>
""")


def make_page(places: Sequence[Path], *, title: str = "samebits report") -> str:
    """Return the page about everything found in the places.

    Raises:
        InputError: if a place does not exist or holds nothing to show.
    """
    found = collect(places)
    sections = [section for make in SECTIONS if (section := make(found)) is not None]
    style = (resources.files("samebits") / "report" / "style.css").read_text(encoding="utf-8")
    return str(
        PAGE.format(
            title=title,
            style=Markup(style),  # noqa: S704 - the package's own file
            links=join(Markup('<li><a href="#{}">{}</a></li>').format(s.key, s.title) for s in sections),
            sections=join(
                Markup('<section id="{}"><h2>{}</h2>{}</section>\n').format(
                    s.key, s.title, details("Show the tables", s.body) if s.key in FOLDED else s.body
                )
                for s in sections
            ),
        )
    )
