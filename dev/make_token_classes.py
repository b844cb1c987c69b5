"""Print the table in ``tokens/character_classes.py``: how ``tokenizers`` classes every code point.

``python dev/make_token_classes.py``, half a minute. A character is a letter when ``ByteLevel`` leaves it with a letter before
it, a digit when with a digit, another sign when with an exclamation mark; otherwise it is white space.
"""

from __future__ import annotations

import base64
import textwrap
import zlib

import numpy as np
from tokenizers import pre_tokenizers

LEADS = {"a": 1, "1": 2, "!": 0}
SPACE = 3


def main() -> None:
    """Ask for every code point; print the runs."""
    level = pre_tokenizers.ByteLevel(add_prefix_space=False)
    classes = np.zeros(0x110000, np.uint8)
    for code in range(0x110000):
        if not 0xD800 <= code < 0xE000:
            found = (k for lead, k in LEADS.items() if len(level.pre_tokenize_str(lead + chr(code))) == 1)
            classes[code] = next(found, SPACE)
    firsts = np.concatenate([[0], np.flatnonzero(np.diff(classes)) + 1])
    runs = np.stack([np.diff(firsts, prepend=0), classes[firsts]]).astype("<u4")
    print("\n".join(textwrap.wrap(base64.b64encode(zlib.compress(runs.tobytes(), 9)).decode(), 104)))


if __name__ == "__main__":
    main()
