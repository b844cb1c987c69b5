"""Values on a Dask cluster: one worker gets a value from here, and the others get it from one another.

Dask's own broadcast (``scatter(broadcast=True)``, ``replicate``) does not end if a worker dies meanwhile: it asks the dead one
again and again. So values are copied here, each worker is asked once, and one that does not answer fetches the value
with its first shard. Nothing in here waits without end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any

__all__ = ["DaskValue", "ask", "copy_to_others", "scatter", "tell_when_done"]

SCATTER_SECONDS = 60.0  # workers may be starting again
COPY_SECONDS = 5.0
SLOWEST_BYTES = 20e6  # a second; a slower network is not waited for
COPIES_PER_HOLDER = 2  # at a time


@dataclass(slots=True, eq=False)
class DaskValue:
    """A value on the cluster; ``future`` is None until it is scattered, and after all copies were lost."""

    key: str
    data: bytes
    future: Any = None


def ask(client: Any, call: Callable[..., Any], *args: Any, seconds: float, **options: Any) -> Any:
    """Call a method of the client that might wait without end.

    Raises:
        TimeoutError: after so many seconds.
    """

    async def answer() -> Any:
        return await call(*args, **options)

    return client.sync(answer, callback_timeout=seconds)


def scatter(client: Any, published: DaskValue) -> Any:
    """Return the future of a value, on one worker at least.

    Raises:
        TimeoutError: no worker has taken it.
        OSError: the worker that was to take it died.
    """
    if published.future is None:
        bytes_seconds = len(published.data) / SLOWEST_BYTES
        seconds = SCATTER_SECONDS + bytes_seconds
        future = ask(client, client.scatter, published.data, hash=False, seconds=seconds)
        with suppress(Exception):  # without copies it is slower, and no worse
            each = COPY_SECONDS + bytes_seconds
            copy = (client.run_on_scheduler, copy_to_others, future.key, each)
            ask(client, *copy, seconds=seconds)
        published.future = future
    return published.future


async def copy_to_others(key: str, seconds: float, dask_scheduler: Any = None) -> None:
    """Runs on the scheduler: ask every worker once to fetch a value, in rounds of twice as many as have it."""
    value = dask_scheduler.tasks[key]
    waiting = [worker.address for worker in dask_scheduler.running if worker not in value.who_has]
    while waiting and (holders := [worker.address for worker in value.who_has or ()]):
        number = COPIES_PER_HOLDER * len(holders)
        asked = [dask_scheduler.gather_on_worker(address, {key: holders}) for address in waiting[:number]]
        # one that is late goes on: the scheduler hears of its copy when it has one
        await asyncio.wait([asyncio.ensure_future(each) for each in asked], timeout=seconds)
        del waiting[:number]


async def tell_when_done(futures: Sequence[Any], tell: Callable[[Any], None]) -> None:
    """Runs in the client's event loop: tell of each future when it has ended, however it did.

    ``add_done_callback`` would tell in a thread of its own, which has to be woken for every task: a fifth of what one costs the driver.
    """
    done_callback = import_module("distributed.client").done_callback
    await asyncio.gather(*(done_callback(future, tell) for future in futures))
