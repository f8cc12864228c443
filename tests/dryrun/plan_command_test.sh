#!/usr/bin/env bash
# `berth plan` from outside: recorded answers of a real cluster, what berth adds to them, exit codes, one line per
# error.
#   tests/dryrun/plan_command_test.sh BERTH
set -uo pipefail
berth=$1
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
here=tests/dryrun
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0
broken() { echo "$1" >&2; failures=$((failures + 1)); }

# expect CODE ARGUMENTS...: runs `berth plan`, output in $scratch/out and $scratch/err.
expect() {
  local code=$1 status=0
  shift
  "$berth" plan "$@" > "$scratch/out" 2> "$scratch/err" || status=$?
  [ "$status" -eq "$code" ] || broken "berth plan $*: exit code $status instead of $code: $(cat "$scratch/err")"
}
says() { grep -qF -- "$1" "$scratch/out" || broken "berth plan: does not say '$1' but: $(cat "$scratch/out")"; }
silent() { ! grep -qF -- "$1" "$scratch/out" || broken "berth plan: says '$1'"; }
# refuses CODE PATTERN ARGUMENTS...: nothing on standard output, one line on standard error that matches.
refuses() {
  local code=$1 pattern=$2
  shift 2
  expect "$code" "$@"
  [ ! -s "$scratch/out" ] || broken "berth plan $*: wrote a plan in spite of bad input"
  [ "$(wc -l < "$scratch/err")" -eq 1 ] || broken "berth plan $*: not one line on standard error"
  grep -qE -- "$pattern" "$scratch/err" || broken "berth plan $*: '$(cat "$scratch/err")' does not match '$pattern'"
}

# Recorded requests: answer, text and exit code equal those of Nomad.
replay() { "$berth" conform "$1" --diff 2 > "$scratch/conform" ||
  broken "berth conform $1: $(cat "$scratch/conform")"; }
replay $here/recorded
grep -q '^6 equal, 0 differ' "$scratch/conform" ||
  broken "berth conform $here/recorded: $(tail -n 1 "$scratch/conform")"
shared=
for folder in "${BERTH_SHARED:-}" ../shared ../../shared; do
  if [ -z "$shared" ] && [ -n "$folder" ] && [ -d "$folder/datasets/nomad-export/plans" ]; then shared=$folder; fi
done
if [ -n "$shared" ]; then
  # The verbose text of plan 60 is of a run that took the nine groups in another order (a map's, R-SCHED-204), which
  # berth does not draw; its answer and its plain text agree.
  "$berth" conform "$shared/datasets/nomad-export" --diff 58 > "$scratch/conform"
  grep -q '^57 equal, 1 differ' "$scratch/conform" || broken "the whole export: $(tail -n 1 "$scratch/conform")"
  [ "$(grep -E '^plan-[0-9]+  in' "$scratch/conform" | cut -c1-7)" = plan-60 ] ||
    broken "the whole export: $(cat "$scratch/conform")"
  grep -E '^  [^ ]' "$scratch/conform" | grep -qv '^  text.verbose' &&
    broken "plan 60 differs in more than its verbose text"
else
  echo "the whole export is not here: 52 of 58 recorded requests were skipped"
fi

# What a job needs that does not fit, and what would help; the numbers follow from small.json: 1000 MHz, all in use.
expect 3 $here/small.json $here/jobs/low.json
says 'Task Group "app" (failed to place 3 allocations):'
says '* Dimension "cpu" exhausted on 1 nodes'
says 'Why 3 of group "app" found no node:'
grep -qE 'alone +100 MHz +- +-' "$scratch/out" ||
  broken "the shortage of the nearest node is wrong: $(cat "$scratch/out")"
says 'filtered most: "${meta.rack} = r2", 1 node'
says 'no single change'
expect 1 --nomad-exit-codes $here/small.json $here/jobs/low.json

