#!/usr/bin/env bash
# Simulates a build of berth for the tests of `berth gate`: takes the command line of `berth run` and writes a report
# with the times and counts that the environment sets, so that no test depends on the speed of a machine. A repetition
# differs from the one before by a fixed pattern of up to 0.4 %, counted in the file FAKE_COUNTER.
#   --schedule NS, --commit NS, --scored N, --fragmentation F, --digest D, --isa PATH, --share S   what it reports
#   --crash, --silent, --partial                                                       how it fails
set -euo pipefail
schedule=250000 commit=150000 scored=26000 fragmentation=0.35 digest=28189347284f1fe1 isa=AVX3 share=1.0 how=fine
shift # run
workload=$1
shift
while [ $# -gt 0 ]; do
  case "$1" in
    --label) label=$2 && shift 2 ;;
    --json) json=$2 && shift 2 ;;
    --schedule) schedule=$2 && shift 2 ;;
    --commit) commit=$2 && shift 2 ;;
    --scored) scored=$2 && shift 2 ;;
    --fragmentation) fragmentation=$2 && shift 2 ;;
    --digest) digest=$2 && shift 2 ;;
    --isa) isa=$2 && shift 2 ;;
    --share) share=$2 && shift 2 ;;
    --crash | --silent | --partial) how=${1#--} && shift ;;
    --seed) shift 2 ;;
    --quiet) shift ;;
    *) echo "fake_berth: unknown $1" >&2 && exit 2 ;;
  esac
done
[ "$workload" != no-such ] || { echo "no-such: there is no such workload" >&2 && exit 2; }
[ "$how" != crash ] || kill -SEGV $$
[ "$how" != silent ] || exit 0
partial=false
[ "$how" != partial ] || partial=true
count=$(($(cat "${FAKE_COUNTER:-/dev/null}") + 1))
[ -z "${FAKE_COUNTER:-}" ] || echo "$count" > "$FAKE_COUNTER"
mean() { echo $(($1 + $1 * (count * 7 % 5) / 1000)); } # 0, 1, .. 4 thousandths more
s=$(mean "$schedule") c=$(mean "$commit")
times() { echo "{\"p50\": $(($1 * 8 / 10)), \"p99\": $(($1 * 5)), \"mean\": $1}"; }
cat > "$json" << REPORT
{"format": "berth-run", "version": 1, "workload": "$workload", "label": "$label", "partial": $partial, "ended": "limit of seconds",
 "settings": {"seed": 1, "mode": "sampled", "strategy": "nomad", "algorithm": "binpack", "order": "nomad", "workers": 1,
  "commits": "deterministic", "workload_sha256": "aa", "data_sha256": ""},
 "build": {"commit": "c0ffee", "compiler": "GNU 12.2.0", "flags": "-O3", "sanitize": "", "isa_path": "$isa"},
 "machine": {"cpu": "Fake", "cores": 2}, "placed": 1000, "placed_share": $share, "refused": 0,
 "work": {"nodes_scored": $scored, "nodes_filtered": 9, "nodes_exhausted": 8, "constraint_evaluations": 7, "snapshots": 100,
  "preempted_allocs": 0, "preempted_memory_mb": 0}, "workers": {"conflicts": 0}, "table_bytes": 4096, "peak_rss_bytes": 20000000,
 "packing": {"cpu_utilisation": 0.5, "memory_utilisation": 0.5, "device_utilisation": 0, "fragmentation": $fragmentation},
 "busy_seconds": 0.$(printf %09d $((s + c)))1, "cpu_seconds": 0.$(printf %09d $((s + c)))1, "schedule_ns": $(times "$s"),
 "commit_ns": $(times "$c"), "evaluation_latency_ns": $(times $((s + c))), "decisions_digest": "$digest", "decisions_digest_version": 1}
REPORT
