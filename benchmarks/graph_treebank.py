"""A parser on a real treebank: English EWT, trained with the default settings of ``graph train`` on two workers.

Recorded are seconds and CPU seconds of training, the scores of the CoNLL 2018 shared task on the development set with gold words, the size of
the model and the words that are parsed per second on one core (from CoNLL-U in to CoNLL-U out). ``equal`` says that ``graph eval`` counts what the task
counts in the file that ``graph predict`` writes. Needs ../shared/data/treebank. A finished model is kept under .bench; its weights do
not depend on the load of the machine, the seconds do:  python -m benchmarks.graph_treebank
"""

from __future__ import annotations

import json
import resource
import statistics
import time
from math import isclose
from pathlib import Path
from typing import Any

import samebits
from benchmarks.common import BENCH, arguments, finish, shared_data, show_table
from samebits.graph import GraphModel
from samebits.graph.config import EvalConfig, TrainConfig
from samebits.graph.evaluation.ud_scores import score
from samebits.graph.parser.predict import PredictSentences
from samebits.graph.parser.samples import open_samples, read_part

FOLDER = BENCH / "graph_treebank"
TWO = samebits.RunOptions(workers="2")
SCORES = ("uas", "las", "las_subtypes", "upos", "xpos", "feats", "exact_match")


def cpu_seconds() -> float:
    """Processor time of this process and of all its children that ended."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def trained(train: Path, dev: Path, model: Path, steps: int | None) -> dict[str, Any]:
    """Train, or take the model that is there; return what is known of its training."""
    cpu = model.with_suffix(".cpu")
    if not (model / "manifest.json").exists():
        before = cpu_seconds()
        config = TrainConfig(inputs=(str(train),), valid=str(dev), steps=steps, validate_every=1000)
        samebits.run("graph_train", config, output=model, options=TWO)
        cpu.write_text(str(cpu_seconds() - before))
    record = json.loads((model / "record.json").read_text())
    files = json.loads((model / "manifest.json").read_text())["files"]
    size = sum(file["size"] for file in files.values())  # weights, names and the log of steps
    return {
        "steps": record["metrics"]["steps"],
        "weights": record["metrics"]["state_digest"],
        "training_workers": record["workers"],
        "training_seconds": round(record["seconds"], 1),
        "training_cpu_seconds": round(float(cpu.read_text()), 1) if cpu.exists() else None,
        "megabytes": round(size / 1e6, 2),
    }


def parsed(model: Path, dev: Path, rounds: int) -> tuple[str, float]:
    """Return the CoNLL-U that is predicted, and the median over rounds of words parsed per CPU second, the model loaded before."""
    task, loaded, found = PredictSentences("conllu"), GraphModel.load(model), []
    for _ in range(rounds + 1):
        started = time.process_time()
        corpus = open_samples([str(dev)])
        lines = [line for shard in corpus.shards() for line in task(shard, (corpus, loaded)).lines]
        seconds = time.process_time() - started
        words = sum(row.partition("\t")[0].isdecimal() for line in lines for row in line.split("\n"))
        found.append(words / seconds)
    return "".join(lines), float(statistics.median(found[1:]))


def text_of(path: Path) -> str:
    """Return the text of a treebank."""
    corpus = open_samples([str(path)])
    return "".join(read_part(corpus.sources[shard.source], shard) for shard in corpus.shards())


def main() -> None:
    """Train, or take the model that is there; judge it; time it."""
    options = arguments(__doc__ or "")
    data = shared_data() / "treebank"
    train, dev = data / "en_ewt-train.conllu.zst", data / "en_ewt-dev.conllu.zst"
    steps = 30 if options.quick else None
    model = FOLDER / ("quick" if options.quick else "model")
    details = trained(train, dev, model, steps)
    judged = samebits.run(
        "graph_eval",
        EvalConfig(inputs=(str(dev),), model=str(model), budget=0, draw=0),
        output=FOLDER / f"judged-{model.name}",
        options=samebits.RunOptions(workers="1", overwrite=True),
    )
    details |= {name: judged.metrics[name] for name in SCORES}
    predicted, speed = parsed(model, dev, 1 if options.quick else options.rounds)
    details["words_per_second"] = round(speed)
    official = score(text_of(dev), predicted)
    equal = all(isclose(official[name.upper()], judged.metrics[name]) for name in ("uas", "las"))
    show_table(["what", "value"], [[name, str(value)] for name, value in details.items()])
    finish("graph_treebank", equal=equal, ratios={}, details=details, options=options)


if __name__ == "__main__":
    main()
