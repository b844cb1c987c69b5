"""Exported models, loaded in transformers: GPT-2 and Llama folders of random weights, logits compared.

transformers is installed into an environment of its own under ``.bench``; torch is this environment's, so that the only
difference between the two sides is the code of the model.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import REPO, arguments, finish, peer_python, show_table
from samebits.lm.exchange.export import MOST_DIFFERENCE, export
from samebits.lm.model.arch import BLOCKS, Architecture
from samebits.lm.model.language_model import LanguageModel
from samebits.lm.text.vocab import Vocabulary

NAME = "lm_export"
SIZES: dict[str, Any] = {"vocab": 65, "layers": 4, "heads": 8, "dim": 128, "block": 64}
MODELS: dict[str, dict[str, Any]] = {
    "gpt2": BLOCKS["classic"],
    "llama": {**BLOCKS["modern"], "activation": "swiglu", "qk_norm": False},
}


def make_model(name: str) -> LanguageModel:
    """Return a model with random weights that are large enough for every part of it to matter."""
    arch = Architecture(**SIZES, **MODELS[name])
    rng = np.random.Generator(np.random.Philox(key=7))
    params = {
        tensor.name: (rng.standard_normal(tensor.shape) * 0.1 + (tensor.kind == "vector")).astype(np.float32)
        for tensor in arch.tensors()
    }
    return LanguageModel(arch, Vocabulary("ids", arch.vocab), params, {}, "random")


def main() -> None:
    """Set up transformers, export both models there, and read what the export says of its own check."""
    options = arguments(__doc__ or "")
    python = peer_python("transformers", ["transformers>=5,<6"])
    site = next((python.parent.parent / "lib").glob("python*/site-packages"))
    code = "import json, benchmarks.lm_export as m; print(json.dumps(m.check()))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(REPO), str(site)])}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    show_table(("format", "check"), list(found.items()))
    equal = all(text.startswith("loaded in transformers") for text in found.values())
    finish(NAME, equal=equal, ratios={}, details={"checks": found, "most": MOST_DIFFERENCE}, options=options)


def check() -> dict[str, str]:
    """Export every model; ``export`` fails if transformers computes other logits."""
    with tempfile.TemporaryDirectory(prefix="samebits-export-") as folder:
        return {name: export(make_model(name), Path(folder) / name, name) for name in MODELS}


if __name__ == "__main__":
    main()
