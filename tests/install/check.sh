#!/usr/bin/env bash
# Installs a build tree into an empty prefix and configures, builds and runs projects that use only that prefix, by
# CMake and by pkg-config; runs the installed program away from any checkout; checks the contents of the Debian
# packages.
#   tests/install/check.sh BUILD_DIR CMAKE CXX VERSION
set -euo pipefail
build=$1 cmake=$2 cxx=$3 version=$4
consumer=$(cd "$(dirname "$0")/consumer" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "install: $*" >&2; exit 1; }

"$cmake" --install "$build" --prefix "$work/prefix" > "$work/install.log" ||
  { cat "$work/install.log"; fail "cmake --install failed"; }
grep -rlF "$build" "$work/prefix" --include='*.cmake' && fail "the files above name the build folder"

"$work/prefix/bin/berth" --version | tee "$work/version"
grep -q "^berth $version\$" "$work/version" || fail "berth --version does not say $version"

# Away from the checkout the program finds what was installed with it; what is nearer comes first.
berth() { (cd "$1" && shift && env -i PATH="$work/prefix/bin:/usr/bin:/bin" "$@"); }
first_line() { berth "$1" "${@:2}" berth run --list | head -n 1; }
mkdir -p "$work/away" "$work/data/workloads" "$work/checkout/bench/macro" "$work/checkout/below"
# nomad-others and peers are built in.
[ "$(berth "$work/away" berth run --list | wc -l)" \
  -eq $(($(find "$work/prefix/share/berth/workloads" -name '*.toml' | wc -l) + 2)) ] ||
  fail "berth run --list does not list the installed workloads"
for place in data/workloads checkout/bench/macro; do
  sed "s/^description = .*/description = \"of ${place%%/*}\"/" "$work/prefix/share/berth/workloads/quickstart.toml" \
    > "$work/$place/quickstart.toml"
done
expect_list() {  # expect_list TEXT FOLDER [VARIABLE=VALUE]
  grep -qF -- "$1" <<< "$(first_line "$2" "${@:3}")" ||
    fail "berth run --list in $2 ${*:3} begins with: $(first_line "$2" "${@:3}")"
}
expect_list "quickstart     of data" "$work/away" BERTH_DATA="$work/data"
expect_list "quickstart     of checkout" "$work/away" BERTH_DATA="$work/checkout"
expect_list "quickstart     of checkout" "$work/checkout/below" BERTH_DATA="$work/data"
berth "$work/away" berth run quickstart --label smoke --quiet > "$work/run.log" ||
  fail "the installed berth run quickstart fails"
berth "$work/away" berth run nomad-grid --label smoke --quiet > "$work/run.log" ||
  fail "the installed program does not find the data of nomad-grid"
for file in share/man/man1/berth-run.1 share/bash-completion/completions/berth share/zsh/vendor-completions/_berth \
  share/fish/vendor_completions.d/berth.fish share/berth/schema/berth-run.json \
  share/berth/datasets/nomad-grid.jsonl.gz; do
  [ -s "$work/prefix/$file" ] || fail "$file is not installed"
done
[ "$(find "$work/prefix" -name '*.a' -o -name '*.so' | wc -l)" -eq 1 ] ||
  fail "more or less than one library is installed"
# `berth sweep --on mpi` finds its program in its own folder, if that was built.
printf '[[runs]]\nworkloads = ["quickstart"]\nlabels = ["smoke"]\n[runs.vary]\nseed = [1, 2]\n' > "$work/away/plan.toml"
if [ -x "$build/berth_mpi" ]; then
  [ -x "$work/prefix/bin/berth_mpi" ] || fail "berth_mpi is not installed"
  if command -v mpirun > /dev/null; then
    berth "$work/away" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
      OMPI_MCA_btl=self,vader,tcp \
      berth sweep plan.toml --quiet --on mpi -j 2 > "$work/run.log" 2>&1 ||
      { cat "$work/run.log"; fail "the installed berth sweep --on mpi fails"; }
    grep -q '2 of 2 runs done, 0 failed' "$work/run.log" ||
      { cat "$work/run.log"; fail "the installed berth sweep --on mpi lost a run"; }
  fi
fi

# What it consists of, with licences; twice the same.
doc=$work/prefix/share/doc/berth
python3 "${0%/*}/sbom_check.py" "$doc" "$build/berth" "${0%/*}/../../bench/packages.txt" ||
  fail "the list of software is not right"
