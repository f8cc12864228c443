#!/usr/bin/env bash
# The composite actions in .github/actions, run step by step as GitHub runs them (run_action.py). Not covered: GitHub
# itself, and the building of a berth where none is given. Exit code 77: Python has no PyYAML.
#   tests/install/actions_test.sh BERTH SOURCE_DIR
set -uo pipefail
berth=$1 source=$2
python3 -c 'import yaml' 2> /dev/null || { echo "skipped: python3-yaml is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
broken() { echo "$1" >&2; failures=$((failures + 1)); }
cd "$work" || exit 1
export GITHUB_STEP_SUMMARY=$work/summary

# action CODE TEXT NAME INPUT=VALUE...: runs it, wants this exit code and this text (an extended regular expression).
action() {
  local want=$1 text=$2 name=$3 status=0
  shift 3
  : > summary
  python3 "$source/tests/install/run_action.py" "$source/.github/actions/$name" "$@" > said 2>&1 || status=$?
  [ "$status" -eq "$want" ] || broken "$name $*: exit code $status instead of $want: $(tail -n 5 said)"
  grep -qE -- "$text" said || broken "$name $*: does not say '$text': $(tail -n 5 said)"
}

export FAKE_COUNTER=$work/counter
echo 0 > counter
fake() { # fake NAME ARGUMENTS: a program with the numbers of tests/gate/fake_berth.sh
  printf '#!/usr/bin/env bash\nexec bash "%s" "$@" %s\n' "$source/tests/gate/fake_berth.sh" "$2" > "$1"
  chmod +x "$1"
}
fake even "" && fake slow "--scored 30000"
# The judge is this build; the program it judges is handed over as it would be on a runner.
printf '#!/usr/bin/env bash\nif [ "$1" = gate ]; then exec "%s" "$@" --head "%s"; fi\nexec "%s" "$@"\n' "$berth" \
  "$work/slow" "$berth" > judge_slow
printf '#!/usr/bin/env bash\nif [ "$1" = gate ]; then exec "%s" "$@" --head "%s"; fi\nexec "%s" "$@"\n' "$berth" \
  "$work/even" "$berth" > judge_even
chmod +x judge_slow judge_even

action 0 '^output verdict=pass$' gate berth="$work/judge_even" base="$work/even" workloads=quickstart
grep -q '^### berth gate: pass' summary || broken "the summary lacks the verdict"
[ -s berth-gate/gate.json ] && [ -s berth-gate/gate.xml ] || broken "gate.json or gate.xml is missing"
action 3 '^output verdict=regression$' gate berth="$work/judge_slow" base="$work/even" workloads=quickstart \
  results=elsewhere
grep -q '^### berth gate: regression' summary && grep -q '<failure' elsewhere/gate.xml ||
  broken "the regression is not in the results"
"$berth" gate record --binary "$work/even" -o baseline.json --repetitions 3 --quiet > /dev/null || broken "no baseline"
action 0 '^output verdict=pass$' gate berth="$work/judge_even" baseline="$work/baseline.json" counters-only=true
sed 's/"cpu": "[^"]*"/"cpu": "another"/' baseline.json > foreign.json
action 0 '^::warning title=berth gate::inconclusive' gate berth="$work/judge_even" baseline="$work/foreign.json"
action 2 'no base was named' gate berth="$work/judge_even"
action 2 '^::error title=berth::.*is no berth that runs here' gate berth=/bin/false base="$work/even"

cp "$source"/tests/dryrun/jobs/*.json . && cp "$source/tests/dryrun/small.json" cluster.json
fits=$(for job in *.json; do "$berth" plan cluster.json "$job" > /dev/null 2>&1 && echo "$job"; done | head -n 1)
misses=$(for job in *.json; do
  "$berth" plan cluster.json "$job" > /dev/null 2>&1
  [ $? -eq 3 ] && echo "$job"
done | head -n 1)
[ -n "$fits" ] && [ -n "$misses" ] ||
  broken "tests/dryrun/jobs has no job that fits ($fits) or none that does not ($misses)"
action 0 '^output verdict=fits$' plan berth="$berth" cluster=cluster.json jobs="$fits"
grep -q 'Scheduler dry-run' summary && [ -s berth-plan/plan.xml ] || broken "the summary or plan.xml lacks the plan"
action 3 "^::error file=$misses,title=berth plan" plan berth="$berth" cluster=cluster.json jobs="$misses"
grep -q '^output verdict=does-not-fit$' said || broken "a job that does not fit is not called so"
grep -q '^::' summary && broken "annotations are in the summary"
action 0 '^output verdict=fits$' plan berth="$berth" cluster=cluster.json jobs="$misses" require=none together=true
action 2 "^::error title=berth plan::no job file matches 'none/" plan berth="$berth" cluster=cluster.json \
  jobs='none/*.hcl'
action 1 'input jobs is required' plan berth="$berth" cluster=cluster.json
mkdir tools && ln -s "$berth" tools/berth
PATH="$work/tools:$PATH" action 0 '^output verdict=fits$' plan cluster=cluster.json jobs="$fits"

[ "$failures" -eq 0 ] && echo "actions: gate and plan do as they say"
exit $((failures > 0))
