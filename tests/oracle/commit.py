"""What a state is after a plan was committed, whole or without some nodes (spec part 07 sections 6 and 7)."""
import copy

from resources import terminal
from state import format_time, group_of, parse_time

ACTIVE_DEPLOYMENT = ("running", "paused", "blocked", "unblocking", "initializing", "pending")
CLIENT_OWNED = ("PlacedAllocs", "HealthyAllocs", "UnhealthyAllocs", "RequireProgressBy")
ENDED_EVAL = ("complete", "failed", "canceled")


def refused_nodes(plan):
    """The node that the planner `partial` leaves out of the first plan (FORMAT-evals.md section 3)."""
    return sorted(n for n, v in plan.allocations.items() if v)[:1]


def commit(state, plan, index, now, refused=()):
    """The state after a commit of the plan at this index without the refused nodes. The given state is unchanged."""
    return Commit(state, plan, index, now, refused).run()


class Commit:
    def __init__(self, state, plan, index, now, refused):
        self.plan, self.index, self.now, self.refused = plan, index, now, set(refused)
        self.state = s = copy.copy(state)
        s.jobs, s.claims = list(state.jobs), list(state.claims)
        s.current, s.versions = dict(state.current), dict(state.versions)
        s.allocs, s.deployments = dict(state.allocs), dict(state.deployments)
        self.last = {}  # (namespace, job ID) -> the last allocation written (R-CTRL-715)

    def run(self):
        s = self.state
        s.index = self.index
        placed = self.entries(self.plan.allocations)
        self.deployment({a["ID"] for a in placed})
        for u in self.plan.deployment_updates:
            if not self.deployment_update(u):
                break
        for a in placed:
            self.place(a)
        for a in self.entries(self.plan.updates):
            self.stop(a)
        for a in self.entries(self.plan.preemptions):
            self.preempt(a)
        for key, a in self.last.items():
            self.job_status(key, a)
        s.allocs = dict(sorted(s.allocs.items()))
        s.deployments = dict(sorted(s.deployments.items()))
        s.by_node = {}
        for a in s.allocs.values():
            s.by_node.setdefault(a.get("NodeID") or "", []).append(a)
        return s

    def entries(self, table):
        """R-CTRL-615, R-CTRL-705."""
        return [a for node in sorted(table) if node not in self.refused for a in table[node]]

    # --- deployments

    def deployment(self, placed):
        """R-CTRL-619, R-CTRL-706."""
        if self.plan.deployment is None:
            return
        d = copy.deepcopy(self.plan.deployment)
        d["TaskGroups"] = d.get("TaskGroups") or {}
        if self.refused:
            for entry in filter(None, d["TaskGroups"].values()):
                if entry.get("PlacedCanaries"):
                    entry["PlacedCanaries"] = [i for i in entry["PlacedCanaries"] if i in placed]
        stored = self.state.deployments.get(d["ID"])
        d["CreateIndex"] = stored.get("CreateIndex") or 0 if stored else self.index
        d["ModifyIndex"] = self.index
        for name, old in ((stored or {}).get("TaskGroups") or {}).items():
            entry = d["TaskGroups"].get(name)
            if entry is None:
                d["TaskGroups"][name] = copy.deepcopy(old)
            elif old is not None:
                entry.update({k: old.get(k) for k in CLIENT_OWNED})
        self.state.deployments[d["ID"]] = d
        if d["Status"] == "successful":
            self.stable(d)

    def deployment_update(self, u):
        """R-CTRL-708, R-CTRL-1215. ModifyTime: recorded (golden/control/plan_apply), the rules do not name it."""
        stored = self.state.deployments.get(u["DeploymentID"])
        if stored is None or stored["Status"] not in ACTIVE_DEPLOYMENT:
            return False
        d = self.own_deployment(stored)
        d["Status"], d["StatusDescription"] = u["Status"], u["StatusDescription"]
        d["ModifyIndex"], d["ModifyTime"] = self.index, self.now
        if d["Status"] in ("running", "paused"):
            for entry in filter(None, (d.get("TaskGroups") or {}).values()):
                if entry.get("ProgressDeadline"):
                    entry["RequireProgressBy"] = format_time(self.now + entry["ProgressDeadline"])
        if d["Status"] == "successful":
            self.stable(d)
        return True

    def own_deployment(self, stored):
        d = self.state.deployments[stored["ID"]] = copy.deepcopy(stored)
        return d

    def stable(self, d):
        """R-CTRL-730, R-REG-438."""
        s, key = self.state, (d.get("Namespace"), d.get("JobID"))
        version = s.versions.get((*key, d.get("JobVersion") or 0))
        if version is None or s.jobs[version].get("Stable"):
            return
        self.write_job(key, version, Stable=True)
        self.job_status(key, None)

    def write_job(self, key, version, **fields):
        s = self.state
        job = dict(s.jobs[version], ModifyIndex=self.index, **fields)
        if job in s.jobs:
            version = s.jobs.index(job)
        else:
            s.jobs.append(job)
            version = len(s.jobs) - 1
        s.current[key] = s.versions[(*key, job.get("Version") or 0)] = version

    # --- allocations

    def place(self, entry):
        """R-CTRL-710 to R-CTRL-714."""
        s, a = self.state, copy.deepcopy(entry)
        old = s.allocs.get(a["ID"])
        if a.get("Job") is None and not terminal(a):
            a["Job"] = self.plan.job_index
        a["ModifyIndex"] = a["AllocModifyIndex"] = self.index
        a["ModifyTime"] = self.now
        if old is None:
            current = s.current.get((a.get("Namespace"), a.get("JobID")))
            if current is None or s.jobs[current].get("Stop"):
                return
            a["CreateIndex"], a["CreateTime"] = self.index, a.get("CreateTime") or self.now
            if a.get("DeploymentStatus"):
                a["DeploymentStatus"]["ModifyIndex"] = self.index
            self.claim(a)
        else:
            a["CreateIndex"] = old.get("CreateIndex") or 0
            for k in ("NextAllocation", "TaskStates"):
                if old.get(k):
                    a[k] = old[k]
            if a.get("ClientStatus") not in ("lost", "unknown"):
                for k in ("ClientStatus", "ClientDescription"):
                    a[k] = old.get(k)
            if a.get("Job") is None:
                a["Job"] = old.get("Job")
        self.store(a, old)

    def stop(self, entry):
        """R-CTRL-702, R-CTRL-703."""
        old = self.state.allocs.get(entry["ID"])
        if old is None:
            return
        a = dict(old, DesiredStatus="stop", DesiredDescription=entry.get("DesiredDescription") or "", AllocStates=[])
        if entry.get("ClientStatus") in ("lost", "unknown"):
            a["ClientStatus"] = entry["ClientStatus"]
        if entry.get("FollowupEvalID"):
            a["FollowupEvalID"] = entry["FollowupEvalID"]
        self.rewrite(a, old)

    def preempt(self, entry):
        """R-CTRL-701. The vectors' planner does not apply R-CTRL-616: it writes a victim again that was terminal."""
        old = self.state.allocs.get(entry["ID"])
        if old is None:
            return
        by = entry["PreemptedByAllocation"]
        self.rewrite(dict(old, DesiredStatus="evict", PreemptedByAllocation=by,
                          DesiredDescription="Preempted by alloc ID " + by), old)

    def rewrite(self, a, old):
        a["ModifyIndex"] = a["AllocModifyIndex"] = self.index
        a["ModifyTime"] = self.now
        self.store(a, old)

    def store(self, a, old):
        s = self.state
        self.count(a, old)
        s.allocs[a["ID"]] = a
        self.last[(a.get("Namespace"), a.get("JobID"))] = a
        previous = s.allocs.get(a.get("PreviousAllocation") or "")
        if previous is not None:
            s.allocs[previous["ID"]] = dict(previous, NextAllocation=a["ID"], ModifyIndex=self.index)

    def count(self, a, old):
        """R-CTRL-727 to R-CTRL-729."""
        stored = self.state.deployments.get(a.get("DeploymentID") or "")
        if stored is None or ((stored.get("TaskGroups") or {}).get(a.get("TaskGroup"))) is None:
            return
        placed = healthy = unhealthy = 0
        status = a.get("DeploymentStatus") or {}
        before = ((old or {}).get("DeploymentStatus") or {}).get("Healthy")
        if old is None or (old.get("DeploymentID") or "") != a["DeploymentID"]:
            placed = 1
        elif before is None and status.get("Healthy") is not None:
            healthy, unhealthy = int(status["Healthy"]), int(not status["Healthy"])
        elif before is True and status.get("Healthy") is False:
            healthy, unhealthy = -1, 1
        if not (placed or healthy or unhealthy):
            return
        d = self.own_deployment(stored)
        d["ModifyIndex"], d["ModifyTime"] = self.index, a["ModifyTime"]
        if d["Status"] == "successful":
            self.stable(d)
        entry = d["TaskGroups"][a["TaskGroup"]]
        for key, delta in (("PlacedAllocs", placed), ("HealthyAllocs", healthy), ("UnhealthyAllocs", unhealthy)):
            entry[key] = (entry.get(key) or 0) + delta
        if healthy or unhealthy:
            a["DeploymentStatus"] = dict(status, ModifyIndex=self.index)
        if status.get("Canary") and a["ID"] not in (entry.get("PlacedCanaries") or []):
            entry["PlacedCanaries"] = (entry.get("PlacedCanaries") or []) + [a["ID"]]
        limit = entry.get("ProgressDeadline") or 0
        due = parse_time(entry.get("RequireProgressBy"))
        if limit and placed and due is None:
            entry["RequireProgressBy"] = format_time(a["ModifyTime"] + limit)
        elif limit and healthy:
            then = (parse_time(status.get("Timestamp")) or 0) + limit
            if due is None or then > due:
                entry["RequireProgressBy"] = format_time(then)

    def claim(self, a):
        """R-FEAS-1114."""
        s = self.state
        group = group_of(s.jobs[a["Job"]], a["TaskGroup"]) or {}
        node = s.nodes.get(a.get("NodeID") or "") or {}
        for r in (group.get("Volumes") or {}).values():
            if not (r.get("Type") == "host" and r.get("Sticky")):
                continue
            name = a.get("Name") or ""
            at = name.rfind("[")
            source = (r.get("Source") or "") + (name[at:] if r.get("PerAlloc") and at >= 0 else "")
            entry = (node.get("HostVolumes") or {}).get(source) or {}
            key = {"Namespace": a.get("Namespace"), "JobID": a.get("JobID"), "TaskGroupName": a["TaskGroup"],
                   "VolumeID": entry.get("ID")}
            if entry.get("ID") and not any(all(c.get(k) == v for k, v in key.items()) for c in s.claims):
                s.claims.append({"ID": f"claim-{a['ID']}-{entry['ID']}", **key, "AllocID": a["ID"],
                                 "VolumeName": source,
                                 "CreateIndex": self.index, "ModifyIndex": self.index})

    # --- job status

    def job_status(self, key, last):
        """R-CTRL-715 to R-CTRL-720."""
        s = self.state
        current = s.current.get(key)
        if current is None:
            return
        status = "running" if last is not None and not terminal(last) else self.derived(key)
        if s.jobs[current].get("Status") != status:
            self.write_job(key, current, Status=status)

    def derived(self, key):
        """R-CTRL-716."""
        s = self.state
        job = s.jobs[s.current[key]]

        def mine(x):
            return (x.get("Namespace"), x.get("JobID")) == key
        if job.get("Type") == "system" or job.get("ParameterizedJob") or job.get("Periodic"):
            return "dead" if job.get("Stop") else "running"
        if any(mine(d) and d["Status"] in ACTIVE_DEPLOYMENT for d in s.deployments.values()):
            return "running"
        if any(mine(a) and not terminal(a) for a in s.allocs.values()):
            return "running"
        evals = [e for e in s.raw.get("Evals") or [] if mine(e)]
        if any(e.get("Status") not in ENDED_EVAL for e in evals):
            return "pending"
        return "dead" if evals or job.get("Stop") else "pending"
