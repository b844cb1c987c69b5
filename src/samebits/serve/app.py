"""The application: routes, the guard in front of them, and what is said when something goes wrong."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import resources
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from samebits.serve.answers import api, completions, pages
from samebits.serve.guard import Guard, GuardRules
from samebits.serve.live.streams import Hub, TooManyStreams
from samebits.serve.runs.artifacts import Verifier
from samebits.serve.runs.places import Places
from samebits.serve.site import Json, Site
from samebits.serve.trying.models import Models

__all__ = ["make_app"]

# The only files that are served by name; each is read once, when the server starts.
STATIC = {
    "serve.css": "text/css",
    "serve.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}


def make_app(folder: Path, rules: GuardRules, *, version: str = "") -> Guard:
    """Return the application that serves one folder; ``version`` is shown at the foot of every page."""
    files = {name: (resources.files("samebits") / "serve" / "static" / name).read_bytes() for name in STATIC}

    async def static(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in files:
            raise HTTPException(404, "there is no such page")
        return Response(files[name], media_type=STATIC[name], headers={"cache-control": "max-age=3600"})

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        places = Places(folder)
        site = Site(places, Hub(places), Verifier(), Models())
        app.state.site = site
        try:
            yield
        finally:
            await site.hub.close()
            await site.models.close()

    stamp = pages.static_version(files)
    app = Starlette(
        routes=[
            *pages.ROUTES,
            *api.ROUTES,
            *completions.ROUTES,
            Route(f"/static/{stamp}/{{name}}", static),
        ],
        exception_handlers={HTTPException: _failed, TooManyStreams: _full, 500: _broken},
        lifespan=lifespan,
    )
    app.state.static = f"/static/{stamp}"
    app.state.version = version
    numbers = itertools.count(1)
    app.state.numbers = lambda: next(numbers)
    return Guard(app, rules)


async def _failed(request: Request, error: Exception) -> Response:
    """Say what is wrong: as JSON to programs, as a page to people."""
    assert isinstance(error, HTTPException)
    path = request.url.path
    if path.startswith(("/api/", "/v1/")):
        return Json({"error": {"message": error.detail}}, error.status_code, headers=error.headers)
    return pages.error_page(request, error.status_code, error.detail)


async def _full(request: Request, error: Exception) -> Response:
    return await _failed(request, HTTPException(503, "too many pages are watching; close some"))


async def _broken(request: Request, error: Exception) -> Response:
    return await _failed(request, HTTPException(500, "something went wrong here; the terminal shows what"))
