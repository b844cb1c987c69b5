"""NumPy without the docstrings of its compiled functions, for a command that is over before anybody could read one."""

from __future__ import annotations

import sys
from types import ModuleType

__all__ = ["leave_out_numpy_docs"]

# Modules of NumPy 2 that do nothing but hang docstrings on what is written in C: 5 of the 30 ms of its import, 2 of them
# for ``textwrap``. Another NumPy has other modules or none, and is imported as ever.
DOCS = ("numpy._core._add_newdocs", "numpy._core._add_newdocs_scalars")


def leave_out_numpy_docs() -> None:
    """Import nothing in place of these modules, if NumPy is not there yet; as under ``python -OO`` ``help`` has less to say then."""
    if "numpy" not in sys.modules:
        sys.modules.update({name: ModuleType(name, "left out") for name in DOCS})
