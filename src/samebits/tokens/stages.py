"""The stages of ``tokens build``, in their order; most runs have two of them."""

from __future__ import annotations

__all__ = ["ENCODE", "LEARN", "LIMIT", "SPLIT", "STAGES", "WRITE"]

LEARN, ENCODE, LIMIT, SPLIT, WRITE = "learn", "encode", "limit", "split", "write"
STAGES = (LEARN, ENCODE, LIMIT, SPLIT, "scatter train", "order train", "scatter val", "order val", WRITE)
