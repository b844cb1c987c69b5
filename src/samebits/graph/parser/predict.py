"""Predictions as lines: what ``graph predict`` prints for every text or sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import msgspec

from samebits.core.plan import Shard
from samebits.data.inputs.corpus import Corpus
from samebits.data.readers.rows import iter_rows
from samebits.graph.anchored import Anchored, as_json
from samebits.graph.curriculum.checker import Result, bind_edges
from samebits.graph.evaluation.measure import result_of
from samebits.graph.formats.conllu import ConlluError, read_sentences, with_graph
from samebits.graph.parser.plain_text import as_conllu, sentences_of
from samebits.graph.parser.samples import MOST_POSITIONS, Sample, parse_line, read_part
from samebits.graph.parser.trained_model import GraphModel, GraphPrediction

__all__ = ["PredictSentences", "PredictedPart", "describe"]

NOTHING = Anchored((), (), (), ())


class PredictedPart(NamedTuple):
    """What one shard gives: lines to print, graphs for drawings, and rows that could not be read (line, reason)."""

    lines: list[str]
    graphs: list[Any]
    bad: list[list[Any]]
    num_lines: int


@dataclass(frozen=True, slots=True)
class PredictSentences:
    """The task: predict a graph for every line, or every CoNLL-U sentence, of one shard.

    Attributes:
        format: ``txt`` (one text a line), ``jsonl`` (the key ``text``) or ``conllu``.
        decode: Name of the decoder.
    """

    part_type: ClassVar = PredictedPart
    format: str
    decode: str = "auto"

    def __call__(self, shard: Shard, state: tuple[Corpus, GraphModel], /) -> PredictedPart:
        """Return the lines to print, and the graphs for drawings."""
        corpus, model = state
        if self.format == "conllu":
            return self.sentences(read_part(corpus.sources[shard.source], shard), model)
        samples, bad, num_lines = self.texts(corpus, shard)
        if model.lexicon.kind == "word":
            lines, graphs = self.plain_text(samples, model)
            return PredictedPart(lines, graphs, bad, num_lines)
        found = model.predict(samples, decode=self.decode)
        lines = [
            msgspec.json.encode(describe(s, p, model)).decode() + "\n"
            for s, p in zip(samples, found, strict=True)
        ]
        graphs = [as_json(prediction.graph) for prediction in found]
        return PredictedPart(lines, graphs, bad, num_lines)

    def texts(self, corpus: Corpus, shard: Shard) -> tuple[list[Sample], list[Any], int]:
        """Read texts; blank lines are no texts."""
        samples, bad, num_lines = [], [], 0
        for block in iter_rows(corpus, shard):
            bad += [[row["line"], row["reason"]] for row in block.bad]
            num_lines += block.num_lines
            for i, line in enumerate(block.columns["text"].texts()):
                if self.format == "txt":
                    samples.append(Sample(tuple(line), NOTHING, {}))
                    continue
                try:
                    samples.append(parse_line(line, graph=False))
                except ValueError as error:
                    bad.append([int(block.lines[i]), str(error)])
        return samples, sorted(bad), num_lines

    def plain_text(self, samples: Sequence[Sample], model: GraphModel) -> tuple[list[str], list[Any]]:
        """Cut texts into sentences of words, and return them as CoNLL-U."""
        known = model.lexicon.word_ids
        cut = [words for sample in samples for words in sentences_of("".join(sample.tokens), known)]
        given = [Sample(tuple(word for word, _ in words), NOTHING, {}) for words in cut]
        found = model.predict(given, decode=self.decode)
        lines = [as_conllu(words, p.graph, p.tags) for words, p in zip(cut, found, strict=True)]
        return lines, [as_json(prediction.graph) for prediction in found]

    def sentences(self, text: str, model: GraphModel) -> PredictedPart:
        """Replace HEAD and DEPREL; every other byte stays."""
        errors: list[ConlluError] = []
        sentences = list(read_sentences(text, on_error=errors))
        samples = [Sample(sentence.forms, NOTHING, {}, sentence.raw) for sentence in sentences]
        found = model.predict(samples, decode=self.decode)
        lines = [
            with_graph(sentence, prediction.graph) if len(prediction.graph.at) else "".join(sentence.raw)
            for sentence, prediction in zip(sentences, found, strict=True)
        ]
        graphs = [as_json(prediction.graph) for prediction in found]
        bad = [[error.line, str(error)] for error in errors]
        return PredictedPart(lines, graphs, bad, text.count("\n"))


def describe(sample: Sample, prediction: GraphPrediction, model: GraphModel) -> dict[str, Any]:
    """Return the record of one prediction; an ill-formed graph says why, never a guessed value."""
    text = "".join(sample.tokens)
    record: dict[str, Any] = {name: sample.about[name] for name in ("id",) if name in sample.about}
    record |= {"text": text, "graph": as_json(prediction.graph), "prob": round(prediction.probability, 6)}
    if len(text) > MOST_POSITIONS:
        record["too_long"] = len(text)
    if model.lexicon.is_math:
        result = result_of(text, prediction.graph)
        record["well_formed"] = isinstance(result, Result)
        if isinstance(result, Result):
            if binds := bind_edges(text, prediction.graph):
                record["bind"] = [{"from": use, "to": definition} for use, definition in binds]
            record["result"] = {"kind": result.kind, "value": result.value}
        else:
            record["reason"] = result
    return record
