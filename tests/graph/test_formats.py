"""The forms in which sets of graphs are published: GXL, GEXF and t/v/e text, by suffix or by content, wrong lines named."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import networkx as nx
import pytest

from samebits.cli.app import run
from samebits.errors import ConfigError, InputError
from samebits.graph import Graph, Reading, ged, ged_matrix, knn, read_graphs
from samebits.graph.formats import xml_file
from samebits.graph.formats.read import graph_files

SYMBOLS = Reading(node_label="symbol", edge_label="valence")
MOLECULE = Graph(labels=["C", "O"], edges=[(0, 1, "1")], ids=["_1", "_2"])
GXL = """<?xml version="1.0"?>
<!DOCTYPE gxl SYSTEM "http://www.gupro.de/GXL/gxl-1.0.dtd">
<gxl><graph id="molid1" edgeids="false" edgemode="undirected">
<node id="_1"><attr name="symbol"><string>C  </string></attr><attr name="charge"><int>0</int></attr></node>
<node id="_2"><attr name="symbol"><string>O  </string></attr><attr name="charge"><int>0</int></attr></node>
<edge from="_1" to="_2"><attr name="valence"><int>1</int></attr></edge>
</graph></gxl>
"""
GEXF = """<gexf version="1.2"><graph defaultedgetype="undirected" mode="static">
<attributes class="edge"><attribute id="1" title="valence" type="integer"/></attributes>
<attributes class="node"><attribute id="0" title="symbol" type="string"/></attributes>
<nodes><node id="_1" label="0"><attvalues><attvalue for="0" value="C"/></attvalues></node>
<node id="_2" label="1"><attvalues><attvalue for="0" value="O"/></attvalues></node></nodes>
<edges><edge id="0" source="_1" target="_2"><attvalues><attvalue for="1" value="1"/></attvalues></edge></edges>
</graph></gexf>
"""
TVE = """# made by hand
t # 0
v 0 C
v 1 O
e 0 1 single

