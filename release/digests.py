"""Print the artifact digest of every job on small committed texts: equal lines on two machines are equal bytes.

python -m release.digests > HERE
python -m release.digests --compare HERE THERE [--record FILE]
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.small_jobs import SMALL_JOBS, reference_of

from samebits.core.digest import canonical_json
from samebits.core.observing import clock
from samebits.data.artifact import open_artifact
from samebits.errors import MissingExtra

# Other ways of the same job, each with what differs from the table of small jobs.
SENTENCES = Path(__file__).resolve().parents[1] / "tests" / "graph" / "sentences.conllu"
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "graph_train, sentences": (
        "graph_train",
        {"inputs": (str(SENTENCES),), "layers": 2, "dropout": 0.25, "seed": 3},
    ),
    "langid, compact": ("langid", {"mode": "compact", "megabytes": 1}),
    "langid, exact": ("langid", {"mode": "exact"}),
    "lm, 20 steps": ("lm", {"steps": 20, "validate_every": 10}),
    "tokens, byte pairs": ("tokens", {"tokenizer": "@tokens_train/tokenizer.json"}),
    "tokens, characters": ("tokens", {"tokenizer": "char"}),
    "tokens, words": ("tokens", {"tokenizer": "word"}),
}


def digest_of(name: str, settings: dict[str, Any], place: Path) -> str:
    """Run a job of the table and return the digest of what it made; ``@job/file`` is a file of another one's artifact."""
    given = {}
    for key, value in settings.items():
        job, slash, file = str(value).removeprefix("@").partition("/")
        given[key] = str(reference_of(job, place) / file) if slash and str(value).startswith("@") else value
    return open_artifact(reference_of(name, place, **given)).digest


def main(names: list[str]) -> int:
    """Run the named jobs, or all; those that need more than the package itself only where it is installed."""
    # Under emulation the interpreter cannot start itself: training workers are started by the script that emulates.
    sys.executable = os.environ.get("EMULATED_PYTHON", sys.executable)
    wanted = {**{name: (name, {}) for name in SMALL_JOBS}, **VARIANTS}
    for title, (name, settings) in sorted(wanted.items()):
        if names and title not in names:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            try:
                digest = digest_of(name, settings, Path(scratch))
            except MissingExtra as error:
                sys.stderr.write(f"{title}: left out, {error.message}\n")
                continue
        sys.stdout.write(f"{digest} {title}\n")
        sys.stdout.flush()
    return 0


def compare(here: Path, there: Path, record: Path | None) -> int:
    """Say which lines of two machines are equal; return 1 if one is not, or there are none."""
    ours, theirs = (
        {line[65:]: line[:64] for line in path.read_text().splitlines()} for path in (here, there)
    )
    for name in sorted(ours.keys() | theirs.keys()):
        missing = "only here" if name not in theirs else "only there" if name not in ours else ""
        said = missing or ("same" if ours[name] == theirs[name] else "DIFFERENT")
        sys.stdout.write(f"{said:10} {name}\n")
    both = sorted(ours.keys() & theirs.keys())
    different = [name for name in both if ours[name] != theirs[name]]
    if record is not None:
        about: dict[str, Any] = {"name": "anywhere", "machines": ["x86_64", "aarch64 under qemu-user"]}
        about |= {"measured": clock.utc_now()[:10], "compared": len(both), "different": len(different)}
        record.write_bytes(canonical_json(about | {"digests": {name: ours[name] for name in both}}))
    sys.stdout.write(f"{len(both)} digests, {len(different)} different\n")
    return 1 if different or not both or theirs.keys() - ours.keys() else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--compare"]:
        one, other, *rest = sys.argv[2:]
        sys.exit(compare(Path(one), Path(other), Path(rest[1]) if rest[:1] == ["--record"] else None))
    sys.exit(main(sys.argv[1:]))
