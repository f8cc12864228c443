#!/usr/bin/env python3
"""Replays recorded registrations (tests/golden/registration) against `berth serve` and compares every answer.

  registration.py --berth BERTH [--only NAME] [-v] FILE.json.gz ...     one server, started and ended here

A case is a few requests on jobs of its own: register, plan, validate, any request, and what is stored, evaluated and
placed afterwards. Absent, null, false, 0, "" and empty lists or objects are the same. Ends with 1 if a file has fewer
equal cases than FLOORS says; cases of agents with Vault run on a server that has it too.
"""
import argparse
import gzip
import json
import os
import re
import sys
import urllib.parse

from client import Client
from replay import Server

HERE = os.path.dirname(os.path.abspath(__file__))

# Cases of each file that have to be equal where not all are.
FLOORS = {}

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
DISPATCHED = re.compile(r"(dispatch-)\d{10,}-[0-9a-f]{8}")
LAUNCHED = re.compile(r"(periodic-)\d{9,}")
INSTANT = re.compile(r"(?!0001)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
TIMES = {"SubmitTime", "CreateTime", "ModifyTime", "Time", "TaggedTime", "NextPeriodicLaunch", "StartedAt",
         "FinishedAt", "LastRestart",
         "UpdateTime", "StatusUpdatedAt", "CreatedAt", "RequireProgressBy"}
LEFT_OUT = {"AllocationTime", "ScoreMetaData", "Scores", "LastContact", "RequestTime", "KnownLeader", "NextToken",
            "TaskStates",
            "AllocatedResources", "ClassEligibility", "EscapedComputedClass"}
NIL = "00000000-0000-0000-0000-000000000000"


class Normaliser:
    """Answers without what differs from run to run; IDs are counted, so that equal ones stay equal."""

    def __init__(self):
        self.ids = {}

    def text(self, value):
        value = LAUNCHED.sub(r"\1<time>", DISPATCHED.sub(r"\1<time>-<id>", value))
        value = UUID.sub(lambda m: m.group() if m.group() == NIL
                         else f"<uuid:{self.ids.setdefault(m.group(), len(self.ids) + 1)}>", value)
        return INSTANT.sub("<time>", value)

    def __call__(self, value, key=""):
        if isinstance(value, dict):
            return {self.text(name): self(value[name], name) for name in sorted(value) if name not in LEFT_OUT}
        if isinstance(value, list):
            return [self(item, key) for item in value]
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, bool) or value is None:
            return value
        if key.endswith("Index"):
            return "<index>" if value else 0
        return "<time>" if key in TIMES and value > 0 else value


def is_zero(value):
    if isinstance(value, dict):
        return all(is_zero(item) for item in value.values())
    return value in (None, False, "", 0, [])


def differences(want, got, place=""):
    """(place, recorded, answered) of each difference."""
    if is_zero(want) and is_zero(got):
        return
    numbers = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in (want, got))
    if type(want) is not type(got) and not numbers:
        yield place, want, got
    elif isinstance(want, dict):
        for key in sorted(set(want) | set(got)):
            yield from differences(want.get(key), got.get(key), f"{place}.{key}")
    elif isinstance(want, list):
        if len(want) != len(got):
            yield place, want, got
        else:
            for i, (one, other) in enumerate(zip(want, got)):
                yield from differences(one, other, f"{place}[{i}]")
    elif want != got:
        yield place, want, got


METRICS = ("NodesEvaluated", "NodesFiltered", "NodesInPool", "NodesExhausted", "ConstraintFiltered", "ClassFiltered",
           "DimensionExhausted",
           "CoalescedFailures")


def evaluation_summaries(evaluations):
    out = []
    for each in evaluations:
        failed = {group: {key: metrics.get(key) for key in METRICS} for group,
                  metrics in (each.get("FailedTGAllocs") or {}).items()}
        out.append({key: each.get(key)
                    for key in ("Type", "TriggeredBy", "Status", "StatusDescription", "Priority", "QueuedAllocations")}
                   | {"FailedTGAllocs": failed, "Blocked": bool(each.get("BlockedEval")),
                      "Deployment": bool(each.get("DeploymentID"))})
    return sorted(out, key=lambda one: json.dumps(one, sort_keys=True))


def allocation_summaries(allocations):
    out = []
    for each in sorted(allocations, key=lambda a: (a.get("Name", ""), a.get("CreateIndex", 0))):
        one = {key: each.get(key) for key in ("Name", "TaskGroup", "JobID", "JobVersion", "DesiredStatus",
                                              "DesiredDescription", "ClientStatus",
                                              "ClientDescription")}
        one["TaskEvents"] = {task: [event.get("Type") for event in (state.get("Events") or [])]
                             + [f"failed={state.get('Failed')}", state.get("State")] for task,
                             state in (each.get("TaskStates") or {}).items()}
        one["Followed"] = bool(each.get("FollowupEvalID"))
        out.append(one)
    return out


