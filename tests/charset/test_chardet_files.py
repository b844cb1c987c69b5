from __future__ import annotations

import contextlib
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from benchmarks.chardet_peer import FOLDER, VERSION
from hypothesis import given, settings
from hypothesis import strategies as st

from samebits.charset.detection.model import sample_model
from samebits.charset.exchange.chardet_files import (
    FILES,
    install_models,
    read_models,
    weights_of,
    weights_of_model,
    write_models,
)
from samebits.errors import ArtifactCorrupt, InputError


def test_weights_are_relative_to_the_largest_count_and_keep_common_high_pairs() -> None:
    counts = np.zeros(65536, np.int64)
    counts[0x2020], counts[0x6120], counts[0xE420], counts[0x61E4], counts[0x6161] = (
        1_000_000,
        1_000,
        300,
        299,
        3_000,
    )
    weights = weights_of(counts)
    assert [int(weights[i]) for i in (0x2020, 0x6120, 0xE420, 0x61E4, 0x6161)] == [255, 0, 1, 0, 1]
    assert weights_of(counts, min_weight=2)[0x6161] == 0
    assert not weights_of(np.zeros(65536, np.int64)).any()


def test_a_set_is_read_back_and_written_again_with_the_same_bytes(tmp_path: Path) -> None:
    models, left_out = weights_of_model(sample_model())
    assert left_out == ["en/cp037", "nl/cp037", "pt/cp037", "ro/mac-romanian"]
    write_models(models, tmp_path / "a")
    again = read_models(tmp_path / "a" / "models.bin")
    assert list(again) == sorted(models)
    assert all(np.array_equal(again[name], models[name]) for name in models)
    write_models(again, tmp_path / "b")
    for name in FILES:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


SHIPPED = FOLDER / f"chardet-{VERSION}" / "src" / "chardet" / "models"


@pytest.mark.skipif(
    not SHIPPED.is_dir(), reason="python -m benchmarks.charset_vs_chardet --quick fetches the peer's source"
)
def test_the_shipped_models_written_back_are_the_same_four_files(tmp_path: Path) -> None:
    write_models(read_models(SHIPPED / "models.bin"), tmp_path)
    for name in FILES:
        assert (tmp_path / name).read_bytes() == (SHIPPED / name).read_bytes()


@pytest.mark.slow
@pytest.mark.skipif(
    not SHIPPED.is_dir(), reason="python -m benchmarks.charset_vs_chardet --quick fetches the peer's source"
)
def test_an_installed_chardet_loads_our_models_and_detects(tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(tmp_path / "peer")]
    subprocess.run([*pip, f"chardet=={VERSION}"], check=True, capture_output=True)
    models, _ = weights_of_model(sample_model())
    write_models(models, tmp_path / "models")
    answers = install_models(tmp_path / "models", tmp_path / "peer", models)
    assert answers == ["Windows-1252", "Windows-1251", "ISO-8859-2", "CP932", "Windows-1253"]


def test_a_folder_without_chardet_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no chardet"):
        install_models(tmp_path, tmp_path, {"de/cp1252": np.zeros(65536, np.uint8)})


def header(number: int, *names: bytes) -> bytes:
    return (
        b"CMD2"
        + struct.pack(">I", number)
        + b"".join(struct.pack(">I", len(n)) + n + bytes(8) for n in names)
    )


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "does not start with CMD2"),
        (b"CMD1" + bytes(8), "does not start with CMD2"),
        (header(20_000), "20000 models"),
        (header(1) + struct.pack(">I", 300), "a name of 300 bytes"),
        (header(2, b"de/x"), "damaged"),
        (header(1, b"\xff/x") + zlib.compress(bytes(65536)), "damaged"),
        (header(1, b"de/x") + b"no zlib", "damaged"),
        (header(1, b"de/x") + zlib.compress(bytes(65535)), "expected 1 tables"),
        (header(1, b"de/x") + zlib.compress(bytes(10_000_000)), "expected 1 tables"),
    ],
)
def test_damaged_files_are_refused_by_name(tmp_path: Path, data: bytes, words: str) -> None:
    (tmp_path / "models.bin").write_bytes(data)
    with pytest.raises(ArtifactCorrupt, match=words):
        read_models(tmp_path / "models.bin")


@settings(max_examples=60, deadline=None)
@given(data=st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "models.bin"
    path.write_bytes(b"CMD2" + data)
    with contextlib.suppress(ArtifactCorrupt):
        read_models(path)
