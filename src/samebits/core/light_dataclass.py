"""``dataclass`` that makes a class in a fifth of the time: a command has fifty of them, and 25 ms of its start went there.

The standard one writes six functions of each class as text and compiles them, also where no object is ever made. Here the first object
makes ``__init__``, and what compares, prints, freezes and pickles objects is written once for all classes. For type checkers it is the
standard one, and ``replace``, ``fields`` and ``asdict`` of ``dataclasses`` take these objects.

Only what this package uses most is known here; a class with more (fields of a base, ``default_factory``, …) is left to ``dataclasses``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import Field, dataclass
else:

    def dataclass(
        cls: type | None = None, /, *, frozen: bool = False, slots: bool = False, kw_only: bool = False
    ) -> Any:
        """Give a class a constructor of its fields; as ``dataclasses.dataclass``."""
        if cls is None:
            return lambda found: dataclass(found, frozen=frozen, slots=slots, kw_only=kw_only)
        own = dict(cls.__dict__)
        kinds = own.get("__annotations__", {})
        names = tuple(name for name, kind in kinds.items() if "ClassVar" not in str(kind))
        given = {name: own[name] for name in names if name in own}
        if not _is_plain(cls, given):
            import dataclasses

            return dataclasses.dataclass(cls, frozen=frozen, slots=slots, kw_only=kw_only)
        shape = _Shape(names, given, frozen, kw_only, hasattr(cls, "__post_init__"))
        added = {"__match_args__": () if kw_only else names, "__dataclass_fields__": _Fields(shape)}
        added |= {"_names": names}
        added |= _METHODS | (_FROZEN if frozen else {"__hash__": None}) | (_PICKLED if slots else {})
        added = {name: value for name, value in added.items() if own.get(name) is None}
        if slots:
            own = {name: own[name] for name in own if name not in ("__dict__", "__weakref__", *names)}
            own |= {"__qualname__": cls.__qualname__, "__slots__": names}
            cls = type(cls)(cls.__name__, cls.__bases__, {**own, **added})
        else:
            for name, value in {**shape.defaults, **added}.items():
                setattr(cls, name, value)
        cls.__init__ = _first_init(cls, shape)
        return cls


def _is_plain(cls: type, given: dict[str, Any]) -> bool:
    """Whether a class inherits no fields, and each of them has no default or a plain one, which objects may share."""
    inherits = any(hasattr(base, "__dataclass_fields__") for base in cls.__bases__)
    return not inherits and "__slots__" not in cls.__dict__ and all(map(_is_plain_default, given.values()))


def _is_plain_default(value: Any) -> bool:
    if not _is_field(value):
        return type(value).__hash__ is not None
    from dataclasses import MISSING

    usual = value.init and value.repr and value.compare and value.hash is None and value.kw_only is MISSING
    return usual and value.default is not MISSING and type(value.default).__hash__ is not None


def _is_field(value: Any) -> bool:
    return type(value).__name__ == "Field" and type(value).__module__ == "dataclasses"


class _Shape(NamedTuple):
    names: tuple[str, ...]
    given: dict[str, Any]
    frozen: bool
    kw_only: bool
    post_init: bool

    @property
    def defaults(self) -> dict[str, Any]:
        """The default of each field that has one."""
        return {name: value.default if _is_field(value) else value for name, value in self.given.items()}


class _Fields:
    """``__dataclass_fields__``, made when somebody asks."""

    def __init__(self, shape: _Shape) -> None:
        self._shape = shape

    def __get__(self, instance: object | None, owner: type) -> dict[str, Field[Any]]:
        import dataclasses

        shape, kinds = self._shape, owner.__annotations__
        fields = [(name, kinds[name], shape.given.get(name, dataclasses.field())) for name in shape.names]
        # only for its fields, which the owner has from now on; without a docstring one would be made of its signature
        made = dataclasses.make_dataclass(
            owner.__name__,
            fields,
            namespace={"__doc__": "Fields."},
            init=False,
            repr=False,
            eq=False,
            kw_only=shape.kw_only,
        )
        found = {field.name: field for field in dataclasses.fields(made)}
        owner.__dataclass_fields__ = found  # type: ignore[attr-defined]
        return found


def _first_init(cls: Any, shape: _Shape) -> Any:
    """Return a constructor that puts the real one in its own place when it is first called."""

    def init(self: Any, *values: Any, **named: Any) -> None:
        cls.__init__ = _written_init(shape)
        cls.__init__(self, *values, **named)

    return init


def _written_init(shape: _Shape) -> Any:
    names, defaults = shape.names, shape.defaults
    takes = ["self"] + ["*"] * (shape.kw_only and bool(names))
    takes += [f"{name}=_defaults[{name!r}]" if name in defaults else name for name in names]
    sets = [f"_set(self, {name!r}, {name})" if shape.frozen else f"self.{name} = {name}" for name in names]
    sets += ["self.__post_init__()"] * shape.post_init
    scope: dict[str, Any] = {"_defaults": defaults, "_set": object.__setattr__}
    # the names of fields are all that is not written here, as in ``dataclasses``
    exec(f"def __init__({', '.join(takes)}):\n " + "\n ".join(sets or ["pass"]), scope)  # noqa: S102
    return scope["__init__"]


def _values(self: Any) -> tuple[Any, ...]:
    return tuple(getattr(self, name) for name in self._names)


def _eq(self: Any, other: object) -> Any:
    return _values(self) == _values(other) if other.__class__ is self.__class__ else NotImplemented


def _repr(self: Any) -> str:
    shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._names)
    return f"{type(self).__qualname__}({shown})"


def _hash(self: Any) -> int:
    return hash(_values(self))


def _refuse(self: Any, name: str, *_: Any) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot change field {name!r}")


def _get_state(self: Any) -> list[Any]:
    return list(_values(self))


def _set_state(self: Any, state: list[Any]) -> None:
    for name, value in zip(self._names, state, strict=True):
        object.__setattr__(self, name, value)


_METHODS = {"__eq__": _eq, "__repr__": _repr}
_FROZEN = {"__hash__": _hash, "__setattr__": _refuse, "__delattr__": _refuse}
_PICKLED = {"__getstate__": _get_state, "__setstate__": _set_state}
