#!/usr/bin/env bash
# `berth run` from outside: exit codes, one line per error, output files whole or not at all, Ctrl-C.
#   tests/run/run_command_test.sh BERTH
set -uo pipefail
command=run
# shellcheck source=tests/support/command_test.sh
. "$(dirname "${BASH_SOURCE[0]}")/../support/command_test.sh"

small="$scratch/small.toml"
small_workload 3 > "$small"

# Bad input: file, place, problem and remedy in one line; nothing written.
expect 2 'no-such: there is no such file' no-such --json "$scratch/none.json"
expect 2 'no workload was named'
expect 2 'is a folder|is not a workload' "$scratch"
expect 2 '/dev/zero: is not a workload file' /dev/zero
sed 's/nodes = 50/nodez = 50/' "$small" > "$scratch/key.toml"
expect 2 "key.toml:3: unknown key 'nodez'.*did you mean 'nodes'" "$scratch/key.toml" --json "$scratch/none.json"
head -c 60 "$small" > "$scratch/cut.toml"
expect 2 'cut.toml:' "$scratch/cut.toml"
head -c 5000 /dev/urandom > "$scratch/noise.toml"
expect 2 'noise.toml:' "$scratch/noise.toml"
chmod 000 "$scratch/noise.toml"
[ "$(id -u)" -eq 0 ] || expect 2 'noise.toml: ' "$scratch/noise.toml"
expect 2 "'Z80' is not an ISA path .*name one of" "$small" --isa Z80
expect 2 "strategy 'bestfit': there is no such strategy; did you mean 'best-fit'" "$small" --strategy bestfit
expect 2 "strategy 'random': is not a score of each node" "$small" --strategy random --json "$scratch/none.json"
sed '1a strategy = "worst-fti"' "$small" > "$scratch/strategy.toml"
expect 2 "strategy.toml:2: .*did you mean 'worst-fit'.*; or nomad" "$scratch/strategy.toml" --json "$scratch/none.json"
"$berth" run "$scratch/strategy.toml" --quiet --strategy worst-fit > /dev/null 2>&1 &&
  broken "a wrong strategy in the file passed"
"$berth" run "$small" --quiet --strategy worst-fit | grep -q 'strategy worst-fit, order' ||
  broken "the table does not name the strategy"
expect 2 "there is no label 'huge'" "$small" --label huge
printf 'name = "f"\n[cluster]\ngenerator = "files"\nfile = "nodes.json"\n[jobs]\ngenerator = "files"\nfile = "jobs.json"\n' > "$scratch/files.toml"
expect 2 'nodes.json: No such file' "$scratch/files.toml"
printf '[{"ID": "x"}]' > "$scratch/nodes.json"
expect 2 'nodes.json:/0/ID: is not a UUID' "$scratch/files.toml"
expect 2 'none/a.json: its folder does not exist' "$small" --json "$scratch/none/a.json"
[ ! -e "$scratch/none.json" ] || broken "a report was written in spite of bad input"

for bad in "--workers 0" "--workers -1" "--workers 2000" "--workers two" "--order soonest"; do
  status=0
  # shellcheck disable=SC2086  # two words
  "$berth" run --quiet "$small" $bad > "$scratch/out" 2> "$scratch/err" || status=$?
  [ "$status" -eq 2 ] || broken "berth run $bad: exit code $status instead of 2"
  grep -q -- "${bad% *}" "$scratch/err" || broken "berth run $bad: '$(cat "$scratch/err")' does not name the option"
done

# A good run: exit 0 and its files.
"$berth" run --quiet "$small" --json "$scratch/a.json" --csv "$scratch/a.csv" --hdr "$scratch/a.hdr" \
  --hdr-log "$scratch/a.hlog" > "$scratch/out" ||
  broken "a good run failed with $?"
