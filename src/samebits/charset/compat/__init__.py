"""A drop-in for code written for chardet or charset-normalizer.

>>> from samebits.charset import compat as chardet
>>> chardet.detect("Grüße aus München".encode("cp1252"))["encoding"]
'Windows-1252'
>>> from samebits.charset.compat import from_bytes
>>> str(from_bytes("Grüße aus München".encode("cp1252")).best())
'Grüße aus München'

The call shapes, the names and the keys are theirs; the answers and the confidences are samebits' own.
"""

from __future__ import annotations

from samebits.charset.compat.like_chardet import (
    EncodingEra,
    LanguageFilter,
    UniversalDetector,
    detect,
    detect_all,
)
from samebits.charset.compat.like_normalizer import (
    CharsetMatch,
    CharsetMatches,
    from_bytes,
    from_fp,
    from_path,
    is_binary,
)

__all__ = [
    "CharsetMatch",
    "CharsetMatches",
    "EncodingEra",
    "LanguageFilter",
    "UniversalDetector",
    "detect",
    "detect_all",
    "from_bytes",
    "from_fp",
    "from_path",
    "is_binary",
]
