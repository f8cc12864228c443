#!/usr/bin/env bash
# `berth report` from outside: every kind of result as tables, bad input, the contents of a page, texts that look like
# markup.
# browser_test.sh checks the page itself.
#   tests/report/report_command_test.sh BERTH
set -uo pipefail
command=report
# shellcheck source=tests/support/command_test.sh
. "$(dirname "${BASH_SOURCE[0]}")/../support/command_test.sh"
# shellcheck source=tests/report/results.sh
. tests/report/results.sh
make_results

# Every kind has its section, with machine, build and seed.
"$berth" report "${results[@]}" > "$scratch/all.txt" || broken "a report of every kind failed with $?"
for line in 'quickstart (smoke), 2 runs' 'contention (smoke)' 'nomad-grid (smoke)' 'nomad-others' \
  'disconnects (smoke)' 'quickstart (smoke), 9 settings, 2 runs each' 'recover-lost (smoke): 2 strategies compared' \
  'quickstart (smoke): 2 strategies compared' 'quickstart (smoke): how many more tasks fit' \
  'quickstart (smoke): fewest nodes' \
  'openb-atc23: pods' 'w (smoke): profile' 'quickstart (smoke): profile' 'w (smoke): load' 'quickstart (smoke): load' \
  'Gate: inconclusive' 'History' 'Baseline'; do
  grep -qF -- "$line" "$scratch/all.txt" || broken "the report has no section '$line'"
done
[ "$(grep -c '^  machine ' "$scratch/all.txt")" -ge 8 ] || broken "sections do not name their machine"
# Runs side by side: the ratio is second over first, of the numbers in the files.
# One run each is no evidence: its ratio has no colour. Tables fit the terminal, unless --wide is given.
"$berth" report "$scratch/first.json" "$scratch/second.json" --quiet --html "$scratch/two.html" ||
  broken "a page of two runs failed"
grep -qE '"[0-9.]+x","(good|bad)"' "$scratch/two.html" && broken "the ratio of one run to another is coloured"
[ "$(awk '{ gsub(/[\x80-\xbf]/, ""); if (length > n) n = length } END { print n }' "$scratch/all.txt")" -le 100 ] ||
  broken "a table is wider than 100 columns: $(awk 'length > 104' "$scratch/all.txt" | head -n 3)"
"$berth" report "${results[@]}" --wide > "$scratch/wide.txt" || broken "--wide failed"
tr -s ' \n' '\n' < "$scratch/all.txt" | sort -u > "$scratch/all.words"
tr -s ' \n' '\n' < "$scratch/wide.txt" | sort -u | diff - "$scratch/all.words" > /dev/null ||
  broken "a table that is broken to fit lost a word"
# The settings name the strategy. A run that mostly consists of retries says so.
grep -qE '^  settings +sampled mode, strategy nomad, binpack, order nomad, 1 worker' "$scratch/all.txt" ||
  broken "settings lack the strategy"
sed -E 's/"(retries|blocked_again)": 0/"\1": 1000000/; s/"class": 0/"class": 999000/' "$scratch/first.json" \
  > "$scratch/retried.json"
"$berth" report "$scratch/retried.json" | grep -A 2 'WARNING' |
  grep -q '% of the evaluations were retries of blocked ones' || broken "no reason is given where retries dominate"
# The flame graph of a profile is in its page, as its slowest evaluations are.
"$berth" report "$scratch/measured.json" --quiet --html "$scratch/measured.html" ||
  broken "the page of a profile failed"
grep -qE '"flame":\{"title":"Flame graph","about":"[^"]*","stacks":\[\["[a-z_;]+",[0-9]' "$scratch/measured.html" ||
  broken "the page of a profile lacks its flame graph"
