# One small result of every kind, for the tests of reports; to be sourced with $berth and $scratch set. Gives $results, a list of
# files.
make_results() {
  local run="$berth run --quiet --label smoke"
  $run quickstart --json "$scratch/first.json" > "$scratch/first.txt" || broken "berth run quickstart failed"
  $run quickstart --seed 2 --json "$scratch/second.json" > "$scratch/second.txt" || broken "berth run quickstart failed"
  $run contention --workers 3 --order free --json "$scratch/contention.json" > "$scratch/out" || broken "berth run contention failed"
  $run nomad-grid --json "$scratch/grid.json" > "$scratch/out" || broken "berth run nomad-grid failed"
  $run nomad-others --json "$scratch/others.json" > "$scratch/out" || broken "berth run nomad-others failed"
  local compare="$berth compare --quiet --label smoke --seeds 2 quickstart"
  $compare --strategies best-fit,worst-fit --json "$scratch/compared.json" > "$scratch/out" || broken "berth compare failed"
  $compare --strategies best-fit,worst-fit --capacity --json "$scratch/capacity.json" > "$scratch/out" || broken "--capacity failed"
  $compare --strategies best-fit --minimum-nodes --json "$scratch/minimum.json" > "$scratch/out" || broken "--minimum-nodes failed"
  $compare --preemption nomad,kubernetes --json "$scratch/preempted.json" > "$scratch/out" || broken "--preemption failed"
  # The experiment on a list of its own: two nodes, and tasks that ask for parts of a GPU.
  { echo "sn,cpu_milli,memory_mib,gpu,model"; for i in 1 2; do echo "n$i,32000,65536,2,T4"; done; } > "$scratch/nodes.csv"
  { echo "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time"
    for i in 1 2 3 4 5 6 7 8; do echo "p$i,4000,4096,1,$((i % 2 * 300 + 300)),,LS,Running,$i,$((i + 100)),$i"; done; } > "$scratch/pods.csv"
  "$berth" compare --quiet --experiment openb-atc23 --pods "$scratch/pods.csv" --nodes "$scratch/nodes.csv" --seeds 2 \
    --strategies fgd,gpu-best-fit --json "$scratch/experiment.json" > "$scratch/out" || broken "the experiment failed: $(cat "$scratch/out")"
  for _ in 1 2 3; do
    "$berth" gate record -o "$scratch/baseline.json" --repetitions 2 --history "$scratch/history.jsonl" --quiet > "$scratch/out" ||
      broken "berth gate record failed"
  done
  "$berth" gate compare "$scratch/baseline.json" "$scratch/first.json" --json "$scratch/gate.json" > "$scratch/out" || [ $? -eq 4 ] ||
    broken "berth gate compare failed"
  results=()
  local name
  for name in first.json second.json contention.json grid.json others.json compared.json capacity.json minimum.json \
    preempted.json experiment.json gate.json history.jsonl baseline.json; do
    results+=("$scratch/$name")
  done
}
