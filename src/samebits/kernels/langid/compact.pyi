"""Types of the kernel."""

import numpy as np
from numpy.typing import NDArray

from samebits.kernels.langid.enough import Enough
from samebits.kernels.langid.text.unicode import Tables

def check_stream(buckets: NDArray[np.uint32], stream: NDArray[np.uint16], num_languages: int) -> bool: ...

class WordCache:
    """Scores of words that were met lately, for one thread and one model."""

class CompactScorer:
    """A model's arrays, ready for look-ups."""

    def __init__(
        self,
        tables: Tables,
        buckets: NDArray[np.uint32],
        stream: NDArray[np.uint16],
        levels: NDArray[np.int16],
        floors: NDArray[np.int32],
    ) -> None: ...
    def score(
        self,
        buffer: NDArray[np.uint8],
        starts: NDArray[np.int64],
        stops: NDArray[np.int64],
        most_points: int,
        cache: WordCache | None = None,
        enough: Enough | None = None,
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint8]]:
        """Scores, known letters and whether a text is noise; with ``enough``, scores and letters of what was read."""
    @property
    def places(self) -> NDArray[np.uint8]: ...