class Recorder:
    """Asks what a case asked, of a server whose time stands still in between."""

    def __init__(self, url):
        self.client = Client(url)

    def ask(self, method, path, body=None):
        text = body if isinstance(body, str) else None if body is None else json.dumps(body)
        answer = self.client.request(method, urllib.parse.quote(path, safe="/?=&%*"), text=text)
        return answer["status"], answer.get("body", answer.get("body_text"))

    def advance(self, seconds):
        status, body = self.ask("POST", "/v1/berth/advance", {"Seconds": seconds})
        if status != 200:
            raise RuntimeError(f"POST /v1/berth/advance: {status} {body}")

    def known(self):
        return {one["ID"] for kind in ("evaluations", "allocations")
                for one in self.ask("GET", f"/v1/{kind}?namespace=*&per_page=100000")[1] or []}

    def settle(self, job, seen):
        for _ in range(40):
            status, evaluations = self.ask("GET", f"/v1/job/{urllib.parse.quote(job, safe='')}/evaluations")
            fresh = [one for one in evaluations if one["ID"] not in seen] if status == 200 and isinstance(evaluations,
                                                                                                          list) else []
            if fresh and all(one["Status"] in ("complete", "blocked", "failed", "canceled") for one in fresh):
                break
            self.advance(0.15)
        self.advance(0.2)

    def clean(self):
        for job in self.ask("GET", "/v1/jobs?namespace=*")[1] or []:
            space = job.get("Namespace") or job.get("JobSummary", {}).get("Namespace") or "default"
            self.ask("DELETE", f"/v1/job/{urllib.parse.quote(job['ID'], safe='')}?purge=true&namespace={space}")
        self.advance(0.5)

    def play(self, case):
        """The differences of all steps."""
        seen, normalise, out = self.known(), Normaliser(), []
        for number, step in enumerate(case["steps"]):
            kind = step["do"]
            if kind == "wait":
                self.advance(step["seconds"])
                continue
            if kind == "settle":
                self.settle(step["job"], seen)
                continue
            if kind in ("allocations", "evaluations"):
                self.advance(1.2)
            request = step["request"]
            status, body = self.ask(request["method"], request["path"], request["body"])
            if status == 200 and kind == "allocations":
                body = allocation_summaries([one for one in body if one["ID"] not in seen])
            elif status == 200 and kind == "evaluations":
                body = evaluation_summaries([one for one in body if one["ID"] not in seen])
            elif kind == "request" and isinstance(body, list) and all(isinstance(one, dict) for one in body):
                path = request["path"]
                if path.startswith(("/v1/jobs", "/v1/scaling", "/v1/namespaces", "/v1/node/pools")):
                    first = "Target" if "scaling" in path else "ID"
                    body = sorted(body, key=lambda one: str(one.get(first)) + str(one.get("Name")))
            out += differences(step["answer"], {"status": status, "body": normalise(body)}, f"step {number} {kind}")
        self.clean()
        return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--berth", required=True)
    parser.add_argument("--only", help="the case of this name")
    parser.add_argument("-v", action="store_true", help="print the first differences of each case")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    cases = {}
    for path in arguments.files:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            name = os.path.basename(path).split(".")[0]
            cases[name] = [case for case in json.load(file) if arguments.only in (None, case["name"])]
    short = False
    servers = {}
    try:
        for name, listed in cases.items():
            equal = 0
            for case in listed:
                agent = case.get("agent", "default")
                if agent == "fresh" or agent not in servers:
                    if agent in servers:
                        servers.pop(agent).stop()
                    servers[agent] = Server(arguments.berth, os.path.join(HERE, "agent.json"),
                                            ["--vault", "vault.io"] if agent == "vault" else [])
                found = Recorder(servers[agent].url).play(case)
                equal += not found
                if found and arguments.v:
                    print("##", case["name"])
                    for place, want, got in found[:12]:
                        print("   ", place, "| recorded", json.dumps(want)[:300], "| answered", json.dumps(got)[:300])
            floor = 0 if arguments.only else FLOORS.get(name, len(listed))
            print(f"{name:14} {equal:3} of {len(listed):3} cases equal" +
                  ("" if equal >= floor else f", wanted {floor}"))
            short |= equal < floor
    finally:
        for server in servers.values():
            server.stop()
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
