"""Folders for other programs: every tensor where the other program looks for it."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from benchmarks.lm_export import make_model
from safetensors.numpy import load_file

from samebits.errors import OutputExists
from samebits.lm.exchange.export import export

CHECKED = "loaded in transformers" if find_spec("transformers") else "not loaded again"


def test_a_gpt2_folder_has_transposed_projections_and_zero_biases(tmp_path: Path) -> None:
    model = make_model("gpt2")
    assert export(model, tmp_path / "out", "gpt2").startswith(CHECKED)
    found = load_file(tmp_path / "out" / "model.safetensors")
    joined = np.concatenate(list(model.params["h1.qkv"]))
    assert np.array_equal(found["transformer.h.1.attn.c_attn.weight"], joined.T)
    assert np.array_equal(found["transformer.h.3.mlp.c_proj.weight"], model.params["h3.down"].T)
    assert not any(value.any() for name, value in found.items() if name.endswith(".bias"))
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert (config["model_type"], config["activation_function"], config["n_head"]) == ("gpt2", "gelu", 8)


def test_a_llama_folder_holds_the_normalised_embedding_and_the_head_as_it_is(tmp_path: Path) -> None:
    model = make_model("llama")
    assert export(model, tmp_path / "out", "llama").startswith(CHECKED)
    found = load_file(tmp_path / "out" / "model.safetensors")
    squares = np.square(found["model.embed_tokens.weight"], dtype=np.float64).mean(1)
    assert np.abs(squares - 1).max() < 1e-3  # the norm's own epsilon
    assert np.array_equal(found["lm_head.weight"], model.params["head"])
    assert np.array_equal(found["model.layers.2.self_attn.k_proj.weight"], model.params["h2.qkv"][1])


def test_an_existing_folder_is_not_written_over(tmp_path: Path) -> None:
    with pytest.raises(OutputExists, match="already exists"):
        export(make_model("gpt2"), tmp_path, "gpt2")
