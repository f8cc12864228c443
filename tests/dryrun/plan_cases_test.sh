#!/usr/bin/env bash
# Output of `berth plan` for jobs that do not fit, on small clusters modelled on public reports: all reasons, features
# that no node has, holders of taken resources, sets of changes, nodes that are not candidates.
#   tests/dryrun/plan_cases_test.sh BERTH
set -uo pipefail
berth=$1
cd "$(dirname "${BASH_SOURCE[0]}")/cases" || exit 1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0
broken() { echo "$1" >&2; failures=$((failures + 1)); }

plan() {  # plan CLUSTER JOB [OPTION...]
  what="plan $*"
  "$berth" plan --no-diff --require none "$@" > "$scratch/out" 2> "$scratch/err" ||
    broken "berth $what: $(cat "$scratch/err")"
}
says() { grep -qF -- "$1" "$scratch/out" ||
  broken "berth $what: does not say '$1' but: $(sed -n '/^Why/,$p' "$scratch/out")"; }
silent() { ! grep -qF -- "$1" "$scratch/out" || broken "berth $what: says '$1'"; }
warns() { grep -qF -- "$1" "$scratch/err" || broken "berth $what: does not warn of '$1' but: $(cat "$scratch/err")"; }

# The printed mean is that of the components before it.
plan weak-affinity/cluster.json weak-affinity/job.json --explain n4
says 'mean of binpack'
says '; not in the mean: job-anti-affinity, node-reschedule-penalty'
python3 - "$scratch/out" \
  << 'PYTHON' || broken "the mean is not that of its components: $(grep 'mean of' "$scratch/out")"
import re, sys
lines = [line for line in open(sys.argv[1]) if " = mean of " in line]
assert lines
for line in lines:
    score, parts = re.match(r" +score (\S+) = mean of ([^;]*)", line).groups()
    values = [float(part.split()[1]) for part in parts.strip().split(", ")]
    assert abs(sum(values) / len(values) - float(score)) < 1e-12, line
PYTHON

# All reasons of a node, and the set of changes that takes them away.
plan two-constraints/cluster.json two-constraints/job.json
says '${meta.role} = wrong; ${meta.env} = wrong'
says 'would fit with no constraint "${meta.role} = wrong" and no constraint "${meta.env} = wrong"'
silent 'no single change'
plan two-things/cluster.json two-things/job.json
says 'network: reserved port collision http=8080 (reserved by the node); memory'
grep -qE 'would fit with memory of task "t": [0-9]+ instead of 800 MiB and port "http" dynamic instead of 8080' \
  "$scratch/out" || broken "two changes at once: $(sed -n '/^Why/,$p' "$scratch/out")"

# Holders of a taken resource.
plan gpu-taken/cluster.json gpu-taken/job.json
says 'devices: no devices match request (1 nvidia/gpu held by '
plan system-port/cluster.json system-port/job.json
says 'network: reserved port collision p=3002 (held by '
plan preempt-cores/cluster.json preempt-cores/job.json
says 'cores (held by '
says 'eviction cannot free cores'

# What no candidate has.
plan computed-class/cluster.json computed-class/driver.json
says 'no candidate has driver podman'
says 'missing drivers (podman)'
plan computed-class/cluster.json computed-class/cni.json
says 'no candidate has network mode "cni/macvlan"'
plan computed-class/cluster.json computed-class/vault.json
says 'no candidate has ${attr.vault.version} semver >= 0.6.1'
plan computed-class/cluster.json computed-class/vol.json
says 'no candidate has host volume "data"'
plan computed-class/cluster.json computed-class/job.json
says 'no candidate has ${meta.role} = opps: "'

# No candidate at all: every node that would do, and what it takes.
plan no-nodes-eligible/cluster.json no-nodes-eligible/dc.json
says 'would fit with datacenter "dc1" as well'
plan no-nodes-eligible/cluster.json no-nodes-eligible/both.json
grep -qE 'would fit with memory of task "t": [0-9]+ instead of 9000 MiB and datacenter "dc1" as well' "$scratch/out" ||
  broken "a datacenter and memory: $(sed -n '/^Why/,$p' "$scratch/out")"
