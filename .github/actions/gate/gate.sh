#!/usr/bin/env bash
# The step `gate` of action.yml, which sets the variables. Exit code 4 of the program (the runner was too noisy to tell,
# or the baseline is not comparable) is a warning, not a failure; all others are passed on.
set -euo pipefail
arguments=(--quiet --max-time "$MAX_TIME")
[ -z "$BASE_REV" ] || arguments+=(--base-rev "$BASE_REV")
[ -z "$BASE" ] || arguments+=(--base "$BASE")
if [ -n "$BASELINE" ]; then arguments+=(--baseline "$BASELINE"); else arguments+=(--workloads "$WORKLOADS"); fi
[ "$COUNTERS_ONLY" != true ] || arguments+=(--counters-only)
[ "$INSTRUCTIONS" != true ] || arguments+=(--instructions)
mkdir -p "$RESULTS"
status=0
"$BERTH" gate "${arguments[@]}" --markdown "$RESULTS/gate.md" --json "$RESULTS/gate.json" \
  --junit "$RESULTS/gate.xml" || status=$?
if [ -f "$RESULTS/gate.md" ]; then cat "$RESULTS/gate.md" >> "$GITHUB_STEP_SUMMARY"; fi
case $status in
  0) verdict=pass ;;
  3) verdict=regression ;;
  4) verdict=inconclusive ;;
  *) exit "$status" ;;
esac
echo "verdict=$verdict" >> "$GITHUB_OUTPUT"
[ "$status" -ne 4 ] || echo "::warning title=berth gate::inconclusive: the summary says why"
[ "$status" -ne 3 ] || exit 3
