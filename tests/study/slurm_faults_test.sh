#!/usr/bin/env bash
# Faults in Slurm: an element of a sweep is requeued while it runs, and its node is lost. Nothing is counted twice,
# nothing is lost, and the digest is that of a local run.
#   tests/study/slurm_faults_test.sh BERTH
# Skipped (77) where there is no Slurm.
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
if ! command -v slurmctld > /dev/null || ! command -v munged > /dev/null; then
  echo "slurm-wlm or munge is not installed: skipped"
  exit 77
fi

cat > "$scratch/plan.toml" << 'END'
name = "faults"
[[runs]]
workloads = ["quickstart"]
labels = ["smoke"]
[runs.vary]
seed = "1..60"
END
plan=$scratch/plan.toml
"$berth" sweep "$plan" --output "$scratch/local" --quiet > "$scratch/local.txt" ||
  broken "the runs here failed: $(cat "$scratch/local.txt")"
digest=$(digest_of "$scratch/local.txt")

# A requeued job waits until its old credential has expired; a node is down when it was not heard of for SlurmdTimeout.
slurm_cred_expire_s=5
slurm_start "$scratch/slurm" SlurmdTimeout=10 KillWait=2 || { broken "Slurm did not start"; exit 1; }

# stop_element FOLDER PID: stops an element that works on FOLDER, before the sweep of PID is over; sets `element`.
stop_element() {
  local one
  while [ -d "/proc/$2" ] && [ "$(state_of "$2")" != Z ]; do
    for one in $(elements_of "$1"); do
      stop_running "$one" && element=$one && return 0
    done
    sleep 0.01
  done
  return 1
}
job_of() { sed -nE 's/^submitted as job ([0-9]+):.*/\1/p' "$1"; }
restarts_of() { scontrol show job "$1" 2> /dev/null | sed -nE 's/.*Restarts=([0-9]+).*/\1/p' | sort -n | tail -n 1; }

# check NAME CODE: the sweep has ended well, every run is there once, with the digest of the runs here.
check() {
  [ "$2" -eq 0 ] || broken "$1: the sweep ends with $2: $(cat "$scratch/$1.txt")"
  grep -q '^faults: 60 of 60 runs done, 0 failed$' "$scratch/$1.txt" ||
    broken "$1: runs are lost: $(cat "$scratch/$1.txt")"
  [ "$(digest_of "$scratch/$1.txt")" = "$digest" ] || broken "$1: another digest: $(cat "$scratch/$1.txt")"
  [ "$(restarts_of "$(job_of "$scratch/$1.txt")")" -ge 1 ] || broken "$1: no element was started twice"
  [ "$(python3 -c 'import sqlite3, sys; print(*sqlite3.connect(sys.argv[1]).execute("select count(*), count(distinct key) from runs").fetchone())' \
    "$scratch/$1/results.db")" = "60 60" ] || broken "$1: not 60 runs in the database"
  echo "$1: $(digest_of "$scratch/$1.txt"), $(sed -n '/^faults/p' "$scratch/$1.txt")"
}

# An element is requeued while it runs.
"$berth" sweep "$plan" --output "$scratch/requeued" --quiet --on slurm --elements 2 --wait > "$scratch/requeued.txt" \
  2>&1 &
pid=$!
if stop_element "$scratch/requeued" "$pid"; then
  job=$(tr '\0' '\n' < "/proc/$element/environ" | sed -n 's/^SLURM_JOB_ID=//p')
  scontrol requeue "$job" || broken "scontrol requeue failed"
else
  broken "no element was there to be requeued"
fi
wait "$pid"
check requeued $?

# The node vanishes, with all that runs on it, and comes back.
"$berth" sweep "$plan" --output "$scratch/vanished" --quiet --on slurm --elements 1 --wait > "$scratch/vanished.txt" \
  2>&1 &
pid=$!
if stop_element "$scratch/vanished" "$pid"; then
  step=$(awk '{ print $4 }' "/proc/$element/stat")
  kill -KILL "$slurmd_pid" "$step" "$element" $(children_of "$element") 2> /dev/null
  wait "$slurmd_pid" 2> /dev/null
  until sinfo -h -o %T | grep -q '^down'; do sleep 0.1; done
  slurmd_start
else
  broken "no element was there when the node vanished"
fi
wait "$pid"
check vanished $?

[ "$failures" -eq 0 ] && echo "sweeps under Slurm's faults: all checks hold"
exit "$((failures > 0))"
