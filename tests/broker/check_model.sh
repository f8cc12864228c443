#!/usr/bin/env bash
# Checks a Promela model exhaustively with spin and, to show that its checks can fail, its broken variant.
#   tests/broker/check_model.sh MODEL.pml "PRODUCERS=2 PUSHES=1 CONSUMERS=2 POPS=1" ["..."]...
# Every further argument is one set of bounds. Exits with 77 (skipped) when spin is not installed, but not where the
# environment variable CI is set: bench/packages.txt installs it there.
set -uo pipefail
model=$(realpath "$1")
shift
if ! command -v spin > /dev/null; then
  echo "spin is not installed: apt-get install spin" >&2
  [ -n "${CI:-}" ] && exit 1
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

# search NAME SPIN_ARGUMENT...: leaves pan's report in NAME.log
search() {
  local name=$1
  shift
  spin -a "$@" "$model" > "$name.spin" 2>&1 || { cat "$name.spin" >&2; return 1; }
  # Compiling costs more than searching. COLLAPSE and no hashing of states away: every state is kept, so the search is
  # complete.
  ${CC:-cc} -O0 -w -DSAFETY -DCOLLAPSE -DMEMLIM=4000 -o "$name" pan.c || return 1
  "./$name" -m2000000 > "$name.log" 2>&1
  return 0
}

failures=0
for bounds in "$@"; do
  defines=()
  for bound in $bounds; do defines+=("-D$bound"); done
  search complete "${defines[@]}" || exit 1
  if grep -q 'errors: 0$' complete.log && ! grep -qE 'depth too small|out of memory|not completed' complete.log; then
    echo "$(basename "$model") $bounds: $(grep -oE '[0-9.e+]+ states, stored' complete.log), no error"
  else
    echo "$(basename "$model") $bounds: an error, or the search was cut short" >&2
    cat complete.log >&2
    failures=$((failures + 1))
  fi
done
search broken -DBROKEN || failures=$((failures + 1))
if grep -q 'assertion violated' broken.log 2> /dev/null; then
  echo "$(basename "$model") with -DBROKEN: found, as it must be"
else
  echo "$(basename "$model") with -DBROKEN: the checks found nothing, so they check nothing" >&2
  failures=$((failures + 1))
fi
exit $((failures > 0))
