"""Parts have one encoding, and decoding it gives the same value back."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samebits.core.codec import MAGIC, decode, encode, named
from samebits.core.digest import digest_of

leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(max_size=20)
)
plain = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=4) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(plain)
def test_every_plain_value_survives_a_round_trip(value: Any) -> None:
    back = decode(encode(value))
    assert back == value
    assert encode(back) == encode(value)


@given(st.dictionaries(st.text(), st.integers(), max_size=6))
def test_the_order_of_dict_keys_does_not_reach_the_digest(value: dict[str, int]) -> None:
    assert digest_of(dict(reversed(value.items()))) == digest_of(value)


@given(st.dictionaries(st.text(), st.integers(), max_size=6))
def test_a_dict_keeps_its_order_so_that_a_fold_sees_what_the_task_made(value: dict[str, int]) -> None:
    assert list(decode(encode(value))) == list(value)


@pytest.mark.parametrize("dtype", ["<i8", ">i4", "u1", "f4", "f8", "?", "S5"])
def test_arrays_keep_type_and_shape_and_come_back_read_only(dtype: str) -> None:
    array = np.arange(6).reshape(2, 3).astype(dtype)
    back = decode(encode({"x": array}))["x"]
    assert back.shape == (2, 3)
    assert back.dtype == array.dtype.newbyteorder("<")
    assert np.array_equal(back, array)
    assert not back.flags.writeable


def test_arrays_lie_where_their_type_may_lie_whatever_comes_before_them() -> None:
    for length in range(16):
        _, back = decode(encode([b"x" * length, np.arange(5, dtype=np.int64)]))
        assert back.flags.aligned
        assert not back.flags.writeable
        assert back.tolist() == [0, 1, 2, 3, 4]


def test_an_array_and_its_transposed_copy_have_one_encoding() -> None:
    array = np.arange(6).reshape(2, 3)
    assert encode(np.asfortranarray(array)) == encode(array)


def test_special_floats_are_kept_to_the_bit() -> None:
    back = decode(encode([math.inf, -math.inf, -0.0, 5e-324]))
    assert back[:2] == [math.inf, -math.inf]
    assert math.copysign(1.0, back[2]) == -1.0
    assert back[3] == 5e-324
    assert math.isnan(decode(encode(math.nan)))


@pytest.mark.parametrize(
    "value", [{1: 2}, {1, 2}, object(), np.array([object()]), np.float64(1.0), [b"x", lambda: 1]]
)
def test_a_value_that_is_not_plain_data_is_refused_by_name(value: Any) -> None:
    with pytest.raises(TypeError, match="part"):
        encode(value)


def test_a_lone_surrogate_survives() -> None:
    assert decode(encode("\ud800")) == "\ud800"


@given(st.binary(max_size=40))
def test_foreign_bytes_are_refused_and_never_crash(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"part|Expecting|Extra|decode|Unterminated|Invalid"):
        decode(MAGIC + data)


@given(st.integers(min_value=0, max_value=60))
def test_a_cut_encoding_is_refused(cut: int) -> None:
    whole = encode({"a": np.arange(3), "b": b"xyz"})
    with pytest.raises(ValueError, match="part"):
        decode(whole[: min(cut, len(whole) - 1)])


def test_an_array_that_claims_more_than_it_has_is_refused_before_allocating() -> None:
    head = b'{"a":["<i8",[1000000000000]]}'
    with pytest.raises(ValueError, match="cut short"):
        decode(MAGIC + len(head).to_bytes(8, "little") + head)


class Words(NamedTuple):
    keys: bytes
    counts: list[int]


def test_a_named_part_has_the_bytes_of_a_dict_and_gets_its_names_back() -> None:
    part = Words(b"ab", [1, 2])
    assert encode(part) == encode({"keys": b"ab", "counts": [1, 2]})
    assert named(decode(encode(part)), Words) == part
    assert named(part, Words) is part


@pytest.mark.parametrize("other", [{"keys": b""}, {"counts": [], "keys": b""}, [b"", []], None])
def test_a_part_with_other_fields_is_refused(other: Any) -> None:
    with pytest.raises(ValueError, match="Words has keys, counts"):
        named(other, Words)
