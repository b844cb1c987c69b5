"""What ``samebits serve`` costs: a run of a million steps, and fifty pages that watch one running job.

The job is a count with a worker for every core. Its seconds with fifty pages open and with none are measured in turn, each
round once; so is the processor time the server takes meanwhile. Ratio keys, each above 1 when within its limit: ``slowdown``
(2 % by the share of all cores that the server took), ``open`` (1 s by the time to the page of the long run), ``memory``
(150 MB by the server's memory with it), ``message`` (64 kB by the largest message of its stream).
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil

from benchmarks.common import arguments, finish, show_table
from samebits.machine.cores import look_at_machine

PAGES = 50
SAMPLE = Path(__file__).resolve().parent.parent / "src" / "samebits" / "samples" / "en.txt"
STEP = (
    b'{"event":"Metric","name":"loss","value":%.6f}\n{"event":"Metric","name":"lr","value":0.001}\n{"event":"ShardDone",'
    b'"stage":"train","index":%d,"num_units":1,"started":%.2f,"seconds":0.01,"worker":"","digest":"","resumed":false}\n'
)


@contextmanager
def serving(folder: Path) -> Iterator[tuple[str, psutil.Process]]:
    """Serve a folder in a process of its own."""
    command = [sys.executable, "-m", "samebits", "serve", str(folder), "--no-open", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip(), psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def get(url: str) -> bytes:
    """Return a page."""
    with urllib.request.urlopen(url, timeout=60) as answer:
        found: bytes = answer.read()
        return found


def long_run(folder: Path, steps: int) -> None:
    """Write the log of a run that seems to go on."""
    journal = folder / "long.journal"
    journal.mkdir(parents=True)
    (journal / "lock").write_text(str(os.getpid()))
    (journal / "plan.json").write_text('{"job": "lm"}')
    started = {
        "event": "StageStarted",
        "stage": "train",
        "num_shards": steps,
        "num_units": steps,
        "unit": "tokens",
        "pieces": "steps",
    }
    with (journal / "events.jsonl").open("wb") as file:
        file.write(json.dumps(started, separators=(",", ":")).encode() + b"\n")
        for start in range(0, steps, 50_000):
            rows = (
                (1.4 + math.exp(-3 * k / steps), k, k / 100) for k in range(start, min(steps, start + 50_000))
            )
            file.write(b"".join(STEP % row for row in rows))


def measure_long_run(folder: Path, steps: int) -> dict[str, Any]:
    """Open the page of the long run for the first time, then wait until its curve is whole."""
    long_run(folder, steps)
    with serving(folder) as (url, process):
        key = json.loads(get(f"{url}api/v1/runs"))["runs"][0]["key"]
    with serving(folder) as (url, process):
        started = time.perf_counter()
        page = get(f"{url}runs/{key}")
        opened = time.perf_counter() - started
        while True:
            found = json.loads(get(f"{url}api/v1/runs/{key}/curves"))
            if "loss" in found and found["loss"]["lines"]["training"][-1][0] > steps * 0.99:
                break
            time.sleep(0.05)
        whole = time.perf_counter() - started
        with urllib.request.urlopen(f"{url}api/v1/runs/{key}/events?since=0", timeout=60) as stream:
            message = next(len(line) for line in stream if line.startswith(b"data: "))
        memory = process.memory_info().rss
    return {
        "steps": steps,
        "log_bytes": (folder / "long.journal" / "events.jsonl").stat().st_size,
        "page_bytes": len(page),
        "open_seconds": opened,
        "whole_curve_seconds": whole,
        "memory_bytes": memory,
        "message_bytes": message,
    }


async def watch(url: str, key: str, done: asyncio.Event) -> int:
    """Read one stream until told to stop; return its bytes."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    writer.write(f"GET /api/v1/runs/{key}/events?since=0 HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode())
    size = 0
    while not done.is_set():
        try:
            size += len(await asyncio.wait_for(reader.read(65536), 0.5))
        except TimeoutError:
            continue
    writer.close()
    return size


async def run_job(folder: Path, text: Path, url: str, server: psutil.Process, pages: int) -> dict[str, float]:
    """Run the job once with so many pages open; return its seconds and what the server took."""
    output = folder / "job"
    command = [sys.executable, "-m", "samebits", "count", str(text), "-o", str(output), "--overwrite", "-q"]
    before = server.cpu_times()
    started = time.perf_counter()
    process = await asyncio.create_subprocess_exec(*command)
    done, tasks = asyncio.Event(), []
    if pages:
        while not (
            found := [
                row
                for row in json.loads(await asyncio.to_thread(get, f"{url}api/v1/runs"))["runs"]
                if row["name"] == "job"
            ]
        ):
            await asyncio.sleep(0.05)
        tasks = [asyncio.create_task(watch(url, found[0]["key"], done)) for _ in range(pages)]
    await process.wait()
    wall = time.perf_counter() - started
    after = server.cpu_times()
    done.set()
    sizes = await asyncio.gather(*tasks)
    record = json.loads((output / "record.json").read_bytes())
    spent = after.user + after.system - before.user - before.system
    cores = look_at_machine().visible
    return {
        "seconds": record["seconds"],
        "server_share": spent / wall / cores,
        "bytes_per_page": sum(sizes) / max(1, pages),
    }


def measure_pages(folder: Path, megabytes: int, rounds: int) -> dict[str, Any]:
    """Alternate: no pages, fifty pages."""
    folder.mkdir()
    text = folder.parent / "corpus.txt"
    once = SAMPLE.read_bytes()
    text.write_bytes(once * (megabytes * 1_000_000 // len(once)))
    found: dict[int, list[dict[str, float]]] = {0: [], PAGES: []}
    with serving(folder) as (url, server):
        for _ in range(rounds):
            for pages, results in found.items():
                results.append(asyncio.run(run_job(folder, text, url, server, pages)))
    middle = {pages: statistics.median(r["seconds"] for r in results) for pages, results in found.items()}
    return {
        "megabytes": megabytes,
        "rounds": rounds,
        "seconds_without": middle[0],
        "seconds_with": middle[PAGES],
        "slowdown": middle[PAGES] / middle[0] - 1,
        "server_share_of_cores": statistics.median(r["server_share"] for r in found[PAGES]),
        "bytes_per_page": statistics.median(r["bytes_per_page"] for r in found[PAGES]),
    }


def main() -> None:
    """Measure both and say whether they are within their limits."""
    options = arguments(__doc__ or "")
    with tempfile.TemporaryDirectory() as scratch:
        long = measure_long_run(Path(scratch) / "long", 100_000 if options.quick else 1_000_000)
        pages = measure_pages(Path(scratch) / "pages", 60 if options.quick else 3000, options.rounds)
    ratios = {
        "slowdown": 0.02 / max(pages["server_share_of_cores"], 1e-6),
        "open": 1.0 / long["open_seconds"],
        "memory": 150e6 / long["memory_bytes"],
        "message": 64_000 / long["message_bytes"],
    }
    show_table(("what", "measured"), [(name, f"{value:,.4g}") for name, value in {**long, **pages}.items()])
    details = {"long_run": long, "pages": pages}
    finish("serve", equal=True, ratios=ratios, details=details, options=options)


if __name__ == "__main__":
    main()
