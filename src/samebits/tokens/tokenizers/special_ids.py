"""Which tokens of a ``tokenizer.json`` are its padding, unknown, begin, separator and end-of-text token."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["SPECIAL_NAMES", "Specials", "special_ids"]

SPECIAL_NAMES = {
    "pad": "<|pad|>",
    "unk": "<|unk|>",
    "bos": "<|bos|>",
    "sep": "<|sep|>",
    "eos": "<|endoftext|>",
}

# Other people's names for the special tokens, tried in this order after our own.
KNOWN_NAMES = {
    "pad": ("<pad>", "[PAD]", "<|finetune_right_pad_id|>", "<|endoftext|>"),
    "unk": ("<unk>", "[UNK]"),
    "bos": ("<|begin_of_text|>", "<s>", "[CLS]", "<|startoftext|>"),
    "sep": ("[SEP]", "<sep>"),
    "eos": ("<|end_of_text|>", "</s>", "<eos>", "<|im_end|>", "[SEP]"),
}


class Specials(NamedTuple):
    """Ids of the special tokens; None where a tokenizer has none."""

    pad: int
    unk: int | None
    bos: int | None
    sep: int | None
    eos: int | None


def special_ids(special: Mapping[str, int]) -> Specials:
    """Choose among the special tokens of a file, by name.

    >>> special_ids({"<s>": 1, "</s>": 2})
    Specials(pad=2, unk=None, bos=1, sep=None, eos=2)
    """
    found: dict[str, int | None] = {}
    for key, ours in SPECIAL_NAMES.items():
        names = (ours, *KNOWN_NAMES[key])
        found[key] = next((special[name] for name in names if name in special), None)
    if found["pad"] is None:  # lengths say where padding begins, so any id will do
        found["pad"] = found["eos"] or 0
    return Specials(**found)  # type: ignore[arg-type]  # pad is an int by now
