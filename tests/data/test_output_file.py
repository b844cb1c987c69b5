"""Files of the output that workers write: the bytes and the seal of one process, for any pieces, blocks and losses."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import needs_extra

from samebits import api
from samebits.charset.conversion.decode import DecodeConfig
from samebits.core.engine import Engine
from samebits.core.options import RunOptions
from samebits.core.plan import Shard, cut
from samebits.data import sealing
from samebits.data.artifact import ArtifactWriter, open_artifact
from samebits.data.bad_rows import BadRows
from samebits.data.folding import output_file, tree
from samebits.data.folding.output_file import row_pieces, write_output
from samebits.errors import Interrupted
from samebits.executors.serial import SerialExecutor
from samebits.testing import ShuffledExecutor

SAMPLES = Path(__file__).resolve().parents[2] / "src" / "samebits" / "samples"


@dataclass(frozen=True)
class Letters:
    """As many letters as a shard is long, the shard's number being the letter."""

    def count(self, shards: Sequence[Shard], state: Any, /) -> tuple[list[Any], list[Any]]:
        rows = [bytes([97 + shard.index % 26]) * (shard.stop - shard.start) for shard in shards]
        return [None] * len(shards), [piece for row in rows for piece in row_pieces(row)]


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_file, "PIECE_BYTES", 7)
    monkeypatch.setattr(sealing, "BLOCK_BYTES", 50)


@pytest.mark.parametrize("sizes", [[], [49], [50], [51], [3] * 200, [100, 1, 0, 260]], ids=str)
@pytest.mark.parametrize("seed", [-1, 3])
def test_the_file_and_its_seal_are_those_of_one_process(sizes: list[int], seed: int, tmp_path: Path) -> None:
    shards = cut(sizes, cell=30)
    expected = b"".join(bytes([97 + s.index % 26]) * (s.stop - s.start) for s in shards)
    out = ArtifactWriter(tmp_path / "out", BadRows())
    with tree.folding(Engine(ShuffledExecutor(seed=seed)), "token") as workers:
        workers.run_rows(
            "letters",
            Letters(),
            shards,
            lambda shard, told: None,
            unit="bytes",
            then=lambda found: write_output(workers, out, "a", found),
        )
    assert out.path("a").read_bytes() == expected
    sealer = sealing.Sealer()
    sealer.update(expected)
    assert out._known["a"] == sealer.entry()
    assert sealer.entry()["size"] == len(expected)
    out.close()


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    for name, encoding in {"de": "cp1252", "ru": "koi8_r", "el": "iso8859_7"}.items():
        text = (SAMPLES / f"{name}.txt").read_text(encoding="utf-8")[:3000]
        (folder / f"{name}.txt").write_bytes(text.encode(encoding, "ignore"))
    (folder / "zero.txt").touch()
    return folder


def decode(files: Path, output: Path, **settings: Any) -> str:
    options = RunOptions(max_bad="100%", **settings.pop("options", {}))
    config = DecodeConfig(inputs=(str(files),))
    return api.run("charset_decode", config, output=output, options=options, **settings).artifact_digest


@pytest.mark.parametrize("name", ["threads", "processes", pytest.param("dask", marks=pytest.mark.slow)])
def test_decoded_rows_are_written_by_workers_with_the_bytes_of_the_serial_run(
    name: str, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_extra(name)
    expected = decode(files, tmp_path / "serial", options={"executor": "serial"})
    assert decode(files, tmp_path / "out", options={"executor": name, "workers": "2"}) == expected
    entry = open_artifact(tmp_path / "out").files["rows.jsonl"]
    data = (tmp_path / "out" / "rows.jsonl").read_bytes()
    assert (entry["size"], entry["block_bytes"]) == (len(data), 50)
    monkeypatch.setattr(sealing, "BLOCK_BYTES", 256 << 20)
    decode(files, tmp_path / "plain")
    assert (tmp_path / "plain" / "rows.jsonl").read_bytes() == data
    plain = open_artifact(tmp_path / "plain").files["rows.jsonl"]
    assert plain == {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def test_a_run_that_ends_while_blocks_are_written_goes_on_and_writes_all_of_them(
    files: Path, tmp_path: Path
) -> None:
    expected = decode(files, tmp_path / "expected")

    class Stops(SerialExecutor):
        def submit(self, task: Any, shard: Shard, handle: Any) -> Any:
            if isinstance(task, output_file.WriteBlock) and shard.index == 9:
                raise KeyboardInterrupt
            return super().submit(task, shard, handle)

    with pytest.raises(Interrupted):
        decode(files, tmp_path / "out", executor=Stops())
    kept = sorted(path for path in (tmp_path / "out.journal" / "kept").iterdir() if path.name != "token")
    data = bytearray(kept[0].read_bytes())
    data[5] ^= 1
    kept[0].write_bytes(data)
    assert decode(files, tmp_path / "out") == expected
