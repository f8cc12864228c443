#!/usr/bin/env bash
# `berth compare WORKLOAD` from outside: exit codes, one line per error, output files, resuming, Ctrl-C.
#   tests/compare/compare_command_test.sh BERTH
set -uo pipefail
command=compare
# shellcheck source=tests/support/command_test.sh
. "$(dirname "${BASH_SOURCE[0]}")/../support/command_test.sh"

small="$scratch/small.toml"
cat > "$small" << 'EOF'
name = "small"
[strategies]
mine = { cosine = 1.0, best-fit = 0.5 }
[cluster]
nodes = 50
[[cluster.shapes]]
name = "std"
[jobs]
count = 40
[[jobs.mix]]
name = "web"
count = 20
cpu_mhz = [200, 3000]
memory_mb = [200, 9000]
EOF

expect 2 "there is no such strategy.*did you mean 'best-fit'\? valid: .*worst-fit; in the workload: mine" "$small" \
  --strategies bestfit
expect 2 "there is no parameter 'nrom'.*did you mean 'norm'" "$small" --strategies best-fit:nrom=max
expect 2 "is named twice" "$small" --strategies best-fit,best-fit
expect 2 "character 5: there is no such column: min\({fre_cpu},1\); did you mean 'free_cpu'" "$small" \
  --strategies 'expr:min(fre_cpu,1)'
expect 2 "'\)' is wanted here" "$small" --strategies 'expr:(free_cpu'
expect 2 'has no formula' "$small" --strategies expr
expect 2 'reads run times, which are not predicted here' "$small" --capacity --strategies nilas
expect 2 "has no scores to add" "$small" --strategies sum:random=1
expect 2 "'pwr': the power of the nodes is not known" "$small" --strategies pwr
expect 2 "'expr': the power of the nodes is not known" "$small" --strategies 'expr:-power_added'
expect 2 "names no seeds" "$small" --seeds 0
expect 2 'no-such: there is no such file' no-such
expect 2 'its folder does not exist' "$small" --json "$scratch/none/a.json"
sed 's/^mine = .*/mine = 3/' "$small" > "$scratch/flat.toml"
expect 2 'is not a table of weights|no number' "$scratch/flat.toml"
expect 2 'nomad-grid' nomad-grid
expect 2 'names a workload and an experiment' "$small" --experiment openb-atc23
sed 's/^name = "std"/&\nprice_per_hour = 2.5/' "$small" > "$scratch/priced.toml"
printf '[carbon]\nfile = "hours.csv"\n' >> "$scratch/priced.toml"
expect 2 '\[carbon\] needs the power of the nodes' "$scratch/priced.toml"
sed -i 's/^price_per_hour/power = { package_max_w = 150 }\n&/' "$scratch/priced.toml"
expect 2 'hours.csv' "$scratch/priced.toml" --seeds 1
{ echo hour,grams_per_kwh; seq -f '%g,400' 0 23; } > "$scratch/hours.csv"
"$berth" compare "$scratch/priced.toml" --quiet --seeds 1 --strategies pwr,first-fit --csv "$scratch/priced.csv" \
  > "$scratch/priced.txt" || broken 'compare of a workload with power, prices and carbon fails'
grep -q 'power kW' "$scratch/priced.txt" || broken "no power in $(cat "$scratch/priced.txt")"
grep -q 'power_mean_kw,energy_kwh,carbon_kg,price,' "$scratch/priced.csv" ||
  broken 'no power, carbon and price in the CSV'
echo 'a text' > "$scratch/file"
expect 2 'file is not a database' "$small" --resume "$scratch/file"
expect 2 'is a folder, and runs are stored in a file' "$small" --resume "$scratch"

expect 2 "'cup' is no amount.*valid: cpu, memory" "$small" --capacity --task cup=3
expect 2 'nothing is requested' "$small" --capacity --task memory=0
expect 2 'name one of them' "$small" --capacity --minimum-nodes
expect 2 '--experiment and --capacity at once' --capacity --experiment openb-atc23

# An option that would say nothing is not passed over in silence.
for words in '--task cpu=1|add --capacity' '--ratio 0.2|add --rebalance' '--eligible kubernetes|add --preemption' \
  '--budget 1|add --preemption' \
  '--packing-order sum|add --minimum-nodes' '--pod-list p.csv|add --experiment' '--tune 1|add --experiment' \
  '--rebalance cosine --budget 1|add --preemption'; do
  # shellcheck disable=SC2086  # several words
  expect 2 "${words#*|}" "$small" ${words%|*}
