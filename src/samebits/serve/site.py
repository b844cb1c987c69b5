"""What all answers share: the folder, its watchers, the verifier and the models; and how a request's parts are read."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from samebits.serve.live.streams import Hub
from samebits.serve.runs.about import About
from samebits.serve.runs.artifacts import Verifier
from samebits.serve.runs.places import FolderPlace, Places
from samebits.serve.trying.models import Kind, Model, Models, models_in

__all__ = ["Json", "Site", "body_of", "field_of", "number_of", "site_of"]


class Json(Response):
    """An answer for programs."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Encode the answer."""
        return msgspec.json.encode(content)


@dataclass(frozen=True, slots=True)
class Site:
    """One folder being served."""

    places: Places
    hub: Hub
    verifier: Verifier
    models: Models

    def run(self, request: Request) -> tuple[FolderPlace, About]:
        """Return the run a request is about; ``latest`` is the newest.

        Raises:
            HTTPException: 404 when there is none.
        """
        key = request.path_params["key"]
        if key == "latest":
            place = next(iter(self.places.all()), None)
        else:
            place = self.places.get(key)
        if place is None:
            raise HTTPException(404, "there is no such run")
        return place, self.hub.abouts.get(place)

    def all_models(self) -> list[Model]:
        """Return all models."""
        return models_in(self.places, self.hub.abouts)

    async def model(self, kind: Kind, key: str) -> Model:
        """Return a model by kind and key; an empty key takes the newest of the folder, else the shipped one.

        Raises:
            HTTPException: 404 when there is none.
        """
        found = [model for model in await asyncio.to_thread(self.all_models) if model.kind == kind]
        if not key:
            found = [model for model in found if model.key != "shipped"] + found
        chosen = next((model for model in found if key in ("", model.key, model.name)), None)
        if chosen is None:
            raise HTTPException(
                404, f"there is no such model for {kind}: {key[:100]}" if key else f"no model for {kind}"
            )
        return chosen


def site_of(request: Request) -> Site:
    """Return the site of a request."""
    found: Site = request.app.state.site
    return found


async def body_of(request: Request) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        HTTPException: 400 when it is something else.
    """
    if request.headers.get("content-type", "").split(";")[0].strip() != "application/json":
        raise HTTPException(415, "send JSON, with the content type application/json")
    try:
        found = msgspec.json.decode(await request.body())
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise HTTPException(400, "the body is not JSON") from None
    if not isinstance(found, dict):
        raise HTTPException(400, "the body is not a JSON object")
    return found


def field_of(body: dict[str, Any], name: str, *, most: int, default: str | None = None) -> str:
    """Return a text of a body.

    Raises:
        HTTPException: 400 when it is missing or no text, 413 when it is too long.
    """
    found = body.get(name, default)
    if not isinstance(found, str):
        raise HTTPException(400, f"{name!r} is missing or is not a text")
    if len(found) > most:
        raise HTTPException(413, f"{name!r} has {len(found):,} characters; at most {most:,} are read here")
    return found


def number_of(body: dict[str, Any], name: str, *, default: float, low: float, high: float) -> float:
    """Return a number of a body.

    Raises:
        HTTPException: 400 when it is no number or out of its range.
    """
    found = body.get(name, default)
    found = default if found is None else found
    if isinstance(found, bool) or not isinstance(found, int | float) or not low <= found <= high:
        raise HTTPException(400, f"{name!r} is not a number from {low:g} to {high:g}")
    return found
