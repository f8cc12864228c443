#!/usr/bin/env python3
"""Kills `berth serve` with SIGKILL while it writes a snapshot over an older one: the file is the old one or the new
one, whole, and a server that is started again restores it.

    snapshot_kill_test.py BERTH
"""
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

KILLS = 8


class Server:
    def __init__(self, berth, folder):
        self.process = subprocess.Popen([berth, "serve", "--nodes", "3000", "--speed", "step", "--listen",
                                         "127.0.0.1:0",
                                         "--snapshots", folder], stdout=subprocess.PIPE, text=True)
        self.address = re.search(r"http://\S+", self.process.stdout.readline()).group(0)

    def put(self, path, body):
        request = urllib.request.Request(self.address + path, json.dumps(body).encode(), method="PUT")
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def job(number):
    task = {"Name": "t", "Driver": "mock_driver", "Resources": {"CPU": 100, "MemoryMB": 64}}
    return {"Job": {"ID": f"job-{number}", "Name": f"job-{number}", "Type": "service", "Datacenters": ["*"],
                    "TaskGroups": [{"Name": "g", "Count": 50, "Tasks": [task]}]}}


def main():
    failures, old, new = [], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "state.json")
        server = Server(sys.argv[1], folder)
        server.put("/v1/jobs", job(0))
        started = time.monotonic()
        before = server.put("/v1/berth/snapshot", {"Name": "state"})
        took = time.monotonic() - started
        for kill in range(1, KILLS + 1):
            server.put("/v1/jobs", job(kill))
            content = open(path, "rb").read()

            def write():
                try:
                    server.put("/v1/berth/snapshot", {"Name": "state"})
                except (OSError, http.client.HTTPException):
                    pass  # the server was killed
            writer = threading.Thread(target=write)
            writer.start()
            time.sleep(took * 1.25 * (kill - 1) / KILLS)
            server.kill()
            writer.join()
            found = open(path, "rb").read()
            if found == content:
                old += 1
            else:
                new += 1
                try:
                    json.loads(found)
                except ValueError as error:
                    failures.append(f"kill {kill}: the file is torn: {error}")
            server = Server(sys.argv[1], folder)
            restored = server.put("/v1/berth/restore", {"Name": "state"})
            if found == content and restored["Index"] != before["Index"]:
                failures.append(f"kill {kill}: the old snapshot has index {restored['Index']}, not {before['Index']}")
            if restored["Index"] < before["Index"]:
                failures.append(f"kill {kill}: index {restored['Index']} is before {before['Index']}")
            before = restored
        server.kill()
        left = sorted(name for name in os.listdir(folder) if name.endswith(".json"))
        if left != ["state.json"]:
            failures.append(f"the folder has {left}")
    print(f"{KILLS} kills: {old} times the old snapshot, {new} times the new one")
    print("\n".join(failures))
    return 1 if failures or old == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
