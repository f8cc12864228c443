# Processes that tests of sweeps look for, stop and kill; to be sourced.

# children_of PID: the processes below PID. Read from /proc where the kernel lists them: a run may end before a pgrep.
children_of() { cat "/proc/$1/task/$1/children" 2> /dev/null || pgrep -P "$1"; }
state_of() { sed -E 's/^.*\) (.).*/\1/' "/proc/$1/stat" 2> /dev/null; }

# stop_running PID: stops PID if it still runs, and returns when it is seen to be stopped. A process that has ended, but
# was not waited for, takes signals too, without effect.
stop_running() {
  local state
  kill -STOP "$1" 2> /dev/null || return 1
  while state=$(state_of "$1") && [ -n "$state" ] && [ "$state" != Z ] && [ "$state" != X ]; do
    [ "$state" = T ] && return 0
  done
  return 1
}
# kill_running PID: kills PID with SIGKILL if it still runs.
kill_running() { stop_running "$1" && kill -KILL "$1" 2> /dev/null; }

# kill_a_run PID NAME [once]: kills a run called NAME that PID has started, or a process below PID. Looks until there is
# one or PID has ended; with `once`, looks one time, and only at runs of the processes below PID.
kill_a_run() {
  local pid child
  while [ -d "/proc/$1" ] && [ "$(state_of "$1")" != Z ]; do
    for pid in $([ -n "${3:-}" ] || echo "$1") $(children_of "$1"); do
      for child in $(children_of "$pid"); do
        [ "$(cat "/proc/$child/comm" 2> /dev/null)" = "$2" ] && kill_running "$child" && return 0
      done
    done
    [ -z "${3:-}" ] || return 1
  done
  return 1
}
digest_of() { sed -nE 's/^  digest +([0-9a-f]+)$/\1/p' "$1"; }
# runs_in FOLDER CONDITION: the number of stored runs of a sweep for which the condition in SQL holds.
runs_in() {
  python3 - "$1" "$2" << 'PYTHON'
import glob, sqlite3, sys
count = 0
for file in glob.glob(sys.argv[1] + "/runs/*.db"):
    try:
        db = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
        count += db.execute(f"select count(*) from runs where {sys.argv[2]}").fetchone()[0]
    except sqlite3.OperationalError:  # begun, and not written yet
        pass
print(count)
PYTHON
}
