# Sourced by bench/quickstart.sh, tests/run.sh and .ci/run: installs what is missing and builds a preset.
# A caller runs under `set -euo pipefail`; a function that cannot do its work says why and what to do, and exits with 1.
BERTH_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# ccache takes the files that were read from what the compiler writes, instead of running the preprocessor first: a
# tenth of a build from nothing.
export CCACHE_DEPEND=${CCACHE_DEPEND:-1}

say() { printf '== %s\n' "$*"; }
die() {  # die PROBLEM REMEDY
  printf '%s: %s\n   remedy: %s\n' "${0##*/}" "$1" "$2" >&2
  exit 1
}

# berth_packages GROUP...: the packages of these groups, one a line.
berth_packages() {
  local group
  for group in "$@"; do
    awk -v group="$group" '$1 == group {print $2}' "$BERTH_ROOT/bench/packages.txt"
  done
}

# berth_missing GROUP...: those of them that are not installed.
berth_missing() {
  local package
  while read -r package; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null)" = installed ] || echo "$package"
  done < <(berth_packages "$@")
}

# berth_install GROUP...: installs the packages of these groups that are not there; silent about those that are.
berth_install() {
  command -v dpkg-query > /dev/null && command -v apt-get > /dev/null ||
    die "this is not a Debian system (no apt-get)" \
      "install the counterparts of bench/packages.txt by hand, then: cmake --preset release && cmake --build --preset release"
  local missing as_root=()
  mapfile -t missing < <(berth_missing "$@")
  if [ ${#missing[@]} -eq 0 ]; then
    say "packages: nothing missing"
    return
  fi
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo > /dev/null ||
      die "missing packages: ${missing[*]}; not root and no sudo" \
      "as root: apt-get update && apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  say "packages: installing ${missing[*]}"
  # Without package lists, or with outdated ones, the first try fails; then the lists are fetched once.
  local install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends
    "${missing[@]}")
  local log
  log=$(mktemp)
  if ! "${install[@]}" > "$log" 2>&1; then
    say "packages: fetching the package lists (apt-get update)"
    "${as_root[@]}" apt-get update -q > "$log" 2>&1 || {
      tail -n 5 "$log" >&2
      die "apt-get update failed" "check the network and /etc/apt/sources.list, then run this again"
    }
    "${install[@]}" > "$log" 2>&1 || {
      tail -n 20 "$log" >&2
      die "apt-get could not install ${missing[*]}" \
        "read the lines above; berth needs the packages of Debian 12 (bookworm) or later"
    }
  fi
  rm -f "$log"
}

# berth_configure PRESET [CMAKE_ARGUMENT...]
berth_configure() {
  local preset=$1 log="$BERTH_ROOT/build/$1-configure.log"
  shift
  mkdir -p "$BERTH_ROOT/build"
  say "configuring build/$preset"
  (cd "$BERTH_ROOT" && cmake --preset "$preset" "$@") > "$log" 2>&1 || {
    tail -n 20 "$log" >&2
    die "configuring build/$preset failed" \
      "see the lines above; after moving the checkout or changing compilers: rm -rf build/$preset"
  }
}

# berth_progress LOG: every ten seconds how far the build is that writes LOG, until it is ended or the script is gone.
berth_progress() {
  local log=$1 started=$SECONDS step last=""
  while sleep 10 > /dev/null && kill -0 $$ 2> /dev/null; do
    step=$(grep -oE '^\[[0-9]+/[0-9]+\]' "$log" | tail -n 1) || step=""
    if [ "$step" != "$last" ]; then
      echo "   $(sed -E 's|\[([0-9]+)/([0-9]+)\]|\1 of \2 steps|' <<< "$step"), $((SECONDS - started)) s"
    fi
    last=$step
  done
}

# berth_build PRESET [TARGET...]: progress, on a terminal ninja's own; on failure the errors, not the whole log. One
# compiler per core: with two more, as ninja starts by itself, they take each other's caches.
berth_build() {
  local preset=$1 log="$BERTH_ROOT/build/$1-build.log" started=$SECONDS status=0 progress
  export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
  shift
  say "building build/$preset${*:+ ($*)}"
  if [ -t 1 ]; then
    cmake --build "$BERTH_ROOT/build/$preset" ${*:+--target "$@"} ||
      die "building build/$preset failed" "see the errors above"
  else
    : > "$log"
    berth_progress "$log" &
    progress=$!
    cmake --build "$BERTH_ROOT/build/$preset" ${*:+--target "$@"} > "$log" 2>&1 || status=$?
    kill "$progress" 2> /dev/null || true
    wait "$progress" 2> /dev/null || true
    if [ "$status" -ne 0 ]; then
      grep -E -A 12 'error|FAILED|warning' "$log" | head -n 80 >&2 || tail -n 40 "$log" >&2
      die "building build/$preset failed" "see the errors above; all of it is in ${log#"$BERTH_ROOT"/}"
    fi
  fi
  say "built in $((SECONDS - started)) s"
}

# berth_ctest PRESET [CTEST_ARGUMENT...]: runs tests, leaves their numbers in BERTH_PASSED, BERTH_FAILED and
# BERTH_SKIPPED. A ctest that fails without a failed test (none found, none matching) counts as one failure.
berth_ctest() {
  local preset=$1 log="$BERTH_ROOT/build/$1-ctest.log" status=0 line total
  shift
  ctest --test-dir "$BERTH_ROOT/build/$preset" --output-on-failure --no-tests=error "$@" 2>&1 | tee "$log" || status=$?
  # "97% tests passed, 1 tests failed out of 40", where ctest counts a skipped test as passed.
  line=$(grep -E '^[0-9]+% tests passed, [0-9]+ tests failed out of [0-9]+' "$log" | tail -n 1) || line=""
  BERTH_PASSED=0 BERTH_FAILED=1 BERTH_SKIPPED=0
  if [ -n "$line" ]; then
    read -r BERTH_FAILED total < <(sed -E 's/.* ([0-9]+) tests failed out of ([0-9]+).*/\1 \2/' <<< "$line")
    BERTH_SKIPPED=$(grep -cE '^ *[0-9]+/[0-9]+ Test +#[0-9]+: .*\*\*\*Skipped' "$log") || true
    BERTH_PASSED=$((total - BERTH_FAILED - BERTH_SKIPPED))
    if [ "$status" -ne 0 ] && [ "$BERTH_FAILED" -eq 0 ]; then BERTH_FAILED=1; fi
  fi
}

# berth_counts: the closing line of a run of tests.
berth_counts() { echo "$1 passed, $2 failed, $3 skipped"; }
