#!/usr/bin/env bash
# From a bare Debian 12 with git to a report: installs what is missing, builds what the main job needs, runs it, says
# where the files are, and builds the other commands. Run it as often as you like; what is done already is not done
# again. Arguments go to `berth run quickstart`.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

berth_install tools libraries
berth_configure release
json=build/quickstart/report.json csv=build/quickstart/report.csv
# Without arguments, quickstart uses berth_main_job, a smaller program that builds in a fraction of the time. With other
# arguments it uses the whole program.
case "$*" in
  "" | "--label full") target=berth_main_job job=(berth_main_job full "$json" "$csv") ;;
  "--label smoke") target=berth_main_job job=(berth_main_job smoke "$json" "$csv") ;;
  *) target=berth_program job=(berth run quickstart --json "$json" --csv "$csv" "$@") ;;
esac
berth_build release "$target"

mkdir -p "$BERTH_ROOT/build/quickstart"
say "running: berth run quickstart --json $json --csv $csv $*"
cd "$BERTH_ROOT"
"build/release/${job[0]}" "${job[@]:1}" ||
  die "berth run quickstart exited with $?" \
  "see the lines above; 'build/release/berth run --help' lists what can be changed"

say "files:"
find build/quickstart -type f | sort | sed 's/^/   /'

say "the report is complete; now the other commands, for build/release/berth and cmake --install build/release"
berth_build release berth_install_files
