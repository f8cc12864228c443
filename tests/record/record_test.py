"""`berth record` against simulated agents whose stream breaks, repeats, leaves gaps or sends what is no event.

    record_test.py BERTH SOURCE_DIR
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from streams import EMPTY, StreamAgent, clean_environment, event, frame, lines_of, pool

berth = sys.argv[1]
scratch = tempfile.mkdtemp()
failures = []
HEART = b"{}\n"


def broken(text):
    failures.append(text)
    print("BROKEN:", text, flush=True)


def record(agent, *arguments, length="2s", interrupt_after=None):
    """Exit code, standard output, standard error, the lines of the recording or None."""
    path = scratch + "/recording.jsonl"
    if os.path.exists(path):
        os.remove(path)
    command = [berth, "record", agent if isinstance(agent, str) else agent.address, "-o", path, *arguments]
    if interrupt_after is None:
        command += ["--for", length]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=clean_environment(NOMAD_TOKEN="the-token"))
    if interrupt_after is not None:
        time.sleep(interrupt_after)
        process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    return process.returncode, output, errors, lines_of(path) if os.path.exists(path) else None


def indexes(lines):
    return [line["Index"] for line in lines if "Events" in line]


def expect(name, condition, *what):
    if not condition:
        broken("%s: %s" % (name, " ".join(map(str, what))))


# A stream that breaks in the middle of a line, after one of two frames of an entry: nothing is lost and nothing twice.
half = frame(302, pool(302))
with StreamAgent(EMPTY, [[HEART, frame(300, pool(300)), frame(301, pool(301)), half[:40]],
                         [HEART, frame(301, pool(301)), frame(301, pool(301, "second")), half, "hold"]]) as agent:
    code, output, errors, lines = record(agent)
    expect("cut", code == 0 and lines, code, errors)
    expect("cut", indexes(lines) == [300, 301, 301, 302], indexes(lines))
    expect("cut", agent.opened() == [str(2**63 - 1), "301"], agent.opened())
    expect("cut", "in the middle of a line after 40 bytes; connecting again from index 301" in errors, errors)
    expect("cut", "connected again" in errors and "1 reconnects, 0 gaps" in output, errors, output)
    expect("head", lines[0]["format"] == "berth-recording" and lines[0]["version"] == 1, lines[0])
    expect("head", "State" in lines[1] and lines[1]["State"]["SchedulerConfig"]["SchedulerAlgorithm"] == "binpack",
           lines[1])
    expect("end", lines[-1]["End"] == {"Reason": "the time was over", "Index": 302, "Frames": 4}, lines[-1])
    expect("token", "the-token" not in open(scratch + "/recording.jsonl").read() + errors, "the token is written")

# Errors and lines that are none between two good connections.
with StreamAgent(EMPTY, [[HEART, frame(300, pool(300))], [500], [HEART, b"no JSON\n"], [HEART, b"[1]\n"],
                         [HEART, frame(300, pool(300)), frame(301, pool(301)), "hold"]]) as agent:
    code, output, errors, lines = record(agent, length="6s")
    expect("faults", code == 0 and indexes(lines) == [300, 301], code, errors, lines and indexes(lines))
    expect("faults", "0 gaps" in output, output)
    expect("faults", set(agent.opened()[1:]) == {"300"}, agent.opened())

# The agent no longer has the events: the gap is named, and the cluster is read again.
with StreamAgent(EMPTY, [[HEART, frame(300, pool(300))],
                         [HEART, frame(400, pool(400)), frame(401, pool(401)), "hold"]]) as agent:
    code, output, errors, lines = record(agent)
    kinds = [next(iter(line)) for line in lines]
    expect("gap", kinds == ["format", "State", "Index", "Gap", "Index", "State", "Index", "End"], kinds)
    expect("gap", lines[3]["Gap"] == {"After": 300, "Before": 400, "Reason": "the agent no longer had the events"},
           lines[3])
    expect("gap", "1 gaps" in output and "reading the cluster again" in errors, output, errors)
with StreamAgent(EMPTY, [[HEART, frame(300, pool(300))], [HEART, frame(20, pool(20)), "hold"]]) as agent:
    code, output, errors, lines = record(agent)
    expect("back", any(line.get("Gap", {}).get("Reason") == "the agent's index went back" for line in lines), errors)
# A connection that breaks before its first frame has no index to continue from.
with StreamAgent(EMPTY, [[HEART], [HEART, frame(400, pool(400)), "hold"]]) as agent:
    code, output, errors, lines = record(agent)
    kinds = [next(iter(line)) for line in lines]
    expect("early", kinds.count("State") == 2 and kinds.count("Gap") == 1 and indexes(lines) == [400], kinds)

# An object that cannot be read is named and skipped; the rest of its frame counts.
bad = event("Node", "NodeRegistration", 300, "x", {"ID": "x"})
with StreamAgent(EMPTY, [[HEART, frame(300, bad, pool(300)), "hold"]]) as agent:
    code, output, errors, lines = record(agent)
    skipped = [line["Skipped"] for line in lines if "Skipped" in line]
    expect("skipped", len(skipped) == 1 and skipped[0]["Index"] == 300 and "no UUID" in skipped[0]["Problem"], skipped)
    expect("skipped", "1 objects skipped" in output and indexes(lines) == [300], output)

# Secrets are dropped; --redact gives equal texts equal words, over all frames.
node = {"ID": "11111111-1111-4111-8111-111111111111", "Name": "n", "Datacenter": "dc1", "SecretID": "hidden-secret",
        "Status": "ready", "NodeResources": {"Cpu": {"CpuShares": 1000}, "Memory": {"MemoryMB": 1000}},
        "ModifyIndex": 300}


def job(index):
    task = {"Name": "t", "Driver": "exec", "Env": {"PASSWORD": "hidden-word"}, "Config": {}}
    return event("Job", "JobRegistered", index, "web",
                 {"ID": "web", "Name": "web", "Type": "service", "Version": 0, "CreateIndex": index,
                  "VaultToken": "hidden-token",
                  "JobModifyIndex": index, "ModifyIndex": index,
                  "TaskGroups": [{"Name": "g", "Count": 1, "Tasks": [task]}]}, namespace="default")


with StreamAgent(EMPTY,
                 [[HEART, frame(300, event("Node", "NodeRegistration", 300, node["ID"], node)), frame(301, job(301)),
                          frame(302, job(302)), "hold"]]) as agent:
    code, output, errors, lines = record(agent)
    text = open(scratch + "/recording.jsonl").read()
    expect("secrets", "hidden-secret" not in text and "hidden-token" not in text, "a secret is written")
    expect("secrets", "hidden-word" in text, "the environment is kept without --redact")
    code, output, errors, lines = record(agent, "--redact")
    text = open(scratch + "/recording.jsonl").read()
    expect("redact", "hidden-word" not in text and text.count('"PASSWORD":"redacted-1"') == 2, text.count("redacted-1"))
    expect("redact", lines[0]["Redacted"] is True, lines[0])

# Changes of the scheduler configuration send no event. The recorder notices a gap between the indexes of two events,
# and reads the configuration.
settings = {"SchedulerConfig": {"SchedulerAlgorithm": "spread", "ModifyIndex": 301}}
asked = []


def configuration():
    asked.append(1)
    return EMPTY["/v1/operator/scheduler/configuration"] if len(asked) == 1 else settings


with StreamAgent({**EMPTY, "/v1/operator/scheduler/configuration": configuration},
                 [[HEART, frame(300, pool(300)), 0.5, frame(302, pool(302)), "hold"]]) as agent:
    code, output, errors, lines = record(agent)
    found = [line["SchedulerConfig"] for line in lines if "SchedulerConfig" in line]
    expect("configuration", len(found) == 1 and found[0]["SchedulerAlgorithm"] == "spread", found, len(asked))

# Ctrl-C ends it within a second, with a whole file.
with StreamAgent(EMPTY, [[HEART, frame(300, pool(300)), "hold"]]) as agent:
    code, output, errors, lines = record(agent, interrupt_after=2)
    expect("Ctrl-C", code == 0 and lines[-1].get("End", {}).get("Reason") == "interrupted", code, errors, lines
           and lines[-1])

# Also while the cluster is read again after a gap, from an agent that does not answer.
listed = []


def slow_nodes():
    listed.append(1)
    if len(listed) > 1:
        time.sleep(20)
    return []


with StreamAgent({**EMPTY, "/v1/nodes": slow_nodes},
                 [[HEART, frame(300, pool(300))], [HEART, frame(400, pool(400)), "hold"]]) as agent:
    begin = time.time()
    code, output, errors, lines = record(agent, interrupt_after=3)
    expect("Ctrl-C in a gap", len(listed) == 2, "the test did not interrupt the second reading", listed)
    expect("Ctrl-C in a gap", code == 0 and lines[-1].get("End", {}).get("Reason") == "interrupted", code, errors,
           lines)
    expect("Ctrl-C in a gap", "Gap" in lines[-2] or "Gap" in lines[-3], lines)
    expect("Ctrl-C in a gap", time.time() - begin < 12, "took %.1f s" % (time.time() - begin))

# What contradicts itself in the cluster is named, as by `berth import`.
lost = {"ID": "22222222-2222-4222-8222-222222222222", "Namespace": "default", "Name": "web.g[0]", "JobID": "web",
        "TaskGroup": "g", "NodeID": "33333333-3333-4333-8333-333333333333", "ClientStatus": "running",
        "DesiredStatus": "run", "ModifyIndex": 7}
with StreamAgent({**EMPTY, "/v1/allocations": [lost], "/v1/allocation/" + lost["ID"]: lost},
                 [[HEART, "hold"]]) as agent:
    code, output, errors, lines = record(agent, length="1s")
    expect("no nodes", code == 2 and "has no nodes" in errors and "--allow-partial" in errors and lines is None, code,
           errors)
    code, output, errors, lines = record(agent, "--allow-partial", length="1s")
    expect("warnings", code == 0 and "warning: " in errors and lost["ID"] in errors, code, errors)

# What is asked for: topics, all namespaces.
with StreamAgent(EMPTY, [[HEART, "hold"]]) as agent:
    record(agent, "--topics", "Node,Job:we b", length="1s")
    path = [r for r in agent.requests if r.startswith("/v1/event/stream")][0]
    expect("topics", "namespace=*&topic=Node&topic=Job%3Awe%20b" in path, path)

# Agents that cannot be recorded, and files that are there: one line, exit code 2, and no file.
for name, script, pattern in (("denied", [403], "set NOMAD_TOKEN to a token that may read jobs, nodes and volumes"),
                              ("failing", [500], "answers 500: it broke"),
                              ("empty", [b""], "the agent ended the stream")):
    with StreamAgent(EMPTY, [script]) as agent:
        code, output, errors, lines = record(agent)
        expect(name, code == 2 and lines is None and len(errors.splitlines()) == 1 and pattern in errors, code, errors)
with StreamAgent({**EMPTY, "/v1/nodes": None}, [[HEART, "hold"]]) as agent:
    code, output, errors, lines = record(agent)
    expect("no nodes", code == 2 and lines is None, code, errors)
code, output, errors, lines = record("http://127.0.0.1:9")
expect("nothing there", code == 2 and lines is None and "check the address" in errors, code, errors)
with StreamAgent(EMPTY, [[HEART, "hold"]]) as agent:
    path = scratch + "/there.jsonl"
    open(path, "w").write("text\n")
    done = subprocess.run([berth, "record", agent.address, "-o", path, "--for", "1s"], capture_output=True, text=True)
    expect("exists", done.returncode == 2 and "exists already" in done.stderr and open(path).read() == "text\n", done)
    expect("exists", not agent.requests, "the agent was asked before the file was checked")

shutil.rmtree(scratch)
sys.exit(1 if failures else 0)
