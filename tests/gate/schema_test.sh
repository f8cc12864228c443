#!/usr/bin/env bash
# The program's files follow the JSON Schemas of bench/schema. Exits with 77 (skipped) without the Debian package
# python3-jsonschema.
#   schema_test.sh BERTH SOURCE_DIR
set -uo pipefail
berth=$1
cd "$2" || exit 1
python3 -c 'import jsonschema' 2> /dev/null || { echo "skipped: python3-jsonschema is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
set -e
for workload in quickstart storm nomad-grid; do
  "$berth" run "$workload" --label smoke --quiet --json "$work/run-$workload.json" > /dev/null
done
"$berth" run contention --label smoke --quiet --stages --workers 3 --json "$work/run-contention.json" > /dev/null
"$berth" run quickstart --label smoke --quiet --repeat 2 --vary workers=1,2 --json "$work/study-1.json" > /dev/null
"$berth" run nomad-others --label smoke --quiet --json "$work/others-1.json" > /dev/null
program=$(realpath "$berth")
mkdir -p "$work/peers/bench/macro" # its workloads alone: the shipped ones take half a minute
{ sed 's/^count = .*/count = 30/; s/^nodes = .*/nodes = 50/' bench/macro/karpenter.toml; } \
  > "$work/peers/bench/macro/quickstart.toml"
(cd "$work/peers" && "$program" run peers --quiet --json "$work/peers-1.json" > /dev/null)
compare="$berth compare quickstart --label smoke --quiet --strategies best-fit,tetris --seeds 2"
$compare --json "$work/compare-strategies.json" > /dev/null
$compare --capacity --json "$work/compare-capacity.json" > /dev/null
$compare --minimum-nodes --json "$work/compare-minimum.json" > /dev/null
"$berth" compare saturated --label smoke --quiet --seeds 2 --preemption nomad,kubernetes --eligible nomad \
  --json "$work/compare-preemption.json" > /dev/null
"$berth" compare quickstart --label smoke --quiet --seeds 2 --strategies best-fit --rebalance cosine --ratio 0.1 \
  --json "$work/compare-rebalance.json" > /dev/null
"$berth" gate record -o "$work/baseline-1.json" --repetitions 3 --quiet > /dev/null
"$berth" gate compare "$work/baseline-1.json" "$work/run-quickstart.json" --json "$work/gate-1.json" > /dev/null ||
  [ $? -eq 4 ]
set +e
python3 - "$work" << 'PYTHON'
import glob, json, os, sys
import jsonschema

def check(kind, value, name, wanted=False):
    schema = json.load(open(f"bench/schema/berth-{kind}.json"))
    validator = jsonschema.validators.validator_for(schema)
    validator.check_schema(schema)
    problems = list(validator(schema).iter_errors(value))
    for problem in [] if wanted else problems[:5]:
        print(f"{name}: {'/'.join(map(str, problem.absolute_path))}: {problem.message[:200]}")
    return len(problems)

work, failed, files = sys.argv[1], 0, 0
for kind in ["run", "study", "others", "peers", "compare", "baseline", "gate"]:
    for path in glob.glob(f"{work}/{kind}-*.json"):
        value = json.load(open(path))
        failed += check(kind, value, os.path.basename(path))
        files += 1
        # A schema that accepts everything would be none.
        for key in ["kind" if kind == "compare" else "format", "version"]:
            assert check(kind, {**value, key: "else"}, path, wanted=True) > 0, \
                f"berth-{kind}.json accepts another {key}"
print(f"{files} files follow their schemas" if failed == 0 else f"{failed} problems")
sys.exit(failed > 0 or files < 13)
PYTHON
