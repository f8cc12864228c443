#!/bin/bash
# The tests in go/ against the given program. Skipped (77) without Go, or where Go cannot get the library.
set -eu
command -v go >/dev/null || { echo "no go: skipped"; exit 77; }
BERTH=$(realpath "$1")
export BERTH
cd "$(dirname "$0")/go"
go mod download >/dev/null 2>&1 || { echo "Go gets no modules: skipped"; exit 77; }
go test -count=1 ./...