grep -q '"Slowest evaluations"' "$scratch/measured.html" || broken "the page of a profile lacks its slowest evaluations"
# A page of twelve series: colours repeat after the eighth, with other line styles.
grep -q -- '--s15:' "$scratch/two.html" || broken "the page has colours for eight series only"
ratio=$(sed -nE 's/^ +"nodes_evaluated": ([0-9]+),/\1/p' "$scratch/first.json" "$scratch/second.json" |
  awk 'NR == 1 {first = $1} NR == 2 {printf "%.2fx", $1 / first}')
grep -E '^  nodes evaluated ' "$scratch/all.txt" | head -n 1 | grep -qF " $ratio" ||
  broken "nodes evaluated: no ratio $ratio"
grep -qE '^  rank +75.0 % +~300 ms +2.00 us +9.00 us .* 86 B +2.5 ns +5.00x ' "$scratch/wide.txt" ||
  broken "the profile lacks its stage"
grep -qF '+1.20 % ± 0.40 of processor time' "$scratch/all.txt" || broken "the profile lacks its overhead"
grep -qE '^  128 MiB +8 GB/s +20.00 ns +110.00 ns' "$scratch/all.txt" ||
  broken "the profile lacks this machine's memory"
grep -qE '^  1 +10 +20 +31.5 +found$' "$scratch/all.txt" || broken "the load lacks its knee"
# One file alone: its numbers are those that berth run printed.
"$berth" report "$scratch/first.json" > "$scratch/one.txt" || broken "a report of one run failed"
digest=$(awk '/^  decisions / {print $2}' "$scratch/first.txt")
grep -q "decisions *$digest" "$scratch/one.txt" || broken "a report of one run has another digest"
grep -q 'ratio: to ' "$scratch/one.txt" && broken "a report of one run has a ratio"

# A simulation: its faults with their recovery, in the table and as marks of the page's timeline.
"$berth" report "$scratch/life.json" --html "$scratch/life.html" > "$scratch/life.txt" ||
  broken "a report of a life failed"
grep -qE '^  partition .* 120 s +2 +7 +7 ' "$scratch/life.txt" || broken "the report of a life lacks its fault"
grep -qF '"marks":[[120.0,360.0,"partition' "$scratch/life.html" || broken "the page of a life lacks its mark"

# Bad input.
sed 's/"at_seconds": 120[.0]*,/"at_seconds": "noon",/' "$scratch/life.json" > "$scratch/noon.json"
expect 2 'noon.json:[0-9]+:[0-9]+: /life/faults/0/at_seconds: is a string, not a number' "$scratch/noon.json"
expect 2 'no file was named'
expect 2 'none.json: No such file' "$scratch/none.json"
expect 2 'is named twice' "$scratch/first.json" "$scratch/first.json"
expect 2 'Is a directory|is a folder|cannot be read' "$scratch"
: > "$scratch/empty.json"
expect 2 'empty.json: is empty' "$scratch/empty.json"
echo '[]' > "$scratch/list.json"
expect 2 'list.json: is a list, not a result of berth; give a file' "$scratch/list.json"
echo '{}' > "$scratch/object.json"
expect 2 'object.json: names no format' "$scratch/object.json"
echo '{"format": "golden-eye", "version": 1}' > "$scratch/other.json"
expect 2 "other.json: is of the format 'golden-eye'" "$scratch/other.json"
sed 's/"version": 1,/"version": 2,/' "$scratch/first.json" > "$scratch/later.json"
expect 2 'later.json:[0-9]+:[0-9]+: /version: is version 2 of berth-run; this berth reads version 1' \
  "$scratch/later.json"
