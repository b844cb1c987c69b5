"""The notebook of the examples runs from top to bottom, shows progress, and errors are short in it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed: pip install nbclient ipykernel")
nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed: pip install nbclient ipykernel")
pytest.importorskip("ipykernel", reason="ipykernel is not installed: pip install ipykernel")
pytest.importorskip("pandas", reason="pandas is not installed: pip install pandas")


def execute(book: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> Any:
    """Run a notebook with this Python, whatever kernels are installed."""
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager

    spec = KernelSpec(
        argv=[sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"], language="python"
    )
    monkeypatch.setattr(KernelSpecManager, "get_kernel_spec", lambda self, name: spec)
    for name in ("JUPYTER_RUNTIME_DIR", "IPYTHONDIR", "JUPYTER_CONFIG_DIR"):
        monkeypatch.setenv(name, os.fspath(folder / name.lower()))
    return nbclient.NotebookClient(book, timeout=100, kernel_name="python3", **settings).execute()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # the libraries that run notebooks warn of one another
def test_the_notebook_of_the_examples_runs(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = nbformat.read(repo / "examples" / "notebook.ipynb", as_version=4)
    book.cells.append(nbformat.v4.new_code_cell('langid.train("nowhere.csv")'))
    done = execute(book, tmp_path, monkeypatch, allow_errors=True)
    outputs = [output for cell in done.cells for output in cell.get("outputs", ())]
    errors = [output for output in outputs if output["output_type"] == "error"]
    assert [error["ename"] for error in errors] == ["InputError"], errors
    assert len("".join(errors[0]["traceback"]).splitlines()) <= 3
    pages = [output["data"]["text/html"] for output in outputs if "text/html" in output.get("data", {})]
    assert any("<progress" in page and "steps" in page for page in pages), "progress of the training"
    assert any("loss by step" in page for page in pages), "the curve of its loss"
