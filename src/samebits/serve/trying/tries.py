"""What can be tried, as the models' process does it: plain data in, pieces of an answer out.

Models are taken from the public modules of their jobs and kept while they are in use.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from samebits.errors import ConfigError

__all__ = ["TRIES"]

KEPT_MODELS = 4
PREVIEW_CHARACTERS = 400
MOST_FEATURES = 400
LEVELS = 4  # of highlighting
MOST_NODES = 120
BUDGET = 20_000


def language(*, folder: str, text: str) -> Iterator[dict[str, Any]]:
    """Name the language of a text, the runners-up, what decided, and the spans of a mixed text."""
    model = _langid(folder)
    (prediction,) = model.predict_full([text], top=5)
    answer: dict[str, Any] = {
        "label": prediction.label,
        "confidence": prediction.confidence,
        "ranking": [list(pair) for pair in prediction.ranking],
        "languages": len(model.languages),
        "evidence": None,
        "spans": None,
    }
    if model.mode != "exact" and len(prediction.ranking) > 1:
        why = model.explain(text)
        answer["against"] = why["against"]
        answer["evidence"] = _highlighted(text, why["features"])
    spans = getattr(model, "spans", None)
    if spans is not None:
        answer["spans"] = [_span(text, span) for span in spans(text)]
    yield answer


def _span(text: str, span: Any) -> dict[str, Any]:
    return {"text": text[span.start : span.stop], "label": span.label}


def _highlighted(text: str, features: Any) -> list[list[Any]]:
    """Cut a text into words, each with how much it speaks for the language: [piece, level 0 to 4]."""
    low = text.lower()
    if len(low) != len(text):
        return [[text, 0]]
    weight = [0.0] * len(text)
    for feature in features[:MOST_FEATURES]:
        shown = feature.text if hasattr(feature, "text") else feature.feature
        core = shown.strip("_")
        start = low.find(core) if core else -1
        while start >= 0:
            stop = start + len(core)
            if _edges_fit(low, shown, start, stop):
                for place in range(start, stop):
                    weight[place] += feature.bits / len(core)
            start = low.find(core, start + 1)
    return _by_word(text, weight)


def _by_word(text: str, weight: list[float]) -> list[list[Any]]:
    """Join characters into words and what is between them; a word's level goes by the mean of its characters."""
    pieces = re.findall(r"\w+|\W+", text)
    means, place = [], 0
    for piece in pieces:
        means.append(sum(weight[place : place + len(piece)]) / len(piece))
        place += len(piece)
    most = max(means, default=0.0)
    return [
        [piece, math.ceil(LEVELS * mean / most) if most > 0 and mean > 0 and piece[0].isalnum() else 0]
        for piece, mean in zip(pieces, means, strict=True)
    ]


def _edges_fit(low: str, shown: str, start: int, stop: int) -> bool:
    before = start > 0 and low[start - 1].isalnum()
    after = stop < len(low) and low[stop].isalnum()
    return not (shown.startswith("_") and before) and not (shown.endswith("_") and after)


def encoding(*, folder: str, data: str) -> Iterator[dict[str, Any]]:
    """Find the encoding of some bytes (base64), with the beginning of the text in each candidate's reading."""
    from samebits import charset

    given = base64.b64decode(data)
    found = charset.detect(given, _charset(folder) if folder else None, top=6)
    candidates = [
        {
            "encoding": candidate.encoding,
            "confidence": candidate.confidence,
            "language": candidate.language,
            "aliases": list(candidate.aliases),
            "preview": _preview(given, candidate.encoding),
        }
        for candidate in found.candidates
    ]
    yield {
        "encoding": found.encoding,
        "confidence": found.confidence,
        "bytes": len(given),
        "candidates": candidates,
    }


def _preview(data: bytes, name: str) -> str | None:
    try:
        return data[: 4 * PREVIEW_CHARACTERS].decode(name, "replace")[:PREVIEW_CHARACTERS]
    except (LookupError, UnicodeError):
        return None


def tokens(*, folder: str, text: str) -> Iterator[dict[str, Any]]:
    """Cut a text into tokens: [text, id] for each."""
    from samebits.langid.model.model import column_of

    tokenizer = _tokenizer(folder)
    ids = tokenizer.encode(column_of([text])).ids.tolist()
    yield {
        "tokens": _pieces(tokenizer, ids),
        "count": len(ids),
        "bytes": len(text.encode("utf-8", "replace")),
        "vocabulary": tokenizer.vocab_size,
    }


