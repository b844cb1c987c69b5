"""Every crash point of one job; ``make crashes`` has all jobs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
@pytest.mark.timeout(400)  # 170 runs, and a busy machine
def test_a_count_killed_at_each_rename_and_sync_goes_on_to_the_same_digest(repo: Path) -> None:
    command = [sys.executable, "-m", "tests.faults.crash_points", "count"]
    ended = subprocess.run(command, cwd=repo, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    found = re.search(r"(\d+) kills at every rename and sync of 1 jobs, 0 wrong", ended.stdout)
    assert found is not None
    assert int(found[1]) >= 12, "the hooks see too few renames and syncs"
