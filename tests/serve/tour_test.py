#!/usr/bin/env python3
"""Runs the tour of bench/guide/serve.md against a server of its own and compares what its commands print.

    tour_test.py ROOT BUILD

Blocks and gaps are those of tests/readme/commands_test.py. All blocks share one shell, so that variables stay.
"""
import os
import re
import signal
import subprocess
import sys
import tempfile

root, build = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
sys.path.insert(0, os.path.join(root, "tests/readme"))
from commands_test import blocks, first_missing, pattern  # noqa: E402

END = "-- end of the block --"


def main():
    with tempfile.TemporaryDirectory() as folder:
        for name in os.listdir(root):
            if name not in ("build", ".git"):
                os.symlink(os.path.join(root, name), os.path.join(folder, name))
        os.mkdir(os.path.join(folder, "build"))
        os.symlink(build, os.path.join(folder, "build/release"))
        server = subprocess.Popen([os.path.join(build, "berth"), "serve", "--nodes", "60", "--speed", "step",
                                   "--listen", "127.0.0.1:0"],
                                  stdout=subprocess.PIPE, text=True)
        address = re.search(r"http://\S+", server.stdout.readline()).group(0)
        shell = subprocess.Popen(["bash"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                 env={**os.environ, "NOMAD_ADDR": address})
        failures = ran = 0
        for number, before, body in blocks(open(os.path.join(root, "bench/guide/serve.md"), encoding="utf-8").read()):
            if not body[0].startswith("$ "):
                continue
            said = re.fullmatch(r"<!-- exits with (\d) -->", before)
            shell.stdin.write(f"{body[0][2:]}\necho \"\n{END} $?\"\n")
            shell.stdin.flush()
            printed = []
            while not (line := shell.stdout.readline()).startswith(END):
                if not line:
                    sys.exit(f"bench/guide/serve.md:{number}: ends the shell")
                printed.append(line.rstrip())
            printed = "\n".join(printed).strip("\n")
            ran += 1
            status, wanted = line[len(END):].strip(), said.group(1) if said else "0"
            if status != wanted:
                failures += 1
                print(f"bench/guide/serve.md:{number}: exits with {status}, not {wanted}: {printed[-400:]}")
            elif not pattern(body[1:]).match(printed + "\n" if printed or body[1:] else ""):
                failures += 1
                print(f"bench/guide/serve.md:{number}: prints {printed[-400:]!r}; not found: {first_missing(body[1:], printed)}")
        shell.stdin.close()
        server.send_signal(signal.SIGTERM)
        ended = server.wait(timeout=30)
        if ended != 0:
            failures += 1
            print(f"the server ends with {ended}")
    print(f"{ran} commands, {failures} problems")
    return 1 if failures or ran < 6 else 0


sys.exit(main())
