"""One run in a process of its own: a hash seed can be set, start-up state is fresh, and peak memory is its own.

``run_cell`` starts ``python -m samebits.bench.cell`` with a JSON request in a file and reads the record it prints. With the
executor ``torchrun`` that many ranks are started, and rank 0 prints.
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from samebits.errors import SamebitsError

__all__ = ["Cell", "run_cell"]


@dataclass(frozen=True, slots=True)
class Cell:
    """Where a run of the grid takes place."""

    executor: str
    workers: int
    hash_seed: str = "0"

    @property
    def label(self) -> str:
        """Name it in tables and messages."""
        return f"{self.executor} {self.workers}, hash seed {self.hash_seed}"


def run_cell(job: str, config: dict[str, Any], cell: Cell, output: Path) -> dict[str, Any]:
    """Run a job as the cell says and return its record.

    Raises:
        SamebitsError: with the child's own message if it failed.
    """
    request = {
        "job": job,
        "config": config,
        "output": str(output),
        "options": {"executor": cell.executor, "workers": str(cell.workers)},
    }
    file = output.with_name(output.name + ".request.json")
    file.write_text(json.dumps(request), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, *_launcher(cell), "-m", "samebits.bench.cell", str(file)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": cell.hash_seed},
        check=False,
    )
    if done.returncode != 0:
        raise SamebitsError(f"{cell.label} failed: {done.stderr.strip()}")
    record: dict[str, Any] = json.loads(done.stdout)
    return record


def _launcher(cell: Cell) -> list[str]:
    if cell.executor != "torchrun":
        return []
    return ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={cell.workers}"]


def _main() -> None:
    """Run the request in the file that is named; prints the record, or fails with the error's words."""
    from samebits.machine.caps import cap_threads, keep_freed_memory

    cap_threads()
    keep_freed_memory()
    from samebits import api
    from samebits.core.config import make_config
    from samebits.core.options import RunOptions
    from samebits.jobs import get_job

    request = json.loads(Path(sys.argv[1]).read_bytes())
    config = make_config(get_job(request["job"]).Config, request["config"])
    try:
        record = api.run(
            request["job"],
            config,
            output=request["output"],
            options=make_config(RunOptions, request["options"]),
        )
    except SamebitsError as error:
        sys.exit(str(error))
    if record.artifact_digest:  # a rank above 0 only helps
        sys.stdout.write(json.dumps(dataclasses.asdict(record)))


def scratch_folder() -> tempfile.TemporaryDirectory[str]:
    """Make a folder for the outputs of a grid."""
    return tempfile.TemporaryDirectory(prefix="samebits-bench-")


if __name__ == "__main__":
    _main()