# Settings other than the cluster's: without preemption the urgent job finds no room, and the last setting of a kind
# counts.
expect 3 $here/small.json $here/jobs/urgent.json --preemption service=off --json "$scratch/settings.json"
silent 'Preemptions:'
says "Decided with settings other than the cluster's: preemption service=off"
grep -q '"service=off"' "$scratch/settings.json" || broken "berth plan --preemption: not in the JSON"
expect 3 $here/small.json $here/jobs/urgent.json --preemption service=off --preemption service=on --algorithm spread
says 'Preemptions:'
expect 3 $here/small.json $here/jobs/urgent.json --strategy best-fit:norm=max --json "$scratch/settings.json"
says "Decided with settings other than the cluster's: strategy best-fit:norm=max"
grep -q '"strategy": "best-fit:norm=max"' "$scratch/settings.json" || broken "berth plan --strategy: not in the JSON"
refuses 2 'there is no such strategy; did you mean' $here/small.json $here/jobs/low.json --strategy best-fitt
refuses 2 'is not a score of each node' $here/small.json $here/jobs/low.json --strategy random
refuses 2 "'best' is no algorithm; write binpack or spread" $here/small.json $here/jobs/low.json --algorithm best
refuses 2 "'service' is no kind of job and on or off" $here/small.json $here/jobs/low.json --preemption service
refuses 2 "'all=on' is no kind of job" $here/small.json $here/jobs/low.json --preemption all=on

# A job for another region than the cluster's jobs, which Nomad would forward (R-REG-312).
"$berth" import $here/recorded/stage-02.snap -o "$scratch/real.json" > /dev/null 2>&1
sed 's/"global"/"eu"/' $here/jobs/low.json > "$scratch/eu.json"
refuses 2 "eu.json:6:13: /Job/Region: the job is for region 'eu', the cluster is region 'global'" "$scratch/real.json" \
  "$scratch/eu.json"
sed 's/^job "urgent" {/&\n  region = "eu"/' $here/jobs/urgent.hcl > "$scratch/eu.hcl"
refuses 2 "eu.hcl:/Job/Region: the job is for region 'eu'" "$scratch/real.json" "$scratch/eu.hcl"
expect 3 "$scratch/real.json" $here/jobs/low.json

# Surprising behaviour of Nomad: success is announced, the plan applier refuses (R-PREEMPT-202, R-CTRL-610).
expect 3 $here/small.json $here/jobs/urgent.json --visiting-orders 3 --explain alone
says '- All tasks successfully allocated.'
says 'Warning: Nomad reports success, but its plan applier would refuse this plan:'
says 'node "alone": cpu'
says 'Simulated to the end, the evaluation fails after 6 plans: maximum attempts reached (5); 0 placed.'
says 'Over 3 visiting orders:'
says 'Node "alone" (11111111-1111-4111-8111-111111111111), as if it were the only one:'
says 'group "first": takes 1'
says 'binpack'
expect 3 $here/small.json $here/jobs/urgent.json --json -
says '"FailedTGAllocs": {}'
says '"reason": "cpu"'
cp "$scratch/out" "$scratch/plan-1.json"
expect 3 $here/small.json $here/jobs/urgent.json --json - --visiting-orders 3 --explain alone
cp "$scratch/out" "$scratch/plan-2.json"
expect 3 $here/small.json $here/jobs/low.json --json - --no-diff
cp "$scratch/out" "$scratch/plan-3.json"
expect 3 $here/small.json $here/jobs/urgent.json --no-diff
silent '+ Job: "urgent"'

"$berth" plan $here/small.json $here/jobs/urgent.json --json - > /dev/full 2> "$scratch/err"
[ $? -eq 1 ] && grep -q -- '-: cannot be written' "$scratch/err" ||
  broken "a full disk is not noticed: $(cat "$scratch/err")"

# Colours: where they are asked for, never in a file, and not with NO_COLOR.
expect 3 --color always $here/small.json $here/jobs/urgent.json
says "$(printf '\033[32m+ Job: "urgent"\033[0m')"
says "$(printf '\033[33mWarning: ')"
NO_COLOR=1 expect 3 $here/small.json $here/jobs/urgent.json
silent "$(printf '\033[')"
if command -v script > /dev/null; then  # a terminal of 70 columns
  TERM=xterm script -qec "$berth plan $here/small.json $here/jobs/urgent.json" /dev/null > "$scratch/out" < /dev/null
  says "$(printf '\033[32m+ Job: "urgent"\033[0m')"
  TERM=xterm NO_COLOR=1 script -qec "$berth plan $here/small.json $here/jobs/urgent.json" /dev/null \
    > "$scratch/out" < /dev/null
  silent "$(printf '\033[')"
fi

# Where: the node and score of every placement, the node of every eviction; what helps where the applier would refuse.
expect 3 $here/small.json $here/jobs/urgent.json
grep -qE '^urgent\.first\[0\] +first +alone +[01]\.[0-9]{4} ' "$scratch/out" ||
  broken "no node and score: $(cat "$scratch/out")"
