"""The ``t/v/e`` text form of graph miners: a line a graph, a line a node, a line an edge.

    t # 0
    v 0 C
    v 1 O
    e 0 1 single

What follows ``t`` is a name and is not used; ``t # -1`` ends a file. Labels may be left out, are text and hold no spaces.
Lines that begin with ``#`` or ``%`` are remarks.
"""

from __future__ import annotations

from collections.abc import Iterator

from samebits.errors import InputError
from samebits.graph.data import Graph, Label
from samebits.graph.formats.builder import GraphBuilder

__all__ = ["looks_like_tve", "read_tve"]

SHAPES = {"v": ("v NUMBER LABEL", 2), "e": ("e FROM TO LABEL", 3)}  # fields before the label
MOST_LINE = 65_536
MOST_DIGITS = 18


def looks_like_tve(data: bytes) -> bool:
    r"""Whether the first line that says something begins a graph.

    >>> looks_like_tve(b"# remark\nt # 0\nv 0 C\n"), looks_like_tve(b"the cat")
    (True, False)
    """
    for line in data.splitlines():
        fields = line.split(maxsplit=1)
        if fields and fields[0][:1] not in (b"#", b"%"):
            return fields[0] == b"t"
    return False


def read_tve(
    data: bytes, path: str, *, directed: bool = False, node_labels: bool = True, edge_labels: bool = True
) -> Iterator[Graph]:
    """Yield every graph of a file.

    Args:
        data: The file.
        path: Its name, for errors.
        directed: Whether ``e 0 1`` leads from 0 to 1 only; the format does not say.
        node_labels: Whether labels of nodes count.
        edge_labels: The same for edges.

    Raises:
        InputError: names the line.
    """
    graph: GraphBuilder | None = None
    for number, raw in enumerate(data.split(b"\n"), start=1):
        fields = _fields(raw, path, number)
        if not fields or fields[0][0] in "#%":
            continue
        kind = fields[0]
        if kind == "t":
            if graph is not None:
                yield graph.build()
            graph = None if fields[1:] == ["#", "-1"] else GraphBuilder(path, directed=directed)
            continue
        if kind not in SHAPES:
            raise InputError(
                f"a line begins with {kind[:20]!r}", path=path, line=number, hint="known: t, v and e"
            )
        if graph is None:
            raise InputError(
                f"{kind!r} before any graph", path=path, line=number, hint="begin with a line: t # 0"
            )
        names, label = _taken(fields, path, number)
        if kind == "v":
            graph.add_node(names[0], label if node_labels else None, line=number)
        else:
            graph.add_edge(names[0], names[1], label if edge_labels else None, line=number)
    if graph is not None:
        yield graph.build()


def _fields(raw: bytes, path: str, number: int) -> list[str]:
    if len(raw) > MOST_LINE:
        raise InputError(f"a line of more than {MOST_LINE:,} bytes", path=path, line=number)
    try:
        text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 at byte {error.start}", path=path, line=number) from None
    return text.split()


def _taken(fields: list[str], path: str, number: int) -> tuple[list[int], Label]:
    """Return the node numbers of a line and its label."""
    shape, before = SHAPES[fields[0]]
    if not before <= len(fields) <= before + 1:
        raise InputError(
            f"{len(fields)} fields in a line of {fields[0]!r}",
            path=path,
            line=number,
            hint=f"write {shape}; a label is one word or left out",
        )
    names: list[int] = []
    for text in fields[1:before]:
        if not (text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS):
            raise InputError(
                f"{text[:20]!r} is not the number of a node", path=path, line=number, hint=f"write {shape}"
            )
        names.append(int(text))
    return names, fields[before] if len(fields) > before else None
