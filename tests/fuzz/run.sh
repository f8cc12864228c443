#!/usr/bin/env bash
# Fuzzes a target, prints executions, coverage and findings, and merges new inputs into the recorded ones.
#   tests/fuzz/run.sh [TARGET] [SECONDS]    all targets, 60 seconds each
# Without build/fuzz-fast, build/fuzz does both; BERTH_FUZZ_SEARCH and BERTH_FUZZ_BUILD name other folders.
# Inputs that failed are in build/fuzz/findings; the exit code is 1 if there are any of this run.
# BERTH_FUZZ_KEEP=1: no replay under the sanitizers, and corpus/ stays unchanged.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=${BERTH_FUZZ_BUILD:-$here/../../build/fuzz}
build=$(cd "$build" && pwd) || { echo "no build: cmake --preset fuzz && cmake --build --preset fuzz" >&2; exit 2; }
search=${BERTH_FUZZ_SEARCH:-$build-fast}
[ -d "$search/tests/fuzz" ] || search=$build
seconds=${2:-60}
targets=${1:-$(sed -nE 's/^const FuzzTarget k.*\("(.*)",.*/\1/p' "$here"/*.cc)}
export ASAN_OPTIONS=detect_stack_use_after_return=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1
TMPDIR=$(mktemp -d -p /dev/shm 2> /dev/null || mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT

# dictionary TARGET FILE: the short string literals of the sources that read its inputs (keys, names, operators),
# numbers at limits, and escapes.
dictionary() {
  local sources
  case $1 in
    job_json) sources='engine/model engine/base' ;;
    job_hcl) sources='engine/hcl' ;;
    cluster | snapshot | archive) sources='engine/model engine/io' ;;
    workload | trace) sources='engine/sim' ;;
    formula) sources='engine/strategy' ;;
    recording) sources='bench/record engine/io engine/model' ;;
    filter) sources='engine/http/filter engine/model' ;;
    operands | periodic) sources='engine/match engine/model/periodic' ;;
    wire) sources='engine/http/transport' ;;
    policy) sources='engine/http/stores' ;;
    requests) sources='engine/http engine/model' ;;
    vectors) sources='bench/conform engine/model' ;;
    gate) sources='bench/gate bench/run' ;;
    report) sources='bench/report bench/schema' ;;
    results) sources='bench/store' ;;
    *) sources='engine/model engine/strategy' ;;
  esac
  printf '"%s"\n' 2147483648 4294967296 9223372036854775807 18446744073709551616 1e308 '\\u0000' '\\u001f' \
    '\\ud83d\\ude00' > "$2"
  # shellcheck disable=SC2086  # several folders
  (cd "$here/../.." && grep -rhoE --include='*.cc' --include='*.h' --include='*.json' \
    '"[][A-Za-z0-9_./{}$:=<>!~-]{2,32}"' $sources) |
    sort -u >> "$2"
}

status=0
printf '%-10s %12s %9s %7s %9s %8s %9s\n' target executions 'per s' edges inputs 'MiB' findings
for target in $targets; do
  file=$(basename "$(grep -l "^const FuzzTarget k.*(\"$target\"," "$here"/*.cc)" .cc)
  program=$build/tests/fuzz/fuzz_$file corpus=$build/corpus/$target findings=$build/findings/$target
  [ -x "$search/tests/fuzz/fuzz_$file" ] || { echo "no fuzz_$file: cmake --build --preset fuzz" >&2; exit 2; }
  mkdir -p "$corpus" "$findings"
  export BERTH_FUZZ_TARGET=$target
  python3 "$here/seeds.py" "$target" "$corpus"
  [ ! -f "$here/corpus/$target.jsonl" ] || python3 "$here/pack.py" unpack "$here/corpus/$target.jsonl" "$corpus"
  log=$build/corpus/$target.log
  most=16384
  case $target in cluster | snapshot | archive | recording | gate | report | results) most=65536 ;; esac
  dictionary "$target" "$build/corpus/$target.dict"
  before=$(find "$findings" -type f | wc -l)
  # For the targets with most edges, without how often edges were passed: bookkeeping took two thirds of their time.
  counted=()
  case $target in requests | c_api | vectors) counted=(-use_counters=0 -entropic=0) ;; esac
  # -timeout: s of real time, for a run that hangs; libfuzzer.cc judges processor time. -malloc_limit_mb: of one block.
  options=(-max_len="$most" -timeout=60 -rss_limit_mb=3072 -malloc_limit_mb=512 -artifact_prefix="$findings/")
  "$search/tests/fuzz/fuzz_$file" "${options[@]}" -max_total_time="$seconds" -print_final_stats=1 -print_funcs=0 \
    "${counted[@]}" "-dict=$build/corpus/$target.dict" "$corpus" > "$log" 2>&1 || true
  # Runs every input under the sanitizers. Edges alone, without how often they were passed: few inputs, which tests
  # replay in seconds.
  rm -rf "$TMPDIR/merged" "$log.merge" && mkdir "$TMPDIR/merged"
  [ -n "${BERTH_FUZZ_KEEP:-}" ] || "$program" -merge=1 -use_counters=0 -use_cmp=0 "${options[@]}" "$TMPDIR/merged" \
    "$corpus" > "$log.merge" 2>&1 || { tail -n 3 "$log.merge" >&2; exit 2; }
  found=$(($(find "$findings" -type f | wc -l) - before))
  awk -v target="$target" -v found=$found -v inputs="$(find "$corpus" -type f | wc -l)" '
    / cov: / { for (i = 1; i < NF; i++) if ($i == "cov:") edges = $(i + 1) }
    /^stat::number_of_executed_units/ { runs = $2 }
    /^stat::average_exec_per_sec/ { rate = $2 }
    /^stat::peak_rss_mb/ { memory = $2 }
    END { printf "%-10s %12d %9d %7d %9d %8d %9d\n", target, runs, rate, edges, inputs, memory, found }' "$log"
  if [ "$found" -gt 0 ]; then
    status=1
    grep -hE '^(slow:|SUMMARY|  what\(\)|==[0-9]+== ?ERROR|.*runtime error)' "$log" "$log.merge" 2> /dev/null |
      cut -c1-200 | head -n 5 || true
    continue
  fi
  [ -n "${BERTH_FUZZ_KEEP:-}" ] ||
    python3 "$here/pack.py" pack "$TMPDIR/merged" "$here/corpus/$target.jsonl" | sed 's/^/  /'
done
exit $status
