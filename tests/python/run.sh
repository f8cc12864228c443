#!/usr/bin/env bash
# Installs the package into a virtual environment against an installation of this build, runs its tests, the
# examples of its README, and its notebook.
#   run.sh BUILD [PYTEST_ARGUMENT...]
# Exit code 77 (skipped) where no package index can be reached.
set -euo pipefail
build=$(cd "$1" && pwd)
shift
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" > "$work/log" 2>&1 || { tail -n 5 "$work/log"; exit 1; }
python3 -m venv "$work/venv" 2> "$work/log" || { echo "no virtual environment: $(tail -n 1 "$work/log"); install python3-venv"; exit 77; }
if ! "$work/venv/bin/pip" install --quiet --disable-pip-version-check "scikit-build-core>=0.8" "pybind11>=2.10" "numpy>=1.22" "pytest>=7" \
  pandas matplotlib nbclient ipykernel > "$work/log" 2>&1; then
  tail -n 3 "$work/log"
  echo "the Python packages cannot be installed"
  exit 77
fi
cd "$root"
CMAKE_PREFIX_PATH="$work/prefix" "$work/venv/bin/pip" wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps -w "$work" \
  ./bench/python > "$work/log" 2>&1 || { tail -n 30 "$work/log"; exit 1; }
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps "$work"/berth-*.whl
export BERTH_PROGRAM="$work/prefix/bin/berth"
"$work/venv/bin/python" -m pytest -q -p no:cacheprovider tests/python "$@"
sed -n '/^```python$/,/^```$/{/^```/d;p}' README.md > "$work/readme.py"
[ -s "$work/readme.py" ] || { echo "README.md shows no Python"; exit 1; }
"$work/venv/bin/python" "$work/readme.py"
"$work/venv/bin/python" tests/python/run_tour.py bench/python/tour.ipynb
