#!/usr/bin/env bash
# The status page in a real browser: jobs run in a simulated cluster, and headless Chromium has the page open for some seconds. The
# map has a cell per node and several colours, jobs and decisions are listed, every chart is drawn, messages arrived
# meanwhile, the console is empty, the page is not wider than its window, and no name of a job ran as a script. Screenshots
# stay in ARTIFACTS. Exits with 77 (skipped) without the Debian packages chromium and curl.
#   tests/serve/browser_test.sh BERTH ARTIFACTS
set -uo pipefail
artifacts=$2
command=serve
# shellcheck source=tests/support/command_test.sh
. "$(dirname "${BASH_SOURCE[0]}")/../support/command_test.sh"
for tool in chromium curl; do
  command -v "$tool" > /dev/null || { echo "skipped: $tool is not installed; apt-get install $tool"; exit 77; }
done
mkdir -p "$artifacts"

"$berth" serve --nodes 300 --speed 10 --listen 127.0.0.1:0 --seed 7 > "$scratch/log" 2>&1 &
server=$!
trap 'kill $server 2> /dev/null; wait $server 2> /dev/null; rm -rf "$scratch"' EXIT
for _ in $(seq 100); do grep -q 'http://' "$scratch/log" && break; sleep 0.1; done
address=$(grep -oE 'http://[0-9.:]+' "$scratch/log" | head -n 1)
[ -n "$address" ] || { broken "berth serve does not say where it listens: $(cat "$scratch/log")"; exit 1; }

evil='</script><svg/onload=document.title=1234>'
register() {
  sed -e "s|ID_|$1|g" -e "s|COUNT_|$2|" -e "s|CPU_|$3|" << 'JSON' | curl -sS -o "$scratch/answer" -w '%{http_code}' -X PUT --data-binary @- "$address/v1/jobs" |
{"Job": {"ID": "ID_", "Name": "ID_", "Type": "service", "Datacenters": ["*"], "TaskGroups": [{"Name": "g", "Count": COUNT_,
  "Tasks": [{"Name": "t", "Driver": "mock_driver", "Config": {"run_for": "10m"}, "Resources": {"CPU": CPU_, "MemoryMB": 300}}]}]}}
JSON
    grep -q '^200$' || broken "job $1 was not registered: $(cat "$scratch/answer")"
}
register web 120 3000
register tooBig 5 900000
node=$(curl -sS "$address/v1/nodes?per_page=1" | grep -oE '"ID":"[0-9a-f-]{36}"' | head -n 1 | cut -d'"' -f4)
curl -sS -o "$scratch/answer" -X PUT -d '{"Eligibility": "ineligible"}' "$address/v1/node/$node/eligibility"
(for i in $(seq 40); do register "job-$i" 3 1500; sleep 0.2; done) &
jobs=$!

# The name of a job may be anything that is no white space.
register "$evil" 1 100

curl -sS -o "$scratch/answer" -w '%{http_code} %{redirect_url}' "$address/" | grep -q '^307 .*/ui/$' || broken "/ does not lead to /ui/"

# browse WIDTH HEIGHT ADDRESS OPTION...: Chromium's answer; its log in $scratch/console. The page holds back its `load` event for
# some seconds when it is asked to check itself.
browse() {
  local width=$1 height=$2 page=$3
  shift 3
  timeout 60 chromium --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars --no-first-run \
    --user-data-dir="$scratch/profile" --enable-logging=stderr --window-size="$width,$height" "$@" "$page" 2> "$scratch/console"
}
# look NAME OPTION...: what the page's own check says, and an empty console.
look() {
  local name=$1 said
  shift
  browse 1280 1000 "$address/ui/#check" --dump-dom "$@" > "$scratch/dom" || broken "$name: chromium failed: $(tail -n 3 "$scratch/console")"
  said=$(grep -oE 'check: nodes [0-9][^<]*' "$scratch/dom" | tail -n 1)
  echo "$name: $said"
  [[ $said =~ nodes\ ([0-9]+)\;\ colours\ ([0-9]+)\;\ jobs\ ([0-9]+)\;\ decisions\ ([0-9]+)\;\ messages\ ([0-9]+)\;\ blank\ charts\ ([0-9]+)\;\ width\ ([0-9]+)\ of\ ([0-9]+)\;\ errors:\ (.*)$ ]] ||
    { broken "$name: the page says nothing of itself"; return; }
  [ "${BASH_REMATCH[1]}" -eq 300 ] || broken "$name: ${BASH_REMATCH[1]} nodes are drawn, not 300"
  [ "${BASH_REMATCH[2]}" -ge 3 ] || broken "$name: the map has ${BASH_REMATCH[2]} colours only"
  [ "${BASH_REMATCH[3]}" -ge 3 ] || broken "$name: ${BASH_REMATCH[3]} jobs are listed"
  [ "${BASH_REMATCH[4]}" -ge 3 ] || broken "$name: ${BASH_REMATCH[4]} decisions are listed"
  [ "${BASH_REMATCH[5]}" -ge 5 ] || broken "$name: ${BASH_REMATCH[5]} messages came: the page is not live"
  [ "${BASH_REMATCH[6]}" -eq 0 ] || broken "$name: ${BASH_REMATCH[6]} charts are blank"
  [ "${BASH_REMATCH[7]}" -le "${BASH_REMATCH[8]}" ] || broken "$name: the page is wider than its window"
  [ "${BASH_REMATCH[9]}" = none ] || broken "$name: errors: ${BASH_REMATCH[9]}"
  grep 'CONSOLE' "$scratch/console" && broken "$name: the console is not empty"
  grep -q '<title>1234' "$scratch/dom" && broken "$name: a name ran as a script"
}
look light
look dark --blink-settings=preferredColorScheme=0
wait "$jobs"
grep -q 'no room for' "$scratch/dom" || broken "the decision that found no room is not shown"
grep -qF '&lt;/script&gt;&lt;svg' "$scratch/dom" || broken "the odd name is not shown as text"

for shot in "light 1280 1600" "phone 500 2400"; do
  read -r name width height <<< "$shot"
  browse "$width" "$height" "$address/ui/#check" --screenshot="$artifacts/$name.png" > "$scratch/out"
  [ "$(wc -c < "$artifacts/$name.png")" -gt 20000 ] || broken "$name.png: no screenshot"
done

[ "$failures" -eq 0 ] && echo "berth serve's page in a browser: all checks hold; screenshots in $artifacts"
exit $((failures > 0))
