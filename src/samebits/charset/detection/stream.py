"""Detection of data that comes in pieces."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from samebits.charset.detection.detect import detect_with
from samebits.charset.detection.interface import Choices, Detection
from samebits.charset.detection.readings import Evidence
from samebits.charset.detection.signs import by_mark
from samebits.errors import ConfigError

__all__ = ["DetectorStream"]

_LONGEST_MARK = 4


class DetectorStream:
    """Feed it bytes as they come; it keeps what it needs and answers when closed, or as soon as nothing can change."""

    def __init__(self, evidence: Evidence, choices: Choices) -> None:
        self._evidence = evidence
        self._choices = choices
        self.reset()

    def reset(self) -> None:
        """Forget everything, to begin another document."""
        self._data = bytearray()
        self._result: Detection | None = None
        self._done = False
        self._closed = False

    @property
    def done(self) -> bool:
        """Whether more bytes cannot change the encoding: a mark was found, `max_bytes` are there, or it is closed."""
        return self._done

    @property
    def result(self) -> Detection:
        """The answer; before the end, the answer for what has come so far."""
        if self._result is None:
            self._result = detect_with(self._evidence, bytes(self._data), self._choices)
        return self._result

    def feed(self, data: bytes | bytearray | memoryview) -> None:
        """Take more bytes.

        Raises:
            ConfigError: It was closed; `reset` begins another document.
        """
        if self._closed:
            raise ConfigError("the detector is closed", hint="call reset() before the next document")
        room = self._choices.max_bytes - len(self._data)
        if not room or not len(data):
            return
        self._data += data[:room]
        self._result = None
        marked = len(self._data) >= _LONGEST_MARK and by_mark(bytes(self._data)) is not None
        self._done = marked or len(self._data) >= self._choices.max_bytes

    def close(self) -> Detection:
        """Say that nothing more comes, and get the answer."""
        self._closed = self._done = True
        return self.result

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
