#!/usr/bin/env python3
"""The job files that `berth sweep` prints, validated against their engines: job_files_test.py BERTH [--schemas]

Nomad: HashiCorp publishes no JSON schema, so the job is validated, planned and registered by `berth serve`, which reads
jobs as Nomad does, and must be placed. Kubernetes, with --schemas: the published schema of batch/v1 Job, strict, of the
oldest and the newest version of the API that the package has."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import urllib.request

ELEMENTS = 24
PLAN = """name = "job files"
[[runs]]
workloads = ["quickstart"]
labels = ["smoke"]
[runs.vary]
seed = "1..24"
"""


def job_file(berth, folder, *arguments):
    printed = subprocess.run([berth, "sweep", os.path.join(folder, "plan.toml"), "--output",
                              os.path.join(folder, "out"), "--print", *arguments],
                             capture_output=True, text=True, check=True)
    assert "submit: berth sweep" in printed.stderr and "gather: berth sweep" in printed.stderr, printed.stderr
    return json.loads(printed.stdout)


class Server:
    """`berth serve` on a free port, whose time advances on request only."""

    def __init__(self, berth):
        self.process = subprocess.Popen([berth, "serve", "--nodes", "40", "--speed", "step", "--listen", "127.0.0.1:0"],
                                        stdout=subprocess.PIPE, text=True)
        self.address = re.search(r"http://\S+", self.process.stdout.readline()).group(0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait() == 0, "the server ends with an error"

    def ask(self, method, path, body=None):
        request = urllib.request.Request(self.address + path, method=method, data=None if body is None
                                         else json.dumps(body).encode())
        with urllib.request.urlopen(request) as answer:
            return json.loads(answer.read())


def check_nomad(berth, folder):
    job = job_file(berth, folder, "--on", "nomad")
    job_id, (group,) = job["Job"]["ID"], job["Job"]["TaskGroups"]
    assert group["Count"] == ELEMENTS, group["Count"]
    with Server(berth) as server:
        valid = server.ask("PUT", "/v1/validate/job", job)
        assert not valid["Error"] and not valid["ValidationErrors"], valid
        broken = json.loads(json.dumps(job))
        broken["Job"]["TaskGroups"][0]["Count"] = -1
        assert server.ask("PUT", "/v1/validate/job",
                          broken)["Error"], "a job without sense is valid: the check says nothing"

        plan = server.ask("PUT", f"/v1/job/{job_id}/plan", {**job, "Diff": True})
        assert not plan["FailedTGAllocs"], plan["FailedTGAllocs"]
        assert plan["Annotations"]["DesiredTGUpdates"][group["Name"]]["Place"] == ELEMENTS, plan["Annotations"]
        assert plan["Diff"]["Type"] == "Added", plan["Diff"]

        assert server.ask("PUT", "/v1/jobs", job)["EvalID"]
        server.ask("POST", "/v1/berth/advance", {"Seconds": 60})
        allocations = server.ask("GET", f"/v1/job/{job_id}/allocations")
        assert len(allocations) == ELEMENTS and all(one["NodeID"] for one in allocations), allocations
        # NOMAD_ALLOC_INDEX is the number in the name: every element is there once.
        assert sorted(int(one["Name"].split("[")[1][:-1]) for one in allocations) == list(range(ELEMENTS))
        assert {one["ClientStatus"] for one in allocations} <= {"running", "complete"}, allocations
        kept = server.ask("GET", f"/v1/job/{job_id}")
        command = kept["TaskGroups"][0]["Tasks"][0]["Config"]["args"][1]
        assert f"$((NOMAD_ALLOC_INDEX + 1))/{ELEMENTS}" in command, command
    print(f"Nomad: valid, planned, registered, {len(allocations)} allocations placed")


def check_kubernetes(berth, folder):
    import kubernetes_validate.utils

    job = job_file(berth, folder, "--on", "kubernetes", "--image", "registry.example/berth:1", "-j", "5")
    assert job["spec"]["completions"] == ELEMENTS and job["spec"]["parallelism"] == 5, job["spec"]
    versions = sorted({tuple(map(int, one.split(".")[:2])) for one in kubernetes_validate.utils.all_versions()})
    # Indexed is stable since then
    versions = [f"{major}.{minor}" for major, minor in versions if (major, minor) >= (1, 24)]
    assert versions, "the package has no schema of 1.24 or later"
    for version in {versions[0], versions[-1]}:
        kubernetes_validate.validate(job, version, strict=True)
        for wrong in ({"completions": "many"}, {"completion": 3}):
            try:
                kubernetes_validate.validate({**job, "spec": {**job["spec"], **wrong}}, version, strict=True)
            except kubernetes_validate.ValidationError:
                continue
            raise AssertionError(f"{wrong} is valid in {version}: the check says nothing")
    print(f"Kubernetes: as the schemas of {versions[0]} and {versions[-1]} want it")


def main():
    berth = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "plan.toml"), "w", encoding="utf-8") as file:
            file.write(PLAN)
        check_nomad(berth, folder)
        if "--schemas" in sys.argv[2:]:
            check_kubernetes(berth, folder)


main()
