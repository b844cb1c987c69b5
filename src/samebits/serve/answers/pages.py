"""Answers for people: pages made from templates in which every text is escaped."""

from __future__ import annotations

import asyncio
import hashlib
from functools import lru_cache
from importlib import resources
from typing import Any

import jinja2
import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from samebits.core.observing import clock
from samebits.report.charts import Line, line_chart
from samebits.serve import words
from samebits.serve.answers import api
from samebits.serve.runs.artifacts import FileNotListed, confusion_of, files_of, path_of, read_text
from samebits.serve.site import site_of
from samebits.serve.trying.models import ModelFailed, TooBusy

__all__ = ["ROUTES", "error_page", "static_version"]

MOST_TEXT = 200_000
MOST_CELL = 400
MOST_ROWS = 500  # of the list
TOKEN_COLOURS = 6
FIGURES = {
    "elapsed": "time",
    "rate": "speed",
    "left": "time left",
    "workers": "workers",
    "cores": "cores in use",
    "memory": "memory",
    "bad": "unusable rows",
    "loss": "loss",
    "val_loss": "validation loss",
}


@lru_cache(1)
def _templates() -> jinja2.Environment:
    def load(name: str) -> str:
        return (resources.files("samebits") / "serve" / "templates" / name).read_text(encoding="utf-8")

    made = jinja2.Environment(
        loader=jinja2.FunctionLoader(load),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "size": words.size,
        "count": words.count,
        "duration": words.duration,
        "share": words.share,
        "cell": _cell,
        "is_graph": _is_graph,
        "to_json": lambda value: msgspec.json.encode(value).decode(),
    }
    return made


def static_version(files: dict[str, bytes]) -> str:
    """Return a name that changes when a file does, so that a browser never keeps an old one."""
    return hashlib.sha256(b"".join(files[name] for name in sorted(files))).hexdigest()[:10]


def _page(request: Request, template: str, status: int = 200, **given: Any) -> Response:
    text = (
        _templates()
        .get_template(template)
        .render(
            static=request.app.state.static, version=request.app.state.version, path=request.url.path, **given
        )
    )
    return Response(text, status, media_type="text/html")


def error_page(request: Request, status: int, sentence: str) -> Response:
    """Return a page that says what went wrong."""
    return _page(
        request, "error.html", status, title="Not here" if status == 404 else "Sorry", sentence=sentence
    )


def _cell(value: Any) -> str:
    """Return a value of a row as short text."""
    text = value if isinstance(value, str) else "–" if value is None else msgspec.json.encode(value).decode()
    return text if len(text) <= MOST_CELL else text[: MOST_CELL - 1] + "…"


def _is_graph(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("nodes"), list) and len(value["nodes"]) > 0


async def show_runs(request: Request) -> Response:
    """GET /: the list."""
    site = site_of(request)
    rows = await site.hub.rows()
    now = clock.utc_seconds()
    shown = [(row, words.ago(row.changed, now)) for row in rows[:MOST_ROWS]]
    return _page(
        request,
        "runs.html",
        title="Runs",
        rows=shown,
        folder=site.places.folder.name,
        cut=site.places.cut_short or len(rows) > MOST_ROWS,
    )


async def show_run(request: Request) -> Response:
    """GET /runs/KEY."""
    site = site_of(request)
    place, about = site.run(request)
    if request.path_params["key"] == "latest":
        return RedirectResponse(f"/runs/{place.key}", 303)
    watcher = await site.hub.watch(place)
    texts = watcher.texts()
    figures = [
        (key, label, texts[key])
        for key, label in FIGURES.items()
        if _worth_showing(key, texts, watcher.state)
    ]
    confusion = await asyncio.to_thread(confusion_of, place, about) if watcher.state == "finished" else None
    cores = site.hub.cores.shares() if watcher.state == "running" else []
    return _page(
        request,
        "run.html",
        title=place.name,
        place=place,
        about=about,
        watcher=watcher,
        texts=texts,
        figures=figures,
        cores=list(enumerate(cores)),
        files=files_of(about),
        verdict=site.verifier.verdict(place, about),
        confusion=confusion,
        samples=list(reversed(watcher.samples.newest)),
        final=_final_sample(place, about),
        results=[
            (key.replace("_", " "), _result(value))
            for key, value in about.metrics.items()
            if _is_result(value)
        ],
        stream=f"/api/v1/runs/{place.key}/events?since={watcher.published[-1].version}",
    )


