"""A trained model: what ``graph train`` writes, and how it turns texts and sentences into graphs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from samebits.data import checked
from samebits.data.artifact import Artifact, open_artifact
from samebits.errors import ArtifactCorrupt, ConfigError
from samebits.graph.anchored import ROOT, ROOT_ARC, Anchored
from samebits.graph.formats.conllu import WORD_LABEL
from samebits.graph.parser.batches import collate, encode, order_of
from samebits.graph.parser.decode import Scores, decode_nodes, decode_words
from samebits.graph.parser.lexicon import ROOT_ID, Lexicon
from samebits.graph.parser.samples import MOST_POSITIONS, Sample
from samebits.graph.parser.structure import Decoder
from samebits.lockstep.problem.torch_objective import import_torch

__all__ = ["GraphModel", "GraphPrediction"]

PREDICT_BATCH = 32
MOST_WIDTH, MOST_LAYERS = 1 << 14, 64
STRICTNESS = ("argmax", "tree", "slots")


@dataclass(frozen=True, slots=True)
class GraphPrediction:
    """A predicted graph and the probability the model gives it; 0 for a text that is empty or too long to read."""

    graph: Anchored
    probability: float


@dataclass(frozen=True)
class GraphModel:
    """Weights, names and sizes; picklable, the torch module is made where it is used.

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
        import_torch("a graph model", extra="graph")  # the checks below make a module's sizes
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
    def module(self) -> Any:
        """The torch module, ready to predict."""
        torch = import_torch("a graph model", extra="graph")
        from samebits.graph.parser.model import MakeModel, ParserSizes

        torch.set_num_threads(1)
        module = MakeModel(ParserSizes(**self.settings["sizes"]))()
        try:
            module.load_state_dict({name: torch.from_numpy(value) for name, value in self.params.items()})
        except (RuntimeError, TypeError) as error:
            raise ArtifactCorrupt(f"the tensors do not fit config.json: {error}") from None
        return module.eval()

    def __getstate__(self) -> dict[str, Any]:
        """Leave the module behind: every process makes its own."""
        return {name: value for name, value in self.__dict__.items() if name != "module"}

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
        """Return a graph for every text, in order."""
        nothing = Anchored((), (), (), ())
        return self.predict([Sample(tuple(text), nothing, {}) for text in texts], decode=decode)

    def predict(self, samples: Sequence[Sample], *, decode: str = "auto") -> list[GraphPrediction]:
        """Return a graph for every example, in order.

        Examples are batched by length among those given; the last bits of a probability depend on which were given
        together, so callers that promise equal bits cut their input the same way each time.
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
        torch = import_torch("a graph model", extra="graph")
        batch = collate([encode(sample, self.lexicon) for sample in samples], norm=1.0)
        tensors = {
            name: torch.from_numpy(value) for name, value in batch.items() if isinstance(value, np.ndarray)
        }
        with torch.no_grad():
            states = self.module.encode(tensors)
            heads = self.module.heads(states, tensors["mask"]).double().log_softmax(-1).numpy()
            if self.lexicon.kind == "word":
                return self._words(samples, states, heads, decoder)
            nodes = self.module.nodes(states).double().log_softmax(-1).numpy()
            arcs = self.module.arcs(states, tensors["heads"]).double().log_softmax(-1).numpy()
        out = []
        for i, sample in enumerate(samples):
            n = len(sample.tokens)
            scores = Scores(nodes[i, :n], heads[i, :n, : n + 1], arcs[i, :n])
            graph, log = decode_nodes(scores, self.lexicon, decoder)
            out.append(GraphPrediction(graph, math.exp(log)))
        return out

    def _words(
        self, samples: Sequence[Sample], states: Any, heads: NDArray[np.float64], decoder: Decoder
    ) -> list[GraphPrediction]:
        """Choose heads first, then the label of each chosen arc."""
        torch = import_torch("a graph model", extra="graph")
        chosen = np.zeros(heads.shape[:2], np.int64)
        for i, sample in enumerate(samples):
            n = len(sample.tokens)
            chosen[i, :n] = decode_words(heads[i, :n, : n + 1], decoder)
        arcs = self.module.arcs(states, torch.from_numpy(chosen)).double().log_softmax(-1).numpy()
        out = []
        for i, sample in enumerate(samples):
            n = len(sample.tokens)
            above, scores = chosen[i, :n], arcs[i, :n]
            # 0 is "none" and 1 the root's: no word below another has them
            best = scores[:, 2:].argmax(1) + 2 if scores.shape[1] > 2 else np.full(n, ROOT_ID)
            best = np.where(above == 0, ROOT_ID, best)
            log = float(heads[i, np.arange(n), above].sum() + scores[np.arange(n), best].sum())
            names = tuple(self.lexicon.arcs[arc] for arc in best.tolist())
            graph = Anchored(
                tuple(range(n)),
                (WORD_LABEL,) * n,
                tuple(ROOT if head == 0 else head - 1 for head in above.tolist()),
                tuple(
                    ROOT_ARC if head == 0 else name for head, name in zip(above.tolist(), names, strict=True)
                ),
            )
            out.append(GraphPrediction(graph, math.exp(log)))
        return out


def _check_sizes(artifact: Artifact, lexicon: Lexicon, settings: Any) -> None:
    """Compare the sizes with the names and with the size of the file of weights, before a module is made of them."""
    from samebits.graph.parser.model import ParserSizes

    path = artifact.path("config.json")
    checked.ensure(isinstance(settings, dict), path, "not an object")
    try:
        sizes = msgspec.convert(settings.get("sizes"), ParserSizes)
    except msgspec.ValidationError as error:
        raise ArtifactCorrupt(f"{path}: sizes: {error}") from None
    names = (len(lexicon.characters), len(lexicon.words), len(lexicon.nodes), len(lexicon.arcs))
    found = (sizes.characters, sizes.words, sizes.nodes, sizes.arcs)
    checked.ensure(sizes.kind == lexicon.kind, path, f"kind {sizes.kind!r}, labels of kind {lexicon.kind!r}")
    checked.ensure(found == names, path, f"sizes {found}, but {names} names")
    widths = (sizes.width, sizes.embedding, sizes.biaffine)
    size = artifact.path("model.safetensors").stat().st_size
    fits = min(widths) > 0 and max(widths) <= MOST_WIDTH and 0 < sizes.layers <= MOST_LAYERS
    fits = fits and sizes.width**2 * sizes.layers <= size and sizes.biaffine**2 * sizes.arcs <= size
    checked.ensure(fits, path, f"no model of {size} bytes has widths {widths} and {sizes.layers} layers")
