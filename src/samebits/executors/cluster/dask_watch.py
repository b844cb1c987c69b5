"""The watch over a Dask cluster: workers and schedulers that show no sign of life.

The scheduler is asked every few seconds (``look_seconds``) when it last heard of each worker. A worker it has not heard of for
``stall_timeout`` is taken out (killed, if it is ours); a scheduler that does not answer, or has no worker left, for as
long ends the run with ClusterLost. Ticks are counted, because clocks differ.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

from samebits.executors.cluster.dask_values import ask
from samebits.executors.cluster.in_flight import Flights
from samebits.executors.cluster.workers import look_seconds, tick
from samebits.machine.signals import kill

__all__ = ["CONNECT_SECONDS", "START_SECONDS", "watch", "workers_of"]

CONNECT_SECONDS = 20.0
START_SECONDS = 60.0  # workers of ours may take so long to start again, on a machine that is very busy


def workers_of(client: Any) -> dict[str, dict[str, Any]]:
    """Ask the scheduler for its workers, by address.

    Raises:
        TimeoutError: it does not answer.
    """
    found: dict[str, Any] = ask(client, client.scheduler.identity, seconds=CONNECT_SECONDS)
    workers: dict[str, dict[str, Any]] = found["workers"]
    return workers


def watch(client: Any, cluster: Any, flights: Flights, closed: threading.Event, stall_timeout: float) -> None:
    """Look until the run is closed; ``cluster`` is None if it is not ours."""
    rest = look_seconds(stall_timeout)
    seen: dict[str, tuple[float, int]] = {}
    silent = empty = 0
    while not closed.wait(rest):
        try:
            workers = workers_of(client)
            silent = 0
        except Exception:
            silent += 1
            if client.status != "running" or silent * CONNECT_SECONDS > stall_timeout:
                flights.give_up("the scheduler does not answer")
            continue
        empty = 0 if workers else empty + 1
        if empty * rest > (stall_timeout if cluster is None else max(stall_timeout, START_SECONDS)):
            flights.give_up("it has no workers")
        ticks = {name: tick(seen.get(name), worker["last_seen"]) for name, worker in workers.items()}
        for name, (_, missed) in ticks.items():
            if missed * rest > stall_timeout:
                _take_out(client, cluster, name)
        seen = ticks


def _take_out(client: Any, cluster: Any, worker: str) -> None:
    """Declare a worker dead: ours are killed, others taken out of the scheduler's list."""
    for nanny in cluster.workers.values() if cluster is not None else ():
        if nanny.worker_address == worker and nanny.process is not None:
            kill(nanny.process.pid)
            return
    with suppress(Exception):
        ask(client, client.run_on_scheduler, _forget_worker, address=worker, seconds=CONNECT_SECONDS)


async def _forget_worker(address: str, dask_scheduler: Any = None) -> None:
    """Runs on the scheduler: take a worker that shows no sign of life off its list."""
    await dask_scheduler.remove_worker(address=address, stimulus_id="samebits-stalled", close=False)
