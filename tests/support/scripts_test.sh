#!/usr/bin/env bash
# bench/setup.sh: counts a skipped test as skipped, shows progress where there is no terminal,
# shows the errors of a failed build. cmake and ctest are replaced by scripts with fixed output.
#   tests/support/scripts_test.sh SOURCE_DIR
set -uo pipefail
unset BERTH_CMAKE_ARGS  # of the run that calls this test
source_dir=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
broken() { echo "not so: $1" >&2; failures=$((failures + 1)); }
same() { [ "$2" = "$3" ] || broken "$1: wanted '$2', got '$3'"; }

mkdir -p "$work/bin" "$work/checkout/bench" "$work/checkout/tests" "$work/checkout/build/release"
cp "$source_dir"/bench/{setup.sh,quickstart.sh,packages.txt} "$work/checkout/bench"
cp "$source_dir/tests/run.sh" "$work/checkout/tests"
stand_in() { printf '#!/usr/bin/env bash\n%s\n' "$2" > "$work/bin/$1" && chmod +x "$work/bin/$1"; }
stand_in dpkg-query 'echo installed'
stand_in apt-get 'exit 1'
stand_in cmake 'echo "$*" >> "$CALLS"; [ "$1" != --build ] || eval "$BUILD"'
stand_in ctest 'cat "$CTEST_OUTPUT"; exit "${CTEST_STATUS:-0}"'
stand_in sleep 'exec /bin/sleep "$(($1 / 10))"'  # ten seconds of the scripts are one here
export PATH=$work/bin:$PATH CALLS=$work/calls BUILD=: CTEST_OUTPUT=$work/ctest.txt

# run.sh with what ctest printed: its closing line and its exit code.
closing() {  # closing WHAT WANTED_LINE WANTED_EXIT < what ctest prints
  cat > "$CTEST_OUTPUT"
  local printed status
  printed=$(bash "$work/checkout/tests/run.sh" 2> /dev/null)
  status=$?
  same "closing line, $1" "$2" "$(tail -n 1 <<< "$printed")"
  same "exit code, $1" "$3" "$status"
}
closing "all pass" "2 passed, 0 failed, 0 skipped" 0 << 'END'
1/2 Test  #1: base ............................   Passed    0.03 sec
2/2 Test  #2: model ...........................   Passed    0.08 sec
100% tests passed, 0 tests failed out of 2
END
closing "two skipped" "1 passed, 0 failed, 2 skipped" 0 << 'END'
 1/3 Test #47: base ............................   Passed    0.03 sec
 2/3 Test  #2: micro_compare ...................***Skipped   0.22 sec
 3/3 Test #48: spec ............................***Skipped   0.02 sec
100% tests passed, 0 tests failed out of 3
END
CTEST_STATUS=8 closing "one fails, one skipped" "1 passed, 1 failed, 1 skipped" 1 << 'END'
1/3 Test #1: base ............................   Passed    0.03 sec
2/3 Test #2: spec ............................***Skipped   0.02 sec
3/3 Test #3: model ...........................***Failed    0.08 sec
67% tests passed, 1 tests failed out of 3
END
closing "all skipped" "0 passed, 0 failed, 1 skipped" 1 << 'END'
1/1 Test #1: spec ............................***Skipped   0.02 sec
100% tests passed, 0 tests failed out of 1
END
CTEST_STATUS=8 closing "no test" "0 passed, 1 failed, 0 skipped" 1 <<< "No tests were found!!!"
grep -q '^--build .*build/release$' "$CALLS" || broken "tests/run.sh does not build everything"

# Packages that only tests need are installed during the build. Afterwards it looks for them and builds what they allow.
stand_in dpkg-query '[ "${@: -1}" = chromium ] && [ ! -e "$ARRIVED" ] || echo installed'
stand_in apt-get '/bin/sleep 0.5; touch "$ARRIVED"'
stand_in sudo 'exec "$@"'
: > "$CALLS"
ARRIVED=$work/arrived closing "packages on the way" "1 passed, 0 failed, 0 skipped" 0 << 'END'
1/1 Test #1: base ............................   Passed    0.03 sec
100% tests passed, 0 tests failed out of 1
END
same "steps with packages on the way" \
  "$(printf -- '--preset release\n--build %s\n--preset release --fresh\n--build %s' "$work/checkout/build/release" "$work/checkout/build/release")" "$(cat "$CALLS")"
[ -e "$work/arrived" ] || broken "tests/run.sh does not install the packages of the tests"
stand_in dpkg-query 'echo installed'

# quickstart builds what the main job needs, runs it, then builds the whole program and nothing else. A slow build
# reports its progress, as there is no terminal here.
: > "$CALLS"
mkdir -p "$work/checkout/build/release"
stand_in_berth="$work/checkout/build/release/berth_main_job"
printf '#!/usr/bin/env bash\necho "report of $*"\n' > "$stand_in_berth" && chmod +x "$stand_in_berth"
BUILD='echo "[3/70] Building"; /bin/sleep 1.5; echo "[64/70] Building"; /bin/sleep 1.5' \
  bash "$work/checkout/bench/quickstart.sh" > "$work/printed" 2>&1 ||
  broken "quickstart.sh fails: $(cat "$work/printed")"
same "what quickstart builds" \
  "$(printf -- "--build $work/checkout/build/release --target %s\n" berth_main_job berth_install_files)" \
  "$(grep -e '^--build' "$CALLS")"
grep -qE '^   3 of 70 steps, [0-9]+ s$' "$work/printed" ||
  broken "no progress after ten seconds: $(cat "$work/printed")"
grep -qE '^   64 of 70 steps, [0-9]+ s$' "$work/printed" ||
  broken "no progress after twenty seconds: $(cat "$work/printed")"
same "report and second build" "$(printf 'report\n== building')" \
  "$(grep -oE '^(report|== building)' "$work/printed" | sed 1d)"

# With arguments that the main job's own program does not have, the whole program runs it.
: > "$CALLS"
mv "$stand_in_berth" "$work/checkout/build/release/berth"
BUILD=: bash "$work/checkout/bench/quickstart.sh" --label smoke --workers 2 > "$work/printed" 2>&1 ||
  broken "quickstart.sh fails: $(cat "$work/printed")"
same "what quickstart with arguments builds first" \
  "--build $work/checkout/build/release --target berth_program" "$(grep -e '^--build' "$CALLS" | head -n 1)"
grep -q '^report of run quickstart .*--label smoke --workers 2$' "$work/printed" ||
  broken "arguments do not reach the program: $(cat "$work/printed")"

# A failed build: its errors, where the rest is, exit code 1.
BUILD='echo "[1/2] Building"; echo "a.cc:3: error: no such thing"; exit 1' bash "$work/checkout/bench/quickstart.sh" > "$work/printed" 2>&1
same "exit code of a failed build" 1 $?
grep -q 'a.cc:3: error: no such thing' "$work/printed" || broken "the error of a failed build is not shown"
grep -q 'build/release-build.log' "$work/printed" || broken "a failed build does not name its log"
[ "$failures" -eq 0 ] && echo "scripts: all checks hold"
exit $((failures > 0))
