"""Runs the slow job in a process of its own, so that tests can kill it: ``python -m tests.faults.driver OUTPUT JSON``.

The JSON object holds ``config`` and ``options``. Ends like the command line: digest on stdout, or the error's class
and hint on stderr and its exit code.
"""

from __future__ import annotations

import json
import signal
import sys
from dataclasses import replace
from typing import Any, cast

from tests.faults.slow_job import JOB, SlowConfig

from samebits.api import run
from samebits.cli.app import _first_interrupt
from samebits.core.events import Event, Warned
from samebits.core.job import Job
from samebits.core.options import RunOptions
from samebits.errors import SamebitsError


def tell(event: Event) -> None:
    """Show warnings, so that a failing test can be understood."""
    if isinstance(event, Warned):
        sys.stderr.write(f"warning: {event.message}\n")
        sys.stderr.flush()


def main() -> int:
    """Run once."""
    signal.signal(signal.SIGINT, _first_interrupt)  # a second Ctrl-C ends at once, as on the command line
    output, text = sys.argv[1:]
    given = json.loads(text)
    try:
        record = run(
            cast("Job", replace(cast("Any", JOB), floating=given.get("floating", False))),
            SlowConfig(**given.get("config", {})),
            output=output,
            options=RunOptions(**given.get("options", {})),
            observer=tell,
        )
    except SamebitsError as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return error.exit_code
    sys.stdout.write(record.artifact_digest)
    return 0


if __name__ == "__main__":
    sys.exit(main())
