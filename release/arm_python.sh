#!/usr/bin/env bash
# arm_python.sh ARGUMENTS: the aarch64 Python of build/arm under qemu-user, with the packages of build/arm/site.
work=$(realpath "$(dirname "$0")/../build/arm")
exec qemu-aarch64-static -L "$work/root" -E PYTHONPATH="${ARM_PATH:+$ARM_PATH:}$work/site" -E PYTHONDONTWRITEBYTECODE=1 \
  -E EMULATED_PYTHON="$(realpath "$0")" \
  "$work/root/usr/bin/python3.11" "$@"
