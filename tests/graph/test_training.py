"""Training: the same weights for any number of workers and after any interruption; a model that learns; predictions alone and in company."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samebits
from samebits import arithmetic
from samebits.core.observing.events import Event, ShardDone
from samebits.core.seeds import rng_for
from samebits.errors import Interrupted
from samebits.graph.config import GenerateConfig, TrainConfig
from samebits.graph.parser.batches import GraphBatches, encode
from samebits.graph.parser.lexicon import learn_lexicon
from samebits.graph.parser.samples import ReadShard, Sample, open_samples, samples_of
from samebits.graph.parser.trained_model import GraphModel

SMALL: dict[str, Any] = {"batch": 16, "width": 32, "warmup": 10, "validate_every": 0}


@pytest.fixture(scope="module")
def math(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Examples of depth 1 in four styles."""
    folder = tmp_path_factory.mktemp("math") / "out"
    config = GenerateConfig(level=2, n=600, depths="1:1")
    samebits.run("graph_generate", config, output=folder, options=samebits.RunOptions(executor="serial"))
    return folder


def samples(folder: Path, split: str = "test") -> list[Sample]:
    corpus = open_samples([str(folder / f"{split}.jsonl")])
    return [s for shard in corpus.shards() for s in samples_of(ReadShard(False)(shard, corpus))]


def train(folder: Path, output: Path, workers: str, observer: Any = None, **settings: Any) -> Any:
    config = TrainConfig(inputs=(str(folder),), **{**SMALL, **settings})
    options = samebits.RunOptions(workers=workers)
    return samebits.run(
        "graph_train", config, output=output, options=options, observer=observer or (lambda event: None)
    )


