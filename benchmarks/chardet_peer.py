"""The peer of the charset job: chardet's own trainer, taken unmodified from its source release.

The wheel on the package index holds no trainer, so the source archive is downloaded with pip and unpacked under
``.bench/``. ``PeerBook`` is a recipe book made at run time from the functions of that trainer, so samebits can
be asked to count exactly what the peer counts; nothing of the peer's tables is kept in this repository.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import importlib
import re
import subprocess
import sys
import tarfile
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from samebits.charset.recipes.recipe import PLACEHOLDER, Recipe

VERSION = "7.7.0"
ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".bench" / "charset"


@dataclass(frozen=True)
class Peer:
    """The modules of the trainer that are needed here."""

    train: Any
    substitutions: Any
    bidi: Any
    shape: Any

    def pairs(self) -> dict[str, list[tuple[str, str]]]:
        """Per language its (encoding, codec) pairs, as the trainer derives them from its registry."""
        out: dict[str, list[tuple[str, str]]] = {}
        for encoding, languages in sorted(self.train.ENCODING_LANG_MAP.items()):
            names = (encoding, encoding.replace("-", "").replace("_", "").lower())
            codec = next((name for name in names if self.train.verify_codec(name)), None)
            for language in languages if codec else ():
                out.setdefault(language, []).append((encoding, str(codec)))
        return out

    def build(self, language: str, encoding: str, codec: str, texts: list[str]) -> tuple[Any, ...]:
        """The trainer's own function on texts in memory."""
        cache = self.train._worker_text_cache
        if cache.get(language) is not texts:
            cache.clear()
            cache[language] = texts
        result: tuple[Any, ...] = self.train._build_one_model(language, encoding, codec, FOLDER, 10**9)
        return result


def unpack_source() -> Path:
    """Download and unpack the source release, once."""
    target = FOLDER / f"chardet-{VERSION}"
    if not target.is_dir():
        FOLDER.mkdir(parents=True, exist_ok=True)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-binary", ":all:", "--no-deps"]
        subprocess.run([*pip, "--dest", str(FOLDER), f"chardet=={VERSION}"], check=True)
        with tarfile.open(FOLDER / f"chardet-{VERSION}.tar.gz") as archive:
            archive.extractall(FOLDER, filter="data")
    return target


@functools.cache
def load_peer() -> Peer:
    """Import the trainer from the unpacked source release."""
    source = unpack_source()
    lend_icu()
    sys.path[:0] = [str(source / "scripts"), str(source / "src")]
    names = ("train", "substitutions", "bidi_order", "arabic_shape")
    return Peer(*(importlib.import_module(name) for name in names))


# --- ICU: the trainer finds it on macOS only; Linux has the same functions under versioned names ------------


@functools.cache
def find_icu() -> tuple[str, str] | None:
    """File name and symbol suffix of the system's ICU, or None."""
    name = ctypes.util.find_library("icuuc")
    version = re.search(r"\.so\.(\d+)", name or "")
    return (str(name), f"_{version.group(1)}") if version else None


def lend_icu() -> None:
    """Let the trainer's search for macOS' ICU find the system's one."""
    found = find_icu()
    if found is None or getattr(ctypes.util, "samebits_lent_icu", False):
        return
    name, suffix = found
    real_find, real_load = ctypes.util.find_library, ctypes.CDLL

    class Suffixed:
        def __init__(self) -> None:
            self.library = real_load(name)

        def __getattr__(self, symbol: str) -> Any:
            return getattr(self.library, symbol + suffix)

    def find(wanted: str) -> str | None:
        return "samebits-icu" if wanted == "icucore" else real_find(wanted)

    def load(path: Any = None, *args: Any, **kwargs: Any) -> Any:
        return Suffixed() if path == "samebits-icu" else real_load(path, *args, **kwargs)

    for module, attribute, value in (
        (ctypes.util, "find_library", find),
        (ctypes, "CDLL", load),
        (ctypes.util, "samebits_lent_icu", True),
    ):
        setattr(module, attribute, value)


@functools.cache
def icu_functions() -> dict[str, Any]:
    """ICU's bidi and shaping functions with their argument types."""
    found = find_icu()
    assert found is not None, "visual order and shaping need the system's ICU"
    library = ctypes.CDLL(found[0])
    pointer, error, i32 = ctypes.c_void_p, ctypes.POINTER(ctypes.c_int), ctypes.c_int32
    types: dict[str, tuple[Any, list[Any]]] = {
        "ubidi_open": (pointer, []),
        "ubidi_close": (None, [pointer]),
        "ubidi_setPara": (None, [pointer, ctypes.c_char_p, i32, ctypes.c_uint8, pointer, error]),
        "ubidi_writeReordered": (i32, [pointer, pointer, i32, ctypes.c_uint16, error]),
        "u_shapeArabic": (i32, [ctypes.c_char_p, i32, pointer, i32, ctypes.c_uint32, error]),
    }
    out = {}
    for name, (result, arguments) in types.items():
        function = getattr(library, name + found[1])
        function.restype, function.argtypes = result, arguments
        out[name] = function
    return out


