"""`berth replay`: the decisions of a real Nomad and of `berth serve`, recorded and decided again.

    replay_test.py BERTH SOURCE_DIR
"""
import gzip
import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import jsonschema

from streams import Served, clean_environment, lines_of

berth, source = sys.argv[1], sys.argv[2]
scratch = tempfile.mkdtemp()
failures = []
schema = json.load(open(source + "/bench/schema/berth-replay.json"))
TOPICS = ["Evaluation", "Allocation", "Deployment", "Job", "Node", "NodePool"]


def broken(text):
    failures.append(text)
    print("BROKEN:", text, flush=True)


def expect(name, condition, *what):
    if not condition:
        broken("%s: %s" % (name, " ".join(map(str, what))))


def write(path, lines):
    with open(path, "w") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    return path


def replay(path, *arguments):
    """Exit code, output, errors, the JSON report or None."""
    report = scratch + "/replay.json"
    done = subprocess.run([berth, "replay", path, "--json", report, *arguments], capture_output=True, text=True,
                          timeout=300)
    if done.returncode not in (0, 3, 4):
        return done.returncode, done.stdout, done.stderr, None
    document = json.load(open(report))
    jsonschema.validate(document, schema)
    return done.returncode, done.stdout, done.stderr, document["life" if "--live" in arguments else "replay"]


# ---------------------------------------------------------------- a real Nomad
# Six nodes join an empty cluster, jobs are run, updated and stopped, a node is drained: all of it from one event
# stream.
recorded = json.load(gzip.open(source + "/tests/golden/http/event-stream.json.gz"))
frames = [entry["frame"] for entry in recorded["steps"][0]["frames"] if (entry["frame"] or {}).get("Events")]
real = [{"format": "berth-recording", "version": 1, "Address": "http://nomad", "Topics": TOPICS},
        {"State": {"Index": 7, "Nodes": []}},
        *frames]
code, output, errors, report = replay(write(scratch + "/real.jsonl", real))
if report is None:
    broken("real: exit %d, %s" % (code, errors))
else:
    evals = report["evaluations"]
    expect("real", code == 0 and evals["compared"] == evals["finished"] == evals["equal"] == 7, code, evals,
           report["different"])
    expect("real", report["nomad"] == report["berth"] and report["nomad"]["placed"] == 5, report["nomad"],
           report["berth"])
    expect("real", report["recording"]["left_out"] == 0, report["recording"])

# One placement on another node is found, and explained with the scores of both.
moved = json.loads(json.dumps(real))
payloads = [event["Payload"] for line in moved for event in line.get("Events", [])]
nodes = {payload["Node"]["Name"]: payload["Node"]["ID"] for payload in payloads if "Node" in payload}
for payload in payloads:
    if payload.get("Allocation", {}).get("Name") == "web.app[1]":
        payload["Allocation"]["NodeID"] = nodes["client-1"]
code, output, errors, report = replay(write(scratch + "/moved.jsonl", moved))
expect("moved", code == 3, code, errors)
if report:
    first = report["different"][0]
    expect("moved", any("web.app[1]: Nomad places it on client-1, berth on" in line for line in first["differences"]),
           first)
    shown = report.get("first_placement", {})
    expect("moved", [node["node"] for node in shown.get("nodes", [])][:1] == ["client-1"], shown)
    expect("moved", all(node["berth"] is not None or node["reason"] for node in shown["nodes"]), shown)
    expect("moved", "First placement that differs: web.app[1]" in output, output)

# Another algorithm on the same states: the report has both sides, and differences are no failure.
code, output, errors, report = replay(scratch + "/real.jsonl", "--algorithm", "spread")
expect("spread", code == 0 and report["evaluations"]["compared"] == 7, code, errors)
expect("spread", "Decided with algorithm spread, each on the recorded state" in output, output)
code, output, errors, report = replay(scratch + "/real.jsonl", "--strategy", "best-fit")
expect("strategy", code == 0 and report["evaluations"]["compared"] == 7, code, errors)
code, output, errors, report = replay(scratch + "/real.jsonl", "--preemption", "service=on", "--preemption", "batch=on")
expect("preemption", code == 0 and report["evaluations"]["equal"] == 7, code, errors)

