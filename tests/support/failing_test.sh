#!/usr/bin/env bash
# Runs tests that fail, and compares the rules printed for each with those it cites.
#   tests/support/failing_test.sh TEST_FAILING
set -uo pipefail
expected='
PrintsTheRuleAboveTheTest R-MODEL-1
PrintsTheNearestRule R-MODEL-3 R-MODEL-4 R-MODEL-5
PrintsTheRulesOfATrace R-FEAS-502 R-FEAS-503
PrintsNothingWithoutARule
IsSilentAboutATestThatPasses'
# The line of a test that begins, then its rules.
printed=$("$1" | awk '
  /^\[ RUN / {sub(/.*\./, ""); printf "\n%s", $0}
  /^What the specification says/ {rules = 1; next}
  !/^  R-/ {rules = 0}
  rules {printf " %s", $1}')
[ "$printed" = "$expected" ] && exit 0
echo "printed: $printed"
echo "expected: $expected"
exit 1