sed 's/"placements_per_second": [0-9.]*/"placements_per_second": "many"/' "$scratch/first.json" > "$scratch/text.json"
expect 2 'text.json:[0-9]+:[0-9]+: /placements_per_second: is a string, not a number' "$scratch/text.json"
sed '/"decisions_digest":/d' "$scratch/first.json" > "$scratch/lacks.json"
expect 2 'lacks.json:[0-9]+:[0-9]+: /decisions_digest: is missing' "$scratch/lacks.json"
echo '{"kind": "berth-compare", "version": 1, "workload": "w", "strategies": []}' > "$scratch/nothing.json"
echo '{"kind": "berth-compare", "version": 1, "workload": "w", "strategies": [{"strategy": "a", "summary": {}, "runs": []},
  {"strategy": "b", "runs": []}]}' > "$scratch/half.json"
expect 2 'nothing.json:[0-9]+:[0-9]+: /strategies: is empty' "$scratch/nothing.json"
expect 2 'half.json:[0-9]+:[0-9]+: /strategies/1/summary: is missing' "$scratch/half.json"
printf '{"format": "berth-history", "version": 1}\n{"format": "berth-history", "version": 1}\n' > "$scratch/old.jsonl"
expect 2 'old.jsonl: is a history in lines of JSON, which an older berth wrote' "$scratch/old.jsonl"
# Cut anywhere: never a crash, never half a report; one line that names the file.
for file in first.json gate.json compared.json experiment.json; do
  size=$(wc -c < "$scratch/$file")
  for part in 1 2 7 30 50 71 90 99; do
    head -c $((size * part / 100 + 1)) "$scratch/$file" > "$scratch/cut.json"
    expect 2 'cut.json' "$scratch/cut.json"
  done
  head -c $((size - 2)) "$scratch/$file" > "$scratch/cut.json" # all but the closing brace
  expect 2 'cut.json' "$scratch/cut.json"
done

# Pages.
printf '/*! Chart.js v2.9.4 */' > "$scratch/old.js"
export BERTH_CHART_JS="$scratch/nowhere.js"
expect 2 'nowhere.js: Chart.js is not there.*apt-get install libjs-chart.js' "$scratch/first.json" \
  --html "$scratch/page.html"
BERTH_CHART_JS="$scratch/old.js" expect 2 'old.js: is not version 3 or 4 of Chart.js' "$scratch/first.json" \
  --html "$scratch/page.html"
command=run expect 2 'Chart.js is not there' quickstart --label smoke --html "$scratch/page.html"
command=compare expect 2 'Chart.js is not there' quickstart --label smoke --html "$scratch/page.html"
command=profile expect 2 'Chart.js is not there' quickstart --label smoke --html "$scratch/page.html"
command=load expect 2 'Chart.js is not there' quickstart --label smoke --html "$scratch/page.html"
command=gate expect 2 'Chart.js is not there' --html "$scratch/page.html"
[ ! -e "$scratch/page.html" ] || broken "a page was written in spite of bad input"
# A stand-in of Chart.js is enough for what is in the file.
printf '/*! Chart.js v3.0.0 */ "</script>";' > "$scratch/chart.js"
export BERTH_CHART_JS="$scratch/chart.js"
expect 2 'none/page.html: its folder does not exist' "$scratch/first.json" --html "$scratch/none/page.html"
echo before > "$scratch/page.html"
expect 2 'cut.json' "$scratch/cut.json" --html "$scratch/page.html"
[ "$(cat "$scratch/page.html")" = before ] || broken "bad input overwrote a page"
(trap '' XFSZ; ulimit -f 0; "$berth" report "$scratch/first.json" --html "$scratch/page.html" > /dev/null 2> /dev/null)
[ $? -eq 1 ] || broken "a full disk does not give exit code 1"
[ "$(cat "$scratch/page.html")" = before ] || broken "a full disk changed the old page"

