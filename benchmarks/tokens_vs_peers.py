"""tokens against Hugging Face datasets, datatrove, a process pool, and a per-example loop; end to end, same files.

Every side runs as a command of its own, start-up and output included, 2 workers each: JSON lines to one file of 16-bit ids by
a 32k byte-pair tokenizer that ``tokens train-tokenizer`` has made. Outputs are compared byte for byte first. The loop turns
puzzles into padded rows on one core; ours stores rows once (input, target and mask are views), and once more writes the
three arrays of the loop, which are compared.

Ratio keys, the other side's seconds by ours: ``datasets_map_17mb``, ``datasets_map_120mb``, ``datatrove``, ``puzzle_loop``;
``gigatoken_files`` (its own ``encode_files``, which ends with ids in memory, on the larger file); ``sentencepiece_bpe``, ``unigram``,
``wordpiece`` (``datasets.map`` with a tokenizer of that family, on the smaller file); ``today`` (an earlier samebits on the larger
file: ``--before FOLDER`` names its checkout with compiled kernels; left out without it).

``two_workers`` is ours with one worker by ours with two, on a file of 1.2 GB: whole commands, timed from outside from their start to
their end, so nothing that either does before its own clock begins is left out. ``two_workers_600mb`` and ``two_workers_120mb`` (the larger
file) are the same for less: what no worker can share, above all the start of Python, is a third of the time on 120 MB.
``machine_two_processes`` (and ``_600mb``, ``_120mb``) is twice the time of one such command with one worker over that of two at once, which
share nothing: what the second core of this machine is worth in the same rounds. The quick form uses 3, 8, 16 and 32 MB and an
8k tokenizer under the same keys.

Which rounds count is settled by what others used of the machine (``benchmarks.tokens_runs``), not by what they gave. A full run
takes minutes of an idle machine. ``--only prepare``, then ``--only small``, ``large``, ``workers``, ``middle``, ``long``, ``families`` or ``puzzles``
as often as liked, cut it into pieces: files and runs are kept under ``.bench``, every call adds a round (of some groups several), and the
record is made of all of them. Rounds of other code are not added to.
"""

from __future__ import annotations

import compileall
import hashlib
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from importlib import metadata
from itertools import islice
from pathlib import Path
from typing import Any

import samebits
from benchmarks.common import BENCH, arguments, finish, peer_python, show_table
from benchmarks.others import Others
from benchmarks.tokens_data import text_jsonl, write_puzzles
from benchmarks.tokens_families import families
from benchmarks.tokens_runs import FAMILIES, GROUPS, MOST_OTHERS, Run, Runs, code_digest, group_of

PEER = Path(__file__).with_name("tokens_peer.py")
SIZES = ("small", "large", "middle", "long")
WORKERS = {"workers": "large", "middle": "middle", "long": "long"}  # groups and their files
ROUNDS = {"workers": 15, "middle": 3, "long": 3}
LOOP_ARRAYS = ("input_ids", "target_ids", "attention_mask")
Side = Callable[[], Run]


