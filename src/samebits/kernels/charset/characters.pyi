"""Types of the compiled kernel ``characters``."""

from array import array

class CharacterTables:
    def __init__(
        self,
        buffer: memoryview | bytes,
        places: dict[str, tuple[int, int]],
        sizes: list[int],
        languages: list[int],
        ascii_based: list[bool],
        names: list[str],
    ) -> None: ...
    def rank(
        self, data: bytes, priors: array[int], hints: array[int], margin: int, ascii_weight: int
    ) -> tuple[int, int, list[tuple[int, int, int, int]]]: ...
    def read(self, text: str, hints: array[int], max_chars: int) -> tuple[int, int, int, int, int]: ...
