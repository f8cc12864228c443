#!/usr/bin/env bash
# `berth sweep` from outside: bad input, resume and retry, two gatherers at once, a full disk, Ctrl-C, and the same 200
# runs on this machine, by MPI and by Slurm, with a process of each killed on the way: the same digest of all results.
#   tests/study/sweep_command_test.sh BERTH
set -uo pipefail
command=sweep
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/support/command_test.sh
. "$here/../support/command_test.sh"
# shellcheck source=tests/study/slurm.sh
. "$here/slurm.sh"
# shellcheck source=tests/study/processes.sh
. "$here/processes.sh"
trap 'slurm_stop; rm -rf "$scratch"' EXIT
berth=$(readlink -f "$berth")

small_workload 30 'cpu_mhz = 2000' > "$scratch/small.toml"
cat > "$scratch/plan.toml" << 'END'
name = "two hundred"
[[runs]]
workloads = ["small.toml"]
[runs.vary]
seed = "1..50"
strategy = ["nomad", "worst-fit"]
cluster.nodes = [10, 50]
END
plan=$scratch/plan.toml

# Bad input: one line, nothing made.
expect 2 'no plan was named'
expect 2 'none.toml: No such file' "$scratch/none.toml"
echo 'runs = 3' > "$scratch/bad.toml"
expect 2 "bad.toml:1: 'runs' is not a list of tables" "$scratch/bad.toml" --output "$scratch/none"
expect 2 "'3' is not I/N" "$plan" --output "$scratch/task" --element 3
expect 2 "is another plan, or another berth" "$plan" --output "$scratch/task" --element 1/2 \
  --plan-digest 0123456789abcdef
expect 2 'cannot be a folder of results' "$plan" --output "$scratch/small.toml/x"
[ ! -e "$scratch/none" ] || broken "bad input made a folder"
"$berth" sweep "$plan" --output "$scratch/dry" --dry-run > "$scratch/out" || broken "--dry-run failed"
grep -q '^two hundred: 200 runs, 0 of them done' "$scratch/out" ||
  broken "--dry-run does not count: $(cat "$scratch/out")"
grep -qE 'estimate from 3 of them: .* each, .* in all on [0-9]+ processes' "$scratch/out" ||
  broken "--dry-run does not estimate"
[ ! -e "$scratch/dry" ] || broken "--dry-run made a folder"

# A cluster in place of a plan: its own jobs, with varied keys. The plan that it stands for is in the folder.
cluster=$here/../dryrun/recorded/stage-02.snap
"$berth" sweep "$cluster" --output "$scratch/own" --quiet --vary algorithm=binpack,spread --vary seed=1..2 \
  > "$scratch/own.txt" 2>&1 || broken "a sweep of a cluster failed: $(cat "$scratch/own.txt")"
grep -q '^stage-02: 4 of 4 runs done, 0 failed' "$scratch/own.txt" ||
  broken "a sweep of a cluster has not 4 runs: $(cat "$scratch/own.txt")"
own=$(digest_of "$scratch/own.txt")
"$berth" sweep "$scratch/own/plan.toml" --output "$scratch/again" --quiet > "$scratch/own.txt" 2>&1
[ "$(digest_of "$scratch/own.txt")" = "$own" ] ||
  broken "the plan in the folder gives other results: $(cat "$scratch/own.txt")"
mkdir "$scratch/cluster" && cp "$cluster" "$scratch/cluster/"
(cd "$scratch" && "$berth" sweep cluster/ --repeat 2 --dry-run) > "$scratch/out" || broken "a folder cannot be swept"
grep -q '^cluster: 2 runs' "$scratch/out" || broken "a folder is not counted: $(cat "$scratch/out")"
[ ! -e "$scratch/cluster-results" ] || broken "--dry-run made a folder for a cluster"
expect 2 'berth sweep: --vary: goes with a cluster only' "$plan" --vary seed=1,2
expect 2 "berth sweep --vary: " "$cluster" --output "$scratch/none" --vary seed
[ ! -e "$scratch/none" ] || broken "bad input made a folder for a cluster"

# Local: one run is killed, reported and retried.
"$berth" sweep "$plan" --output "$scratch/local" --quiet -j 2 > "$scratch/local.txt" 2>&1 &
pid=$!
kill_a_run "$pid" berth || broken "no run was there to be killed"
wait "$pid"
[ $? -eq 1 ] || broken "a killed run does not end a sweep with 1: $(cat "$scratch/local.txt")"
grep -qE 'FAILED  small .*was killed by signal 9' "$scratch/local.txt" ||
  broken "a killed run is not listed: $(cat "$scratch/local.txt")"
