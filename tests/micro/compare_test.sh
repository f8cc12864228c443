#!/usr/bin/env bash
# google-benchmark's tools can read the output of berth_micro: JSON with a name, a time and a rate per benchmark, which
# its compare.py compares. Exits with 77 (skipped) if that is not installed (libbenchmark-tools, python3-scipy).
#   tests/micro/compare_test.sh JSON
set -uo pipefail
json=$1
python3 - "$json" << 'PYTHON' || exit 1
import json, sys

runs = json.load(open(sys.argv[1]))["benchmarks"]
assert len(runs) > 100, f"only {len(runs)} benchmarks"
for run in runs:
    assert not run.get("error_occurred"), f"{run['name']}: {run.get('error_message')}"
    assert run["real_time"] > 0 and run["cpu_time"] >= 0, run["name"]
    assert "items_per_second" in run, f"{run['name']} reports no rate"
PYTHON
tool=/usr/share/benchmark/compare.py
python=
for one in python3 /usr/bin/python3; do "$one" -c 'import scipy, numpy' 2> /dev/null && python=$one; done
[ -e "$tool" ] && [ -n "$python" ] || { echo "skipped: compare.py and what it needs are not there"; exit 77; }
said=$("$python" "$tool" --no-color benchmarks "$json" "$json") || { echo "compare.py failed: $said" >&2; exit 1; }
lines=$(grep -cE '^BM_[A-Za-z0-9_<>:/]+ +[+-]0\.[0-9]+ ' <<< "$said")
[ "$lines" -gt 100 ] || { echo "compare.py compared only $lines benchmarks" >&2; exit 1; }
echo "compare.py: $lines benchmarks compared"
