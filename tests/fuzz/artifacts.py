"""Load and use forged artifacts of every job: each ends in a result or in an error of this package, and soon.

    python -m tests.fuzz.artifacts --runs 20000 --seed 1 [--only langid]

A run is named by its kind and number, so a finding is repeated by ``--only KIND --start N --runs 1``. ``make sanitize`` runs
it with kernels that stop at the first bad access.
"""

from __future__ import annotations

import argparse
import faulthandler
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tests.fuzz.forge import forge
from tests.fuzz.genuine import FORGEABLE
from tests.fuzz.results import Results

from samebits.errors import SamebitsError

MOST_SECONDS = 10
TEXTS = [
    "The cat sat on the mat.",
    "Où est la bibliothèque ?",
    "Съешь ещё этих булок",
    "",
    "東京は晴れ",
    "a" * 300,
]


def use_langid(folder: Path) -> None:
    from samebits.langid.model.model import LangidModel

    model = LangidModel.load(folder)
    list(model.predict_full(TEXTS, top=3))
    if model.mode == "backoff":
        model.explain(TEXTS[0])


def use_langid_tables(folder: Path) -> None:
    from samebits.langid.model.model_reading import read_model
    from samebits.langid.model.words import WordTable, merge_tables

    table = WordTable.of(read_model(folder))
    merge_tables([table, table])


def use_charset(folder: Path) -> None:
    from samebits.charset.detection.model import CharsetModel

    model = CharsetModel.load(folder)
    model.costs.sum()


def use_characters(folder: Path) -> None:
    from samebits.charset.detection.detect import detect_with
    from samebits.charset.detection.readings import load_evidence

    evidence = load_evidence(folder / "models.bin")
    for encoding in ("utf-8", "cp1251", "cp1252", "shift_jis"):
        for text in TEXTS:
            detect_with(evidence, text.encode(encoding, "ignore"))


def use_tokens(folder: Path) -> None:
    from samebits.data.token_store import TokenStore
    from samebits.tokens.readers.inspect_store import show_rows, store_stats

    store = TokenStore.open(folder, full_check=True)
    store_stats(store)
    list(show_rows(store, range(min(3, len(store)))))
    if store.layout == "packed":
        store.windows(np.arange(min(2, store.num_windows(4))), 4)
    else:
        store.mask(slice(0, 2))


def use_lm(folder: Path) -> None:
    from samebits.lm.model.language_model import LanguageModel

    LanguageModel.load(folder).generate("the", tokens=3, unknown="skip")


def use_graph(folder: Path) -> None:
    from samebits.graph.parser.trained_model import GraphModel

    GraphModel.load(folder).predict_texts(["1+2", "x"])


def use_count(folder: Path) -> None:
    import samebits

    samebits.verify(folder)


USES: dict[str, tuple[Callable[[Path], None], ...]] = {
    "count": (use_count,),
    "langid": (use_langid, use_langid_tables),
    "langid_compact": (use_langid,),
    "langid_exact": (use_langid, use_langid_tables),
    "charset": (use_charset,),
    "characters": (use_characters,),
    "tokens_packed": (use_tokens,),
    "tokens_rows": (use_tokens,),
    "lm": (use_lm,),
    "graph": (use_graph,),
}


class TooSlow(Exception):
    """A forged artifact took longer than ten seconds."""


def _alarm(*_: Any) -> None:
    raise TooSlow


def try_one(kind: str, number: int, genuine: Path, place: Path) -> tuple[str, str]:
    """Forge and use one artifact; return how it ended (``used``, an error of ours, or ``finding``) and what was done."""
    random = np.random.default_rng([number, *kind.encode()])
    done = forge(genuine, place, random)
    ended = "used"
    for use in USES[kind]:
        signal.signal(signal.SIGALRM, _alarm)
        signal.alarm(MOST_SECONDS)
        try:
            use(place)
        except SamebitsError as error:
            ended = type(error).__name__
        except BaseException:
            return "finding", f"{done}\n{traceback.format_exc()}"
        finally:
            signal.alarm(0)
    return ended, done


def main() -> int:
    """Run; print what ended how; return 1 if anything was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--only", choices=sorted(USES), action="append")
    parser.add_argument("--record", type=Path, help="JSON file for the numbers")
    parser.add_argument("--verbose", action="store_true", help="name each run before it starts")
    asked = parser.parse_args()
    faulthandler.enable()
    kinds = asked.only or sorted(USES)
    results = Results("forged artifacts", asked.start, asked.runs)
    with tempfile.TemporaryDirectory() as scratch:
        genuine = {kind: FORGEABLE[kind](Path(scratch) / kind) for kind in kinds}
        for kind in kinds:
            for use in USES[kind]:  # a fuzzer whose genuine artifacts are refused would find nothing
                use(genuine[kind])
        for number in range(asked.start, asked.start + asked.runs):
            kind = kinds[number % len(kinds)]
            if asked.verbose:
                print(kind, number, flush=True)
            began = time.monotonic()
            ended, done = try_one(kind, number, genuine[kind], Path(scratch) / "forged")
            said = f"--only {kind} --start {number} --runs 1\n{done}"
            results.add(kind, ended, time.monotonic() - began, said)
    if asked.record:
        results.keep(asked.record)
    return results.show()


if __name__ == "__main__":
    sys.exit(main())
