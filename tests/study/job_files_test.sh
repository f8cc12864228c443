#!/usr/bin/env bash
# The job files of `berth sweep`: that for Kubernetes validated against the schemas of its API, from the package
# kubernetes-validate of PyPI; that for Nomad submitted to `berth serve`. In a virtual environment of the build folder;
# without it only the first is left out, and the test counts as skipped (77).
#   tests/study/job_files_test.sh BERTH BUILD_FOLDER
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
berth=$1 venv=$2/kubernetes-validate
if [ ! -x "$venv/bin/python" ] || ! "$venv/bin/python" -c 'import kubernetes_validate' 2> /dev/null; then
  if ! { python3 -m venv "$venv" &&
    "$venv/bin/pip" install --quiet --disable-pip-version-check 'kubernetes-validate>=1.28'; }; then
    python3 "$here/job_files_test.py" "$berth" || exit 1
    echo "kubernetes-validate cannot be installed here: skipped"
    exit 77
  fi
fi
"$venv/bin/python" "$here/job_files_test.py" "$berth" --schemas
