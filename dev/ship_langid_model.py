r"""Put a compact model that ``langid train`` wrote into the package, and its digest and size on its page.

    python -m release.langid_rows ../shared/data/world/world.jsonl.zst /tmp/rows.jsonl
    python -m release.langid_odds /tmp/rows.jsonl release
    samebits langid train /tmp/rows.jsonl -o /tmp/world --mode compact --megabytes 15 --ledger none --source-column source \
        --odds "$(cat release/langid_odds.txt)"
    python dev/ship_langid_model.py /tmp/world

The package has the files that predict and the report, not the record of the run.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

from samebits.data.artifact import open_artifact
from samebits.langid import LangidModel

REPO = Path(__file__).resolve().parent.parent
TARGET = REPO / "src" / "samebits" / "langid" / "world"
PAGE = REPO / "docs" / "models.md"


def main() -> None:
    """Check the model, copy it, write the page."""
    folder = Path(sys.argv[1])
    model, artifact = LangidModel.load(folder), open_artifact(folder)
    names = sorted([*artifact.files, "manifest.json"])
    for path in TARGET.iterdir():
        path.unlink()
    for name in names:
        shutil.copyfile(folder / name, TARGET / name)
    size = sum((TARGET / name).stat().st_size for name in names)
    page = PAGE.read_text(encoding="utf-8")
    page = re.sub(r"(digest of the artifact \| `)[0-9a-f]{64}", rf"\g<1>{model.digest}", page)
    page = re.sub(r"\| size \| \d+ MB", f"| size | {size / 1e6:.0f} MB", page)
    page = re.sub(r"--megabytes \d+ ", f"--megabytes {artifact.config.get('megabytes', 15)} ", page)
    PAGE.write_text(page, encoding="utf-8")
    sys.stdout.write(f"{len(model.languages)} languages, {size / 1e6:.2f} MB, digest {model.digest}\n")


if __name__ == "__main__":
    main()
