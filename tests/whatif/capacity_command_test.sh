#!/usr/bin/env bash
# `berth capacity` from outside: room for jobs and for the present mix, before and after a loss; JSON, exit codes,
# errors.
#   tests/whatif/capacity_command_test.sh BERTH
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
  "$berth" capacity "$@" > "$scratch/out" 2> "$scratch/err" || status=$?
  [ "$status" -eq "$code" ] || broken "berth capacity $*: exit code $status instead of $code: $(cat "$scratch/err")"
}
says() { grep -qE -- "$1" "$scratch/out" || broken "berth capacity: does not say '$1' but: $(cat "$scratch/out")"; }
refuses() { # PATTERN ARGUMENTS...
  local pattern=$1
  shift
  expect 2 "$@"
  [ "$(wc -l < "$scratch/err")" -eq 1 ] ||
    broken "berth capacity $*: not one line on standard error: $(cat "$scratch/err")"
  grep -qE -- "$pattern" "$scratch/err" || broken "berth capacity $*: '$(cat "$scratch/err")' does not match '$pattern'"
}

cat > "$scratch/small.toml" <<'TOML'
name = "small"
seed = 1
[cluster]
nodes = 12
racks = 3
datacenters = ["dc1"]
[[cluster.shapes]]
name = "plain"
cores = 4
mhz_per_core = 2500
memory_mb = 8192
disk_mb = 50_000
drivers = ["exec"]
[jobs]
count = 1
[[jobs.mix]]
name = "none"
templates = 1
count = 1
cpu_mhz = 100
memory_mb = 64
TOML
cat > "$scratch/job.json" <<'JSON'
{"Job": {"ID": "web", "Name": "web", "Type": "service", "Datacenters": ["*"], "TaskGroups": [{"Name": "app", "Count": 12,
 "Spreads": [{"Attribute": "${node.unique.id}", "Weight": 100}],
 "Tasks": [{"Name": "main", "Driver": "exec", "Config": {"command": "x"}, "Resources": {"CPU": 6000, "MemoryMB": 512}}]}]}}
JSON
sed 's/"web"/"big"/g; s/"exec"/"mock_driver"/; s/"Spreads":.*$//' "$scratch/job.json" > "$scratch/big.json"
# 12 nodes of 10,000 MHz: one of 6,000 on each. Six more nodes of 20,000: three on each.
expect 0 "$scratch/small.toml" "$scratch/job.json" --survive meta.rack --json "$scratch/report.json"
says '^Now: 12 nodes'
says '^  present mix: nothing runs that could grow$'
says '^  web app: 12 allocations fit; then 12 nodes: cpu exhausted$'
says '^Without meta.rack=r0: 8 nodes'
says '^  web app: 8 allocations fit; then 8 nodes: cpu exhausted$'
python3 - "$scratch/report.json" bench/schema/berth-capacity.json \
  <<'PYTHON' || broken "the report does not follow its schema"
import json, sys
import jsonschema
report, schema = (json.load(open(path)) for path in sys.argv[1:3])
jsonschema.validate(report, schema)
assert [room["jobs"][0]["placed"] for room in report["rooms"]] == [12, 8], report
PYTHON
expect 0 "$scratch/small.toml" "$scratch/job.json" --add 6 --shape cpu=20000,memory=32768,disk=100000
says '^  web app: 30 allocations fit'
# With half of what fits running, the mix can double, and survives the loss of a rack with a third more.
sed 's/"Count": 12/"Count": 6/' "$scratch/job.json" > "$scratch/half.json"
expect 0 "$scratch/small.toml" --register "$scratch/half.json" --survive meta.rack
says '^  present mix: 11[0-9] % more of all that runs \(6 allocations\); then web app: 12 nodes: cpu exhausted$'
says '^  present mix: 4[0-9] % more of all that runs \(2 allocations\); then web app: 8 nodes: cpu exhausted$'
# What does not survive the loss.
expect 3 "$scratch/small.toml" --register "$scratch/job.json" --survive meta.rack
says '^  without a place: web app, 4 missing: 8 nodes: cpu exhausted$'

# What can grow of a periodic job is what it launches, also where the job is already in the cluster.
sed 's/"Type": "service",/"Type": "batch", "Periodic": {"Enabled": true, "SpecType": "cron", "Spec": "0 * * * *"},/' \
  "$scratch/job.json" > "$scratch/nightly.json"
expect 0 "$scratch/small.toml" "$scratch/nightly.json" --register "$scratch/nightly.json"
says '^  web/periodic app: 12 allocations fit; then 12 nodes: cpu exhausted$'
# What binds where: by node class, where they have several. And growth since an older state.
expect 0 tests/diff/recorded/stage-04.snap --since tests/dryrun/recorded/stage-02.snap
says '^Since tests/dryrun/recorded/stage-02.snap: 0.0031 days, cpu \+[0-9.]+ and memory \+[0-9.]+ points a day; the present mix fits for [0-9.]+ more days$'
expect 0 tests/dryrun/recorded/stage-02.snap --register "$scratch/big.json" "$scratch/big.json"
says 'big app: [0-9]+ allocations fit; then .*cpu exhausted \(exhausted by node class: [0-9]+ compute, 1 memory\)$'

refuses "no node has 'meta.row'" "$scratch/small.toml" --survive meta.row
refuses 'is no key of nodes' "$scratch/small.toml" --survive rack
refuses 'is not older' "$scratch/small.toml" --since "$scratch/small.toml"
refuses 'missing.json' "$scratch/small.toml" "$scratch/missing.json"
refuses 'matches no node' "$scratch/small.toml" --drain nothing
[ "$failures" -eq 0 ]
