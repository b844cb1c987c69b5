"""The names of the stages of a fold, in one place: the tree starts them, and jobs declare them."""

from __future__ import annotations

__all__ = ["fold_stages"]


def fold_stages(stage: str) -> tuple[str, str, str]:
    """Return the stages that ``Folding.run`` starts: counting, merging (a level follows the name) and reducing.

    >>> fold_stages("count")
    ('count', 'count merge', 'count reduce')
    """
    return stage, f"{stage} merge", f"{stage} reduce"
