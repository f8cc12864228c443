#!/usr/bin/env bash
# `berth rebalance` from outside: a recorded cluster, JSON by its schema, the script, exit codes, one line per error.
#   tests/rebalance/rebalance_command_test.sh BERTH
set -uo pipefail
berth=$1
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cluster=tests/dryrun/recorded/stage-02.snap
failures=0
broken() { echo "$1" >&2; failures=$((failures + 1)); }
expect() { # CODE ARGUMENTS...
  local code=$1 status=0
  shift
  "$berth" rebalance "$@" > "$scratch/out" 2> "$scratch/err" || status=$?
  [ "$status" -eq "$code" ] || broken "berth rebalance $*: exit code $status instead of $code: $(cat "$scratch/err")"
}
refuses() { # PATTERN ARGUMENTS...
  local pattern=$1
  shift
  expect 2 "$@"
  [ "$(wc -l < "$scratch/err")" -eq 1 ] ||
    broken "berth rebalance $*: not one line on standard error: $(cat "$scratch/err")"
  grep -qE -- "$pattern" "$scratch/err" ||
    broken "berth rebalance $*: '$(cat "$scratch/err")' does not match '$pattern'"
}

for limit in "" "--moves 3" "--empty 1" "--batch" "--fragmentation 100"; do
  # shellcheck disable=SC2086
  expect 0 "$cluster" $limit --json "$scratch/plan.json" --script "$scratch/moves.sh"
  grep -qE '^8 nodes: [0-9]+ occupied, [0-9]+ with [0-9]+ moves?$' "$scratch/out" ||
    broken "no summary: $(cat "$scratch/out")"
  sh -n "$scratch/moves.sh" || broken "the script is none"
  python3 - "$scratch/plan.json" bench/schema/berth-rebalance.json "$scratch/moves.sh" "$limit" \
    <<'PYTHON' || broken "$limit: wrong plan"
import json, sys
import jsonschema
report, schema = (json.load(open(path)) for path in sys.argv[1:3])
jsonschema.validate(report, schema)
plan = report["plan"]
assert plan["bound"]["nodes"] <= plan["occupied_after"] <= plan["occupied_before"] <= plan["nodes"] == 8, plan
assert plan["occupied_before"] - plan["occupied_after"] == len(plan["emptied"]), plan
assert all(move["from"] in plan["emptied"] and move["to"] not in plan["emptied"] + plan["idle"]
           for move in plan["moves"]), plan
assert round(sum(move["gain"] for move in plan["moves"])) == len(plan["emptied"]), plan
if sys.argv[4] == "--moves 3": assert len(plan["moves"]) <= 3, plan
if sys.argv[4] == "--empty 1": assert len(plan["emptied"]) <= 1, plan
if sys.argv[4] == "--fragmentation 100": assert not plan["moves"], plan
stops = [line.split("#")[0].split()[-1] for line in open(sys.argv[3]) if line.startswith("nomad alloc stop ")]
assert stops == [move["id"] for move in plan["moves"]], stops
PYTHON
done
refuses '--moves' "$cluster" --moves -1
refuses '--moves' "$cluster" --moves many
refuses '--empty' "$cluster" --empty 0
refuses '--fragmentation' "$cluster" --fragmentation 101
refuses 'missing.snap' "$scratch/missing.snap"
head -c 2000 "$cluster" > "$scratch/cut.snap"
refuses 'cut.snap' "$scratch/cut.snap"
refuses '--json' "$cluster" --json "$cluster"
[ "$failures" -eq 0 ]
