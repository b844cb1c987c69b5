"""What is trained how: everything about a training run that may change its weights, and nothing else.

``FitConfig`` is compared field by field with that of a checkpoint, so a resume under other settings is refused by name. How the
run is carried out (workers, folders, restarts) is in ``core.ports.place.Place``.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from samebits.errors import ConfigError, did_you_mean

__all__ = ["Every", "FitConfig", "Optimizer", "Schedule"]

Optimizer: TypeAlias = Literal["adamw", "sgd", "muon"]
Schedule: TypeAlias = Literal["constant", "cosine", "trapezoid"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FitConfig:
    """Settings of a training run.

    Attributes:
        steps: Updates to make.
        shards: Gradient shards of a step (G): the most workers a run can use. Another number gives other bits.
        optimizer: ``adamw``, ``sgd`` (with momentum), or ``muon``: Muon for the group ``matrix``, AdamW for the rest.
        lr: Peak learning rate of AdamW or SGD.
        weight_decay: For groups ``matrix`` and ``embedding``; decoupled for AdamW and Muon, added to the gradient for SGD.
        clip: Largest norm of the gradient; 0 does not clip.
        beta1: AdamW's decay of the first moment.
        beta2: AdamW's decay of the second moment.
        eps: AdamW's term against division by zero.
        momentum: Of SGD and Muon.
        nesterov: Look ahead with the momentum, in SGD and Muon.
        muon_lr: Peak learning rate of Muon.
        muon_weight_decay: Decoupled decay of Muon's matrices.
        muon_iterations: Newton-Schulz steps of Muon's orthogonalisation.
        schedule: Course of the learning rates after the warm-up.
        warmup: Steps in which they rise from near 0.
        cooldown: Share of all steps in which ``trapezoid`` falls to ``floor``.
        floor: Where ``cosine`` and ``trapezoid`` end, as a share of the peak.
        average: Give back an average of the parameters that reaches back over about this share of all steps; 0 gives the last ones.
        validate_every: Steps between validations; 0 validates at the end only.
        plateau: Cut the learning rates after so many validations without a better loss; 0 never does.
        plateau_factor: What they are multiplied by then.
        early_stop: End after so many validations without a better loss; 0 never does.
        seed: Root of all randomness.
    """

    steps: int
    shards: int = 4
    optimizer: Optimizer = "adamw"
    lr: float = 1e-3
    weight_decay: float = 0.01
    clip: float = 1.0
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8
    momentum: float = 0.95
    nesterov: bool = True
    muon_lr: float = 0.02
    muon_weight_decay: float = 0.0
    muon_iterations: int = 4
    schedule: Schedule = "constant"
    warmup: int = 0
    cooldown: float = 0.5
    floor: float = 0.0
    average: float = 0.0
    validate_every: int = 0
    plateau: int = 0
    plateau_factor: float = 0.5
    early_stop: int = 0
    seed: int = 0

    def check(self) -> None:
        """Refuse what cannot be meant.

        Raises:
            ConfigError: names the setting and its value.
        """
        for name, choices in (("optimizer", get_args(Optimizer)), ("schedule", get_args(Schedule))):
            if getattr(self, name) not in choices:
                value = getattr(self, name)
                raise ConfigError(f"{name} is {value!r}", hint=did_you_mean(str(value), choices))
        for name, (low, high) in _RANGES.items():
            value = getattr(self, name)
            if not low <= value <= high:  # not (...): NaN is out of every range
                raise ConfigError(f"{name} is {value!r}", hint=f"give a value from {low:g} to {high:g}")

    def fields(self) -> dict[str, Any]:
        """Return all settings by name, as a checkpoint keeps them."""
        return asdict(self)


_MOST = float(1 << 53)
_RANGES: dict[str, tuple[float, float]] = {
    "steps": (0, _MOST),
    "shards": (1, 1 << 16),
    "lr": (0, 1e6),
    "weight_decay": (0, 1e6),
    "clip": (0, 1e30),
    "beta1": (0, 1 - 1e-9),
    "beta2": (0, 1 - 1e-9),
    "eps": (0, 1),
    "momentum": (0, 1 - 1e-9),
    "muon_lr": (0, 1e6),
    "muon_weight_decay": (0, 1e6),
    "muon_iterations": (3, 5),
    "warmup": (0, _MOST),
    "cooldown": (0, 1),
    "floor": (0, 1),
    "average": (0, 1),
    "validate_every": (0, _MOST),
    "plateau": (0, _MOST),
    "plateau_factor": (0, 1),
    "early_stop": (0, _MOST),
    "seed": (-_MOST, _MOST),
}


@dataclass(frozen=True, slots=True)
class Every:
    """When checkpoints are saved, and how many stay; never part of the result.

    Attributes:
        steps: Save after so many steps; 0 does not count steps.
        seconds: Save after so long as well; 0 does not look at the clock.
        keep: How many of the last ones stay.
        keep_every: Those of every so many steps are saved and stay for good, so that steps can be computed again from there;
            0 keeps none.
        kept: Where these go; without it they stay in the folder of the others.
    """

    steps: int = 0
    seconds: float = 60.0
    keep: int = 3
    keep_every: int = 0
    kept: Path | None = None

    @property
    def reasons(self) -> tuple[int, ...]:
        """The numbers of steps after whose multiples a checkpoint is saved."""
        return tuple(steps for steps in (self.steps, self.keep_every) if steps)

    def keeps(self, step: int) -> bool:
        """Tell whether the checkpoint of a step stays for good."""
        return bool(self.keep_every) and step % self.keep_every == 0