done
expect 2 'says nothing with --experiment' --experiment openb-atc23 --resume "$scratch"
expect 2 "there is no list 'cpu05'; did you mean 'cpu050'" --experiment openb-atc23 --lists cpu05
expect 2 '--pod-list and --lists at once' --experiment openb-atc23 --pod-list p.csv --lists default

expect 2 "there is no such rule; did you mean 'nomad'\? valid: exact-fewest" "$small" --preemption nomat
expect 2 "there is no such queue policy; did you mean 'fifo'\? valid: ageing, backfill, deadline, fair-share, fifo, priority, quota, shortest" "$small" --queue fif
expect 2 "departures: no allocation ends" "$small" --queue fifo,shortest
# A measure that does not apply, here deadlines met, is absent in all outputs.
"$berth" compare waiting --label smoke --queue fifo --seeds 1 --quiet --html "$scratch/queue.html" > /dev/null ||
  broken 'compare --queue writes no page'
expect 2 '--preemption and --queue at once' "$small" --queue fifo --preemption nomad
for policy in ageing backfill deadline fair-share fifo priority quota shortest; do
  "$berth" compare --help | grep -A3 -- '--queue' | grep -qw -- "$policy" ||
    broken "berth compare --help does not name the queue policy $policy"
done
expect 2 'several strategies that place' "$small" --preemption nomad --strategies best-fit,worst-fit
expect 2 '--capacity and --preemption at once' "$small" --capacity --preemption nomad
expect 2 "'many' is no budget; write none, migrate" "$small" --preemption nomad --budget many
expect 2 "there is no rule 'cosin'.*did you mean 'cosine'" "$small" --rebalance cosin
expect 2 'rebalance at once' "$small" --rebalance cosine --preemption nomad
expect 2 'several strategies that place' "$small" --rebalance cosine --strategies best-fit,worst-fit

# A life's strategies score the fit: those that draw are no default there, and refused where they are named.
"$berth" compare --quiet recover-lost --label smoke --seeds 1 > "$scratch/out" ||
  broken "a life with the strategies there are by default"
grep -q worst-fit "$scratch/out" || broken "a life is not compared with worst-fit"
expect 2 "'random': is not a score" recover-lost --strategies random
run() { "$berth" compare --quiet "$small" --strategies mine,first-fit,random --seeds 3 "$@"; }
run --threads 1 --json "$scratch/a.json" --csv "$scratch/a.csv" --markdown "$scratch/a.md" > "$scratch/a" ||
  broken "a good comparison failed with $?"
run --threads 3 --resume "$scratch/kept" > "$scratch/b" || broken "three threads failed with $?"
run --resume "$scratch/kept" > "$scratch/c" || broken "a resumed comparison failed with $?"
for file in b c; do
  cmp -s <(grep '^placements digest' "$scratch/a") <(grep '^placements digest' "$scratch/$file") ||
    broken "the digests differ"
done
grep -q '^9 of 9 runs were finished before' "$scratch/c" || broken "a resumed comparison ran again"
[ "$(wc -l < "$scratch/a.csv")" -eq 10 ] || broken "the CSV has not one line per run"
grep -q '"verdict"' "$scratch/a.json" || broken "the JSON has no tests"
grep -q '^| mine |' "$scratch/a.md" || broken "the Markdown has no row per strategy"

# A formula decides as the strategy that it repeats, alone and in place of Nomad's fit. Its commas separate nothing.
thirds='1/3*(left_cpu/total_cpu)+1/3*(left_memory/total_memory)+1/3*(left_disk/total_disk)'
packed() { "$berth" compare --quiet "$1" --seeds 2 --strategies "$2" --csv "$scratch/packed.csv" > /dev/null &&
  cut -d, -f4- "$scratch/packed.csv" | cut -d, -f2; }
decided() { "$berth" run --quiet "$small" --strategy "$1" --json "$scratch/decided.json" > /dev/null &&
  grep -o '"decisions_digest": *"[0-9a-f]*"' "$scratch/decided.json"; }
[ "$(packed "$small" best-fit)" = "$(packed "$small" "expr:-($thirds)")" ] ||
  broken "a formula packs in another way than best-fit"
[ -n "$(decided best-fit)" ] && [ "$(decided best-fit)" = "$(decided "expr:1-($thirds)")" ] ||
  broken "a formula decides in another way than best-fit"
[ "$(decided best-fit)" != "$(decided expr:0)" ] || broken "a constant formula decides as best-fit"
sed "s|^mine = .*|mine = \"expr:-($thirds)\"|" "$small" > "$scratch/named.toml"
[ "$(packed "$small" best-fit)" = "$(packed "$scratch/named.toml" mine)" ] ||
  broken "a formula of the workload packs in another way than best-fit"
