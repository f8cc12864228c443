#!/usr/bin/env bash
# The step `plan` of action.yml, which sets the variables. The text of the plans goes into the summary, what does not
# fit to the files as annotations. The exit code is the program's.
set -euo pipefail
shopt -s nullglob
# shellcheck disable=SC2206  # words and patterns
jobs=($JOBS)
[ ${#jobs[@]} -gt 0 ] ||
  { echo "::error title=berth plan::no job file matches '$JOBS'; name some in the input 'jobs'"; exit 2; }
arguments=(--require "$REQUIRE" --annotations github)
[ "$TOGETHER" != true ] || arguments+=(--together)
mkdir -p "$RESULTS"
status=0
"$BERTH" plan "$CLUSTER" "${jobs[@]}" "${arguments[@]}" --junit "$RESULTS/plan.xml" > "$RESULTS/plan.txt" || status=$?
cat "$RESULTS/plan.txt"
{ # the longest summary that GitHub takes is 1 MiB
  echo "### berth plan"
  echo '````'
  grep -v '^::' "$RESULTS/plan.txt" | head -c 900000
  echo '````'
} >> "$GITHUB_STEP_SUMMARY"
case $status in
  0) verdict=fits ;;
  3) verdict=does-not-fit ;;
  5) verdict=evicts ;;
  *) exit "$status" ;;
esac
echo "verdict=$verdict" >> "$GITHUB_OUTPUT"
exit "$status"