@pytest.fixture(scope="module")
def trained(math: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model after 50 steps, by one worker."""
    folder = tmp_path_factory.mktemp("trained") / "model"
    train(math, folder, "1", steps=50)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["2", "3", "4"])
def test_weights_are_the_same_for_any_number_of_workers(
    workers: str, math: Path, trained: Path, tmp_path: Path
) -> None:
    train(math, tmp_path / "model", workers, steps=50)
    samebits.compare(trained, tmp_path / "model")


@pytest.mark.slow
def test_an_interrupted_run_goes_on_with_other_workers_to_the_same_weights(
    math: Path, trained: Path, tmp_path: Path
) -> None:
    def interrupt(event: Event) -> None:
        if isinstance(event, ShardDone) and event.stage == "train" and event.index == 29:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted):
        train(math, tmp_path / "model", "3", interrupt, steps=50, save_every=10)
    seen: list[int] = []
    record = train(
        math,
        tmp_path / "model",
        "2",
        lambda event: (
            seen.append(event.index) if isinstance(event, ShardDone) and not event.resumed else None
        ),
        steps=50,
        save_every=10,
    )
    assert min(seen) >= 10  # it did not start over
    samebits.compare(trained, tmp_path / "model")
    assert record.metrics["exact"] is True


def test_what_training_writes(trained: Path) -> None:
    samebits.verify(trained)
    rows = [json.loads(line) for line in (trained / "steps.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows] == list(range(50))
    assert rows[-1]["loss"] < rows[0]["loss"] / 2
    (validation,) = [json.loads(line) for line in (trained / "val.jsonl").read_text().splitlines()]
    assert validation["step"] == 50
    assert (trained / "loss.svg").read_text().startswith("<svg")
    config = json.loads((trained / "config.json").read_text())
    assert (config["decoder"], config["steps"], config["loss"]) == ("slots", 50, "wce")


def test_a_prediction_does_not_depend_on_its_neighbours(math: Path, trained: Path) -> None:
    model, given = GraphModel.load(trained), samples(math)
    together = model.predict(given)
    for sample, prediction in zip(given[:12], together[:12], strict=True):
        (alone,) = model.predict([sample])
        assert alone.graph == prediction.graph
        assert alone.probability == prediction.probability


def test_empty_long_and_strange_texts_get_an_answer(trained: Path) -> None:
    model = GraphModel.load(trained)
    empty, long, strange = model.predict_texts(["", "1" * 600, "日本語 +"])
    assert (len(empty.graph.at), empty.probability) == (0, 0.0)
    assert (len(long.graph.at), long.probability) == (0, 0.0)
    assert strange.probability >= 0.0


def test_slots_are_filled_whatever_the_model_believes(math: Path, trained: Path) -> None:
    """After 50 steps labels are mostly right and heads are not; every decoded operator still has L and R."""
    model = GraphModel.load(trained)
    for prediction in model.predict(samples(math)):
        graph = prediction.graph
        if graph.heads.count(-1) != 1:
            continue  # no tree fits the predicted labels
        below: dict[int, list[str]] = {}
        for head, arc in zip(graph.heads, graph.arcs, strict=True):
            below.setdefault(head, []).append(arc)
        operators = [p for p, label in zip(graph.at, graph.labels, strict=True) if label in "+-*/"]
        if len(operators) == 1 and len(graph.at) >= 3 and graph.labels.count("int") == 2:
            assert sorted(below[operators[0]]) == ["L", "R"]


def test_shards_cover_a_batch_once_and_a_pass_covers_the_data() -> None:
    given = [Sample(tuple("1" * (1 + i % 7)), _nothing(), {}) for i in range(70)]
    lexicon = learn_lexicon(given, kind="char")
    batches = GraphBatches([encode(sample, lexicon) for sample in given], None, 16, 0.0, 3, "x")
    rng = rng_for(0, "unused")
    lengths: list[int] = []
    for step in range(4):
        whole = [batches.batch(step, g, 4, rng).groups.lengths.astype(int) for g in range(4)]
        assert [int((shard > 0).sum()) for shard in whole] == [4] * 4
        assert all(shard[shard > 0].max() <= 2 * shard[shard > 0].min() for shard in whole)
        lengths += [int(n) for shard in whole for n in shard[shard > 0]]
    assert len(lengths) == 64
    assert max(np.bincount(lengths)) <= 10


def _nothing() -> Any:
    from samebits.graph.anchored import Anchored

    return Anchored((0,), ("int",), (-1,), ("root",))


def treebank(n: int) -> str:
    """Sentences like 'the old cat sees a dog', whose trees follow from their words."""
    rng = rng_for(1, "treebank")
    out = []
    nouns, verbs, adjectives, articles = ["cat", "dog"], ["sees", "hears"], ["old", "small"], ["the", "a"]
    for number in range(n):
        rows: list[tuple[str, int, str]] = []  # word, head (0 is the verb, filled in later), relation

        def phrase(relation: str, verb: int, rows: list[tuple[str, int, str]] = rows) -> None:
            adjectival = [str(rng.choice(adjectives)) for _ in range(int(rng.integers(3)))]
            noun = len(rows) + 2 + len(adjectival)
            rows.append((str(rng.choice(articles)), noun, "det"))
            rows.extend((word, noun, "amod") for word in adjectival)
            rows.append((str(rng.choice(nouns)), verb, relation))

        phrase("nsubj", 0)
        verb = len(rows) + 1
        rows = [(word, verb if relation == "nsubj" else head, relation) for word, head, relation in rows]
        rows.append((str(rng.choice(verbs)), 0, "root"))
        phrase("obj", verb, rows)
        out.append(f"# sent_id = {number}\n")
        out += [f"{i}\t{w}\t_\t_\t_\t_\t{h}\t{r}\t_\t_\n" for i, (w, h, r) in enumerate(rows, 1)]
        out.append("\n")
    return "".join(out)


@pytest.mark.slow
def test_a_parser_learns_a_generated_treebank_and_writes_conllu_back(tmp_path: Path) -> None:
    text = treebank(300)
    (tmp_path / "train.conllu").write_text(text, encoding="utf-8")
    record = train(
        tmp_path,
        tmp_path / "model",
        "2",
        steps=80,
        width=64,
        layers=1,
        dropout=0.0,
        word_dropout=0.0,
        lr=0.01,
    )
    assert record.metrics["decoder"] == "tree"
    model = GraphModel.load(tmp_path / "model")
    corpus = open_samples([str(tmp_path / "train.conllu")])
    (shard,) = corpus.shards()
    from samebits.graph.parser.predict import PredictSentences

    part = PredictSentences("conllu")(shard, (corpus, model))
    assert "".join(part.lines) == text  # every head and relation is right, every other byte is kept


@pytest.mark.slow
def test_every_instruction_set_gives_the_same_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sentences = Path(__file__).parent / "sentences.conllu"
    digests = set()
    for workers, isa in enumerate(arithmetic.usable(), start=1):
        monkeypatch.setenv("SAMEBITS_ISA", isa)
        record = train(sentences, tmp_path / isa, str(workers), steps=5, dropout=0.3)
        digests.add(record.artifact_digest)
    assert len(digests) == 1


@pytest.mark.slow
def test_the_expected_distance_alone_teaches_to_predict_nothing(math: Path, tmp_path: Path) -> None:
    """A record of a trap: the softmax saturates at "no node", where the expected distance has no gradient left."""
    train(math, tmp_path / "model", "1", steps=60, loss="ged")
    model = GraphModel.load(tmp_path / "model")
    assert all(not prediction.graph.at for prediction in model.predict(samples(math)))


def test_threads_that_share_a_model_do_not_share_its_working_memory(math: Path, trained: Path) -> None:
    """A model predicts in several threads at once, each with memory of its own."""
    from concurrent.futures import ThreadPoolExecutor

    model, texts = GraphModel.load(trained), samples(math)
    pieces = [texts[start : start + 24] for start in range(0, len(texts), 24)]
    alone = [model.predict(piece) for piece in pieces]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(model.predict, pieces * 4)) == alone * 4