def _worth_showing(key: str, texts: dict[str, str], state: str) -> bool:
    if key in ("left", "cores", "rate"):
        return state == "running"
    if key in ("loss", "val_loss", "workers"):
        return texts[key] != "–"
    return key != "bad" or texts[key] != "0"


def _is_result(value: Any) -> bool:
    return isinstance(value, int | float | str) and value != ""


def _result(value: float | str) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else words.number(value)


def _final_sample(place: Any, about: Any) -> str:
    try:
        return read_text(path_of(place, about, "samples/final.txt"), 8000)[0]
    except (FileNotListed, OSError):
        return ""


async def show_file(request: Request) -> Response:
    """GET /runs/KEY/file?file=NAME: a table, a text, a picture, or what can be said of other bytes."""
    site = site_of(request)
    place, about = site.run(request)
    name = request.query_params.get("file", "")
    try:
        path = path_of(place, about, name)
    except FileNotListed:
        raise HTTPException(404, "the artifact has no such file") from None
    listed = next(file for file in files_of(about) if file.name == name)
    given: dict[str, Any] = {"title": name, "place": place, "file": listed}
    if listed.kind == "table":
        given["table"] = (await api.rows_of(request))[1]
        given["page"] = api.page_number(request)
        given["search"] = request.query_params.get("search", "")[:200]
        given["where"] = [
            (k.removeprefix("where."), v) for k, v in request.query_params.items() if k.startswith("where.")
        ]
    elif listed.kind == "text":
        given["text"], given["whole"] = await asyncio.to_thread(read_text, path, MOST_TEXT)
    return _page(request, "file.html", **given)


async def show_tokens(request: Request) -> Response:
    """GET /runs/KEY/tokens: rows of a token store, coloured."""
    site = site_of(request)
    place, about = site.run(request)
    splits = [name for name in about.metrics.get("splits", {}) if isinstance(name, str)] or ["train"]
    split = request.query_params.get("split", splits[0])[:40]
    page = api.page_number(request)
    try:
        folder = str(place.output)
        shown = await site.models.ask(
            "token_rows", 60.0, folder=folder, split=split, start=page * 20, rows=20
        )
    except (TooBusy, ModelFailed) as error:
        raise HTTPException(422, str(error) or "the models are busy; try again in a moment") from None
    return _page(
        request,
        "tokens.html",
        title=f"Tokens of {place.name}",
        place=place,
        shown=shown,
        splits=splits,
        split=split,
        page=page,
        colours=TOKEN_COLOURS,
        more=(page + 1) * 20 < shown["total"],
    )


async def show_comparison(request: Request) -> Response:
    """GET /compare?runs=KEY,KEY; without runs, a form to choose them."""
    site = site_of(request)
    keys = ",".join(request.query_params.getlist("run")) or request.query_params.get("runs", "")
    if keys.count(",") == 0:
        rows = await site.hub.rows()
        return _page(request, "choose.html", title="Compare", rows=rows, chosen=keys)
    if "run" in request.query_params:
        return RedirectResponse(f"/compare?runs={keys}", 303)
    found = await api.compare_runs(request)
    watchers = [await site.hub.watch(place) for place, _ in found["pairs"]]
    charts = []
    for key, title in (("loss", "Loss"), ("memory", "Memory in MB")):
        lines = [
            Line(
                f"{watcher.place.name}: {series.name}" if key == "loss" else watcher.place.name, series.points
            )
            for watcher in watchers
            for series in watcher.charts[key].series
            if len(series.points) > 1
        ]
        chart = watchers[0].charts[key]
        if len(lines) > 1:
            drawn = line_chart(title, lines, x_label=chart.x_label, y_label="", from_zero=chart.from_zero)
            charts.append((title, drawn))
    return _page(request, "compare.html", title="Compare", charts=charts, **found)


async def show_try(request: Request) -> Response:
    """GET /try."""
    kinds: dict[str, list[Any]] = {}
    for model in await asyncio.to_thread(site_of(request).all_models):
        kinds.setdefault(model.kind, []).append(model)
    return _page(request, "try.html", title="Try", kinds=kinds)


ROUTES = [
    Route("/", show_runs),
    Route("/runs", lambda request: RedirectResponse("/", 303)),
    Route("/runs/{key}", show_run),
    Route("/runs/{key}/file", show_file),
    Route("/runs/{key}/tokens", show_tokens),
    Route("/compare", show_comparison),
    Route("/try", show_try),
]
