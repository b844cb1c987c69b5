"""NumPy as commands import it that are over soon."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
from samebits.tokens.early.numpy_docs import DOCS, leave_out_numpy_docs
leave_out_numpy_docs()
import numpy as np, numpy.ma, numpy.random
assert np.linalg.norm(np.array([3.0, 4.0])) == 5 and np.ma.masked_less([1, 2], 2).sum() == 2
print(np.arange(4, dtype=np.uint16).sum(), all(name in sys.modules for name in DOCS))
"""


def test_numpy_computes_without_its_docstrings() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["6", "True"]


def test_a_numpy_that_is_there_keeps_its_docstrings() -> None:
    program = "import numpy; from samebits.tokens.early.numpy_docs import *; leave_out_numpy_docs(); help(numpy.ndarray.sum)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "Return the sum" in done.stdout
