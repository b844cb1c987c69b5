"""One rank of a test: trains ``Net`` or a torch module with ``samebits.fit`` and prints how it ended, as JSON."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
from tests.lockstep.objectives import Net, PortableNet, Recorder

import samebits
from samebits.errors import SamebitsError
from samebits.lockstep.problem.arrays import ArrayBatches
from samebits.lockstep.problem.torch_objective import TorchObjective

ROWS = samebits.rng_for(3, "rows").standard_normal((48, 6)).astype(np.float32)
LABELS = (ROWS[:, :1] > 0).astype(np.int64)[:, 0]
SETTINGS: dict[str, Any] = {"steps": 6, "shards": 7, "validate_every": 2, "lr": 0.01}


def module() -> Any:
    from torch import nn

    return nn.Sequential(nn.Linear(6, 24), nn.GELU(), nn.Dropout(0.1), nn.Linear(24, 2))


def loss(module: Any, batch: Any) -> Any:
    from torch.nn.functional import cross_entropy

    return cross_entropy(module(batch[0]), batch[1])


def fit(net: dict[str, Any] | None, *, observer: Any = None, **given: Any) -> Any:
    """Train ``Net(**net)``, or the torch module when there is none."""
    options = samebits.RunOptions(**given.pop("options", {}))
    settings = {**SETTINGS, **given, "options": options, "every": {"steps": 1}}
    if net is None:
        objective = TorchObjective(module, loss, validation=[(ROWS[:16], LABELS[:16])])
        data = ArrayBatches(ROWS, LABELS, batch=42)
        return samebits.fit(objective, data, **settings, observer=observer or Recorder())
    fields = {**net, "at": tuple(net.get("at", (2, 1)))}
    kind = PortableNet if fields.pop("portable", False) else Net
    return samebits.fit(kind(**fields), **settings, observer=observer or Recorder())


def told(result: Any) -> dict[str, Any]:
    """Everything about a result that must not depend on ranks."""
    return {
        "digest": result.digest,
        "losses": result.losses.tobytes().hex(),
        "crcs": result.norms_crcs.tolist(),
        "validations": [[step, loss.hex()] for step, loss in result.validations],
        "finished": result.finished,
    }


def main() -> None:
    given = json.loads(sys.argv[1])
    observer = Recorder()
    try:
        found = told(fit(given.pop("net"), observer=observer, **given)) | {"events": len(observer.events)}
    except SamebitsError as error:
        found = {"error": type(error).__name__, "message": error.message, "hint": error.hint}
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()
    sys.exit("error" in found)


if __name__ == "__main__":
    main()
