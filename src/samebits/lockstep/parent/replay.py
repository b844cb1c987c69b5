"""Steps of a run computed again: from the nearest kept checkpoint, or from the first values, to a step and no further.

Nothing is saved and nothing is written. The caller, who asked for it by ``Place.replay``, compares what comes out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from samebits.lockstep.parent.attempts import Attempt, Run, digest_of_state
from samebits.lockstep.parent.history import History

__all__ = ["ReplayResult", "replay_result"]


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """What a replay found.

    Attributes:
        first: The first step that was computed; those before it are as the checkpoint says.
        history: All steps up to the end of the replay.
        head: What a checkpoint of the end would say of itself.
        tensors: Parameters and moments at the end.
        digest: sha256 over them.
        fingerprint: What the bits of this replay depend on.
    """

    first: int
    history: History
    head: Mapping[str, Any]
    tensors: Mapping[str, NDArray[np.float32]]
    digest: str
    fingerprint: Mapping[str, str]


def replay_result(run: Run, attempt: Attempt) -> ReplayResult:
    """Return what an attempt that ended with the replay's last step found."""
    return ReplayResult(
        first=attempt.found.step if attempt.found else 0,
        history=attempt.history,
        head=run.identity.head(run.config),
        tensors=attempt.tensors,
        digest=digest_of_state(attempt.tensors),
        fingerprint=attempt.fingerprint,
    )
