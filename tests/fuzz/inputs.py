"""Feed mutated inputs to everything that reads files: each ends in a result, counted bad rows, or an error of ours.

    python -m tests.fuzz.inputs --runs 20000

A run is named by its number; ``--start N --runs 1`` repeats a finding.
"""

from __future__ import annotations

import argparse
import faulthandler
import gzip
import json
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np
from tests.fuzz.artifacts import MOST_SECONDS, _alarm
from tests.fuzz.results import Results

from samebits.errors import SamebitsError

TEXT = "The cat sat on the mat.\nLa mère a mangé l’œuf.\n\nСъешь ещё этих булок.\n東京は  晴れ。\n"
ROWS = "".join(json.dumps({"text": line, "lang": "en", "n": 1}) + "\n" for line in TEXT.splitlines())
CSV = 'text,lang\n"a ""quoted"" line",en\nplain,fr\n"two\nlines",de\n'
GRAPHS = '{"nodes": [{"id": "a", "label": "x"}, {"id": "b"}], "edges": [{"source": "a", "target": "b", "label": "y"}]}\n'
GRAPHML = '<graphml><graph edgedefault="directed"><node id="a"/><node id="b"/><edge source="a" target="b"/></graph></graphml>'
GXL = '<!DOCTYPE gxl SYSTEM "gxl.dtd"><gxl><graph edgemode="undirected"><node id="a"><attr name="label"><string>C </string></attr></node><node id="b"/><edge from="a" to="b"/></graph></gxl>'
GEXF = '<gexf><graph><attributes class="node"><attribute id="0" title="label"/></attributes><nodes><node id="a"><attvalues><attvalue for="0" value="C"/></attvalues></node><node id="b"/></nodes><edges><edge source="a" target="b"/></edges></graph></gexf>'
TVE = "# two graphs\nt # 0\nv 0 C\nv 1 O\ne 0 1 single\nt # 1\nv 0 N\nt # -1\n"
TOML = '[count]\nn = 2\nunit = "char"\n'
VOCABULOUS = json.dumps({"word_lang_freq": {"the": {"en": 3}, "le": {"fr": 2}}, "languages": ["en", "fr"]})
TOKENIZER = json.dumps({"samebits_tokenizer": "char.v1", "specials": {}, "vocabulary": ["a", "b", "é"]})
PIECES = (b"\x00", b"\xff", b"\xef\xbb\xbf", b"\r\n", b"\n", b'"', b"{", b"[" * 500, b"9" * 5000, b"\xed\xa0\x80", b"\t", b",",
          b"null", b"-1", b"1e999", b"\\ud800", b"<!DOCTYPE x [<!ENTITY a 'b'>]>", b"\x1f\x8b\x08", b"0\t", b"\xf0\x9f")  # fmt: skip


def read_rows(path: Path) -> None:
    import samebits

    config = samebits.CountConfig(inputs=(str(path),))
    samebits.run(
        "count",
        config,
        output=path.parent / "out",
        options=samebits.RunOptions(executor="serial", overwrite=True, resume=False),
    )


def read_labelled(path: Path) -> None:
    import samebits
    from samebits.core.config import make_config
    from samebits.jobs import get_job

    config = make_config(get_job("langid").Config, {"inputs": [str(path)]})
    samebits.run(
        "langid",
        config,
        output=path.parent / "out",
        options=samebits.RunOptions(executor="serial", overwrite=True, resume=False),
    )


def detect(path: Path) -> None:
    from samebits import charset

    charset.detect(path.read_bytes())


def read_graphs(path: Path) -> None:
    from samebits.graph.formats.read import read_graphs as read

    read(path)


def read_settings(path: Path) -> None:
    from samebits.core.config import read_toml

    read_toml(path)


def read_words(path: Path) -> None:
    from samebits.langid.model.words import from_vocabulous

    from_vocabulous(path)


def read_tokenizer(path: Path) -> None:
    from samebits.tokens.tokenizers.open_tokenizer import open_tokenizer

    open_tokenizer(str(path))


SEEDS: tuple[tuple[str, bytes, Callable[[Path], None]], ...] = (
    ("a.txt", TEXT.encode(), read_rows),
    ("a.txt.gz", gzip.compress(TEXT.encode(), mtime=0), read_rows),
    ("a.jsonl", ROWS.encode(), read_rows),
    ("a.csv", CSV.encode(), read_rows),
    ("b.jsonl", ROWS.encode(), read_labelled),
    ("c.txt", TEXT.encode("utf-8"), detect),
    ("c.cp1251", "Съешь ещё этих мягких булок".encode("cp1251"), detect),
    ("g.jsonl", GRAPHS.encode(), read_graphs),
    ("g.graphml", GRAPHML.encode(), read_graphs),
    ("g.gxl", GXL.encode(), read_graphs),
    ("g.gexf", GEXF.encode(), read_graphs),
    ("g.tve", TVE.encode(), read_graphs),
    ("g.txt", TVE.encode(), read_graphs),
    ("g.xml", GXL.encode(), read_graphs),
    ("g.jsonl.gz", gzip.compress(GRAPHS.encode(), mtime=0), read_graphs),
    ("s.toml", TOML.encode(), read_settings),
    ("v.json", VOCABULOUS.encode(), read_words),
    ("tokenizer.json", TOKENIZER.encode(), read_tokenizer),
)


def mutate(data: bytes, random: np.random.Generator) -> bytes:
    """Change bytes: flip, cut, insert hostile pieces, repeat, move."""
    out = bytearray(data)
    for _ in range(1 + int(random.integers(4))):
        at = int(random.integers(len(out) + 1))
        what = int(random.integers(5))
        if what == 0 and at < len(out):
            out[at] = int(random.integers(256))
        elif what == 1:
            del out[at : at + 1 + int(random.integers(20))]
        elif what == 2:
            out[at:at] = PIECES[int(random.integers(len(PIECES)))]
        elif what == 3:
            out[at:at] = bytes(out[at : at + 1 + int(random.integers(40))]) * int(random.integers(1, 50))
        else:
            del out[at:]
    return bytes(out)


def try_one(number: int, place: Path) -> tuple[str, str]:
    """Mutate and read one input; return how it ended and what it was."""
    random = np.random.default_rng([number, 7])
    name, data, use = SEEDS[number % len(SEEDS)]
    path = place / name
    path.write_bytes(mutate(data, random))
    signal.signal(signal.SIGALRM, _alarm)
    signal.alarm(MOST_SECONDS)
    try:
        use(path)
    except SamebitsError as error:
        return type(error).__name__, name
    except BaseException:
        return "finding", f"{name}: {path.read_bytes()[:300]!r}\n{traceback.format_exc()}"
    finally:
        signal.alarm(0)
    return "used", name


def main() -> int:
    """Run; print what ended how; return 1 if anything was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--record", type=Path, help="JSON file for the numbers")
    asked = parser.parse_args()
    faulthandler.enable()
    results = Results("mutated inputs", asked.start, asked.runs)
    with tempfile.TemporaryDirectory() as scratch:
        for name, data, use in SEEDS:  # a fuzzer whose seeds are refused would find nothing
            (Path(scratch) / name).write_bytes(data)
            use(Path(scratch) / name)
        for number in range(asked.start, asked.start + asked.runs):
            began = time.monotonic()
            ended, said = try_one(number, Path(scratch))
            name = SEEDS[number % len(SEEDS)][0]
            results.add(name, ended, time.monotonic() - began, f"--start {number} --runs 1\n{said}")
    if asked.record:
        results.keep(asked.record)
    return results.show()


if __name__ == "__main__":
    sys.exit(main())
