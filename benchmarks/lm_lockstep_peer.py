"""Training runs of lockstep in a process of their own, one for each line of JSON on standard input.

Each answers with a line of JSON: step times, validations, digest, and memory if asked.

Memory is the sum of proportional set sizes (``/proc/<pid>/smaps_rollup``) of the parent and its workers, looked at every
half second: a page that three processes share counts a third in each, so the sum is what the machine really holds. A look takes
10 ms for each process, on a core that a worker computes on: a run whose memory is measured is not one to take times of.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import psutil

from samebits.core.ports.place import Place
from samebits.lm.config import LmConfig
from samebits.lm.job import prepare
from samebits.lm.training.objective import LmObjective
from samebits.lockstep.parent.events import FitEvent, StepDone
from samebits.lockstep.parent.train import train
from samebits.lockstep.problem.config import Every

LOOK_SECONDS = 0.5


def proportional_bytes(pid: int) -> int:
    """Return the proportional set size of a process; 0 if it ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


class Memory:
    """The largest sum over this process and its children."""

    def __init__(self) -> None:
        self.peak: dict[str, int] = {"all": 0}
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        own = psutil.Process()
        while not self._end.wait(LOOK_SECONDS):
            workers = [proportional_bytes(child.pid) for child in own.children(recursive=True)]
            parent = proportional_bytes(own.pid)
            if parent + sum(workers) > self.peak["all"]:
                self.peak = {
                    "all": parent + sum(workers),
                    "parent": parent,
                    "largest_worker": max(workers, default=0),
                }

    def stop(self) -> dict[str, int]:
        """Return the peak."""
        self._end.set()
        self._thread.join()
        return self.peak


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Run what is asked for: settings of LmConfig, workers, a folder, more of Place, and how many steps to make now."""
    source, recipe = prepare(LmConfig(inputs=(request["data"],), **request["settings"]))
    steps: list[dict[str, float]] = []

    def see(event: FitEvent) -> None:
        if isinstance(event, StepDone):
            steps.append({"step": event.step, "seconds": event.seconds, "update": event.update_seconds})

    folder = Path(request["folder"]) if request.get("folder") else None
    until = request.get("steps_now") or recipe.fit.steps
    memory = Memory() if request.get("memory") else None
    result = train(
        LmObjective(recipe, source, cache=request.get("cache", "")),
        recipe.fit,
        place=Place(workers=request["workers"], folder=folder, **request.get("place", {})),
        every=Every(seconds=0.0),
        observer=see,
        stop=(lambda: len(steps) >= until) if until < recipe.fit.steps else None,
    )
    return {
        "steps": steps,
        "validations": result.validations,
        "digest": result.digest,
        "steps_done": result.steps_done,
        "shared": dict(result.memory),
        "proportional": memory.stop() if memory else None,
        "tokens_per_step": recipe.tokens_per_step,
        "parameters": recipe.arch.num_parameters,
        "flops_per_token": recipe.arch.flops_per_token,
    }


if __name__ == "__main__":
    sys.executable = os.environ.get("EMULATED_PYTHON", sys.executable)  # starts workers where it is emulated
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)
