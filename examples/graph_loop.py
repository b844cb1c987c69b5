"""A training loop over examples, as people write it, on any number of workers with the same bits.

The loop that was asked for: ``process(input)`` predicts a graph, its distance to the expected graph is the loss, losses and
gradients of all examples are accumulated, examples run in parallel. Here the model is a small softmax regression in NumPy that
labels the characters of sums like ``12+7``; the graph follows from the labels.

``samebits.map_examples`` is the loop for any function; ``samebits.fit`` is the one with gradients. Shards are cut from the
data, folded by one fixed tree, so the digests below are equal; an atomic accumulator would depend on who came first.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import samebits
from samebits.graph import Graph, ged
from samebits.lockstep.problem.arrays import ArrayBatches
from samebits.lockstep.problem.function_objective import FunctionObjective

CHARACTERS = "0123456789+-*"
LABELS = ("int", "cont", "+", "-", "*")
Floats = NDArray[np.float32]


def features(text: str) -> Floats:
    """Return one row a character: which character it is, and which one comes before it."""
    size = len(CHARACTERS)
    rows = np.zeros((len(text), 2 * size), np.float32)
    for i, character in enumerate(text):
        rows[i, CHARACTERS.index(character)] = 1
        if i:
            rows[i, size + CHARACTERS.index(text[i - 1])] = 1
    return rows


def as_tree(text: str, labels: list[str]) -> Graph:
    """Hang numbers from the first operator and digits from their number; what fits nowhere hangs from nothing."""
    operator = next((i for i, label in enumerate(labels) if label in "+-*"), None)
    edges, number = [], None
    for i, label in enumerate(labels):
        if label == "int":
            number = i
        head = number if label == "cont" else operator
        if head is not None and head != i:
            edges.append((head, i, "cont" if label == "cont" else "L" if i < head else "R"))
    return Graph(labels=labels, edges=edges, directed=True)


def process(text: str, weights: Floats) -> Graph:
    """Predict the graph of a text."""
    best = (features(text) @ weights).argmax(1)
    return as_tree(text, [LABELS[i] for i in best.tolist()])


def distance(example: dict[str, Any], weights: Floats) -> int:
    """The loss of one example: the graph edit distance from the predicted graph to the expected one."""
    return int(ged(process(example["text"], weights), example["graph"]).upper)


def gradients(
    weights: Floats, batch: tuple[Floats, NDArray[np.int64]], rng: np.random.Generator
) -> tuple[float, Floats]:
    """Return the mean cross-entropy of some characters and its gradient."""
    rows, expected = batch
    scores = rows @ weights
    scores -= scores.max(1, keepdims=True)
    q = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    loss = -np.log(q[np.arange(len(q)), expected]).mean()
    q[np.arange(len(q)), expected] -= 1
    return float(loss), rows.T @ q / np.float32(len(q))


def make_data(n: int) -> list[dict[str, Any]]:
    """Draw sums with their graphs."""
    rng = samebits.rng_for(7, "graph_loop")
    data = []
    for _ in range(n):
        left, right = (str(value) for value in rng.integers(0, 1000, 2))
        sign = "+-*"[int(rng.integers(3))]
        labels = [*("int" if i == 0 else "cont" for i in range(len(left))), sign]
        labels += ["int" if i == 0 else "cont" for i in range(len(right))]
        text = left + sign + right
        data.append({"text": text, "labels": labels, "graph": as_tree(text, labels)})
    return data


if __name__ == "__main__":
    data = make_data(400)
    rows = np.concatenate([features(example["text"]) for example in data])
    expected = np.array([LABELS.index(label) for example in data for label in example["labels"]])
    start = np.zeros((2 * len(CHARACTERS), len(LABELS)), np.float32)
    objective = FunctionObjective(gradients, start)
    for workers in ("1", "2", "3"):
        options = samebits.RunOptions(workers=workers)
        batches = ArrayBatches(rows, expected, batch=240)
        result = samebits.fit(objective, batches, steps=60, shards=6, lr=0.2, seed=1, options=options)
        weights = result.params["params"].copy()
        before = samebits.map_examples(distance, data, start, options=options)
        after = samebits.map_examples(distance, data, weights, options=options)
        print(
            f"{workers} workers: weights {result.digest[:16]}, distance {before.total:.0f} -> {after.total:.0f}"
        )
