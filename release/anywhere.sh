#!/usr/bin/env bash
# anywhere.sh PYTHON: run every job with PYTHON here and with the aarch64 Python of build/arm under qemu-user, and compare the
# digests. Builds the aarch64 wheel of this tree first; SKIP_BUILD=1 takes the one that `make dist` made. RECORD=FILE keeps
# the numbers.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$1
release/arm_root.sh build/arm
if [ -z "${SKIP_BUILD:-}" ] || [ ! -d build/arm/site/samebits ]; then
  mkdir -p build/arm/out && rm -f build/arm/out/*
  "$python" setup.py -q sdist --dist-dir build/arm/out
  release/arm_wheel.sh build/arm/out/*.tar.gz build/arm/out
fi
"$python" -m release.digests > build/arm/here.txt
(cd build/arm/source && ../../../release/arm_python.sh -m release.digests) > build/arm/there.txt # its sources were removed
"$python" -m release.digests --compare build/arm/here.txt build/arm/there.txt ${RECORD:+--record "$RECORD"}