# ---------------------------------------------------------------- the cluster lives on
# What comes from outside is the same under all settings, and so is what is left when the service is stopped.
FROM_OUTSIDE = {"node joined": 6, "job registered": 3, "job stopped": 1, "eligibility changed": 2, "drain begun": 1}
for settings in ([], ["--algorithm", "spread"], ["--strategy", "worst-fit"]):
    code, output, errors, life = replay(scratch + "/real.jsonl", "--live", *settings)
    if life is None:
        broken("live: exit %d, %s" % (code, errors))
        continue
    end = life["moments"][-1]
    expect("live", code == 0 and life["happened"] == FROM_OUTSIDE and life["without_effect"] == 0, output)
    expect("live", end["nomad"]["nodes"] == end["berth"]["nodes"] == 6, end)
    # The last job stops at the end; the last reports of berth's clients may come after it.
    expect("live", end["nomad"]["allocations"] == 0 and end["berth"]["allocations"] <= 2, end)
    expect("live", len(life["moments"]) == 12 and life["nomad"]["placed"] == 5, life)
    # Registrations and stops happen at the time of their evaluation: both clusters hold two allocations until the job
    # stops.
    expect("live", all(moment[of]["allocations"] == 2 for moment in life["moments"][5:11] for of in ("nomad", "berth")),
           life["moments"])
    again = replay(scratch + "/real.jsonl", "--live", *settings)
    expect("live", again[1] == output, "two runs differ", output, again[1])
    expect("live", ("Simulated with " +
                    {0: "the recorded settings", 2: " ".join(settings).lstrip("-")}[len(settings)]) in output, output)
code, output, errors, life = replay(scratch + "/real.jsonl", "--live", "--verbose")
expect("live", code == 2 and "excludes" in errors, code, errors)

# Allocations of the first state are no placements.
subprocess.run([berth, "import", source + "/tests/dryrun/recorded/stage-02.snap", "-o", scratch + "/state.json"],
               check=True, capture_output=True)
state = {"State": json.load(open(scratch + "/state.json")), "Time": 1795308937000000000}
code, output, errors, life = replay(write(scratch + "/begun.jsonl", [real[0], state]), "--live")
expect("begun", code == 0 and life["berth"] == {"placed": 0, "evicted": 0}
       and life["moments"][-1]["berth"]["allocations"] == 48, code, errors, output)

# ---------------------------------------------------------------- what a recording can lack
code, output, errors, report = replay(write(scratch + "/killed.jsonl", real[:-1]) and scratch + "/killed.jsonl")
expect("killed", code == 0 and "the recording was killed: it has no last line" in errors, code, errors)
text = open(scratch + "/real.jsonl").read()
open(scratch + "/cut.jsonl", "w").write(text[:-30])
code, output, errors, report = replay(scratch + "/cut.jsonl")
expect("cut", code == 0 and "the last one, is cut after" in errors, code, errors)
late = [real[0], real[1], *[frame for frame in frames if frame["Index"] > 21]]
code, output, errors, report = replay(write(scratch + "/late.jsonl", late))
expect("late", code in (3, 4) and report["evaluations"]["compared"] < 7, code, report and report["evaluations"])
code, output, errors, life = replay(write(scratch + "/none.jsonl", [real[0], *frames]), "--live")
expect("none", code == 2 and "has no state to begin with" in errors, code, errors)
late = json.loads(json.dumps([*real[:2], frames[0], frames[-1]]))
late[2]["Time"], late[3]["Time"] = 10**9, 3 * 10**18
code, output, errors, life = replay(write(scratch + "/long.jsonl", late), "--live")
expect("long", code == 2 and "lasts more than 400 days" in errors, code, errors)
gap = [*real[:2], *[f for f in frames if f["Index"] <= 31], {"Gap": {"After": 31, "Before": 64, "Reason": "test"}},
       {"State": {"Index": 64, "Nodes": []}}]
code, output, errors, report = replay(write(scratch + "/gap.jsonl", gap))
expect("gap", code == 0 and report["evaluations"]["equal"] == 2 and report["recording"]["gaps"] == 1, code, report)
# After the gap the cluster has no nodes and no jobs: what stands there went in it.
code, output, errors, life = replay(scratch + "/gap.jsonl", "--live")
expect("gap", code == 0 and life["moments"][-1]["berth"]["nodes"] == 0 and life["happened"]["node left"] == 6 and
       life["happened"]["job purged"] == 1 and life["recording"]["gaps"] == 1, code, errors, output)

# ---------------------------------------------------------------- berth serve


def job(name, count, cpu=200, kind="service", priority=50, **more):
    group = {"Name": "g", "Count": count,
             "Tasks": [{"Name": "t", "Driver": "mock_driver", "Config": {"run_for": "20s" if kind == "batch" else "2h"},
                                                     "Resources": {"CPU": cpu, "MemoryMB": 128}}]}
    if kind == "service":
        group["Update"] = {"MaxParallel": 2, "MinHealthyTime": 1000000000, "HealthyDeadline": 60000000000,
                           "Canary": more.pop("canary", 0)}
    if kind == "system":
        group.pop("Count")
    group.update(more.pop("group", {}))
    return {"Job": {"ID": name, "Name": name, "Type": kind, "Priority": priority, "Datacenters": ["*"],
                    "TaskGroups": [group],
                    **more}}


