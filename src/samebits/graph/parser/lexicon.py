"""Numbers for characters, words and labels, taken from the training data and from nothing else.

Number 0 is padding and 1 is "not seen in training" for everything that is read, and characters 2 and 3 are the two ends of a word;
for what is predicted, node label 0 is "no node" and arc labels 0 and 1 are "none" and the arc into a root.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import msgspec

from samebits.errors import ArtifactCorrupt
from samebits.graph.anchored import ROOT_ARC
from samebits.graph.curriculum.terms import OPERATORS
from samebits.graph.parser.samples import Sample, tags_of
from samebits.graph.parser.structure import MOST_SLOTS, Structure, learn_structure

__all__ = ["END", "NO_NODE", "PAD", "ROOT_ID", "START", "UNKNOWN", "Lexicon", "learn_lexicon"]

PAD, UNKNOWN, START, END = range(4)
NO_NODE = 0
ROOT_ID = 1
RESERVED = ("<pad>", "<unk>")
ENDS = ("<start>", "<end>")
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
        tags: Number -> name of parts of speech, of tags and of bundles of features; empty for texts.
        structure: What all training graphs have in common.
    """

    kind: str
    characters: tuple[str, ...]
    words: tuple[str, ...]
    nodes: tuple[str, ...]
    arcs: tuple[str, ...]
    tags: tuple[tuple[str, ...], ...]
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

    @cached_property
    def tag_ids(self) -> tuple[dict[str, int], ...]:
        """Name -> number, for each kind of tag."""
        return tuple({name: i for i, name in enumerate(names)} for names in self.tags)

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
            found = msgspec.convert(value, cls)
            _check(found)
            return found
        except (msgspec.ValidationError, ValueError) as error:
            raise ArtifactCorrupt(f"labels.json is not that of a graph model: {error}") from None


def _check(found: Lexicon) -> None:
    """Refuse names that decoding could not use.

    Raises:
        ValueError: says what is wrong.
    """
    if found.kind not in ("char", "word"):
        raise ValueError(f"kind {found.kind!r}")
    if len(found.tags) != (3 if found.kind == "word" else 0) or not all(found.tags):
        raise ValueError(f"{len(found.tags)} kinds of tags for {found.kind}s")
    for names in (found.characters, found.words, found.nodes, found.arcs, *found.tags):
        if len(set(names)) != len(names):
            raise ValueError("a name appears twice")
    if found.characters[:4] != (*RESERVED, *ENDS) or found.words[:2] not in ((), RESERVED):
        raise ValueError("the first names are not those of padding and the unknown")
    if len(found.nodes) < 1 or found.arcs[:2] != ("", ROOT_ARC):
        raise ValueError("the first labels are not those of no node and the root")
    structure = found.structure
    for node, arcs in (*structure.needs.items(), *structure.may.items()):
        if node not in found.nodes or not set(arcs) <= set(found.arcs):
            raise ValueError(f"slots of {node!r} that no label has")
    if any(len(arcs) > MOST_SLOTS for arcs in structure.needs.values()):
        raise ValueError(f"a label with more than {MOST_SLOTS} slots")


def learn_lexicon(samples: Sequence[Sample], *, kind: str, min_count: int = 2) -> Lexicon:
    """Collect every name, sorted; words that occur less than ``min_count`` times count as unknown."""
    characters = sorted({character for sample in samples for token in sample.tokens for character in token})
    words: list[str] = []
    tags: list[set[str]] = []
    if kind == "word":
        tags = [{"_"}, {"_"}, {"_"}]
        for sample in samples:
            for names, row in zip(tags, tags_of(sample), strict=True):
                names.update(row)
        counts = Counter(token.lower() for sample in samples for token in sample.tokens)
        words = [*RESERVED, *sorted(word for word, count in counts.items() if count >= min_count)]
    labels = sorted({label for sample in samples for label in sample.graph.labels})
    arcs = sorted({arc for sample in samples for arc in sample.graph.arcs} - {ROOT_ARC})
    structure = learn_structure(sample.graph for sample in samples) if kind == "char" else Structure("tree")
    return Lexicon(
        kind,
        (*RESERVED, *ENDS, *characters),
        tuple(words),
        ("", *labels),
        ("", ROOT_ARC, *arcs),
        tuple(tuple(sorted(names)) for names in tags),
        structure,
    )
