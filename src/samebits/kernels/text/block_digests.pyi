import numpy as np
from numpy.typing import NDArray

Buffer = bytes | bytearray | memoryview | NDArray[np.uint8]

def block_digests(data: Buffer, block_bytes: int, wide: bool = True) -> bytes: ...
def read_blocks(
    file: int, start: int, block_bytes: int, buffer: bytearray | memoryview
) -> tuple[int, bytes]: ...
def file_digests(file: int, block_bytes: int, buffer: bytearray | memoryview) -> tuple[int, bytes]: ...
