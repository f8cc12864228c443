#!/usr/bin/env bash
# `berth profile` and `berth load` from outside: exit codes, one line per error, files that follow their schemas.
#   tests/profile/profile_command_test.sh BERTH
set -uo pipefail
command=profile
# shellcheck source=tests/support/command_test.sh
. "$(dirname "${BASH_SOURCE[0]}")/../support/command_test.sh"

# option_refused OPTION ARGUMENTS...: exit 2, and standard error names the option.
option_refused() {
  local option=$1 status=0
  shift
  "$berth" "$command" --quiet quickstart --label smoke "$option" "$@" > "$scratch/out" 2> "$scratch/err" || status=$?
  [ "$status" -eq 2 ] || broken "berth $command $option $*: exit code $status instead of 2"
  grep -q -- "$option" "$scratch/err" ||
    broken "berth $command $option $*: '$(cat "$scratch/err")' does not name the option"
  [ ! -s "$scratch/out" ] || broken "berth $command $option $*: wrote a report in spite of bad input"
}

expect 2 'no-such: there is no such file' no-such --json "$scratch/none.json"
expect 2 'no workload was named'
expect 2 "there is no label 'huge'" quickstart --label huge
expect 2 'none/a.json: its folder does not exist' quickstart --label smoke --json "$scratch/none/a.json"
expect 2 'none/t: its folder does not exist' quickstart --label smoke --trace "$scratch/none/t"
expect 2 'is a folder' quickstart --label smoke --flame "$scratch"
expect 2 "'soon' is not an evaluation" quickstart --label smoke --only soon
expect 2 "'0' is not an evaluation" quickstart --label smoke --only 0
expect 2 'the run has no evaluation 12345.6' quickstart --label smoke --only 12345.6
"$berth" profile --roofline --json "$scratch/none.json" > "$scratch/out" 2> "$scratch/err"
[ $? -eq 2 ] || broken "berth profile --roofline --json without a workload: not refused"
option_refused --slowest 0
option_refused --detail 0
option_refused --workers 0
option_refused --overhead-rounds -1
expect 2 "'nomad-grid' has no jobs that several workers could decide at once" nomad-grid --label smoke --scaling
# Hardware events by name, where the program was built with libpfm; a plain statement where it was not.
expect 2 "--counters: (libpfm.* does not know|this build has no libpfm, which would know) 'no-such-event'" quickstart \
  --label smoke --counters no-such-event
[ ! -e "$scratch/none.json" ] || broken "a report was written in spite of bad input"

# Good ones: the digest of a run, all files.
"$berth" run quickstart --label smoke --quiet --json "$scratch/run.json" > "$scratch/out"
"$berth" profile quickstart --label smoke --quiet --overhead-rounds 1 --slowest 3 --json "$scratch/profile-1.json" \
  --trace "$scratch/trace.json" --flame "$scratch/stacks" > "$scratch/out" || broken "a good profile failed with $?"
"$berth" profile quickstart --label smoke --quiet --overhead-rounds 0 --scaling --json "$scratch/profile-scaling.json" \
  > "$scratch/out-scaling" || broken "a good profile with --scaling failed with $?"
for workers in 16 64; do
  grep -qE "^ +$workers .*predicted: [0-9.]+ times one worker$" "$scratch/out-scaling" ||
    broken "--scaling does not say that $workers workers are predicted"
done
digest=$(grep -o '"decisions_digest": "[0-9a-f]*"' "$scratch/run.json")
grep -qF "$digest" "$scratch/profile-1.json" || broken "profiling changed the decisions"
# Every counter is there or its absence is explained.
python3 - "$scratch/profile-1.json" << 'PYTHON' || broken "counters are neither there nor explained"
import json, sys
counters = json.load(open(sys.argv[1]))["counters"]
for name in ["cycles", "instructions", "cache_misses", "l1d_misses", "dtlb_misses", "branch_misses", "page_faults"]:
    assert (name in counters["values"]) != (name in counters["missing"]), name
assert counters["named_by"] == "the kernel" or counters["named_by"].startswith("libpfm"), counters
PYTHON
grep -q '^  overhead    .*% ± ' "$scratch/out" || broken "the overhead is not told"
for file in trace.json stacks stacks.svg; do [ -s "$scratch/$file" ] || broken "$file was not written"; done
grep -q '</svg>' "$scratch/stacks.svg" || broken "the flame graph is cut off"
grep -qE '^  flame       stacks from (perf|the stage sampler)' "$scratch/out" ||
  broken "the output does not name the profiler"
