"""System and sysbatch jobs: one allocation per node and name (part 06 sections 13.3 to 16)."""
import copy
import math

import update
from reconcile import ACTIVE, last_unknown, needs_reconnect, ran_successfully, strategy_empty
from resources import terminal
from scheduler import LOST, UPDATING, Scheduler
from stack import SystemStack
from state import append_alloc_state, candidates, group_of, transition
from values import compare_versions, parse_version

COUNTERS = ("Ignore", "Place", "Migrate", "Stop", "InPlaceUpdate", "DestructiveUpdate", "Canary", "Preemptions",
            "Disconnect", "Reconnect", "RescheduleNow", "RescheduleLater")


class Work:
    """What is to be done for one name on one node."""

    def __init__(self, name, group, alloc, node, canary=False):
        self.name, self.group, self.alloc, self.node, self.canary = name, group, alloc, node, canary


class NodeReconciler:
    """Section 15."""

    def __init__(self, scheduler, deployment):
        s = self.s = scheduler
        self.job, self.stopped, self.current, self.at_start = s.job, s.stopped, deployment, deployment
        self.old, self.updates = [], []
        self.stop, self.migrate, self.lost, self.disconnecting = [], [], [], []
        self.reconnecting, self.update, self.ignore, self.place = [], [], [], []
        self.required = {}
        if not self.stopped:
            for g in self.job.get("TaskGroups") or []:
                for i in range(g.get("Count") or 0):
                    self.required[f"{self.job.get('Name') or ''}.{g['Name']}[{i}]"] = g
        self.same_version = False

    def run(self):
        s = self.s
        live, self.last = {}, {}
        for a in s.allocs:
            node = a.get("NodeID") or ""
            if not terminal(a):
                live.setdefault(node, []).append(a)
                continue
            table = self.last.setdefault(node, {})
            best = table.get(a.get("Name") or "")
            if best is None or (a.get("CreateIndex") or 0) > (best.get("CreateIndex") or 0):
                table[a.get("Name") or ""] = a
        for node in sorted(set(live) | set(s.ready)):
            self.node(node, live.get(node, []))
        if self.at_start is None and (self.same_version or any(map(old_node, s.ready.values()))):
            self.current = None
        return self

    def node(self, node, live):
        s, last = self.s, self.last.get(node, {})
        self.check_deployment()
        status = self.current["Status"] if self.current else ""
        gated = status in ("paused", "pending", "initializing", "failed")
        seen_live = any(map(self.of_this_version, live))
        self.same_version |= seen_live
        seen = seen_live or any(map(self.of_this_version, last.values()))
        self.updated_here = False
        for a in live:
            self.live(a, node)
        names = {a.get("Name") or "" for a in live}
        for name, group in self.required.items():
            if name not in names:
                old = last.get(name)
                if self.job.get("Type") == "sysbatch" and old is not None:
                    if self.jmi(old) != (self.job.get("JobModifyIndex") or 0):
                        self.update.append(Work(name, group, old, node))
                        self.updated_here = True
                    else:
                        self.ignore.append(Work(name, group, old, node))
                    continue
                if node in s.tainted or node not in s.ready:
                    continue
                self.place.append(Work(name, group, old or {"NodeID": node}, node))
            self.attach(group, gated, seen)

    def jmi(self, a):
        return (self.s.state.job_of(a) or {}).get("JobModifyIndex") or 0

    def of_this_version(self, a):
        """R-SCHED-141."""
        own = self.s.state.job_of(a)
        return (own is not None and self.job is not None and own["ID"] == self.job["ID"]
                and (own.get("Version") or 0) == (self.job.get("Version") or 0)
                and (own.get("CreateIndex") or 0) == (self.job.get("CreateIndex") or 0))

    def live(self, a, node):
        """R-SCHED-129."""
        s, name = self.s, a.get("Name") or ""
        group = self.required.get(name)
        if group is None:
            self.stop.append(Work(name, None, a, node))
            return
        w = Work(name, group, a, node)
        client, tainted = a.get("ClientStatus"), node in s.tainted
        back = client in ("unknown", "running") and needs_reconnect(a)
        if transition(a, "Migrate"):
            self.migrate.append(w)
        elif back and client == "unknown" and self.expired(a):
            self.lost.append(w)
        elif client == "unknown" and a.get("DesiredStatus") == "run":
            self.ignore.append(w)
        elif not tainted and back:
            w.alloc = copy.deepcopy(a)
            append_alloc_state(w.alloc, client, s.now)
            self.reconnecting.append(w)
        elif tainted:
            n = s.tainted[node]
            if (s.state.job_of(a) or {}).get("Type") == "sysbatch" and ran_successfully(a):
                self.ignored(w)
            elif n is not None and n.get("Status") == "disconnected" and client == "running":
                w.alloc = copy.deepcopy(a)
                w.alloc["ClientStatus"] = "unknown"
                append_alloc_state(w.alloc, "unknown", s.now)
                w.alloc["ClientDescription"] = "alloc is unknown since its node is disconnected"
                self.disconnecting.append(w)
            elif n is None or n.get("Status") == "down":
                self.lost.append(w)
            else:
                self.ignored(w)
        else:
            changed = self.jmi(a) != (self.job.get("JobModifyIndex") or 0)
            if node in s.not_ready:
                if changed:
                    self.stop.append(w)
                else:
                    self.ignored(w)
            elif node not in s.ready:
                self.stop.append(w)
            elif changed:
                w.canary = self.canary(group)
                self.update.append(w)
                self.updated_here = True
            else:
                self.ignored(w)

    def ignored(self, w):
        self.ignore.append(w)
        self.same_version = True

    def expired(self, a):
        since = last_unknown(a)
        group = group_of(self.s.state.job_of(a), a.get("TaskGroup"))
        if since is None or group is None:
            return False
        return since + ((group.get("Disconnect") or {}).get("LostAfter") or 0) <= self.s.now

    def canary(self, group):
        """R-SCHED-130."""
        block = group.get("Update")
        if strategy_empty(block) or (block.get("Canary") or 0) <= 0:
            return False
        if self.current is None:
            return True
        entry = (self.current.get("TaskGroups") or {}).get(group["Name"])
        return entry is not None and not entry.get("Promoted")

    # --- deployments (R-SCHED-134 to R-SCHED-146)

    def check_deployment(self):
        d = self.current
        if d is None:
            return
        active = d["Status"] in ACTIVE
        if self.stopped:
            if active:
                self.updates.append(change(d, "cancelled", "Cancelled because job is stopped"))
        elif active and ((d.get("JobCreateIndex") or 0) != (self.job.get("CreateIndex") or 0)
                         or (d.get("JobVersion") or 0) != (self.job.get("Version") or 0)):
            self.updates.append(change(d, "cancelled", "Cancelled due to newer version of job"))
            self.old.append(d)
            self.current = None
        elif d["Status"] == "successful":
            self.old.append(d)
            self.current = None

    def attach(self, group, gated, seen):
        """R-SCHED-140 to R-SCHED-143."""
        job, block = self.job, group.get("Update")
        if self.current is not None and group["Name"] in (self.current.get("TaskGroups") or {}):
            return
        if strategy_empty(block) or gated:
            return
        if any((d.get("JobVersion") or 0) == (job.get("Version") or 0) for d in self.old):
            return
        if seen and not self.updated_here:
            return
        if self.current is None:
            self.current = {"ID": self.s.planner.new_id("deployment"), "Namespace": job["Namespace"],
                            "JobID": job["ID"],
                            "JobVersion": job.get("Version") or 0, "JobModifyIndex": job.get("ModifyIndex") or 0,
                            "JobSpecModifyIndex": job.get("JobModifyIndex") or 0,
                            "JobCreateIndex": job.get("CreateIndex") or 0, "TaskGroups": {}, "Status": "running",
                            "StatusDescription": "Deployment is running", "EvalPriority": job.get("Priority") or 0,
                            "CreateTime": self.s.now}
            self.updates.append(change(self.current, "running", "Deployment is running"))
        if self.current.get("TaskGroups") is None:
            self.current["TaskGroups"] = {}
        self.current["TaskGroups"][group["Name"]] = {
            "AutoRevert": bool(block.get("AutoRevert")), "AutoPromote": bool(block.get("AutoPromote")),
            "ProgressDeadline": block.get("ProgressDeadline") or 0}


