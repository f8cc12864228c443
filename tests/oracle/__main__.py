"""python3 tests/oracle COMMAND: check, coverage, minimise."""
import importlib
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
COMMANDS = ("check", "coverage", "minimise")

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in COMMANDS:
        sys.exit("usage: python3 tests/oracle " + "|".join(COMMANDS) + " [--help] ...")
    sys.exit(importlib.import_module(sys.argv[1]).main(sys.argv[2:]))
