#!/usr/bin/env python3
"""A small load on `berth serve`: clients that register jobs and read lists while long polls stay open. Every request
must be answered and every evaluation placed; times are printed, not judged.

    load_test.py BERTH SERVE_LOAD
"""
import json
import re
import subprocess
import sys
import urllib.request

NODES, FILL, CLIENTS, POLLS = 200, 4000, 8, 100


def main():
    berth, load = sys.argv[1:]
    server = subprocess.Popen([berth, "serve", "--nodes", str(NODES), "--speed", "20", "--listen", "127.0.0.1:0"],
                              stdout=subprocess.PIPE, text=True)
    try:
        url = re.search(r"http://\S+", server.stdout.readline()).group(0)
        done = subprocess.run([load, url[len("http://"):], "--clients", str(CLIENTS), "--polls", str(POLLS),
                               "--seconds", "3",
                               "--fill", str(FILL)], capture_output=True, text=True, timeout=600, check=False)
        print(done.stdout, done.stderr, sep="")
        with urllib.request.urlopen(url + "/v1/nodes", timeout=120) as answer:
            nodes = json.load(answer)
        with urllib.request.urlopen(url + "/v1/allocations", timeout=120) as answer:
            allocations = json.load(answer)
    finally:
        server.terminate()
        server.wait(60)
    print(f"{len(nodes)} nodes, {len(allocations)} allocations afterwards")
    placed = re.search(r"registration, placed +(\d+) times", done.stdout)
    ok = done.returncode == 0 and placed and int(placed.group(1)) >= CLIENTS
    sys.exit(0 if ok and len(nodes) == NODES and len(allocations) >= FILL else 1)


if __name__ == "__main__":
    main()
