"""A light dataclass behaves as the standard one."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from samebits.core.light_dataclass import dataclass as light

FLAGS = [
    {"frozen": frozen, "slots": slots, "kw_only": kw_only}
    for frozen in (False, True)
    for slots in (False, True)
    for kw_only in (False, True)
]


def made(decorator: Callable[..., Any], **flags: bool) -> Any:
    class Point:
        """A point."""

        kind: ClassVar[str] = "point"
        x: int
        y: str = "a"
        z: int = dataclasses.field(default=3, metadata={"help": "a number"})

        def __post_init__(self) -> None:
            assert self.z < 10

        def both(self) -> tuple[int, str]:
            return self.x, self.y

    return decorator(**flags)(Point)


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("flags", FLAGS)
def test_everything_one_can_do_with_it_gives_the_same(flags: dict[str, bool]) -> None:
    def seen(cls: Any) -> list[Any]:
        one = cls(x=1)
        return [
            outcome(lambda: repr(cls(1, "b"))),
            outcome(lambda: cls(x=1, w=2)),
            outcome(lambda: cls(x=1, z=20)),
            outcome(cls),
            repr(one),
            one.both(),
            one == cls(x=1, y="a"),
            one == cls(x=2),
            one == (1, "a"),
            outcome(lambda: hash(one) == hash(cls(x=1))),
            outcome(lambda: setattr(one, "x", 5)),
            outcome(lambda: delattr(one, "x")),
            outcome(lambda: setattr(one, "other", 5)) is None,  # the standard one raises TypeError with slots
            repr(copy.copy(cls(x=3))),
            repr(copy.deepcopy(cls(x=3))),
            repr(dataclasses.replace(cls(x=3), y="c")),
            dataclasses.asdict(cls(x=3)),
            [
                (field.name, field.type, field.default, dict(field.metadata))
                for field in dataclasses.fields(cls)
            ],
            dataclasses.is_dataclass(cls),
            cls.__match_args__,
            cls.__doc__,
            cls.__qualname__,
            hasattr(one, "__dict__"),
        ]

    assert seen(made(light, **flags)) == seen(made(dataclasses.dataclass, **flags))


@light(frozen=True, slots=True)
class Kept:
    """Can be found by its name, so it can be pickled."""

    number: int
    words: tuple[str, ...] = ()


def test_an_object_is_pickled_and_is_the_first_of_its_class_elsewhere() -> None:
    data = pickle.dumps(Kept(1, ("a",)))
    assert pickle.loads(data) == Kept(1, ("a",))
    assert repr(pickle.loads(data)) == "Kept(number=1, words=('a',))"


def test_what_is_not_known_here_is_left_to_the_standard_one() -> None:
    @light(frozen=True)
    class Base:
        x: list[int] = dataclasses.field(default_factory=list)

    @light(frozen=True)
    class Below(Base):
        y: int = 1

        def __post_init__(self) -> None:
            self.x.append(self.y)

    assert Below(y=5).x == [5]
    assert Base().x is not Base().x
    with pytest.raises(ValueError, match="mutable default"):

        @light
        class Shared:
            x: list[int] = []  # noqa: RUF012


def test_methods_of_the_class_stay() -> None:
    @light(frozen=True, slots=True)
    class Same:
        x: int

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 7

        def __repr__(self) -> str:
            return "same"

    assert (Same(1) == Same(2), hash(Same(1)), repr(Same(1))) == (True, 7, "same")
