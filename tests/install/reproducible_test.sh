#!/usr/bin/env bash
# Two builds of the same sources in different folders give the same bytes: a library of the engine and the values of
# --version, each compiled twice without ccache.
#   tests/install/reproducible_test.sh SOURCE_DIR CMAKE CXX
set -euo pipefail
source=$1 cmake=$2 cxx=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "reproducible: $*" >&2; exit 1; }

targets=(berth_base berth_build_info)
for folder in one another/and/longer; do
  mkdir -p "$work/$folder"
  cp -r "$source/CMakeLists.txt" "$source/LICENSE" "$source/CHANGELOG.md" "$source/engine" "$source/include" \
    "$work/$folder"
  "$cmake" -S "$work/$folder" -B "$work/$folder/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER="$cxx" \
    -DBERTH_BUILD_TESTS=OFF -DBERTH_BUILD_BENCH=OFF > "$work/log" 2>&1 ||
    { tail -n 5 "$work/log"; fail "cmake failed"; }
  CCACHE_DISABLE=1 "$cmake" --build "$work/$folder/build" --target "${targets[@]}" > "$work/log" 2>&1 ||
    { tail -n 20 "$work/log"; fail "the build failed"; }
done
compared=0
while read -r library; do
  cmp "$work/one/build/$library" "$work/another/and/longer/build/$library" ||
    fail "$library depends on the folder it was built in"
  compared=$((compared + 1))
done < <(cd "$work/one/build" && find . -name '*.a')
[ "$compared" -ge ${#targets[@]} ] || fail "only $compared libraries were compared"
echo "reproducible: $compared libraries are the same, byte for byte"
