#!/usr/bin/env bash
# `berth run --repeat`, `--vary` and `--results` from outside.
#   tests/study/study_command_test.sh BERTH
set -uo pipefail
command=run
# shellcheck source=tests/support/command_test.sh
. "$(dirname "${BASH_SOURCE[0]}")/../support/command_test.sh"

small="$scratch/small.toml"
small_workload 3 > "$small"

# Bad input: one line, nothing written, nothing run.
expect 2 '--vary: .workers. is not KEY=VALUE' "$small" --vary workers
expect 2 "has the value 1 twice" "$small" --vary workers=1,1
expect 2 "the range '5..1' has no values" "$small" --vary cluster.nodes=5..1
expect 2 "small.toml:with cluster.nodez=5: unknown key 'nodez'.*did you mean 'nodes'" "$small" \
  --vary cluster.nodez=5,6 --results "$scratch/none.db"
expect 2 "'seed' is set twice" "$small" --seed 3 --vary seed=1,2
expect 2 "'cluster.nodes' is set twice" "$small" --vary cluster.nodes=1,2 --vary cluster.nodes=3
expect 2 "there are 1000000 settings" "$small" --vary seed=1..1000 --vary cluster.nodes=1..1000
expect 2 "--csv: is for a single run" "$small" --repeat 2 --csv "$scratch/a.csv"
expect 2 "--warm-up: goes with --repeat" "$small" --warm-up 2
expect 2 "nomad-others repeats by itself" nomad-others --repeat 2
expect 2 'none/a.db: its folder does not exist' "$small" --repeat 2 --results "$scratch/none/a.db"
echo text that is longer than the head of a database would be > "$scratch/text.db"
expect 2 'text.db: .*not a database' "$small" --repeat 2 --results "$scratch/text.db"

# Good runs: table, JSON by its schema, database, page.
"$berth" run "$small" --quiet --repeat 3 --json "$scratch/repeated.json" --results "$scratch/r.db" > "$scratch/out" ||
  broken "--repeat failed: $(cat "$scratch/out")"
grep -qE '^small \(full\), 1 setting, 3 runs each' "$scratch/out" || broken "--repeat: no title"
grep -qE '^  throughput +[0-9,.]+/s' "$scratch/out" || broken "--repeat: no throughput"
grep -q 'six runs or more give 95 %' "$scratch/out" || broken "--repeat 3 does not say that its interval is not of 95 %"
"$berth" run "$small" --quiet --vary cluster.nodes=1..3 --vary strategy=nomad,worst-fit --repeat 2 \
  --results "$scratch/r.db" \
  --json "$scratch/varied.json" --html "$scratch/varied.html" > "$scratch/out" ||
  broken "--vary failed: $(cat "$scratch/out")"
grep -qE '^  3 +worst-fit ' "$scratch/out" || broken "--vary: no row of 3 nodes and worst-fit"
grep -q 'too few runs to show a difference' "$scratch/out" ||
  broken "two runs each can show no difference, and nothing says so"
[ "$(awk '{ if (length > n) n = length } END { print n }' "$scratch/out")" -le 160 ] ||
  broken "--vary: lines are too long"
"$berth" run "$small" --quiet --seed 9 --results "$scratch/r.db" > /dev/null || broken "one run with --results failed"
"$berth" report "$scratch/varied.json" > "$scratch/report" || broken "berth report of a study failed"
cmp -s "$scratch/out" "$scratch/report" || diff "$scratch/out" "$scratch/report" | grep -q varied.json ||
  broken "berth report shows another table"
python3 - "$scratch" << 'PYTHON' || broken "the database or the JSON is wrong"
import json, sqlite3, sys
folder = sys.argv[1]
db = sqlite3.connect(folder + "/r.db")
count = lambda sql: db.execute(sql).fetchone()[0]
assert count("select count(*) from runs") == 3 + 12 + 1
assert count("select count(distinct key) from runs") == 16
assert count("select count(*) from runs where status <> 'ok'") == 0
assert count("select count(*) from parameters where name = 'cluster.nodes' and value = '2'") == 4
assert count("select value from parameters where name = 'seed'") == "9"
assert count("select count(distinct decisions_digest) from runs where id <= 3") == 1
assert count("select min(placements_per_second) from flat") > 0
varied = json.load(open(folder + "/varied.json"))
assert [s["parameters"]["cluster.nodes"] for s in varied["settings"]] == ["1", "1", "2", "2", "3", "3"]
assert all(len(s["runs"]) == 2 for s in varied["settings"])
try:
    import jsonschema
except ImportError:
    sys.exit(0)
schema = json.load(open("bench/schema/berth-study.json"))
jsonschema.Draft202012Validator.check_schema(schema)
for name in ("repeated", "varied"):
    jsonschema.Draft202012Validator(schema).validate(json.load(open(f"{folder}/{name}.json")))
PYTHON

# A strategy as a factor decides as --strategy does.
"$berth" run "$small" --quiet --strategy worst-fit --json "$scratch/one.json" > /dev/null
grep -o '"decisions_digest": "[0-9a-f]*"' "$scratch/one.json" > "$scratch/digest"
"$berth" run "$small" --quiet --vary strategy=worst-fit --json "$scratch/as.json" > /dev/null
grep -qF "$(cat "$scratch/digest")" "$scratch/as.json" ||
  broken "--vary strategy=worst-fit does not decide as --strategy worst-fit"

# The text for benchstat: every run of every setting, alone and repeated; benchstat reads it where there is one.
"$berth" run "$small" --quiet --repeat 3 --vary strategy=nomad,worst-fit --benchstat "$scratch/runs.txt" \
  > /dev/null || broken "--benchstat fails"
[ "$(grep -cE '^BenchmarkRun/workload=[^ ]+/label=[^ ]+/strategy=(nomad|worst-fit) 1( [0-9.e+-]+ [^ ]+)+$' "$scratch/runs.txt")" -eq 6 ] ||
  broken "--benchstat does not have six runs: $(cat "$scratch/runs.txt")"
"$berth" run "$small" --quiet --benchstat "$scratch/one.txt" > /dev/null || broken "--benchstat of one run fails"
[ "$(grep -c '^BenchmarkRun/' "$scratch/one.txt")" -eq 1 ] || broken "--benchstat of one run: $(cat "$scratch/one.txt")"
if command -v benchstat > /dev/null; then
  benchstat -col /strategy "$scratch/runs.txt" > "$scratch/stat" 2>&1 || broken "benchstat: $(cat "$scratch/stat")"
  grep -qE 'nomad +│ +worst-fit' "$scratch/stat" ||
    broken "benchstat does not compare the strategies: $(cat "$scratch/stat")"
fi

# Ctrl-C keeps the rounds that are whole.
"$berth" run quickstart --label smoke --quiet --repeat 100000 --json "$scratch/cut.json" > "$scratch/out" \
  2> "$scratch/err" &
pid=$!
sleep 3
kill -INT "$pid"
wait "$pid"
[ $? -eq 4 ] || broken "an interrupted study does not end with 4: $(cat "$scratch/err")"
[ ! -e "$scratch/cut.json" ] || grep -q '"partial": true' "$scratch/cut.json" ||
  broken "an interrupted study is not partial"

[ "$failures" -eq 0 ] && echo "all checks passed"
exit "$((failures > 0))"
