"""How far apart are two molecules? Bounds, a proof, the edits and a picture; then the nearest of a small corpus."""

from __future__ import annotations

from pathlib import Path

from samebits import graph

ETHANOL = graph.Graph(labels=["C", "C", "O"], edges=[(0, 1, "single"), (1, 2, "single")])
ACETALDEHYDE = graph.Graph(labels=["C", "C", "O"], edges=[(0, 1, "single"), (1, 2, "double")])
ACETIC_ACID = graph.Graph(
    labels=["C", "C", "O", "O"], edges=[(0, 1, "single"), (1, 2, "double"), (1, 3, "single")]
)
ETHYLAMINE = graph.Graph(labels=["C", "C", "N"], edges=[(0, 1, "single"), (1, 2, "single")])
CORPUS = {"acetaldehyde": ACETALDEHYDE, "acetic acid": ACETIC_ACID, "ethylamine": ETHYLAMINE}


def main() -> None:
    """Compare, explain, draw, search."""
    found = graph.ged(ETHANOL, ACETIC_ACID, costs=graph.Costs(edge_sub="0.5"))
    print(f"ethanol to acetic acid: {found.explain()}")
    Path("edits.svg").write_text(found.draw(), encoding="utf-8")
    index, distance, certified = graph.knn([ETHANOL], list(CORPUS.values()), k=2)
    names = [list(CORPUS)[i] for i in index[0]]
    print(f"nearest to ethanol: {names}, distances {distance[0].tolist()}, proven: {bool(certified[0])}")


if __name__ == "__main__":
    main()
