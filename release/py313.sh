#!/usr/bin/env bash
# py313.sh [PYTEST ARGUMENTS]: the whole test suite on Python 3.13, in an environment of its own in build/py313. Takes the
# python3.13 of this machine (or PYTHON313 alone, if set); where there is none, that of a Debian trixie root which it makes with mmdebstrap
# and enters by chroot, so it must be root then.
set -euo pipefail
cd "$(dirname "$0")/.."
repo=$PWD work=$PWD/build/py313 root=$PWD/build/py313/root
mkdir -p "$work"

find_python() {
  local name
  for name in ${PYTHON313:-python3.13 "${PYENV_ROOT:-/nowhere}"/versions/3.13*/bin/python3.13}; do
    if "$name" -c 'import sys, venv; sys.exit(sys.version_info[:2] != (3, 13))' 2> /dev/null; then
      echo "$name"
      return
    fi
  done
}

test_with() { # PYTHON PYTEST-ARGUMENTS
  local python=$1
  shift
  [ -x "$work/env/bin/python" ] || "$python" -m venv "$work/env"
  "$work/env/bin/python" -m pip install --quiet --editable '.[dev]'
  "$work/env/bin/python" -VV
  "$work/env/bin/python" -m pytest -n 2 --dist loadgroup "$@"
}

if [ "${INSIDE_ROOT:-}" = 1 ]; then
  test_with /usr/bin/python3.13 "$@"
elif python=$(find_python) && [ -n "$python" ]; then
  test_with "$python" "$@"
else
  command -v mmdebstrap > /dev/null || { echo "no python3.13 here; a root that has it needs a Debian package: apt-get install mmdebstrap" >&2; exit 1; }
  [ -x "$root/usr/bin/python3.13" ] || mmdebstrap --quiet --variant=apt \
    --include=python3.13,python3.13-venv,libpython3.13-dev,gcc,libc6-dev,make,git,iproute2,ca-certificates trixie "$root"
  mkdir -p "$root$repo"
  # Mounts of a namespace of its own: they are gone when it ends. Settings of pip and the network are those of this machine.
  exec unshare --mount --fork bash -euc '
    root=$1 repo=$2; shift 2
    for path in /proc /sys /dev "$repo" /etc/resolv.conf /etc/hosts /etc/ssl /etc/pip.conf "$HOME" "$(realpath "$repo/../shared" 2> /dev/null || true)"; do
      [ -e "$path" ] || continue
      if [ -d "$path" ]; then mkdir -p "$root$path"; else touch "$root$path"; fi
      mount --rbind "$path" "$root$path"
    done
    INSIDE_ROOT=1 exec chroot "$root" bash "$repo/release/py313.sh" "$@"' py313 "$root" "$repo" "$@"
fi