def change(d, status, description):
    return {"DeploymentID": d["ID"], "Status": status, "StatusDescription": description}


def old_node(node):
    """R-SCHED-145."""
    version = parse_version((node.get("Attributes") or {}).get("nomad.version") or "", strict=True)
    return version is not None and compare_versions(version, parse_version("1.11.0")) < 0


class SystemScheduler(Scheduler):
    def __init__(self, vector):
        super().__init__(vector)
        self.system = self.kind == "system"
        self.ready, self.not_ready, self.by_dc = {}, set(), {}
        config = self.state.config
        key = "SystemSchedulerEnabled" if self.system else "SysBatchSchedulerEnabled"
        self.preempts = config is None or bool((config.get("PreemptionConfig") or {}).get(key))

    def conclude(self, done, error):
        deployment_id = self.deployment["ID"] if self.deployment else ""
        if done:
            self.set_status("complete", "", None, deployment_id)
        else:
            self.set_status("failed", error, None, deployment_id)

    def attempt(self):
        self.start()
        e = self.eval
        if not self.stopped:
            ready, self.not_ready, self.by_dc = candidates(self.state, self.job)
            self.ready = {n["ID"]: n for n in ready}
        if self.system:
            self.deployment = self.state.latest_deployment(e.get("Namespace"), e.get("JobID"))
        self.stack = SystemStack(self.ctx, False, e["ID"], self.preempts)
        if not self.stopped:
            self.stack.set_job(self.job)
            self.stack.set_config(self.job)
        self.compute()
        if self.plan.noop() and not e.get("AnnotatePlan"):
            self.progress = False
            return True
        return self.submit()

    def compute(self):
        self.load_allocs()
        r = self.result = NodeReconciler(self, self.deployment if self.system else None).run()
        if self.system and r.current is not None:
            self.deployment = r.current
        for w in r.stop:
            self.stop(w.alloc, "alloc not needed due to job update")
        for w in r.migrate:
            self.stop(w.alloc, "alloc not needed as node is tainted")
        for w in r.lost:
            self.stop(w.alloc, LOST, "lost")
        for w in r.disconnecting:
            self.plan.append_unknown(w.alloc)
        destructive, inplace = self.update_pass(r.update + r.reconnecting)
        desired = self.count_desired(destructive, inplace)
        self.annotations = {"DesiredTGUpdates": desired}
        self.exists = {w.group["Name"] for w in inplace + r.ignore}
        self.candidates = tally(r.place + inplace + r.ignore + destructive)
        self.destructive = tally(destructive)
        self.evict_and_place(destructive)
        groups = [] if self.stopped else [g["Name"] for g in self.job.get("TaskGroups") or []]
        if self.system or not r.place:
            self.queued = {g: 0 for g in groups}
        for w in r.place:
            self.queued[w.group["Name"]] = self.queued.get(w.group["Name"], 0) + 1
        self.place(desired)
        if self.system:
            for g, n in self.candidates.items():
                desired.setdefault(g, dict.fromkeys(COUNTERS, 0))["Place"] = n % 2**64
            if self.deployment is not None:
                self.conclude_deployment(desired)

    # --- section 13.3

    def update_pass(self, work):
        """R-SCHED-115: (destructive, in-place)."""
        i, n = 0, len(work)
        while i < n:
            if self.in_place(work[i]):
                n -= 1
                work[i], work[n] = work[n], work[i]
            else:
                i += 1
        return work[:n], work[n:]

    def in_place(self, w):
        a = w.alloc
        if update.changed(self.job, self.state.job_of(a), w.group["Name"]):
            return False
        if terminal(a):
            return True
        node = self.state.nodes.get(a.get("NodeID") or "")
        if not self.node_allows(node, self.job):
            return False
        self.stack.set_nodes([node])
        self.stop(a, "alloc updating in-place")
        option = self.stack.select(w.group, a.get("Name") or "")
        self.plan.pop(a)
        if option is None:
            return False
        new = self.updated_in_place(a, w.group, option, restore_cores=False)
        new["Metrics"] = self.ctx.metrics.write()
        new["DeploymentID"] = self.deployment["ID"] if self.deployment else ""
        new.pop("DeploymentStatus", None)
        self.plan.append(new, None)
        return True

    def count_desired(self, destructive, inplace):
        """R-SCHED-192."""
        r, out = self.result, {}
        for key, work in (("Stop", r.stop), ("Place", r.place), ("Ignore", r.ignore), ("Migrate", r.migrate),
                          ("InPlaceUpdate", inplace), ("DestructiveUpdate", destructive),
                          ("Disconnect", r.disconnecting), ("Reconnect", r.reconnecting)):
            for w in work:
                name = w.alloc.get("TaskGroup") if key == "Stop" else w.group["Name"]
                out.setdefault(name, dict.fromkeys(COUNTERS, 0))[key] += 1
        return out

    def evict_and_place(self, destructive):
        """R-SCHED-149 to R-SCHED-152."""
        if self.stopped:
            return
        job_level = (self.job.get("Update") or {}).get("MaxParallel") or 0
        limits = {}
        for g in self.job.get("TaskGroups") or []:
            own = (g.get("Update") or {}).get("MaxParallel") or 0
            limits[g["Name"]] = own if own > 0 else job_level if job_level > 0 else len(destructive)
        if self.system and self.deployment is not None:
            for w in self.result.ignore:
                health = (w.alloc.get("DeploymentStatus") or {}).get("Healthy")
                if w.alloc.get("DeploymentID") == self.deployment["ID"] and health is None:
                    limits[w.group["Name"]] -= 1
        for w in destructive:
            if limits[w.group["Name"]] > 0:
                self.stop(w.alloc, UPDATING)
                self.result.place.append(w)
                if not w.canary:
                    limits[w.group["Name"]] -= 1

    # --- placing

    def place(self, desired):
        filtered = {}
        active = self.deployment is not None and self.deployment["Status"] in ACTIVE
        deployment_id = self.deployment["ID"] if active else ""
        annotate = bool(self.eval.get("AnnotatePlan"))
        for w in self.result.place:
            name = w.group["Name"]
            if w.node not in self.ready:
                continue
            self.stack.set_nodes([self.ready[w.node]])
            option, m = self.stack.select(w.group, w.name), self.ctx.metrics
            if option is None:
                if self.system:
                    self.candidates[name] -= 1
                    if w.alloc.get("ID"):
                        self.destructive[name] = self.destructive.get(name, 0) - 1
                if m.filtered:
                    self.queued[name] -= 1
                    if not self.system:
                        desired[name]["Place"] = (desired[name]["Place"] - 1) % 2**64
                    if name in filtered:
                        merge(filtered[name], m)
                    else:
                        filtered[name] = copy.deepcopy(m)
                    if self.queued[name] <= 0 and name not in self.exists:
                        self.failed[name] = filtered[name]
                elif name in self.failed:
                    self.failed[name].coalesced += 1
                    self.failed[name].exhaust_resources(w.group)
                else:
                    self.describe(m)
                    m.pool = self.job.get("NodePool") or ""
                    m.exhaust_resources(w.group)
                    self.failed[name] = m
                    self.blocked_eval(node=w.node)
                continue
            self.describe(m)
            a = self.new_alloc(w.group, w.name, option, deployment_id)
            if w.alloc.get("ID"):
                a["PreviousAllocation"] = w.alloc["ID"]
            if self.system and w.canary and self.deployment is not None:
                a["DeploymentStatus"] = {"Canary": True}
            self.record_preemptions(a, option, annotate)
            self.plan.append(a, None)

    def describe(self, m):
        m.available, m.in_pool = dict(self.by_dc), len(self.ready)
        m.fill_scores()

    # --- deployments after placement (R-SCHED-168 to R-SCHED-189)

    def conclude_deployment(self, desired):
        d = self.deployment
        table = d["TaskGroups"] = d.get("TaskGroups") or {}
        complete = True
        for g in (self.job or {}).get("TaskGroups") or []:
            name, block = g["Name"], g.get("Update")
            c = self.candidates.get(name, 0)
            if c < 1:
                if d["Status"] == "successful":
                    table[name] = None
                continue
            entry = table.get(name)
            if entry is None:
                continue
            entry["DesiredTotal"] = c
            changed = self.destructive.get(name, 0)
            canarying = (not strategy_empty(block) and (block.get("Canary") or 0) > 0 and not entry.get("Promoted")
                         and (self.job.get("Version") or 0) != 0 and changed > 0)
            if canarying:
                existing = sum(1 for w in self.result.ignore if w.group["Name"] == name and canary(w.alloc))
                required = min(math.ceil(float(block["Canary"]) * float(changed + existing) / 100.0),
                               block["MaxParallel"])
                entry["DesiredCanaries"] = required
                entry["PlacedCanaries"] = self.trim(required, name)
                desired[name]["Canary"] = len(entry["PlacedCanaries"])
            if canarying or (entry.get("HealthyAllocs") or 0) < entry["DesiredTotal"]:
                complete = False
        updates = list(self.result.updates)
        entries = [e for e in table.values() if e is not None]
        wanting = [e for e in entries if (e.get("DesiredCanaries") or 0) > 0]
        if d["Status"] == "running" and any(not e.get("Promoted") for e in wanting):
            d["StatusDescription"] = ("Deployment is running pending automatic promotion"
                                      if all(e.get("AutoPromote") for e in wanting)
                                      else "Deployment is running but requires manual promotion")
        elif complete:
            updates.append(change(d, "successful", "Deployment completed successfully"))
        if not entries:
            self.deployment = None
            return
        self.plan.deployment, self.plan.deployment_updates = d, updates

    def trim(self, required, name):
        """R-SCHED-175 to R-SCHED-181."""
        if required == 0:
            return []
        plan, out, counter = self.plan, [], required
        failed = {w.alloc["ID"] for w in self.result.place if w.alloc.get("ID") and canary(w.alloc)}
        again = {a["ID"] for v in plan.allocations.values() for a in v if a.get("PreviousAllocation") in failed}
        counter -= len(again)
        for w in self.result.ignore:
            if w.group["Name"] == name and canary(w.alloc):
                out.append(w.alloc["ID"])
                counter -= 1
        for node in sorted(plan.allocations):
            kept = []
            for a in plan.allocations[node]:
                if not canary(a) or a.get("TaskGroup") != name:
                    kept.append(a)
                elif node in self.not_ready:
                    continue
                elif counter > 0 or a["ID"] in again:
                    counter -= 1
                    out.append(a["ID"])
                    kept.append(a)
                elif node in plan.updates:
                    plan.updates[node] = [x for x in plan.updates[node] if x["ID"] != a.get("PreviousAllocation")]
            plan.allocations[node] = kept
        return out


def canary(alloc):
    return bool((alloc.get("DeploymentStatus") or {}).get("Canary"))


def tally(work):
    out = {}
    for w in work:
        out[w.group["Name"]] = out.get(w.group["Name"], 0) + 1
    return out


def merge(total, m):
    """R-SCHED-158."""
    total.evaluated += m.evaluated
    total.filtered += m.filtered
    for key in ("class_filtered", "constraint_filtered"):
        table = getattr(total, key)
        for k, n in getattr(m, key).items():
            table[k] = table.get(k, 0) + n