grep -q '200 of 200 runs done, 1 failed; --resume --retry' "$scratch/local.txt" ||
  broken "one of 200 has not failed: $(cat "$scratch/local.txt")"
expect 2 'has 200 of the 200 runs; add --resume' "$plan" --output "$scratch/local"
before=$(date +%s.%N)
"$berth" sweep "$plan" --output "$scratch/local" --quiet --resume --retry > "$scratch/local.txt" ||
  broken "the retry failed: $(cat "$scratch/local.txt")"
[ "$(runs_in "$scratch/local" "started > $before")" -eq 1 ] || broken "a retry ran more than what had failed"
digest=$(digest_of "$scratch/local.txt")
[ -n "$digest" ] || broken "there is no digest"

# Two gatherers at once: every run once. The CSV has as many lines.
for _ in 1 2; do "$berth" sweep "$plan" --output "$scratch/local" --gather --quiet --results "$scratch/both.db" \
  > /dev/null & done
wait
python3 - "$scratch" << 'PYTHON' || broken "the gathered files are wrong"
import csv, sqlite3, sys
folder = sys.argv[1]
for file in ("both.db", "local/results.db"):
    db = sqlite3.connect(f"{folder}/{file}")
    count = lambda sql: db.execute(sql).fetchone()[0]
    assert count("select count(*) from runs") == 200, file
    assert count("select count(*) from runs where status = 'ok'") == 200, file
    assert count("select count(*) from parameters") == 600, file
rows = list(csv.DictReader(open(folder + "/local/results.csv")))
assert len(rows) == 200 and {row["strategy"] for row in rows} == {"nomad", "worst-fit"}
assert all(float(row["placements_per_second"]) > 0 for row in rows)
PYTHON
(trap '' XFSZ; ulimit -f 0; "$berth" sweep "$plan" --output "$scratch/full" --quiet > /dev/null 2> "$scratch/err")
[ $? -eq 1 ] || broken "a full disk does not give exit code 1: $(cat "$scratch/err")"
"$berth" sweep "$plan" --output "$scratch/local" --gather --quiet > /dev/full 2> "$scratch/err"
[ $? -eq 1 ] && grep -q '^standard output: cannot be written' "$scratch/err" ||
  broken "standard output on a full disk does not give exit code 1: $(cat "$scratch/err")"
expect 2 'x.csv: is named by --results and by --csv' "$plan" --output "$scratch/none" --results "$scratch/x.csv" \
  --csv "$scratch/x.csv"
expect 2 'plan.toml: is an input, and --csv would write over it' "$plan" --output "$scratch/none" --csv "$plan"
expect 2 'small.toml: is an input, and --results would write over it' "$plan" --output "$scratch/none" \
  --results "$scratch/small.toml"
expect 2 'results.db: is named by --results and by --csv' "$plan" --output "$scratch/local" \
  --csv "$scratch/local/results.db"
expect 2 '^-: is no place for a database' "$plan" --output "$scratch/local" --gather --results -
for option in --print --wait '--sbatch=--time=1' --elements=3 --image=x; do
  expect 2 "${option%%=*}: says nothing with --on local" "$plan" --output "$scratch/none" "$option"
done
[ ! -e "$scratch/none" ] || broken "bad outputs made a folder"
[ "$("$berth" sweep "$plan" --output "$scratch/local" --gather --quiet --csv - 2> /dev/null | wc -l)" -eq 201 ] ||
  broken "--csv - does not write the lines, and only them, to standard output"

# Ctrl-C keeps what is done, and --resume has the rest.
"$berth" sweep "$plan" --output "$scratch/cut" --quiet -j 1 > "$scratch/out" 2>&1 &
pid=$!
for _ in $(seq 500); do [ "$(runs_in "$scratch/cut" true)" -ge 10 ] && break; sleep 0.02; done
kill -INT "$pid"
wait "$pid"
[ $? -eq 4 ] || broken "an interrupted sweep does not end with 4: $(cat "$scratch/out")"
grep -qE ': [0-9]+ of 200 runs done, 0 failed; --resume continues' "$scratch/out" ||
  broken "an interrupted sweep lost its runs: $(cat "$scratch/out")"
