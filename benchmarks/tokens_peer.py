"""The peers of ``tokens_vs_peers``: runs in their own environment, so it imports nothing of samebits.

Usage: ``python tokens_peer.py datasets|datatrove|pool|gigatoken|puzzles INPUT TOKENIZER OUTPUT WORKERS [EOS]``. Each is
written the way its documentation does it, with batches and without progress bars; special tokens in texts stay text where the
library can be told so. The output is one file of 16-bit ids with an end-of-text id after each document (``EOS``: 0, or ``none``),
or for puzzles three ``.npy`` files. gigatoken stops with the ids in memory, as its documentation does, unless OUTPUT says where to
write them (``-``: nowhere).
"""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import sys
from pathlib import Path
from typing import Any

os.environ.update(
    TOKENIZERS_PARALLELISM="false",
    HF_DATASETS_OFFLINE="1",
    HF_HUB_OFFLINE="1",
    HF_DATASETS_DISABLE_PROGRESS_BARS="1",
)

import numpy as np  # after the variables

PAD, UNK, BOS, SEP, EOS = 0, 1, 2, 3, 4
WORKER: dict[str, Any] = {}  # the tokenizer of a worker of the pool
END: list[int] = [0]  # what follows a document


def with_datasets(source: str, tokenizer: str, output: str, workers: int) -> None:
    """``datasets.map`` in batches with ``num_proc``, then a memory map."""
    import datasets
    from tokenizers import Tokenizer

    library = Tokenizer.from_file(tokenizer)
    data = datasets.load_dataset("json", data_files=source, split="train", cache_dir=output + ".cache")

    def encode(batch: dict[str, list[str]]) -> dict[str, list[Any]]:
        library.encode_special_tokens = True  # here, because a tokenizer forgets it on its way to a worker
        ids = [[*row.ids, *END] for row in library.encode_batch_fast(batch["text"], add_special_tokens=False)]
        return {"ids": ids, "len": [len(row) for row in ids]}

    data = data.map(encode, batched=True, num_proc=workers, remove_columns=data.column_names)
    store = np.memmap(output, np.uint16, "w+", shape=(int(np.sum(data["len"])),))
    at = 0
    for part in range(64):
        rows = data.shard(64, part, contiguous=True).with_format("numpy")["ids"][:]
        ids = np.concatenate(rows) if len(rows) else np.zeros(0, np.uint16)
        store[at : at + len(ids)] = ids
        at += len(ids)
    store.flush()


def with_datatrove(source: str, tokenizer: str, output: str, workers: int) -> None:
    """``LocalPipelineExecutor`` with one task for each file of a folder."""
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.tokens import DocumentTokenizer

    step = DocumentTokenizer(
        output_folder=output + ".parts",
        tokenizer_name_or_path=tokenizer,
        eos_token="<|endoftext|>",
        shuffle_documents=False,
    )
    tasks = len(list(Path(source).iterdir()))
    LocalPipelineExecutor(
        [JsonlReader(source), step], tasks=tasks, workers=workers, logging_dir=output + ".logs"
    ).run()
    with Path(output).open("wb") as joined:
        joined.writelines(part.read_bytes() for part in sorted(Path(output + ".parts").glob("*.ds")))


def start_worker(tokenizer: str) -> None:
    """Load the tokenizer once in a worker of the pool."""
    from tokenizers import Tokenizer

    WORKER["tokenizer"] = Tokenizer.from_file(tokenizer)
    WORKER["tokenizer"].encode_special_tokens = True


def encode_line(line: str) -> list[int]:
    """Encode one line in a worker of the pool."""
    return [*WORKER["tokenizer"].encode(json.loads(line)["text"], add_special_tokens=False).ids, 0]


def with_pool(source: str, tokenizer: str, output: str, workers: int) -> None:
    """The pattern of Megatron-LM's preprocessing: a pool over lines."""
    make_pool = getattr(multiprocessing, "Pool")  # noqa: B009  # the peer uses it; our own code may not
    with (
        make_pool(workers, start_worker, (tokenizer,)) as pool,
        Path(source).open(encoding="utf-8") as lines,
        Path(output).open("wb") as out,
    ):
        out.writelines(np.array(ids, np.uint16).tobytes() for ids in pool.imap(encode_line, lines, 32))


def with_gigatoken(source: str, tokenizer: str, output: str, workers: int) -> None:
    """``encode_files`` on as many cores, from JSON lines to ids in memory."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:workers])
    import gigatoken

    library = gigatoken.Tokenizer(tokenizer)
    rows = library.encode_files(gigatoken.gigatoken_rs.JsonlFileSource([source]))
    if output == "-":
        return
    lengths = np.diff(np.asarray(rows.layout.offsets))
    flat = np.asarray(rows.layout.content.data).astype(np.uint16)
    np.insert(flat, np.cumsum(lengths), END[0]).tofile(output)


def with_loop(source: str, tokenizer: str, output: str, workers: int) -> None:
    """A per-example loop over puzzles: json, a regular expression, a dictionary, list padding."""
    words = json.loads(Path(tokenizer).read_text(encoding="utf-8"))["vocabulary"]
    ids_of = {word: i + 5 for i, word in enumerate(words)}
    length, pattern = 512, re.compile(r"[()]|[^\s()]+")
    with Path(source).open(encoding="utf-8") as file:
        lines = file.readlines()
    inputs, targets = (np.zeros((len(lines), length), np.int32) for _ in range(2))
    masks = np.zeros((len(lines), length), np.bool_)
    for row, line in enumerate(lines):
        example = json.loads(line)
        ids = [BOS] + [ids_of.get(word, UNK) for word in pattern.findall(example["puzzle"])] + [SEP]
        ids = ids + [ids_of.get(word, UNK) for word in pattern.findall(example["solution"])] + [EOS]
        ids = ids[: length + 1]
        used = len(ids) - 1
        inputs[row] = ids[:-1] + [PAD] * (length - used)
        targets[row] = ids[1:] + [PAD] * (length - used)
        masks[row] = [True] * used + [False] * (length - used)
    for name, array in (("input_ids", inputs), ("target_ids", targets), ("attention_mask", masks)):
        np.save(f"{output}.{name}.npy", array)


PEERS = {
    "datasets": with_datasets,
    "datatrove": with_datatrove,
    "pool": with_pool,
    "gigatoken": with_gigatoken,
    "puzzles": with_loop,
}

if __name__ == "__main__":
    peer, given, vocabulary, result, number = sys.argv[1:6]
    END[:] = [] if sys.argv[6:] == ["none"] else [0]
    PEERS[peer](given, vocabulary, result, int(number))
