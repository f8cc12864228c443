#!/usr/bin/env bash
# Compares this copy of the specification with the original in $BERTH_SHARED, or in a folder `shared` next to the
# checkout or next to its parent. Exits with 77 (skipped) if there is none.
#   tests/spec/check_copy.sh SOURCE_DIR
set -uo pipefail
cd "$1" || exit 1
for shared in "${BERTH_SHARED:-}" ../shared ../../shared; do
  [ -n "$shared" ] && [ -d "$shared/spec" ] && break
  shared=
done
[ -n "$shared" ] || { echo "skipped: no folder shared/spec next to the checkout"; exit 77; }

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