with Served(berth, "--nodes", "40", "--speed", "20", "--now", "2026-11-22T01:00:00Z") as server:
    server.call("PUT", "/v1/jobs", job("before", 5))
    time.sleep(1)
    path = scratch + "/served.jsonl"
    recorder = subprocess.Popen([berth, "record", server.address, "-o", path], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE,
                                text=True, env=clean_environment())
    time.sleep(1.5)
    nodes = server.call("GET", "/v1/nodes")
    cpu = server.call("GET", "/v1/node/" + nodes[0]["ID"])["NodeResources"]["Cpu"]["CpuShares"]
    for step in range(12):
        server.call("PUT", "/v1/jobs", job("web-%d" % step, 3 + step, cpu=100 + 50 * step))
        server.call("PUT", "/v1/jobs", job("calc-%d" % step, 4, cpu=700, kind="batch"))
        if step == 2:
            server.call("PUT", "/v1/jobs", job("agent", 1, cpu=50, kind="system"))
        if step == 3:
            server.call("PUT", "/v1/node/%s/drain" % nodes[0]["ID"], {"DrainSpec": {"Deadline": 60000000000}})
        if step == 4:  # a second version, another one with canaries, and more than the cluster holds
            server.call("PUT", "/v1/jobs", job("web-1", 6, cpu=300))
            server.call("PUT", "/v1/jobs", job("web-2", 5, cpu=120, canary=1))
            server.call("PUT", "/v1/jobs", job("huge", 100, cpu=cpu // 2 - 500))
        if step == 5:
            server.call("PUT", "/v1/node/%s/eligibility" % nodes[1]["ID"], {"Eligibility": "ineligible"})
            server.call("PUT", "/v1/operator/scheduler/configuration",
                        {"SchedulerAlgorithm": "spread",
                         "PreemptionConfig": {"SystemSchedulerEnabled": True, "ServiceSchedulerEnabled": True}})
        if step == 6:  # updated in place: one more of the same
            server.call("PUT", "/v1/jobs", job("web-5", 9, cpu=350))
        if step == 7:
            server.call("PUT", "/v1/jobs", job("urgent", 4, cpu=cpu // 2 - 500, priority=90))
            server.call("DELETE", "/v1/job/web-0")
            server.call("DELETE", "/v1/job/calc-1?purge=true")
        if step == 9:
            server.call("PUT", "/v1/node/%s/drain" % nodes[0]["ID"], {"DrainSpec": None, "MarkEligible": True})
            server.call("DELETE", "/v1/job/huge")
            alloc = server.call("GET", "/v1/job/web-3/allocations")[0]
            server.call("PUT", "/v1/allocation/%s/stop" % alloc["ID"], {})
        time.sleep(0.4)
    time.sleep(2)
    recorder.send_signal(signal.SIGINT)
    output, errors = recorder.communicate(timeout=30)
    expect("served", recorder.returncode == 0 and ", 0 gaps, 0 objects skipped" in output, output, errors)
    code, output, errors, report = replay(path)
    if report is None:
        broken("served: exit %d, %s" % (code, errors))
    else:
        evals = report["evaluations"]
        expect("served", code == 0 and evals["equal"] == evals["compared"] > 40, code, evals,
               json.dumps(report["different"][:5], indent=1))
        expect("served", report["nomad"]["evicted"] > 0 and report["nomad"]["failed"] > 0
               and report["nomad"]["updated"] > 0,
               report["nomad"])
        expect("served", report["recording"]["left_out"] == 0, report["recording"])
    code, output, errors, life = replay(path, "--live")
    if life is None:
        broken("served, live: exit %d, %s" % (code, errors))
    else:
        end, placed = life["moments"][-1], (life["nomad"]["placed"], life["berth"]["placed"])
        expect("served, live", code == 0 and life["without_effect"] == 0, output)
        expect("served, live", abs(placed[1] - placed[0]) < 0.2 * placed[0] and life["berth"]["evicted"] > 0, output)
        # Decided on other states and in other visiting orders, yet most of it is alike.
        expect("served, live", end["same_node"] > 0 and end["only_nomad"] + end["only_berth"] < 0.2 * end["same_node"] +
               20, output)
        expect("served, live",
               {"drain begun", "eligibility changed", "allocation stopped", "job purged", "scheduler configuration"}
               <= set(life["happened"]), life["happened"])
        code, output, errors, spread = replay(path, "--live", "--algorithm", "spread")
        most = max(zip(life["moments"], spread["moments"]), key=lambda both: both[0]["berth"]["allocations"])
        expect("served, live", most[1]["berth"]["used_nodes"] >= most[0]["berth"]["used_nodes"], most)
    code, output, errors, other = replay(path, "--algorithm", "binpack")
    expect("served", code == 0 and other["on_another_node"] > 0, code, errors)

shutil.rmtree(scratch)
sys.exit(1 if failures else 0)