grep -qE '^aaaaaaaa[-0-9a-f]* +filler +fill +alone$' "$scratch/out" ||
  broken "no node of an eviction: $(cat "$scratch/out")"
says 'What would help group "'
expect 3 $here/small.json $here/jobs/urgent.json --json -
python3 - "$scratch/out" << 'PYTHON' || broken "the JSON does not say where: $(cat "$scratch/out")"
import json, sys
berth = json.load(open(sys.argv[1]))["Berth"]
assert berth["version"] == 3 and berth["job"] == "urgent" and berth["together"] is False
assert [p["node"] for p in berth["placements"]].count("alone") == len(berth["placements"]) > 0
assert all(0 < p["score"] <= 1 and p["node_id"].startswith("11111111") for p in berth["placements"])
assert all(e["node"] == "alone" and e["job"] == "filler" for e in berth["evictions"]) and berth["evictions"]
helped = [a for a in berth["advice"] if a["refused"] > 0]
assert helped and all(a["failed"] == 0 for a in helped)
PYTHON

# Together: the second job is planned on what the first one leaves. A node of 1000 MHz holds 10 of 100 MHz.
python3 - $here/small.json $here/jobs/low.json "$scratch" << 'PYTHON'
import copy, json, sys
cluster, job = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))
for path in list(cluster):
    if path.endswith("/allocations"):
        cluster[path] = []
json.dump(cluster, open(sys.argv[3] + "/empty.json", "w"))
del job["Job"]["TaskGroups"][1]
for name in "one", "two", "three":
    job["Job"]["ID"] = job["Job"]["Name"] = name
    job["Job"]["TaskGroups"][0]["Count"] = 6 if name != "three" else 1
    json.dump(job, open(sys.argv[3] + "/" + name + ".json", "w"))
PYTHON
expect 0 "$scratch/empty.json" "$scratch/one.json" "$scratch/two.json" --no-diff
[ "$(grep -c 'All tasks successfully allocated' "$scratch/out")" -eq 2 ] ||
  broken "each by itself: $(cat "$scratch/out")"
expect 3 "$scratch/empty.json" "$scratch/one.json" "$scratch/two.json" "$scratch/three.json" --no-diff --together
says 'failed to place 2 allocations'
says 'failed to place 1 allocation)'
[ "$(grep -c 'All tasks successfully allocated' "$scratch/out")" -eq 1 ] || broken "together: $(cat "$scratch/out")"
[ "$(grep -cE '^(one|two)\.app\[[0-9]\] +app +alone' "$scratch/out")" -eq 10 ] ||
  broken "not 10 placements: $(cat "$scratch/out")"
"$berth" plan "$scratch/empty.json" "$scratch/one.json" "$scratch/none.json" "$scratch/two.json" --together \
  > "$scratch/out" 2> "$scratch/err"
[ $? -eq 2 ] || broken "a job that is not there does not end --together"
silent 'two.app'

# The page, where Chart.js is; the same by `berth report`.
if [ -e /usr/share/javascript/chart.js/chart.min.js ] || [ -n "${BERTH_CHART_JS:-}" ]; then
  expect 3 "$scratch/empty.json" "$scratch/one.json" "$scratch/two.json" --together --html "$scratch/plan.html"
  grep -q 'Plan of two' "$scratch/plan.html" || broken "the page does not have the second plan"
fi
"$berth" plan "$scratch/empty.json" "$scratch/one.json" --json - > "$scratch/one-plan.json"
"$berth" report "$scratch/one-plan.json" > "$scratch/out" || broken "berth report does not take a plan"
says 'Plan of one'

# Reasons of a single node: also if the second pass, with preemption, only has the class verdict, and where a
# system job passes over the node without a failure.
expect 3 $here/small.json $here/jobs/low.json --no-diff --explain alone
says '    filtered: ${meta.rack} = r2'
sed 's/"service"/"system"/; s/"Count": [0-9]*/"Count": 1/' $here/jobs/low.json > "$scratch/system.json"
expect 3 $here/small.json "$scratch/system.json" --no-diff --explain alone
says '    filtered: ${meta.rack} = r2'

# An option for earlier behaviour is named with the decisions made under it; one that does not exist is refused.
expect 3 $here/small.json $here/jobs/urgent.json --option plan_id_length=8 --option preemption_min_delta=1000
says 'Decided with options other than Nomad'"'"'s of today: preemption_min_delta=1000 plan_id_length=8'
says 'failed to place'
silent 'Preemptions:'
expect 3 $here/small.json $here/jobs/urgent.json --option plan_id_length=8
says 'aaaaaaaa  filler  fill'
expect 3 $here/small.json $here/jobs/urgent.json --json - --option system_reporting=seed
says '"system_reporting": "seed"'
refuses 2 "option 'nothing' is unknown" $here/small.json $here/jobs/low.json --option nothing=1

