"""charset_decode: files of unknown encoding to rows of UTF-8 text, with a table that says what was found in each file.

The step between raw bytes and every job that reads text. A row is a line that is not blank. Its label is the name of
the folder the file lies in (noisy, as folders are), the language of the best model, or none. A file whose encoding is
unclear gives no rows and is counted as bad; bytes that the encoding cannot read become U+FFFD and are counted.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, TypedDict

import msgspec

from samebits.charset.characters.model_file import CharacterModel, open_model, shipped_model
from samebits.charset.codec import canonical_name
from samebits.charset.detection.detect import detect_with
from samebits.charset.detection.interface import Detection
from samebits.charset.detection.model import CharsetModel
from samebits.charset.detection.readings import evidence_of
from samebits.charset.training.slices import language_of
from samebits.core.config import config_digest, option
from samebits.core.digest import digest_of
from samebits.core.engine import Engine
from samebits.core.plan import Plan, Shard
from samebits.data.artifact import ArtifactWriter, open_artifact
from samebits.data.compressed.decoders import BrokenStream, decompressed
from samebits.data.folding.output_file import KeptBytes, row_pieces, write_outputs
from samebits.data.folding.piece_files import Index
from samebits.data.folding.tree import folding
from samebits.data.inputs.corpus import Corpus, Source, open_corpus
from samebits.errors import ConfigError

__all__ = ["JOB", "DecodeConfig"]

#: One shard a file: an encoding is a property of the whole file, and most are small.
WHOLE_FILE = 1 << 62
WRITE = "write rows.jsonl"  # the stage; the table is written in it as well
#: So much of a file decides its encoding.
HEAD_BYTES = 16384

Model = CharsetModel | CharacterModel


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeConfig:
    """What to decode, and what becomes of it."""

    inputs: tuple[str, ...] = option((), help="files, folders, globs, or -", location=True)
    model: str = option(
        "", help="trained models; none takes the package's own", short="-m", location=True, metavar="DIR"
    )
    label: Literal["folder", "detected", "none"] = option(
        "folder", help="label of a row: its file's folder, the detected language, or none"
    )
    min_confidence: float = option(0.2, help="skip files whose encoding is less certain than this")

    def __post_init__(self) -> None:
        if not 0 <= self.min_confidence <= 1:
            raise ConfigError(f"--min-confidence is {self.min_confidence}", hint="use a number from 0 to 1")


class _Decoded(NamedTuple):
    text: str
    undecodable: int


class FileEntry(TypedDict):
    """A file's line of ``files.jsonl``."""

    file: str
    bytes: int
    encoding: str | None
    confidence: float
    language: str | None
    rows: int
    undecodable_bytes: int


class BadFile(TypedDict):
    """A file that no row comes from: a bad row without a line."""

    line: None
    offset: int
    reason: str


class DecodedPart(NamedTuple):
    """One file: its rows as JSON lines, its entry in the table, and what could not be used."""

    rows: bytes
    file: FileEntry
    bad: list[BadFile]
    num_lines: int


@dataclass(frozen=True, slots=True)
class DecodeShard:
    """The task: one file."""

    part_type: ClassVar = DecodedPart
    config: DecodeConfig

    def __call__(self, shard: Shard, state: tuple[Corpus, Model], /) -> DecodedPart:
        """Return the rows as JSON lines and the file's entry in the table."""
        corpus, model = state
        source = corpus.sources[shard.source]
        try:
            data = _read(source)
        except BrokenStream as error:
            return _unusable(source, None, str(error))
        # A broken byte far down must not make another encoding of the whole file: the head decides, the rest is counted.
        found = detect_with(evidence_of(model), data[:HEAD_BYTES])
        if found.encoding is None or found.confidence < self.config.min_confidence:
            guess = f"{found.encoding} at {found.confidence:.2f}" if found.encoding else "no candidate"
            return _unusable(source, found, f"the encoding is unclear: {guess}")
        text, undecodable = _decode(data, found.encoding)
        lines = text.removeprefix("\ufeff").splitlines()
        label = self._label(source, found)
        rows = [{"text": line, **label, "file": source.name} for line in lines if line.strip()]
        entry = _entry(source, found, rows=len(rows), undecodable=undecodable)
        return DecodedPart(msgspec.json.Encoder().encode_lines(rows), entry, [], len(lines))

    def _label(self, source: Source, found: Detection) -> dict[str, str]:
        if self.config.label == "none":
            return {}
        return {"lang": language_of(source) if self.config.label == "folder" else found.language}


@dataclass(frozen=True, slots=True)
class DecodeFiles:
    """Some files, whose rows and lines of the table a worker keeps."""

    across_sources: ClassVar = True  # a shard is a file
    config: DecodeConfig

    def count(self, shards: Sequence[Shard], state: tuple[Corpus, Model], /) -> tuple[list[Any], list[Any]]:
        """Tell of each file what could not be used, its lines, rows, undecodable bytes and encoding.

        Return the rows in pieces, and in the last piece the lines of the table: of these files and of empty ones behind them.
        """
        task, encode = DecodeShard(self.config), msgspec.json.Encoder().encode
        parts = [task(shard, state) for shard in shards]
        told, lines = [], []
        for shard, part in zip(shards, parts, strict=True):
            entry = part.file
            name = entry["encoding"] or "unknown"
            told.append([part.bad, part.num_lines, entry["rows"], entry["undecodable_bytes"], {name: 1}])
            before = _empty_sources(state[0], 0, shard.source) if not shard.index else []
            after = _empty_sources(state[0], shard.source + 1)
            lines += [encode(one) + b"\n" for one in (*before, entry, *after)]
        return told, [
            *(piece for part in parts for piece in row_pieces(part.rows)),
            memoryview(b"".join(lines)),
        ]

    def together(self, before: list[Any], after: list[Any], /) -> list[Any] | None:
        """Add up what two runs of usable files tell."""
        if before[0] or after[0]:
            return None
        encodings = {name: before[-1].get(name, 0) + number for name, number in after[-1].items()}
        numbers = (one + other for one, other in zip(before[1:4], after[1:4], strict=True))
        return [[], *numbers, {**before[-1], **encodings}]


