"""Graphs from files: JSON, JSON lines and GraphML, with the file and line of whatever is wrong.

A ``.json`` file holds one graph or a list of them, a line of ``.jsonl`` one graph or an object with the key ``graph``,
a ``.graphml`` file one or more ``<graph>``. Labels are those under the key or attribute ``label`` unless another is named.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from samebits.core.regular_file import read_regular
from samebits.errors import ConfigError, InputError
from samebits.graph.data import Graph
from samebits.graph.formats.graphml import read_graphml

__all__ = ["SUFFIXES", "Reading", "graph_files", "read_graphs"]


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read graphs.

    Attributes:
        node_label: Key or attribute of a node's label.
        edge_label: The same for edges.
        directed: What a graph is that does not say.
    """

    node_label: str = "label"
    edge_label: str = "label"
    directed: bool = False

    def graph(self, value: Any) -> Graph:
        """Make one graph of decoded JSON."""
        inner = value.get("graph") if isinstance(value, dict) and "nodes" not in value else None
        return Graph.from_json(
            value if inner is None else inner,
            node_label=self.node_label,
            edge_label=self.edge_label,
            directed=self.directed,
        )


Reader = Callable[[bytes, str, Reading], Iterator[Graph]]


def graph_files(inputs: Sequence[str]) -> list[Path]:
    """Return the files that the arguments mean: files as they are, folders sorted by name.

    Raises:
        InputError: for what is missing or has a suffix that tells no format of graphs.
    """
    found: list[Path] = []
    for argument in inputs:
        path = Path(argument)
        if path.is_dir():
            inside = sorted(p for p in path.rglob("*") if p.suffix.lower() in SUFFIXES and p.is_file())
            if not inside:
                raise InputError(
                    "no graphs in this folder", path=argument, hint=f"known: {', '.join(SUFFIXES)}"
                )
            found += inside
        elif not path.is_file():
            raise InputError("no such file", path=argument, hint="ls shows what is there")
        elif path.suffix.lower() not in SUFFIXES:
            raise InputError(
                "the suffix tells no format", path=argument, hint=f"known: {', '.join(SUFFIXES)}"
            )
        else:
            found.append(path)
    return found


def read_graphs(path: Path | str, reading: Reading | None = None) -> list[Graph]:
    """Read all graphs of one file.

    Raises:
        InputError: names the line, or the number of the graph where a format has no lines.
    """
    path = Path(path)
    try:
        data = read_regular(path)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=str(path)) from None
    return list(SUFFIXES[path.suffix.lower()](data, str(path), reading or Reading()))


def _read_json(data: bytes, path: str, reading: Reading) -> Iterator[Graph]:
    value = _decoded(data, path, line=None)
    graphs = value if isinstance(value, list) else [value]
    for number, item in enumerate(graphs, start=1):
        try:
            yield reading.graph(item)
        except ConfigError as error:
            which = f"graph {number}: " if isinstance(value, list) else ""
            raise InputError(which + error.message, path=path, hint=error.hint) from None


def _read_jsonl(data: bytes, path: str, reading: Reading) -> Iterator[Graph]:
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        value = _decoded(line, path, line=number)
        try:
            yield reading.graph(value)
        except ConfigError as error:
            raise InputError(error.message, path=path, line=number, hint=error.hint) from None


def _decoded(data: bytes, path: str, *, line: int | None) -> Any:
    try:
        return json.loads(data)
    except json.JSONDecodeError as error:
        raise InputError(f"not valid JSON: {error.msg}", path=path, line=line or error.lineno) from None
    except (ValueError, RecursionError) as error:  # bytes that are no text, a number of a million digits
        raise InputError(
            f"not valid JSON: {str(error)[:80] or type(error).__name__}", path=path, line=line
        ) from None


def _read_graphml(data: bytes, path: str, reading: Reading) -> Iterator[Graph]:
    return read_graphml(data, path, node_label=reading.node_label, edge_label=reading.edge_label)


SUFFIXES: dict[str, Reader] = {
    ".json": _read_json,
    ".jsonl": _read_jsonl,
    ".ndjson": _read_jsonl,
    ".graphml": _read_graphml,
    ".xml": _read_graphml,
}
