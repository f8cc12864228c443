#!/usr/bin/env bash
# Runs the examples at the end of each command's help, in a folder that has the files they name.
#   tests/install/examples_test.sh BERTH ROOT
# Exit codes 1 and 2 mean that an example does not work. 3 and 4 are results: `gate` compares a program with itself.
set -uo pipefail
berth=$(readlink -f "$1") root=$(readlink -f "$2")
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$work"' EXIT
failures=0
broken() { echo "not so: $1" >&2; failures=$((failures + 1)); }

mkdir "$work/bin" "$work/old" "$work/new"
for folder in bin old new; do ln -s "$berth" "$work/$folder/berth"; done
export PATH=$work/bin:$PATH BERTH_DATA=$root
cd "$work" || exit 1
{
  cp "$root/tests/dryrun/recorded/stage-02.snap" cluster.snap
  berth import cluster.snap -o cluster.json
  cp cluster.json after.json
  berth import "$root/tests/dryrun/recorded/stage-01.snap" -o before.json
} 2> /dev/null > import.txt || broken "a recorded cluster cannot be read"
cat > web.hcl << 'JOB'
variable "count" {
  default = 1
}
job "web" {
  group "web" {
    count = var.count
    task "web" {
      driver = "mock_driver"
    }
  }
}
JOB
printf '[[runs]]\nworkloads = ["quickstart"]\nlabels = ["smoke"]\nrepetitions = 2\n' > plan.toml
printf 'submit_s,cpu_mhz,memory_mb\n0,100,128\n' > trace.csv
echo '{"time":"650000000","type":"0","collection_id":"1","priority":"200","resource_request":{"cpus":0.02,"memory":0.01}}' | gzip > instance_events.json.gz
cp "$root/tests/record/recorded/event-stream.jsonl.gz" recording.jsonl.gz
gunzip recording.jsonl.gz
gunzip -c "$root/tests/golden/evals/place/rank.jsonl.gz" | head -n 20 > vectors.jsonl
for name in base head; do berth run batch-drain --quiet --json $name.json > /dev/null; done

# An agent for the examples that name one, at a port of its own.
berth serve cluster.json --listen 127.0.0.1:0 > agent.txt &
server=$!
for _ in $(seq 100); do
  grep -q 'http://' agent.txt && break
  sleep 0.1
done
agent=$(grep -oE '127.0.0.1:[0-9]+' agent.txt | head -n 1)

count=0
# `gate record` first: it writes the baseline of an example of `gate`.
for command in "gate record" $(berth --help | awk '/^Subcommands:/ {on = 1; next} /^$/ {on = 0} on && /^  [a-z]/ {print $1}') "trace check" "trace convert"; do
  # shellcheck disable=SC2086  # a command of two words
  examples=$(berth $command --help | awk 'on && /^  berth/ {print} /^Examples:/ {on = 1}')
  case "$command" in
    completion | man) continue ;;  # their notes show how to use them
  esac
  [ -n "$examples" ] || broken "the help of $command has no example"
  # shellcheck disable=SC2086
  [ "$(berth man $command | sed -n '/^\.SH EXAMPLES/,/^\.SH SEE/p' | grep -c '^berth')" = "$(grep -c . <<< "$examples")" ] ||
    broken "the man page of $command has other examples than its help"
  while read -r example; do
    case "$example" in
      "berth serve"*) run="timeout --preserve-status 2 ${example//127.0.0.1:4646/127.0.0.1:0}" ;;
      *) run=${example//127.0.0.1:4646/$agent} ;;
    esac
    case "$example" in "berth serve cluster.json") run="$run --listen 127.0.0.1:0" ;; esac
    output=$(eval "timeout 120 $run" 2>&1 < /dev/null)
    code=$?
    case $code in 0 | 3 | 4) ;; *) broken "'$example' ends with $code: $(tail -n 2 <<< "$output")" ;; esac
    count=$((count + 1))
  done <<< "$examples"
done
[ "$failures" -eq 0 ] && echo "$count examples of the help texts work"
exit $((failures > 0))
