#!/usr/bin/env python3
"""Does this job fit our cluster, and does it roll out without downtime? For a step of a CI pipeline.

    rollout_check.py CLUSTER JOB [--var-file FILE]... [--berth PATH] [--nodes N] [--minutes M] [--min-running N]

CLUSTER is a source of `berth serve`: an export, a CLUSTER.json or a workload; "" with --nodes for made-up nodes. JOB is
a job file in HCL, or JSON as `nomad job run -output JOB` prints it. The script plans the job, registers it, and watches
its deployment on a simulated clock, second by second, for at most M minutes of simulated time (60). If the job runs
already, its running allocations must never be fewer than --min-running, by default its count minus max_parallel.

Exit code: 0 it fits and rolls out, 1 the check failed, 2 bad input, 3 it does not fit, the rollout fails, or too few
run.
"""
import argparse
import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request


class Refused(Exception):
    """The server refused a request."""


def ask(address, method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address + path, data=data, method=method)
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise Refused(f"{method} {path}: {error.read().decode().strip()}") from None


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def running(address, job_id, version=None):
    allocs = ask(address, "GET", f"/v1/job/{job_id}/allocations")
    return sum(1 for a in allocs if a["ClientStatus"] == "running" and a["DesiredStatus"] == "run"
               and (version is None or a["JobVersion"] == version))


def least_running(job):
    """Allocations that must keep running during the rollout: each group's count minus max_parallel."""
    least = 0
    for group in job["TaskGroups"]:
        update = group.get("Update") or job.get("Update") or {}
        least += max(0, (group.get("Count") or 1) - (update.get("MaxParallel") or 1))
    return least


def check(address, job, minutes, min_running):
    job_id = job["ID"]
    before = running(address, job_id)
    plan = ask(address, "PUT", f"/v1/job/{job_id}/plan", {"Job": job, "Diff": True})
    if plan.get("FailedTGAllocs"):
        for group, metric in sorted(plan["FailedTGAllocs"].items()):
            reasons = {**(metric.get("ConstraintFiltered") or {}), **(metric.get("DimensionExhausted") or {})}
            why = ", ".join(f"{reason} on {count} nodes" for reason,
                            count in sorted(reasons.items())) or "no node is eligible"
            print(f'does not fit: group "{group}": {why}')
        return 3
    least = 0 if before == 0 else least_running(job) if min_running is None else min_running
    ask(address, "PUT", "/v1/jobs", {"Job": job})
    fewest = before
    for second in range(1, minutes * 60 + 1):
        ask(address, "POST", "/v1/berth/advance", {"Seconds": 1})
        fewest = min(fewest, running(address, job_id))
        if fewest < least:
            print(f"downtime: after {second} s {fewest} run, fewer than {least}")
            return 3
        deployment = ask(address, "GET", f"/v1/job/{job_id}/deployment")
        version = ask(address, "GET", f"/v1/job/{job_id}")["Version"]
        wanted = sum(group.get("Count") or 1 for group in job["TaskGroups"])
        if deployment is None or deployment["JobVersion"] != version:  # this type of job has no deployment
            if running(address, job_id, version) >= wanted:
                print(f"fits and runs after {second} s")
                return 0
        elif deployment["Status"] == "successful":
            print(f"fits and rolls out in {second} s; at least {fewest if before else wanted} run")
            return 0
        elif deployment["Status"] in ("failed", "cancelled"):
            print(f"rollout fails after {second} s: {deployment['StatusDescription']}")
            return 3
    print(f"rollout is not over after {minutes} minutes")
    return 3


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("cluster")
    parser.add_argument("job")
    parser.add_argument("--var-file", action="append", default=[])
    parser.add_argument("--berth", default=os.environ.get("BERTH", "berth"))
    parser.add_argument("--nodes", type=int)
    parser.add_argument("--minutes", type=int, default=60)
    parser.add_argument("--min-running", type=int)
    arguments = parser.parse_args()
    try:
        text = read(arguments.job)
        variables = "\n".join(read(path) for path in arguments.var_file)
        job = None
        if text.lstrip().startswith("{"):
            job = json.loads(text)
            job = job.get("Job", job)
            if "job" not in job:  # the API's form, not HCL's JSON form
                job["ID"], job["TaskGroups"][0]["Name"]
            else:
                job = None
    except (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        print(f"{arguments.job}: is no job ({error}); name a job file in HCL or its JSON", file=sys.stderr)
        return 2
    command = [arguments.berth, "serve", *([arguments.cluster] if arguments.cluster else []), "--speed", "step",
               "--listen", "127.0.0.1:0"]
    if arguments.nodes is not None:
        command += ["--nodes", str(arguments.nodes)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            line = server.stdout.readline()
            address = re.search(r"http://\S+", line)
            if not address:
                return server.wait() or 1
            if job is None:
                job = ask(address.group(0), "PUT", "/v1/jobs/parse",
                          {"JobHCL": text, "Variables": variables, "Canonicalize": True})
            return check(address.group(0), job, arguments.minutes, arguments.min_running)
        except Refused as error:
            print(error, file=sys.stderr)
            return 2
        finally:
            server.send_signal(signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