# A setting that nothing reads is refused, not listed in results.
refuses 2 'remote_task_drivers is for clients' $here/small.json $here/jobs/low.json --option remote_task_drivers=ecs

# Advice for the first groups only, within seconds however many fail.
groups() {  # groups COUNT: a job of so many groups that do not fit
  printf '{"Job": {"ID": "many", "Name": "many", "Type": "service", "Priority": 15, "Datacenters": ["dc1"], "TaskGroups": ['
  for ((g = 0; g < $1; ++g)); do
    [ "$g" -eq 0 ] || printf ','
    printf '{"Name": "g%03d", "Count": 2, "EphemeralDisk": {"SizeMB": 150}, "Tasks": [{"Name": "t", "Driver": "exec",
      "Config": {"command": "x"}, "Resources": {"CPU": 100, "MemoryMB": 100}}]}' "$g"
  done
  printf ']}}'
}
groups 20 > "$scratch/twenty.json"
expect 3 $here/small.json "$scratch/twenty.json" --no-diff
[ "$(grep -c 'found no node' "$scratch/out")" -eq 16 ] || broken "not the first 16 of 20 groups get advice"
says 'No advice for 4 more failed groups; --advice 20 gives it for all.'
expect 3 $here/small.json "$scratch/twenty.json" --no-diff --advice 20
[ "$(grep -c 'found no node' "$scratch/out")" -eq 20 ] || broken "not all of 20 groups get advice"
silent 'No advice for'
expect 3 $here/small.json "$scratch/twenty.json" --no-diff --advice 0
says 'No advice for 20 failed groups; --advice 20 gives it for all.'
silent 'found no node'
expect 3 $here/small.json "$scratch/twenty.json" --json - --advice 1
says '"advice_left_out": 19'
cp "$scratch/out" "$scratch/plan-4.json"
groups 400 > "$scratch/many.json"
timeout 60 "$berth" plan $here/small.json "$scratch/many.json" --no-diff --require none > "$scratch/out" ||
  broken "advice for a job of 400 groups takes more than a minute"
says 'No advice for 384 more failed groups'

# The clock is the newest time of the cluster: one in the future is named, unless --now says otherwise.
sed '0,/"ModifyTime": 1795300001000000000/s//"ModifyTime": 4000000000000000000/' $here/small.json \
  > "$scratch/future.json"
expect 3 "$scratch/future.json" $here/jobs/low.json --no-diff
grep -qE '^warning: allocation aaaaaaaa-[-0-9a-f]+: its ModifyTime 2096-10-02T07:06:40Z is in the future; .*--now TIME' \
  "$scratch/err" || broken "a time in the future is not named: $(cat "$scratch/err")"
[ "$(grep -c future "$scratch/err")" -eq 1 ] || broken "a time in the future is told more than once"
expect 3 "$scratch/future.json" $here/jobs/low.json --no-diff --now 2026-11-23T00:00:00Z
! grep -q future "$scratch/err" || broken "a time in the future is reported in spite of --now: $(cat "$scratch/err")"

# Of many warnings of an import the first 20, as `berth import` has it.
comma=
{
  printf '{"/v1/evaluations?namespace=*": ['
  for ((n = 100; n < 125; ++n)); do
    printf '%s{"ID": "99999999-1111-4111-8111-111111111%s", "Type": "service", "Status": "pending", "JobID": "gone"}' \
      "$comma" "$n"
    comma=', '
  done
  printf '], '
  tail -c +2 $here/small.json
} > "$scratch/warned.json"
expect 3 "$scratch/warned.json" $here/jobs/low.json --no-diff
[ "$(grep -c '^warning: ' "$scratch/err")" -eq 21 ] || broken "not 20 warnings and a count: $(cat "$scratch/err")"
grep -q '^warning: and 5 more' "$scratch/err" || broken "the other warnings are not counted: $(cat "$scratch/err")"

# A workload's cluster after a while.
expect 3 quickstart $here/jobs/low.json --no-diff --at 100ms
grep -qE 'filtered most: "\$\{meta.rack\} = r2", [0-9]{4} nodes' "$scratch/out" ||
  broken "the constraint that filters most is not named: $(cat "$scratch/out")"
