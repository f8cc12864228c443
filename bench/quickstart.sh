#!/usr/bin/env bash
# From a bare Debian 12 with git to a report: installs what is missing, builds what the main job needs, runs it, says where
# the files are, and builds the other commands. Run it as often as you like; what is done already is not done again. Arguments go to `berth run quickstart`.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

berth_install tools libraries
berth_configure release
berth_build release berth_main_job

out="$BERTH_ROOT/build/quickstart"
mkdir -p "$out"
say "running: berth run quickstart --json build/quickstart/report.json --csv build/quickstart/report.csv $*"
cd "$BERTH_ROOT"
build/release/berth_main_job run quickstart --json build/quickstart/report.json --csv build/quickstart/report.csv "$@" ||
  die "berth run quickstart exited with $?" "see the lines above; 'build/release/berth run --help' lists what can be changed"

say "files:"
find build/quickstart -type f | sort | sed 's/^/   /'

say "the report is complete; now the other commands, for build/release/berth"
berth_build release berth_program
