#!/usr/bin/env bash
# sanitize.sh [RUNS [START]]: compile the kernels with the address and undefined-behaviour sanitizers in a copy of the tree,
# and run the tests of kernels and readers and both fuzzers (RUNS each, 20,000 by default, from number START) with them. The
# first bad access ends it. RECORD=FILE keeps the numbers. A START above 0 runs the fuzzers alone.
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${1:-20000} start=${2:-0} work=$PWD/build/sanitize python=${PYTHON:-python3}
asan=$(gcc -print-file-name=libasan.so) ubsan=$(gcc -print-file-name=libubsan.so)
[ -e "$asan" ] || { echo "sanitizers need a Debian package: apt-get install libgcc-12-dev" >&2; exit 1; }
mkdir -p "$work"
[ -x "$work/env/bin/python" ] || $python -m venv "$work/env"
"$work/env/bin/python" -m pip install --quiet 'setuptools>=77' 'Cython>=3.2,<4' pytest pytest-timeout hypothesis scipy networkx
(git ls-files -z 2> /dev/null || find . -path ./build -prune -o -type f -print0) | tar --null -cf - -T - | tar -xf - -C "$work"
record=${RECORD:+--record $(realpath "$RECORD")}
cd "$work"
export CFLAGS="-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -g1 -O1" LDFLAGS="-fsanitize=address,undefined"
env/bin/python -m pip install --quiet --no-build-isolation --editable . > build.log 2>&1 || { tail -20 build.log; exit 1; }
# Python is not compiled with them: the libraries are loaded before it, and what it keeps until its end is no leak of ours.
export LD_PRELOAD="$asan $ubsan" PYTHONMALLOC=malloc ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1
export UBSAN_OPTIONS=print_stacktrace=1
[ "$start" != 0 ] || env/bin/python -m pytest -q -x -p no:cacheprovider tests/kernels tests/arithmetic tests/data/test_csv_rows.py \
  tests/data/test_json_rows.py tests/data/test_text_rows.py tests/fuzz
env/bin/python -m tests.fuzz.artifacts --runs "$runs" --start "$start" $record
env/bin/python -m tests.fuzz.inputs --runs "$runs" --start "$start" $record
