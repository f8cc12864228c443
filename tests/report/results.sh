# One small result of every kind, for the tests of reports; to be sourced with $berth and $scratch set. Gives $results,
# a list of files.
make_results() {
  local run="$berth run --quiet --label smoke"
  $run quickstart --json "$scratch/first.json" > "$scratch/first.txt" || broken "berth run quickstart failed"
  $run quickstart --seed 2 --json "$scratch/second.json" > "$scratch/second.txt" || broken "berth run quickstart failed"
  $run contention --workers 3 --order free --json "$scratch/contention.json" > "$scratch/out" ||
    broken "berth run contention failed"
  $run nomad-grid --json "$scratch/grid.json" > "$scratch/out" || broken "berth run nomad-grid failed"
  $run nomad-others --json "$scratch/others.json" > "$scratch/out" || broken "berth run nomad-others failed"
  $run disconnects --json "$scratch/life.json" > "$scratch/out" || broken "berth run disconnects failed"
  $run quickstart --vary jobs.count=20,40,60 --vary strategy=nomad,worst-fit,best-fit --repeat 2 \
    --json "$scratch/study.json" > "$scratch/out" ||
    broken "berth run --vary failed"
  "$berth" compare --quiet --label smoke --seeds 2 recover-lost --strategies best-fit,worst-fit \
    --json "$scratch/lives.json" \
    > "$scratch/out" || broken "berth compare of lives failed"
  local compare="$berth compare --quiet --label smoke --seeds 2 quickstart"
  $compare --strategies best-fit,worst-fit --json "$scratch/compared.json" > "$scratch/out" ||
    broken "berth compare failed"
  $compare --strategies best-fit,worst-fit --capacity --json "$scratch/capacity.json" > "$scratch/out" ||
    broken "--capacity failed"
  $compare --strategies best-fit --minimum-nodes --json "$scratch/minimum.json" > "$scratch/out" ||
    broken "--minimum-nodes failed"
  $compare --preemption nomad,kubernetes --json "$scratch/preempted.json" > "$scratch/out" ||
    broken "--preemption failed"
  $compare --rebalance cosine,fragments-one --json "$scratch/rebalanced.json" > "$scratch/out" ||
    broken "--rebalance failed"
  # The experiment on a list of its own: two nodes, and tasks that request parts of a GPU.
  { echo "sn,cpu_milli,memory_mib,gpu,model"; for i in 1 2; do echo "n$i,32000,65536,2,T4"; done; } \
    > "$scratch/nodes.csv"
  { echo "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time"
    for i in 1 2 3 4 5 6 7 8; do echo "p$i,4000,4096,1,$((i % 2 * 300 + 300)),,LS,Running,$i,$((i + 100)),$i"; done; } \
      > "$scratch/pods.csv"
  "$berth" compare --quiet --experiment openb-atc23 --pod-list "$scratch/pods.csv" --node-list "$scratch/nodes.csv" \
    --seeds 2 \
    --strategies fgd,gpu-best-fit --json "$scratch/experiment.json" > "$scratch/out" ||
    broken "the experiment failed: $(cat "$scratch/out")"
  for _ in 1 2 3; do
    "$berth" gate record -o "$scratch/baseline.json" --repetitions 2 --history "$scratch/history.db" --quiet \
      > "$scratch/out" ||
      broken "berth gate record failed"
  done
  "$berth" gate compare "$scratch/baseline.json" "$scratch/first.json" --json "$scratch/gate.json" > "$scratch/out" ||
    [ $? -eq 4 ] ||
    broken "berth gate compare failed"
  "$berth" profile quickstart --label smoke --quiet --overhead-rounds 0 --roofline --json "$scratch/measured.json" \
    > "$scratch/out" ||
    broken "berth profile failed"
  "$berth" load quickstart --label smoke --quiet --p99-limit 1000s --from 1 --to 2 --seconds 0.1 --workers 1,2 \
    --json "$scratch/loaded.json" > "$scratch/out" || broken "berth load failed"
  # What these two write once more, by hand: with numbers that a test can look for.
  local head='"version": 1, "workload": "w", "label": "smoke", "partial": false, "ended": "complete",
    "settings": {"seed": 3, "mode": "sampled", "algorithm": "binpack", "workers": 1, "commits": "free"},
    "machine": {"cpu": "some cpu", "cores": 2, "memory_bytes": 4294967296}, "build": {"commit": "1a2b3c4", "compiler": "GNU 12.2.0"}'
  local latency='{"p50": 2000, "p90": 5000, "p99": 9000, "p999": 9900, "max": 12000, "mean": 2500}'
  local stages='[{"stage": "rank", "what": "scores", "share": 0.75, "seconds": 0.3, "estimated": true, "evaluations": 20,
      "latency_ns": '$latency', "count": 100, "unit": "node", "ns_per_unit": 12.5,
      "bytes_per_unit": 86, "roofline_ns_per_unit": 2.5},
    {"stage": "commit", "what": "into the tables", "share": 0.25, "seconds": 0.1, "estimated": false, "evaluations": 100,
      "latency_ns": '$latency', "count": 100, "unit": "placement", "ns_per_unit": 70}]'
  echo '{"format": "berth-profile", '"$head"', "evaluations": 100, "placed": 200, "busy_seconds": 0.4, "decisions_digest": "00000000000000ff",
    "overhead": {"share": 0.012, "error": 0.004}, "stages": '"$stages"', "roofline": [{"bytes": 32768, "read_gb_per_s": 64, "random_line_ns": 1.25,
    "dependent_line_ns": 1.5}, {"bytes": 134217728, "read_gb_per_s": 8, "random_line_ns": 20, "dependent_line_ns": 110}], "slowest": [{"evaluation": "7.0", "service_ns": 12000, "queue_ns": 10,
    "placed": 2, "dominated_by": "rank", "why": "rank 90 %", "reproduce": "berth profile w --only 7.0",
    "stages_ns": {"rank": 10800, "commit": 900}}]}' > "$scratch/profile.json"
  local trial='"workers": 1, "busy_share": 0.5, "backlog_at_end": 0, "latency_ns": '$latency
  echo '{"format": "berth-load", '"$head"', "limit_ns": 8000, "percentile": 99, "trials": [
    {'"$trial"', "rate_per_s": 10, "sustained": true, "why_not": ""}, {'"$trial"', "rate_per_s": 20, "sustained": false, "why_not": "p99 9 us"}],
    "knees": [{"workers": 1, "ended": "found", "sustained_rate_per_s": 10, "not_sustained_rate_per_s": 20,
    "sustained_placements_per_s": 31.5, "stages": '"$stages"'}]}' > "$scratch/load.json"
  results=()
  local name
  for name in first.json second.json study.json contention.json grid.json others.json life.json lives.json \
    compared.json capacity.json minimum.json \
    preempted.json rebalanced.json experiment.json profile.json measured.json load.json loaded.json gate.json \
    history.db baseline.json; do
    results+=("$scratch/$name")
  done
}
