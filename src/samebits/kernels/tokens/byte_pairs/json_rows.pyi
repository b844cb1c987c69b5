from array import array

from samebits.kernels.tokens.byte_pairs.pair_memory import PairMemory

def encode_json_cell(
    memory: PairMemory,
    data: bytearray | memoryview,
    start: int,
    stop: int,
    is_end: bool,
    key: bytes,
    classes: bytes,
    after: array[int],
) -> tuple[bytearray, bytearray, bytearray, bytearray, bytearray] | None: ...
