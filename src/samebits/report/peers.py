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
    *(
        PeerComparison(
            "charset_vs_chardet",
            ratio,
            f"train encoding models, {what}",
            "chardet's trainer",
            f"{ratio}.cpu_theirs",
            f"{ratio}.cpu_ours",
        )
        for ratio, what in (("alphabetic_1m", "one alphabet"), ("mixed_14_languages", "14 languages"))
    ),
    PeerComparison("charset_wild", "files_per_second", "detect the encoding of files", "chardet, compiled"),
    *(
        PeerComparison("langid_vs_vocabulous", ratio, what, "vocabulous", "median.peer", f"median.{ours}")
        for ratio, what, ours in (
            ("rows_20000", "train on 20,000 rows", "here"),
            ("rows_20000_command", "the same, as a command", "command"),
        )
    ),
    *(
        PeerComparison(
            "tokens_vs_peers",
            ratio,
            f"tokenize {what}",
            peer,
            f"wall_seconds.{theirs}",
            f"wall_seconds.samebits {size}",
        )
        for ratio, what, peer, theirs, size in (
            ("datasets_map_120mb", "120 MB", "datasets.map", "datasets large", "large"),
            ("datatrove", "17 MB", "datatrove", "datatrove small", "small"),
            ("plain_pool", "17 MB", "a pool of processes", "pool small", "small"),
        )
    ),
    *(
        PeerComparison(
            "lm_vs_pytorch",
            f"time_to_loss_vs_{rate}",
            "train to the same loss",
            f"PyTorch, {name}",
            f"curves.reached.{rate}.plain.1",
            f"curves.reached.{rate}.preset.1",
        )
        for rate, name in (("lr1e3", "lr 1e-3"), ("lr4e3", "lr 4e-3"))
    ),
    *(
        PeerComparison("graph_vs_peers", ratio, what, peer, f"pairs.{peer}.peer", f"pairs.{peer}.ours")
        for ratio, what, peer in (
            ("networkx_exact_8_nodes", "one exact distance, 8 nodes", "networkx"),
            ("zss_trees_15", "one tree distance, 15 nodes", "zss"),
            ("apted_trees_15", "one tree distance, 15 nodes", "apted"),
            ("edist_trees_15", "one tree distance, 15 nodes", "edist"),
        )
    ),
)


UNITS = (("s", 1, 1.0), ("ms", 1e3, 1e-3), ("µs", 1e6, 0.0))  # name, how many are a second, least seconds


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
        times = f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.3g}"
        rows.append((one.what, one.peer, theirs, ours, f"{times} times as fast"))
    if not rows:
        return None
    text = (
        "The project's own records, measured on the project's machine and not on this one; the scripts and all "
        "records are in benchmarks/. A dash: the record holds the ratio alone."
    )
    head = ("what", "compared with", "theirs", "ours", "samebits is")
    return Section("peers", "Against the peers", paragraph(text) + table(head, rows))


def _seconds(details: Any, path: str) -> str | None:
    """Write the seconds at a dotted path of a record's details, in a unit that suits them."""
    value = details
    for key in path.split("."):
        if isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            value = value.get(key) if isinstance(value, dict) else None
    if not isinstance(value, int | float):
        return None
    unit, factor = next((u, f) for u, f, least in UNITS if value >= least)
    return f"{value * factor:,.3g} {unit}"
