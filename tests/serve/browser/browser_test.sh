#!/bin/bash
# The status page in Chromium (the Debian package), driven by Playwright (from PyPI) in a virtual environment of the
# build
# folder. Skipped (77) if one of them is not available.
#   browser_test.sh BERTH BUILD_FOLDER
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
berth=$1 venv=$2/playwright
command -v chromium > /dev/null || { echo "skipped: chromium is not installed; apt-get install chromium"; exit 77; }
if ! "$venv/bin/python" -c 'import playwright' 2> /dev/null; then
  python3 -m venv "$venv" && "$venv/bin/pip" install --quiet --disable-pip-version-check playwright==1.65.2 || {
    echo "playwright cannot be installed here: skipped"
    exit 77
  }
fi
"$venv/bin/python" "$here/browser_test.py" "$berth" "$2/serve-artifacts"
