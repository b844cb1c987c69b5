"""``/v1/completions`` and ``/v1/models`` as OpenAI's clients ask for them, answered by models trained here.

Honoured: model, prompt (a text or several), max_tokens, temperature, top_p, n, seed, stop, stream, stream_options, echo.
What cannot be honoured (logprobs, suffix, best_of, penalties) is refused, not ignored.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from samebits.core.observing import clock
from samebits.serve.site import Json, Site, body_of, field_of, number_of, site_of
from samebits.serve.trying.models import Model, ModelFailed, TooBusy

__all__ = ["ROUTES", "cut_at_stop"]

MOST_TEXT = 20_000
MOST_TOKENS = 2_000
MOST_TEXTS = 8  # prompts times n
SECONDS = 120.0
REFUSED: dict[str, tuple[Any, ...]] = {
    "logprobs": (None,),
    "suffix": (None, ""),
    "best_of": (None, 1),
    "frequency_penalty": (None, 0),
    "presence_penalty": (None, 0),
    "logit_bias": (None, {}),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, checked."""

    model: Model
    prompts: list[str]
    n: int
    tokens: int
    temperature: float
    top_p: float
    seed: int
    stop: list[str]
    echo: bool
    stream: bool
    usage: bool


async def list_models(request: Request) -> Response:
    """GET /v1/models: the language models of the folder."""
    every = await asyncio.to_thread(site_of(request).all_models)
    found = [model for model in every if model.kind == "text"]
    data = [{"id": model.name, "object": "model", "created": 0, "owned_by": "samebits"} for model in found]
    return Json({"object": "list", "data": data})


async def complete(request: Request) -> Response:
    """POST /v1/completions."""
    site = site_of(request)
    try:
        asked = await _read(site, await body_of(request))
    except HTTPException as error:
        return _error(error.status_code, str(error.detail))
    about = {
        "id": f"cmpl-{request.app.state.numbers()}",
        "created": int(clock.utc_seconds()),
        "model": asked.model.name,
    }
    if asked.stream:
        return StreamingResponse(_stream(site, asked, about), media_type="text/event-stream")
    try:
        return Json(await _whole(site, asked, about))
    except TooBusy:
        return _error(503, "the models are busy; try again in a moment")
    except ModelFailed as error:
        return _error(422, f"{error} {error.hint}".strip())


def _error(status: int, message: str) -> Response:
    kind = "invalid_request_error" if status < 500 else "server_error"
    return Json({"error": {"message": message, "type": kind, "param": None, "code": None}}, status)


async def _read(site: Site, body: dict[str, Any]) -> Asked:
    for name, fine in REFUSED.items():
        if body.get(name) not in fine:
            raise HTTPException(400, f"{name!r} is not supported")
    model = await site.model("text", field_of(body, "model", most=500, default=""))
    prompts = _texts(body.get("prompt", ""), "prompt", MOST_TEXTS)
    stop = _texts(body["stop"], "stop", 4) if body.get("stop") else []
    n = int(number_of(body, "n", default=1, low=1, high=MOST_TEXTS))
    if n * len(prompts) > MOST_TEXTS:
        raise HTTPException(400, f"at most {MOST_TEXTS} texts are written for one request")
    options = body.get("stream_options")
    return Asked(
        model,
        prompts,
        n,
        tokens=int(number_of(body, "max_tokens", default=16, low=1, high=MOST_TOKENS)),
        temperature=number_of(body, "temperature", default=1.0, low=0, high=5),
        top_p=number_of(body, "top_p", default=1.0, low=0.001, high=1),
        seed=int(number_of(body, "seed", default=0, low=0, high=2**53)),
        stop=[text for text in stop if text],
        echo=bool(body.get("echo")),
        stream=bool(body.get("stream")),
        usage=isinstance(options, dict) and bool(options.get("include_usage")),
    )


def _texts(value: Any, name: str, most: int) -> list[str]:
    found = [value] if isinstance(value, str) else value
    if not isinstance(found, list) or not 1 <= len(found) <= most:
        raise HTTPException(400, f"{name!r} is not a text or a list of 1 to {most} texts")
    return [field_of({name: text}, name, most=MOST_TEXT) for text in found]


