#!/usr/bin/env bash
# From a bare Debian 12 with git to a tested berth: installs what is missing, builds, runs every test.
#   bash tests/run.sh [CTEST_ARGUMENT...]     for example: bash tests/run.sh -R conform
# The last line is `N passed, N failed, N skipped`, counted by ctest; the exit code is 0 when none failed and some
# passed.
# BERTH_CMAKE_ARGS: further arguments for configuring, such as -DBERTH_WERROR=ON.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../bench/setup.sh"

berth_install tools libraries
# shellcheck disable=SC2086  # several arguments in one variable
if [ -n "$(berth_missing checks)" ]; then
  # They are fetched while the compiler works. What the build makes of them, such as runs under MPI, follows: --fresh
  # looks for all of them again and compiles nothing twice.
  (berth_install checks) &
  checks=$!
  berth_configure release ${BERTH_CMAKE_ARGS:-}
  berth_build release
  wait "$checks"
  berth_configure release --fresh ${BERTH_CMAKE_ARGS:-}
else
  berth_configure release ${BERTH_CMAKE_ARGS:-}
fi
berth_build release
say "testing"
# One test more than cores: some wait for agents, browsers and clocks.
berth_ctest release --parallel $(($(nproc) + 1)) "$@"
berth_counts "$BERTH_PASSED" "$BERTH_FAILED" "$BERTH_SKIPPED"
[ "$BERTH_FAILED" -eq 0 ] && [ "$BERTH_PASSED" -gt 0 ]
