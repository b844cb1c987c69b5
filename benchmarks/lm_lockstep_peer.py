"""Training runs of lockstep in a process of their own, one for each line of JSON on standard input.

Each answers with a line of JSON: step times, validations and digest.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from samebits.core.ports.place import Place
from samebits.lm.config import LmConfig
from samebits.lm.job import prepare
from samebits.lm.training.objective import LmObjective
from samebits.lockstep.parent.events import FitEvent, StepDone
from samebits.lockstep.parent.train import train
from samebits.lockstep.problem.config import Every


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Run what is asked for: settings of LmConfig, workers, a folder, more of Place, and how many steps to make now."""
    source, recipe = prepare(LmConfig(inputs=(request["data"],), **request["settings"]))
    steps: list[dict[str, float]] = []

    def see(event: FitEvent) -> None:
        if isinstance(event, StepDone):
            steps.append({"step": event.step, "seconds": event.seconds, "update": event.update_seconds})

    folder = Path(request["folder"]) if request.get("folder") else None
    until = request.get("steps_now") or recipe.fit.steps
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
        "tokens_per_step": recipe.tokens_per_step,
        "parameters": recipe.arch.num_parameters,
        "flops_per_token": recipe.arch.flops_per_token,
    }


if __name__ == "__main__":
    sys.executable = os.environ.get("EMULATED_PYTHON", sys.executable)  # starts workers where it is emulated
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)
