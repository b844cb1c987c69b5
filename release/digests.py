"""Print the artifact digest of every job on small committed texts: equal lines on two machines are equal bytes."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from tests.fuzz.genuine import MAKERS


def main() -> int:
    """Run every job; those that need more than the package itself only where it is installed."""
    from samebits.data.artifact import open_artifact
    from samebits.errors import MissingExtra

    # Under emulation the interpreter cannot start itself: training workers are started by the script that emulates.
    sys.executable = os.environ.get("EMULATED_PYTHON", sys.executable)
    for kind, make in sorted(MAKERS.items()):
        with tempfile.TemporaryDirectory() as scratch:
            try:
                digest = open_artifact(make(Path(scratch) / kind)).digest
            except MissingExtra as error:
                sys.stderr.write(f"{kind}: left out, {error.message}\n")
                continue
        sys.stdout.write(f"{kind} {digest}\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
