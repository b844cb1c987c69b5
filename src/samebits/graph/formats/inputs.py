"""The files of graphs a job was given: read once, digested by name and bytes, packed for the workers."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from samebits.core.digest import digest_of_file
from samebits.errors import ConfigError, InputError
from samebits.graph.data import Graph
from samebits.graph.formats.read import Reading, graph_files, read_graphs

__all__ = ["Loaded", "load"]


@dataclass(frozen=True, slots=True)
class Loaded:
    """Graphs of some files.

    Attributes:
        graphs: All of them, file after file.
        names: ``file:number`` for each graph; no folders, so that a result does not depend on where files lie.
        sources: The files' names.
        digest: Of names and contents.
    """

    graphs: list[Graph]
    names: list[str]
    sources: tuple[str, ...]
    digest: str


def load(inputs: Sequence[str], reading: Reading) -> Loaded:
    """Read every file.

    Raises:
        ConfigError: if nothing was given.
        InputError: if a file cannot be used or holds no graph.
    """
    if not inputs:
        raise ConfigError(
            "no graphs were given", hint="name .jsonl, .json, .graphml, .gxl, .gexf or t/v/e files"
        )
    graphs: list[Graph] = []
    names: list[str] = []
    total = hashlib.sha256()
    files = graph_files(inputs)
    for path in files:
        found = read_graphs(path, reading)
        if not found:
            raise InputError("no graphs in this file", path=str(path))
        graphs += found
        names += [f"{path.name}:{number}" for number in range(1, len(found) + 1)]
        name = path.name.encode("utf-8", "surrogateescape")
        total.update(b"%d:%b%b" % (len(name), name, bytes.fromhex(digest_of_file(path))))
    return Loaded(graphs, names, tuple(Path(path).name for path in files), total.hexdigest())
