"""Whatever holds rows in Python gives the same inputs; what cannot gets one sentence."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from samebits.data.inputs.columns import rows_of
from samebits.data.inputs.memory import as_inputs, texts_of
from samebits.errors import ConfigError

TEXT = ["Grüße", "two\nlines", None]
LANG = ["de", "en", "en"]
WANTED = {"text": "text_column", "lang": "lang_column"}
Row = namedtuple("Row", ["id", "lang", "text"])


def need(name: str) -> Any:
    return pytest.importorskip(name, reason=f"{name} is not installed: pip install {name}")


def columns() -> dict[str, Any]:
    return {"id": [1, 2, 3], "text": TEXT, "lang": LANG}


def rows() -> Iterator[dict[str, Any]]:
    for number in range(3):
        yield {"id": number, "text": TEXT[number], "lang": LANG[number]}


def dataset() -> Any:
    return need("datasets").Dataset.from_dict(columns())


SHAPES: dict[str, Callable[[], Any]] = {
    "dict of lists": columns,
    "dict of a generator": lambda: {"text": iter(TEXT), "lang": LANG},
    "list of dicts": lambda: list(rows()),
    "generator of dicts": rows,
    "list of tuples": lambda: list(zip(TEXT, LANG, strict=True)),
    "generator of tuples": lambda: zip(TEXT, LANG, strict=True),
    "named tuples": lambda: [Row(1, lang, text) for text, lang in zip(TEXT, LANG, strict=True)],
    "pandas": lambda: need("pandas").DataFrame(columns()),
    "pandas with NaN": lambda: need("pandas").DataFrame({**columns(), "text": [*TEXT[:2], float("nan")]}),
    "pandas with NA": lambda: need("pandas").DataFrame(columns()).convert_dtypes(),
    "pandas with categories": lambda: need("pandas").DataFrame(columns()).astype({"lang": "category"}),
    "pandas on Arrow": lambda: need("pandas").DataFrame(columns()).convert_dtypes(dtype_backend="pyarrow"),
    "polars": lambda: need("polars").DataFrame(columns()),
    "polars, lazily": lambda: need("polars").DataFrame(columns()).lazy(),
    "Arrow table": lambda: need("pyarrow").table(columns()),
    "Arrow batch": lambda: need("pyarrow").RecordBatch.from_pydict(columns()),
    "Arrow reader": lambda: need("pyarrow").table(columns()).to_reader(),
    "data set": dataset,
    "data set that streams": lambda: dataset().to_iterable_dataset(),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_gives_the_same_bytes(shape: str) -> None:
    with as_inputs(SHAPES[shape](), WANTED) as (path,):
        found = Path(path).read_text(encoding="utf-8")
    assert found == (
        '{"text":"Grüße","lang":"de"}\n{"text":"two\\nlines","lang":"en"}\n{"text":null,"lang":"en"}\n'
    )
    assert not Path(path).exists()


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("a.txt", ("a.txt",)),
        (Path("a.txt"), ("a.txt",)),
        (["a.txt", Path("b.txt")], ("a.txt", "b.txt")),
        ((Path(name) for name in "ab"), ("a", "b")),
        ("/", ("/",)),
        ("my book.txt", None),
    ],
)
def test_paths_stay_paths(data: Any, expected: tuple[str, ...] | None, tmp_path: Path) -> None:
    if expected is None:
        (tmp_path / data).touch()
        data = str(tmp_path / data)
        expected = (data,)
    with as_inputs(data, WANTED) as paths:
        assert paths == expected


def series(library: str) -> Any:
    if library == "numpy":
        return np.array(["a", "b"])
    if library == "pyarrow":
        return need("pyarrow").chunked_array([["a"], ["b"]])
    return need(library).Series(["a", "b"])


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "numpy"])
def test_a_column_alone_is_enough_where_one_is_wanted(library: str) -> None:
    with as_inputs(series(library), {"text": "column"}) as (path,):
        assert Path(path).read_text() == '{"text":"a"}\n{"text":"b"}\n'
    assert list(texts_of(series(library))) == ["a", "b"]
    with (
        pytest.raises(ConfigError, match="has no columns 'text', 'lang'"),
        as_inputs(series(library), WANTED),
    ):
        pass


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (lambda: {"txet": TEXT, "lang": LANG}, "did you mean text_column='txet'"),
        (lambda: {"comment": TEXT, "lang": LANG}, "has no column 'text'; it has 'comment', 'lang'"),
        (lambda: {"text": TEXT, "lang": ["en"]}, "different length: 'text' 3, 'lang' 1"),
        (lambda: {"text": "one text", "lang": LANG}, "column 'text' is a str"),
        (lambda: [{"text": "a", "lang": "b"}, {"text": "a"}], "row 1 has no column 'lang'"),
        (lambda: [("a", "en"), ("b",)], "row 1 has 1 value, not 2"),
        (lambda: [("a", "en"), {"text": "b"}], "row 1 is a dict, and the first one a tuple"),
        (lambda: ["the first text", "and a second"], "a string is a path here"),
        (lambda: "the only text there is", "pass texts as columns"),
        (lambda: [1, 2], "row 0 is an int, not a dict or a tuple"),
        (lambda: 3, "an int is not a table of rows"),
        (list, "without rows"),
        (lambda: iter(()), "without rows"),
        (lambda: {"text": [b"bytes"], "lang": ["en"]}, "is a bytes, not text"),
        (lambda: {"text": [["a"]], "lang": ["en"]}, "is a list, not text"),
        (lambda: need("pandas").DataFrame({"comment": TEXT}), "a pandas DataFrame has no column 'text'"),
        (lambda: need("polars").DataFrame({"comment": TEXT}), "a polars DataFrame has no column 'text'"),
        (lambda: need("pyarrow").table({"comment": TEXT}), "a pyarrow Table has no column 'text'"),
        (
            lambda: need("datasets").Dataset.from_dict({"comment": TEXT}),
            "a datasets Dataset has no column 'text'",
        ),
        (lambda: need("datasets").DatasetDict({"train": dataset()}), r"pass one of them: data\['train'\]"),
        (lambda: need("pandas").DataFrame([["a", "b"]], columns=["lang", "lang"]), "no column 'text'"),
        (
            lambda: need("pandas").DataFrame([["a", "b", "c"]], columns=["text", "lang", "lang"]),
            "has 2 columns 'lang'",
        ),
        (lambda: np.zeros((2, 2)), "has no columns"),
    ],
)
def test_wrong_shapes_get_one_clear_sentence(data: Callable[[], Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words), as_inputs(data(), WANTED):
        pass


def test_lone_surrogates_are_replaced() -> None:
    with as_inputs({"text": ["a\udc80"]}, {"text": "column"}) as (path,):
        assert Path(path).read_text() == '{"text":"a?"}\n'


@pytest.mark.parametrize("data", ["one text", b"bytes", 3])
def test_one_text_is_no_list_of_texts(data: Any) -> None:
    with pytest.raises(ConfigError, match="is not a list of texts"):
        list(texts_of(data))


def test_texts_of_a_table_need_a_column() -> None:
    frame = need("pandas").DataFrame({"comment": ["a", None]})
    with pytest.raises(ConfigError, match="has columns: 'comment'") as caught:
        list(texts_of(frame))
    assert "data['comment']" in caught.value.hint
    assert list(texts_of(frame, "comment")) == ["a", ""]


@pytest.mark.parametrize("shape", ["list of dicts", "pandas", "polars", "Arrow table", "data set"])
def test_rows_of_tables_are_dicts(shape: str) -> None:
    found = rows_of(SHAPES[shape]())
    assert [row["lang"] for row in found] == LANG
    assert len(found) == 3
