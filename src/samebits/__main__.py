"""Entry point of the ``samebits`` command."""

from __future__ import annotations

import sys


def main() -> None:
    """Cap math threads before anything imports NumPy, then hand over to the command line."""
    from samebits.executors.caps import cap_threads, keep_freed_memory

    cap_threads()
    keep_freed_memory()
    from samebits.cli.app import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
