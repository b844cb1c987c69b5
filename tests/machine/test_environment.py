"""What workers compare before they work together."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from samebits.machine import environment
from samebits.machine.environment import fingerprint


@pytest.mark.parametrize(
    ("loaded", "counts"), [("2.13.0+cu130", "2.13.0"), ("2.13.0", "2.13.0"), ("2.12.1", "2.12.1")]
)
def test_a_build_that_names_itself_once_it_is_loaded_counts_as_what_is_installed(
    loaded: str, counts: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One worker may have loaded torch and another not: both have the same one."""
    monkeypatch.setattr(environment, "installed_version", lambda name: "2.13.0" if name == "torch" else None)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert fingerprint(installed=True)["libraries"]["torch"] == "2.13.0"
    module = ModuleType("torch")
    module.__version__ = loaded  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", module)
    assert fingerprint(installed=True)["libraries"]["torch"] == counts
    assert fingerprint()["libraries"]["torch"] == loaded
