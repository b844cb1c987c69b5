"""XML files of graphs, read by expat in one pass: line numbers in errors, nothing fetched, nothing that grows.

Entities are refused, so nothing expands; a document type may at most name where it stands (old GXL files do), and nobody goes
there. Size, depth and the length of a label are bounded.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Protocol
from xml.parsers import expat

from samebits.errors import ConfigError, InputError

__all__ = ["MOST_TEXT", "XmlHandlers", "choose_attribute", "parse_xml", "root_of"]

MOST_BYTES = 256 << 20  # a set of 100,000 molecules in one GXL file has about as much
MOST_DEPTH = 64  # GraphML of yEd nests 9 deep
MOST_TEXT = 65_536  # characters of one label
HEAD_BYTES = 65_536
_ROOT = re.compile(rb"<([A-Za-z_][\w.:-]*)")
_SKIPPED = re.compile(rb"<\?.*?\?>|<!--.*?-->|<![A-Za-z][^>]*>", re.DOTALL)


class XmlHandlers(Protocol):
    """What a reader of one format does at each tag; names come without their prefix."""

    def start(self, tag: str, about: dict[str, str], line: int) -> None:
        """Take an opening tag with its attributes."""

    def end(self, tag: str, line: int) -> None:
        """Take a closing tag."""

    def text(self, text: str, line: int) -> None:
        """Take a piece of text."""


def root_of(data: bytes) -> str:
    """Return the name of the first element, without its prefix; empty if none begins in the first 64 KiB.

    >>> root_of(b'<?xml version="1.0"?><!-- a <b> --><g:GXL/>')
    'gxl'
    """
    head = _SKIPPED.sub(b"", data[:HEAD_BYTES])
    found = _ROOT.search(head)
    return found[1].decode("ascii").rpartition(":")[2].lower() if found else ""


def parse_xml(data: bytes, path: str, handlers: XmlHandlers, *, allow_doctype: bool = False) -> None:
    """Send a whole file through the handlers.

    Args:
        data: The file.
        path: Its name, for errors.
        handlers: What to do at each tag.
        allow_doctype: Whether a document type without declarations of its own is passed over.

    Raises:
        InputError: names the line; also what handlers raise.
    """
    if len(data) > MOST_BYTES:
        raise InputError(
            f"{len(data):,} bytes of XML, at most {MOST_BYTES:,} are read",
            path=path,
            hint="cut it into several files, or write JSON lines",
        )
    parser = expat.ParserCreate()
    parser.buffer_text = True
    depth = 0

    def wrong(message: str) -> InputError:
        return InputError(message, path=path, line=parser.CurrentLineNumber)

    def start(tag: str, about: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > MOST_DEPTH:
            raise wrong(f"elements are nested more than {MOST_DEPTH} deep")
        handlers.start(tag.rpartition(":")[2], about, parser.CurrentLineNumber)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        handlers.end(tag.rpartition(":")[2], parser.CurrentLineNumber)

    def doctype(_name: str, _system: str | None, _public: str | None, declares: int) -> None:
        if declares or not allow_doctype:
            raise wrong("a document type is not allowed here" if not declares else _DECLARES)

    def entity(*_: object) -> None:
        raise wrong("an entity is not allowed: it may stand for anything")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = lambda text: handlers.text(text, parser.CurrentLineNumber)
    parser.StartDoctypeDeclHandler = doctype
    parser.EntityDeclHandler = entity
    parser.SkippedEntityHandler = entity
    _run(parser, data, path)


_DECLARES = "a document type with declarations is not allowed: entities may grow without end"


def _run(parser: expat.XMLParserType, data: bytes, path: str) -> None:
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise InputError(f"not valid XML: {reason}", path=path, line=error.lineno) from None
    except ConfigError as error:
        raise InputError(error.message, path=path, hint=error.hint) from None
    except (LookupError, ValueError) as error:  # an encoding that nobody knows
        raise InputError(f"not valid XML: {str(error)[:80]}", path=path) from None


def choose_attribute(
    wanted: str, known: Collection[str], *, used: bool, kind: str, flag: str, path: str
) -> None:
    """Refuse a file whose nodes (or edges) have attributes, but none of the wanted name: labels would vanish unseen.

    Raises:
        InputError: lists the names there are.
    """
    if not wanted or used or not known:
        return
    names = sorted(known)
    raise InputError(
        f"no {kind} has the attribute {wanted!r}; there are: {', '.join(names[:20])}",
        path=path,
        hint=f"choose one: {flag} {names[0]}; or {flag} '' to compare without labels",
    )
