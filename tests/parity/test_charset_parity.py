"""Hash seeds, locale and the folder a command starts in leave no trace in the charset models.

Executors and worker counts are in ``tests/charset/test_job.py``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import samebits

SAMPLES = Path(samebits.__file__).parent / "samples"
TRAIN = """
import sys
import samebits
from samebits.charset.config import CharsetConfig
config = CharsetConfig(inputs=(sys.argv[1],), languages=("ar", "de", "he", "ja", "sr", "vi"), unit="line")
print(samebits.run("charset", config, output=sys.argv[2]).artifact_digest)
"""


def test_hash_seed_locale_and_start_folder_give_the_same_digest(tmp_path: Path) -> None:
    digests = set()
    for number, changed in enumerate(
        ({"PYTHONHASHSEED": "0"}, {"PYTHONHASHSEED": "1", "LC_ALL": "C"}, {"PYTHONHASHSEED": "7"})
    ):
        start = tmp_path / f"start{number}"
        start.mkdir()
        done = subprocess.run(
            [sys.executable, "-c", TRAIN, str(SAMPLES), str(tmp_path / f"out{number}")],
            env={**os.environ, **changed},
            cwd=start,
            capture_output=True,
            text=True,
            check=True,
        )
        digests.add(done.stdout.strip())
    assert len(digests) == 1
