#!/usr/bin/env bash
# Records the counts of work and the instructions of the smoke workloads again (smoke-counters.json), against which
# .ci/run checks builds. Prints what differs from the file before.
#   bash bench/ci/record-counters.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source bench/setup.sh
file=bench/ci/smoke-counters.json workloads=quickstart,openb-like,nomad-grid
[ -z "$(git status --porcelain --untracked-files=no -- . ":!$file")" ] ||
  die "the work tree has changes, so the baseline would name a commit that it is not of" "commit or stash them"
command -v valgrind > /dev/null || die "valgrind is not there, which counts instructions" "apt-get install valgrind"
berth_configure release
berth_build release berth_program
new=$(mktemp)
trap 'rm -f "$new"' EXIT
build/release/berth gate record --counters-only --instructions --workloads "$workloads" -o "$new" --quiet
say "against the baseline before"
build/release/berth gate compare "$file" "$new" --counters-only --instructions || [ $? -ge 2 ]
cp "$new" "$file"
say "recorded $file; commit it"
