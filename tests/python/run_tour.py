"""Runs a notebook from the first cell to the last; the first cell that fails ends it."""

import sys

import nbclient
import nbformat

notebook = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
plots = sum("image/png" in output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", []))
print(f"{sys.argv[1]}: {len(notebook.cells)} cells, {plots} plots")
sys.exit(0 if plots >= 2 else 1)