again=$(sed -n 's/^  again: berth profile //p' "$scratch/out")
# shellcheck disable=SC2086  # words
"$berth" profile --quiet $again --json "$scratch/profile-2.json" > "$scratch/out" ||
  broken "profile $again failed with $?"
grep -q '"evaluations": 1,' "$scratch/profile-2.json" || broken "--only profiled another number of evaluations than one"
"$berth" profile nomad-grid --label smoke --quiet --overhead-rounds 0 --json "$scratch/profile-3.json" \
  > "$scratch/out" ||
  broken "a profile of nomad-grid failed with $?"
"$berth" profile storm --label smoke --quiet --overhead-rounds 0 --workers 2 --json "$scratch/profile-4.json" \
  > "$scratch/out" ||
  broken "a profile of storm failed with $?"

# No room for a report: exit 1, no half file. A file size limit of 0 stands for a full disk.
(trap '' XFSZ; ulimit -f 0
 "$berth" profile quickstart --label smoke --quiet --overhead-rounds 0 --json "$scratch/full.json" \
   > /dev/null 2> /dev/null)
[ $? -eq 1 ] || broken "a full disk does not give exit code 1"
[ ! -e "$scratch/full.json" ] || broken "a full disk left a report"

command=load
expect 2 'no-such: there is no such file' no-such
expect 2 'no workload was named'
expect 2 'nomad-grid has no arrivals' nomad-grid --label smoke
expect 2 'none/a.json: its folder does not exist' quickstart --label smoke --json "$scratch/none/a.json"
expect 2 "'0' is not a number of workers" quickstart --label smoke --workers 0
expect 2 "'two' is not a number of workers" quickstart --label smoke --workers 1,two
expect 2 "'10' is not a time above 0" quickstart --label smoke --p99-limit 10
expect 2 "'0ms' is not a time above 0" quickstart --label smoke --p99-limit 0ms
expect 2 'first rate is above the highest' quickstart --label smoke --from 100 --to 10
expect 2 'is shorter than one trial' quickstart --label smoke --max-time 0.5
option_refused --from 0
option_refused --seconds 0
option_refused --resolution 0
"$berth" load quickstart --label smoke --quiet --p99-limit 1000s --from 1 --to 2 --seconds 0.1 --workers 1,2 \
  --json "$scratch/load-1.json" > "$scratch/out" || broken "a good load failed with $?"
[ "$(grep -c 'highest rate sustained' "$scratch/out")" -eq 2 ] ||
  broken "load does not tell the rate of both numbers of workers"

# A full cluster answers quickly and places little: no rate of it is sustained, unless so little is enough.
option_refused --placed 101
small_workload 4000 > "$scratch/full.toml"
"$berth" load "$scratch/full.toml" --quiet --p99-limit 1000s --from 50 --to 50 --seconds 0.1 \
  --json "$scratch/load-full.json" > "$scratch/out"
grep -qE 'NOT: only [0-9.]+ % placed' "$scratch/out" && ! grep -qE '% +sustained' "$scratch/out" ||
  broken "a rate at which little is placed counts as sustained: $(cat "$scratch/out")"
grep -q 'no growing backlog, 99 % placed' "$scratch/out" || broken "load does not say what sustained means"
"$berth" load "$scratch/full.toml" --quiet --p99-limit 1000s --from 50 --to 50 --seconds 0.1 --placed 0 > "$scratch/out"
grep -qE '% +sustained' "$scratch/out" || broken "--placed 0 still asks for placements: $(cat "$scratch/out")"

# What was written follows the schemas, and those refuse another kind or version.
if python3 -c 'import jsonschema' 2> /dev/null; then
  python3 - "$scratch" << 'PYTHON' || broken "the files above do not follow their schemas"
import glob, json, sys
import jsonschema

failed = 0
for kind in ["profile", "load"]:
    schema = json.load(open(f"bench/schema/berth-{kind}.json"))
    validator = jsonschema.validators.validator_for(schema)
    validator.check_schema(schema)
    files = glob.glob(f"{sys.argv[1]}/{kind}-*.json")
    assert files, kind
    for path in files:
        value = json.load(open(path))
        for problem in list(validator(schema).iter_errors(value))[:5]:
            print(f"{path}: {'/'.join(map(str, problem.absolute_path))}: {problem.message[:200]}")
            failed += 1
        for key in ["format", "version"]:
            errors = list(validator(schema).iter_errors({**value, key: "else"}))
            assert errors, f"berth-{kind}.json accepts another {key}"
json.load(open(f"{sys.argv[1]}/trace.json"))
sys.exit(failed > 0)
PYTHON
fi

[ "$failures" -eq 0 ] && echo "berth profile, berth load: all checks hold"
exit $((failures > 0))
