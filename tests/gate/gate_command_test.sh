#!/usr/bin/env bash
# `berth gate` from outside: exit codes, one-line errors, files. The sides are fake_berth.sh, so nothing depends on
# time; a comparison of the real program with itself at the end must not be a regression.
#   gate_command_test.sh BERTH SOURCE_DIR
set -uo pipefail
berth=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
broken() { echo "$1" >&2; failures=$((failures + 1)); }
export FAKE_COUNTER="$work/counter"
fake="bash $source/tests/gate/fake_berth.sh"
cat > "$work/berth" << WRAP
#!/usr/bin/env bash
exec $fake "\$@"
WRAP
chmod +x "$work/berth"
fake="$work/berth"
cd "$work" || exit 1

# gate CODE TEXT ARGUMENT...: runs it, wants this exit code and this text (an extended regular expression) in what it
# says.
gate() {
  local want=$1 text=$2 status=0
  shift 2
  echo 0 > "$FAKE_COUNTER"
  "$berth" gate "$@" --quiet > "$work/said" 2>&1 || status=$?
  [ "$status" -eq "$want" ] || broken "gate $*: exit code $status instead of $want: $(tail -n 3 "$work/said")"
  grep -qE -- "$text" "$work/said" || broken "gate $*: does not say '$text': $(tail -n 5 "$work/said")"
}
one_line() { [ "$(wc -l < "$work/said")" -eq 1 ] || broken "not one line: $(cat "$work/said")"; }

# Verdicts.
gate 0 '^pass: 0 regressions, 0 inconclusive' --base "$fake" --head "$fake"
gate 3 'quickstart/smoke schedule_ns.mean: got 27[0-9.]+ us, want ≤ 26[0-9.]+ us \(base 25[0-9.]+ us, \+10\.[0-9] %, noise 0\.[0-9] %, n = [0-9]+\)' \
  --base "$fake" --head "$fake --schedule 275000"
grep -q 'the slower stage is schedule (+10' "$work/said" || broken "the slower stage is not named"
gate 3 'the slower stage is commit' --base "$fake" --head "$fake --commit 170000"
gate 3 'fragmentation: got 37.00 %, want ≤ 35.50 %' --base "$fake" --head "$fake --fragmentation 0.37"
gate 3 'nodes_scored: got 26,100, want ≤ 26,000' --base "$fake" --head "$fake --scored 26100"
gate 3 'decisions_digest: got 00, want 28189347284f1fe1' --base "$fake" --head "$fake --digest 00"
gate 0 '1 improved' --base "$fake" --head "$fake --scored 20000"
gate 0 '^pass' --base "$fake" --head "$fake --scored 26100 --digest 00" --limit nodes_scored=1%,decisions_digest=any
gate 0 '^pass' --base "$fake" --head "$fake --schedule 275000" --effect 15%
gate 0 '^pass' --base "$fake" --head "$fake" --workloads quickstart,storm:full --label smoke
gate 3 '^regression: [0-9]+ regressions' --base "$fake" --head "$fake --schedule 300000 --scored 30000" \
  --json verdict.json --markdown verdict.md --history history.db --junit verdict.xml
