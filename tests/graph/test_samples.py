"""Bad examples: each is named with file, line and reason, and never trained on."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

import samebits
from samebits.core.plan import Shard
from samebits.errors import InputError, TooManyBadRows
from samebits.graph.anchored import ROOT, Anchored, as_json, from_json
from samebits.graph.config import TrainConfig
from samebits.graph.formats.conllu import read_sentences
from samebits.graph.parser.lexicon import Lexicon, learn_lexicon
from samebits.graph.parser.samples import ReadShard, Sample, is_conllu, open_samples, read_part, samples_of
from samebits.graph.parser.structure import Structure, is_projective, learn_structure


def node(name: Any, start: int, label: str = "int") -> dict[str, Any]:
    return {"id": name, "label": label, "at": [start, start + 1]}


def edge(source: Any, target: Any, label: Any = "L") -> dict[str, Any]:
    return {"from": source, "to": target, "label": label}


GOOD = {
    "nodes": [node("a", 0), node("b", 1, "+"), node("c", 2)],
    "edges": [edge("b", "a"), edge("b", "c", "R")],
}
BAD: list[tuple[Any, str]] = [
    (None, "no list of nodes"),
    ({"nodes": 3}, "no list of nodes"),
    ({"nodes": [], "edges": 3}, "not a list"),
    ({"nodes": [{"label": "x", "at": [0, 1]}]}, "without an id"),
    ({"nodes": [node("a", 0), node("a", 1)]}, "duplicate node id 'a'"),
    ({"nodes": [{"id": 1, "at": [0, 1]}]}, "no label"),
    ({"nodes": [{"id": 1, "label": "x"}]}, "no anchor"),
    ({"nodes": [{"id": 1, "label": "x", "at": [2, 9]}]}, "outside the text of 3"),
    ({"nodes": [{"id": 1, "label": "x", "at": [0, 2]}, node(2, 1)]}, "overlapping anchors"),
    ({"nodes": [node(1, 0)], "edges": [edge(1, 7)]}, "dangling edge: no node 7"),
    ({"nodes": [node(1, 0)], "edges": [edge([], 1)]}, "dangling edge"),
    ({"nodes": [node(1, 0)], "edges": [edge(1, 1)]}, "self loop"),
    ({"nodes": [node(1, 0), node(2, 1)], "edges": [edge(1, 2, None)]}, "without a label"),
    ({"nodes": [node(i, i) for i in range(3)], "edges": [edge(0, 2), edge(1, 2)]}, "two heads for node 2"),
    ({"nodes": [node(i, i) for i in range(3)], "edges": [edge(0, 1), edge(1, 0)]}, "cycle"),
]


@pytest.mark.parametrize(("graph", "reason"), BAD, ids=[reason for _, reason in BAD])
def test_a_graph_that_cannot_be_learned_says_why(graph: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        from_json(graph, length=3)


def test_a_graph_comes_back_from_its_json() -> None:
    graph = from_json(GOOD, length=3)
    assert graph == Anchored((0, 1, 2), ("int", "+", "int"), (1, ROOT, 1), ("L", "root", "R"))
    assert from_json(as_json(graph), length=3) == graph


def lines(*rows: Any) -> str:
    return "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)


def test_bad_lines_are_named_and_the_others_are_read(tmp_path: Path) -> None:
    good = {"text": "2+3", "graph": GOOD, "depth": 1}
    rows = [good, "{", {"graph": GOOD}, {"text": "", "graph": GOOD}, "", {"text": "2" * 600, "graph": GOOD}]
    path = tmp_path / "rows.jsonl"
    path.write_text(
        lines(*rows, *({"text": "2+3", "graph": graph} for graph, _ in BAD), good), encoding="utf-8"
    )
    corpus = open_samples([str(path)])
    (shard,) = corpus.shards()
    part = ReadShard(False)(shard, corpus)
    assert len(samples_of(part)) == 2
    assert samples_of(part)[0].about == {"depth": 1}
    assert [row["line"] for row in part.bad] == [1, 2, 3, 5, *range(6, 6 + len(BAD))]
    reasons = [row["reason"].split(":")[0] for row in part.bad[:4]]
    assert reasons == [
        "not valid JSON",
        "no text in this line",
        "the text is empty",
        "a text of 600 characters is longer than 512",
    ]


def test_training_stops_with_file_and_line_of_the_first_bad_row(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(
        lines({"text": "2+3", "graph": GOOD}, {"text": "2+3", "graph": BAD[9][0]}), encoding="utf-8"
    )
    config = TrainConfig(inputs=(str(path),), steps=1, batch=4)
    with pytest.raises(TooManyBadRows, match=r"rows\.jsonl, line 2.*dangling edge: no node 7"):
        samebits.run("graph_train", config, output=tmp_path / "out")


def test_bad_sentences_are_named_with_their_line(tmp_path: Path) -> None:
    word = "{}\tw\t_\t_\t_\t_\t{}\tdep\t_\t_\n"
    path = tmp_path / "bank.conllu"
    path.write_text(
        word.format(1, 0) + "\n" + word.format(1, 0) + word.format(2, 2) + "\n" + "1\tx\n", encoding="utf-8"
    )
    corpus = open_samples([str(path)])
    (shard,) = corpus.shards()
    part = ReadShard(True)(shard, corpus)
    assert [(row["line"], row["reason"]) for row in part.bad] == [
        (3, "word 2 is its own head"),
        (5, "2 columns instead of 10"),
    ]
    assert len(part.examples) == 1


def word(number: int, form: str, head: int, relation: str = "dep") -> str:
    return f"{number}\t{form}\t_\t_\t_\t_\t{head}\t{relation}\t_\t_\n"


def test_any_treebank_is_read_whatever_its_sentences_hold(tmp_path: Path) -> None:
    """Ranges and empty nodes are no words, crossing arcs are learned, comments alone are nothing; line ends do not matter."""
    nothing = "\t_" * 8 + "\n"
    text = (
        "# newdoc id = 1\n\n"
        "1-2\tvámonos" + nothing + word(1, "vamos", 0, "root") + word(2, "nos", 1, "obj") + "\n"
        "# newdoc id = 2\n# nothing in it\n\n"
        + word(1, "Sue", 2)
        + word(2, "likes", 0, "root")
        + word(3, "coffee", 2)
        + word(4, "Bill", 2)
        + "4.1\tlikes"
        + nothing
        + word(5, "tea", 4, "orphan")
        + "\n"
        + word(1, "A", 2)
        + word(2, "hearing", 3)
        + word(3, "starts", 0, "root")
        + word(4, "on", 5)
        + word(5, "it", 2)
        + word(6, "today", 3)
        + "\n# the end\n"
    )
    for ending in ("\n", "\r\n"):
        path = tmp_path / "train.conllu"
        path.write_text(text.replace("\n", ending), encoding="utf-8", newline="")
        corpus = open_samples([str(path)])
        (shard,) = corpus.shards()
        part = ReadShard(True)(shard, corpus)
        assert part.bad == []
        found = samples_of(part)
        assert [sample.tokens for sample in found] == [
            ("vamos", "nos"),
            ("Sue", "likes", "coffee", "Bill", "tea"),
            ("A", "hearing", "starts", "on", "it", "today"),
        ]
        assert [is_projective(sample.graph) for sample in found] == [True, True, False]
        assert all(sample.graph.arcs[sample.graph.heads.index(ROOT)] == "root" for sample in found)


def test_formats_are_not_mixed() -> None:
    assert is_conllu(["a.conllu", "b.conllu.gz"])
    assert not is_conllu(["a.jsonl"])
    with pytest.raises(InputError, match="one run"):
        is_conllu(["a.conllu", "b.jsonl"])


def test_a_folder_without_examples_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no train\.jsonl"):
        samebits.run("graph_train", TrainConfig(inputs=(str(tmp_path),)), output=tmp_path / "out")


TREE = Anchored((0, 1, 2), ("int", "+", "int"), (1, ROOT, 1), ("L", "root", "R"))


def test_structure_is_what_all_graphs_share() -> None:
    assert learn_structure([TREE]) == Structure("slots", {"+": ["L", "R"]}, {})
    longer = Anchored((0, 1, 2, 3), ("int", "+", "int", "cont"), (1, ROOT, 1, 2), ("L", "root", "R", "cont"))
    assert learn_structure([TREE, longer]) == Structure("slots", {"+": ["L", "R"]}, {"int": ["cont"]})
    half = Anchored((0, 1), ("int", "+"), (1, ROOT), ("L", "root"))
    assert learn_structure([TREE, half]) == Structure("slots", {"+": ["L"]}, {"+": ["R"]})


def test_structure_gives_up_what_does_not_hold() -> None:
    two_roots = Anchored((0, 1), ("a", "b"), (ROOT, ROOT), ("root", "root"))
    assert learn_structure([TREE, two_roots]).decoder == "argmax"
    crossing = Anchored((0, 1, 2, 3), ("a",) * 4, (2, 3, ROOT, 2), ("x", "x", "root", "x"))
    assert not is_projective(crossing)
    assert learn_structure([crossing]).decoder == "tree"
    assert is_projective(TREE)


def test_names_come_from_the_training_data_alone() -> None:
    samples = [Sample(tuple("2+3"), TREE, {}), Sample(tuple("4+é"), TREE, {})]
    lexicon = learn_lexicon(samples, kind="char")
    assert lexicon.characters == ("<pad>", "<unk>", "<start>", "<end>", "+", "2", "3", "4", "é")
    assert lexicon.nodes == ("", "+", "int")
    assert lexicon.arcs == ("", "root", "L", "R")
    assert lexicon.is_math
    assert Lexicon.from_plain(json.loads(json.dumps(lexicon.plain()))) == lexicon


@pytest.mark.parametrize(
    "settings",
    [
        {"batch": 10, "shards": 4},
        {"width": 3},
        {"dropout": 1.0},
        {"steps": -1},
        {"lr": -1.0},
        {"layers": 0},
    ],
)
def test_settings_that_cannot_be_meant_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(samebits.SamebitsError):
        TrainConfig(**settings)


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_sentences_are_the_same_wherever_a_treebank_is_cut(ending: str, tmp_path: Path) -> None:
    row = "{}\tw{}\t_\t_\t_\t_\t{}\t{}\t_\t_\n"
    sentences = [
        "".join(row.format(i + 1, n, 0 if i == 0 else 1, "root" if i == 0 else "x") for i in range(1 + n % 4))
        for n in range(12)
    ]
    text = ("\n" + "\n".join(sentences[:7]) + "\n\n\n" + "\n".join(sentences[7:]) + "\n").replace(
        "\n", ending
    )
    path = tmp_path / "bank.conllu"
    path.write_bytes(text.encode())
    (source,) = open_samples([str(path)]).sources
    for step in (1, 7, 40, 10_000):
        cuts = [*range(0, source.size, step), source.size]
        parts = [read_part(source, Shard(0, 0, a, b)) for a, b in itertools.pairwise(cuts)]
        assert "".join(parts) == text
        whole = [sentence.forms for sentence in read_sentences(text)]
        assert [s.forms for part in parts for s in read_sentences(part)] == whole