def timed(command: list[str]) -> Run:
    """Run a command and return wall and CPU seconds of it and its children."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True)
    wall = time.perf_counter() - started
    if done.returncode:
        sys.exit(f"{' '.join(command)}\nended with {done.returncode}:\n{done.stderr[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"wall": wall, "cpu": cpu}


class Bench:
    """Files and commands of one run."""

    def __init__(self, folder: Path, *, quick: bool, before: str = "") -> None:
        self.folder, self.before = folder, before
        self.repeated: dict[str, int] = {}
        self.sizes = dict(zip(SIZES, (3, 8, 16, 32) if quick else (17, 120, 600, 1200), strict=True))
        self.num_puzzles = 30_000 if quick else 400_000
        self.vocab_size = 8_000 if quick else 32_000
        # pip compiles the peers' modules when it installs them; a checkout where Python may not write bytecode would
        # compile ours at every start (0.1 s)
        compileall.compile_dir(str(Path(samebits.__file__).parent), quiet=1)
        version = metadata.version("tokenizers")
        packages = ["datasets", "datatrove", "gigatoken", "orjson", f"tokenizers=={version}"]
        self.peer = peer_python("tokens", packages)

    def prepare(self) -> None:
        """Write the files and learn both tokenizers."""
        for name, size in self.sizes.items():
            self.repeated[name] = text_jsonl(self.folder / f"{name}.jsonl", size * 1_000_000)
        write_puzzles(self.folder / "puzzles.jsonl", self.num_puzzles)
        self.halve("small")
        self.train_families()
        self.ours_command("train-tokenizer", "small.jsonl", "bpe", "--vocab-size", str(self.vocab_size))
        self.ours_command(
            "train-tokenizer", "puzzles.jsonl", "words", "--kind", "word", "--columns", "puzzle,solution"
        )

    def train_families(self) -> None:
        """Write a tokenizer of every family that is compared."""
        with (self.folder / "small.jsonl").open("rb") as lines:
            texts = [json.loads(line)["text"] for line in islice(lines, 2000)]
        texts = [text for text in texts if text.isascii()][
            :500
        ]  # a small vocabulary has no room for more letters
        made = {family.title: family for family in families(texts, vocab_size=self.vocab_size // 4)}
        for name, title in FAMILIES.items():
            (self.folder / name).mkdir()
            (self.folder / name / "tokenizer.json").write_bytes(made[title].document)

    def halve(self, name: str) -> None:
        """Cut a file in two: datatrove gives a file to a task."""
        lines = (self.folder / f"{name}.jsonl").read_bytes().splitlines(keepends=True)
        halves = self.folder / f"{name}-halves"
        halves.mkdir()
        middle = len(lines) // 2
        (halves / "0.jsonl").write_bytes(b"".join(lines[:middle]))
        (halves / "1.jsonl").write_bytes(b"".join(lines[middle:]))

    def ours_command(self, verb: str, source: str, output: str, *flags: str, home: str = "") -> Run:
        """Run ``samebits tokens``, perhaps of another checkout; adds the seconds of its own record."""
        shutil.rmtree(self.folder / output, ignore_errors=True)
        command = [sys.executable, "-m", "samebits", "tokens", verb, str(self.folder / source)]
        command = [*command, "-o", str(self.folder / output), "-q", *flags]
        spent = timed(["env", f"PYTHONPATH={Path(home) / 'src'}", *command] if home else command)
        record = json.loads((self.folder / output / "record.json").read_bytes())
        return {**spent, "record": record["seconds"], "peak": record["peak_rss"]["driver"]}

    def ours(self, name: str, workers: int, output: str = "", home: str = "") -> Side:
        """Our build of a text file."""
        flags = ("-t", str(self.folder / "bpe"), "-w", str(workers))
        return lambda: self.ours_command(
            "build", f"{name}.jsonl", output or f"ours-{name}", *flags, home=home
        )

    def ours_family(self, family: str) -> Side:
        """Our build of the smaller file with another tokenizer."""
        flags = ("-t", str(self.folder / family), "-w", "2", "--no-add-eos", "--dtype", "uint16")
        return lambda: self.ours_command("build", "small.jsonl", f"ours-families-{family}", *flags)

    def pair(self, name: str, group: str) -> Side:
        """Two builds of a file at the same time, with one worker each."""
        sides = [self.ours(name, 1, f"ours-{group}-pair-{i}") for i in range(2)]

        def side() -> Run:
            started = time.perf_counter()
            with ThreadPoolExecutor(2) as pool:
                for done in [pool.submit(side) for side in sides]:
                    done.result()
            return {"wall": time.perf_counter() - started}

        return side

    def puzzle(self, *extra: str) -> Side:
        """Our build of the puzzles, on one core."""
        flags = ("-t", str(self.folder / "words"), "-w", "1", "--layout", "rows", "--max-length", "512")
        columns = ("--columns", "puzzle,solution", "--add-bos")
        output = "ours-puzzles" + "-all" * bool(extra)
        return lambda: self.ours_command("build", "puzzles.jsonl", output, *flags, *columns, *extra)

    def theirs(self, peer: str, source: str, tokenizer: str = "bpe", group: str = "") -> Side:
        """A peer's command, with fresh output; without end-of-text ids for a family."""
        output = self.folder / f"{peer}-{group or Path(source).stem}"

        def side() -> Run:
            for old in self.folder.glob(f"{output.name}*"):
                shutil.rmtree(old) if old.is_dir() else old.unlink()
            tokenizer_file = self.folder / tokenizer / "tokenizer.json"
            paths = [str(self.folder / source), str(tokenizer_file), str(output)]
            return timed([str(self.peer), str(PEER), peer, *paths, "2", "none" if group else "0"])

        return side

    def in_memory(self, source: str) -> Side:
        """Gigatoken's own way, without the output that is compared."""
        paths = [str(self.folder / source), str(self.folder / "bpe" / "tokenizer.json"), "-"]
        return lambda: timed([str(self.peer), str(PEER), "gigatoken", *paths, "2"])

    def sides(self) -> dict[str, Side]:
        """Everything that is timed, by name."""
        found = {
            "datasets small": self.theirs("datasets", "small.jsonl"),
            "datatrove small": self.theirs("datatrove", "small-halves"),
            "pool small": self.theirs("pool", "small.jsonl"),
            "samebits small": self.ours("small", 2),
            "datasets large": self.theirs("datasets", "large.jsonl"),
            "gigatoken large": self.in_memory("large.jsonl"),
            "samebits large": self.ours("large", 2),
            "loop puzzles": self.theirs("puzzles", "puzzles.jsonl", "words"),
            "samebits puzzles": self.puzzle(),
            "samebits puzzles, three arrays": self.puzzle("--materialize"),
        }
        for group, name in WORKERS.items():
            for workers in (1, 2):
                found[f"samebits {group}, {workers}"] = self.ours(name, workers, f"ours-{group}-{workers}")
            found[f"samebits {group}, 1 and 1"] = self.pair(name, group)
        if self.before:
            found["before large"] = self.ours("large", 2, "before-large", self.before)
        for family in FAMILIES:
            theirs = self.theirs("datasets", "small.jsonl", family, f"families-{family}")
            found[f"datasets families, {family}"] = theirs
            found[f"samebits families, {family}"] = self.ours_family(family)
        return found

    def differences(self, group: str) -> list[str]:
        """Names of outputs of a group that are not the same bytes."""
        if group == "large":
            self.theirs("gigatoken", "large.jsonl")()  # once more, with the ids written
        pairs = {
            "datasets-small": "ours-small/train.bin",
            "datatrove-small-halves": "ours-small/train.bin",
            "pool-small": "ours-small/train.bin",
            "datasets-large": "ours-large/train.bin",
            "gigatoken-large": "ours-large/train.bin",
        }
        pairs |= {f"datasets-families-{name}": f"ours-families-{name}/train.bin" for name in FAMILIES}
        for name in WORKERS:
            for other in ("2", "pair-0", "pair-1"):
                pairs[f"ours-{name}-{other}/train.bin"] = f"ours-{name}-1/train.bin"
        if self.before:
            pairs["before-large/train.bin"] = "ours-large/train.bin"
        for name in LOOP_ARRAYS:
            pairs[f"puzzles-puzzles.{name}.npy"] = f"ours-puzzles-all/train.{name}.npy"
        mine = {a: b for a, b in pairs.items() if group in a.split(".")[0]}
        return [a for a, b in mine.items() if _digest(self.folder / a) != _digest(self.folder / b)]


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def measure(bench: Bench, runs: Runs, group: str, rounds: int, keep: Callable[[], object]) -> None:
    """Run every side of a group once a round, keeping what was measured after each, and compare their outputs."""
    sides = {name: side for name, side in bench.sides().items() if group_of(name) == group}
    for _ in range(rounds * ROUNDS.get(group, 1)):
        found = {}
        for name, side in sides.items():
            others = Others()
            found[name] = side()
            found[name]["others"] = others.seconds()
        for name, run in found.items():
            runs.found.setdefault(name, []).append(run)
        keep()
    runs.different += bench.differences(group)


