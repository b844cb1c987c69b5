"""Numbers for characters, words and labels, taken from the training data and from nothing else.

Number 0 is padding and 1 is "not seen in training" for everything that is read; for what is predicted, node label 0 is "no
node" and arc labels 0 and 1 are "none" and the arc into a root.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from samebits.errors import ArtifactCorrupt
from samebits.graph.anchored import ROOT_ARC
from samebits.graph.curriculum.terms import OPERATORS
from samebits.graph.parser.samples import Sample
from samebits.graph.parser.structure import Structure, learn_structure

__all__ = ["NO_NODE", "PAD", "ROOT_ID", "UNKNOWN", "Lexicon", "learn_lexicon"]

PAD, UNKNOWN = 0, 1
NO_NODE = 0
ROOT_ID = 1
RESERVED = ("<pad>", "<unk>")
MATH_LABELS = frozenset({*OPERATORS, "int", "cont", "var"})


@dataclass(frozen=True)
class Lexicon:
    """What a model knows by name.

    Attributes:
        kind: ``char`` for texts, ``word`` for sentences.
        characters: Number -> character.
        words: Number -> word; empty for texts.
        nodes: Number -> node label.
        arcs: Number -> arc label.
        structure: What all training graphs have in common.
    """

    kind: str
    characters: tuple[str, ...]
    words: tuple[str, ...]
    nodes: tuple[str, ...]
    arcs: tuple[str, ...]
    structure: Structure

    @property
    def is_math(self) -> bool:
        """Whether a graph has a value: all node labels are those of the curriculum."""
        return self.kind == "char" and MATH_LABELS.issuperset(self.nodes[1:])

    @cached_property
    def character_ids(self) -> dict[str, int]:
        """Character -> number."""
        return {name: i for i, name in enumerate(self.characters)}

    @cached_property
    def word_ids(self) -> dict[str, int]:
        """Word -> number."""
        return {name: i for i, name in enumerate(self.words)}

    @cached_property
    def node_ids(self) -> dict[str, int]:
        """Node label -> number."""
        return {name: i for i, name in enumerate(self.nodes)}

    @cached_property
    def arc_ids(self) -> dict[str, int]:
        """Arc label -> number."""
        return {name: i for i, name in enumerate(self.arcs)}

    def plain(self) -> dict[str, Any]:
        """Return plain data, as ``labels.json`` holds it."""
        return {**asdict(self), "structure": self.structure.plain()}

    @classmethod
    def from_plain(cls, value: Any) -> Lexicon:
        """Take what ``plain`` gave.

        Raises:
            ArtifactCorrupt: if it is something else.
        """
        try:
            names = {key: tuple(value[key]) for key in ("characters", "words", "nodes", "arcs")}
            return cls(kind=str(value["kind"]), structure=Structure(**value["structure"]), **names)
        except (KeyError, TypeError) as error:
            raise ArtifactCorrupt(f"labels.json is not that of a graph model: {error}") from None


def learn_lexicon(samples: Sequence[Sample], *, kind: str, min_count: int = 2) -> Lexicon:
    """Collect every name, sorted; words that occur less than ``min_count`` times count as unknown."""
    characters = sorted({character for sample in samples for token in sample.tokens for character in token})
    words: list[str] = []
    if kind == "word":
        counts = Counter(token.lower() for sample in samples for token in sample.tokens)
        words = [*RESERVED, *sorted(word for word, count in counts.items() if count >= min_count)]
    labels = sorted({label for sample in samples for label in sample.graph.labels})
    arcs = sorted({arc for sample in samples for arc in sample.graph.arcs} - {ROOT_ARC})
    structure = learn_structure(sample.graph for sample in samples) if kind == "char" else Structure("tree")
    return Lexicon(
        kind,
        (*RESERVED, *characters),
        tuple(words),
        ("", *labels),
        ("", ROOT_ARC, *arcs),
        structure,
    )