refuses 2 'is not a workload, so it has no state at another time' $here/small.json $here/jobs/low.json --at 2s
refuses 2 "'soon' is not a time above 0" quickstart $here/jobs/low.json --at soon
refuses 2 'nomad-grid.toml:cluster: has no cluster that lives on' nomad-grid $here/jobs/low.json

# Counts that no cluster could carry out are refused where nothing validates them (R-MODEL-621), and canaries always.
printf '{"ID": "big", "Name": "big", "Type": "service", "Version": 1, "JobModifyIndex": 30, "CreateIndex": 3,
  "Datacenters": ["dc1"], "TaskGroups": [{"Name": "g", "Count": 2000000000,
    "Tasks": [{"Name": "t", "Driver": "exec"}]}]}' \
  > "$scratch/big.json"
refuses 2 'big.json:[0-9]+:[0-9]+: /TaskGroups/0: a count of 2000000000; a count is from 0 to 10000000' \
  $here/small.json "$scratch/big.json"
sed 's/"Version": 1, "JobModifyIndex": 30, "CreateIndex": 3,//; s/2000000000/1, "Update": {"Canary": 2000000000}/' \
  "$scratch/big.json" > "$scratch/canaries.json"
refuses 2 'canaries.json:[0-9]+:[0-9]+: /TaskGroups/0: 2000000000 canaries' $here/small.json "$scratch/canaries.json"
sed 's/2000000000/-5/' "$scratch/big.json" > "$scratch/negative.json"
refuses 2 'negative.json:[0-9]+:[0-9]+: /TaskGroups/0: a count of -5;' $here/small.json "$scratch/negative.json"

# Several jobs, planned separately.
expect 3 $here/small.json $here/jobs/urgent.json $here/jobs/low.json
[ "$(grep -c '^Scheduler dry-run:' "$scratch/out")" -eq 2 ] || broken "not two plans for two jobs"

# Bad input: one clear line; a job that Nomad refuses prints Nomad's text.
refuses 2 'none.json: ' $scratch/none.json $here/jobs/low.json
refuses 2 'none.json: ' $here/small.json $scratch/none.json
printf 'job "x" {\n  foo = 1\n}\n' > "$scratch/x.hcl"
refuses 2 'x.hcl:2,3-6: Unsupported argument; An argument named "foo" is not expected here.$' $here/small.json \
  "$scratch/x.hcl"
refuses 2 'x.hcl: variables are for HCL files|urgent.json: variables are for HCL files' $here/small.json \
  $here/jobs/urgent.json --var a=1
refuses 2 'Undefined -var variable' $here/small.json $here/jobs/urgent.hcl --var nothing=1
refuses 2 'Failed to read file; failed to read "none.vars"' $here/small.json $here/jobs/urgent.hcl --var-file none.vars
printf 'job "x" {\n  region = file("x.hcl")\n}\n' > "$scratch/file.hcl"
expect 2 $here/small.json "$scratch/file.hcl"
grep -q 'filesystem function disabled' "$scratch/err" || broken "file() without leave: $(cat "$scratch/err")"
hints() { grep -q -- "^note: .*$1" "$scratch/err" || broken "no hint about $1: $(cat "$scratch/err")"; }
hints --allow-file-functions
printf 'variable "a" {}\nvariable "b" {}\njob "x" {}\n' > "$scratch/unset.hcl"
expect 2 $here/small.json "$scratch/unset.hcl"
hints '--var NAME=VALUE'
[ "$(grep -c '/unset.hcl: Unset variable' "$scratch/err")" -eq 2 ] || broken "not both variables: $(cat "$scratch/err")"
: > "$scratch/empty.hcl"
refuses 2 'empty.hcl: Missing job block; A job block is required' $here/small.json "$scratch/empty.hcl"
printf '"job" "x" {\n}\n' > "$scratch/quoted.nomad"
refuses 2 'quoted.nomad:1,1-2: Invalid argument name' $here/small.json "$scratch/quoted.nomad"
# A template that has to be rendered first, and lines that only look like one.
template() {
  printf 'job "x" {\n  %s\n}\n' "$1" > "$scratch/template.hcl"
  expect 2 $here/small.json "$scratch/template.hcl"
}
printf '[[- /* defaults */ -]]\njob "x" {\n}\n' > "$scratch/pack.nomad.tpl"
expect 2 $here/small.json "$scratch/pack.nomad.tpl"
hints 'Levant or Nomad Pack'
for text in 'priority = [[ .priority ]]' '[[ template "region" . ]]' 'priority = [[ var "p" . | int ]]' '[[- end ]]'; do
  template "$text"
  hints 'Levant or Nomad Pack'
