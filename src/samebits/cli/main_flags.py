"""Which settings ``--help`` shows: the ten or so that people set, of each job; ``--help-all`` shows all."""

from __future__ import annotations

from collections.abc import Collection

__all__ = ["MAIN", "main_flags"]

# of RunOptions and of what is printed, the same for every job
COMMON = (
    "workers",
    "executor",
    "resume",
    "overwrite",
    "max_bad",
    "output",
    "as_json",
    "quiet",
    "dry_run",
    "help",
    "help_all",
)
MAIN = {
    "charset": ("text_column", "lang_column", "languages", "encodings", "unit", "max_samples"),
    "charset_decode": ("model", "text_column", "unit"),
    "count": ("column", "unit", "n", "lower", "min_count", "top"),
    "graph": ("budget", "threshold", "until_exact", "node_label", "edge_label"),
    "graph_eval": ("model", "decode"),
    "graph_generate": ("n", "seed", "depths"),
    "graph_knn": ("k", "budget", "until_exact"),
    "graph_train": ("steps", "width", "layers", "batch", "lr", "seed", "validate_every"),
    "langid": ("mode", "text_column", "lang_column", "eval", "cycles", "refine"),
    "langid_clean": ("model", "text_column", "lang_column", "drop_bits"),
    "lm": (
        "preset",
        "depth",
        "steps",
        "text_column",
        "level",
        "block",
        "batch",
        "val_ratio",
        "prompt",
        "seed",
    ),
    "tokens": (
        "tokenizer",
        "columns",
        "template",
        "layout",
        "max_length",
        "val_ratio",
        "vocab_size",
        "shuffle",
        "export",
    ),
    "tokens_convert": ("layout", "max_length", "export"),
    "tokens_train": ("kind", "vocab_size", "columns", "min_count"),
}


def main_flags(job: str) -> Collection[str]:
    """Return the names of the settings to show; none for a job whose settings are few, which shows them all."""
    return (*MAIN[job], *COMMON) if job in MAIN else ()
