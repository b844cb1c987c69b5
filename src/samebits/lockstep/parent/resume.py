"""May this run go on from that checkpoint? Every field that would change the bits is compared, and named if it differs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from samebits.errors import EnvironmentMismatch, PlanMismatch
from samebits.lockstep.parent.checkpoints import Checkpoint
from samebits.lockstep.problem.config import FitConfig
from samebits.lockstep.problem.layout import Layout
from samebits.lockstep.problem.schedule import same_rates

__all__ = ["Identity", "check_environment", "check_run"]


@dataclass(frozen=True, slots=True)
class Identity:
    """What a run is, besides its settings: where tensors lie, and what the objective says of its data and model."""

    layout: Layout
    objective: Mapping[str, Any]

    def head(self, config: FitConfig) -> dict[str, Any]:
        """Return what a checkpoint keeps of it."""
        return {
            "config": config.fields(),
            "objective": dict(self.objective),
            "layout": self.layout.digest,
            "tensors": self.layout.rows(),
        }


def check_run(found: Checkpoint, config: FitConfig, identity: Identity) -> None:
    """Refuse a checkpoint of other settings, data or tensors.

    More or fewer ``steps`` are allowed where they change nothing that is done already: the learning rates of those steps.

    Raises:
        PlanMismatch: names every differing field with both values.
    """
    ours = identity.head(config)
    differing = []
    for part in ("config", "objective"):
        theirs = found.head.get(part, {})
        for name in sorted({*theirs, *ours[part]}):
            was, now = theirs.get(name), ours[part].get(name)
            if was != now and not (part == "config" and name == "steps" and _may_extend(found, config)):
                differing.append(f"{name} was {was}, is {now}")
    if not differing and found.head.get("layout") != ours["layout"]:
        differing.append("names, shapes or groups of the tensors")
    if differing:
        raise PlanMismatch(
            f"the checkpoint of step {found.step} belongs to a different run: {'; '.join(differing)}",
            hint="repeat the call it was made with, choose a different folder, or start over without resuming",
        )


def _may_extend(found: Checkpoint, config: FitConfig) -> bool:
    fields = dict(found.head["config"])
    if {**fields, "steps": config.steps} != config.fields():
        return True  # something else differs: that is the news
    old = FitConfig(**fields)
    decided = config.plateau or config.early_stop
    closing = found.step == old.steps and (not old.validate_every or old.steps % old.validate_every)
    if found.step > config.steps or (decided and closing):
        return False  # done already, or the last validation came out of turn and was acted on
    return same_rates(old, config, found.step)


def check_environment(found: Checkpoint, now: Mapping[str, str], *, allow: bool) -> list[str]:
    """Return the differences between two machines, if they are allowed.

    An objective that computes with torch has always loaded it. So where one side has not, torch is there for the network
    between ranks, and its version changes nothing.

    Raises:
        EnvironmentMismatch: names every differing field with both values.
    """
    was = found.head.get("fingerprint", {})
    differing = [
        f"{name} was {was.get(name)!r}, is {now.get(name)!r}"
        for name in sorted({*was, *now})
        if was.get(name) != now.get(name)
        and not (name.startswith("torch") and ("torch" in was) != ("torch" in now))
    ]
    if differing and not allow:
        raise EnvironmentMismatch(
            f"the checkpoint of step {found.step} was made on a different machine or with different libraries: "
            + "; ".join(differing),
            hint="continue where it was made; or allow the change, and the result is marked as not exact",
        )
    return differing
