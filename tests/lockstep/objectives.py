"""Small objectives for the trainer's tests: NumPy only, milliseconds a step, and one for each way to be wrong."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from samebits.arithmetic import selftest
from samebits.arithmetic.functions import normal, tanh
from samebits.arithmetic.matrices import product, sum_squares
from samebits.core.observing.events import Warned
from samebits.core.ports.place import Place
from samebits.lockstep.parent.events import FitEvent
from samebits.lockstep.parent.train import FitResult, train
from samebits.lockstep.problem.config import Every, FitConfig
from samebits.lockstep.problem.objective import Floats, TensorSpec

__all__ = ["Net", "PortableNet", "Recorder", "run"]


@dataclass
class Net:
    """A two-layer network on noise drawn by (step, shard): matrices, an embedding and vectors, 9,000 parameters.

    Attributes:
        fault: What goes wrong, and nothing by default.
        at: (step, shard) at which it does.
        mark: A file that says the fault has happened, for faults that happen once.
        told: A file that a kill waits for: the parent makes it when it has been told what the test expects it to know.
        slow: Seconds that every shard takes longer.
        slow_to_load: Seconds that a worker takes to unpickle it, as one that brings a large library does.
    """

    fault: str = ""
    at: tuple[int, int] = (2, 1)
    mark: str = ""
    told: str = ""
    slow: float = 0.0
    slow_to_load: float = 0.0
    width: int = 64
    validation: int = 5

    def __setstate__(self, fields: dict[str, Any]) -> None:
        time.sleep(fields["slow_to_load"])
        self.__dict__ |= fields

    def spec(self) -> Sequence[TensorSpec]:
        wide = self.width
        return [
            TensorSpec("bias", (wide,), "vector"),
            TensorSpec("in", (32, wide), "matrix"),
            TensorSpec("stack", (2, wide, wide), "matrix"),
            TensorSpec("table", (7, 32), "embedding"),
            TensorSpec("out", (wide,), "vector"),
        ]

    def init(self, rng: np.random.Generator) -> Mapping[str, NDArray[Any]]:
        return {spec.name: rng.standard_normal(spec.shape) * 0.1 for spec in self.spec()}

    def identity(self) -> dict[str, Any]:
        return {"width": self.width}

    def bind(self, params: Mapping[str, Floats]) -> None:
        if self.fault == "torch":
            assert "torch" not in sys.modules
        if self.fault == "bind":
            raise RuntimeError("planted in bind")
        self.params = params

    def loss(self, rng: np.random.Generator, grads: Mapping[str, Floats] | None) -> float:
        p, rows = self.params, 16
        ids = rng.integers(0, 7, rows)
        x = p["table"][ids] + rng.standard_normal((rows, 32), dtype=np.float32)
        target = np.tanh(x[:, 0])
        hidden = [np.tanh(x @ p["in"] + p["bias"])]
        hidden += [np.tanh(hidden[0] @ p["stack"][0])]
        hidden += [np.tanh(hidden[1] @ p["stack"][1])]
        error = hidden[2] @ p["out"] - target
        if grads is not None:
            grads["out"][...] = hidden[2].T @ error * np.float32(2 / rows)
            back = np.outer(error, p["out"]) * np.float32(2 / rows)
            for layer in (1, 0):
                back *= 1 - hidden[layer + 1] ** 2
                grads["stack"][layer] = hidden[layer].T @ back
                back = back @ p["stack"][layer].T
            back *= 1 - hidden[0] ** 2
            grads["bias"][...] = back.sum(0)
            grads["in"][...] = x.T @ back
            grads["table"][...] = 0
            np.add.at(grads["table"], ids, back @ p["in"].T)
        return float(np.mean(error**2))

    def shard(
        self, step: int, g: int, num_shards: int, rng: np.random.Generator, grads: Mapping[str, Floats]
    ) -> float:
        if self.slow:
            time.sleep(self.slow)
        loss = self.loss(rng, grads)
        if self.fault:
            return self.misbehave(step, g, loss, grads)
        return loss

    def misbehave(self, step: int, g: int, loss: float, grads: Mapping[str, Floats]) -> float:
        here = (step, g) == self.at
        if self.fault == "random":
            grads["bias"][0] = time.monotonic_ns() % 1000
        elif self.fault == "raise" and step == self.at[0] and g >= self.at[1]:
            raise ZeroDivisionError(f"planted in shard {g}")
        elif self.fault == "nan" and here:
            grads["out"][3] = np.nan
        elif self.fault == "nan loss" and here:
            return float("nan")
        elif self.fault in ("kill", "stop") and here and not Path(self.mark).exists():
            Path(self.mark).touch()
            self.wait_until_told()
            os.kill(os.getpid(), signal.SIGKILL if self.fault == "kill" else signal.SIGSTOP)
        elif self.fault == "kill always" and here:
            self.wait_until_told()
            os.kill(os.getpid(), signal.SIGKILL)
        return loss

    def wait_until_told(self) -> None:
        """Let the parent hear of the steps before: a killed worker may be gone before the others have spoken."""
        while self.told and not Path(self.told).exists():
            time.sleep(0.01)

    def num_validation_shards(self) -> int:
        return self.validation

    def validation_shard(self, i: int) -> tuple[float, float]:
        return self.loss(np.random.Generator(np.random.Philox(key=i)), None) * (i + 1), float(i + 1)


@dataclass
class PortableNet(Net):
    """The same network out of samebits' own arithmetic: its bits are those of every CPU."""

    portable: ClassVar[bool] = True

    def init(self, rng: np.random.Generator) -> Mapping[str, NDArray[Any]]:
        return {spec.name: normal(rng, spec.shape) * 0.1 for spec in self.spec()}

    def loss(self, rng: np.random.Generator, grads: Mapping[str, Floats] | None) -> float:
        p, rows = self.params, 16
        chosen = np.zeros((rows, 7), np.float32)
        chosen[np.arange(rows), rng.bit_generator.random_raw(rows) % np.uint64(7)] = 1.0
        x = product(chosen, p["table"]) + normal(rng, (rows, 32)).astype(np.float32)
        target = tanh(x[:, :1])
        hidden = [tanh(product(x, p["in"]) + p["bias"])]
        hidden += [tanh(product(hidden[0], p["stack"][0]))]
        hidden += [tanh(product(hidden[1], p["stack"][1]))]
        error = product(hidden[2], p["out"][:, None]) - target
        if grads is not None:
            slope = error * np.float32(2 / rows)
            grads["out"][...] = product(hidden[2], slope, transpose_a=True)[:, 0]
            back = product(slope, p["out"][None])
            for layer in (1, 0):
                back *= 1 - hidden[layer + 1] * hidden[layer + 1]
                grads["stack"][layer] = product(hidden[layer], back, transpose_a=True)
                back = product(back, p["stack"][layer], transpose_b=True)
            back *= 1 - hidden[0] * hidden[0]
            grads["bias"][...] = product(np.ones((1, rows), np.float32), back)[0]
            grads["in"][...] = product(x, back, transpose_a=True)
            into = product(back, p["in"], transpose_b=True)
            grads["table"][...] = product(chosen, into, transpose_a=True)
        return sum_squares(error) / rows


