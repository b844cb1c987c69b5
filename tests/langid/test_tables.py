"""The committed code point tables are what their script writes."""

from __future__ import annotations

import importlib.util
import unicodedata
import zlib
from pathlib import Path

import pytest

from samebits.core.codec import decode
from samebits.langid.tables import unicode_version


@pytest.mark.slow
def test_the_committed_tables_are_what_the_script_makes(repo: Path) -> None:
    if unicodedata.unidata_version != unicode_version():
        pytest.skip(f"this Python has Unicode {unicodedata.unidata_version}, the tables {unicode_version()}")
    spec = importlib.util.spec_from_file_location(
        "make_langid_tables", repo / "dev" / "make_langid_tables.py"
    )
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    made = script.build()
    committed = decode(zlib.decompress((repo / "src" / "samebits" / "langid" / "unicode.bin").read_bytes()))
    assert sorted(made) == sorted(committed)
    for name, array in made.items():
        assert array.dtype == committed[name].dtype
        assert array.tolist() == committed[name].tolist()
