"""A model that processes read from the files of the workers, when the first task in them asks for it.

The driver neither reads nor sends it: what tasks are told is where it lies. On one machine all stages share what was read.
"""

from __future__ import annotations

import threading
from typing import Any

from samebits.data.folding.piece_files import Index, PieceFolder
from samebits.kernels.langid.score import Scorer
from samebits.kernels.langid.suspects.own_counts import OwnCounts
from samebits.langid.constants import CONSTANTS
from samebits.langid.model.features import Features
from samebits.langid.training.on_workers.ngrams import FeatureTables

__all__ = ["KeptModel"]


class KeptModel:
    """The features of a model and what is made of them, each made once in a process. Pickled, it is where they lie.

    State, under ``_lock``: ``_features``, ``_scorer`` and ``_own_counts``, None until asked for.
    """

    def __init__(self, folder: PieceFolder, tables: FeatureTables, features: Features | None = None) -> None:
        self.folder, self.tables = folder, tables
        self._lock = threading.Lock()
        self._features = features
        self._scorer: Scorer | None = None
        self._own_counts: OwnCounts | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return KeptModel, (self.folder, self.tables)

    def features(self) -> Features:
        """Return the features.

        Raises:
            PieceLost: a file is not there, or not what was written.
        """
        with self._lock:
            return self._read()

    def scorer(self) -> Scorer:
        """Return the look-up tables; as ``features``."""
        with self._lock:
            if self._scorer is None:
                self._scorer = self._read().scorer()
            return self._scorer

    def own_counts(self) -> OwnCounts:
        """Return the tables with which rows are scored without themselves; as ``features``."""
        with self._lock:
            if self._own_counts is None:
                features = self._read()
                self._own_counts = OwnCounts(features.scorer(finds=False), features.counts, CONSTANTS)
            return self._own_counts

    def forget_own_counts(self) -> None:
        """Let go of what one stage alone needs."""
        with self._lock:
            self._own_counts = None

    def refined(self, values: Index, features: Features | None = None) -> KeptModel:
        """Return the model with the values of a file, which are those of ``features`` if they are in this process."""
        return KeptModel(self.folder, self.tables._replace(refined=values), features)

    def _read(self) -> Features:
        if self._features is None:
            self._features = self.tables.read(self.folder)
        return self._features
