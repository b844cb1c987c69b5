"""Graphs from files, with the file and line of whatever is wrong: JSON, JSON lines, GraphML, GXL, GEXF and ``t/v/e`` text.

A ``.json`` file holds one graph or a list of them, a line of ``.jsonl`` one graph or an object with the key ``graph``, an XML
file one or more ``<graph>``. Labels are those under the key or attribute ``label`` unless another is named; the empty name
ignores them. The suffix tells the format, below ``.gz`` or ``.zst`` if there is one; what a suffix leaves open, the content tells.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from samebits.core.regular_file import read_regular
from samebits.data.compressed.decoders import inflated
from samebits.data.inputs.formats import COMPRESSIONS
from samebits.errors import ConfigError, InputError
from samebits.graph.data import Graph
from samebits.graph.formats.gexf import read_gexf
from samebits.graph.formats.graphml import read_graphml
from samebits.graph.formats.gxl import read_gxl
from samebits.graph.formats.tve import looks_like_tve, read_tve
from samebits.graph.formats.xml_file import root_of

__all__ = ["SUFFIXES", "Reading", "graph_files", "read_graphs"]


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read graphs.

    Attributes:
        node_label: Key or attribute of a node's label; the empty name ignores labels.
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
        InputError: for what is missing, or has neither a suffix nor a content that tells a format of graphs.
    """
    found: list[Path] = []
    for argument in inputs:
        path = Path(argument)
        if path.is_dir():
            inside = sorted(p for p in path.rglob("*") if _suffix(p)[0] in SUFFIXES and p.is_file())
            if not inside:
                raise InputError(
                    "no graphs in this folder", path=argument, hint=f"known: {', '.join(SUFFIXES)}"
                )
            found += inside
        elif not path.is_file():
            raise InputError("no such file", path=argument, hint="ls shows what is there")
        else:
            if _suffix(path)[0] not in SUFFIXES:
                _reader_for(path, _content(path))
            found.append(path)
    return found


def read_graphs(path: Path | str, reading: Reading | None = None) -> list[Graph]:
    """Read all graphs of one file, or of the files in a folder in the order of their names.

    Raises:
        InputError: names the line, or the number of the graph where a format has no lines.
    """
    path = Path(path)
    if path.is_dir():
        return [graph for file in graph_files([str(path)]) for graph in read_graphs(file, reading)]
    data = _content(path)
    return list(_reader_for(path, data)(data, str(path), reading or Reading()))


def _content(path: Path) -> bytes:
    try:
        data = read_regular(path)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=str(path)) from None
    compression = _suffix(path)[1]
    return inflated(data, compression, path=str(path)) if compression else data


def _suffix(path: Path) -> tuple[str, str]:
    """Return the suffix that tells the format, and the compression around it.

    >>> _suffix(Path("aids.JSONL.gz")), _suffix(Path("aids.gxl"))
    (('.jsonl', 'gz'), ('.gxl', ''))
    """
    last = path.suffix.lower()
    if last[1:] in COMPRESSIONS:
        return Path(path.stem).suffix.lower(), last[1:]
    return last, ""


def _reader_for(path: Path, data: bytes) -> Reader:
    """Choose by suffix; XML by its first element, and files of another suffix by how they begin."""
    suffix = _suffix(path)[0]
    named = SUFFIXES.get(suffix)
    start = data[:SNIFFED_BYTES].removeprefix(b"\xef\xbb\xbf").lstrip()
    if start[:1] == b"<" and (named is None or suffix in XML_SUFFIXES):
        named = ROOTS.get(root_of(data), named)
    elif named is None and start[:1] in (b"{", b"["):
        named = (
            _read_json if start[:1] == b"[" or not _is_json(data.lstrip().split(b"\n", 1)[0]) else _read_jsonl
        )
    elif named is None and looks_like_tve(start):
        named = _read_tve
    if named is None:
        raise InputError(
            "neither the suffix nor the content is that of a known graph format",
            path=str(path),
            hint=f"known: {', '.join(SUFFIXES)}; a t/v/e file begins with a line: t # 0",
        )
    return named


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


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


def _read_gxl(data: bytes, path: str, reading: Reading) -> Iterator[Graph]:
    return read_gxl(data, path, node_label=reading.node_label, edge_label=reading.edge_label)


def _read_gexf(data: bytes, path: str, reading: Reading) -> Iterator[Graph]:
    return read_gexf(data, path, node_label=reading.node_label, edge_label=reading.edge_label)


def _read_tve(data: bytes, path: str, reading: Reading) -> Iterator[Graph]:
    return read_tve(
        data,
        path,
        directed=reading.directed,
        node_labels=bool(reading.node_label),
        edge_labels=bool(reading.edge_label),
    )


SNIFFED_BYTES = 65_536
SUFFIXES: dict[str, Reader] = {
    ".json": _read_json,
    ".jsonl": _read_jsonl,
    ".ndjson": _read_jsonl,
    ".graphml": _read_graphml,
    ".gxl": _read_gxl,
    ".gexf": _read_gexf,
    ".xml": _read_graphml,
    ".tve": _read_tve,
    ".gspan": _read_tve,
    ".lg": _read_tve,
}
XML_SUFFIXES = (".graphml", ".gxl", ".gexf", ".xml")
ROOTS: dict[str, Reader] = {"graphml": _read_graphml, "gxl": _read_gxl, "gexf": _read_gexf}