for file in a.json a.csv a.hdr a.hlog; do [ -s "$scratch/$file" ] || broken "$file was not written"; done
grep -q '"placed": 60' "$scratch/a.json" || broken "a.json does not say that 60 were placed"
[ "$(grep -c '^0.000,[0-9.]*,[0-9.]*,HISTFAAA' "$scratch/a.hlog")" -eq 1 ] ||
  broken "a.hlog has no line of one interval"
grep -q 'placements/s' "$scratch/out" || broken "the table has no throughput"

# No room for the report: exit 1, the old file intact, no half file left. A file size limit of 0 stands for a full disk.
cp "$scratch/a.json" "$scratch/before.json"
(trap '' XFSZ; ulimit -f 0; "$berth" run --quiet "$small" --json "$scratch/a.json" > /dev/null 2> /dev/null)
[ $? -eq 1 ] || broken "a full disk does not give exit code 1"
cmp -s "$scratch/a.json" "$scratch/before.json" || broken "a full disk changed the old report"
[ "$(find "$scratch" -name '*.part*' | wc -l)" -eq 0 ] || broken "a half report was left behind"

# Ctrl-C: a report of what was measured, marked partial.
sed 's/count = 20/count = 1000/' "$small" > "$scratch/slow.toml"
printf '[arrivals]\nprocess = "fixed"\nrate_per_s = 10\nclock = "wait"\n' >> "$scratch/slow.toml"
"$berth" run --quiet "$scratch/slow.toml" --json "$scratch/partial.json" > "$scratch/out" 2> "$scratch/err" &
pid=$!
sleep 1
kill -INT "$pid"
status=0
wait "$pid" || status=$?
[ "$status" -eq 4 ] || broken "an interrupted run ended with $status instead of 4"
grep -q 'PARTIAL: interrupted' "$scratch/out" || broken "an interrupted run does not say so"
grep -q '"partial": true' "$scratch/partial.json" || broken "partial.json is not marked"

# The same with workers on whatever comes first: they finish what they have, and the report accounts for the rest.
"$berth" run --quiet "$scratch/slow.toml" --workers 3 --order free --json "$scratch/partial.json" > "$scratch/out" &
pid=$!
sleep 1
kill -INT "$pid"
status=0
wait "$pid" || status=$?
[ "$status" -eq 4 ] || broken "an interrupted run of several workers ended with $status instead of 4"
grep -q 'PARTIAL: interrupted' "$scratch/out" || broken "an interrupted run of several workers does not say so"
grep -q '"lost": 0' "$scratch/partial.json" || broken "an interrupted run of several workers lost evaluations"

# SIGHUP, as of a terminal that is closed, is like Ctrl-C; under nohup it is ignored.
"$berth" run --quiet "$scratch/slow.toml" --json "$scratch/partial.json" > "$scratch/out" 2> "$scratch/err" &
pid=$!
sleep 1
kill -HUP "$pid"
status=0
wait "$pid" || status=$?
[ "$status" -eq 4 ] || broken "a run whose terminal was closed ended with $status instead of 4"
grep -q 'PARTIAL: interrupted' "$scratch/out" && grep -q '"partial": true' "$scratch/partial.json" ||
  broken "a run whose terminal was closed left no partial report"
sed 's/count = 1000/count = 20/' "$scratch/slow.toml" > "$scratch/two_seconds.toml"
nohup "$berth" run --quiet "$scratch/two_seconds.toml" > "$scratch/out" 2> "$scratch/err" &
pid=$!
sleep 0.7
kill -HUP "$pid"
wait "$pid" || broken "nohup did not keep a run from ending at SIGHUP: $?"
grep -q 'replayed    20 of 20 jobs' "$scratch/out" || broken "SIGHUP cut a run under nohup short"

