"""Small language models: train on all cores, load, write text, measure, export.

from samebits import lm

model = lm.train("book.txt", output="run", preset="tiny", steps=300)
print(model.generate("Once", tokens=200, seed=7))
lm.LanguageModel.load("run")

Rooms in the order of a run: ``text`` (tokens in, tokens out), ``model`` (what is trained), ``training`` (batches,
objective, logs), ``exchange`` (weights for other programs).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from samebits.lazy import lazy_names

if TYPE_CHECKING:
    from samebits.lm.config import LmConfig
    from samebits.lm.estimation import Estimate, estimate
    from samebits.lm.evaluation import Evaluation, evaluate
    from samebits.lm.exchange.export import export
    from samebits.lm.functions import train
    from samebits.lm.model.language_model import LanguageModel
    from samebits.lm.text.sampling import Draw

__all__ = [
    "Draw",
    "Estimate",
    "Evaluation",
    "LanguageModel",
    "LmConfig",
    "estimate",
    "evaluate",
    "export",
    "train",
]

_HOMES = {
    "Draw": "samebits.lm.text.sampling",
    "Estimate": "samebits.lm.estimation",
    "Evaluation": "samebits.lm.evaluation",
    "LanguageModel": "samebits.lm.model.language_model",
    "LmConfig": "samebits.lm.config",
    "estimate": "samebits.lm.estimation",
    "evaluate": "samebits.lm.evaluation",
    "export": "samebits.lm.exchange.export",
    "train": "samebits.lm.functions",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
