"""A parser on a real treebank: English EWT, trained with the default settings of ``graph train`` on two workers.

Recorded are seconds of training, the scores of the CoNLL 2018 shared task on the development set with gold words, the size of the model
and the words that are parsed per second on one core (from CoNLL-U in to CoNLL-U out). Needs ../shared/data/treebank; the
weights do not depend on the load of the machine, the seconds do:  python -m benchmarks.graph_treebank
"""

from __future__ import annotations

import json
import statistics
import time
from pathlib import Path
from typing import Any

import samebits
from benchmarks.common import BENCH, arguments, finish, shared_data, show_table
from samebits.graph import GraphModel
from samebits.graph.config import EvalConfig, TrainConfig
from samebits.graph.parser.predict import PredictSentences
from samebits.graph.parser.samples import open_samples

FOLDER = BENCH / "graph_treebank"
TWO, ONE = (samebits.RunOptions(workers=workers) for workers in ("2", "1"))
SCORES = ("uas", "las", "las_subtypes", "upos", "xpos", "feats", "exact_match")


def words_per_second(model: Path, dev: Path, rounds: int) -> float:
    """Return the median over rounds of words parsed per second of this process, the model loaded before."""
    task, loaded, found = PredictSentences("conllu"), GraphModel.load(model), []
    for _ in range(rounds + 1):
        started = time.process_time()
        corpus = open_samples([str(dev)])
        lines = [line for shard in corpus.shards() for line in task(shard, (corpus, loaded)).lines]
        seconds = time.process_time() - started
        words = sum(row.partition("\t")[0].isdecimal() for line in lines for row in line.split("\n"))
        found.append(words / seconds)
    return float(statistics.median(found[1:]))


def main() -> None:
    """Train, or take the model that is there; judge it; time it."""
    options = arguments(__doc__ or "")
    data = shared_data() / "treebank"
    train, dev = data / "en_ewt-train.conllu.zst", data / "en_ewt-dev.conllu.zst"
    steps = 30 if options.quick else None
    model = FOLDER / ("quick" if options.quick else "model")
    if not (model / "manifest.json").exists():
        config = TrainConfig(inputs=(str(train),), valid=str(dev), steps=steps, validate_every=1000)
        samebits.run("graph_train", config, output=model, options=TWO)
    record = json.loads((model / "record.json").read_text())
    judged = samebits.run(
        "graph_eval",
        EvalConfig(inputs=(str(dev),), model=str(model), budget=0, draw=0),
        output=FOLDER / f"judged-{model.name}",
        options=samebits.RunOptions(workers="1", overwrite=True),
    )
    details: dict[str, Any] = {name: judged.metrics[name] for name in SCORES}
    details["training_seconds"] = round(record["seconds"], 1)
    details["megabytes"] = round(
        sum(path.stat().st_size for path in model.iterdir() if path.is_file()) / 1e6, 2
    )
    details["words_per_second"] = round(words_per_second(model, dev, 1 if options.quick else options.rounds))
    show_table(["what", "value"], [[name, str(value)] for name, value in details.items()])
    finish("graph_treebank", equal=True, ratios={}, details=details, options=options)


if __name__ == "__main__":
    main()
