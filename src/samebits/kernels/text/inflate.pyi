MORE: int
BOUNDARY: int
END: int
FAILED: int
WINDOW_BYTES: int

class Inflater:
    used: int
    made: int
    spare_bits: int
    status: int
    checksum: int
    reason: str
    def begin_member(self) -> None: ...
    def begin_inside(self, spare_bits: int, last_byte: int, window: bytes, checksum: int) -> None: ...
    def step(self, data: bytes | memoryview, start: int, out: bytearray | memoryview, wanted: int) -> int: ...
    def window(self) -> bytes: ...
