#!/usr/bin/env bash
# The specification here against the one it was copied from, where that is at hand: in $BERTH_SHARED, or in a folder
# `shared` beside the checkout or beside the folder that holds it. Exits with 77 (skipped) where it is not.
#   tests/spec/check_copy.sh SOURCE_DIR
set -uo pipefail
cd "$1" || exit 1
for shared in "${BERTH_SHARED:-}" ../shared ../../shared; do
  [ -n "$shared" ] && [ -d "$shared/spec" ] && break
  shared=
done
[ -n "$shared" ] || { echo "skipped: no folder shared/spec beside the checkout"; exit 77; }

failures=0
for original in "$shared"/spec/*; do
  cmp "$original" "tests/spec/${original##*/}" || failures=$((failures + 1))
done
for copy in tests/spec/README.md tests/spec/[01]*.md tests/spec/*.txt; do
  case "${copy##*/}" in CMakeLists.txt) continue ;; esac
  [ -e "$shared/spec/${copy##*/}" ] || { echo "$copy: not in $shared/spec"; failures=$((failures + 1)); }
done
[ "$failures" -eq 0 ] && echo "the specification is the same in both places"
exit $((failures > 0))