grep -q '"result": "regression"' verdict.json || broken "verdict.json lacks the result"
grep -q '| quickstart/smoke | nodes_scored | 26,000 | 30,000 |' verdict.md || broken "verdict.md lacks the regression"
python3 - << 'PYTHON' || broken "JUnit's XML is not as it should be: $(head -c 2000 verdict.xml)"
import xml.etree.ElementTree as tree
root = tree.parse("verdict.xml").getroot()
suite, = root
assert root.tag == "testsuites" and suite.get("name") == "berth gate quickstart/smoke"
cases = {case.get("name"): case for case in suite}
assert len(cases) == len(suite) == int(root.get("tests")) > 10
failures = {name for name, case in cases.items() if case.find("failure") is not None}
assert {"schedule_ns.mean", "nodes_scored"} <= failures and len(failures) == int(root.get("failures")) < len(cases)
assert "want ≤" in cases["nodes_scored"].find("failure").get("message")
assert "the slower stage is schedule" in cases["schedule_ns.mean"].find("failure").text
assert len(suite.findall("testcase/skipped")) == int(root.get("skipped"))
PYTHON
[ "$(python3 -c 'import sqlite3
print(sqlite3.connect("history.db").execute("select count(*) from runs").fetchone()[0])')" = 1 ] ||
  broken "history.db has not one run"
gate 0 'evaluation_latency_ns.p99 +time' --list-metrics

# A profile of the slower side: a stand-in for perf that runs the program, and none at all.
mkdir tools profiles
cat > tools/perf << 'PERF'
#!/usr/bin/env bash
if [ "$1" = record ]; then
  while [ "$1" != -- ]; do [ "$1" = -o ] && data=$2; shift; done
  shift && "$@" && echo data > "$data"
else
  printf '# comment\n\n    42.00%%  berth  [.] keep_fitting\n'
fi
PERF
chmod +x tools/perf
PATH="$work/tools:$PATH" gate 3 'profile of the head in profiles/quickstart-smoke.perf.data' --base "$fake" \
  --head "$fake --schedule 300000" --profile profiles --json profiled.json
grep -q '42.00%  berth' said && grep -q 'keep_fitting' profiled.json || broken "the profile is not in the outputs"
[ -s profiles/quickstart-smoke.perf.data ] || broken "the profile's data are not kept"
gate 0 '^pass' --base "$fake" --head "$fake" --profile profiles
command -v perf > /dev/null ||
  gate 3 'no profile: perf is not installed' --base "$fake" --head "$fake --schedule 300000" --profile profiles
gate 2 'is no folder' --base "$fake" --head "$fake" --profile none && one_line

# Baselines.
gate 0 'quickstart/smoke: 12 repetitions' record --binary "$fake" -o base.json
gate 0 'quickstart/smoke: 8 repetitions' record --binary "$fake --schedule 275000" -o slow.json --repetitions 8
gate 0 'schedule_ns.mean +25[0-9.]+ us' show base.json
gate 0 '^pass' compare base.json base.json
gate 3 'schedule_ns.mean' compare base.json slow.json
gate 0 '^pass' --baseline base.json --head "$fake"
gate 3 'schedule_ns.mean' --baseline base.json --head "$fake --schedule 275000"
gate 0 'quickstart/smoke: 2 repetitions' record --binary "$fake" --counters-only -o counters.json
! grep -q 'schedule_ns\|isa_path' counters.json || broken "a baseline of counters names times or the machine"
gate 0 '^pass' --baseline counters.json --head "$fake --isa AVX2 --schedule 900000" --counters-only
gate 3 'nodes_scored' --baseline counters.json --head "$fake --isa AVX2 --scored 27000" --counters-only
gate 0 'quickstart' record --binary "$fake --isa AVX2" -o avx2.json --repetitions 3
gate 4 "isa_path: 'AVX3' against 'AVX2'" compare base.json avx2.json && one_line
gate 4 "isa_path: 'AVX3' against 'AVX2'" --baseline base.json --head "$fake --isa AVX2" && one_line
gate 0 '^pass|inconclusive' compare base.json base.json --allow isa_path
gate 0 '0 change points in 1 run' drift history.db

# Bad input: one line, the right exit code, nothing overwritten.
before=$(cat base.json verdict.json verdict.md history.db | sha256sum)
outputs="--json verdict.json --markdown verdict.md --history history.db"
gate 2 'no base was named' && one_line
gate 2 'more than one base' --base "$fake" --baseline base.json && one_line
gate 1 'was killed by signal 11' --base "$fake --crash" --head "$fake" $outputs && one_line
gate 1 'wrote no report' --base "$fake" --head "$fake --silent" $outputs && one_line
gate 1 'ended early \(limit of seconds\)' --base "$fake" --head "$fake --partial" $outputs && one_line
gate 2 'cannot be run' --base "$work/none" $outputs && one_line
gate 2 'no such workload' --base "$fake" --head "$fake" --workloads no-such $outputs && one_line
gate 2 '--repetitions: Value 0 not in range' --base "$fake" --head "$fake" --repetitions 0 $outputs
gate 2 '0.01 s are too little' --base "$fake" --head "$fake" --max-time 0.01 $outputs && one_line
gate 2 'no time to measure in' --base "$fake" --head "$fake" --max-time 0 $outputs && one_line
gate 2 "did you mean 'schedule_ns.p99'" --base "$fake" --head "$fake" --limit schedule_ns.p98=5% $outputs && one_line
gate 2 "did you mean 'schedule_ns.mean'" --base "$fake" --head "$fake" --limit schedul=5% $outputs && one_line
gate 2 "did you mean 'busy_seconds'" --base "$fake" --head "$fake" --metrics bussy_seconds $outputs && one_line
gate 2 'is no share above 0' --base "$fake" --head "$fake" --effect none $outputs && one_line
gate 2 'names no workload' --base "$fake" --head "$fake" --workloads : $outputs && one_line
gate 2 'its folder does not exist' --base "$fake" --head "$fake" --json none/verdict.json && one_line
head -c 300 base.json > truncated.json
sed 's/"version": 1/"version": 9/' base.json > version.json
gate 2 'truncated.json' compare truncated.json base.json $outputs && one_line
gate 2 'has version 9 of the baseline format' compare base.json version.json $outputs && one_line
gate 2 'has version 9' --baseline version.json --head "$fake" $outputs && one_line
gate 2 'is no baseline' compare base.json verdict.json --json other.json --markdown other.md --history other.db &&
  one_line
gate 1 'was killed by signal 11' record --binary "$fake --crash" -o base.json && one_line
[ "$before" = "$(cat base.json verdict.json verdict.md history.db | sha256sum)" ] ||
  broken "a failed gate changed a file"

# --base-rev: in a repository whose build makes the fake program, once good, once slow.
if command -v cmake > /dev/null; then
  mkdir repo && cd repo || exit 1
  git init -q . && git config user.email gate@example.org && git config user.name gate
  echo build/ > .gitignore
  cp "$source/tests/gate/fake_berth.sh" fake.sh
  cat > CMakeLists.txt << 'LISTS'
cmake_minimum_required(VERSION 3.25)
project(fake LANGUAGES NONE)
add_custom_target(berth_program COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_SOURCE_DIR}/fake.sh ${CMAKE_BINARY_DIR}/berth)
LISTS
  cat > CMakePresets.json << 'PRESETS'
{"version": 6, "configurePresets": [{"name": "release", "generator": "Ninja", "binaryDir": "${sourceDir}/build/release"}]}
PRESETS
  chmod +x fake.sh && git add -A && git commit -qm good
  gate 0 '^pass' --base-rev HEAD --head "$fake"
  [ -x "build/gate/$(git rev-parse HEAD | cut -c1-12)/berth" ] || broken "--base-rev keeps no program"
  [ "$(git worktree list | wc -l)" -eq 1 ] || broken "--base-rev leaves a work tree"
  gate 3 'schedule_ns.mean' --base-rev HEAD --head "$fake --schedule 280000" # taken from what was built before
  gate 2 "there is no commit 'none'" --base-rev none && one_line
  echo '# changed' >> fake.sh
  gate 2 'changes that are not committed' --base-rev HEAD --head "$fake" && one_line
  sed -i 's/berth_program/else/' CMakeLists.txt && git commit -qam 'does not build'
  gate 1 'building HEAD failed' --base-rev HEAD --head "$fake" && one_line
  [ "$(git worktree list | wc -l)" -eq 1 ] || broken "a failed build leaves a work tree"
  cd "$work" || exit 1
  gate 2 'in no git repository' --base-rev HEAD && one_line