def in_pieces(bench: Bench, piece: str) -> Runs:
    """Prepare, or add rounds of one group to the rounds before."""
    kept = bench.folder / "runs.json"
    runs = Runs(code=code_digest())
    if piece == "prepare":
        shutil.rmtree(bench.folder, ignore_errors=True)
        bench.folder.mkdir(parents=True)
        bench.prepare()
        runs.repeated = bench.repeated
    else:
        before = Runs(**json.loads(kept.read_bytes()))
        if before.found and before.code != runs.code:
            sys.exit(
                f"{kept} holds rounds of other code; set its `found` to {{}} to begin again with the same files"
            )
        runs = Runs(before.found, before.different, before.repeated, runs.code)
        bench.repeated = runs.repeated
        measure(bench, runs, piece, 1, lambda: kept.write_text(json.dumps(asdict(runs))))
    kept.write_text(json.dumps(asdict(runs)))
    return runs


def main() -> None:
    """Generate, compare, measure, report."""
    options = arguments(__doc__.splitlines()[0], only="", before="")
    BENCH.mkdir(exist_ok=True)
    if options.only:
        bench = Bench(BENCH / "tokens_vs_peers", quick=options.quick, before=options.before)
        runs = in_pieces(bench, options.only)
    else:
        with tempfile.TemporaryDirectory(dir=BENCH) as name:
            bench = Bench(Path(name), quick=options.quick, before=options.before)
            runs = Runs(code=code_digest(), all_count=options.quick)
            bench.prepare()
            for group in GROUPS:
                measure(bench, runs, group, 1 if options.quick else min(options.rounds, 3), list)
    wall, cpu, ratios, spread = runs.median("wall"), runs.median("cpu"), runs.ratios(), runs.spread()
    show_table(["side", "wall s", "CPU s"], [[n, f"{wall[n]:.2f}", f"{cpu.get(n, 0):.2f}"] for n in wall])
    for key, each in spread.items():
        print(
            f"{key} {ratios[key]:.2f}x; by round {each['least']:.2f} to {each['most']:.2f}, {each['rounds']} rounds"
        )
    print(f"different: {runs.different or 'none'}")
    if missing := set(GROUPS) - {group_of(name) for name in wall}:
        print(f"no record before a round counts of: {', '.join(sorted(missing))}")
        return
    details: dict[str, Any] = {
        "megabytes": bench.sizes,
        "text_repeated": bench.repeated,
        "puzzles": bench.num_puzzles,
        "vocab_size": bench.vocab_size,
        "rounds": {group: len(runs.others(group)) for group in GROUPS},
        "rounds_counted": {group: len(runs.counting(group)) for group in GROUPS},
        "others": {group: runs.others(group) for group in GROUPS},
        "most_others": MOST_OTHERS,
        "spread": spread,
        "wall_seconds": wall,
        "cpu_seconds": cpu,
        "runs": runs.found,
        "peers": {
            n: _peer_version(bench.peer, n) for n in ("datasets", "datatrove", "gigatoken", "tokenizers")
        },
    }
    finish("tokens_vs_peers", equal=not runs.different, ratios=ratios, details=details, options=options)


def _peer_version(python: Path, package: str) -> str:
    code = f"from importlib.metadata import version; print(version({package!r}))"
    return subprocess.run([str(python), "-c", code], capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    main()