# What several workers do while they wait for arrivals is not called throughput; what they do with a backlog is.
for rate in 10 1000000; do
  sed "s/rate_per_s = .*/rate_per_s = $rate/; s/clock = .*/clock = \"skip\"/; s/count = 1000/count = 200/" \
    "$scratch/slow.toml" > "$scratch/rate.toml"
  "$berth" run --quiet "$scratch/rate.toml" --workers 2 --order free --json "$scratch/rate.json" > "$scratch/out" ||
    broken "$rate jobs/s with two workers failed"
  if [ "$rate" = 10 ]; then
    grep -qE '^  rate  ' "$scratch/out" &&
      grep -qE 'set by the arrivals, not by the scheduler: [0-9]+ % of the jobs' "$scratch/out" &&
      ! grep -q throughput "$scratch/out" && grep -q '"rate_set_by": "arrivals"' "$scratch/rate.json" ||
      broken "the rate of arrivals is called throughput: $(grep -A 1 placements/s "$scratch/out")"
    "$berth" report "$scratch/rate.json" > "$scratch/out" ||
      broken "a report of a run whose arrivals set the rate failed"
    grep -q 'set by the arrivals' "$scratch/out" && ! grep -qi throughput "$scratch/out" ||
      broken "berth report calls the rate of arrivals throughput"
  else
    grep -qE '^  throughput  ' "$scratch/out" && grep -q '"rate_set_by": "scheduler"' "$scratch/rate.json" ||
      broken "two workers with a backlog have no throughput: $(grep -A 1 placements/s "$scratch/out")"
  fi
done

# The provided workloads in their smoke size (quickstart and nomad-grid run in run_test.cc).
"$berth" run --quiet openb-like --label smoke > "$scratch/out" || broken "openb-like failed with $?"
grep -qE 'placed +1,216 of 1,240 .*, failed 24$' "$scratch/out" ||
  broken "openb-like did not fill its cluster with 1,216 tasks"
grep -qE '200 of 200 nodes used' "$scratch/out" || broken "openb-like left nodes empty"
if [ -f datasets/data/openb/openb_pod_list_default.csv ]; then
  "$berth" run --quiet openb --label smoke > "$scratch/out" || broken "openb failed with $?"
  grep -qE 'placed +300 of 300 ' "$scratch/out" || broken "openb did not place its 300 tasks"
else
  expect 2 'is not there; run datasets/fetch.sh openb' openb --label smoke
fi

# Options: named by table and report, refused where decisions are compared with today's Nomad.
"$berth" run --quiet quickstart --label smoke --option compat=fixed --json "$scratch/fixed.json" > "$scratch/out" ||
  broken "--option compat=fixed failed with $?"
grep -q 'options     compat=fixed' "$scratch/out" || broken "the report does not name compat=fixed"
grep -q '"compat": "fixed"' "$scratch/fixed.json" || broken "the JSON does not name compat=fixed"
expect 2 "option compat: 'both' is not nomad or fixed" quickstart --label smoke --option compat=both
"$berth" run --quiet quickstart --label smoke --option quirk.limit_stays_raised=off --json "$scratch/quirk.json" \
  > "$scratch/out" || broken "--option quirk.limit_stays_raised=off failed with $?"
grep -q 'options     quirk.limit_stays_raised=off' "$scratch/out" || broken "the report does not name the quirk"
grep -q '"quirk.limit_stays_raised": "off"' "$scratch/quirk.json" || broken "the JSON does not name the quirk"
expect 2 "did you mean 'quirk.limit_stays_raised'" quickstart --label smoke --option quirk.limit_stay_raised=off
expect 2 "option quirk.limit_stays_raised: 'false' is not on or off" quickstart --option quirk.limit_stays_raised=false
for name in run profile load plan conform; do
  listed=$("$berth" "$name" --list-options)
  grep -q '^  quirk.limit_stays_raised   R-FEAS-217' <<< "$listed" ||
    broken "berth $name --list-options does not list the quirks"