def token_rows(*, folder: str, split: str, start: int, rows: int) -> Iterator[dict[str, Any]]:
    """Show rows of a token store, token by token."""
    from samebits.data.token_store import TokenStore
    from samebits.tokens.readers.inspect_store import tokenizer_of

    store = TokenStore.open(folder, split)
    tokenizer = tokenizer_of(store)
    stop = min(len(store), start + rows)
    shown = []
    for row in range(min(start, stop), stop):
        ids = [int(i) for i in store[row][:2000]]
        shown.append({"row": row, "source": int(store.source[row]), "tokens": _pieces(tokenizer, ids)})
    yield {"rows": shown, "total": len(store), "split": split}


def _pieces(tokenizer: Any, ids: list[int]) -> list[list[Any]]:
    """Return each id with its text; bytes that are no character by themselves are shown by the number of their token."""
    return [[shown if "\ufffd" not in (shown := tokenizer.decode([n])) else f"⟨{n}⟩", n] for n in ids]


def text(
    *,
    folder: str,
    prompt: str,
    tokens: int,
    temperature: float,
    top_p: float,
    seed: int,
) -> Iterator[dict[str, Any]]:
    """Write on from a prompt, piece by piece; the first piece says how many tokens the prompt has."""
    model = _lm(folder)
    known = model.vocabulary.encode(prompt, name="prompt", unknown="skip") if prompt else ()
    yield {"prompt_tokens": len(known)}
    choices = {"temperature": temperature, "top_p": top_p, "seed": seed}
    for piece in model.stream(prompt, tokens=tokens, unknown="skip", **choices):
        yield {"text": piece}


def graph(*, folder: str, text: str) -> Iterator[dict[str, Any]]:
    """Turn a text into a graph and draw it."""
    from samebits import graph as graphs
    from samebits.graph.anchored import as_json

    (prediction,) = _graph(folder).predict_texts([text])
    made = as_json(prediction.graph)
    yield {
        "graph": made,
        "probability": prediction.probability,
        "svg": graphs.draw_graph(graphs.Graph.from_json(made)),
    }


def draw(*, graph: Any) -> Iterator[dict[str, Any]]:
    """Draw a graph given as JSON."""
    from samebits import graph as graphs

    yield {"svg": graphs.draw_graph(_read_graph(graph))}


def distance(*, first: Any, second: Any) -> Iterator[dict[str, Any]]:
    """Find the edit distance of two graphs, with its certificate, the edits and a drawing of them."""
    from samebits import graph as graphs
    from samebits.graph.pictures.draw import draw_edits

    a, b = _read_graph(first), _read_graph(second)
    found = graphs.ged(a, b, budget=BUDGET)
    yield {
        "lower": float(found.lower),
        "upper": float(found.upper),
        "exact": found.exact,
        "edits": [str(edit) for edit in found.edits],
        "svg": draw_edits(a, b, found.mapping),
    }


def _read_graph(value: Any) -> Any:
    from samebits import graph as graphs

    found = graphs.Graph.from_json(value)
    if len(found) > MOST_NODES:
        raise ConfigError(f"a graph of {len(found)} nodes", hint=f"here graphs have at most {MOST_NODES}")
    return found


def _kept(load: Callable[[str], Any]) -> Callable[[str], Any]:
    """Keep the last few models; one whose folder was written again is loaded again."""

    @lru_cache(KEPT_MODELS)
    def remembered(folder: str, stamp: int) -> Any:
        return load(folder)

    def find(folder: str) -> Any:
        return remembered(folder, (Path(folder) / "manifest.json").stat().st_mtime_ns if folder else 0)

    return find


@_kept
def _langid(folder: str) -> Any:
    from samebits import langid

    return langid.LangidModel.load(folder) if folder else langid.load_default()


@_kept
def _charset(folder: str) -> Any:
    from samebits import charset

    return charset.CharsetModel.load(folder)


@_kept
def _tokenizer(folder: str) -> Any:
    from samebits.tokens.tokenizers.open_tokenizer import open_tokenizer

    return open_tokenizer(f"{folder}/tokenizer.json" if folder else "byte")


@_kept
def _lm(folder: str) -> Any:
    from samebits import lm

    return lm.LanguageModel.load(folder)


@_kept
def _graph(folder: str) -> Any:
    from samebits import graph

    return graph.GraphModel.load(folder)


TRIES: dict[str, Callable[..., Iterator[Any]]] = {
    made.__name__: made for made in (language, encoding, tokens, token_rows, text, graph, draw, distance)
}
