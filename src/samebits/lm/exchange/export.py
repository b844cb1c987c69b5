"""Weights for other programs: GPT-2 and Llama folders that transformers loads, or named tensors with a small loader.

GPT-2 fits the classic block: LayerNorm, learned positions, GELU, tied embedding. Its projections are stored transposed, q, k and v
side by side, and its biases are zeros. Llama fits RMS norm, rotation and the gated SiLU without a norm of queries and keys; its
norm weights are ones. Squared ReLU, the norm of queries and keys and embeddings of several tokens fit neither: ``safetensors`` writes the tensors and
``load.py``, which needs torch alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from samebits.arithmetic.matrices import sum_squares
from samebits.core.digest import canonical_json
from samebits.data.files import writing
from samebits.errors import ConfigError, OutputExists, ParityError
from samebits.lm.model.arch import EPS, Architecture
from samebits.lm.model.language_model import LanguageModel

__all__ = ["FORMATS", "MOST_DIFFERENCE", "export"]

Arrays = dict[str, NDArray[np.float32]]
MOST_DIFFERENCE = 1e-4  # of a logit, between the exported model in transformers and this one
PROBE_SEED = 20


def export(model: LanguageModel, output: str | Path, format: str) -> str:  # noqa: A002 - the flag's own name
    """Write a folder for another program, and load it there if it is installed.

    Args:
        model: The model.
        output: Folder to make.
        format: ``gpt2``, ``llama`` or ``safetensors``.

    Returns:
        A sentence about how the folder was checked.

    Raises:
        ConfigError: if the format cannot say what the model is; names the choices that do not fit.
        OutputExists: if the folder is there.
        ParityError: if transformers computes something else.
    """
    from safetensors.numpy import save

    output = Path(output)
    if output.exists():
        raise OutputExists(f"{output} already exists", hint="choose a different output")
    tensors, config = FORMATS[format](model)
    with writing(output):
        output.mkdir(parents=True)
        (output / "model.safetensors").write_bytes(save(tensors, metadata={"format": "pt"}))
        (output / "config.json").write_bytes(canonical_json(config))
        (output / "vocab.json").write_bytes(canonical_json(model.vocabulary.as_dict()))
        if format == "safetensors":
            (output / "load.py").write_text(_loader(), encoding="utf-8")
    return _check(model, output) if format != "safetensors" else "load.py reads it with torch alone"


def _refuse(arch: Architecture, name: str, wanted: dict[str, Any]) -> None:
    wrong = {key: getattr(arch, key) for key, value in wanted.items() if getattr(arch, key) != value}
    if wrong:
        said = ", ".join(f"{key} is {value}, not {wanted[key]}" for key, value in wrong.items())
        raise ConfigError(
            f"{name} cannot say what this model is: {said}",
            hint="use --format safetensors, or train with "
            + ("--kind classic" if name == "gpt2" else "--activation swiglu --qk-norm off --ngrams 1"),
        )


def _gpt2(model: LanguageModel) -> tuple[Arrays, dict[str, Any]]:
    arch, params = model.arch, model.params
    _refuse(
        arch,
        "gpt2",
        {"norm": "layer", "positions": "learned", "activation": "gelu", "tied": True, "ngrams": 1},
    )
    found: Arrays = {"transformer.wte.weight": params["wte"], "transformer.wpe.weight": params["wpe"]}

    def norm(name: str, ours: str) -> None:
        found[f"transformer.{name}.weight"] = params[ours]
        found[f"transformer.{name}.bias"] = np.zeros(arch.dim, np.float32)

    def linear(name: str, weight: NDArray[np.float32]) -> None:
        found[f"transformer.{name}.weight"] = np.ascontiguousarray(weight.T)
        found[f"transformer.{name}.bias"] = np.zeros(len(weight), np.float32)

    for layer in range(arch.layers):
        at, ours = f"h.{layer}", f"h{layer}."
        norm(f"{at}.ln_1", ours + "norm1")
        norm(f"{at}.ln_2", ours + "norm2")
        linear(f"{at}.attn.c_attn", params[ours + "qkv"].reshape(-1, arch.dim))
        for name, matrix in (("attn.c_proj", "o"), ("mlp.c_fc", "up"), ("mlp.c_proj", "down")):
            linear(f"{at}.{name}", params[ours + matrix])
    norm("ln_f", "norm")
    config = {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "vocab_size": arch.vocab,
        "n_positions": arch.block,
        "n_embd": arch.dim,
        "n_layer": arch.layers,
        "n_head": arch.heads,
        "activation_function": "gelu",
        "layer_norm_epsilon": 1e-5,
        "resid_pdrop": 0.0,
        "embd_pdrop": 0.0,
        "attn_pdrop": 0.0,
        "bos_token_id": 0,
        "eos_token_id": 0,
        "tie_word_embeddings": True,
    }
    return found, config


def _llama(model: LanguageModel) -> tuple[Arrays, dict[str, Any]]:
    arch, params = model.arch, model.params
    _refuse(
        arch,
        "llama",
        {"norm": "rms", "positions": "rope", "activation": "swiglu", "qk_norm": False, "ngrams": 1},
    )
    ones = np.ones(arch.dim, np.float32)
    # The embedding is normalised before the first block here, and Llama has no such norm: it goes into the table.
    squares = np.array([sum_squares(row) for row in params["wte"]])
    scale = 1 / np.sqrt(squares[:, None] / arch.dim + EPS)
    found: Arrays = {
        "model.embed_tokens.weight": (params["wte"] * scale).astype(np.float32),
        "lm_head.weight": params["wte" if arch.tied else "head"],
        "model.norm.weight": ones,
    }
    for layer in range(arch.layers):
        at, ours = f"model.layers.{layer}.", f"h{layer}."
        for number, name in enumerate(("q_proj", "k_proj", "v_proj")):
            found[f"{at}self_attn.{name}.weight"] = params[ours + "qkv"][number]
        found[f"{at}self_attn.o_proj.weight"] = params[ours + "o"]
        for name, matrix in (("gate_proj", "gate"), ("up_proj", "up"), ("down_proj", "down")):
            found[f"{at}mlp.{name}.weight"] = params[ours + matrix]
        found[f"{at}input_layernorm.weight"] = ones.copy()
        found[f"{at}post_attention_layernorm.weight"] = ones.copy()
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": arch.vocab,
        "max_position_embeddings": arch.block,
        "hidden_size": arch.dim,
        "intermediate_size": arch.hidden,
        "num_hidden_layers": arch.layers,
        "num_attention_heads": arch.heads,
        "num_key_value_heads": arch.heads,
        "hidden_act": "silu",
        "rms_norm_eps": EPS,
        "rope_theta": 10000.0,
        "attention_bias": False,
        "mlp_bias": False,
        "bos_token_id": 0,
        "eos_token_id": 0,
        "tie_word_embeddings": False,
    }
    return {name: np.ascontiguousarray(value) for name, value in found.items()}, config


def _own(model: LanguageModel) -> tuple[Arrays, dict[str, Any]]:
    return dict(model.params), {"architecture": asdict(model.arch), "artifact": model.digest}


FORMATS: dict[str, Callable[[LanguageModel], tuple[Arrays, dict[str, Any]]]] = {
    "gpt2": _gpt2,
    "llama": _llama,
    "safetensors": _own,
}


def _loader() -> str:
    return (Path(__file__).parent / "portable_model.py").read_text(encoding="utf-8")


def _check(model: LanguageModel, output: Path) -> str:
    """Load the folder in transformers, if it is there, and compare logits."""
    try:
        import transformers
    except ImportError:
        return "not loaded again: transformers is not installed"
    import torch

    from samebits.lm.model.definition import record

    arch = model.arch
    ids = np.random.Generator(np.random.Philox(key=PROBE_SEED)).integers(arch.vocab, size=(2, arch.block))
    x = torch.from_numpy(ids)
    with torch.no_grad():
        theirs = transformers.AutoModelForCausalLM.from_pretrained(str(output)).eval()(x).logits.numpy()
    program = record(arch, model.params)
    ours = np.stack([program.logits(row).copy() for row in ids])
    difference = float(np.abs(theirs - ours).max())
    if not difference <= MOST_DIFFERENCE:
        raise ParityError(
            f"{output}: transformers {transformers.__version__} computes logits that differ by {difference:.3g}",
            hint="please report it with the version of transformers",
        )
    return f"loaded in transformers {transformers.__version__}: logits differ by at most {difference:.3g}"