# Texts that try to be markup stay texts: in the page's data every < is written as an escape.
evil='</script><script>alert(1)</script><img src=x onerror=alert(2)>'
sed "s|\"workload\": \"quickstart\"|\"workload\": \"$evil\"|" "$scratch/first.json" > "$scratch/evil.json"
"$berth" report "$scratch/evil.json" --html "$scratch/page.html" > "$scratch/out" || broken "a page of odd texts failed"
grep -qF "$evil" "$scratch/page.html" && broken "a name became markup"
grep -qF '\u003c/script>\u003cscript>alert(1)' "$scratch/page.html" || broken "the page's data lacks the name"
grep -qF '<title>&lt;/script&gt;' "$scratch/page.html" || broken "the page's title lacks the name"
grep -qF '"<\/script>"' "$scratch/page.html" || broken "a script's text could end the script"
[ "$(grep -c '</script>' "$scratch/page.html")" -eq 3 ] || broken "the page has other than its three scripts"
grep -qE '(src|href)="?(https?:)?//' "$scratch/page.html" && broken "the page asks the network for something"
printf '{"format":"berth-run\\u001b[2J","version":1}' > "$scratch/escape.json"
expect 2 "is of the format 'berth-run\?\[2J'" "$scratch/escape.json"

# The page of a run has the tables that the terminal has, and no chart of nothing where there was next to nothing to
# measure.
small_workload 1 > "$scratch/tiny.toml"
sed -i 's/count = 20/count = 1/' "$scratch/tiny.toml"
"$berth" run "$scratch/tiny.toml" --quiet --html "$scratch/tiny.html" > "$scratch/out" ||
  broken "a page of a tiny run failed"
for title in Latency Packing; do
  grep -qF "\"title\":\"$title\"" "$scratch/tiny.html" || broken "the page of a tiny run has no table '$title'"
done
for title in 'Throughput over time' 'Latency by percentile'; do
  grep -qF "\"title\":\"$title\"" "$scratch/tiny.html" && broken "the page of a run of one placement draws '$title'"
done
"$berth" report "$scratch/contention.json" --html "$scratch/page.html" > "$scratch/out" ||
  broken "a page of several workers failed"
for title in Latency Workers Packing 'Throughput over time' 'Latency by percentile'; do
  grep -qF "\"title\":\"$title\"" "$scratch/page.html" || broken "the page of several workers has no '$title'"
done
"$berth" report "$scratch/first.json" > "$scratch/one.txt"
for row in placement queue schedule commit evaluation; do
  of_run=$(grep -E "^ +$row  " "$scratch/first.txt" | awk '{print $2}')
  grep -E "^ +$row  " "$scratch/one.txt" | head -n 1 | awk '{print $2 + 0}' | grep -q '^[1-9]' ||
    broken "the report has no latency of $row ($of_run)"
done
grep -qE '^  kind of job +evaluations +placed +p50' "$scratch/one.txt" || broken "the report lacks the kinds of jobs"

# --html of the commands themselves.
"$berth" run quickstart --label smoke --quiet --html "$scratch/run.html" > "$scratch/out" ||
  broken "berth run --html failed"
"$berth" compare quickstart --label smoke --seeds 2 --strategies best-fit --quiet --html "$scratch/compare.html" \
  > "$scratch/out" ||
  broken "berth compare --html failed"
"$berth" gate compare "$scratch/baseline.json" "$scratch/first.json" --html "$scratch/gate.html" > "$scratch/out"
"$berth" gate drift "$scratch/history.db" --html "$scratch/drift.html" > "$scratch/out" ||
  broken "berth gate drift --html failed"
"$berth" profile quickstart --label smoke --quiet --overhead-rounds 0 --html "$scratch/profile.html" > "$scratch/out" ||
  broken "berth profile --html failed"
"$berth" load quickstart --label smoke --quiet --p99-limit 1000s --from 1 --to 1 --seconds 0.1 \
  --html "$scratch/load.html" > "$scratch/out" ||
  broken "berth load --html failed"
for page in run compare gate drift profile load; do
  grep -q '"sections":\[{"title":"' "$scratch/$page.html" || broken "$page.html holds no section"
done

[ "$failures" -eq 0 ] && echo "berth report: all checks hold"
exit $((failures > 0))
