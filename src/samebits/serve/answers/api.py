"""Answers for programs, under ``/api/v1``: every view of the pages as JSON. Documented in docs/reference/serve-api.md."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Route

from samebits.report.page import make_page
from samebits.serve.live.streams import TooManyStreams
from samebits.serve.runs.artifacts import FileNotListed, confusion_of, files_of, path_of
from samebits.serve.runs.compare import compare, settings_that_differ
from samebits.serve.runs.tables import PAGE_ROWS, read_page
from samebits.serve.site import Json, body_of, field_of, number_of, site_of
from samebits.serve.trying.models import ModelFailed, TooBusy

__all__ = ["ROUTES", "compare_runs", "event_stream", "page_number", "rows_of"]

MOST_TEXT = 20_000
MOST_GRAPH_TEXT = 2_000
MOST_UPLOAD = 1 << 20
MOST_TOKENS = 2_000
MOST_COMPARED = 6
TRY_SECONDS = 60.0
# A drawing of an artifact is shown as an image; opened by itself it may do nothing at all.
DRAWING_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"


async def list_runs(request: Request) -> Response:
    """GET /api/v1/runs."""
    site = site_of(request)
    rows = await site.hub.rows()
    return Json({"runs": [row.plain() for row in rows], "cut_short": site.places.cut_short})


async def show_run(request: Request) -> Response:
    """GET /api/v1/runs/KEY."""
    site = site_of(request)
    place, about = site.run(request)
    watcher = await site.hub.watch(place)
    return Json({**watcher.plain(), "config": about.config, "record": about.record})


async def show_curves(request: Request) -> Response:
    """GET /api/v1/runs/KEY/curves."""
    site = site_of(request)
    watcher = await site.hub.watch(site.run(request)[0])
    return Json(watcher.curves())


async def show_samples(request: Request) -> Response:
    """GET /api/v1/runs/KEY/samples."""
    site = site_of(request)
    watcher = await site.hub.watch(site.run(request)[0])
    return Json({"samples": [{"step": s.step, "text": s.text} for s in watcher.samples.newest]})


async def stream_run(request: Request) -> Response:
    """GET /api/v1/runs/KEY/events: increments, as server-sent events."""
    site = site_of(request)
    given = request.query_params.get("since", "0")
    since = int(given) if given.isdecimal() and len(given) < 16 else 0
    return await event_stream(site.hub.follow(site.run(request)[0], since))


async def stream_list(request: Request) -> Response:
    """GET /api/v1/events: changes of the list, as server-sent events."""
    return await event_stream(site_of(request).hub.follow_list())


async def event_stream(events: AsyncIterator[bytes]) -> Response:
    """Answer with server-sent events; a server that has too many pages says so at once."""

    async def body() -> AsyncIterator[bytes]:
        yield b"retry: 2000\n\n"
        try:
            async for event in events:
                yield event
        except TooManyStreams:
            yield b'event: full\ndata: "too many pages are watching"\n\n'

    return StreamingResponse(body(), media_type="text/event-stream")


async def list_files(request: Request) -> Response:
    """GET /api/v1/runs/KEY/files."""
    site = site_of(request)
    place, about = site.run(request)
    files = [{name: getattr(file, name) for name in file.__slots__} for file in files_of(about)]
    verdict = site.verifier.verdict(place, about)
    return Json({"digest": about.digest, "files": files, "verified": verdict.plain()})


async def verify_run(request: Request) -> Response:
    """POST /api/v1/runs/KEY/verify: check every byte; ask again for the verdict."""
    site = site_of(request)
    return Json(site.verifier.verdict(*site.run(request), start=True).plain())


async def send_file(request: Request) -> Response:
    """GET /api/v1/runs/KEY/file?name=NAME: a listed file as it is."""
    site = site_of(request)
    place, about = site.run(request)
    name = request.query_params.get("name", "")
    try:
        path = path_of(place, about, name)
    except FileNotListed:
        raise HTTPException(404, "the artifact has no such file") from None
    if name.endswith(".svg") and "inline" in request.query_params:
        headers = {"content-security-policy": DRAWING_POLICY}
        return FileResponse(path, media_type="image/svg+xml", headers=headers)
    return FileResponse(
        path, media_type="application/octet-stream", filename=path.name, content_disposition_type="attachment"
    )


def page_number(request: Request) -> int:
    """Return the page asked for, from 0."""
    given = request.query_params.get("page", "0")
    return int(given) if given.isascii() and given.isdecimal() and len(given) < 8 else 0


async def rows_of(request: Request) -> tuple[str, Any]:
    """Return the name of the table a request asks for and the page of it."""
    place, about = site_of(request).run(request)
    name = request.query_params.get("file", "")
    try:
        path = path_of(place, about, name)
    except FileNotListed:
        raise HTTPException(404, "the artifact has no such file") from None
    if not name.endswith(".jsonl"):
        raise HTTPException(400, "that file is not a table")
    where = {
        key.removeprefix("where."): v for key, v in request.query_params.items() if key.startswith("where.")
    }
    search = request.query_params.get("search", "")[:200]
    return name, await asyncio.to_thread(
        read_page, path, page=page_number(request), search=search, where=where
    )


async def show_rows(request: Request) -> Response:
    """GET /api/v1/runs/KEY/rows?file=NAME&page=N&search=TEXT&where.COLUMN=VALUE."""
    name, page = await rows_of(request)
    return Json({"file": name, "page": page_number(request), "rows_per_page": PAGE_ROWS, **page.plain()})


async def show_confusion(request: Request) -> Response:
    """GET /api/v1/runs/KEY/confusion."""
    found = await asyncio.to_thread(confusion_of, *site_of(request).run(request))
    if found is None:
        raise HTTPException(404, "the run dropped no rows for their labels")
    counts = [
        {"label": label, "found": top, "rows": count} for (label, top), count in sorted(found.counts.items())
    ]
    return Json({"counts": counts})


async def show_token_rows(request: Request) -> Response:
    """GET /api/v1/runs/KEY/tokens?split=train&page=N."""
    site = site_of(request)
    place, _ = site.run(request)
    split = request.query_params.get("split", "train")[:40]
    start = page_number(request) * 20
    answer = site.models.ask(
        "token_rows", TRY_SECONDS, folder=str(place.output), split=split, start=start, rows=20
    )
    return Json(await _answered(answer))


async def compare_runs(request: Request) -> dict[str, Any]:
    """Return the comparison of the runs a request names, the first with each other one."""
    site = site_of(request)
    keys = list(dict.fromkeys(filter(None, request.query_params.get("runs", "").split(","))))
    if not 2 <= len(keys) <= MOST_COMPARED:
        raise HTTPException(400, f"name two to {MOST_COMPARED} runs: ?runs=KEY,KEY")
    places = [site.places.get(key) for key in keys]
    if None in places:
        raise HTTPException(404, "there is no such run")
    pairs = [(place, site.hub.abouts.get(place)) for place in places if place is not None]
    settings, how = settings_that_differ([about for _, about in pairs])
    compared = [await asyncio.to_thread(compare, pairs[0], other) for other in pairs[1:]]
    return {"pairs": pairs, "settings": settings, "how": how, "compared": compared}


async def show_comparison(request: Request) -> Response:
    """GET /api/v1/compare?runs=KEY,KEY."""
    found = await compare_runs(request)
    runs = [
        {"key": place.key, "name": place.name, "digest": about.digest or None}
        for place, about in found["pairs"]
    ]
    lists = {
        name: [{"name": setting.name, "values": list(setting.values)} for setting in found[name]]
        for name in ("settings", "how")
    }
    return Json({"runs": runs, **lists, "compared": [comparison.plain() for comparison in found["compared"]]})


async def list_models(request: Request) -> Response:
    """GET /api/v1/models."""
    found = await asyncio.to_thread(site_of(request).all_models)
    return Json({"models": [model.plain() for model in found]})


async def _answered(answer: Any) -> Any:
    """Wait for a model; what went wrong becomes an answer with a status."""
    try:
        return await answer
    except TooBusy:
        raise HTTPException(503, "the models are busy; try again in a moment") from None
    except ModelFailed as error:
        hint = f" ({error.hint})" if error.hint else ""
        raise HTTPException(422, f"{error}{hint}") from None


async def try_language(request: Request) -> Response:
    """POST /api/v1/try/language {"text": ..., "model": KEY}."""
    body = await body_of(request)
    text = field_of(body, "text", most=MOST_TEXT)
    model = await site_of(request).model("language", field_of(body, "model", most=500, default="shipped"))
    return Json(
        await _answered(site_of(request).models.ask("language", TRY_SECONDS, folder=model.folder, text=text))
    )


async def try_encoding(request: Request) -> Response:
    """POST /api/v1/try/encoding?model=KEY with the bytes of a file."""
    data = await request.body()
    if len(data) > MOST_UPLOAD:
        raise HTTPException(413, f"at most {MOST_UPLOAD >> 20} MB of a file are read here")
    model = await site_of(request).model("encoding", request.query_params.get("model", "shipped"))
    given = base64.b64encode(data).decode()
    return Json(
        await _answered(site_of(request).models.ask("encoding", TRY_SECONDS, folder=model.folder, data=given))
    )


async def try_tokens(request: Request) -> Response:
    """POST /api/v1/try/tokens {"text": ..., "model": KEY}."""
    body = await body_of(request)
    text = field_of(body, "text", most=MOST_TEXT)
    model = await site_of(request).model("tokens", field_of(body, "model", most=500, default="shipped"))
    return Json(
        await _answered(site_of(request).models.ask("tokens", TRY_SECONDS, folder=model.folder, text=text))
    )


async def try_text(request: Request) -> Response:
    """POST /api/v1/try/text {"prompt", "model", "tokens", "temperature", "seed"}: JSON lines as they come."""
    body = await body_of(request)
    site = site_of(request)
    prompt = field_of(body, "prompt", most=MOST_TEXT, default="")
    model = await site.model("text", field_of(body, "model", most=500, default=""))
    given = {
        "tokens": int(number_of(body, "tokens", default=200, low=1, high=MOST_TOKENS)),
        "temperature": number_of(body, "temperature", default=0.8, low=0, high=5),
        "top_p": number_of(body, "top_p", default=1.0, low=0.001, high=1),
        "seed": int(number_of(body, "seed", default=0, low=0, high=2**63 - 1)),
    }
    parts = site.models.stream("text", TRY_SECONDS, folder=model.folder, prompt=prompt, **given)

    async def lines() -> AsyncIterator[bytes]:
        try:
            async for part in parts:
                yield msgspec.json.encode(part) + b"\n"
            yield b'{"end":true}\n'
        except TooBusy:
            yield msgspec.json.encode({"error": "the models are busy; try again in a moment"}) + b"\n"
        except ModelFailed as error:
            yield msgspec.json.encode({"error": str(error), "hint": error.hint}) + b"\n"

    return StreamingResponse(lines(), media_type="application/x-ndjson")


async def try_graph(request: Request) -> Response:
    """POST /api/v1/try/graph {"text": ..., "model": KEY}."""
    body = await body_of(request)
    text = field_of(body, "text", most=MOST_GRAPH_TEXT)
    model = await site_of(request).model("graph", field_of(body, "model", most=500, default=""))
    return Json(
        await _answered(site_of(request).models.ask("graph", TRY_SECONDS, folder=model.folder, text=text))
    )


async def try_draw(request: Request) -> Response:
    """POST /api/v1/try/draw {"graph": ...}."""
    body = await body_of(request)
    return Json(await _answered(site_of(request).models.ask("draw", TRY_SECONDS, graph=body.get("graph"))))


async def try_distance(request: Request) -> Response:
    """POST /api/v1/try/distance {"first": GRAPH, "second": GRAPH}."""
    body = await body_of(request)
    asked = {"first": body.get("first"), "second": body.get("second")}
    return Json(await _answered(site_of(request).models.ask("distance", TRY_SECONDS, **asked)))


async def save_report(request: Request) -> Response:
    """GET /api/v1/runs/KEY/report.html: one page that needs no server."""
    place, about = site_of(request).run(request)
    if not about.files:
        raise HTTPException(409, "the report is made when the run is finished")
    page = await asyncio.to_thread(make_page, [place.output], title=f"{place.name} ({about.job})")
    return _saved(page)


async def save_report_of_all(request: Request) -> Response:
    """GET /api/v1/report.html: one page about every finished run of the folder."""
    site = site_of(request)
    places = [place.output for place in site.places.all() if place.is_whole and not place.is_unfinished]
    if not places:
        raise HTTPException(409, "there is no finished run yet")
    page = await asyncio.to_thread(make_page, places, title="samebits report")
    return _saved(page)


def _saved(page: str) -> Response:
    headers = {"content-disposition": 'attachment; filename="report.html"'}
    return Response(page, media_type="text/html", headers=headers)


ROUTES = [
    Route("/api/v1/runs", list_runs),
    Route("/api/v1/events", stream_list),
    Route("/api/v1/report.html", save_report_of_all),
    Route("/api/v1/runs/{key}", show_run),
    Route("/api/v1/runs/{key}/curves", show_curves),
    Route("/api/v1/runs/{key}/samples", show_samples),
    Route("/api/v1/runs/{key}/events", stream_run),
    Route("/api/v1/runs/{key}/files", list_files),
    Route("/api/v1/runs/{key}/file", send_file),
    Route("/api/v1/runs/{key}/rows", show_rows),
    Route("/api/v1/runs/{key}/confusion", show_confusion),
    Route("/api/v1/runs/{key}/tokens", show_token_rows),
    Route("/api/v1/runs/{key}/verify", verify_run, methods=["POST"]),
    Route("/api/v1/runs/{key}/report.html", save_report),
    Route("/api/v1/compare", show_comparison),
    Route("/api/v1/models", list_models),
    Route("/api/v1/try/language", try_language, methods=["POST"]),
    Route("/api/v1/try/encoding", try_encoding, methods=["POST"]),
    Route("/api/v1/try/tokens", try_tokens, methods=["POST"]),
    Route("/api/v1/try/text", try_text, methods=["POST"]),
    Route("/api/v1/try/graph", try_graph, methods=["POST"]),
    Route("/api/v1/try/draw", try_draw, methods=["POST"]),
    Route("/api/v1/try/distance", try_distance, methods=["POST"]),
]