def _empty_sources(corpus: Corpus, start: int, stop: int | None = None) -> list[FileEntry]:
    """Return the entries of files without a byte, which no shard has: from a place on, up to the first that is not empty."""
    found = takewhile(lambda source: not source.size, islice(corpus.sources, start, stop))
    return [_entry(source, None, rows=0, undecodable=0) for source in found]


def _read(source: Source) -> bytes:
    with source.open() as file:
        if source.compression:
            return b"".join(decompressed(file, source.compression))
        return file.read(0, source.size).tobytes()


def _mark_lost(error: UnicodeError) -> tuple[str, int]:
    """Stand one lone surrogate for each undecodable byte: no codec makes them, so they can be counted after."""
    assert isinstance(error, UnicodeDecodeError)
    return "".join(chr(0xDC00 + byte) for byte in error.object[error.start : error.end]), error.end


codecs.register_error("samebits.mark_lost", _mark_lost)
_LOST = re.compile("[\udc00-\udcff]")


def _decode(data: bytes, encoding: str) -> _Decoded:
    """Decode all of a file; count the bytes no character stands for."""
    codec = canonical_name(encoding)
    try:
        return _Decoded(data.decode(codec), 0)
    except UnicodeDecodeError:
        return _Decoded(*_LOST.subn("\ufffd", data.decode(codec, "samebits.mark_lost")))


def _unusable(source: Source, found: Detection | None, reason: str) -> DecodedPart:
    entry = _entry(source, found, rows=0, undecodable=0)
    return DecodedPart(b"", entry, [BadFile(line=None, offset=0, reason=reason)], 1)


def _entry(source: Source, found: Detection | None, *, rows: int, undecodable: int) -> FileEntry:
    return {
        "file": source.name,
        "bytes": source.size,
        "encoding": found.encoding if found else None,
        "confidence": round(found.confidence, 6) if found else 0.0,
        "language": (found.language or None) if found else None,
        "rows": rows,
        "undecodable_bytes": undecodable,
    }


@dataclass(frozen=True, slots=True)
class DecodeJob:
    """Detect, decode, write in the order of the files."""

    name: str = "charset_decode"
    version: int = 1
    summary: str = "decode files of unknown encoding to rows of text"
    Config: type[DecodeConfig] = DecodeConfig
    default_executor: str = "threads"
    stages: tuple[str, ...] = ("decode", WRITE)
    bytes_per_worker: int = 200_000_000
    floating: bool = (
        True  # confidences are shares of exp(); its last bit is the business of the CPU's library
    )

    def plan(self, config: DecodeConfig) -> Plan:
        """One shard a file; the model is part of the input."""
        corpus = open_corpus(config.inputs, format="txt", cell_bytes=WHOLE_FILE, cut_compressed=False)
        model, digest = _model(config.model)
        return Plan(
            job=self.name,
            version=self.version,
            seed=0,
            config_digest=config_digest(config),
            input_digest=digest_of([corpus.digest, digest]),
            source_names=corpus.names,
            shards=corpus.shards(),
            inputs=(corpus, model),
        )

    def run(self, plan: Plan, config: DecodeConfig, engine: Engine, out: ArtifactWriter) -> dict[str, Any]:
        """Write ``rows.jsonl`` and ``files.jsonl``; every file is in the table, empty ones too."""
        corpus: Corpus = plan.inputs[0]
        num_empty = len(corpus.sources) - len(plan.shards)
        encodings = Counter({"empty": num_empty} if num_empty else {})
        totals = Counter({"rows": 0, "undecodable_bytes": 0})

        def take(shard: Shard, told: Any) -> None:
            bad, num_lines, num_rows, undecodable, found = told
            out.bad_rows.take(plan, shard, bad, num_lines=num_lines)
            totals.update(rows=num_rows, undecodable_bytes=undecodable)
            encodings.update(found)

        def write(found: list[Index]) -> None:
            out.bad_rows.check()
            rows = KeptBytes.of(found, pieces=[range(len(index.sizes) - 1) for index in found])
            table = KeptBytes.of(
                found, _table_without(found, corpus), [[len(index.sizes) - 1] for index in found]
            )
            write_outputs(workers, out, WRITE, {"rows.jsonl": rows, "files.jsonl": table})

        with folding(engine, plan.digest) as workers:
            workers.run_rows(
                "decode",
                DecodeFiles(config),
                plan.shards,
                take,
                state=plan.inputs,
                unit="bytes",
                then=write,
            )
        summary = {
            "files": len(corpus.sources),
            "bytes": corpus.num_bytes,
            **totals,
            "encodings": dict(sorted(encodings.items())),
        }
        out.write_json("summary.json", summary)
        return summary


def _table_without(found: Sequence[Index], corpus: Corpus) -> bytes:
    """Return the table if all files are empty, so that no worker has a line of it."""
    encoder = msgspec.json.Encoder()
    return b"" if found else encoder.encode_lines(_empty_sources(corpus, 0))


def _model(path: str) -> tuple[Model, str]:
    """The models and their digest: a folder of ``charset train``, a file of ``charset learn``, or the package's own."""
    if path and not Path(path).is_file():
        return CharsetModel.load(path), open_artifact(path, job="charset").digest
    model = open_model(path) if path else shipped_model()
    return model, model.digest


JOB = DecodeJob()
