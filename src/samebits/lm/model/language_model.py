"""A trained model, loaded: weights, shape and vocabulary, ready to write text or to be measured."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from samebits.data import checked
from samebits.data.artifact import Artifact, open_artifact
from samebits.errors import ArtifactCorrupt
from samebits.lm.job import FORMAT
from samebits.lm.model.arch import MOST_NGRAMS, Architecture
from samebits.lm.text.sampling import Draw
from samebits.lm.text.token_text import open_token_text
from samebits.lm.text.vocab import Vocabulary, vocabulary_from_dict

__all__ = ["LanguageModel"]

Floats = NDArray[np.float32]
KNOWN = set(itertools.product(("rms", "layer"), ("rope", "learned"), ("relu2", "gelu", "swiglu")))
MOST_BLOCK = 1 << 24  # positions; memory of a text that long is asked for when it is written


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """What ``lm train`` made.

    >>> model = LanguageModel.load("run")                                          # doctest: +SKIP
    >>> model.generate("ROMEO:", tokens=200, temperature=0.8, seed=7)              # doctest: +SKIP

    Attributes:
        arch: Shape of the model.
        vocabulary: What its ids stand for.
        params: Weights by name.
        about: What config.json says: losses, steps, digest of the state.
        digest: Digest of the artifact.
    """

    arch: Architecture
    vocabulary: Vocabulary
    params: Mapping[str, Floats]
    about: Mapping[str, Any]
    digest: str

    def __repr__(self) -> str:
        """Say how large it is; weights are in ``params``."""
        return f"<LanguageModel {self.digest[:16]}: {self.arch.num_parameters:,} parameters, {self.vocabulary.size} ids>"

    @classmethod
    def load(cls, folder: str | Path) -> LanguageModel:
        """Open and check a folder that ``lm train`` wrote.

        Raises:
            InputError: if it is not one.
            ArtifactCorrupt: if a file is not what the manifest says.
        """
        artifact = open_artifact(folder, job="lm")
        with checked.loading(folder):
            about = artifact.json("config.json")
            if not isinstance(about, dict) or about.get("format") != FORMAT:
                raise ArtifactCorrupt(f"{folder}: config.json is not that of format {FORMAT!r}")
            arch = checked.fields(artifact, "config.json", _About).architecture
            _check_architecture(artifact, arch)
            wanted = {tensor.name: tensor.shape for tensor in arch.tensors()}
            params = checked.tensors(artifact, "model.safetensors", wanted)
            has_tokenizer = "tokenizer.json" in artifact.files
            text = open_token_text(artifact.path("tokenizer.json").read_bytes()) if has_tokenizer else None
            vocabulary = vocabulary_from_dict(
                artifact.json("vocab.json"), path=f"{folder}/vocab.json", text=text
            )
            checked.ensure(
                vocabulary.size == arch.vocab, folder, f"{vocabulary.size} tokens, a model of {arch.vocab}"
            )
        return cls(arch, vocabulary, params, about, artifact.digest)

    def stream_ids(self, prompt: Sequence[int], *, tokens: int, draw: Draw) -> Iterator[int]:
        """Yield new ids one by one."""
        from samebits.lm.model.generate import generate

        return generate(self.arch, self.params, prompt, tokens=tokens, draw=draw)

    def stream(
        self, prompt: str = "", *, tokens: int = 500, unknown: str = "error", **choices: Any
    ) -> Iterator[str]:
        """Yield new text piece by piece, without the prompt.

        Args:
            prompt: Text to go on from.
            tokens: How many tokens to make.
            unknown: ``skip`` leaves out characters of the prompt that the model does not know.
            choices: Settings of ``Draw``: temperature, top_k, top_p, seed.

        Raises:
            InputError: for a character the model does not know; names it and its position.
        """
        ids = self.vocabulary.encode(prompt, name="prompt", unknown=unknown).tolist() if prompt else []
        made = self.stream_ids(ids, tokens=tokens, draw=Draw(**choices))
        return _whole_characters(self.vocabulary, made, after_prompt=bool(prompt))

    def generate(self, prompt: str = "", *, tokens: int = 500, unknown: str = "error", **choices: Any) -> str:
        """Return new text, without the prompt; see ``stream`` for the arguments."""
        return "".join(self.stream(prompt, tokens=tokens, unknown=unknown, **choices))


class _About(msgspec.Struct):
    """What ``config.json`` must hold."""

    architecture: Architecture


def _check_architecture(artifact: Artifact, arch: Architecture) -> None:
    """Compare the sizes with the size of the file of weights: listing the tensors of 10^9 layers takes minutes."""
    size = artifact.path("model.safetensors").stat().st_size
    sizes = (arch.vocab, arch.layers, arch.heads, arch.dim, arch.block)
    fits = min(sizes) > 0 and arch.layers * arch.dim * arch.dim <= size and arch.vocab * arch.dim <= size
    fits = fits and arch.dim % arch.heads == 0 and arch.block <= MOST_BLOCK
    checked.ensure(fits, artifact.path("config.json"), f"no model has sizes {sizes}")
    rows, ngrams = arch.ngram_rows, arch.ngrams
    fits = ngrams == 1 or (
        1 < ngrams <= MOST_NGRAMS and rows > 0 and min(rows, arch.vocab * arch.vocab) * arch.dim <= size
    )
    checked.ensure(fits, artifact.path("config.json"), f"no model has {rows} rows for up to {ngrams} tokens")
    known = (arch.norm, arch.positions, arch.activation) in KNOWN
    told = f"unknown norm {arch.norm!r}, positions {arch.positions!r} or activation {arch.activation!r}"
    checked.ensure(known, artifact.path("config.json"), told)


def _whole_characters(vocabulary: Vocabulary, made: Iterator[int], *, after_prompt: bool) -> Iterator[str]:
    """Decode bytes as they come; a character of several bytes waits for its last one."""
    import codecs

    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    between = vocabulary.joiner.encode() if after_prompt else b""
    for token in made:
        if text := decoder.decode(between + vocabulary.piece(token)):
            yield text
        between = vocabulary.joiner.encode()
    if rest := decoder.decode(b"", final=True):
        yield rest