fi

# Reports that are not whole: exit code 2, naming file and metric, as base and as head, measured or recorded.
gate 2 'placed_share: is a string, not a number' --base "$fake" --head "$fake --share '\"x\"'" && one_line
gate 2 'placed_share: is null, not a number' --base "$fake --share null" --head "$fake" && one_line
gate 2 'packing.fragmentation: is negative: -1' record --binary "$fake --fragmentation -1" -o never.json && one_line
[ ! -e never.json ] || broken "a baseline of broken reports was written"
gate 3 'placed_share: got 10.00 %, want ≥ 99.90 %' --base "$fake" --head "$fake --share 0.1"
reports="$source/tests/gate/reports"
gate 2 'b-x.json:cases\[0\].samples.placed_share: is a string, not a list' compare "$reports/b.json" \
  "$reports/b-x.json" && one_line
gate 2 'b-del.json:cases\[0\].samples.placed_share: is missing' compare "$reports/b.json" "$reports/b-del.json" &&
  one_line
gate 2 'b-x.json:cases' compare "$reports/b-x.json" "$reports/c.json" && one_line
gate 2 'b-del.json:cases' compare "$reports/b-del.json" "$reports/c.json" && one_line
gate 2 'b-x.json:cases' show "$reports/b-x.json" && one_line
gate 3 'placed_share: got 10.00 %' compare "$reports/b.json" "$reports/c.json"
gate 2 'counters.json:.*does not report peak_rss_bytes.*--counters-only' --baseline counters.json --head "$fake" \
  --allow \
  cpu,cores,isa_path,compiler,flags,sanitize && one_line