def icu_visual(text: str) -> str:
    """Display order with a left-to-right base and mirrored brackets, one call per text."""
    if not text:
        return text
    icu = icu_functions()
    units = text.encode("utf-16-le")
    capacity = len(units) + 8
    target, error = ctypes.create_string_buffer(capacity * 2), ctypes.c_int(0)
    bidi = icu["ubidi_open"]()
    try:
        icu["ubidi_setPara"](bidi, units, len(units) // 2, 0, None, ctypes.byref(error))
        written = icu["ubidi_writeReordered"](bidi, target, capacity, 2, ctypes.byref(error))
    finally:
        icu["ubidi_close"](bidi)
    if error.value > 0:
        raise RuntimeError(f"ICU error {error.value}")
    return target.raw[: 2 * written].decode("utf-16-le")


def icu_shape(text: str) -> str:
    """Contextual Arabic letter forms, logical order in and out."""
    if not text:
        return text
    units = text.encode("utf-16-le")
    capacity = len(units) + 8
    target, error = ctypes.create_string_buffer(capacity * 2), ctypes.c_int(0)
    shape = icu_functions()["u_shapeArabic"]
    written = shape(units, len(units) // 2, target, capacity, 0x0008, ctypes.byref(error))
    if error.value > 0:
        raise RuntimeError(f"ICU error {error.value}")
    return target.raw[: 2 * written].decode("utf-16-le")


# --- the peer's habits as a recipe book ---------------------------------------------------------------------


def nfc(text: str) -> str:
    """Composed form, the step the peer runs before splitting Vietnamese letters."""
    return unicodedata.normalize("NFC", text)


class PeerBook:
    """Recipes that do what the peer's trainer does."""

    identity = f"chardet-{VERSION}"

    def __init__(self) -> None:
        self.peer = load_peer()

    def markup(self, language: str, texts: Sequence[str]) -> list[str]:
        """The peer's web page samples; it makes none for its pseudo-language."""
        train = self.peer.train
        if language == train._ART_PSEUDO_LANG:
            return []
        samples: list[str] = train.add_html_samples(list(texts), charset=PLACEHOLDER)
        return samples

    def recipe(self, language: str, encoding: str, codec: str) -> Recipe:
        """The steps of the peer's build function for one pair."""
        peer = self.peer
        vietnamese = encoding.upper() in ("WINDOWS-1258", "CP1258")
        to_latin = language == "sr" and peer.train._is_latin_target(codec)
        shaped = peer.shape.is_shaped_visual(encoding)
        dual = peer.bidi.is_dual_order(encoding)
        return Recipe(
            language=language,
            encoding=encoding,
            codec=codec,
            substitute=self._substitute(language, encoding, vietnamese),
            substitutes_all=vietnamese,
            collapse="[]{}|'",
            orders=("visual",) if shaped else ("logical", "visual") if dual else ("logical",),
            before=peer.substitutions.transliterate_serbian_to_latin if to_latin else None,
            after=nfc if vietnamese else None,
            shape=icu_shape if shaped else None,
            glyph=self._glyph(codec) if shaped else None,
            visual=icu_visual if shaped or dual else None,
        )

    def _substitute(self, language: str, encoding: str, vietnamese: bool) -> Callable[[str], str]:
        substitutions = self.peer.substitutions
        table: dict[str, str] = substitutions.get_substitutions(encoding, [language])
        split: dict[str, str] = substitutions._VIETNAMESE_DECOMPOSITION if vietnamese else {}

        def substitute(char: str) -> str:
            if char not in table and char not in split:
                return char
            result: str = substitutions.apply_substitutions(split.get(char, char), table)
            return result

        return substitute

    def _glyph(self, codec: str) -> Callable[[str], str]:
        """The peer's step after shaping works per character: run it with shaping switched off."""
        shape = self.peer.shape

        def glyph(char: str) -> str:
            real = shape._shape_fn
            shape._shape_fn = lambda text: text
            try:
                result: str = shape.shape_for_codec(char, codec)
            finally:
                shape._shape_fn = real
            return result

        return glyph
