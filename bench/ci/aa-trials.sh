#!/usr/bin/env bash
# Does the gate cry wolf? Holds one program against itself again and again, each time with another order of repetitions.
# During every other trial as many processes as there are cores work and rest at random. A trial may pass or be
# inconclusive; a regression would be false, and fails this script.
#   bash bench/ci/aa-trials.sh [TRIALS [PROGRAM [GATE_OPTION...]]]    50 trials of build/release/berth: 4 minutes
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 2
trials=${1:-50} berth=${2:-build/release/berth}
shift $(($# < 2 ? $# : 2))
[ $# -gt 0 ] || set -- --max-repetitions 12
[[ $trials =~ ^[1-9][0-9]*$ ]] || { echo "'$trials' is no number of trials" >&2; exit 2; }
[ -x "$berth" ] || { echo "$berth: is not there; build it first" >&2; exit 2; }

disturbers=()
disturb() { # disturb SEED: works and rests, both for up to a few hundredths of a second, until it is ended
  RANDOM=$1
  while :; do
    for ((left = RANDOM; left > 0; --left)); do :; done
    sleep "0.0$((RANDOM % 90 + 10))"
  done
}
quiet_again() {
  [ ${#disturbers[@]} -eq 0 ] || kill "${disturbers[@]}" 2> /dev/null
  wait
  disturbers=()
}
said=$(mktemp)
trap 'quiet_again; rm -f "$said"' EXIT

passed=0 inconclusive=0 false_regressions=0 failed=0
for ((trial = 1; trial <= trials; ++trial)); do
  kind=quiet
  if ((trial % 2 == 0)); then
    kind=busy
    for ((core = 0; core < $(nproc); ++core)); do
      disturb $((100 * trial + core)) &
      disturbers+=($!)
    done
  fi
  status=0 began=$SECONDS
  "$berth" gate --base "$berth" --head "$berth" --shuffle-seed "$trial" --quiet "$@" > "$said" 2>&1 || status=$?
  quiet_again
  case $status in
    0) passed=$((passed + 1)) word=pass ;;
    4) inconclusive=$((inconclusive + 1)) word=inconclusive ;;
    3) false_regressions=$((false_regressions + 1)) word="FALSE REGRESSION" ;;
    *) failed=$((failed + 1)) word="failed with $status" ;;
  esac
  echo "trial $trial, $kind: $word, $((SECONDS - began)) s"
  ((status == 0 || status == 4)) || cat "$said"
done
echo "$trials trials, every other one busy: $passed pass, $inconclusive inconclusive, $false_regressions false regressions, $failed failed; $SECONDS s"
((false_regressions == 0 && failed == 0))