@dataclass
class OnOddMachine(PortableNet):
    """Arrives on a machine whose processor does not compute what all others do."""

    def __setstate__(self, fields: dict[str, Any]) -> None:
        selftest.GOLDEN["products"] = "what every other machine gives"
        super().__setstate__(fields)


@dataclass
class Unwritten(Net):
    """Leaves one tensor of the gradient alone."""

    def shard(
        self, step: int, g: int, num_shards: int, rng: np.random.Generator, grads: Mapping[str, Floats]
    ) -> float:
        kept = grads["out"].copy()
        loss = self.loss(rng, grads)
        grads["out"][...] = kept
        return loss


@dataclass
class Patient(Net):
    """Ends shard 0 of step 1 only when another worker has computed all the others of that step."""

    folder: str = ""
    limit: float = 30.0

    def shard(
        self, step: int, g: int, num_shards: int, rng: np.random.Generator, grads: Mapping[str, Floats]
    ) -> float:
        loss = self.loss(rng, grads)
        if step == 1 and g:
            (Path(self.folder) / f"{step}-{g}").touch()
        until = time.monotonic() + self.limit
        while (step, g) == (1, 0) and len(list(Path(self.folder).iterdir())) < num_shards - 1:
            if time.monotonic() > until:
                raise TimeoutError("nobody else computes the shards that are left")
            time.sleep(0.01)
        return loss


@dataclass
class Informed(Net):
    """Answers a validation with the number of steps it was told of."""

    def reached(self, step: int) -> None:
        self.step = step

    def validation_shard(self, i: int) -> tuple[float, float]:
        return float(self.step), 1.0


@dataclass
class Choosy(Net):
    """Has two ways of computing; ``refuses`` names the process-wide reason why the first does not work."""

    refuses: str = ""

    def modes(self) -> Sequence[str]:
        return ("quick", "plain")

    def enter(self, mode: str) -> bool:
        if mode == "quick" and self.refuses:
            lock = Path(self.refuses)
            try:
                lock.touch(exist_ok=False)  # the first process to come says no, all others yes
            except FileExistsError:
                return True
            return False
        return True


class Recorder:
    """An observer that keeps everything, and makes a file when an event is the one that a fault waits for."""

    def __init__(
        self, awaited: Callable[[FitEvent], bool] = lambda _: False, told: Path | None = None
    ) -> None:
        self.events: list[FitEvent] = []
        self.awaited, self.told = awaited, told

    def __call__(self, event: FitEvent) -> None:
        self.events.append(event)
        if self.told is not None and self.awaited(event):
            self.told.touch()

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def warnings(self) -> list[str]:
        return [event.message for event in self.of(Warned)]


def run(
    objective: Any = None,
    *,
    workers: int = 1,
    folder: Path | None = None,
    observer: Any = None,
    every: Every | None = None,
    restarts: int = 2,
    stall_timeout: float = 60.0,
    allow_environment_change: bool = False,
    stop: Any = None,
    **settings: Any,
) -> FitResult:
    """Train ``Net`` for six steps in seven shards, unless told otherwise."""
    config = FitConfig(**{"steps": 6, "shards": 7, "validate_every": 2, "lr": 0.01, **settings})
    place = Place(workers=workers, folder=folder, restarts=restarts, stall_timeout=stall_timeout)
    return train(
        objective or Net(),
        config,
        place=place,
        every=every,
        observer=observer or Recorder(),
        allow_environment_change=allow_environment_change,
        stop=stop,
    )
