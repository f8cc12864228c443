#!/usr/bin/env bash
# `berth diff` from outside: two recorded states of a real cluster, JSON, exit codes, errors.
#   tests/diff/diff_command_test.sh BERTH
set -uo pipefail
berth=$1
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0
broken() { echo "$1" >&2; failures=$((failures + 1)); }
expect() { # CODE ARGUMENTS...
  local code=$1 status=0
  shift
  "$berth" diff "$@" > "$scratch/out" 2> "$scratch/err" || status=$?
  [ "$status" -eq "$code" ] || broken "berth diff $*: exit code $status instead of $code: $(cat "$scratch/err")"
}
says() { grep -qE -- "$1" "$scratch/out" || broken "berth diff: does not say '$1' but: $(cat "$scratch/out")"; }
refuses() { # PATTERN ARGUMENTS...
  local pattern=$1
  shift
  expect 2 "$@"
  [ "$(wc -l < "$scratch/err")" -eq 1 ] || broken "berth diff $*: not one line on standard error: $(cat "$scratch/err")"
  grep -qE -- "$pattern" "$scratch/err" || broken "berth diff $*: '$(cat "$scratch/err")' does not match '$pattern'"
}
recorded=tests/dryrun/recorded
later=tests/diff/recorded/stage-04.snap

# A snapshot and the export of the same moment do not differ.
expect 0 $recorded/stage-02.snap $recorded/stage-02.json.gz --exit-code
says '^No difference$'
# Two states, compared with a diff computed in Python.
expect 3 $recorded/stage-02.snap $later --exit-code --verbose --json "$scratch/report.json"
says '^4 moved, 6 replaced on their node, 10 new, 0 ended; 24 failed$'
says '^api.api\[0\] +api +moved +client-4 +client-3 '
"$berth" import $recorded/stage-02.snap -o "$scratch/1.json" > /dev/null 2>&1
"$berth" import $later -o "$scratch/2.json" > /dev/null 2>&1
python3 - "$scratch/report.json" bench/schema/berth-diff.json "$scratch/1.json" "$scratch/2.json" \
  <<'PYTHON' || broken "the report is not what the exports say"
import json, sys
import jsonschema
report, schema, one, two = (json.load(open(path)) for path in sys.argv[1:5])
jsonschema.validate(report, schema)
def allocs(state):
    return {a["ID"]: a for a in state["Allocs"]}
def live(a):
    return a["DesiredStatus"] == "run" and a.get("ClientStatus") not in ("complete", "failed", "lost")
one, two = allocs(one), allocs(two)
before = {i for i, a in one.items() if live(a)}
after = {i for i, a in two.items() if live(a)}
d = report["differences"]
assert d["before"]["live"] == len(before) and d["after"]["live"] == len(after), d["after"]
changes = d["allocations"]
assert {c["new_id"] for c in changes if "new_id" in c} == after - before
assert {c["old_id"] for c in changes if "old_id" in c} == before - after
assert sum(g["live_after"] - g["live_before"] for g in d["groups"]) == len(after) - len(before)
assert sum(n["came"] for n in d["nodes"]) == len(after - before)
assert sum(n["cpu_mhz"] for n in d["nodes"]) == sum(g["cpu_mhz"] for g in d["groups"])
for c in changes:
    if c["change"] in ("moved", "replaced"):
        old, new = one[c["old_id"]], two[c["new_id"]]
        assert (old["JobID"], old["TaskGroup"]) == (new["JobID"], new["TaskGroup"]), c
        assert (old["NodeID"] != new["NodeID"]) == (c["change"] == "moved"), c
        assert c["from"] == old["NodeName"] and c["to"] == new["NodeName"], c
failed = sum(a["ClientStatus"] == "failed" and one.get(i, {}).get("ClientStatus") != "failed" for i, a in two.items())
assert sum(g["failed"] for g in d["groups"]) == sum(n["failed"] for n in d["nodes"]) == failed > 0
PYTHON
# The other way round what was new has gone.
expect 0 $later $recorded/stage-02.snap --verbose
says '^sandbox.sandbox\[7\] +sandbox +ended +client-1 +- +gone$'
grep -q 'stage-02.snap is older than' "$scratch/err" || broken "berth diff does not warn of moments in the wrong order"

refuses 'missing.json' $recorded/stage-01.snap "$scratch/missing.json"
refuses 'has no node, job or allocation of' $recorded/stage-01.json.gz quickstart
head -c 1000 $recorded/stage-01.snap > "$scratch/cut.snap"
refuses 'cut.snap' "$scratch/cut.snap" "$scratch/1.json"
cp "$scratch/1.json" "$scratch/keep.json"
refuses 'keep.json' "$scratch/1.json" "$scratch/keep.json" --json "$scratch/keep.json"
cmp -s "$scratch/1.json" "$scratch/keep.json" || broken "berth diff wrote over its input"
# The decisions between both, on states restored from them; most differences come from what neither state shows.
expect 0 $recorded/stage-02.snap $later --decisions --json "$scratch/report.json"
says '^Decisions between A and B, made again$'
says '^  not compared [0-9]+: its allocations were changed again later$'
python3 - "$scratch/report.json" bench/schema/berth-diff.json \
  <<'PYTHON' || broken "the decisions are not what Nomad decided"
import json, sys
import jsonschema
report, schema = (json.load(open(path)) for path in sys.argv[1:3])
jsonschema.validate(report, schema)
decisions = report["decisions"]
evals = decisions["evaluations"]
assert evals["compared"] >= 35 and evals["equal"] >= 0.85 * evals["compared"], evals
assert evals["equal"] + evals["different"] == evals["compared"] == len(decisions["different"]) + evals["equal"], evals
assert decisions["nomad"]["placed"] == decisions["berth"]["placed"] > 0, decisions
PYTHON
# Between a state and itself nothing is decided.
expect 0 $recorded/stage-02.snap $recorded/stage-02.snap --decisions
says '^Evaluations    0 finished, 0 compared$'
[ "$failures" -eq 0 ]