def cut_at_stop(text: str, stop: list[str], *, final: bool) -> tuple[str, str, bool]:
    """Return (what can be shown, what must wait because a stop text may begin there, whether one was found).

    >>> cut_at_stop("one. two", ["."], final=False)
    ('one', '', True)
    >>> cut_at_stop("one EN", ["END"], final=False)
    ('one ', 'EN', False)
    """
    places = [place for s in stop if (place := text.find(s)) >= 0]
    if places:
        return text[: min(places)], "", True
    if final:
        return text, "", False
    ends = [k for s in stop for k in range(1, len(s)) if text.endswith(s[:k])]
    keep = len(text) - max(ends, default=0)
    return text[:keep], text[keep:], False


@dataclass
class _Text:
    """One text being written."""

    index: int
    prompt: str
    seed: int
    prompt_tokens: int = 0
    tokens: int = 0
    reason: str | None = None


def _to_write(asked: Asked) -> list[_Text]:
    """Return the texts of a request; each of several has a seed of its own, the first the one that was given."""
    return [
        _Text(number, prompt, asked.seed + k)
        for number, (prompt, k) in enumerate((prompt, k) for prompt in asked.prompts for k in range(asked.n))
    ]


async def _write(site: Site, asked: Asked, text: _Text) -> AsyncIterator[str]:
    """Yield the pieces of one text, up to a stop text."""
    if asked.echo:
        yield text.prompt
    given = {
        "tokens": asked.tokens,
        "temperature": asked.temperature,
        "top_p": asked.top_p,
        "seed": text.seed,
    }
    parts = site.models.stream("text", SECONDS, folder=asked.model.folder, prompt=text.prompt, **given)
    waiting = ""
    async for part in parts:
        if "prompt_tokens" in part:
            text.prompt_tokens = part["prompt_tokens"]
            continue
        text.tokens += 1
        shown, waiting, stopped = cut_at_stop(waiting + part["text"], asked.stop, final=False)
        if shown:
            yield shown
        if stopped:
            text.reason = "stop"
            return
    text.reason, text.tokens = "length", asked.tokens
    if waiting:
        yield waiting


def _choice(text: _Text, piece: str) -> dict[str, Any]:
    return {"text": piece, "index": text.index, "logprobs": None, "finish_reason": text.reason}


def _usage(texts: list[_Text], n: int) -> dict[str, int]:
    asked, made = sum(text.prompt_tokens for text in texts[::n]), sum(text.tokens for text in texts)
    return {"prompt_tokens": asked, "completion_tokens": made, "total_tokens": asked + made}


async def _whole(site: Site, asked: Asked, about: dict[str, Any]) -> dict[str, Any]:
    texts, choices = _to_write(asked), []
    for text in texts:
        made = "".join([piece async for piece in _write(site, asked, text)])
        choices.append(_choice(text, made))
    return {**about, "object": "text_completion", "choices": choices, "usage": _usage(texts, asked.n)}


async def _stream(site: Site, asked: Asked, about: dict[str, Any]) -> AsyncIterator[bytes]:
    head = {**about, "object": "text_completion"}
    texts = _to_write(asked)
    try:
        for text in texts:
            async for piece in _write(site, asked, text):
                yield _event({**head, "choices": [{**_choice(text, piece), "finish_reason": None}]})
            yield _event({**head, "choices": [_choice(text, "")]})
        if asked.usage:
            yield _event({**head, "choices": [], "usage": _usage(texts, asked.n)})
    except (TooBusy, ModelFailed) as error:
        message = str(error) or "the models are busy; try again in a moment"
        yield _event({"error": {"message": message, "type": "server_error", "param": None, "code": None}})
    yield b"data: [DONE]\n\n"


def _event(value: Any) -> bytes:
    return b"data: " + msgspec.json.encode(value) + b"\n\n"


ROUTES = [Route("/v1/models", list_models), Route("/v1/completions", complete, methods=["POST"])]
