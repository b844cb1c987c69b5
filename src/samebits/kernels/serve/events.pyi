from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

class Columns(TypedDict):
    metric_at: NDArray[np.int64]  # (metrics, 2): line, number in ``names``
    metric_value: NDArray[np.float64]
    shard_at: NDArray[
        np.int64
    ]  # (shards, 5): line, number in ``stages``, number in ``workers``, index, resumed
    shard_time: NDArray[np.float64]  # (shards, 3): started, seconds, units
    memory: NDArray[np.float64]  # (samples, 2): seconds, bytes
    others: NDArray[np.int64]  # (lines, 3): line, first byte, byte after the last
    names: list[str]
    stages: list[str]
    workers: list[str]

def scan_events(data: bytes | bytearray | memoryview) -> Columns: ...