t # 1
v 3 C
v 2
e 2 3
t # -1
"""


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(("name", "text"), [("m.gxl", GXL), ("m.xml", GXL), ("m.gexf", GEXF), ("m", GXL)])
def test_gxl_and_gexf_are_read_by_suffix_and_by_content(name: str, text: str, tmp_path: Path) -> None:
    path = written(tmp_path, name, text)
    assert graph_files([str(path)]) == [path]
    assert read_graphs(path, SYMBOLS) == [MOLECULE]
    assert read_graphs(path, Reading("", ""))[0].labels == (None, None)


def test_gexf_written_by_networkx_is_read(tmp_path: Path) -> None:
    graph = Graph(labels=["C", "N <&>"], edges=[(0, 1, "double")], ids=["p", "q"])
    nx.write_gexf(graph.to_networkx(node_label="type", edge_label="valence"), tmp_path / "g.gexf")
    assert read_graphs(tmp_path / "g.gexf", Reading("type", "valence")) == [graph]
    nx.write_gexf(nx.path_graph(3), tmp_path / "plain.gexf")
    assert read_graphs(tmp_path / "plain.gexf")[0].labels == (None, None, None)


@pytest.mark.parametrize("name", ["g.tve", "g.gspan", "g.lg", "g.txt", "g.data", "g"])
def test_tve_is_read_by_suffix_and_by_content(name: str, tmp_path: Path) -> None:
    path = written(tmp_path, name, TVE)
    assert graph_files([str(path)]) == [path]
    first, second = read_graphs(path)
    assert first == Graph(labels=["C", "O"], edges=[(0, 1, "single")])
    assert second == Graph(labels=["C", None], edges=[(0, 1)], ids=[3, 2])
    assert read_graphs(path, Reading(directed=True))[1].edges == ((1, 0, None),)
    assert read_graphs(path, Reading("", ""))[0] == Graph(labels=[None, None], edges=[(0, 1)])


def test_json_without_a_suffix_and_compressed_files_are_read(tmp_path: Path) -> None:
    graph = Graph(labels=["a", "b"], edges=[(0, 1)])
    line = json.dumps(graph.to_json()) + "\n"
    assert read_graphs(written(tmp_path, "lines", line * 2)) == [graph, graph]
    assert read_graphs(written(tmp_path, "list", json.dumps([graph.to_json()], indent=1))) == [graph]
    assert read_graphs(written(tmp_path, "one", json.dumps(graph.to_json(), indent=1))) == [graph]
    (tmp_path / "g.jsonl.gz").write_bytes(gzip.compress(line.encode()))
    assert read_graphs(tmp_path / "g.jsonl.gz") == [graph]
    (tmp_path / "g.jsonl.gz").write_bytes(gzip.compress(line.encode())[:-9])
    with pytest.raises(InputError, match="end too early"):
        read_graphs(tmp_path / "g.jsonl.gz")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("v 0 C\n", 1, "'v' before any graph"),
        ("t # 0\nv 0 C\nx 1\n", 3, "begins with 'x'"),
        ("t # 0\nv zero C\n", 2, "'zero' is not the number of a node"),
        ("t # 0\nv -1 C\n", 2, "'-1' is not the number of a node"),
        ("t # 0\nv 0 two words\n", 2, "4 fields in a line of 'v'"),
        ("t # 0\nv\n", 2, "1 fields"),
        ("t # 0\nv 0\nv 0\n", 3, "two nodes have the id 0"),
        ("t # 0\nv 0\ne 0 5\n", 3, "leads to node 5, which does not exist"),
        ("t # 0\nv 0\nv 1\ne 0 1\ne 1 0\n", 5, "two edges between 1 and 0"),
        ("t # 0\nv 0 " + "x" * 70_000, 2, "a line of more than"),
        ("t # 0\nv " + "9" * 5000 + "\n", 2, "is not the number of a node"),
    ],
)
def test_a_wrong_line_of_tve_is_named(text: str, line: int, words: str, tmp_path: Path) -> None:
    path = written(tmp_path, "g.tve", text)
    with pytest.raises(InputError, match=words) as caught:
        read_graphs(path)
    assert (caught.value.path, caught.value.line) == (str(path), line)


def test_tve_that_is_no_utf8_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "g.tve").write_bytes(b"t # 0\nv 0 \xff\n")
    with pytest.raises(InputError, match="not UTF-8 at byte 4") as caught:
        read_graphs(tmp_path / "g.tve")
    assert caught.value.line == 2


@pytest.mark.parametrize(
    ("body", "line", "words"),
    [
        ('<graph><node id="a"/>\n<edge from="a" to="b"/></graph>', 2, "leads to node 'b'"),
        ('<graph><node id="a"/>\n\n<node id="a"/></graph>', 3, "two nodes have the id 'a'"),
        (
            '<graph edgemode="undirected">\n<edge isdirected="true" from="a" to="a"/></graph>',
            2,
            "in one graph",
        ),
        ('<graph edgemode="both"/>', 1, "edgemode is 'both'"),
        ("<graph>\n<rel/></graph>", 2, "relation of several nodes"),
        ('<graph><node id="a">\n<graph/></node></graph>', 2, "a graph inside a graph"),
        ("\n<node/>", 2, "a node without an id"),
        ('<graph><node id="a"/><edge from="a"/></graph>', 1, "without 'from' or 'to'"),
        ('<graph><node id="a"><attr name="label">\n<seq/></attr></node></graph>', 2, "the label is a <seq>"),
        ("<a>" * 80, 1, "nested more than 64 deep"),
        ("<graph>", 1, "not valid XML"),
        ("", None, "no <graph>"),
    ],
)
def test_bad_gxl_names_the_line(body: str, line: int | None, words: str, tmp_path: Path) -> None:
    path = written(tmp_path, "g.gxl", f"<gxl>{body}</gxl>")
    with pytest.raises(InputError, match=words) as caught:
        read_graphs(path)
    assert (caught.value.path, caught.value.line) == (str(path), line)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('<graph defaultedgetype="mutual"/>', "edges of the type 'mutual'"),
        ('<graph><node id="a"/><edge type="directed" source="a" target="a"/></graph>', "in one graph"),
        ('<graph><edge source="a"/></graph>', "without source or target"),
        ('<graph><node id="a"><graph/></node></graph>', "a graph inside a graph"),
        ("", "no <graph>"),
    ],
)
def test_bad_gexf_is_refused(body: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=words):
        read_graphs(written(tmp_path, "g.gexf", f"<gexf>{body}</gexf>"))


@pytest.mark.parametrize("suffix", ["gxl", "gexf", "graphml", "xml"])
@pytest.mark.parametrize(
    "doctype",
    [
        '<!DOCTYPE gxl [<!ENTITY a "b">]>',
        '<!DOCTYPE gxl SYSTEM "x.dtd" [<!ENTITY % a SYSTEM "/etc/passwd"> %a;]>',
    ],
)
def test_declared_entities_are_refused_everywhere(suffix: str, doctype: str, tmp_path: Path) -> None:
    path = written(tmp_path, f"g.{suffix}", f'{doctype}\n<gxl><graph><node id="a"/></graph></gxl>')
    with pytest.raises(InputError, match=r"document type|entity"):
        read_graphs(path)


def test_an_entity_of_a_document_type_that_is_not_read_is_refused(tmp_path: Path) -> None:
    text = GXL.replace("<string>C  </string>", "<string>&atom;</string>", 1)
    with pytest.raises(InputError, match="entity is not allowed") as caught:
        read_graphs(written(tmp_path, "g.gxl", text), SYMBOLS)
    assert caught.value.line == 4


def test_a_label_and_a_file_have_a_largest_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, "g.gxl", GXL.replace("C  ", "C" * 70_000, 1))
    with pytest.raises(InputError, match="a label of more than 65,536 characters"):
        read_graphs(path, SYMBOLS)
    monkeypatch.setattr(xml_file, "MOST_BYTES", 1000)
    with pytest.raises(InputError, match="at most 1,000 are read"):
        read_graphs(path, SYMBOLS)


def test_an_unknown_encoding_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "g.gxl", GXL.replace('version="1.0"', 'version="1.0" encoding="utf-7"'))
    with pytest.raises(InputError, match="not valid XML"):
        read_graphs(path, SYMBOLS)


@pytest.mark.parametrize(("name", "text"), [("m.gxl", GXL), ("m.gexf", GEXF)])
def test_attributes_that_are_not_chosen_are_listed_instead_of_dropped(
    name: str, text: str, tmp_path: Path
) -> None:
    path = written(tmp_path, name, text)
    with pytest.raises(InputError, match=r"no node has the attribute 'label'; there are: .*symbol") as caught:
        read_graphs(path)
    assert "--node-label" in caught.value.hint
    with pytest.raises(InputError, match="no edge has the attribute 'label'; there are: valence"):
        read_graphs(path, Reading(node_label="symbol"))


def test_every_command_and_call_takes_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gxl, tve = written(tmp_path, "a.gxl", GXL), written(tmp_path, "b.txt", TVE)
    labels = ["--node-label", "symbol", "--edge-label", "valence"]
    assert run(["graph", "distance", str(gxl), f"{tve}:1", *labels]) == 0
    assert capsys.readouterr().out.startswith("distance 1, proven")
    for arguments in (
        ("matrix", str(gxl), str(tve), *labels, "-o", str(tmp_path / "m")),
        ("knn", str(gxl), "--corpus", str(tve), "-k", "1", *labels, "-o", str(tmp_path / "k")),
        ("draw", str(gxl), *labels, "-o", str(tmp_path / "g.svg")),
    ):
        assert run(["graph", *arguments]) == 0
    assert run(["graph", "matrix", str(gxl), "-o", str(tmp_path / "x")]) == 1
    assert "--node-label" in capsys.readouterr().err


def test_calls_take_paths(tmp_path: Path) -> None:
    tve = written(tmp_path, "b.txt", TVE)
    one = written(tmp_path, "one.tve", "t # 0\nv 0 C\n")
    assert ged_matrix(tve).upper.tolist() == [[0, 2], [2, 0]]
    assert knn(one, str(tve), k=1).upper.tolist() == [[2]]
    assert ged(one, Graph(labels=["N"])).upper == 1
    with pytest.raises(ConfigError, match="holds 2 graphs, one was expected"):
        ged(tve, one)
    assert len(read_graphs(tmp_path)) == 1  # of a folder, files whose suffix tells the format
