"""The file of the detector's models: small, checked when opened, the same for the same text."""

from __future__ import annotations

import json
import os
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from samebits import charset
from samebits.charset.characters import model_file
from samebits.charset.characters.costs import quantised
from samebits.charset.characters.inventory import SCRIPTS
from samebits.charset.characters.learn import is_single_byte, learn_models, needed_languages
from samebits.charset.characters.model_file import MAGIC, open_model, pack, shipped_model
from samebits.charset.detection.detect import detect_with
from samebits.charset.detection.readings import CharacterEvidence
from samebits.charset.pairs import detector_pairs
from samebits.errors import ArtifactCorrupt, InputError

SHIPPED = Path(model_file.__file__).with_name("models.bin")


def parts() -> tuple[dict[str, Any], bytearray]:
    data = SHIPPED.read_bytes()
    (length,) = struct.unpack_from("<I", data, len(MAGIC))
    stop = len(MAGIC) + 4 + length
    return json.loads(data[len(MAGIC) + 4 : stop]), bytearray(data[-(-stop // 64) * 64 :])


def forged(header: dict[str, Any], payload: bytearray, path: Path) -> Path:
    text = json.dumps(header).encode()
    start = -(-(len(MAGIC) + 4 + len(text)) // 64) * 64
    path.write_bytes((MAGIC + struct.pack("<I", len(text)) + text).ljust(start) + payload)
    return path


def test_the_shipped_file_is_small_and_has_its_digest() -> None:
    assert SHIPPED.stat().st_size <= 6_000_000
    model = open_model(SHIPPED)
    assert model.digest == shipped_model().digest
    assert len(model.encodings) >= 60
    assert set(needed_languages()) == {*model.languages, *model.east_asian}


@pytest.mark.parametrize("size", [0, 5, 24, 26, 1000, 100_000, -1, -70])
def test_a_cut_file_is_refused(tmp_path: Path, size: int) -> None:
    (tmp_path / "m.bin").write_bytes(SHIPPED.read_bytes()[:size])
    with pytest.raises(ArtifactCorrupt):
        open_model(tmp_path / "m.bin", check_digest=False)


def test_a_flipped_bit_is_refused_when_the_digest_is_checked(tmp_path: Path) -> None:
    data = bytearray(SHIPPED.read_bytes())
    data[-1000] ^= 1
    (tmp_path / "m.bin").write_bytes(data)
    with pytest.raises(ArtifactCorrupt, match="not those the header describes"):
        open_model(tmp_path / "m.bin")


@pytest.mark.parametrize(
    "change",
    [
        {"format": 99},
        {"units": 10**9},
        {"units": -1},
        {"units": "many"},
        {"bytes": 3},
        {"scripts": []},
        {"scripts": [{"name": "latin", "languages": [], "size": 10}]},
        {"scripts": [{"name": "latin", "languages": ["de"] * 65, "size": 0}]},
        {"encodings": []},
        {"encodings": [{"name": 7, "ascii": True}]},
        {"double_byte": ["made-up"]},
        {"east_asian": []},
        {"sections": {}},
        {"sections": None},
        {"sha256": None},
    ],
)
def test_a_forged_header_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    header, payload = parts()
    with pytest.raises(ArtifactCorrupt):
        open_model(forged(header | change, payload, tmp_path / "m.bin"), check_digest=False)


@pytest.mark.parametrize("place", [[-64, 10], [0, -1], [10**12, 5], ["a", 5], [1.0, 5], None, [1, 131072]])
def test_a_table_outside_the_file_is_refused(tmp_path: Path, place: object) -> None:
    header, payload = parts()
    header["sections"]["unit"] = place
    with pytest.raises(ArtifactCorrupt):
        open_model(forged(header, payload, tmp_path / "m.bin"), check_digest=False)


@pytest.mark.parametrize("name", ["unit", "units", "unit_script", "local/latin", "local/thai"])
def test_a_table_that_leads_outside_another_is_refused(tmp_path: Path, name: str) -> None:
    header, payload = parts()
    at, size = header["sections"][name]
    payload[at + size - 2 : at + size] = b"\xfe\xfe"
    with pytest.raises(ArtifactCorrupt):
        open_model(forged(header, payload, tmp_path / "m.bin"), check_digest=False)


def test_costs_may_hold_anything_without_a_crash(tmp_path: Path) -> None:
    header, payload = parts()
    rng = np.random.default_rng(1)
    for name in ("costs/latin", "floor/latin", "penalty", "codes", "stored", "unit_letter", "points"):
        at, size = header["sections"][name]
        payload[at : at + size] = rng.integers(0, 256, size, np.uint8).tobytes()
    evidence = CharacterEvidence(open_model(forged(header, payload, tmp_path / "m.bin"), check_digest=False))
    for size in (1, 2, 40, 3000, 20_000):
        detect_with(evidence, rng.integers(0, 256, size, np.uint8).tobytes())


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "m.bin")
    with pytest.raises(InputError, match="is not a file"):
        open_model(tmp_path / "m.bin")


def test_a_missing_file_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        open_model(tmp_path / "nothing.bin")


def test_a_model_travels_to_other_processes(tmp_path: Path) -> None:
    assert pickle.loads(pickle.dumps(shipped_model())) is shipped_model()
    header, payload = parts()
    other = open_model(forged(header | {"sha256": "0" * 64}, payload, tmp_path / "m.bin"), check_digest=False)
    again = pickle.loads(pickle.dumps(other))
    data = "Сегодня мы гуляли".encode("koi8-r")
    assert charset.detect(data, again) == charset.detect(data, other)


def a_corpus() -> dict[str, list[str]]:
    """Two words a language: enough to learn from, too little to be of use."""
    out: dict[str, list[str]] = {}
    for script in SCRIPTS:
        low, high = script.ranges[-1 if script.name == "arabic" else 0]
        letters = [chr(p) for p in range(low, high + 1) if chr(p).isalpha()][:20]
        word = "".join(letters)
        for language in script.languages:
            out[language] = [f"{word} {word[::-1]}, {language}.", *out.get(language, [])]
    return out | {
        "ja": ["これは日本語です。"],
        "ko": ["한국어입니다."],
        "zh": ["这是中文。"],
        "ar": ["مرحبا بكم"],
    }


def test_learning_is_the_same_twice(tmp_path: Path) -> None:
    texts = a_corpus()
    data = learn_models(texts, detector_pairs(), trained_on="a test")
    assert learn_models(texts, detector_pairs(), trained_on="a test") == data
    (tmp_path / "m.bin").write_bytes(data)
    model = open_model(tmp_path / "m.bin")
    assert model.trained_on == "a test"
    assert charset.detect("これは日本語です。".encode("cp932"), model).language == "ja"


def test_learning_needs_text_of_every_language() -> None:
    with pytest.raises(InputError, match="no text of the language"):
        learn_models({"de": ["Grüße"]}, detector_pairs(), trained_on="")


def test_costs_are_eighths_of_a_bit() -> None:
    chances = np.array([1.0, 0.5, 0.25, 2.0**-10, 2.0**-40, 0.0])
    assert quantised(chances).tolist() == [0, 8, 16, 80, 255, 255]
    random = np.random.default_rng(2).random(1000)
    assert np.abs(quantised(random) / 8 + np.log2(random)).max() <= 1 / 16 + 1e-9


@pytest.mark.parametrize(
    ("codec", "single"),
    [("cp1252", True), ("cp037", True), ("gb18030", False), ("utf-16-le", False), ("johab", False)],
)
def test_single_byte_codecs_are_told_from_others(codec: str, single: bool) -> None:
    assert is_single_byte(codec) is single


def test_pack_and_open_are_inverse(tmp_path: Path) -> None:
    header, payload = parts()
    sections = {name: bytes(payload[at : at + size]) for name, (at, size) in header["sections"].items()}
    (tmp_path / "m.bin").write_bytes(pack(header, sections))
    assert open_model(tmp_path / "m.bin").languages == shipped_model().languages
