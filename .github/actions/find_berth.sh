#!/usr/bin/env bash
# Finds the program for an action and puts its path into GITHUB_OUTPUT: the input `berth`, else `berth` on the PATH,
# else one that is built here from the repository that the action is part of (Debian 12 or later, or Ubuntu 24.04; 3 to
# 10 minutes).
set -euo pipefail
program=${INPUT_BERTH:-}
if [ -z "$program" ]; then
  program=$(command -v berth) || program=""
fi
if [ -z "$program" ]; then
  root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
  source "$root/bench/setup.sh"
  berth_install tools libraries
  git config --global --get-all safe.directory | grep -qxF "$root" || git config --global --add safe.directory "$root"
  berth_configure release -DBERTH_BUILD_TESTS=OFF
  berth_build release berth_program
  program=$root/build/release/berth
fi
"$program" --version ||
  { echo "::error title=berth::$program is no berth that runs here; name one in the input 'berth'"; exit 2; }
echo "program=$program" >> "$GITHUB_OUTPUT"