"$berth" compare --quiet "$small" --seeds 1 --strategies 'first-fit,expr:min(left_cpu,left_memory),worst-fit' \
  --csv "$scratch/f.csv" > /dev/null ||
  broken "a formula with commas failed with $?"
[ "$(grep -c '^small,full,\(first-fit\|worst-fit\|"expr:min(left_cpu,left_memory)"\),' "$scratch/f.csv")" -eq 3 ] ||
  broken "the CSV does not quote a formula"

for mode in "--capacity" "--capacity --task cpu=700,memory=300" "--minimum-nodes" \
  "--minimum-nodes --packing-order sum"; do
  # shellcheck disable=SC2086  # two words
  run $mode --threads 1 --json "$scratch/one.json" --csv "$scratch/one.csv" --markdown "$scratch/one.md" \
    > "$scratch/one" ||
    broken "$mode failed with $?"
  # shellcheck disable=SC2086
  run $mode --threads 3 > "$scratch/three" || broken "$mode on three threads failed with $?"
  cmp -s "$scratch/one" "$scratch/three" || broken "$mode depends on the number of threads"
  # Kept runs stand for new ones, what is cut off or gone is run again, and the report is the same.
  rm -rf "$scratch/sized"
  # shellcheck disable=SC2086
  run $mode --resume "$scratch/sized" > /dev/null || broken "$mode: keeping runs failed with $?"
  python3 - "$scratch/sized" << 'PYTHON' || broken "$mode: not 9 kept runs"
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
assert db.execute("select count(*) from runs where kind = 'comparison'").fetchone()[0] == 9
db.execute("delete from runs where id = 1")
db.execute("update runs set detail = substr(detail, 1, 20) where id = 2")
db.commit()
PYTHON
  # shellcheck disable=SC2086
  run $mode --resume "$scratch/sized" --csv "$scratch/resumed.csv" > "$scratch/resumed" ||
    broken "$mode: resuming failed with $?"
  grep -q '^7 of 9 runs were finished before' "$scratch/resumed" || broken "$mode: kept runs were not used"
  cmp -s "$scratch/one" <(grep -v 'finished before' "$scratch/resumed") || broken "$mode: a resumed report differs"
  cmp -s "$scratch/one.csv" "$scratch/resumed.csv" || broken "$mode: resumed values differ"
  [ "$(wc -l < "$scratch/one.csv")" -eq 10 ] || broken "$mode: the CSV has not one line per run"
  grep -q '"strategies"' "$scratch/one.json" || broken "$mode: no strategies in the JSON"
  grep -q '| mine |' "$scratch/one.md" || broken "$mode: no strategies in the Markdown"
done

sed 's/^name = "web"/&\npriority = [20, 90]/; s/nodes = 50/nodes = 8/' "$small" > "$scratch/full.toml"
printf '[arrivals]\nprocess = "poisson"\nrate_per_s = 1\nclock = "skip"\n' >> "$scratch/full.toml"
for threads in 1 3; do
  "$berth" compare --quiet "$scratch/full.toml" \
    --preemption nomad,kubernetes,kubernetes-sampled,fewest:node=nomad,exact-lexicographic --budget 1 --seeds 2 \
    --threads $threads \
    --csv "$scratch/evict$threads.csv" > "$scratch/evict$threads" || broken "--preemption failed with $?"
done
cmp -s <(grep '^placements digest' "$scratch/evict1") <(grep '^placements digest' "$scratch/evict3") ||
  broken "--preemption depends on threads"
grep -q '^  exact-lexicographic ' "$scratch/evict1" || broken "--preemption has no row per rule"
[ "$(cut -d, -f9 "$scratch/evict1.csv" | tail -n +2 | grep -cv '^0$')" -gt 0 ] ||
  broken "no task was evicted from a full cluster"

# Ctrl-C: what was finished is reported, marked, kept, and not run again.
sed 's/count = 40/count = 4000/; s/nodes = 50/nodes = 4000/' "$small" > "$scratch/long.toml"
"$berth" compare --quiet "$scratch/long.toml" --strategies first-fit,random --seeds 40 --resume "$scratch/cut" \
  > "$scratch/out" &
pid=$!
for _ in $(seq 300); do [ -s "$scratch/cut" ] && break; sleep 0.1; done
kill -INT "$pid"
status=0
wait "$pid" || status=$?
[ "$status" -eq 4 ] || broken "an interrupted comparison ends with $status instead of 4"
grep -q 'PARTIAL: interrupted' "$scratch/out" || broken "an interrupted comparison does not say so"

[ "$failures" -eq 0 ] && echo "berth compare: all checks hold"
exit $((failures > 0))
