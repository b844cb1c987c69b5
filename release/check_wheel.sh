#!/usr/bin/env bash
# check_wheel.sh WHEEL SDIST: install WHEEL into an empty environment outside the checkout, where compilers fail, and run
# the smallest tests of SDIST there. Every .pyx of SDIST must be an importable module.
set -euo pipefail
wheel=$(realpath "$1") sdist=$(realpath "$2") python=${PYTHON:-python3}
place=$(mktemp -d) && trap 'rm -rf "$place"' EXIT
cd "$place"
tar -xzf "$sdist" && mv samebits-* source
$python -m venv env
export CC=/bin/false CXX=/bin/false PYTHONDONTWRITEBYTECODE=1
env/bin/python -m pip install --quiet --only-binary=:all: "$wheel" pytest pytest-timeout hypothesis
mkdir tests && cp source/pyproject.toml . && cp -r source/tests/. tests/ && ln -s source/src src
(cd source/src && find samebits -name '*.pyx') | sed 's/\.pyx$//; s|/|.|g' | sort > modules
while read -r module; do env/bin/python -c "import $module"; done < modules
env/bin/python -c "import samebits; assert '/env/' in samebits.__file__, samebits.__file__"
rm src # the tests must see the installed package
env/bin/python -m pytest --quiet tests/test_tiny.py
env/bin/samebits --version
echo "$(wc -l < modules) compiled modules and the smallest tests: fine with $(env/bin/python -V)"
