"""Sizes at the edge: a file of 5 GB, 10,000 tiny files, a line of 100 MB; each compared with what its parts give.

A block of text is built once. The 5 GB file is that block repeated, so its stream must be the block's stream repeated; the tiny
files hold one line of the block each, so theirs must be the block's. The long line lies between lines of the block; it must be
what the encoder gives for its text alone, wherever it is cut (shards of 8 and 1 MiB), and nothing around it may change. Ratio keys:
``five_gb``, ``tiny_files_10000``, ``line_100mb``: 1 where the stream is as it must be. The quick form uses 60 MB, 1,000 files and
the same line.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import BENCH, arguments, finish, show_table
from benchmarks.tokens_data import text_jsonl
from samebits.tokens.encoders.fastokens_encoder import FastEncoder
from samebits.tokens.encoders.interface import column_of

BLOCK_BYTES = 20_000_000
LONG_LINE_BYTES = 100_000_000


class Sizes:
    """Files and builds of one run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.block = folder / "block.jsonl"
        text_jsonl(self.block, BLOCK_BYTES)
        self.run("train-tokenizer", self.block, "bpe", "--vocab-size", "8000", "--sample-mb", "5")

    def run(self, verb: str, source: Path, output: str, *flags: str) -> dict[str, Any]:
        """Run ``samebits tokens`` and return its record."""
        command = [
            sys.executable,
            "-m",
            "samebits",
            "tokens",
            verb,
            str(source),
            "-o",
            str(self.folder / output),
        ]
        subprocess.run([*command, "-q", *flags], check=True)
        record: dict[str, Any] = json.loads((self.folder / output / "record.json").read_bytes())
        return record

    def build(self, source: Path, output: str, *flags: str) -> dict[str, Any]:
        """Build with 2 workers."""
        return self.run("build", source, output, "-t", str(self.folder / "bpe"), "-w", "2", *flags)

    def stream(self, output: str) -> Path:
        """Return the stream of a store."""
        return self.folder / output / "train.bin"

    def five_gb(self, times: int) -> tuple[bool, dict[str, Any]]:
        """The block, again and again."""
        source, data = self.folder / "large.jsonl", self.block.read_bytes()
        with source.open("wb") as file:
            for _ in range(times):
                file.write(data)
        record = self.build(source, "large")
        source.unlink()
        wanted, ids = hashlib.sha256(), self.stream("block").read_bytes()
        for _ in range(times):
            wanted.update(ids)
        with self.stream("large").open("rb") as file:
            equal = hashlib.file_digest(file, "sha256").hexdigest() == wanted.hexdigest()
        self.stream("large").unlink()
        return equal, {"bytes": times * len(data), **_spent(record)}

    def tiny_files(self, number: int) -> tuple[bool, dict[str, Any]]:
        """One line a file; what does not fit goes into the last."""
        lines = self.block.read_bytes().splitlines(keepends=True)
        tiny = self.folder / "tiny"
        tiny.mkdir()
        for i in range(number):
            last = i == number - 1
            (tiny / f"{i:06}.jsonl").write_bytes(
                b"".join(lines[i:]) if last else lines[i] if i < len(lines) else b""
            )
        record = self.build(tiny, "few")
        equal = self.stream("few").read_bytes() == self.stream("block").read_bytes()
        return equal, {"files": number, **_spent(record)}

    def long_line(self) -> tuple[bool, dict[str, Any]]:
        """Put a long line, all texts of the block again and again, after the first one of the block."""
        source, lines = self.folder / "long.jsonl", self.block.read_bytes().splitlines(keepends=True)
        once = "".join(json.loads(line)["text"] for line in lines)
        text = once * (1 + LONG_LINE_BYTES // len(once.encode()))
        row = json.dumps({"text": text}, ensure_ascii=False).encode() + b"\n"
        source.write_bytes(b"".join([lines[0], row, *lines[1:]]))
        record = self.build(source, "long")
        again = self.build(source, "again", "--cell-mb", "1")
        ids = FastEncoder((self.folder / "bpe" / "tokenizer.json").read_bytes()).encode_texts(
            column_of([text])
        )[0]
        block, end = (
            self.stream("block").read_bytes(),
            np.load(self.folder / "block" / "train.offsets.npy")[1],
        )
        first, rest = block[: end * 2], block[end * 2 :]
        wanted = first + ids.astype("<u2").tobytes() + first[-2:] + rest
        equal = self.stream("long").read_bytes() == wanted
        equal = equal and record["artifact_digest"] == again["artifact_digest"]
        return equal, {"bytes": len(row), **_spent(record)}


def _spent(record: dict[str, Any]) -> dict[str, Any]:
    return {"seconds": record["seconds"], "megabytes_per_worker": record["peak_rss"]["driver"] / 2e6}


def main() -> None:
    """Build all three, compare, report."""
    options = arguments(__doc__.splitlines()[0])
    BENCH.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BENCH) as name:
        sizes = Sizes(Path(name))
        sizes.build(sizes.block, "block")
        found = {
            "five_gb": sizes.five_gb(3 if options.quick else 250),
            "tiny_files_10000": sizes.tiny_files(1000 if options.quick else 10_000),
            "line_100mb": sizes.long_line(),
        }
    rows = [
        [n, "yes" if ok else "NO", f"{d['seconds']:.1f}", f"{d['megabytes_per_worker']:.0f}"]
        for n, (ok, d) in found.items()
    ]
    show_table(["input", "as it must be", "s", "MB a worker"], rows)
    details = {name: spent for name, (_, spent) in found.items()}
    ratios = {name: float(ok) for name, (ok, _) in found.items()}
    finish("tokens_sizes", equal=all(ratios.values()), ratios=ratios, details=details, options=options)


if __name__ == "__main__":
    main()
