#!/usr/bin/env bash
# Builds a wheel against an installation of this build; runs an example in an environment that has only this wheel; then
# runs the package's tests, the examples of its README, the searches in bench/python/examples, and its notebook.
#   run.sh BUILD [PYTEST_ARGUMENT...]
# Exit code 77 (skipped) where no package index can be reached.
set -euo pipefail
build=$(cd "$1" && pwd)
shift
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" > "$work/log" 2>&1 || { tail -n 5 "$work/log"; exit 1; }
python3 -m venv "$work/venv" 2> "$work/log" ||
  { echo "no virtual environment: $(tail -n 1 "$work/log"); install python3-venv"; exit 77; }
# Few modules of these packages are imported: compiling all of them to bytecode takes longer than the tests.
install=(install --quiet --disable-pip-version-check --no-compile)
if ! "$work/venv/bin/pip" "${install[@]}" "numpy>=1.22" "pytest>=7" pandas "pyarrow>=18" matplotlib nbclient ipykernel \
  "gymnasium>=1.0" "optuna>=3" > "$work/log" 2>&1; then
  tail -n 3 "$work/log"
  echo "the Python packages cannot be installed"
  exit 77
fi
cd "$root"
bash bench/python/wheel.sh "$work/prefix" "$work/wheels" "$work/venv/bin/python" > "$work/log" 2>&1 ||
  { tail -n 30 "$work/log"; exit 1; }
wheel=("$work"/wheels/berth-*.whl)
[[ ${wheel[*]} == *-manylinux_*_x86_64.whl || $(uname -m) != x86_64 ]] ||
  { echo "not one wheel for manylinux: ${wheel[*]}"; exit 1; }

# Away from the checkout and the installation, without anything in the environment that names them.
python3 -m venv --without-pip "$work/fresh"
"$work/venv/bin/pip" --python "$work/fresh/bin/python" "${install[@]}" "${wheel[0]}"
mv "$work/prefix" "$work/elsewhere"
mkdir "$work/empty"
(cd "$work/empty" && env -i PATH=/usr/bin:/bin "$work/fresh/bin/python" "$root/tests/python/fresh.py" &&
  env -i PATH=/usr/bin:/bin "$work/fresh/bin/berth" run quickstart --label smoke --quiet) \
  > "$work/log" 2>&1 || { cat "$work/log"; echo "the wheel does not work alone"; exit 1; }
mv "$work/elsewhere" "$work/prefix"

"$work/venv/bin/pip" "${install[@]}" --no-deps "${wheel[0]}"
export BERTH_PROGRAM="$work/prefix/bin/berth"
"$work/venv/bin/python" -m pytest -q -p no:cacheprovider tests/python "$@"
sed -n '/^```python$/,/^```$/{/^```/d;p}' README.md > "$work/readme.py"
[ -s "$work/readme.py" ] || { echo "README.md shows no Python"; exit 1; }
"$work/venv/bin/python" "$work/readme.py"
for example in tune_weights evolve learn; do
  "$work/venv/bin/python" "bench/python/examples/$example.py" > "$work/log" 2>&1 ||
    { tail -n 20 "$work/log"; echo "examples/$example.py fails"; exit 1; }
  [ "$(grep -c 'test split.*, digest [0-9a-f]\{16\}$' "$work/log")" -eq 2 ] ||
    { cat "$work/log"; echo "examples/$example.py does not judge two policies"; exit 1; }
done
"$work/venv/bin/python" bench/python/examples/bin_packing.py > "$work/log" 2>&1 ||
  { tail -n 20 "$work/log"; echo "examples/bin_packing.py fails"; exit 1; }
"$work/venv/bin/python" tests/python/run_tour.py bench/python/tour.ipynb