done
expect 2 'nomad-grid compares with what Nomad decides today' nomad-grid --label smoke --option compat=fixed
expect 2 'nomad-others compares with what Nomad decides today' nomad-others --label smoke --option compat=fixed
expect 2 'nomad-others compares with what Nomad decides today' nomad-others --label smoke --strategy best-fit
expect 2 'nomad-others compares with what Nomad decides today' nomad-others --label smoke --queue fifo
expect 2 '`berth run peers` runs several workloads unchanged; leave it out' peers --label smoke
expect 2 '`berth run peers` runs several workloads unchanged; leave it out' peers --csv "$scratch/none.csv"
mkdir -p "$scratch/peers/bench/macro" # in a folder of its own, whose workload has the published time of 5,000 s
{ small_workload 3; printf '[peer]\nsystem = "Slow"\nvalue = 5000\nsource = "a page"\nnote = "made up"\n'; } \
  > "$scratch/peers/bench/macro/quickstart.toml"
program=$(realpath "$berth")
(cd "$scratch/peers" && "$program" run peers --quiet --json peers.json > table) ||
  broken "berth run peers failed with $?"
grep -Eq '^small full +50 +60 +60 +0 +Slow +5000 s +[0-9]+ ms +[0-9,]+$' "$scratch/peers/table" ||
  broken "berth run peers printed $(cat "$scratch/peers/table")"
grep -q '^Slow: a page; made up$' "$scratch/peers/table" || broken "berth run peers names no source"
grep -q '"published": 5000' "$scratch/peers/peers.json" || broken "peers.json has no published result"
expect 2 'queue: workers that commit in any order take evaluations as they come' quickstart --label smoke --queue fifo \
  --workers 2 --order free
expect 2 "there is no such queue policy; did you mean 'shortest'" quickstart --queue shortst
expect 2 'nomad-grid is compared with what Nomad decided' nomad-grid --label smoke --strategy best-fit

# A cluster in place of a workload.
cluster=tests/dryrun/recorded/stage-02.snap
"$berth" run --quiet $cluster --json "$scratch/cluster.json" > "$scratch/out" ||
  broken "berth run $cluster failed with $?"
grep -q '^  estimated   batch jobs: ' "$scratch/out" || broken "berth run $cluster does not say what it estimated"
grep -q '"estimates": \[' "$scratch/cluster.json" || broken "the JSON does not say what was estimated"
"$berth" run --quiet $cluster --vary algorithm=binpack,spread > "$scratch/out" ||
  broken "berth run $cluster --vary failed with $?"
expect 2 'http://127.0.0.1:4646: is an address, and a workload is a file; .*berth import' http://127.0.0.1:4646
# An evaluation whose plans are refused in part for ever (R-SCHED-10) ends, and the run continues.
timeout 60 "$berth" run --quiet tests/conform/endless-stage-09.json.gz > "$scratch/out" 2>&1 ||
  broken "berth run on a cluster with an endless evaluation ends with $?: $(tail -n 3 "$scratch/out")"
head -c 3000 $cluster > "$scratch/short.snap"
expect 2 'short.snap: ' "$scratch/short.snap" --json "$scratch/none.json"
echo '{"Nodes": []}' > "$scratch/empty.json"
expect 2 'empty.json: ' "$scratch/empty.json" --json "$scratch/none.json"
[ ! -e "$scratch/none.json" ] || broken "a report was written in spite of a bad cluster"

# A line per evaluation, as text and as JSON.
"$berth" run --quiet "$small" --log-level info > /dev/null 2> "$scratch/log" || broken "--log-level failed with $?"
evaluations=$("$berth" run --quiet "$small" --json "$scratch/log.json" > /dev/null &&
  grep -oE '"evaluations": [0-9]+' "$scratch/log.json" | head -1)
[ "$(grep -cE '^20.*Z \[INFO\]  worker: evaluation processed: eval_id=.* status=complete attempts=1 placed=[0-9]+ failed=0 refused=0 sources=[a-z_]+:[0-9]+.* took=' "$scratch/log")" = "${evaluations#*: }" ] ||
  broken "--log-level info does not write a line for each of ${evaluations#*: } evaluations: $(head -2 "$scratch/log")"
