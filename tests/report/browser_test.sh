#!/usr/bin/env bash
# The page in a real browser: a report of every kind of result is opened in headless Chromium, in light, in dark (set by
# the system, not by the link) and in a frame as wide as a phone. Every chart is drawn, the console is empty, the
# page is not wider than its window, and no name in a file ran as a script. Screenshots stay in ARTIFACTS.
# Exits with 77 (skipped) without the Debian packages chromium and libjs-chart.js.
#   tests/report/browser_test.sh BERTH ARTIFACTS
set -uo pipefail
artifacts=$2
command=report
# shellcheck source=tests/support/command_test.sh
. "$(dirname "${BASH_SOURCE[0]}")/../support/command_test.sh"
command -v chromium > /dev/null || { echo "skipped: chromium is not installed; apt-get install chromium"; exit 77; }
[ -e /usr/share/javascript/chart.js/chart.min.js ] || { echo "skipped: libjs-chart.js is not installed"; exit 77; }
unset BERTH_CHART_JS
# shellcheck source=tests/report/results.sh
. tests/report/results.sh
make_results
evil='</script><script>document.title=1234</script><img src=x onerror=document.title=1234>'
for file in first second; do sed -i "s|\"workload\": \"quickstart\"|\"workload\": \"$evil\"|" \
  "$scratch/$file.json"; done
sed -i "s|\"strategy\": \"best-fit\"|\"strategy\": \"$evil\"|" "$scratch/compared.json"
mkdir -p "$artifacts"
page="$artifacts/report.html"
"$berth" report --quiet "${results[@]}" --html "$page" || { broken "berth report --html failed"; exit 1; }

# browse WIDTH HEIGHT ADDRESS OPTION...: Chromium's answer; its log in $scratch/log.
browse() {
  local width=$1 height=$2 address=$3
  shift 3
  timeout 60 chromium --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars \
    --no-first-run \
    --user-data-dir="$scratch/profile" --enable-logging=stderr --virtual-time-budget=10000 \
    --window-size="$width,$height" \
    "$@" "file://$address" 2> "$scratch/log"
}
# look NAME ADDRESS THEME OPTION...: what the page's own check says, and an empty console.
look() {
  local name=$1 address=$2 theme=$3 said charts drawn
  shift 3
  browse 1280 900 "$address" --dump-dom "$@" > "$scratch/dom" ||
    broken "$name: chromium failed: $(tail -n 3 "$scratch/log")"
  said=$(grep -oE 'charts [0-9]+ of [0-9]+; blank: [^<]*' "$scratch/dom" | tail -n 1)
  read -r drawn charts < <(sed -E 's/charts ([0-9]+) of ([0-9]+).*/\1 \2/' <<< "$said")
  echo "$name: $said"
  [ "${charts:-0}" -ge 40 ] && [ "$drawn" = "$charts" ] || broken "$name: not every chart drew: '$said'"
  grep -q "theme $theme; errors: none" <<< "$said" || broken "$name: not in $theme, or with errors: '$said'"
  awk -F'width | of |;' \
    '/width/ {for (i = 1; i < NF; ++i) if ($i ~ /^[0-9]+$/) n[++c] = $i; exit !(n[c - 1] <= n[c])}' <<< "$said" ||
    broken "$name: wider than its window: '$said'"
  grep 'CONSOLE' "$scratch/log" && broken "$name: the console is not empty"
  grep -q '<title>1234' "$scratch/dom" && broken "$name: a name ran as a script"
}
look light "$page#check,light" light
grep -qF '&lt;/script&gt;&lt;script&gt;document.title=1234' "$scratch/dom" ||
  broken "the page does not show the odd name as text"
look dark "$page#check" dark --blink-settings=preferredColorScheme=0
# Chromium's windows are at least 500 wide, so a phone is a frame that reports the title of its page.
cat > "$artifacts/phone.html" << 'EOF'
<!doctype html><title>The report as wide as a phone</title>
<body style="margin: 0"><iframe id="phone" style="border: 0; width: 390px; height: 6000px"></iframe><p id="said"></p>
<script>
addEventListener("message", (event) => { document.getElementById("said").textContent = event.data; });
document.getElementById("phone").src = "report.html#check,light";
</script>
EOF
look phone "$artifacts/phone.html" light

# Tables sort: the title of a column is a button, which a keyboard reaches as well. Numbers go by size, whatever their
# unit.
cat > "$scratch/sort.html" << 'EOF'
<script>
addEventListener("load", () => {
  const said = [];
  const numbers = (text) => {
    const [, number, unit] = /^([\d.,]+) ?(ns|us|ms|s)?$/.exec(text) ?? [];
    return number === undefined ? null : Number(number.replace(/,/g, "")) * {ns: 1, us: 1e3, ms: 1e6, s: 1e9}[unit ?? "ns"];
  };
  let sorted = 0;
  for (const button of document.querySelectorAll("th button.sort")) {
    const title = button.parentNode, column = [...title.parentNode.children].indexOf(title);
    const values = () => [...title.closest("table").querySelectorAll("tbody tr")].map((row) => numbers(row.children[column]?.textContent ?? ""));
    if (button.tabIndex < 0) said.push("a title that no keyboard reaches");
    for (const way of ["ascending", "descending"]) {
      button.click();
      const found = values();
      if (title.getAttribute("aria-sort") !== way) said.push(way + " is not told");
      if (found.includes(null) || found.length < 2) continue;
      sorted += 1;
      if (found.some((value, i) => i > 0 && (way === "ascending" ? value < found[i - 1] : value > found[i - 1]))) said.push(way + ": " + found.join(" "));
    }
  }
  document.title = sorted > 20 && said.length === 0 ? "sorted" : "not sorted, " + sorted + ": " + said.slice(0, 3).join("; ");
});
</script>
EOF
sed "/<\/body>/{
r $scratch/sort.html
N
}" "$page" > "$scratch/sorted.html"
browse 1280 900 "$scratch/sorted.html#light" --dump-dom > "$scratch/dom"
grep -q '<title>sorted</title>' "$scratch/dom" || broken "tables do not sort: $(grep -oE '<title>[^<]*' "$scratch/dom")"

# A console that is not empty is noticed, and a chart that does not draw: this page lacks both.
sed 's/new Chart(entry.canvas, config)/new Chart(entry.canvas, {...config, data: {datasets: []}, plugins: []})/; s/^"use strict";$/"use strict"; console.error("seen");/' \
  "$page" > "$scratch/broken.html"
browse 1280 900 "$scratch/broken.html#check,light" --dump-dom > "$scratch/dom"
grep -q 'CONSOLE.*seen' "$scratch/log" || broken "the test does not see the console"
grep -qE 'charts 0 of [0-9]+' "$scratch/dom" ||
  broken "charts without data pass: $(grep -oE 'charts [0-9]+ of [0-9]+' "$scratch/dom")"

for shot in "light 1280 9000 $page#light" "dark 1280 9000 $page#dark" "phone 390 6000 $artifacts/phone.html"; do
  read -r name width height address <<< "$shot"
  browse "$width" "$height" "$address" --screenshot="$artifacts/$name.png" > "$scratch/out"
  [ "$(wc -c < "$artifacts/$name.png")" -gt 50000 ] || broken "$name.png: no screenshot"
done

[ "$failures" -eq 0 ] && echo "berth report in a browser: all checks hold; screenshots in $artifacts"
exit $((failures > 0))
