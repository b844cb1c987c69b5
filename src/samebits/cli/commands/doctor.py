"""samebits doctor: what this machine offers, what samebits would use of it, and a two-second proof that it works."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from importlib import import_module, resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from samebits.cli.sections import PRINT, SectionedCommand, SectionedOption
from samebits.core.observing import clock
from samebits.core.observing.units import show_size, wrap_line
from samebits.errors import ParityError

__all__ = ["command"]

# extra -> (module that tells whether it is there, what it is for)
EXTRAS = {
    "http": ("aiohttp", "patterns in http(s) addresses"),
    "tokens": ("tokenizers", "byte-pair tokenizers"),
    "torch": ("torch", "lm train --arithmetic torch; token stores as PyTorch data sets"),
    "graph": ("networkx", "text-to-graph models; graphs to and from networkx"),
    "punkt": ("nltk", "langid: sentences as vocabulous cuts them"),
    "dask": ("distributed", "tasks on a Dask cluster"),
    "ray": ("ray", "tasks on a Ray cluster"),
    "datasets": ("datasets", "token stores as Hugging Face data sets"),
    "serve": ("starlette", "runs and models in a web page"),
}
SELF_TEST = (("serial", "1"), ("threads", "2"), ("threads", "3"), ("processes", "2"))


def _doctor(*, as_json: bool) -> None:
    report = {**_look(), "self_test": _self_test()}
    if as_json:
        click.echo(json.dumps(report))
    else:
        _show(report)
    if not report["self_test"]["equal"]:
        raise ParityError("the self-test gave different digests", hint="please report it, with this output")


def _look() -> dict[str, Any]:
    from samebits.machine.caps import THREAD_CAPS
    from samebits.machine.cores import choose_workers, look_at_machine
    from samebits.machine.environment import fingerprint

    machine = look_at_machine()
    return {
        "machine": {
            "cpus_visible": machine.visible,
            "physical_cores": machine.physical,
            "cpu_quota": machine.quota,
            "free_memory": machine.free_bytes,
        },
        "workers": choose_workers(None, num_shards=1_000_000, machine=machine).sentence,
        "thread_caps": dict(THREAD_CAPS),
        "kernels": _kernels(),
        "arithmetic": _arithmetic(),
        "extras": {name: find_spec(module) is not None for name, (module, _) in EXTRAS.items()},
        "environment": fingerprint(installed=True),
    }


def _kernels() -> dict[str, bool]:
    """Try to import every kernel whose source or stub is in the package."""
    package = Path(str(resources.files("samebits")))
    stubs = sorted(package.rglob("*.pyi"))
    names = [".".join(stub.relative_to(package).with_suffix("").parts) for stub in stubs]
    return {name: _imports(f"samebits.{name}") for name in names}


def _arithmetic() -> dict[str, Any]:
    """Say which instruction sets there are, which one computes, and whether each gives the bits of all other machines."""
    from samebits import arithmetic
    from samebits.arithmetic import selftest

    chosen, right = arithmetic.isa(), {}
    for name in arithmetic.usable():
        arithmetic.use(name)
        right[name] = selftest.digests() == selftest.GOLDEN
    arithmetic.use(chosen)
    return {"version": arithmetic.VERSION, "isa": chosen, "right": right}


def _imports(module: str) -> bool:
    try:
        import_module(module)
    except ImportError:
        return False
    return True


def _self_test() -> dict[str, Any]:
    """Count the sample texts in four ways; the digests must be equal."""
    from samebits import api
    from samebits.core.options import RunOptions
    from samebits.count.config import CountConfig

    samples = str(resources.files("samebits") / "samples")
    started = clock.seconds()
    digests = {}
    with tempfile.TemporaryDirectory() as scratch:
        for executor, workers in SELF_TEST:
            record = api.run(
                "count",
                CountConfig(inputs=(samples,)),
                output=Path(scratch) / f"{executor}-{workers}",
                options=RunOptions(executor=executor, workers=workers),
            )
            digests[f"{executor} {workers}"] = record.artifact_digest
    return {
        "equal": len(set(digests.values())) == 1,
        "digests": digests,
        "seconds": clock.seconds() - started,
    }


def _show(report: dict[str, Any]) -> None:
    machine, environment = report["machine"], report["environment"]
    quota = "none" if machine["cpu_quota"] is None else f"{machine['cpu_quota']:g}"
    libraries = ", ".join(f"{name} {version}" for name, version in environment["libraries"].items())
    missing = [name for name, there in report["kernels"].items() if not there]
    rows = [
        ("cpu", environment["cpu"]),
        ("simd", " ".join(environment["simd"]) or "none known"),
        ("cores", f"{machine['cpus_visible']} visible, {machine['physical_cores']} physical, quota {quota}"),
        ("memory", f"{show_size(machine['free_memory'])} free"),
        ("workers", report["workers"]),
        (
            "thread caps",
            ", ".join(f"{key}={value}" for key, value in list(report["thread_caps"].items())[:3]) + ", ...",
        ),
        (
            "kernels",
            f"missing: {', '.join(missing)}" if missing else f"all {len(report['kernels'])} compiled",
        ),
        ("arithmetic", _arithmetic_line(report["arithmetic"])),
        ("extras", _extras_line(report["extras"])),
        ("libraries", f"Python {environment['python']}, {libraries}"),
    ]
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    for name, text in rows:
        line = f"{name:12} {text}"
        click.echo(wrap_line(line, width, indent=13) if width else line)
    test = report["self_test"]
    for name, digest in test["digests"].items():
        click.echo(f"{'self-test':12} {name:12} {digest[:16]}")
    verdict = "same digest" if test["equal"] else "DIFFERENT DIGESTS"
    click.echo(f"{'self-test':12} {verdict} in {test['seconds']:.1f} s")


def _arithmetic_line(found: dict[str, Any]) -> str:
    wrong = [name for name, right in found["right"].items() if not right]
    verdict = f"WRONG BITS: {', '.join(wrong)}" if wrong else f"right bits from {', '.join(found['right'])}"
    return f"version {found['version']}, computes with {found['isa']}; {verdict}"


def _extras_line(extras: dict[str, bool]) -> str:
    known = [
        f"{name} (yes)" if there else f"{name} (pip install 'samebits[{name}]')"
        for name, there in extras.items()
    ]
    return ", ".join(known)


command = SectionedCommand(
    "doctor",
    callback=_doctor,
    params=[
        SectionedOption(["--json", "as_json"], is_flag=True, section=PRINT, help="print everything as JSON")
    ],
    help="Show cores seen and chosen, thread caps, compiled kernels and extras, and run a parity self-test.",
    example="samebits doctor",
)
