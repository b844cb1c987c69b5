"""Before step 0: is the objective deterministic, does it write every gradient, and do all workers compute the same bits?

Each worker computes one and the same shard twice. Different bits in one worker mean time, unseeded random numbers or threads in
the objective; different bits between workers mean different libraries or CPUs. It costs two shards for each worker.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from samebits.errors import ConfigError, NotDeterministic
from samebits.lockstep.exchange.memory import State
from samebits.lockstep.exchange.rendezvous import Meeting
from samebits.lockstep.problem.config import FitConfig
from samebits.lockstep.problem.layout import Layout
from samebits.lockstep.problem.objective import Floats, Objective
from samebits.lockstep.worker.step import shard_rng

__all__ = ["probe"]

PROBED = 0  # the shard that everybody computes


def probe(
    objective: Objective,
    config: FitConfig,
    layout: Layout,
    state: State,
    *,
    step: int,
    row: int,
    meeting: Meeting,
) -> None:
    """Check an objective in every worker; ``row`` is one of this worker's own, free for the purpose.

    Raises:
        ConfigError: a gradient was not written, or was added to what was there.
        NotDeterministic: two runs, or two workers, differ.
    """
    flat = state.rows[row]
    grads = layout.views(flat)
    first, untouched = _run(objective, config, step, grads, flat, np.nan)
    second, _ = _run(objective, config, step, grads, flat, 1.0)
    _refuse_unwritten(layout, untouched, flat)
    if first != second:
        raise NotDeterministic(
            f"the objective is not deterministic: shard {PROBED} of step {step} gave {first:08x} and then {second:08x}",
            hint="look for time, random numbers that are not from rng, sets, threads or state kept between shards",
        )
    flat[:] = 0.0  # the padding between tensors is never written and must add nothing
    found = meeting.ask(first)
    if len(set(found)) > 1:
        listed = ", ".join(f"worker {w}: {crc:08x}" for w, crc in enumerate(found))
        raise NotDeterministic(
            f"workers disagree on shard {PROBED} of step {step}: {listed}",
            hint="all workers need the same CPU type, library versions and environment variables, unless the objective computes "
            "with samebits.arithmetic alone",
        )


def _run(
    objective: Objective,
    config: FitConfig,
    step: int,
    grads: Mapping[str, Floats],
    flat: Floats,
    before: float,
) -> tuple[int, NDArray[np.bool_] | None]:
    """Compute the probed shard over rows full of ``before``; return its crc32 and where NaN is left, if anywhere."""
    flat[:] = before
    rng = shard_rng(config.seed, step, PROBED)
    loss = float(objective.shard(step, PROBED, config.shards, rng, grads))
    crc = zlib.crc32(loss.hex().encode())
    for grad in grads.values():
        crc = zlib.crc32(grad.data, crc)
    missing = np.isnan(flat)
    return crc, missing if missing.any() else None


def _refuse_unwritten(layout: Layout, untouched: NDArray[np.bool_] | None, flat: Floats) -> None:
    """Compare what stayed NaN in the first run with the second run, which began with ones."""
    if untouched is None:
        return
    suspect = untouched & ~np.isnan(flat)
    for entry in layout.entries:
        if suspect[entry.offset : entry.offset + entry.spec.size].any():
            raise ConfigError(
                f"the objective did not write the whole gradient of {entry.spec.name!r}, or added to what was there",
                hint="shard() must assign every element, e.g. grads[name][...] = value",
            )
