#!/usr/bin/env bash
# `berth gate` must find a real slowdown. berth_slowed is the program with a hidden option that makes one stage
# slower by a share of its own time. Times depend on the machine, so a slowdown may be inconclusive
# (session_test.cc has the same on a simulated clock, where it must fail); it may never pass, nor be blamed on another
# stage.
#   slowdown_test.sh BERTH BERTH_SLOWED
set -uo pipefail
berth=$1 slowed=$2
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
broken() { echo "$1" >&2; failures=$((failures + 1)); }

# gate ALLOWED_CODES HEAD_OPTIONS OPTION...: the exit code must be one of these.
gate() {
  local allowed=" $1 " head=$2
  shift 2
  status=0
  "$berth" gate --base "$slowed" --head "$slowed $head" --quiet "$@" > "$work/said" 2>&1 || status=$?
  [[ $allowed == *" $status "* ]] || broken "head '$head': exit code $status, not one of$allowed: $(cat "$work/said")"
}

# The hidden option is no part of the program that is installed, and hidden where it is.
status=0
"$berth" run quickstart --label smoke --quiet --testing-slowdown rank=1 > /dev/null 2>&1 || status=$?
[ "$status" -eq 2 ] || broken "the program knows --testing-slowdown"
! "$slowed" run --help | grep -q testing || broken "berth_slowed shows its hidden option"

# Packed worse, at no cost in time: quality alone fails, on every machine. Counters of other work that worse packing
# makes (nodes looked at, heap allocations of more blocked evaluations) are let through.
gate 3 '--strategy worst-fit' --workloads saturated --counters-only \
  --limit decisions_digest=any,nodes_scored=any,nodes_filtered=any,snapshots=any,allocations=any,allocated_bytes=any
grep -qE 'saturated/smoke fragmentation: got [0-9.]+ %, want ≤ 33.83 %' "$work/said" ||
  broken "quality: $(cat "$work/said")"
grep -q '^regression: 3 regressions, 0 inconclusive' "$work/said" || broken "not quality alone: $(cat "$work/said")"

# One stage slower by 10 %, another by twice its own time: counters do not see it, times do.
for slowdown in rank=0.1 check=2; do
  stage=${slowdown%=*}
  gate '3 4' "--testing-slowdown $slowdown" --stages --metrics stage.rank,stage.check --effect 3% --max-repetitions 8
  echo "$slowdown: $(tail -n 1 "$work/said")"
  [ "$status" -ne 3 ] || grep -q "quickstart/smoke: the slower stage is $stage (+" "$work/said" ||
    broken "$slowdown: another stage is named: $(cat "$work/said")"
  ! grep -qE 'nodes_scored|decisions_digest|fragmentation' "$work/said" ||
    broken "$slowdown: counters differ: $(cat "$work/said")"
done

# A program four times as expensive on nomad-grid, whose decisions and other counters are the same: instructions tell.
if command -v valgrind > /dev/null; then
  status=0
  "$berth" gate record --binary "$slowed" --workloads nomad-grid --counters-only --instructions \
    --repetitions 1 -o "$work/grid.json" \
    --quiet > "$work/said" 2>&1 || broken "recording instructions: $(cat "$work/said")"
  for slowdown in none=0 rank=8; do
    head=$slowed
    [ "$slowdown" = none=0 ] || head="$slowed --testing-slowdown $slowdown"
    status=0
    "$berth" gate --baseline "$work/grid.json" --head "$head" --counters-only --instructions --repetitions 1 --quiet \
      --limit allocations=any,allocated_bytes=any > "$work/said" 2>&1 || status=$?
    echo "nomad-grid, $slowdown: $(grep -E 'instructions: |^pass' "$work/said")"
    if [ "$slowdown" = none=0 ]; then
      [ "$status" -eq 0 ] || broken "instructions of one program twice: exit code $status: $(cat "$work/said")"
    else
      [ "$status" -eq 3 ] && [ "$(grep -cE '^  nomad-grid/smoke' "$work/said")" -eq 1 ] &&
        grep -q 'instructions: got' "$work/said" ||
        broken "a more expensive nomad-grid: exit code $status: $(cat "$work/said")"
    fi
  done
fi

# The program against itself, while other processes come and go: never a regression.
bash bench/ci/aa-trials.sh 3 "$berth" --metrics busy_seconds,schedule_ns.mean --max-repetitions 6 > "$work/said" 2>&1 ||
  broken "trials against itself: $(cat "$work/said")"
tail -n 1 "$work/said"

[ "$failures" -eq 0 ] && echo "gate on real slowdowns: all checks hold"
exit $((failures > 0))
