"""Against the peers: ratios of time from benchmark records, with the seconds they came from.

Records also hold ratios of memory, of megabytes, of accuracies, and a 1 where results are equal; drawn as one chart they say
nothing. So the ratios of time are named here, and only they are shown.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from samebits.report.collect import Collection
from samebits.report.parts import Section, paragraph, table

__all__ = ["peers_section"]


class PeerComparison(NamedTuple):
    """One ratio of a record that is the peer's time divided by ours.

    Attributes:
        record: Name of the benchmark.
        ratio: Key among its ratios.
        what: What both did.
        peer: Who else did it.
        theirs: Where in the details their seconds are; empty where the record has none.
        ours: The same for ours.
    """

    record: str
    ratio: str
    what: str
    peer: str
    theirs: str = ""
    ours: str = ""


COMPARISONS = (
    PeerComparison(
        "count",
        "one_worker",
        "count words",
        "Counter",
        "median_seconds.Counter",
        "median_seconds.samebits -w 1",
    ),
    PeerComparison(
        "charset_vs_chardet", "alphabetic_1m", "train encoding models, one alphabet", "chardet's trainer"
    ),
    PeerComparison(
        "charset_vs_chardet", "mixed_14_languages", "train encoding models, 14 languages", "chardet's trainer"
    ),
    PeerComparison("charset_detection", "speed", "detect encodings", "chardet"),
    PeerComparison("langid_vs_vocabulous", "rows_20000", "train on 20,000 rows", "vocabulous"),
    PeerComparison("langid_vs_vocabulous", "rows_20000_command", "the same, as a command", "vocabulous"),
    PeerComparison(
        "tokens_vs_peers",
        "datasets_map_120mb",
        "tokenize 120 MB",
        "datasets.map",
        "wall_seconds.datasets large",
        "wall_seconds.samebits large",
    ),
    PeerComparison(
        "tokens_vs_peers",
        "datatrove",
        "tokenize 17 MB",
        "datatrove",
        "wall_seconds.datatrove small",
        "wall_seconds.samebits small",
    ),
    PeerComparison(
        "tokens_vs_peers",
        "plain_pool",
        "tokenize 17 MB",
        "a pool of processes",
        "wall_seconds.pool small",
        "wall_seconds.samebits small",
    ),
    PeerComparison("lm_vs_pytorch", "time_to_loss_vs_lr1e3", "train to the same loss", "PyTorch, lr 1e-3"),
    PeerComparison("lm_vs_pytorch", "time_to_loss_vs_lr4e3", "train to the same loss", "PyTorch, lr 4e-3"),
    PeerComparison("graph_vs_peers", "networkx_exact_8_nodes", "exact distances, 8 nodes", "networkx"),
    PeerComparison("graph_vs_peers", "zss_trees_15", "tree distances, 15 nodes", "zss"),
    PeerComparison("graph_vs_peers", "apted_trees_15", "tree distances, 15 nodes", "apted"),
    PeerComparison("graph_vs_peers", "edist_trees_15", "tree distances, 15 nodes", "edist"),
)


def peers_section(found: Collection) -> Section | None:
    """List ratios of time with seconds, of the records that are there."""
    records = {str(record["name"]): record for record in found.benchmarks}
    rows = []
    for one in COMPARISONS:
        ratio = records.get(one.record, {}).get("ratios", {}).get(one.ratio)
        if not isinstance(ratio, int | float):
            continue
        details = records[one.record].get("details")
        theirs, ours = _seconds(details, one.theirs), _seconds(details, one.ours)
        rows.append((one.what, one.peer, theirs, ours, f"{ratio:,.3g} times as fast"))
    if not rows:
        return None
    text = (
        "The project's own records, measured on the project's machine and not on this one; the scripts and all "
        "records are in benchmarks/. A dash: the record holds the ratio alone."
    )
    head = ("what", "compared with", "theirs", "ours", "samebits is")
    return Section("peers", "Against the peers", paragraph(text) + table(head, rows))


def _seconds(details: Any, path: str) -> str | None:
    group, _, name = path.partition(".")
    values = details.get(group) if isinstance(details, dict) else None
    seconds = values.get(name) if isinstance(values, dict) else None
    return f"{seconds:,.3g} s" if isinstance(seconds, int | float) else None
