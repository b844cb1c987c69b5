"""Settings from one definition: a frozen dataclass field is a flag, a variable, a TOML key and a line of documentation.

A job's ``Config`` holds everything that may change the result. It is digested and saved in the artifact, except fields
marked ``location=True``: where the input lies is an accident; what it contains is in the input digest.

    @dataclass(frozen=True, slots=True, kw_only=True)
    class CountConfig:
        inputs: tuple[str, ...] = option((), help="files to count", location=True)
        n: int = option(1, help="length of the n-grams")

Values are looked up in this order: flag, environment variable, TOML file, default.
"""

from __future__ import annotations

import dataclasses
import os
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, Union

from samebits.core.digest import digest_of
from samebits.core.regular_file import read_regular
from samebits.core.renamed import meant
from samebits.errors import ConfigError, InputError, did_you_mean

__all__ = [
    "Setting",
    "config_digest",
    "environment_layer",
    "from_saved",
    "make_config",
    "option",
    "read_toml",
    "saved_fields",
    "settings_of",
    "with_listed_paths",
]

T = TypeVar("T")
METADATA_KEY = "samebits"
TRUE_WORDS = ("1", "true", "yes", "on")
FALSE_WORDS = ("0", "false", "no", "off")
_SETTINGS: dict[type, tuple[Setting, ...]] = {}  # by class; see settings_of


class Setting(NamedTuple):
    """One field of a Config or of RunOptions, as flags, variables and documentation need it."""

    name: str
    kind: type
    default: Any
    help: str
    short: str
    choices: tuple[str, ...]
    location: bool
    how: bool
    override: bool
    optional: bool
    many: bool
    metavar: str
    omit_default: bool
    saved_as: str

    @property
    def flag(self) -> str:
        """Long flag, e.g. ``--min-count``."""
        return "--" + self.name.replace("_", "-")


def option(
    default: Any,
    *,
    help: str,  # noqa: A002 - the word click and argparse use
    short: str = "",
    location: bool = False,
    how: bool = False,
    override: bool = False,
    metavar: str = "",
    omit_default: bool = False,
    saved_as: str = "",
) -> Any:
    """Define a setting as a dataclass field.

    Args:
        default: Its value when nobody sets it.
        help: One line, lower case, no full stop; shown by ``--help`` and in the reference.
        short: Short flag, e.g. ``"-w"``.
        location: True for paths: never digested, never in the artifact.
        how: True for what never changes the result, e.g. a batch size; never digested, never in the artifact.
        override: True for what lets a run go on although its bits may change, e.g. on another CPU; never digested, but the
            result says that it was used. It stands in a help section of its own.
        metavar: Placeholder in the help, e.g. ``"N|auto"``.
        omit_default: True for a setting that came later: its default is not saved, so earlier digests stay the same.
        saved_as: Its name in artifacts and digests, where that was fixed before the setting got a better one.
    """
    extra = {
        "help": help,
        "short": short,
        "location": location,
        "how": how,
        "override": override,
        "metavar": metavar,
        "omit_default": omit_default,
        "saved_as": saved_as,
    }
    return dataclasses.field(default=default, metadata={METADATA_KEY: extra})


def settings_of(cls: type) -> tuple[Setting, ...]:
    """Return the settings of a dataclass in the order of definition.

    Reading the annotations means compiling each of them, and a command asks six times.
    """
    if cls not in _SETTINGS:
        hints = typing.get_type_hints(cls)
        _SETTINGS[cls] = tuple(_setting(field, hints[field.name]) for field in dataclasses.fields(cls))
    return _SETTINGS[cls]


def _setting(field: dataclasses.Field[Any], hint: Any) -> Setting:
    extra = field.metadata[METADATA_KEY]
    optional, many, choices = False, False, ()
    if typing.get_origin(hint) in (Union, types.UnionType):
        kinds = [kind for kind in typing.get_args(hint) if kind is not type(None)]
        optional, hint = (
            len(kinds) < len(typing.get_args(hint)),
            kinds[0],
        )  # of ``str | int`` text is what is kept
    if typing.get_origin(hint) is tuple:
        many, hint = True, typing.get_args(hint)[0]
    if typing.get_origin(hint) is Literal:
        choices, hint = typing.get_args(hint), str
    return Setting(field.name, hint, field.default, choices=choices, optional=optional, many=many, **extra)


