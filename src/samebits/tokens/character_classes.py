"""Letters, digits and white space as ``tokenizers`` 0.23 knows them: those of Unicode 16, for cutting texts into pre-tokens.

The table is part of the package, so that a tokenizer does not depend on the version of a library or of Python. It is made by
``dev/make_token_classes.py``; a test compares the ends of every run with the installed ``tokenizers``.
"""

from __future__ import annotations

import sys
import zlib
from array import array
from binascii import a2b_base64
from functools import cache

__all__ = ["character_classes"]

# Two rows of little-endian 32-bit numbers, compressed: code points from one run's begin to the next, and its class.
_RUNS = (
    "eNrlWM9vW0UQ9u57z35+tmPXduIkzQ+3TdO6SdO0tIUUBCmUVKjlhwREKhIIhABBo4JExYUTXDgAF44gcUAoZ669VQiKxIlTDxwQAlX8"
    "Axw4ssv7Fn8drZ3Ecdq4PYzH7+3u7MzszDezL5PJZPKGIkNVQ8pQ2VBiKGdo3FAWPMH4OHge3M7T+G8poP/83ACfBv/Z/ISGFw0NQYec"
    "WPsR3ivsYSmk8WyXfevgz4N/aig2tI7nWdLbymkZOm9oL/awdNTQnKFh2B/SmtdprzLeO18k0MfNrdDcKUOThi4ZKuDdENbsg1/ZTmv/"
    "CD3nPX4dw94FzB8lu/YYOmLojKHTtK5K5+dsS0jfEP7SRCO0hv0eklxna4nsD0i+k5Wl8RjPYZe9tIdPi3jI0R4BdJH+6iQ38vimTGeR"
    "kKzCJnzjkzvVwScczwXxHND6UMSVor0C4o6KpNcwzqQK3X25WaF342IvLXwRizgIu8hNPL6YFrLZFxpxK8+u5ckplpkjv9bIhw7fAsqN"
    "vPBfDjol2HuRxooYz2P8kOcMHE6NivdsU57+RzQnT3FrdW+Sj+rY3/l2Bhhl178PfKrTXlnKJc7LgOx0PipBthLrZz12aexl/z+t2meu"
    "Pbjt3rfE877M5taV8bwk3j8BrKxTfltaJUyx79d0O4ZcLFs7LlBuuPitwg81yK6Cl8hvVp+Thg6QPm7M+SxBrrnnS5AfQbf9wqcrmDuN"
    "eEoIHyLgwDz2GidsOIi8sjFzCmfCOji9XzZ0DD6ISdcW9ilRrZrHHja2Jqh+uTUzmOvqyxxhTYv8kRV45Gy9bmjZ+kfdjv2zohbEIh4k"
    "Ocw41aEO+XBAUz6UOuBFATWZ8/KYp3ZrwhPOFyv3DREbWmB7gHXZLvaFVF8cFkQgrnMPkK43zZ9HDH8G8feBTs93zSy4RbYHHgzqlOcP"
    "kW8rFG854fet8Ofw/xeBHQr9S17kS0A+WKXctvNfIn9FhEuviLraBI5X8N/lWEz1vUmYbp+XzcD1sTReP19NMWcBupRUG3ccXtcRKxWK"
    "zxWS6fq5twjDtKd+xKjRFVHzQqqlJcrzk8CpE5Szo8JP3IckNM/1jJPw+TGMcUxzjCf03ML6gPQOaV1D1JwTIgc0xa70wSjNKVB+Fgkj"
    "mPtico566ixqZIn0+3YuldeA3sctN4XpCrDpHeRFDvtGolYn1N8qMebrU9dQ9y6rtLYsY8z24oexx1WS8wlqke8OVkBdCTr4w+XNAarr"
    "7r5WE3q53nYItelDrDkKvoTaYef8jVgJ4K8K3ZOa4HnqQ2LyzayobTOiV4xwP/maMDNL8xw/jDUnoV+B7PD13d3GA5LzoEp1H6G+dpRw"
    "+gj1aE+Ke4tC7ZQ1TyO+XE1riB4zhrxFcS4R3feyVPtXgMl8P6qAL5CdocCOSbq3NKjGKTrPJp3FBOV+BTHq+hpnSw3jMXqlBuH7U9af"
    "qE8l8BydZ1H0KhOk26/0beAI+dndSR4me1yMjeCcQ8RjFf4Yxr51yC6iZxhHHCqBwSXEfZPu0s5vM/RNJBQxFiPXnL+LONMhzC2IHsDh"
    "eR1jVap/Nch9rENfzLGcEG7vwXOvd9Iq6R7BP4kHz5ToF8aEjvPwcZXqckJ7TcE3dSEzxrx12NOivF8kTHG+nAXGl8SdP4u5E4iFYdgU"
    "Ys416HgVGFyjexVjdizsHiW/K/G9ZoXWHxK9ohI19TCdwzDZtEAYUEUO/YSaUSbbXN92kO41ZeSEO7f3PGc9S/vlxR2R5zVhF/v0tEp1"
    "Y/ud3/dTP7FK+gzjfL40h/6m4e9C3x8MXTSTX8O8xTB9n0UsfVVO7ThvFLo2ntpThfwbZtKSbuMn9ynPime3bpG+YxUppvkMIvj+O5Xm"
    "v7vv3ECMWOx4G/dGV58fhw+WRRxbX/zTSOPhZpjGsZX11/52/sqzOaDavp0U31uGqE5+Zr+VmsO7DD1KmJuns1qtQPeo/c2gjv5jDH3F"
    "i5B93oOB2vONtSji2el/VtzLYzE+IXArEj2gm/cCeq4xgSnT23x2OWl7T7vZNMV8ZCY8avgXwPxEfLd1Op9V7Viapx73pkrt+/9ZfNez"
    "726pto2hp++y/Ee6j9lYPZe5fc1/fXqQ1j15H7gI3Z2872mfvR7c1p7+NfTcP7NdxuR39k7yNyK5TuZG2EEHp/ceUb8ien9Op7nxZwI8"
    "MEJ+X0+x7Uwlte837PvxSJpjxydTH14xL78xhzFl+B9G6IVaKvtVCyLYj7kGV4LLearDfN1lbFD5VuzQPcofJBsz27RRD5gNd0KuHpDz"
    "1TvkE70L4kvvsvjaKu7s5vy/G3ES7DDW6j7lhO5DjPQSu3oTmDTotXsjHmzA9V3C641iRfcYg3qX+Ft10VnvIJbqPuSu3mEs7ned0Nuo"
    "IfoeqB2Ddg/Rd3lfvYV489UL3aOd+h6rLXqL/elG/vNhf693DN0DxvTSa+sO8dVLzG923Xb76X7Fpb4Dua0HHMO2O0/3cGaDclfqdy+3"
    "02fSbzzXfcrPXnrjQe0Z+nUnvZ++2faSa7oPuLLdu8r9erZ3+tvkv24pfEI="
)


@cache
def character_classes() -> bytes:
    r"""Return the class of every code point: 0 other, 1 letter, 2 digit, 3 white space.

    >>> [character_classes()[ord(char)] for char in "!é٣\t"]
    [0, 1, 2, 3]
    """
    numbers = array("I", zlib.decompress(a2b_base64(_RUNS)))
    if sys.byteorder == "big":
        numbers.byteswap()
    half = len(numbers) // 2
    # the first step leads to the first run; the last run goes on to the end
    sizes = [*numbers[1:half], 0x110000 - sum(numbers[:half])]
    return b"".join(bytes((kind,)) * size for kind, size in zip(numbers[half:], sizes, strict=True))
