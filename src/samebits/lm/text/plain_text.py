"""All text of the inputs as one string: plain files as they are, of tables one column, a line for each row.

A CSV file learned as it stands teaches a model commas and row numbers, so files whose suffix says that they hold rows are
read as rows. Any other suffix (.md, .py, none) is plain text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from samebits.core.digest import digest_of
from samebits.data.inputs.corpus import Corpus, Source, open_corpus
from samebits.data.inputs.formats import format_of
from samebits.errors import InputError

__all__ = ["open_text", "read_text", "text_digest"]


def open_text(inputs: Sequence[str]) -> Corpus:
    """Find the files; those of rows are opened as such."""
    corpus = open_corpus(inputs, format="txt", cut_compressed=False)
    sources = tuple(_as_table(source) if _holds_rows(source) else source for source in corpus.sources)
    return replace(corpus, sources=sources)


def _holds_rows(source: Source) -> bool:
    kind = format_of(source.name)
    return kind is not None and kind.format != "txt"


def _as_table(source: Source) -> Source:
    (found,) = open_corpus([source.path], cut_compressed=False).sources
    return replace(found, name=source.name, origin=source.origin)


def text_digest(corpus: Corpus, column: str) -> str:
    """Return what identifies the text; the column counts where there are tables."""
    if all(source.format == "txt" for source in corpus.sources):
        return corpus.digest
    return digest_of([corpus.digest, column])


def read_text(corpus: Corpus, kind: str, column: str = "text") -> str:
    """Return all text of a corpus; bytes that are no UTF-8 are an error at the level of characters.

    Raises:
        InputError: a file cannot be read, or a row of a table cannot be used; names file and place.
    """
    return "".join(
        _plain(source, kind) if source.format == "txt" else "".join(_rows(source, column))
        for source in corpus.sources
    )


def _plain(source: Source, kind: str) -> str:
    with source.open() as file:
        if source.compression:
            from samebits.data.compressed.decoders import BrokenStream, decompressed

            try:
                data = b"".join(decompressed(file, source.compression))
            except BrokenStream as error:
                raise InputError(f"cannot be decompressed: {error}", path=source.origin) from None
        else:
            data = file.read(0, source.size).tobytes()
    try:
        return data.decode("utf-8", "surrogateescape" if kind == "byte" else "strict")
    except UnicodeDecodeError as error:
        raise InputError(
            f"not UTF-8: {error.reason}",
            path=source.origin,
            offset=error.start,
            hint="convert it (samebits charset convert), or train on --level byte",
        ) from None


def _rows(source: Source, column: str) -> Iterator[str]:
    from samebits.data.readers.rows import iter_rows

    corpus = Corpus((source,))
    num_lines = 0
    for shard in corpus.shards():
        in_shard = 0
        for block in iter_rows(corpus, shard, (column,)):
            if block.bad:
                bad = block.bad[0]
                line = None if bad["line"] is None else num_lines + bad["line"] + 1
                raise InputError(
                    bad["reason"],
                    path=source.origin,
                    line=line,
                    hint="fix or remove the row, or choose the column with --text-column",
                )
            yield "".join(f"{text}\n" for text in block.columns[column].texts())
            in_shard += block.num_lines
        num_lines += in_shard
