"""Samples while a model trains: at a validation, the worker that holds its first shard writes a few lines of text.

A sample depends on the weights, the prompt and the seed alone, so samples are part of the result. They are written to a
folder beside the checkpoints and taken into the artifact at the end; a resumed run writes the same ones again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from samebits.lm.model.arch import Architecture
from samebits.lm.text.vocab import Vocabulary

__all__ = ["Samples", "sample_text"]


def sample_text(
    arch: Architecture,
    params: Mapping[str, NDArray[np.float32]],
    vocabulary: Vocabulary,
    prompt: str,
    tokens: int,
    seed: int,
) -> str:
    """Return a prompt and what a model makes of it, at temperature 0.8."""
    from samebits.lm.model.generate import generate
    from samebits.lm.text.sampling import Draw

    start = vocabulary.encode(prompt, name="--prompt").tolist() if prompt else []
    made = generate(arch, params, start, tokens=tokens, draw=Draw(temperature=0.8, seed=seed))
    return vocabulary.decode([*start, *made]) + "\n"


@dataclass(frozen=True, slots=True)
class Samples:
    """Where samples go, and how often.

    Attributes:
        folder: One file a sample, named by the step.
        every: Steps between samples, counted at validations.
        vocabulary: Turns ids into text.
        prompt: What they go on from.
        tokens: Their length.
        seed: Root of the draws.
    """

    folder: str
    every: int
    vocabulary: Vocabulary
    prompt: str
    tokens: int
    seed: int

    def write(self, arch: Architecture, params: Mapping[str, NDArray[np.float32]], step: int) -> None:
        """Write the sample of a step, if it has one."""
        if step % self.every:
            return
        text = sample_text(arch, params, self.vocabulary, self.prompt, self.tokens, self.seed)
        folder = Path(self.folder)
        folder.mkdir(parents=True, exist_ok=True)
        partial = folder / f".step-{step:06}.partial"
        partial.write_text(text, encoding="utf-8")
        partial.replace(folder / f"step-{step:06}.txt")