def make_config(cls: type[T], *layers: Mapping[str, Any], where: str = "") -> T:
    """Build a Config from layers of values; the first layer that has a name wins.

    Raises:
        ConfigError: for an unknown name ("did you mean"), a wrong type or a value that is not a choice.
    """
    settings = {setting.name: setting for setting in settings_of(cls)}
    values: dict[str, Any] = {}
    for layer in reversed(layers):
        for key, value in layer.items():
            name = key.replace("-", "_")
            if name not in settings:
                raise ConfigError(f"unknown setting {key!r}{where}", hint=meant(name, settings))
            values[name] = _coerce(settings[name], value)
    return cls(**values)


def with_listed_paths(config: T) -> T:
    """Return a Config made in Python with its paths as jobs want them: ``inputs="a.txt"`` is one path, a Path is text.

    A string is a sequence too, of its characters: taken for a list of paths, ``"/data"`` would begin at the root.
    """
    changed: dict[str, Any] = {}
    for setting in settings_of(type(config)):
        value = getattr(config, setting.name)
        if setting.many and isinstance(value, str | os.PathLike):
            changed[setting.name] = (os.fspath(value),)
        elif setting.many and not (
            type(value) is tuple and all(type(item) is setting.kind for item in value)
        ):
            changed[setting.name] = tuple(_coerce_one(setting, item) for item in value)
        elif setting.kind is str and isinstance(value, os.PathLike):
            changed[setting.name] = os.fspath(value)
    return dataclasses.replace(config, **changed) if changed else config  # type: ignore[type-var]  # a dataclass


def _coerce(setting: Setting, value: Any) -> Any:
    if value is None and setting.optional:
        return None
    if setting.many:
        items = value.split(",") if isinstance(value, str) else value
        items = [items] if isinstance(items, os.PathLike) else items
        if not isinstance(items, list | tuple):
            raise ConfigError(f"{setting.flag} takes a list, not {value!r}")
        return tuple(_coerce_one(setting, item) for item in items)
    return _coerce_one(setting, value)


def _coerce_one(setting: Setting, value: Any) -> Any:
    if setting.choices and value not in setting.choices:
        raise ConfigError(f"{setting.flag} is {value!r}", hint=did_you_mean(str(value), setting.choices))
    if setting.kind is bool:
        return _to_bool(setting, value)
    if setting.kind is float and type(value) is int:
        return float(value)
    if type(value) is setting.kind:
        return value
    if setting.kind is str and isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, str) or (setting.kind is str and type(value) is int):
        try:
            return setting.kind(value)
        except ValueError:
            pass
    raise ConfigError(f"{setting.flag} takes {_kind_name(setting.kind)}, not {value!r}")


def _to_bool(setting: Setting, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if str(value).lower() in TRUE_WORDS:
        return True
    if str(value).lower() in FALSE_WORDS:
        return False
    raise ConfigError(f"{setting.flag} takes true or false, not {value!r}")


def _kind_name(kind: type) -> str:
    return {int: "a whole number", float: "a number", str: "text"}[kind]


def environment_layer(cls: type, prefix: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the settings given as variables, e.g. ``SAMEBITS_COUNT_N=2`` with prefix ``SAMEBITS_COUNT_``."""
    names = {prefix + setting.name.upper(): setting.name for setting in settings_of(cls)}
    return {name: environ[variable] for variable, name in names.items() if variable in environ}


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file of settings.

    Raises:
        InputError: if it is missing or not TOML.
    """
    import tomllib

    try:
        return tomllib.loads(read_regular(path).decode())
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(
            "no such file", path=str(path), hint="give the path of a TOML file to --config"
        ) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"not valid TOML: {error}", path=str(path)) from None


def saved_fields(config: Any) -> dict[str, Any]:
    """Return what is digested and saved: every field that is no location and may change the result, tuples as lists."""
    kept = [
        setting
        for setting in settings_of(type(config))
        if not (setting.location or setting.how or setting.override)
    ]
    values = {setting: getattr(config, setting.name) for setting in kept}
    return {
        setting.saved_as or setting.name: list(value) if isinstance(value, tuple) else value
        for setting, value in values.items()
        if not (setting.omit_default and value == setting.default)
    }


def from_saved(cls: type, saved: Mapping[str, Any]) -> dict[str, Any]:
    """Return saved fields under the names that their settings have today."""
    names = {setting.saved_as: setting.name for setting in settings_of(cls) if setting.saved_as}
    return {names.get(name, name): value for name, value in saved.items()}


def config_digest(config: Any) -> str:
    """Return the digest of everything in a Config that may change the result."""
    return digest_of(saved_fields(config))
