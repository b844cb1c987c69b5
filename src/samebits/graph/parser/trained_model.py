"""A trained model: what ``graph train`` writes, and how it turns texts and sentences into graphs."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from samebits.arithmetic.functions import exp, log
from samebits.arithmetic.matrices import total
from samebits.arithmetic.network import Activation, Network
from samebits.arithmetic.recording.ops import PANEL
from samebits.arithmetic.sequences import Groups, choose_shares
from samebits.data import checked
from samebits.data.artifact import Artifact, open_artifact
from samebits.errors import ArtifactCorrupt, ConfigError
from samebits.graph.anchored import ROOT, ROOT_ARC, Anchored
from samebits.graph.formats.conllu import WORD_LABEL
from samebits.graph.parser.batches import Forms, ParserBatch, collate, encode, order_of
from samebits.graph.parser.decode import Scores, decode_nodes, decode_words
from samebits.graph.parser.lexicon import ROOT_ID, Lexicon
from samebits.graph.parser.model import Parser, ParserSizes
from samebits.graph.parser.plain_text import words_of
from samebits.graph.parser.samples import MOST_POSITIONS, Sample
from samebits.graph.parser.structure import Decoder

__all__ = ["GraphModel", "GraphPrediction"]

PREDICT_BATCH = 64
LEAST_SHARE = 1e-38  # of a probability, before its logarithm
MOST_WIDTH, MOST_LAYERS = 1 << 14, 64
STRICTNESS = ("argmax", "tree", "slots")


@dataclass(frozen=True, slots=True)
class GraphPrediction:
    """A predicted graph and the probability the model gives it; 0 for a text that is empty or too long to read.

    Attributes:
        graph: What was predicted.
        probability: Of heads and labels together.
        tags: Part of speech, tag and features of every word, for sentences.
    """

    graph: Anchored
    probability: float
    tags: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class GraphModel:
    """Weights, names and sizes; picklable.

    Attributes:
        params: The tensors by name.
        lexicon: Names of characters, words and labels.
        settings: ``config.json``: sizes and loss.
    """

    params: dict[str, NDArray[Any]]
    lexicon: Lexicon
    settings: dict[str, Any]

    @classmethod
    def load(cls, folder: Path | str) -> GraphModel:
        """Open and check the folder that ``graph train`` wrote."""
        return cls.of(open_artifact(folder, job="graph_train"))

    @classmethod
    def of(cls, artifact: Artifact) -> GraphModel:
        """Take an open artifact."""
        from safetensors.numpy import load_file

        path = artifact.path("model.safetensors")
        with checked.loading(artifact.folder):
            lexicon, settings = Lexicon.from_plain(artifact.json("labels.json")), artifact.json("config.json")
            _check_sizes(artifact, lexicon, settings)
            params = load_file(path)
        for name, value in params.items():
            finite = value.dtype == np.float32 and bool(np.isfinite(value).all())
            checked.ensure(finite, path, f"tensor {name!r} is {value.dtype}, or not finite")
        return cls(params, lexicon, settings)

    @cached_property
    def _of_thread(self) -> threading.local:
        return threading.local()

    @property
    def network(self) -> Network:
        """What runs the model in this thread; threads do not share its working memory."""
        held = self._of_thread
        if not hasattr(held, "network"):
            held.network = Network(self.params)
        network: Network = held.network
        return network

    @cached_property
    def parser(self) -> Parser:
        """The model."""
        return Parser(msgspec.convert(self.settings["sizes"], ParserSizes))

    def __getstate__(self) -> dict[str, Any]:
        """Leave the working memory behind: every process makes its own."""
        return {name: value for name, value in self.__dict__.items() if name != "_of_thread"}

    def decoder(self, asked: str = "auto") -> Decoder:
        """Return the decoder to use.

        Raises:
            ConfigError: for one that needs more structure than the training graphs had.
        """
        learned = self.lexicon.structure.decoder
        if asked == "auto":
            return learned
        if asked not in STRICTNESS:
            raise ConfigError(f"decoder {asked!r}", hint=f"use auto, {', '.join(STRICTNESS)}")
        if asked == "slots" and learned != "slots":
            raise ConfigError("the training graphs have no fixed slots", hint="use --decode auto")
        return asked  # type: ignore[return-value]  # one of STRICTNESS

    def predict_texts(self, texts: Sequence[str], *, decode: str = "auto") -> list[GraphPrediction]:
        """Return a graph for every text, in order; a parser of sentences takes each text for one sentence, cut by ``words_of``."""
        nothing = Anchored((), (), (), ())
        tokens = [tuple(text) for text in texts]
        if self.lexicon.kind == "word":
            known = self.lexicon.word_ids
            tokens = [tuple(word for word, _ in words_of(text, known)) for text in texts]
        return self.predict([Sample(row, nothing, {}) for row in tokens], decode=decode)

    def predict(self, samples: Sequence[Sample], *, decode: str = "auto") -> list[GraphPrediction]:
        """Return a graph for every example, in order.

        Examples are read in groups of about the same length; what is predicted for one does not depend on the others.
        """
        decoder = self.decoder(decode)
        nothing = GraphPrediction(Anchored((), (), (), ()), 0.0)
        found = [nothing] * len(samples)
        usable = [i for i, sample in enumerate(samples) if 0 < len(sample.tokens) <= MOST_POSITIONS]
        order = order_of(np.array([len(samples[i].tokens) for i in usable], np.int64))
        for start in range(0, len(order), PREDICT_BATCH):
            chosen = [usable[k] for k in order[start : start + PREDICT_BATCH].tolist()]
            for i, prediction in zip(chosen, self._batch([samples[i] for i in chosen], decoder), strict=True):
                found[i] = prediction
        return found

    def _batch(self, samples: Sequence[Sample], decoder: Decoder) -> list[GraphPrediction]:
        words = self.lexicon.kind == "word"
        forms = Forms(self.lexicon) if words else None
        rows = [encode(sample, self.lexicon, forms, tagged=False) for sample in samples]
        batch = collate(rows, forms.table() if forms else None, norm=1.0)
        network, parser = self.network, self.parser
        network.start()
        states, tags = parser.encode(network, batch)
        scores = parser.heads(network, states, batch.groups)
        if words:
            return self._words(samples, batch, states, scores, tags, decoder)
        nodes, arcs = parser.nodes(network, states), parser.arcs(network, states, batch.groups, batch.heads)
        assert nodes is not None
        shares = _head_shares(network, scores, batch.groups)
        node_logs, arc_logs = (_logs(network.shares(value)) for value in (nodes, arcs))
        out = []
        for i, sample in enumerate(samples):
            n, lane = len(sample.tokens), i % PANEL
            at = slice(int(batch.groups.starts[i // PANEL]), int(batch.groups.starts[i // PANEL]) + n)
            heads = _logs(shares[i // PANEL][:n, : n + 1, lane])
            graph, logarithm = decode_nodes(
                Scores(node_logs[at, :, lane], heads, arc_logs[at, :, lane]), self.lexicon, decoder
            )
            out.append(GraphPrediction(graph, exp(logarithm)))
        return out

    def _words(
        self,
        samples: Sequence[Sample],
        batch: ParserBatch,
        states: Activation,
        scores: Activation,
        tags: Sequence[Activation],
        decoder: Decoder,
    ) -> list[GraphPrediction]:
        """Choose heads first, then the label of each chosen arc."""
        network, groups = self.network, batch.groups
        chosen = np.full((groups.panels, PANEL), -1, np.int64)
        for i, block in enumerate(_by_sequence(scores.data, groups, samples)):
            start = groups.starts[i // PANEL]
            chosen[start : start + len(block), i % PANEL] = decode_words(block.astype(np.float64), decoder)
        arcs = network.shares(self.parser.arcs(network, states, groups, chosen))
        # 0 is "none" and 1 the root's: no word below another has them
        best = arcs[:, 2:].argmax(1) + 2 if arcs.shape[1] > 2 else np.full(chosen.shape, ROOT_ID)
        best = np.where(chosen == 0, ROOT_ID, best)
        label_logs = _logs(np.take_along_axis(arcs, best[:, None], 1)[:, 0])
        names = [value.data.argmax(1) for value in tags]
        shares = _head_shares(network, scores, groups)
        out = []
        for i, sample in enumerate(samples):
            n, lane, start = len(sample.tokens), i % PANEL, int(groups.starts[i // PANEL])
            at = slice(start, start + n)
            above = chosen[at, lane]
            logarithm = total(_logs(shares[i // PANEL][np.arange(n), above, lane])) + total(
                label_logs[at, lane]
            )
            graph = self._tree(above.tolist(), best[at, lane].tolist())
            found = tuple(
                tuple(names_of[number] for number in row[at, lane].tolist())
                for names_of, row in zip(self.lexicon.tags, names, strict=True)
            )
            out.append(GraphPrediction(graph, exp(logarithm), found))
        return out

    def _tree(self, above: list[int], labels: list[int]) -> Anchored:
        n = len(above)
        return Anchored(
            tuple(range(n)),
            (WORD_LABEL,) * n,
            tuple(ROOT if head == 0 else head - 1 for head in above),
            tuple(
                ROOT_ARC if head == 0 else self.lexicon.arcs[arc]
                for head, arc in zip(above, labels, strict=True)
            ),
        )


def _logs(shares: NDArray[np.float32]) -> NDArray[np.float64]:
    return log(np.maximum(shares.astype(np.float64), LEAST_SHARE))


def _head_shares(network: Network, scores: Activation, groups: Groups) -> list[NDArray[np.float32]]:
    """Return for each group the probabilities of heads: (positions, positions + 1, 32)."""
    out = network.take(*scores.data.shape)
    choose_shares(scores, groups, out)
    found, first = [], 0
    for steps in np.diff(groups.starts).tolist():
        found.append(out[0, first : first + steps * (steps + 1)].reshape(steps, steps + 1, PANEL))
        first += steps * (steps + 1)
    return found


def _by_sequence(
    scores: NDArray[np.float32], groups: Groups, samples: Sequence[Sample]
) -> Iterator[NDArray[np.float32]]:
    """Yield the scores of heads of each sequence: (positions, positions + 1)."""
    first = 0
    for g, steps in enumerate(np.diff(groups.starts).tolist()):
        block = scores[0, first : first + steps * (steps + 1)].reshape(steps, steps + 1, PANEL)
        first += steps * (steps + 1)
        for lane, sample in enumerate(samples[g * PANEL : (g + 1) * PANEL]):
            n = len(sample.tokens)
            yield block[:n, : n + 1, lane]


def _check_sizes(artifact: Artifact, lexicon: Lexicon, settings: Any) -> None:
    """Compare the sizes with the names and with the size of the file of weights, before a module is made of them."""
    path = artifact.path("config.json")
    checked.ensure(isinstance(settings, dict), path, "not an object")
    try:
        sizes = msgspec.convert(settings.get("sizes"), ParserSizes)
    except msgspec.ValidationError as error:
        raise ArtifactCorrupt(f"{path}: sizes: {error}") from None
    names = (
        len(lexicon.characters),
        len(lexicon.words),
        len(lexicon.nodes),
        len(lexicon.arcs),
        *map(len, lexicon.tags),
    )
    found = (sizes.characters, sizes.words, sizes.nodes, sizes.arcs, *sizes.tags)
    checked.ensure(sizes.kind == lexicon.kind, path, f"kind {sizes.kind!r}, labels of kind {lexicon.kind!r}")
    checked.ensure(found == names, path, f"sizes {found}, but {names} names")
    widths = (sizes.width, sizes.embedding, sizes.biaffine, sizes.spelling)
    size = artifact.path("model.safetensors").stat().st_size
    fits = min(widths) > 0 and max(widths) <= MOST_WIDTH and 0 < sizes.layers <= MOST_LAYERS
    fits = (
        fits and sizes.width * sizes.width * sizes.layers <= size and sizes.biaffine * sizes.biaffine <= size
    )
    checked.ensure(fits, path, f"no model of {size} bytes has widths {widths} and {sizes.layers} layers")
