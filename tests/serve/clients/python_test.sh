#!/bin/bash
# python-nomad, the client library from PyPI, in a virtual environment of the build folder: its calls one by one, then
# recorded scenarios driven through it. Skipped (77) if it is not available.
#   python_test.sh BERTH BUILD_FOLDER FLOOR
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
berth=$1 venv=$2/python-nomad floor=$3
if ! "$venv/bin/python" -c 'import nomad' 2> /dev/null; then
  python3 -m venv "$venv" && "$venv/bin/pip" install --quiet --disable-pip-version-check python-nomad==2.1.0 || {
    echo "python-nomad cannot be installed here: skipped"
    exit 77
  }
fi
"$venv/bin/python" "$here/python_nomad_test.py" "$berth"
recordings=$here/../../golden/http
"$venv/bin/python" "$here/../replay/replay.py" --berth "$berth" --client python-nomad --floor "$floor" \
  "$recordings"/{service-run-and-read,job-stop-purge-rerun,nodes-status,batch-complete}.json.gz
