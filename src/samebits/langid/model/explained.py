"""An explanation as one line of JSON."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["explained"]


def explained(model: Any, text: str, prediction: Any) -> str:
    """Return text, language, runner-up and the features that decided; in exact mode the share of known words."""
    if model.mode == "exact":
        return json.dumps(
            {"text": text, "lang": prediction.label, "share": prediction.confidence}, ensure_ascii=False
        )
    found = model.explain(text)
    features = [{"feature": f.feature, "kind": f.kind, "bits": f.bits} for f in found["features"]]
    shown = {
        "text": text,
        "lang": found["label"],
        "against": found["against"],
        "lead_bits": found["lead_bits"],
    }
    return json.dumps({**shown, "features": features}, ensure_ascii=False)