bash "${0%/*}/../../engine/cmake/sbom.sh" "$build/berth" "${0%/*}/../.." "$work/sbom" || fail "sbom.sh fails"
diff -r "$work/sbom" "$doc" --exclude=LICENSE --exclude=CHANGELOG.md || fail "two lists of one program differ"

# Hardened by the linker: position independent, no lazy binding, tables of addresses read-only, no executable stack.
readelf -hldW "$work/prefix/bin/berth" > "$work/elf"
for sign in 'Type: +DYN ' 'FLAGS_1.* NOW.* PIE' 'GNU_RELRO ' 'GNU_STACK .* RW '; do
  grep -qE "$sign" "$work/elf" || fail "the program is not hardened: readelf does not show '$sign'"
done

# By pkg-config.
PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name berth.pc)")
export PKG_CONFIG_PATH
[ "$(pkg-config --modversion berth)" = "$version" ] || fail "berth.pc does not say $version"
# shellcheck disable=SC2046  # flags are words
"$cxx" -std=c++20 -O1 "$consumer/main.cc" -o "$work/by_pkg_config" $(pkg-config --cflags --libs berth) ||
  fail "the consumer does not build by pkg-config"
LD_LIBRARY_PATH=$(pkg-config --variable=libdir berth) "$work/by_pkg_config" > /dev/null ||
  fail "the consumer built by pkg-config does not run"

# A C compiler, which does not link the C++ library by itself.
# shellcheck disable=SC2046
"${CC:-cc}" -O1 "$consumer/../../api/c_example.c" -o "$work/by_c" $(pkg-config --cflags --libs berth) ||
  fail "a C program does not link by pkg-config"
LD_LIBRARY_PATH=$(pkg-config --variable=libdir berth) "$work/by_c" > "$work/by_c.txt" ||
  fail "the C program does not run"
grep -q '3 of [0-9]* allocations run' "$work/by_c.txt" || fail "the C program says: $(cat "$work/by_c.txt")"

# The packages: the program runs from where its package puts it.
"${cmake%cmake}cpack" --config "$build/CPackConfig.cmake" -B "$work/packages" > "$work/cpack.log" 2>&1 ||
  { cat "$work/cpack.log"; fail "cpack failed"; }
dpkg-deb -x "$work"/packages/berth_*.deb "$work/unpacked"
dpkg-deb -f "$work"/packages/berth_*.deb Depends | grep 'libtbb12' > /dev/null ||
  fail "the package does not depend on the libraries of the program"
dpkg-deb -c "$work"/packages/libberth-dev_*.deb | grep 'lib/libberth' > /dev/null || fail "libberth-dev has no library"
if [ -x "$build/berth_mpi" ]; then
  dpkg-deb -c "$work"/packages/berth-mpi_*.deb | grep -q 'usr/bin/berth_mpi$' || fail "berth-mpi has no program"
  dpkg-deb -f "$work"/packages/berth-mpi_*.deb Depends | grep -q 'berth (= .*libopenmpi' ||
    fail "berth-mpi does not depend on berth and Open MPI"
  ! dpkg-deb -c "$work"/packages/berth_*.deb | grep -q 'berth_mpi' || fail "berth_mpi is in two packages"
fi
[ -s "$work/unpacked/usr/share/doc/berth/licenses/robin-map-dev" ] ||
  fail "the package lacks the licences of what is compiled in"
(cd / && env -i "$work/unpacked/usr/bin/berth" run --list) | cmp -s - <(berth "$work/away" berth run --list) ||
  fail "the program of the package lists other workloads"

"$cmake" -S "$consumer" -B "$work/consumer" -G Ninja -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_PREFIX_PATH="$work/prefix" \
  -DCMAKE_BUILD_TYPE=Release > "$work/configure.log" 2>&1 ||
  { cat "$work/configure.log"; fail "find_package(berth) failed"; }
grep -q "^berth_DIR:PATH=$work/prefix/" "$work/consumer/CMakeCache.txt" || fail "another installed berth was found"
"$cmake" --build "$work/consumer" || fail "the consumer does not build"
"$work/consumer/consumer" || fail "the consumer does not run"
"$work/consumer/strategies" || fail "the strategy of the consumer does not run"
"$work/consumer/http" || fail "the server of the consumer does not answer"