BERTH_LOG=info "$berth" run --quiet "$small" --log-json > /dev/null 2> "$scratch/log" ||
  broken "BERTH_LOG failed with $?"
python3 -c 'import json, sys; assert all(json.loads(line)["status"] == "complete" for line in open(sys.argv[1]))' \
  "$scratch/log" ||
  broken "--log-json does not write JSON"
"$berth" run --quiet "$small" --log-level warn > /dev/null 2> "$scratch/log"
[ ! -s "$scratch/log" ] || broken "--log-level warn writes of evaluations"
"$berth" run recover-lost --quiet --log-level info > /dev/null 2> "$scratch/log"
for message in 'evaluation processed' 'allocation placed' 'allocation changed' 'node TTL expired'; do
  grep -q "^2026-01-01T00:0[0-9:.]*Z .*: $message: " "$scratch/log" ||
    broken "the log of a simulated cluster lacks '$message' at its time"
done
"$berth" run recover-lost --quiet --log-level warn --log-json > /dev/null 2> "$scratch/log"
[ "$(grep -c '"@message":"node TTL expired"' "$scratch/log")" -eq "$(wc -l < "$scratch/log")" ] ||
  broken "--log-level warn writes $(cat "$scratch/log")"
"$berth" run batch-drain --quiet --log-level info > /dev/null 2> "$scratch/log"
grep -q 'nomad.drain: node drain complete: node_id=' "$scratch/log" || broken "no drain in the log"
"$berth" run day --label smoke --quiet --log-level info > /dev/null 2> "$scratch/log"
grep -q 'deployment ended: .*status=successful' "$scratch/log" || broken "no deployment in the log"
expect 2 "'loud' is no level; write trace" "$small" --log-level loud

# Own traces.
printf 'submit_s,run_s,count,cpu_mhz,memory_mb\n0,,3,500,256\n2.5,60,1,2000,1024\n4,30,8,1000,512\n' \
  > "$scratch/trace.csv"
"$berth" trace check "$scratch/trace.csv" > "$scratch/out" || broken "berth trace check failed with $?"
grep -q 'trace.csv: 3 jobs of 3 kinds, 12 allocations$' "$scratch/out" || broken "berth trace check counts wrongly"
grep -q '^  at once     at most 11,500 MHz, 5,888 MiB' "$scratch/out" || broken "berth trace check adds wrongly"
sed -e '/^\[jobs\]/,$d' "$small" > "$scratch/trace.toml"
printf '[jobs]\ngenerator = "trace"\nfile = "trace.csv"\n[arrivals]\nprocess = "trace"\n' >> "$scratch/trace.toml"
"$berth" run --quiet "$scratch/trace.toml" > "$scratch/out" || broken "berth run of a trace failed with $?"
grep -qE 'placed +12 of 12 ' "$scratch/out" ||
  broken "berth run of a trace did not place its 12 allocations: $(cat "$scratch/out")"
echo '1,2,3' >> "$scratch/trace.csv"
expect 2 'trace.csv:5: has 3 fields instead of 5' "$scratch/trace.toml"

"$berth" run --list | grep -q '^quickstart' || broken "--list does not name quickstart"

# datasets/fetch.sh: usage and unknown names.
datasets/fetch.sh > "$scratch/out" || broken "datasets/fetch.sh without a name failed"
grep -q openb "$scratch/out" || broken "datasets/fetch.sh does not list openb"
status=0
datasets/fetch.sh no-such > /dev/null 2>&1 || status=$?
[ "$status" -eq 2 ] || broken "datasets/fetch.sh no-such: exit code $status instead of 2"

[ "$failures" -eq 0 ] && echo "berth run: all checks hold"
exit $((failures > 0))
