"""Word or character n-grams of a corpus. Small and useful, and the worked example of a job.

>>> from samebits import count
>>> count.count({"text": ["to be or not to be"]})
{'be': 2, 'to': 2, 'not': 1, 'or': 1}
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from samebits.lazy import lazy_names

if TYPE_CHECKING:
    from samebits.count.config import CountConfig
    from samebits.count.functions import count

__all__ = [
    "CountConfig",
    "count",
]

_HOMES = {
    "CountConfig": "samebits.count.config",
    "count": "samebits.count.functions",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
