# Shared by tests of one command from outside; to be sourced with `command` set, the program as first argument. Gives
# $berth, $scratch (removed at the end), broken(), expect() and small_workload().
berth=$1
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0
broken() { echo "$1" >&2; failures=$((failures + 1)); }

# expect CODE PATTERN ARGUMENTS...: exit code, and exactly one line on standard error that matches.
expect() {
  local code=$1 pattern=$2 status=0
  shift 2
  "$berth" "$command" --quiet "$@" > "$scratch/out" 2> "$scratch/err" || status=$?
  [ "$status" -eq "$code" ] || broken "berth $command $*: exit code $status instead of $code"
  [ "$(wc -l < "$scratch/err")" -eq 1 ] || broken "berth $command $*: not one line on standard error"
  grep -qE -- "$pattern" "$scratch/err" || broken "berth $command $*: '$(cat "$scratch/err")' does not match '$pattern'"
  [ ! -s "$scratch/out" ] || [ "$code" -eq 1 ] || broken "berth $command $*: wrote a report in spite of bad input"
}

# small_workload COUNT [LINE...]: a workload of 50 nodes and 20 jobs of COUNT allocations each; lines of its kind of job
# follow.
small_workload() {
  printf '%s\n' 'name = "small"' '[cluster]' 'nodes = 50' '[[cluster.shapes]]' 'name = "std"' '[jobs]' 'count = 20' \
    '[[jobs.mix]]' \
    'name = "web"' "count = $1" "${@:2}"
}
