"""samebits graph: distance, matrix, knn, draw; what learns is in ``graph_train``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from samebits.cli.job_command import job_command
from samebits.cli.sections import OTHER, PRINT, WHAT, SectionedCommand, SectionedGroup, SectionedOption
from samebits.core.observing.record import RunRecord
from samebits.core.observing.units import show_count
from samebits.errors import ConfigError, InputError
from samebits.graph.command_training import commands

__all__ = ["group"]


def summarize_matrix(record: RunRecord) -> None:
    """Say how many pairs are proven."""
    about = record.metrics
    share = 100 * about["exact"] / max(1, about["pairs"])
    click.echo(
        f"{show_count(about['pairs'], 'pair')}, {about['exact']:,} exact ({share:.1f} %), "
        f"{show_count(about['expansions'], 'state')} searched",
        err=True,
    )
    if about.get("open"):
        from samebits.graph.distance.compare import MOST_NODES

        click.echo(
            f"{about['open']:,} pairs stay open: graphs of more than {MOST_NODES} nodes are not searched, only counted",
            err=True,
        )


def summarize_knn(record: RunRecord) -> None:
    """Say how many answers are proven, and what the filter saved."""
    about = record.metrics
    click.echo(
        f"{about['queries']:,} {'query' if about['queries'] == 1 else 'queries'}, {about['certified']:,} certified; {about['compared']:,} of "
        f"{about['queries'] * about['corpus']:,} pairs had to be compared",
        err=True,
    )


def _one_graph(path: str, values: dict[str, Any]) -> Any:
    """Read the graph that ``file`` or ``file:3`` (the third) names."""
    from samebits.graph import Reading, read_graphs
    from samebits.graph.formats.read import graph_files

    name, colon, number = path.rpartition(":")
    chosen = int(number) if colon and number.isdecimal() and not Path(path).exists() else None
    file = name if chosen is not None else path
    reading = Reading(values["node_label"], values["edge_label"], values["directed"])
    (found,) = graph_files([file]) if not Path(file).is_dir() else [Path(file)]
    graphs = read_graphs(found, reading)
    if chosen is None and len(graphs) != 1:
        raise InputError(f"{len(graphs)} graphs, one was expected", path=file, hint=f"name one: {file}:1")
    if chosen is not None and not 1 <= chosen <= len(graphs):
        raise InputError(f"no graph {chosen}, there are {len(graphs)}", path=file)
    return graphs[(chosen or 1) - 1]


def _distance(first: str, second: str, **values: Any) -> None:
    """Print what is known about the distance of two graphs."""
    from samebits import graph
    from samebits.graph.distance.costs import parse_costs

    a, b = _one_graph(first, values), _one_graph(second, values)
    costs = parse_costs([item for item in values["costs"].split(",") if item])
    if values["trees"]:
        if values["draw"]:
            raise ConfigError(
                "--draw shows edits of graphs, not of trees", hint="leave out --trees or --draw"
            )
        exact = graph.ted(a, b, costs=costs)
        click.echo(json.dumps({"distance": str(exact)}) if values["as_json"] else str(exact))
        return
    found = graph.ged(a, b, costs=costs, budget=values["budget"], until_exact=values["until_exact"])
    if values["draw"]:
        Path(values["draw"]).write_text(found.draw(), encoding="utf-8")
    if not values["as_json"]:
        click.echo(found.explain())
        return
    edits = [
        {"kind": edit.kind, "where": list(edit.where), "old": edit.old, "new": edit.new}
        for edit in found.edits
    ]
    about = {
        "lower": str(found.lower),
        "upper": str(found.upper),
        "exact": found.exact,
        "expansions": found.expansions,
        "mapping": list(found.mapping),
        "edits": edits,
    }
    click.echo(json.dumps(about, ensure_ascii=False))


def _draw(first: str, second: str | None, **values: Any) -> None:
    """Write a picture of one graph, or of the edits between two."""
    from samebits import graph

    a = _one_graph(first, values)
    picture = (
        graph.draw_graph(a)
        if second is None
        else graph.ged(a, _one_graph(second, values), budget=values["budget"]).draw()
    )
    Path(values["output"]).write_text(picture, encoding="utf-8")


def _reading_flags() -> list[click.Parameter]:
    flag = SectionedOption
    return [
        flag(
            ["--node-label"],
            default="label",
            section=WHAT,
            help="key or attribute that holds a node's label; '' ignores labels [label]",
        ),
        flag(
            ["--edge-label"],
            default="label",
            section=WHAT,
            help="key or attribute that holds an edge's label; '' ignores labels [label]",
        ),
        flag(
            ["--directed"],
            is_flag=True,
            section=WHAT,
            help="treat JSON and t/v/e graphs as directed if they do not say",
        ),
        flag(
            ["--budget"],
            default=10_000,
            metavar="N",
            section=WHAT,
            help="search states to visit [10000]",
        ),
    ]


group = SectionedGroup(
    "graph",
    help="Compare graphs by exact edit distance: pairs, all pairs, nearest neighbours. Train models that turn text into graphs.",
)
group.example = "samebits graph distance a.json b.json"
group.add_command(
    SectionedCommand(
        "distance",
        callback=_distance,
        params=[
            click.Argument(["first"], metavar="A"),
            click.Argument(["second"], metavar="B"),
            SectionedOption(
                ["--costs"],
                default="",
                metavar="NAME=X",
                section=WHAT,
                help="costs of edits, e.g. node_sub=2,edge_ins=0.5; 1 each by default",
            ),
            SectionedOption(
                ["--trees"],
                is_flag=True,
                section=WHAT,
                help="compare ordered trees by tree edit distance",
            ),
            SectionedOption(
                ["--until-exact"],
                is_flag=True,
                section=WHAT,
                help="search until the distance is proven, whatever the budget; may take very long",
            ),
            *_reading_flags(),
            SectionedOption(
                ["--draw"], metavar="FILE", section=OTHER, help="write a picture of the edits, as SVG"
            ),
            SectionedOption(["--json", "as_json"], is_flag=True, section=PRINT, help="print JSON"),
        ],
        help="Print the edit distance of two graphs, or bounds of it, and the edits. "
        "A and B are files of graphs (.json, .jsonl, .graphml, .gxl, .gexf, t/v/e text); file:3 is the third graph of a file.",
        short_help="edit distance of two graphs, with bounds and edits",
        example="""
        samebits graph distance a.json b.json
        samebits graph distance graphs.jsonl:1 graphs.jsonl:2 --draw edits.svg
        """,
    )
)
group.add_command(
    job_command(
        "graph",
        name="matrix",
        text="Compare all pairs of graphs, or of two sets. Writes lower.npy, upper.npy and expansions.npy.",
        example="""
        samebits graph matrix graphs.jsonl -o distances
        samebits graph matrix queries.jsonl --against corpus.jsonl -o distances
        samebits graph matrix aids/ -o distances --node-label symbol --until-exact
        """,
        summarize=summarize_matrix,
    )
)
group.add_command(
    job_command(
        "graph_knn",
        name="knn",
        text="Find the nearest graphs of each query in a corpus, and say whether each answer is proven.",
        example="samebits graph knn queries.jsonl --corpus corpus.jsonl -k 5 -o neighbours",
        summarize=summarize_knn,
    )
)
group.add_command(
    SectionedCommand(
        "draw",
        callback=_draw,
        params=[
            click.Argument(["first"], metavar="A"),
            click.Argument(["second"], metavar="[B]", required=False),
            *_reading_flags(),
            SectionedOption(
                ["-o", "--output"], required=True, metavar="FILE", section=OTHER, help="SVG file to write"
            ),
        ],
        help="Draw a graph, or the edits that turn one into another, as SVG.",
        example="samebits graph draw a.json b.json -o edits.svg",
    )
)
for _command in commands():
    group.add_command(_command)
