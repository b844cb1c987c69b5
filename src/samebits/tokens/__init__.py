"""Any data set to memory-mapped tokens: byte-identical for any number of workers, resumable, read by others.

from samebits import tokens

store = tokens.build("corpus.jsonl", output="corpus-tokens", tokenizer="char", val_ratio=0.01)
tokens.TokenStore.open("corpus-tokens", "val")

``encoders`` (text to ids), ``training`` (vocabularies), ``layouts`` (the files of a store), ``readers`` (a store for
PyTorch, Arrow, people). Reading a store needs none of this: ``samebits.data.token_store``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from samebits.lazy import lazy_names

if TYPE_CHECKING:
    from samebits.data.token_store import TokenStore
    from samebits.tokens.config import TokensConfig
    from samebits.tokens.functions import build, train_tokenizer
    from samebits.tokens.layouts.convert import ConvertConfig
    from samebits.tokens.training.tokenizer_job import TokenizerConfig

__all__ = [
    "ConvertConfig",
    "TokenStore",
    "TokenizerConfig",
    "TokensConfig",
    "build",
    "train_tokenizer",
]

_HOMES = {
    "ConvertConfig": "samebits.tokens.layouts.convert",
    "TokenStore": "samebits.data.token_store",
    "TokenizerConfig": "samebits.tokens.training.tokenizer_job",
    "TokensConfig": "samebits.tokens.config",
    "build": "samebits.tokens.functions",
    "train_tokenizer": "samebits.tokens.functions",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
