#!/usr/bin/env bash
# `berth conform` as a user calls it: exit codes, the last line, the JSON report.
#   tests/conform/program_check.sh BERTH GOLDEN_DIR
set -uo pipefail
berth=$1 golden=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
expect() {  # expect TEXT CONDITION...
  local text=$1
  shift
  "$@" || { echo "not so: $text" >&2; failures=$((failures + 1)); }
}

"$berth" conform "$work/missing.jsonl" 2> "$work/error"
expect "a missing file exits with 2" [ $? -eq 2 ]
expect "a missing file is named with a remedy" grep -q "missing.jsonl: does not exist; name " "$work/error"

printf '{"name": "a", "in": {' > "$work/broken.jsonl"
"$berth" conform "$work/broken.jsonl" 2> "$work/error"
expect "broken JSON exits with 2" [ $? -eq 2 ]
expect "broken JSON names file and line" grep -Eq "broken.jsonl:1:[0-9]+: " "$work/error"

printf '{"name": "no_such_kind/a#0", "in": {}, "out": {}}\n' > "$work/no_such_kind.jsonl"
"$berth" conform "$work/no_such_kind.jsonl" --json "$work/report.json" > "$work/table"
expect "an unsupported vector exits with 3" [ $? -eq 3 ]
expect "the last line counts" [ "$(tail -n 1 "$work/table")" = "0 equal, 0 differ, 1 not supported" ]
expect "the JSON report counts too" grep -q '"not_supported": 1' "$work/report.json"

"$berth" conform "$work/no_such_kind.jsonl" --name zzz > "$work/table" 2> "$work/error"
expect "a name that no vector has exits with 2" [ $? -eq 2 ]
expect "and says that nothing was compared" grep \
  -q "no vector in these paths matches --name and --step: nothing was compared" "$work/error"

for wrong in "conform --seed -1" "conform --seed 1 --lives -1" "conform --seed 1 --lives 0" \
  "conform --seed 1 --steps -5" \
  "conform --seed 1 --json $work/lives.json" "conform --lives 3 $golden" "plan a.json b.json --visiting-orders -1" \
  "run quickstart --seed -1"; do
  timeout 20 "$berth" $wrong > "$work/table" 2> "$work/error"
  expect "$wrong exits with 2" [ $? -eq 2 ]
  expect "$wrong is told in one line" [ "$(grep -vc "^Run with --help" "$work/error")" -eq 1 ]
done
"$berth" conform --seed 3 --lives 2 --steps 4 --option compat=fixed > "$work/table"
expect "lives tell their seeds, steps and options" \
  [ "$(tail -n 1 "$work/table")" = "seeds from 3, steps 4, option compat=fixed" ]
expect "both kinds of clusters count those that kept every invariant" \
  [ "$(grep -c '^2 clusters kept every invariant, 0 broke one$' "$work/table")" -eq 2 ]
for threads in 1 3; do "$berth" conform --seed 3 --lives 7 --steps 4 --threads $threads > "$work/lives.$threads"; done
expect "totals of lives do not depend on the number of threads" cmp "$work/lives.1" "$work/lives.3"
"$berth" conform --seed 11 --kind server --only-steps 0,1,5 --only-nodes 0,1 > "$work/table"
expect "a part of a life is printed event by event" grep -q '^    2 nodes$' "$work/table"
expect "only of the kind asked for" [ "$(grep -c 'clusters kept every invariant' "$work/table")" -eq 1 ]
for wrong in "--kind server --only-nodes 0,99" "--kind server --only-nodes 0 --only-steps 3,2" "--only-steps 1" \
  "--kind server --lives 2 --only-steps 1" "--kind client" "--kind server --only-steps x"; do
  "$berth" conform --seed 11 $wrong > "$work/table" 2> "$work/error"
  expect "conform --seed 11 $wrong exits with 2" [ $? -eq 2 ]
  expect "and prints nothing but a line" [ "$(cat "$work/error" "$work/table" | grep -vc "^Run with --help")" -eq 1 ]
done

# A file that supported.txt lists: the program agrees with the library.
listed=$(sed 's/#.*//' "$golden/supported.txt" | awk 'NF == 1 && /^components\// {print $1; exit}')
if [ -n "$listed" ]; then
  "$berth" conform "$golden/$listed.jsonl.gz" --junit "$work/equal.xml" > "$work/table"
  expect "$listed exits with 0" [ $? -eq 0 ]
  expect "JUnit's XML of equal decisions has no failure" grep -q 'tests="1" failures="0"' "$work/equal.xml"
  # The same vectors with another answer must be found to differ.
  zcat "$golden/$listed.jsonl.gz" |
    sed -E 's/"out":\{.*$/"out":{"no_such_answer":true}}/' > "$work/$(basename "$listed").jsonl"
  "$berth" conform "$work/$(basename "$listed").jsonl" --diff 1 --json "$work/differs.json" \
    --junit "$work/differs.xml" > "$work/table"
  expect "wrong answers exit with 3" [ $? -eq 3 ]
  expect "JUnit's XML has a failed test with the difference" python3 -c '
import sys, xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
(case,) = root.findall("testsuite/testcase")
failure = case.find("failure")
assert (root.get("tests"), root.get("failures")) == ("1", "1") and case.get("file") == sys.argv[2]
assert failure.get("type") == "differs" and "no_such_answer" in failure.text
assert " differ, 0 not supported" in failure.get("message")
' "$work/differs.xml" "$work/$(basename "$listed").jsonl"
  expect "wrong answers are counted as different" grep -Eq '^0 equal, [1-9][0-9]* differ' <(tail -n 1 "$work/table")
fi
# The JSON follows its schema, which refuses another format and version.
if python3 -c 'import jsonschema' 2> /dev/null; then
  python3 - "$golden/../../bench/schema/berth-conform.json" "$work"/*.json << 'PYTHON'
import json, sys
import jsonschema

schema = json.load(open(sys.argv[1]))
jsonschema.Draft202012Validator.check_schema(schema)
problems = lambda value: list(jsonschema.Draft202012Validator(schema).iter_errors(value))
for path in sys.argv[2:]:
    value = json.load(open(path))
    for problem in problems(value):
        sys.exit(f"{path}: {'/'.join(map(str, problem.absolute_path))}: {problem.message[:200]}")
    for key in ["format", "version"]:
        assert problems({**value, key: "else"}), f"accepts another {key}"
PYTHON
  expect "the JSON follows bench/schema/berth-conform.json" [ $? -eq 0 ]
fi
exit $((failures > 0))
