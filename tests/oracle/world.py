"""A cluster that a generator changes: the oracle decides evaluations on it, and their plans are committed."""
import copy
import json
import random
import re

from commit import commit
from oracle import scheduler_of

SECOND = 10**9
START = 1_700_000_000 * SECOND


def uuid(rng):
    h = "%032x" % rng.getrandbits(128)
    return "-".join((h[:8], h[8:12], h[12:16], h[16:20], h[20:]))


class World:
    def __init__(self, seed):
        self.rng, self.seed = random.Random(seed), seed
        self.index, self.now = 1000, START
        self.nodes, self.pools, self.config, self.volumes, self.csi = [], [], None, [], {}
        # table, job ID -> index of the current version, all stored versions
        self.jobs, self.current, self.versions = [], {}, []
        self.allocs, self.deployments, self.claims = {}, {}, []
        self.followups, self.blocked = [], []

    def chance(self, p):
        return self.rng.random() < p

    def pick(self, *values):
        return self.rng.choice(values)

    def tick(self):
        self.index += self.pick(1, 2, 5)
        return self.index

    def store(self, job):
        self.jobs.append(job)
        self.current[job["ID"]] = len(self.jobs) - 1
        self.versions.append(len(self.jobs) - 1)

    def state(self, evaluation):
        s = {"Index": self.index, "Nodes": self.nodes, "NodePools": self.pools,
             "Namespaces": [{"Name": "default", "CreateIndex": 1, "ModifyIndex": 1}],
             "Jobs": sorted(self.current.values()),
             "JobVersions": self.versions, "Allocs": sorted(self.allocs.values(), key=lambda a: a["ID"]),
             "Deployments": sorted(self.deployments.values(), key=lambda d: d["ID"]), "Evals": [evaluation],
             "HostVolumes": self.volumes, "HostVolumeClaims": self.claims, **self.csi}
        if self.config:
            s["SchedulerConfig"] = self.config
        return s

    def decide(self, name, evaluation, planner):
        """The vector of this evaluation with the oracle's answer. If the planner commits, the world moves on.

        `partial` becomes `apply` where the replay cannot follow (stays_in_rows)."""
        vector = {"name": name, "step": "4", "scheduler": evaluation["Type"], "now": self.now,
                  "next_index": self.index + 1,
                  "servers_current": True, "planner": planner, "eval": evaluation, "jobs": self.jobs,
                  "state": self.state(evaluation)}
        vector = copy.deepcopy(vector)
        given = copy.deepcopy(vector)  # deciding may write into the state (R-RECON-154)
        scheduler = scheduler_of(given)
        answer = scheduler.run()
        if planner == "partial" and not stays_in_rows(answer, scheduler.state, len(self.jobs), evaluation["Type"]):
            return self.decide(name, evaluation, "apply")
        vector["expect"] = tokens(answer)
        vector["jobs"] = scheduler.state.jobs  # with those that a commit wrote
        if planner in ("apply", "partial") and scheduler.plan:
            self.move_on(scheduler, answer)
        return vector

    def move_on(self, scheduler, answer):
        """What the next evaluation starts from: the plan committed, fresh IDs replaced by UUIDs."""
        self.index = max(self.index, scheduler.state.index)
        after = commit(scheduler.state, scheduler.plan, self.tick(), self.now)
        ids = {}

        def real(x):
            if isinstance(x, str):
                return re.sub(r"fresh-[a-z]+-[0-9]+", lambda m: ids.setdefault(m.group(0), uuid(self.rng)), x)
            if isinstance(x, list):
                return [real(v) for v in x]
            if isinstance(x, dict):
                return {k: real(v) for k, v in x.items() if k != "dynamic"}
            return x

        for name in ("allocs", "deployments"):
            setattr(self, name, {x["ID"]: x for x in map(real, getattr(after, name).values())})
        self.jobs, self.claims = after.jobs, real(after.claims)
        self.current = {job_id: i for (_, job_id), i in after.current.items()}
        self.versions = sorted(after.versions.values())
        for e in real(answer.get("CreatedEvals") or []):
            (self.blocked if e["Status"] == "blocked" else self.followups).append(e)


def stays_in_rows(answer, state, jobs, kind):
    """True if `berth conform` can replay a partial commit.

    It keeps rows, so a refused node must exist. Later plans must not show what the first placed or, on the system
    stack, updated (R-SCHED-118), since its metrics are no row. Nor may they put a job that the commit wrote into an
    allocation."""
    attempts = answer["Attempts"]
    if len(attempts) < 2 or not attempts[0].get("RefusedNodes"):
        return True
    if any(n not in state.nodes for n in attempts[0]["RefusedNodes"]):
        return False
    first = {a["ID"] for a in attempts[0]["Plan"].get("NodeAllocation") or []}
    if kind in ("service", "batch"):
        first = {i for i in first if i.startswith("fresh-")}
    return not any(a["ID"] in first or a.get("Job", 0) >= jobs for attempt in attempts[1:]
                   for key in ("NodeUpdate", "NodeAllocation") for a in attempt["Plan"].get(key) or [])


def tokens(answer):
    """Fresh IDs as the tokens of the format."""
    borne = set()
    for a in answer.get("Attempts") or []:
        borne |= {x["ID"] for x in a["Plan"].get("NodeAllocation") or []}
        borne.add((a["Plan"].get("Deployment") or {}).get("ID"))
    borne |= {e["ID"] for e in answer.get("CreatedEvals") or []}
    text = re.sub(r"fresh-([a-z]+)-([0-9]+)",
                  lambda m: f"new-{m.group(1) if m.group(0) in borne else 'other'}-{m.group(2)}",
                  json.dumps(answer))
    return json.loads(text)