"$berth" sweep "$plan" --output "$scratch/cut" --quiet --resume > "$scratch/out" || broken "--resume failed"
[ "$(digest_of "$scratch/out")" = "$digest" ] || broken "resumed: another digest"

# Analyse the sweep: runs with equal seeds are paired; strategy and number of nodes are the factors.
"$berth" report "$scratch/local/results.db" > "$scratch/out" || broken "berth report of a database failed"
grep -qE '^  strategy +nomad, worst-fit' "$scratch/out" || broken "the report lacks its factors"
grep -qE '^  placed +cluster.nodes +10 +50 .* better' "$scratch/out" || broken "more nodes do not place more"

# By MPI: four ranks, one of whose runs is killed.
if command -v mpirun > /dev/null && [ -x "${berth}_mpi" ]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
    OMPI_MCA_btl=self,vader,tcp
  "$berth" sweep "$plan" --output "$scratch/mpi" --quiet --on mpi -j 4 > "$scratch/mpi.txt" 2>&1 &
  pid=$!
  killed=
  while [ -z "$killed" ]; do  # mpirun is a child of berth, ranks are children of mpirun, runs are children of ranks
    for mpirun in $(children_of "$pid"); do
      [ -z "$killed" ] && kill_a_run "$mpirun" berth_mpi once && killed=yes
    done
    [ "$(state_of "$pid")" != Z ] && [ -d "/proc/$pid" ] || break
  done
  [ -n "$killed" ] || broken "no run of MPI was there to be killed"
  wait "$pid"
  [ $? -eq 1 ] || broken "MPI: a killed run does not end with 1: $(tail -n 5 "$scratch/mpi.txt")"
  "$berth" sweep "$plan" --output "$scratch/mpi" --quiet --on mpi -j 4 --resume --retry > "$scratch/mpi.txt" 2>&1 ||
    broken "MPI: the retry failed: $(tail -n 5 "$scratch/mpi.txt")"
  [ "$(digest_of "$scratch/mpi.txt")" = "$digest" ] || broken "MPI: another digest: $(cat "$scratch/mpi.txt")"
  echo "MPI: $(digest_of "$scratch/mpi.txt")"
else
  echo "MPI: not looked at, openmpi-bin or libopenmpi-dev is not installed"
fi

# By Slurm: an array job, one of whose elements is killed on its way.
if command -v slurmctld > /dev/null && command -v munged > /dev/null; then
  slurm_start "$scratch/slurm" || broken "Slurm did not start"
  "$berth" sweep "$plan" --output "$scratch/array" --on slurm --elements 8 --print > "$scratch/script" 2> /dev/null ||
    broken "--print failed"
  grep -q '^#SBATCH --array=1-8$' "$scratch/script" || broken "the script is no array job: $(cat "$scratch/script")"
  "$berth" sweep "$plan" --output "$scratch/array" --quiet --on slurm --elements 8 --wait > "$scratch/slurm.txt" 2>&1 &
  pid=$!
  killed=
  while [ -z "$killed" ] && [ "$(state_of "$pid")" != Z ] && [ -d "/proc/$pid" ]; do
    for element in $(elements_of "$scratch/array"); do
      [ -z "$killed" ] && kill_running "$element" && killed=yes
    done
    sleep 0.01
  done
  [ -n "$killed" ] || broken "no element of Slurm was there to be killed"
  wait "$pid"
  # An element that was killed behind its last run has lost nothing.
  [ $? -eq 4 ] || grep -q ': 200 of 200 runs done, 0 failed$' "$scratch/slurm.txt" ||
    broken "Slurm: a lost element does not end with 4: $(cat "$scratch/slurm.txt")"
  "$berth" sweep "$plan" --output "$scratch/array" --quiet --on slurm --elements 8 --wait --resume \
    > "$scratch/slurm.txt" 2>&1 || broken "Slurm: --resume failed: $(cat "$scratch/slurm.txt")"
  [ "$(digest_of "$scratch/slurm.txt")" = "$digest" ] || broken "Slurm: another digest: $(cat "$scratch/slurm.txt")"
  echo "Slurm: $(digest_of "$scratch/slurm.txt")"
else
  echo "Slurm: not looked at, slurm-wlm or munge is not installed"
fi

[ "$failures" -eq 0 ] && echo "berth sweep: all checks hold; digest $digest"
exit "$((failures > 0))"