done
for text in 'priority = {{ priority }}' '{% if x %}'; do
  template "$text"
  hints Ansible
done
for text in 'priority = ${priority}' '%{ if x }'; do
  template "$text"
  hints Terraform
done
for text in 'datacenters = [["a" 1]]' 'name = "{{ x }} ${y z}"'; do
  template "$text"
  ! grep -q '^note' "$scratch/err" || broken "a hint for $text: $(cat "$scratch/err")"
done

# An HCL job file is planned as its JSON is; variables by option, file and environment. At priority 5 it may evict
# nothing.
echo 'priority = 5' > "$scratch/priority.vars"
expect 3 $here/small.json $here/jobs/urgent.hcl
says '+ Job: "urgent"'
says 'filler  fill'
expect 3 $here/small.json $here/jobs/urgent.hcl --var nothing=1 --hcl2-strict=false
says 'filler  fill'
for how in "--var priority=5" "--var-file $scratch/priority.vars"; do
  expect 3 $here/small.json $here/jobs/urgent.hcl $how
  silent 'filler  fill'
done
NOMAD_VAR_priority=5 expect 3 $here/small.json $here/jobs/urgent.hcl
silent 'filler  fill'
refuses 2 "'yesterday' is not an RFC 3339 time" $here/small.json $here/jobs/low.json --now yesterday
refuses 2 "'9999-12-31T23:59:59Z' lies after 2262-04-11T23:47:16Z" $here/small.json $here/jobs/low.json \
  --now 9999-12-31T23:59:59Z
refuses 2 "there is no node 'nobody'" $here/small.json $here/jobs/low.json --explain nobody
refuses 255 'none.json: ' --nomad-exit-codes $scratch/none.json $here/jobs/low.json
expect 2 $here/small.json $here/jobs/refused.json
grep -q 'errors occurred' "$scratch/err" || broken "Nomad's validation errors are missing: $(cat "$scratch/err")"
[ ! -s "$scratch/out" ] || broken "a refused job was planned"

# A job cut out of a CLUSTER.json is the stored one, also at version 0 (R-MODEL-621): nothing would change.
"$berth" import tests/conform/endless-stage-09.json.gz -o "$scratch/cluster.json" > /dev/null 2>&1
sed -n '/^"Jobs": \[$/,/\],*$/p' "$scratch/cluster.json" | grep '"Version":0[,}].*,$' |
  sed -n '1,4s/,$//p' > "$scratch/cut"
[ "$(wc -l < "$scratch/cut")" -eq 4 ] || broken "no jobs to cut out of CLUSTER.json"
while read -r job; do
  echo "$job" > "$scratch/job.json"
  expect 0 "$scratch/cluster.json" "$scratch/job.json" --json -
  grep -qE '"Type": ?"None"' "$scratch/out" ||
    broken "a job of CLUSTER.json is not the stored one: $(cat "$scratch/out")"
done < "$scratch/cut"

# The JSON follows its schema, which refuses another format, version and kind of end.
if python3 -c 'import jsonschema' 2> /dev/null; then
  python3 - "$scratch"/plan-*.json << 'PYTHON' || broken "the JSON of plan does not follow bench/schema/berth-plan.json"
import json, sys
import jsonschema

schema = json.load(open("bench/schema/berth-plan.json"))
jsonschema.Draft202012Validator.check_schema(schema)
problems = lambda value: list(jsonschema.Draft202012Validator(schema).iter_errors(value))
values = [json.load(open(path)) for path in sys.argv[1:]]
for value in values:
    for problem in problems(value):
        sys.exit(f"{'/'.join(map(str, problem.absolute_path))}: {problem.message[:200]}")
    for key in ["format", "version"]:
        assert problems({**value, "Berth": {**value["Berth"], key: "else"}}), f"accepts another {key}"
for change in (change for value in values for advice in value["Berth"]["advice"] for change in advice["changes"]):
    assert change["patch"] is None or change["patch"], change
assert "applier" in values[0]["Berth"] and "orders" in values[1]["Berth"] and values[2]["Berth"]["advice"]
values[0]["Berth"]["applier"]["end"] = "else"
assert problems(values[0]), "accepts another end"
PYTHON
fi

[ "$failures" -eq 0 ] && echo "plan: all checks passed"
exit $((failures > 0))
