#!/usr/bin/env bash
# Installs a build tree into an empty prefix and configures, builds and runs a project that knows only that prefix.
#   tests/install/check.sh BUILD_DIR CMAKE CXX VERSION
set -euo pipefail
build=$1 cmake=$2 cxx=$3 version=$4
consumer=$(cd "$(dirname "$0")/consumer" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "install: $*" >&2; exit 1; }

"$cmake" --install "$build" --prefix "$work/prefix" > "$work/install.log" || { cat "$work/install.log"; fail "cmake --install failed"; }
grep -rlF "$build" "$work/prefix" --include='*.cmake' && fail "the files above name the build folder"

"$work/prefix/bin/berth" --version | tee "$work/version"
grep -q "^berth $version\$" "$work/version" || fail "berth --version does not say $version"

"$cmake" -S "$consumer" -B "$work/consumer" -G Ninja -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_PREFIX_PATH="$work/prefix" \
  -DCMAKE_BUILD_TYPE=Release > "$work/configure.log" 2>&1 || { cat "$work/configure.log"; fail "find_package(berth) failed"; }
grep -q "^berth_DIR:PATH=$work/prefix/" "$work/consumer/CMakeCache.txt" || fail "another installed berth was found"
"$cmake" --build "$work/consumer" || fail "the consumer does not build"
"$work/consumer/consumer" || fail "the consumer does not run"
"$work/consumer/strategies" || fail "the strategy of the consumer does not run"
