"""A trained model: predict in batches, explain a decision.

Predictions come from the same kernels as training, so they have the same bits everywhere. Texts are handled in blocks, and
``n_jobs`` blocks at a time on threads: the kernels run without the GIL.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from samebits.data.inputs.memory import text_batches
from samebits.data.readers.rows import TextColumn
from samebits.errors import ConfigError
from samebits.kernels.langid.features import features_of
from samebits.kernels.langid.known import score_rows
from samebits.kernels.langid.score import Scorer
from samebits.kernels.langid.text.encode import encode_rows
from samebits.kernels.langid.text.fold import fold_rows
from samebits.kernels.langid.text.words import Vocabulary
from samebits.langid.config import MOST_POINTS
from samebits.langid.constants import NUM_GROUPS, UNITS_PER_BIT
from samebits.langid.model.features import Features, powers_of_two
from samebits.langid.model.language_names import allowed_languages, with_script
from samebits.langid.model.model_files import ModelFiles, save_model
from samebits.langid.model.model_reading import read_model
from samebits.langid.model.ranking import Contribution, Ranker, column_of
from samebits.langid.model.spans import Span, spans_of
from samebits.langid.tables import load_tables, script_number
from samebits.langid.training.backoff import blocks

__all__ = ["UNDETERMINED", "Contribution", "LangidModel", "Prediction", "Span", "column_of"]

UNDETERMINED = "und"  # BCP 47's own word for it
TEXTS_PER_BLOCK = 4096
OUT_OF_REACH = -(1 << 30)
PROBABILITY_SHIFT = 10  # they halve with every 16 bits behind: docs/decisions/langid-probability-scale.md


@dataclass(frozen=True, slots=True)
class Prediction:
    """The best languages of a text with their probabilities, best first; ``und`` alone when nothing is known.

    In exact mode the number is the share of the text's words the language knows, as the reference scores.
    """

    label: str
    confidence: float
    ranking: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class LangidModel:
    """A model read from an artifact."""

    files: ModelFiles = field(repr=False)

    @classmethod
    def load(cls, folder: str | Path) -> LangidModel:
        """Read a model that ``langid train``, ``merge`` or ``import`` wrote; every file is checked."""
        return cls(read_model(folder))

    def __repr__(self) -> str:
        """Say what it knows; the tables are in ``files``."""
        names = self.languages if len(self.languages) <= 6 else [*self.languages[:5], "…"]
        return f"<LangidModel {self.digest[:16]}: {len(self.languages)} languages ({', '.join(names)}), {self.mode}>"

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        """Write the model to a folder that ``load`` reads: what predicts, without the reports of its training."""
        save_model(self.files, folder, overwrite=overwrite)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the arrays alone; look-up tables are made again where they are needed."""
        return {"files": self.files}

    @property
    def languages(self) -> list[str]:
        """The names it can predict, sorted."""
        return self.files.languages

    @property
    def mode(self) -> str:
        """``backoff``, ``compact`` or ``exact``."""
        return self.files.mode

    @property
    def digest(self) -> str:
        """Digest of the artifact it came from."""
        return self.files.digest

    @cached_property
    def scorer(self) -> Scorer:
        """Backoff mode's look-up tables."""
        return self._features.scorer()

    @cached_property
    def ranker(self) -> Ranker:
        """Compact mode's scores and probabilities."""
        assert self.files.compact is not None, "only compact models have one"
        return Ranker(self.files.compact)

    @property
    def _features(self) -> Features:
        assert self.files.features is not None, "exact models have no n-grams"
        return self.files.features

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """Exact mode's words."""
        vocabulary = Vocabulary()
        stops = self.files.word_stops
        vocabulary.add(self.files.words, stops - np.diff(stops, prepend=0), stops)
        return vocabulary

    @overload
    def predict(  # type: ignore[overload-overlap]  # a string is one text, although it is iterable
        self,
        texts: str,
        *,
        n_jobs: int = 1,
        min_confidence: float = 0.0,
        languages: Iterable[str] | None = None,
        scripts: bool = False,
    ) -> str: ...

    @overload
    def predict(
        self,
        texts: Iterable[str],
        *,
        n_jobs: int = 1,
        min_confidence: float = 0.0,
        languages: Iterable[str] | None = None,
        scripts: bool = False,
    ) -> list[str]: ...

    def predict(
        self,
        texts: str | Iterable[str],
        *,
        n_jobs: int = 1,
        min_confidence: float = 0.0,
        languages: Iterable[str] | None = None,
        scripts: bool = False,
    ) -> str | list[str]:
        """Return the language of each text, or of the one text given as a string.

        Args:
            texts: Texts, or one text.
            n_jobs: Threads.
            min_confidence: Say ``und`` below this.
            languages: Only these are possible; codes of two or three letters, macrolanguages (``hbs``) and tags
                (``zh-Hant``) are understood.
            scripts: Labels of ISO 639-3 and script, ``deu_Latn``.
        """
        if isinstance(texts, str):
            return self.predict([texts], min_confidence=min_confidence, languages=languages, scripts=scripts)[
                0
            ]
        limits = {"languages": languages, "scripts": scripts, "min_confidence": min_confidence}
        if any(limits.values()) or n_jobs > 1 or self.mode == "exact":
            return [p.label for p in self.predict_full(texts, n_jobs=n_jobs, **limits)]  # type: ignore[arg-type]  # the table's values have several types
        names = [*self.languages, UNDETERMINED]
        return [names[i] for part in _batches(texts) for i in self._top(column_of(part)).tolist()]

    def _top(self, column: TextColumn) -> NDArray[np.int64]:
        """Only the best language of each text, -1 for none: no probabilities, a third of the time."""
        if self.mode == "compact":
            return self.ranker.top(column)
        found = [np.where(known > 0, scores.argmax(axis=1), -1) for scores, known in self._scores(column)]
        return np.concatenate(found)

    def _scores(self, column: TextColumn) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32]]]:
        folded = fold_rows(load_tables(), column.buffer, column.starts, column.stops, MOST_POINTS)
        for first, last in blocks(len(column), len(self.languages)):
            yield self.scorer.score(
                folded["tokens"], folded["token_stops"], folded["words"], folded["word_stops"], first, last
            )

    def predict_full(
        self,
        texts: Iterable[str],
        *,
        top: int = 1,
        n_jobs: int = 1,
        min_confidence: float = 0.0,
        languages: Iterable[str] | None = None,
        scripts: bool = False,
    ) -> Iterator[Prediction]:
        """Yield a Prediction for each text, in order; the arguments are those of ``predict``."""
        columns = (column_of(part) for part in _batches([texts] if isinstance(texts, str) else texts))
        chosen = self.choose(languages)

        def one(column: TextColumn) -> list[Prediction]:
            return self.predict_column(
                column, top=top, min_confidence=min_confidence, allowed=chosen, scripts=scripts
            )

        if n_jobs == 1:
            for column in columns:
                yield from one(column)
            return
        with ThreadPoolExecutor(n_jobs) as pool:
            while window := list(islice(columns, 4 * n_jobs)):
                for found in pool.map(one, window):
                    yield from found

    def choose(self, languages: Iterable[str] | None) -> NDArray[np.bool_] | None:
        """Return which of the model's languages the names stand for; none for no limit.

        Raises:
            ConfigError: for a name the model does not know, or an exact model.
        """
        if languages is None:
            return None
        if self.mode == "exact":
            raise ConfigError(
                "an exact model has no list of allowed languages", hint="train one with --mode backoff"
            )
        names = allowed_languages([languages] if isinstance(languages, str) else languages, self.languages)
        return np.isin(np.array(self.languages), names)

    def predict_column(
        self,
        column: TextColumn,
        *,
        top: int = 1,
        min_confidence: float = 0.0,
        allowed: NDArray[np.bool_] | None = None,
        scripts: bool = False,
    ) -> list[Prediction]:
        """Predict texts that lie in a buffer."""
        numbers, shares = self.rank(column, top, allowed)
        names = self.languages
        found = []
        for row, values in zip(numbers.tolist(), shares.tolist(), strict=True):
            ranking = tuple((names[i], value) for i, value in zip(row, values, strict=True) if i >= 0)
            sure = bool(ranking) and ranking[0][1] >= min_confidence
            label, confidence = ranking[0] if ranking and sure else (UNDETERMINED, 0.0)
            found.append(Prediction(label, confidence, ranking))
        return _with_scripts(found, column) if scripts else found

    def rank(
        self, column: TextColumn, top: int, allowed: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the ``top`` best languages (-1: none) of each text and their probabilities, (texts, top)."""
        if self.mode == "exact":
            return self._rank_exact(column)
        top = min(top, len(self.languages) if allowed is None else max(1, int(allowed.sum())))
        if self.mode == "compact":
            return self.ranker.rank(column, top, allowed)
        parts = [_best(_among(scores, allowed), known, top) for scores, known in self._scores(column)]
        if not parts:
            return np.empty((0, top), np.int64), np.empty((0, top))
        return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])

    def _rank_exact(self, column: TextColumn) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        script = script_number(self.files.script)
        found = encode_rows(load_tables(), column.buffer, column.starts, column.stops, script, 0)
        stops = found["word_stops"]
        numbers = self.vocabulary.find(found["words"], stops - np.diff(stops, prepend=0), stops)
        counted = self.files.counted
        tokens = numbers[found["tokens"]]
        num = len(self.languages)
        best, first, _, total = score_rows(
            tokens, found["token_stops"], counted.stops, counted.languages, num
        )
        shares = first / np.maximum(total, 1)
        return best.astype(np.int64)[:, None], shares[:, None]

    def spans(self, text: str, *, languages: Iterable[str] | None = None) -> list[Span]:
        """Return the stretches of a mixed text with their languages, in order; they cover it whole.

        Raises:
            ConfigError: for a model that is not compact.
        """
        if self.mode != "compact":
            raise ConfigError(
                f"spans need a compact model, this one is {self.mode}",
                hint="use the default model, or train one with --mode compact",
            )
        return spans_of(self.ranker, text, self.choose(languages))

    def explain(self, text: str) -> dict[str, Any]:
        """Say which words and n-grams decided: their bits add up to the lead of the top language.

        Raises:
            AssertionError: for an exact model, whose score is the share of known words.
        """
        if self.mode == "compact":
            return self.ranker.explain(text)
        (prediction,) = self.predict_full([text], top=2)
        if len(prediction.ranking) < 2:
            return {"label": prediction.label, "against": None, "lead_bits": 0.0, "features": []}
        first, second = (self.languages.index(name) for name, _ in prediction.ranking[:2])
        totals: dict[tuple[str, str], int] = {}
        for word in self.folded_words(text):
            for (key, group), shown in zip(features_of(word.encode()), _shown(word), strict=True):
                value = self._difference(key, group, first, second)
                if value is not None:
                    kind = "word" if group == NUM_GROUPS - 1 else f"{group + 1}-gram"
                    totals[shown, kind] = totals.get((shown, kind), 0) + value
        order = sorted(totals.items(), key=lambda item: (-abs(item[1]), item[0]))
        return {
            "label": self.languages[first],
            "against": self.languages[second],
            "lead_bits": sum(totals.values()) / UNITS_PER_BIT,
            "features": [Contribution(shown, kind, value / UNITS_PER_BIT) for (shown, kind), value in order],
        }

    def folded_words(self, text: str) -> list[str]:
        """Return the words as the model sees them."""
        column = column_of([text])
        found = fold_rows(load_tables(), column.buffer, column.starts, column.stops, MOST_POINTS)
        data, ends = found["words"].tobytes(), found["word_stops"].tolist()
        words = [data[a:b].decode() for a, b in zip([0, *ends], ends, strict=False)]
        return [words[i] for i in found["tokens"].tolist()]

    def _difference(self, key: int, group: int, first: int, second: int) -> int | None:
        features = self._features
        place = int(np.searchsorted(features.keys, np.uint64(key)))
        if place == len(features.keys) or int(features.keys[place]) != key:
            return None
        start, stop = int(features.stops[place - 1]) if place else 0, int(features.stops[place])
        values = dict(
            zip(features.languages[start:stop].tolist(), features.values[start:stop].tolist(), strict=True)
        )
        floors = features.floors[group]
        return int(values.get(first, 0) - floors[first] - values.get(second, 0) + floors[second])


def _shown(word: str) -> list[str]:
    """The features of a word as text, in the order of their keys; ``_`` is the word's edge."""
    edged = f"_{word}_"
    shown = []
    for end in range(1, len(edged)):
        lengths = range(1 if end < len(edged) - 1 else 2, 5)
        shown += [edged[end - n + 1 : end + 1] for n in lengths if end - n + 1 >= 0]
    return [*shown, word]


def _best(
    scores: NDArray[np.int32], known: NDArray[np.int32], top: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Best languages and probabilities; equal scores go by the language's number."""
    order = (
        scores.argmax(axis=1)[:, None]
        if top == 1
        else np.argsort(-scores.astype(np.int64), axis=1, kind="stable")
    )
    order = order[:, :top]
    behind = scores.max(axis=1, keepdims=True) - scores
    powers = powers_of_two(PROBABILITY_SHIFT)
    weights = powers[behind & ((1 << PROBABILITY_SHIFT) - 1)] >> np.minimum(
        behind >> PROBABILITY_SHIFT, 31
    ).astype(np.uint32)
    shares = np.take_along_axis(weights, order, axis=1) / weights.sum(axis=1, dtype=np.int64)[:, None]
    return np.where(known[:, None] > 0, order, -1), shares


def _among(scores: NDArray[np.int32], allowed: NDArray[np.bool_] | None) -> NDArray[np.int32]:
    """Put languages that are not allowed out of reach."""
    return scores if allowed is None else np.where(allowed, scores, OUT_OF_REACH).astype(np.int32)


def _with_scripts(found: list[Prediction], column: TextColumn) -> list[Prediction]:
    """The same predictions with labels like ``deu_Latn``."""
    return [
        Prediction(
            with_script(p.label, text),
            p.confidence,
            tuple((with_script(name, text), share) for name, share in p.ranking),
        )
        for p, text in zip(found, column.texts(), strict=True)
    ]


def _batches(texts: Iterable[str]) -> Iterator[list[str]]:
    """Texts in blocks: of a list, a column of pandas, polars or Arrow, a generator; None and NaN are empty texts."""
    return text_batches(texts, size=TEXTS_PER_BLOCK)
