#!/usr/bin/env bash
# Checks a Promela model exhaustively with spin. Then it checks each of the model's BROKEN_... variants, in which a step
# is left out or exchanged: an error must be found there, or the checks check nothing.
#   tests/support/check_model.sh [--lock-free] MODEL.pml "PRODUCERS=2 PUSHES=1" ["..."]...
# Each argument after the model is one set of bounds. --lock-free: also looks for a way that comes back to a state. If
# there is none, every process comes to its end whatever the order of their steps; with KILL=1, all but the killed one.
# Exits with 77 (skipped) when spin is not installed, but not where the environment variable CI is set:
# bench/packages.txt installs it there.
set -uo pipefail
kinds=(safety)
if [ "$1" = --lock-free ]; then kinds=(cycles safety); shift; fi  # `cycles` does not see processes that wait for ever
model=$(realpath "$1")
name=$(basename "$model")
shift
if ! command -v spin > /dev/null; then
  echo "spin is not installed: apt-get install spin" >&2
  [ -n "${CI:-}" ] && exit 1
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

# search safety|cycles SPIN_ARGUMENT...: leaves pan's report in log
search() {
  local kind=$1 compile=(-DSAFETY) options=()
  shift
  # Without progress labels, each cycle is one without progress.
  [ "$kind" = safety ] || { compile=(-DNP -DNOFAIR); options=(-l); }
  spin -a "$@" "$model" > spin.log 2>&1 || { cat spin.log >&2; return 1; }
  # Compiling costs more than searching. COLLAPSE and no hashing of states away: every state is kept, so the search is
  # complete.
  ${CC:-cc} -O0 -w "${compile[@]}" -DCOLLAPSE -DMEMLIM=4000 -o pan pan.c || return 1
  ./pan -m2000000 ${options[@]+"${options[@]}"} > log 2>&1
  return 0
}

failures=0
for bounds in "$@"; do
  defines=()
  for bound in $bounds; do defines+=("-D$bound"); done
  for kind in "${kinds[@]}"; do
    search "$kind" "${defines[@]}" || exit 1
    if grep -q 'errors: 0$' log && ! grep -qE 'depth too small|out of memory|not completed' log; then
      echo "$name $bounds: $kind: $(grep -oE '[0-9.e+]+ states, stored' log), no error"
    else
      echo "$name $bounds: $kind: an error, or the search was cut short" >&2
      cat log >&2
      failures=$((failures + 1))
    fi
  done
done
for variant in $(grep -oE '^#ifn?def BROKEN_[A-Z]+' "$model" | grep -oE 'BROKEN_[A-Z]+' | sort -u); do
  found=
  for kind in "${kinds[@]}"; do
    search "$kind" "-D$variant" || exit 1
    if grep -qE '^pan:1: (assertion violated|invalid end state|non-progress cycle)' log; then
      found=$(grep -oE 'assertion violated|invalid end state|non-progress cycle' log | head -n 1)
      break
    fi
  done
  if [ -n "$found" ]; then
    echo "$name with -D$variant: $found, as it must be"
  else
    echo "$name with -D$variant: the checks found nothing, so they check nothing" >&2
    failures=$((failures + 1))
  fi
done
exit $((failures > 0))
