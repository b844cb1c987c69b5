"""One math thread in every task, and a fingerprint without accidents."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys

from threadpoolctl import threadpool_info

from samebits.machine.caps import THREAD_CAPS, one_math_thread
from samebits.machine.environment import fingerprint


def test_the_caps_are_set_before_numpy_is_imported() -> None:
    code = (
        "import sys; from samebits.machine.caps import cap_threads; cap_threads();"
        "assert 'numpy' not in sys.modules; import numpy, threadpoolctl;"
        "print(max([p['num_threads'] for p in threadpoolctl.threadpool_info()], default=1))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"


def test_a_pool_that_is_loaded_already_is_held_to_one_thread() -> None:
    code = (
        "import numpy, threadpoolctl; from samebits.machine.caps import one_math_thread\n"
        "with one_math_thread():\n"
        "    print(max([p['num_threads'] for p in threadpoolctl.threadpool_info()], default=1))\n"
    )
    environment = {k: v for k, v in os.environ.items() if k not in THREAD_CAPS}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**environment, "OPENBLAS_NUM_THREADS": "2"},
    )
    assert done.stdout.strip() == "1"


def test_caps_that_came_in_time_hold_inside_the_block_too() -> None:
    code = (
        "from samebits.machine.caps import cap_threads, one_math_thread; cap_threads()\n"
        "import numpy, threadpoolctl\n"
        "with one_math_thread():\n"
        "    print(max([p['num_threads'] for p in threadpoolctl.threadpool_info()], default=1))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"


def test_the_cap_ends_with_its_block() -> None:
    before = threadpool_info()
    with one_math_thread():
        pass
    assert threadpool_info() == before


def test_the_fingerprint_names_cpu_and_libraries_and_no_accident() -> None:
    import numpy as np  # loaded, so named

    found = fingerprint()
    assert found["libraries"]["numpy"] == np.__version__
    assert found == fingerprint()
    assert found["python"] == platform.python_version()
    assert {"numpy", "samebits"} <= set(found["libraries"])
    text = json.dumps(found)
    assert platform.node() not in text
    assert os.sep + "home" not in text


def test_memory_that_was_freed_is_used_again_without_new_page_faults() -> None:
    """The second round of allocations costs hardly a fault; without the setting every one is faulted in again."""
    code = """
import resource, sys
import numpy as np
from samebits.machine.caps import keep_freed_memory
if sys.argv[1] == "keep":
    keep_freed_memory()
def round_of_work():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(8):
        np.empty(20 << 20, np.uint8).fill(1)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
round_of_work()
print(round_of_work())
"""
    faults = [
        int(
            subprocess.run(
                [sys.executable, "-c", code, word], capture_output=True, text=True, check=True
            ).stdout
        )
        for word in ("keep", "leave")
    ]
    assert faults[0] <= faults[1]
    assert faults[0] < 100


def test_freed_memory_can_be_given_back() -> None:
    """After a stage with many small arrays the process is as small as before."""
    code = """
import numpy as np
from samebits.machine.caps import give_back_freed_memory, keep_freed_memory
from samebits.machine.memory import memory_of_all
keep_freed_memory()
before = memory_of_all()
held = [np.ones(1 << 20, np.uint8) for _ in range(100)]
last = held.pop()  # keeps malloc from giving the rest back by itself
held.clear()
kept = memory_of_all() - before
give_back_freed_memory()
print(kept, memory_of_all() - before)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    kept, left = map(int, run.stdout.split())
    assert left < 20 << 20
    if sys.platform == "linux" and platform.libc_ver()[0] == "glibc":
        assert kept > 80 << 20


def test_a_process_that_needs_little_keeps_little_of_what_it_frees() -> None:
    """Freed arrays below the largest one stay with malloc otherwise: it takes the largest for a sign of more to come."""
    code = """
import sys
import numpy as np
from samebits.machine.caps import keep_little_freed_memory
from samebits.machine.memory import memory_of_all
np.ones(30 << 20, np.uint8)
if sys.argv[1] == "little":
    keep_little_freed_memory()
before = memory_of_all()
held = [np.ones(1 << 20, np.uint8) for _ in range(20)]
last = held.pop()
held.clear()
print(memory_of_all() - before)
"""
    little, much = (
        int(
            subprocess.run(
                [sys.executable, "-c", code, word], capture_output=True, text=True, check=True
            ).stdout
        )
        for word in ("little", "much")
    )
    assert little < 8 << 20
    if sys.platform == "linux" and platform.libc_ver()[0] == "glibc":
        assert much > 15 << 20
