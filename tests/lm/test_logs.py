"""TensorBoard files, the drawing of the losses, the choice of precision, and compilers that fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from samebits.errors import ConfigError, InputError
from samebits.lm.config import LmConfig
from samebits.lm.run_settings import resolve
from samebits.lm.training.objective import LmObjective
from samebits.lm.training.torch_gradient import try_to_compile
from samebits.lockstep.logs.loss_plot import draw_losses
from samebits.lockstep.logs.tensorboard import EventFile, read_scalars


def test_scalars_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    file = EventFile(tmp_path / "tb")
    file.add(1, loss_train=2.5, train_lr=0.125)
    file.add(300, loss_val=1.5)
    file.close()
    (path,) = (tmp_path / "tb").iterdir()
    assert path.name.startswith("events.out.tfevents.")
    found = [tuple(scalar) for scalar in read_scalars(path)]
    assert found == [("loss/train", 1, 2.5), ("train/lr", 1, 0.125), ("loss/val", 300, 1.5)]


def test_a_flipped_bit_in_an_event_file_is_found_with_its_place(tmp_path: Path) -> None:
    file = EventFile(tmp_path)
    file.add(1, loss_train=2.5)
    file.close()
    (path,) = tmp_path.iterdir()
    data = bytearray(path.read_bytes())
    data[-8] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(InputError, match="wrong checksum") as error:
        list(read_scalars(path))
    assert error.value.offset == 40


def test_the_drawing_has_a_point_for_every_validation_and_the_same_bytes_every_time() -> None:
    losses = [4.0 - step / 1000 for step in range(2000)]
    validations = [(step, 3.9 - step / 1000) for step in range(200, 2001, 200)]
    drawn = draw_losses(losses, validations)
    assert drawn == draw_losses(losses, validations)
    assert drawn.count("<circle") == 10
    assert len(drawn) < 40_000


def test_a_run_without_steps_has_an_empty_drawing() -> None:
    assert draw_losses([], []).startswith("<svg")


@pytest.mark.parametrize("asked", [{"compile": True}, {"dtype": "bfloat16"}])
def test_what_torch_does_needs_torchs_arithmetic(asked: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="is torch's") as caught:
        LmConfig(**asked)
    assert "--arithmetic torch" in str(caught.value.hint)
    assert LmConfig(arithmetic="torch", **asked).arithmetic == "torch"


def test_a_compiler_that_fails_is_tried_twice_with_a_clean_cache_and_given_up(tmp_path: Path) -> None:
    seen: list[bool] = []

    def fail(loss: object) -> None:
        seen.append((tmp_path / "inductor" / "half.so").exists())
        (tmp_path / "inductor").mkdir(exist_ok=True)
        (tmp_path / "inductor" / "half.so").touch()
        raise OSError("file too short")

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORCHINDUCTOR_CACHE_DIR", "")  # so that it is put back
        patch.setattr(torch, "compile", lambda loss, **_: loss)
        assert try_to_compile(lambda: None, tmp_path, fail) is None  # type: ignore[arg-type, return-value]
    assert seen == [False, False]
    assert not (tmp_path / "inductor").exists()


def test_all_workers_may_fall_back_to_eager_where_compiling_fails() -> None:
    recipe = resolve(LmConfig(compile=True, arithmetic="torch"), 65)
    objective = LmObjective(recipe, None)  # type: ignore[arg-type]  # never bound: only modes are asked for
    assert objective.modes() == ("compiled", "eager")
    assert LmObjective(resolve(LmConfig(), 65), None).modes() == ("portable",)  # type: ignore[arg-type]
