#!/usr/bin/env bash
# `berth whatif` from outside: steps in the order of the command line, JSON by its schema, exit codes, one line per
# error.
#   tests/whatif/whatif_command_test.sh BERTH
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
  "$berth" whatif "$@" > "$scratch/out" 2> "$scratch/err" || status=$?
  [ "$status" -eq "$code" ] || broken "berth whatif $*: exit code $status instead of $code: $(cat "$scratch/err")"
}
says() { grep -qE -- "$1" "$scratch/out" || broken "berth whatif: does not say '$1' but: $(cat "$scratch/out")"; }
refuses() { # PATTERN ARGUMENTS...
  local pattern=$1
  shift
  expect 2 "$@"
  [ ! -s "$scratch/out" ] || broken "berth whatif $*: wrote a report in spite of bad input"
  [ "$(wc -l < "$scratch/err")" -eq 1 ] ||
    broken "berth whatif $*: not one line on standard error: $(cat "$scratch/err")"
  grep -qE -- "$pattern" "$scratch/err" || broken "berth whatif $*: '$(cat "$scratch/err")' does not match '$pattern'"
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
if ! "$berth" whatif "$scratch/small.toml" --config algorithm=binpack > /dev/null 2> "$scratch/err"; then
  broken "the workload of this test is not taken: $(cat "$scratch/err")"
fi
expect 0 "$scratch/small.toml" --register "$scratch/job.json" --add 4 --shape cpu=10000,memory=8192,disk=50000 \
  --lose meta.rack=r1 --verbose --json "$scratch/report.json"
says '^Step 1: register .*job.json$'
says '^0 moved, 12 new, 0 stopped, 0 evicted'
says '^Step 2: add 4 of cpu=10000,memory=8192,disk=50000 \(4 nodes\)$'
says '^Step 3: lose meta.rack=r1 \(4 nodes\)$'
says '^4 moved, 0 new, 0 stopped, 0 evicted'
python3 - "$scratch/report.json" bench/schema/berth-whatif.json \
  <<'PYTHON' || broken "the report does not follow its schema"
import json, sys
import jsonschema
report, schema = (json.load(open(path)) for path in sys.argv[1:3])
jsonschema.validate(report, schema)
assert [step["step"].split()[0] for step in report["steps"]] == ["register", "add", "lose"], report
PYTHON
# Without the new nodes the same loss leaves four without a place.
expect 3 "$scratch/small.toml" --register "$scratch/job.json" --remove meta.rack=r1
says '^web +app +4 +this step +8 nodes: cpu exhausted$'
printf 'register %s\ndrain name=node-1\n' "$scratch/job.json" > "$scratch/steps"
expect 3 "$scratch/small.toml" --step-file "$scratch/steps" --deadline force
says '^Step 2: drain name=node-1 \(1 node\)$'
printf '# price\nall 0.5\n' > "$scratch/prices"
expect 0 "$scratch/small.toml" --remove meta.rack=r1 --prices "$scratch/prices"
says '^Before: 12 nodes.*, 6.00 an hour$'
says '^After:  8 nodes.*, 4.00 an hour$'

refuses 'has no step' "$scratch/small.toml"
refuses "step 1: 'drain meta.rack=r9': matches no node" "$scratch/small.toml" --drain meta.rack=r9
refuses '--drain.*unknown key' "$scratch/small.toml" --drain rack=r1
refuses '--add.*does not say which nodes' "$scratch/small.toml" --add 3
refuses '--add.*does not say which nodes' "$scratch/small.toml" --add 3 --drain all
refuses '--like.*no --add before' "$scratch/small.toml" --like node-1
refuses 'no whole number' "$scratch/small.toml" --add -1 --like node-1
refuses 'is neither a file or folder' "$scratch/missing.json" --drain all
printf 'drain all\ndrian all\n' > "$scratch/steps"
refuses "steps:2: there is no step 'drian'; did you mean 'drain'" "$scratch/small.toml" --step-file "$scratch/steps"
refuses '--deadline' "$scratch/small.toml" --drain all --deadline soon
refuses 'no job' "$scratch/small.toml" --stop web
# Steps that contradict earlier ones.
job=$scratch/job.json
refuses "step 3: 'stop web': job 'web' is stopped" "$scratch/small.toml" --register "$job" --stop web --stop web
refuses "step 3: 'scale web/app=3': job 'web' is stopped" "$scratch/small.toml" --register "$job" --stop web \
  --scale web/app=3
refuses "step 2: 'drain node-1': matches only nodes that an earlier step has lost" "$scratch/small.toml" --lose node-1 \
  --drain node-1
refuses "step 2: 'drain node-1': matches no node" "$scratch/small.toml" --remove node-1 --drain node-1
expect 0 "$scratch/small.toml" --lose node-1 --remove node-1
# An evaluation whose plans are refused in part for ever (R-SCHED-10) does not hold up the simulated cluster.
expect 0 tests/conform/endless-stage-09.json.gz --stop web
says '^Step 1: stop web$'
# A removed machine keeps its name in the report.
expect 3 "$scratch/small.toml" --register "$job" --remove node-1 --add 1 --like node-2
says '^web +app\[[0-9]+\] +node-1 +new-1$|^web +app\[[0-9]+\] +new-1$'
expect 0 tests/dryrun/recorded/stage-02.snap --remove client-1
says '^web +web\[[0-9]\] +client-1 +client-2$'
# A job file in HCL, with variables; of several faults the first is named.
cat > "$scratch/job.hcl" <<'HCL'
variable "count" {
  type = number
}
job "api" {
  datacenters = ["*"]
  group "app" {
    count = var.count
    task "main" {
      driver = "exec"
      config {
        command = "x"
      }
    }
  }
}
HCL
expect 0 "$scratch/small.toml" --register "$scratch/job.hcl" --var count=5
says '^0 moved, 5 new'
NOMAD_VAR_count=4 expect 0 "$scratch/small.toml" --register "$scratch/job.hcl"
says '^0 moved, 4 new'
refuses "job.hcl:.*Unset variable" "$scratch/small.toml" --register "$scratch/job.hcl"
printf 'job "a" {\n  first = 1\n  second = 2\n  third = 3\n}\n' > "$scratch/faulty.hcl"
refuses 'faulty.hcl:2,3-8: Unsupported argument.*\(and 2 more\)$' "$scratch/small.toml" --register "$scratch/faulty.hcl"

# The scheduler finds room by eviction, the plan applier refuses (R-PREEMPT-202): nothing is placed, and the report says
# so.
expect 3 tests/dryrun/small.json --register tests/dryrun/jobs/urgent.json
says '^urgent +first +1 +this step +the plan applier refuses the plans$'
[ "$failures" -eq 0 ]
