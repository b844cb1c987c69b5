"""How text of one language becomes bytes of one encoding: the interface.

Steps, in this order; each is optional except the last two::

    before(text)            context dependent, e.g. transliteration
    collapse                equal neighbours that are whitespace or in `collapse` shrink to one
    after(text)             e.g. Unicode normalisation
    substitute(char)        per character, what to write instead
    shape(text), glyph(char)  contextual letter forms, then per glyph what to write instead
    drop                    characters the codec cannot write
    collapse                equal neighbours that are whitespace shrink to one
    visual(text)            display order, when `orders` asks for it
    encode                  a text shorter than `min_bytes` is left out

A recipe is plain data and functions, so a trainer with other habits can be imitated without subclassing. A
*book* hands out the recipe of each pair and makes extra samples; `load_book` finds one by name.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from samebits.errors import ConfigError

__all__ = ["PLACEHOLDER", "Order", "Recipe", "RecipeBook", "TextStep", "load_book"]

#: Stands for the encoding's own name in markup samples; a noncharacter, removed from input text.
PLACEHOLDER = "\ufdd1"

Order = Literal["logical", "visual"]
TextStep = Callable[[str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Everything that happens to a text on its way into one encoding.

    Attributes:
        language: Language code, e.g. ``"de"``.
        encoding: Name under which the model is stored.
        codec: Python codec that writes it.
        substitute: What to write for one character; what the codec cannot write of it is dropped later.
        substitutes_all: Whether `substitute` also replaces characters that the codec can write; asking it only
            about the others is faster.
        collapse: Characters besides whitespace whose repeats shrink to one.
        min_bytes: Shorter encoded texts are left out.
        orders: Storage orders; each makes its own sample.
        before: Context-dependent step on the raw text.
        after: Step on the collapsed text.
        shape: Contextual shaping of the substituted text.
        glyph: What to write for one shaped character.
        visual: Logical to display order; needed when `orders` names it.
    """

    language: str
    encoding: str
    codec: str
    substitute: Callable[[str], str]
    substitutes_all: bool = False
    collapse: str = ""
    min_bytes: int = 11
    orders: tuple[Order, ...] = ("logical",)
    before: TextStep | None = None
    after: TextStep | None = None
    shape: TextStep | None = None
    glyph: Callable[[str], str] | None = None
    visual: TextStep | None = None


class RecipeBook(Protocol):
    """Recipes of all pairs, and the samples that are added to a language's text."""

    @property
    def identity(self) -> str:
        """Name and version; part of the plan's digest, so change it when the recipes change."""

    def recipe(self, language: str, encoding: str, codec: str) -> Recipe:
        """The recipe of one pair."""

    def markup(self, language: str, texts: Sequence[str]) -> list[str]:
        """Extra samples made from a language's first texts; PLACEHOLDER stands for the encoding's name."""


def load_book(name: str) -> RecipeBook:
    """Find a book: ``"default"``, or ``"package.module:factory"`` for one's own.

    Raises:
        ConfigError: The name leads nowhere.
    """
    if name == "default":
        from samebits.charset.recipes.default_book import DefaultBook

        return DefaultBook()
    module_name, colon, factory = name.partition(":")
    if not colon:
        raise ConfigError(
            f"no recipe book named {name!r}", hint="use 'default', or 'package.module:factory' for your own"
        )
    try:
        book: RecipeBook = getattr(importlib.import_module(module_name), factory)()
    except (ImportError, AttributeError) as error:
        raise ConfigError(
            f"the recipe book {name!r} cannot be loaded: {error}",
            hint="the part before ':' is a module on the import path, the part after it a function without arguments",
        ) from error
    return book
