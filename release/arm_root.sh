#!/usr/bin/env bash
# arm_root.sh FOLDER: an aarch64 Debian root with Python and its headers, to compile against and to run under qemu-user.
set -euo pipefail
need() { command -v "$1" > /dev/null || { echo "ARM needs Debian packages: apt-get install qemu-user-static gcc-aarch64-linux-gnu libc6-dev-arm64-cross mmdebstrap" >&2; exit 69; }; }
need qemu-aarch64-static; need aarch64-linux-gnu-gcc; need mmdebstrap
mkdir -p "$1"
[ -x "$1/root/usr/bin/python3.11" ] || mmdebstrap --quiet --variant=extract --architectures=arm64 \
  --include=python3,libpython3.11-dev,libgomp1,libstdc++6,zlib1g-dev,libssl3 bookworm "$1/root"
