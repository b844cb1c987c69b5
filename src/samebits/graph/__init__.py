"""Labelled graphs: certified edit distances, and models that turn text into graphs.

>>> from samebits import graph
>>> a = graph.Graph(labels=["C", "C", "O"], edges=[(0, 1), (1, 2)])
>>> b = graph.Graph(labels=["C", "C", "N"], edges=[(0, 1), (1, 2), (0, 2)])
>>> found = graph.ged(a, b)
>>> found.lower, found.upper, found.exact
(2, 2, True)

model = graph.train("math", output="model", steps=500)
model.predict_texts(["(2 + 3) * 4"])[0].graph

Rooms: ``distance`` (pairs, matrices, nearest graphs), ``parser`` (text to graphs), ``curriculum`` (expressions to learn
from), ``pictures``, ``formats``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from samebits.lazy import lazy_names

if TYPE_CHECKING:
    from samebits.graph.config import GraphConfig, KnnConfig, TrainConfig
    from samebits.graph.data import Graph
    from samebits.graph.distance.aligned import aligned_ged
    from samebits.graph.distance.costs import Costs
    from samebits.graph.distance.edits import Edit
    from samebits.graph.distance.pair import Distance, ged
    from samebits.graph.distance.trees import ted
    from samebits.graph.formats.read import Reading, read_graphs
    from samebits.graph.functions import Matrix, Neighbours, ged_matrix, knn
    from samebits.graph.parser.trained_model import GraphModel, GraphPrediction
    from samebits.graph.pictures.draw import draw_graph
    from samebits.graph.training import drawn, predict_files, train

__all__ = [
    "Costs",
    "Distance",
    "Edit",
    "Graph",
    "GraphConfig",
    "GraphModel",
    "GraphPrediction",
    "KnnConfig",
    "Matrix",
    "Neighbours",
    "Reading",
    "TrainConfig",
    "aligned_ged",
    "draw_graph",
    "drawn",
    "ged",
    "ged_matrix",
    "knn",
    "predict_files",
    "read_graphs",
    "ted",
    "train",
]

_HOMES = {
    "Costs": "samebits.graph.distance.costs",
    "Distance": "samebits.graph.distance.pair",
    "Edit": "samebits.graph.distance.edits",
    "Graph": "samebits.graph.data",
    "GraphConfig": "samebits.graph.config",
    "GraphModel": "samebits.graph.parser.trained_model",
    "KnnConfig": "samebits.graph.config",
    "Matrix": "samebits.graph.functions",
    "Neighbours": "samebits.graph.functions",
    "GraphPrediction": "samebits.graph.parser.trained_model",
    "Reading": "samebits.graph.formats.read",
    "TrainConfig": "samebits.graph.config",
    "aligned_ged": "samebits.graph.distance.aligned",
    "draw_graph": "samebits.graph.pictures.draw",
    "drawn": "samebits.graph.training",
    "ged": "samebits.graph.distance.pair",
    "ged_matrix": "samebits.graph.functions",
    "knn": "samebits.graph.functions",
    "predict_files": "samebits.graph.training",
    "read_graphs": "samebits.graph.formats.read",
    "ted": "samebits.graph.distance.trees",
    "train": "samebits.graph.training",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
