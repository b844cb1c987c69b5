from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from samebits.kernels.langid.text.unicode import Tables

class Encoded(TypedDict):
    """What became of the rows.

    ``words[word_stops[w - 1] : word_stops[w]]`` is word w; ``sizes`` are cleaned bytes per row (0: nothing left);
    ``unstable`` marks rows that cleaning the result again may change; ``texts`` are the
    cleaned bytes of no row, of these rows or of all (``keep_texts`` 0, 1, 2).
    """

    tokens: NDArray[np.uint32]
    token_stops: NDArray[np.int64]
    words: NDArray[np.uint8]
    word_stops: NDArray[np.int64]
    hashes: NDArray[np.uint64]
    sizes: NDArray[np.int64]
    unstable: NDArray[np.uint8]
    texts: NDArray[np.uint8]

def encode_rows(
    tables: Tables,
    buffer: NDArray[np.uint8],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    script: int,
    keep_texts: int,
) -> Encoded: ...
