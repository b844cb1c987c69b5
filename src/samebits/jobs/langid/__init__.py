"""langid: language identification from noisy labels, in two modes.

``exact`` gives the dictionary, scores and kept rows of vocabulous 0.1.3, bit for bit. ``backoff`` (the default) is far
more accurate: words and character n-grams with integer log-probabilities, refined to tell languages apart.

``sources`` reads labelled rows, ``encode`` turns a shard into integers, ``gather`` folds them, ``exact`` and ``backoff``
train on integers only, ``ledger`` and ``report`` say what happened, ``files`` and ``model`` are the result.
"""

from __future__ import annotations

from samebits.jobs.langid.job import JOB

__all__ = ["JOB"]