plan no-nodes-eligible/cluster.json no-nodes-eligible/drv.json
says 'no candidate has driver podman'
plan no-nodes-eligible/inel/cluster.json no-nodes-eligible/inel/job.json
grep -qE 'would fit on [a-z0-9]+ if it were (eligible|up|not draining)' "$scratch/out" ||
  broken "an ineligible node: $(sed -n '/^Why/,$p' "$scratch/out")"

# A rehearsal that places all leaves nothing to advise.
plan refused-then-placed/cluster.json refused-then-placed/job.json
says 'its plan applier would refuse this plan'
says '4 placed.'
silent 'What would help'

# Fields without effect, and sums beyond 64 bits.
plan disconnect-no-reschedule/cluster.json disconnect-no-reschedule/mcd.json
warns 'MaxClientDisconnect: Nomad 1.10 and later ignore it'
plan disconnect-no-reschedule/cluster.json disconnect-no-reschedule/mcd.json --option legacy_disconnect_fields=true
! grep -q 'ignore it' "$scratch/err" || broken "a field that an option brings back is called dead"
plan disconnect-no-reschedule/cluster.json disconnect-no-reschedule/repl.json
[ ! -s "$scratch/err" ] || broken "a warning without a reason: $(cat "$scratch/err")"
plan ../small.json ../jobs/cpu-max.json
says 'All tasks successfully allocated'
warns 'the requested cpu exceeds 64 bits'

# Exit codes for CI.
ends() {  # ends CODE ARGUMENTS...
  local code=$1 status=0
  shift
  "$berth" plan --no-diff "$@" > "$scratch/out" 2> "$scratch/err" || status=$?
  [ "$status" -eq "$code" ] || broken "berth plan $*: exit code $status instead of $code: $(cat "$scratch/err")"
}
ends 0 no-nodes-eligible/cluster.json no-nodes-eligible/pool.json --require no-evictions
ends 3 two-things/cluster.json two-things/job.json
ends 0 two-things/cluster.json two-things/job.json --require none
ends 3 two-things/cluster.json two-things/job.json --require fit
ends 3 ../small.json ../jobs/urgent.json --require fit
ends 0 refused-then-placed/cluster.json refused-then-placed/job.json --require fit
ends 5 refused-then-placed/cluster.json refused-then-placed/job.json
ends 3 no-nodes-eligible/cluster.json no-nodes-eligible/pool.json no-nodes-eligible/dc.json --require fit
ends 2 no-nodes-eligible/cluster.json no-nodes-eligible/none.json no-nodes-eligible/dc.json --require fit
ends 2 no-nodes-eligible/cluster.json no-nodes-eligible/pool.json --require all

# What CI systems read: JUnit's XML and annotations, of what fits and what does not.
"$berth" plan two-things/cluster.json two-things/job.json ../jobs/missing.json --junit "$scratch/junit.xml" \
  --annotations github > "$scratch/annotated" 2> /dev/null
python3 - "$scratch/junit.xml" "$scratch/annotated" \
  << 'PYTHON' || broken "JUnit or annotations: $(cat "$scratch/junit.xml" "$scratch/annotated")"
import sys
import xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
assert root.tag == "testsuites" and len(root) == 2
assert int(root.get("tests")) == len(root.findall("testsuite/testcase")) >= 2
failures = root.findall("testsuite/testcase/failure")
assert int(root.get("failures")) == len(failures) >= 2
assert {f.get("type") for f in failures} == {"does-not-fit", "refused"}
assert any("no node for" in f.get("message") and "would fit with" in f.text for f in failures)
lines = [line for line in open(sys.argv[2]) if line.startswith("::")]
assert len(lines) >= 2 and all(line.startswith("::error file=") for line in lines), lines
assert any("file=two-things/job.json,title=berth plan" in line and "%0A" in line for line in lines), lines
PYTHON
# Every node, with equal ones grouped.
"$berth" plan two-things/cluster.json two-things/job.json --explain all --require none > "$scratch/all" 2>&1
grep -q '^Each node, as if it were the only one:' "$scratch/all" || broken "--explain all: $(cat "$scratch/all")"
ends 2 no-nodes-eligible/cluster.json no-nodes-eligible/pool.json --require fit --nomad-exit-codes

[ "$failures" -eq 0 ] || exit 1
