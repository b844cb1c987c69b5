"""Which models answer: the package's own, or ones that a caller trained."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING

from samebits.charset.characters.model_file import CharacterModel, open_model, shipped_model
from samebits.charset.detection.readings import CharacterEvidence, Evidence

if TYPE_CHECKING:
    from samebits.charset.detection.model import CharsetModel

__all__ = ["default_evidence", "evidence_of", "load_evidence"]


@functools.cache
def default_evidence() -> CharacterEvidence:
    """The models inside the package, opened once."""
    return CharacterEvidence(shipped_model())


def evidence_of(model: CharsetModel | CharacterModel | None) -> Evidence:
    """Evidence of a model of either kind; of the package's own when there is none."""
    if model is None:
        return default_evidence()
    if isinstance(model, CharacterModel):
        return CharacterEvidence(model)
    from samebits.charset.detection.byte_pairs import byte_pair_evidence

    return byte_pair_evidence(model)


def load_evidence(path: str | Path | None) -> Evidence:
    """Models at a path: a folder of ``charset train``, or a file of ``charset learn``; the package's own for None."""
    if path is None or not str(path):
        return default_evidence()
    if Path(path).is_file():
        return CharacterEvidence(open_model(path))
    from samebits.charset.detection.model import CharsetModel

    return evidence_of(CharsetModel.load(path))
