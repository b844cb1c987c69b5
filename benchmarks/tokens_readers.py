"""Who reads a store of tokens: Megatron-core, a nanoGPT-style loader, Hugging Face datasets and PyTorch, each compared id by id.

The first three run in an environment of their own. PyTorch reads through ``TokenStream`` with 0, 1 and 2 loader workers, which
must give the same batches. Ratio keys: ``megatron_core``, ``nanogpt``, ``datasets``, ``torch_loader``: tokens read as they were
stored by tokens stored, so 1 means all.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from importlib import resources
from pathlib import Path
from typing import Any

from benchmarks.common import BENCH, arguments, finish, peer_python, show_table
from benchmarks.tokens_readers_peer import digest, windows

PEER = Path(__file__).with_name("tokens_readers_peer.py")
PACKAGES = ["megatron-core", "datasets", "torch==2.13.0"]


def make_store(folder: Path) -> Path:
    """Build a store of the sample texts with a tokenizer learned from them."""
    samples = str(resources.files("samebits") / "samples" / "*.txt")
    command = [
        sys.executable,
        "-m",
        "samebits",
        "tokens",
        "build",
        samples,
        "-o",
        str(folder / "store"),
        "-q",
    ]
    flags = ["-t", "bpe", "--vocab-size", "4000", "--export", "megatron,nanogpt"]
    subprocess.run([*command, *flags], check=True)
    return folder / "store"


def loader_digests(store: Any) -> list[dict[str, Any]]:
    """Batches of a stream with 0, 1 and 2 loader workers."""
    from torch.utils.data import DataLoader

    from samebits.tokens.readers.torch_data import TokenStream

    stream = TokenStream(store, length=64, batch_size=8, seed=1)
    loaders = [DataLoader(stream, batch_size=None, num_workers=number) for number in (0, 1, 2)]
    return [digest(x.reshape(-1).numpy() for batch in loader for x in batch) for loader in loaders]


def main() -> None:
    """Build, read, compare."""
    from samebits.data.token_store import TokenStore
    from samebits.tokens.readers.handover import write_arrow

    options = arguments(__doc__.splitlines()[0])
    python = peer_python("tokens_readers", PACKAGES)
    BENCH.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BENCH) as name:
        folder = make_store(Path(name))
        store = TokenStore.open(folder, full_check=True)
        write_arrow(store, Path(name) / "store.arrow")
        command = [str(python), str(PEER), str(folder), str(Path(name) / "store.arrow")]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"the readers ended with {done.returncode}:\n{done.stderr[-2000:]}")
        found = json.loads(done.stdout.splitlines()[-1])
        documents, cut = digest(store[row] for row in range(len(store))), digest(windows(store.tokens))
        loaders = loader_digests(store)
    wanted = {"megatron_core": documents, "nanogpt": cut, "datasets": documents, "torch_loader": loaders[0]}
    found["torch_loader"] = loaders[0] if loaders[0] == loaders[1] == loaders[2] else {}
    versions = found.pop("versions")
    ratios = {reader: float(found[reader] == wanted[reader]) for reader in wanted}
    rows = [
        [n, f"{wanted[n]['documents']:,}", f"{wanted[n]['tokens']:,}", "yes" if ratios[n] else "NO"]
        for n in wanted
    ]
    show_table(["reader", "documents", "tokens", "equal"], rows)
    details = {"read": wanted, "peers": versions}
    finish("tokens_readers", equal=all(ratios.values()), ratios=ratios, details=details, options=options)


if __name__ == "__main__":
    main()
