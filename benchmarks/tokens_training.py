"""Training of byte pairs against the trainers of tokenizers, rustbpe and gigatoken; end to end, the same file, 2 cores.

Every side is a command of its own: JSON lines to a vocabulary of 32,000, start-up and output included. Ours writes what tokenizers
writes, which is compared byte for byte, with one worker and with two. Ratio keys, the other side's wall seconds by ours with two
workers: ``tokenizers``, ``rustbpe``, ``gigatoken``; ``two_workers`` is ours with one by ours with two. The shares of rustbpe's and
gigatoken's tokens that ours has too are in the details: they number bytes differently, so ties go other ways.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from importlib import metadata
from pathlib import Path

from benchmarks.common import BENCH, arguments, finish, peer_python, show_table
from benchmarks.tokens_data import text_jsonl
from benchmarks.tokens_vs_peers import timed
from samebits.tokens.encoders.allow_list import byte_alphabet

PEER = Path(__file__).with_name("tokens_training_peer.py")
PEERS = ("tokenizers", "rustbpe", "gigatoken")


def ours(folder: Path, vocab_size: int, workers: int) -> list[str]:
    """Return our command, with fresh output."""
    output = folder / f"ours-{workers}"
    shutil.rmtree(output, ignore_errors=True)
    command = [sys.executable, "-m", "samebits", "tokens", "train-tokenizer", str(folder / "text.jsonl")]
    flags = ["-o", str(output), "--vocab-size", str(vocab_size), "--sample-mb", "100000", "-w", str(workers)]
    return [*command, *flags, "-q"]


def our_tokens(folder: Path) -> set[bytes]:
    """Return the tokens that ours has learned."""
    byte_of = {char: byte for byte, char in enumerate(byte_alphabet())}
    model = json.loads((folder / "ours-2" / "tokenizer.json").read_bytes())["model"]
    return {bytes(byte_of[char] for char in token) for token in model["vocab"] if set(token) <= set(byte_of)}


def main() -> None:
    """Generate, train in turn, compare, report."""
    options = arguments(__doc__.splitlines()[0])
    megabytes, vocab_size = (3, 4000) if options.quick else (100, 32_000)
    packages = ["gigatoken", "rustbpe", f"tokenizers=={metadata.version('tokenizers')}"]
    python = str(peer_python("tokens_training", packages))
    with tempfile.TemporaryDirectory(dir=BENCH) as name:
        folder = Path(name)
        text_jsonl(folder / "text.jsonl", megabytes * 1_000_000)
        sides: dict[str, list[dict[str, float]]] = {}
        for _ in range(min(options.rounds, 3)):
            for workers in (1, 2):
                command = ours(folder, vocab_size, workers)
                sides.setdefault(f"samebits, {workers}", []).append(timed(command))
            for peer in PEERS:
                paths = [str(folder / "text.jsonl"), str(folder / peer), str(vocab_size)]
                sides.setdefault(peer, []).append(timed([python, str(PEER), peer, *paths]))
        made = [(folder / f"ours-{workers}" / "tokenizer.json").read_bytes() for workers in (1, 2)]
        equal = made[0] == made[1] == (folder / "tokenizers").read_bytes()
        known = our_tokens(folder)
        found = {peer: set(map(bytes.fromhex, (folder / peer).read_text().split())) for peer in PEERS[1:]}
        shared = {peer: len(tokens & known) / len(tokens) for peer, tokens in found.items()}
    wall = {name: sorted(run["wall"] for run in runs)[len(runs) // 2] for name, runs in sides.items()}
    show_table(["side", "wall s"], [[name, f"{seconds:.2f}"] for name, seconds in wall.items()])
    ratios = {peer: wall[peer] / wall["samebits, 2"] for peer in PEERS}
    ratios["two_workers"] = wall["samebits, 1"] / wall["samebits, 2"]
    details = {"megabytes": megabytes, "vocab_size": vocab_size, "runs": sides, "tokens_shared": shared}
    finish("tokens_training", equal=equal, ratios=ratios, details=details, options=options)


if __name__ == "__main__":
    main()