gate 2 'no case reports stage.rank; add --stages' --base "$fake" --head "$fake" --metrics stage.rank && one_line

# --instructions: a plain statement where nothing counts them, else whichever of valgrind and perf is there.
mkdir bin && for tool in bash cat; do ln -s "$(command -v "$tool")" bin/; done
without() { # without EXIT_CODE TEXT ARGUMENT...: as gate, with the programs in bin only
  local want=$1 text=$2 status=0
  shift 2
  env PATH="$work/bin" "$berth" gate "$@" --quiet > said 2>&1 || status=$?
  [ "$status" -eq "$want" ] || broken "gate $* with $(ls -m bin): exit code $status instead of $want: $(tail -n 3 said)"
  grep -qE -- "$text" said || broken "gate $* with $(ls -m bin): does not say '$text': $(cat said)"
}
without 2 'valgrind is not installed, and perf counts no instructions here; apt-get install valgrind' --base "$fake" \
  --head "$fake" --instructions
# Stand-ins that count 1,000,000 instructions, or COUNT; COUNT is set to a larger one for --scored 26001.
cat > bin/perf << 'PERF'
#!/usr/bin/env bash
while [ "$1" != -- ]; do [ "$1" = -o ] && counts=$2; shift; done
shift && "$@"
case "$*" in *26001*) n=${COUNT:-1000000} ;; *) n=1000000 ;; esac
[ "$n" = none ] && n='<not supported>'
printf '# started on\n\n%s;;instructions:u;2;100.00;;\n' "$n" > "$counts"
PERF
chmod +x bin/perf
more="--limit nodes_scored=any --counters-only --instructions"
COUNT=1019000 without 0 '^pass' --base "$fake" --head "$fake --scored 26001" $more
COUNT=1021000 without 3 'instructions: got 1,021,000, want ≤ 1,020,000' --base "$fake" \
  --head "$fake --scored 26001" $more
COUNT=none without 2 'perf counts no instructions here' --base "$fake" --head "$fake --scored 26001" $more
cat > bin/valgrind << 'VALGRIND'
#!/usr/bin/env bash
while [[ $1 == --* ]]; do [[ $1 == --log-file=* ]] && counts=${1#*=}; shift; done
"$@"
printf '==1== Using Valgrind-%s and LibVEX; rerun with -h\n==1== I   refs:      2,000,000\n' "${VERSION:-9.1}" > "$counts"
VALGRIND
chmod +x bin/valgrind
without 0 'quickstart' record --binary "$fake" --counters-only --instructions -o instructions.json
grep -q '"instructions_of": "valgrind 9.1, ISA path AVX2, glibc [0-9.]*, GNU 12.2.0, -O3"' instructions.json ||
  broken "the baseline does not say how instructions were counted"
grep -q '"instructions": \[2000000,2000000\]' instructions.json || broken "the baseline lacks the instructions"
without 0 '^pass' --baseline instructions.json --head "$fake" --counters-only --instructions
without 0 '^pass' --baseline instructions.json --head "$fake" --counters-only
VERSION=9.2 without 4 "instructions_of: 'valgrind 9.1.*' against 'valgrind 9.2" --baseline instructions.json \
  --head "$fake" --counters-only --instructions
VERSION=9.2 without 0 '^pass' --baseline instructions.json --head "$fake" --counters-only
without 2 'counters.json:.*does not report instructions' --baseline counters.json --head "$fake" --counters-only \
  --instructions
if command -v valgrind > /dev/null; then
  valgrind --tool=none "$berth" --version > said 2>&1 ||
    broken "the program does not start under valgrind: $(tail -n 3 said)"
fi

# The real program against itself: decisions and counters repeat. No time can be a hundred times worse by chance, so the
# machine's load does not matter.
cd "$source" || exit 1
status=0
"$berth" gate --base "$berth" --workloads quickstart,nomad-grid --repetitions 3 --metrics busy_seconds --effect 10000% \
  --quiet > "$work/said" 2>&1 || status=$?
[ "$status" -eq 0 ] || broken "A/A with the real program: exit code $status: $(cat "$work/said")"
status=0
"$berth" gate --base "$berth" --head "$berth --workload-is-unknown-option" --quiet > "$work/said" 2>&1 || status=$?
[ "$status" -eq 2 ] || broken "an option that berth run does not know: exit code $status"

[ "$failures" -eq 0 ] && echo "berth gate: all checks hold"
exit $((failures > 0))
