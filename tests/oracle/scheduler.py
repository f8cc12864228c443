"""From an evaluation to plans, evaluations and a status: what all schedulers share, and service and batch (part 06)."""
import copy

import update
from commit import commit, refused_nodes
from reconcile import ACTIVE, Reconciler, name_index, next_delay, strategy_empty
from resources import terminal
from stack import GenericStack
from state import (Context, Plan, State, candidates, group_of, in_datacenters, in_pool, node_ready, parse_time,
                   tainted_nodes)

TRIGGERS = ("job-register job-deregister node-drain node-update alloc-stop rolling-update queued-allocs "
            "deployment-watcher failed-follow-up preemption job-scaling reconnect").split()
GENERIC_TRIGGERS = "periodic-job alloc-reschedule alloc-failure max-plan-attempts max-disconnect-timeout".split()
LIMITS = {"service": 5, "batch": 2, "system": 5, "sysbatch": 2}
UPDATING = "alloc is being updated due to job update"
LOST = "alloc is lost since its node is down"

STUB = ("ID EvalID Name Namespace NodeID NodeName JobID TaskGroup DesiredStatus DesiredDescription ClientStatus "
        "ClientDescription DesiredTransition TaskStates DeploymentStatus FollowupEvalID NextAllocation "
        "RescheduleTracker PreemptedAllocations PreemptedByAllocation CreateIndex ModifyIndex "
        "CreateTime ModifyTime").split()


class Recorder:
    """The planner of a vector (FORMAT-evals.md section 3)."""

    def __init__(self, vector, state):
        self.mode, self.next_index, self.state = vector["planner"], vector["next_index"], state
        self.now = vector["now"]
        self.attempts, self.created, self.updated, self.events, self.reblocked = [], [], [], [], []
        self.ids = 0

    def new_id(self, kind):
        self.ids += 1
        return f"fresh-{kind}-{self.ids}"

    def create(self, evaluation):
        self.created.append(copy.deepcopy(evaluation))

    def set_status(self, evaluation):
        self.updated.append(copy.deepcopy(evaluation))

    def submit(self, plan):
        """(allocations committed, progress, full, refreshed state or None)."""
        index, self.next_index = self.next_index, self.next_index + 1
        entry = {"Plan": hide_dynamic(plan.write())}
        self.attempts.append(entry)
        refused = refused_nodes(plan) if self.mode == "partial" and len(self.attempts) == 1 else []
        entries = [a for n, v in plan.allocations.items() if n not in refused for a in v]
        kept = [n for n in (*plan.updates, *plan.allocations) if n not in refused]
        progress = bool(kept or plan.deployment or plan.deployment_updates)
        if self.mode == "reject":
            entry["Full"] = not entries
            if entries:
                entry["Refused"] = True
            return [], False, not entries, self.state
        if refused:
            entry.update({"Full": False, "Refused": True, "RefusedNodes": refused})
            created = [(a, self.is_new(a)) for a in entries]
            self.state = commit(self.state, plan, index, self.now, refused)
            return created, progress, False, self.state
        entry["Full"] = True
        return [(a, self.is_new(a)) for a in entries], progress, True, None

    def is_new(self, a):
        """R-SCHED-45: CreateIndex = ModifyIndex after the commit."""
        if self.mode == "nosubmit":
            return (a.get("CreateIndex") or 0) == (a.get("ModifyIndex") or 0)
        return a["ID"] not in self.state.allocs


def hide_dynamic(x):
    """Dynamic port values of new allocations are written as "dynamic"."""
    if isinstance(x, list):
        return [hide_dynamic(v) for v in x]
    if isinstance(x, dict):
        if x.get("dynamic"):
            x = {k: v for k, v in x.items() if k != "dynamic"}
            if x.get("To") == x.get("Value"):
                x["To"] = "dynamic"
            x["Value"] = "dynamic"
        return {k: hide_dynamic(v) for k, v in x.items()}
    return x


class Scheduler:
    def __init__(self, vector):
        self.vector, self.kind, self.now = vector, vector["scheduler"], vector["now"]
        self.state = State(vector)
        self.eval = copy.deepcopy(vector["eval"])
        self.planner = Recorder(vector, self.state)
        self.queued = self.blocked = self.annotations = self.deployment = self.plan = None
        self.failed = {}

    # --- entry and loop (sections 1 to 3)

    def run(self):
        e = self.eval
        trigger = e.get("TriggeredBy") or ""
        allowed = TRIGGERS + {"system": [], "sysbatch": ["periodic-job"]}.get(self.kind, GENERIC_TRIGGERS)
        if trigger not in allowed:
            self.failed, self.annotations = {}, None
            self.set_status("failed", f"scheduler cannot handle '{trigger}' evaluation reason", None, "")
            return self.answer()
        counter, limit, done = 0, LIMITS[self.kind], False
        while counter < limit and not done:
            done = self.attempt()
            if not done:
                counter = 0 if self.progress else counter + 1
        self.conclude(done, f"maximum attempts reached ({limit})")
        return self.answer()

    def answer(self):
        p = self.planner
        out = {"Attempts": p.attempts, "CreatedEvals": p.created, "UpdatedEvals": p.updated,
               "ReblockedEvals": p.reblocked, "Events": [{"call": "event", "type": "*structs.PortCollisionEvent"}
                                                         for _ in p.events[:64]]}
        return {k: v for k, v in out.items() if v or k == "Attempts"}

    def set_status(self, status, description, blocked, deployment_id):
        e = copy.deepcopy(self.eval)
        e.update({"Status": status, "StatusDescription": description, "DeploymentID": deployment_id,
                  "FailedTGAllocs": {g: m.write() for g, m in self.failed.items()},
                  "PlanAnnotations": copy.deepcopy(self.annotations)})
        if blocked:
            e["BlockedEval"] = blocked
        if self.queued is not None:
            e["QueuedAllocations"] = dict(self.queued)
        self.planner.set_status(e)

    def blocked_eval(self, trigger="queued-allocs", description="created to place remaining allocations", node=""):
        """R-SCHED-52."""
        e = {"ID": self.planner.new_id("eval"), "Status": "blocked", "TriggeredBy": trigger,
             "StatusDescription": description, "PreviousEval": self.eval["ID"], "CreateTime": self.now,
             "ModifyTime": self.now, "FailedTGAllocs": {g: m.write() for g, m in self.failed.items()},
             "EscapedComputedClass": self.ctx.has_escaped(), "MissingNonNodeResources": sorted(self.ctx.missing)}
        for k in ("Namespace", "Priority", "Type", "JobID", "JobModifyIndex"):
            e[k] = self.eval.get(k)
        if not self.ctx.has_escaped():
            e["ClassEligibility"] = self.ctx.classes()
        if node:
            e["NodeID"] = node
        self.planner.create(e)
        return e["ID"]

    # --- shared steps

    def start(self):
        e = self.eval
        ns, job_id = e.get("Namespace"), e.get("JobID")
        self.job_index = self.state.job_index(ns, job_id)
        self.job = None if self.job_index is None else self.state.jobs[self.job_index]
        self.stopped = self.job is None or bool(self.job.get("Stop"))
        self.queued = {}
        self.plan = Plan(e, self.job_index, self.job)
        self.failed = {}
        self.ctx = Context(self.state, self.plan, self.planner.events)

    def stop(self, alloc, description, client="", followup=""):
        self.plan.append_stopped(alloc, description, client, followup, self.now, self.state)

    def load_allocs(self):
        e = self.eval
        self.allocs = self.state.job_allocs(e.get("Namespace"), e.get("JobID"))
        self.tainted = tainted_nodes(self.state, self.allocs)
        for a in self.allocs:  # R-SCHED-35
            node_id = a.get("NodeID") or ""
            if node_id not in self.tainted:
                continue
            node = self.tainted[node_id]
            if node is not None and node.get("Status") != "down":
                continue
            if a.get("DesiredStatus") in ("stop", "evict") and a.get("ClientStatus") in ("running", "pending"):
                self.stop(a, LOST, "lost")

    def submit(self):
        """True if the attempt is done."""
        if self.eval.get("AnnotatePlan"):
            self.plan.annotations = self.annotations
        committed, self.progress, full, refreshed = self.planner.submit(self.plan)
        for a, created in committed:
            if created and a.get("TaskGroup") in self.queued:
                self.queued[a["TaskGroup"]] -= 1
        if refreshed is not None:
            self.state = refreshed
            return False
        return full

    def new_alloc(self, group, name, option, deployment_id):
        """R-SCHED-84."""
        shared = {"DiskMB": (group.get("EphemeralDisk") or {}).get("SizeMB") or 0}
        if option.shared:
            shared["Networks"], shared["Ports"] = option.shared["Networks"], option.shared["Ports"]
        return {"ID": self.planner.new_id("alloc"), "Namespace": self.job["Namespace"], "JobID": self.job["ID"],
                "EvalID": self.eval["ID"], "Name": name, "TaskGroup": group["Name"],
                "Metrics": self.ctx.metrics.write(),
                "NodeID": option.node["ID"], "NodeName": option.node.get("Name") or "", "DeploymentID": deployment_id,
                "DesiredStatus": "run", "ClientStatus": "pending",
                "AllocatedResources": {"Tasks": option.tasks, "TaskLifecycles": option.lifecycles, "Shared": shared}}

    def record_preemptions(self, alloc, option, annotate):
        """R-SCHED-102."""
        if not option.victims:
            return
        alloc["PreemptedAllocations"] = [v["ID"] for v in option.victims]
        for v in option.victims:
            self.plan.append_preempted(v, alloc["ID"])
            if annotate:
                stub = copy.deepcopy(self.state.allocs[v["ID"]] if v["ID"] in self.state.allocs else v)
                stub = {k: stub[k] for k in STUB if k in stub}
                job = self.state.job_of(v)
                stub["JobType"], stub["JobVersion"] = job.get("Type"), job.get("Version") or 0
                self.annotations.setdefault("PreemptedAllocs", []).append(stub)
                counts = self.annotations["DesiredTGUpdates"]
                if alloc["TaskGroup"] in counts:
                    counts[alloc["TaskGroup"]]["Preemptions"] += 1

    def node_allows(self, node, job):
        """R-FEAS-111."""
        return node is not None and in_datacenters(node, job) and in_pool(node, job)

    def updated_in_place(self, alloc, group, option, restore_cores):
        """R-SCHED-114."""
        a = dict(alloc)
        a["EvalID"] = self.eval["ID"]
        a.pop("Job", None)
        a.pop("Resources", None)
        old = alloc.get("AllocatedResources") or {}
        tasks = {}
        for name, t in option.tasks.items():
            t = dict(t)
            before = (old.get("Tasks") or {}).get(name) or {}
            for key in ("Networks", "Devices"):
                t.pop(key, None)
                if before.get(key):
                    t[key] = before[key]
            if not old and (alloc.get("TaskResources") or {}).get(name, {}).get("Networks"):
                t["Networks"] = alloc["TaskResources"][name]["Networks"]
            if restore_cores:
                t["Cpu"] = dict(t["Cpu"])
                t["Cpu"].pop("ReservedCores", None)
                cores = (before.get("Cpu") or {}).get("ReservedCores")
                if cores:
                    t["Cpu"]["ReservedCores"] = cores
            tasks[name] = t
        shared = {"DiskMB": (group.get("EphemeralDisk") or {}).get("SizeMB") or 0}
        for key in ("Networks", "Ports"):
            if (old.get("Shared") or {}).get(key):
                shared[key] = old["Shared"][key]
        a["AllocatedResources"] = {"Tasks": tasks, "TaskLifecycles": option.lifecycles, "Shared": shared}
        return a


class GenericScheduler(Scheduler):
    def conclude(self, done, error):
        deployment_id = self.deployment["ID"] if self.deployment else ""
        if not done:
            blocked = self.blocked_eval("max-plan-attempts", "created due to placement conflicts")
            self.set_status("failed", error, blocked, deployment_id)
            return
        if self.eval.get("Status") == "blocked" and self.failed:
            e = copy.deepcopy(self.eval)
            e.update({"EscapedComputedClass": self.ctx.has_escaped(), "ClassEligibility": self.ctx.classes(),
                      "MissingNonNodeResources": sorted(self.ctx.missing), "QuotaLimitReached": ""})
            self.planner.reblocked.append(e)
            return
        self.set_status("complete", "", self.blocked, deployment_id)

    def attempt(self):
        self.start()
        e = self.eval
        batch = self.kind == "batch"
        self.deployment = None if batch else self.state.latest_deployment(e.get("Namespace"), e.get("JobID"))
        self.stack = GenericStack(self.ctx, batch, e["ID"])
        if not self.stopped:
            self.stack.set_job(self.job)
            self.stack.set_config(self.job)
        self.compute()
        wait_until = e.get("WaitUntil")
        if (e.get("Status") != "blocked" and self.failed and self.blocked is None
                and (not self.followups or self.past(wait_until))):
            self.blocked = self.blocked_eval()
        if self.plan.noop() and not e.get("AnnotatePlan"):
            self.progress = False
            return True
        if not wait_until:
            for f in self.followups:
                f["PreviousEval"] = e["ID"]
                self.eval["NextEval"] = f["ID"]
                self.planner.create(f)
        done = self.submit()
        if not done:
            self.deployment = None
        return done

    def past(self, wait_until):
        t = parse_time(wait_until)
        return t is None or self.now > t

    def compute(self):
        self.load_allocs()
        e = self.eval
        r = Reconciler(self.state, self.job, e.get("JobID"), self.kind == "batch", self.deployment, self.allocs, e,
                       self.tainted, self.now, self.decide_update, self.planner.new_id)
        result = r.run()
        self.names = result.names
        self.annotations = {"DesiredTGUpdates": result.counters}
        self.plan.deployment, self.plan.deployment_updates = result.deployment, result.deployment_updates
        self.followups = result.followups
        if result.deployment is not None:
            self.deployment = result.deployment
        for a, client, description, followup in result.stop:
            self.stop(a, description, client, followup)
        for a in result.disconnect:
            self.plan.append_unknown(a)
        for a in result.reconnect:
            self.plan.append(a, None)
        current = self.deployment["ID"] if self.deployment else ""
        for a in result.inplace:
            if (a.get("DeploymentID") or "") != current:
                a["DeploymentID"] = current
                a.pop("DeploymentStatus", None)
            self.plan.append(a, None)
        for a in result.attribute:
            self.plan.append(a, None)
        if not result.place and not result.destructive:
            if self.job is not None:
                self.queued = {g["Name"]: 0 for g in self.job.get("TaskGroups") or []}
            return
        for p in result.destructive + result.place:
            self.queued[p.group["Name"]] = self.queued.get(p.group["Name"], 0) + 1
        self.place(result.destructive + result.place)

    def decide_update(self, alloc, job, group):
        """R-SCHED-108 to R-SCHED-114."""
        own = self.state.job_of(alloc)
        if own is not None and (own.get("JobModifyIndex") or 0) == (job.get("JobModifyIndex") or 0):
            return "ignore", None
        if update.changed(job, own, group["Name"]):
            return "destructive", None
        if terminal(alloc):
            return "ignore", None
        node = self.state.nodes.get(alloc.get("NodeID") or "")
        if not self.node_allows(node, job):
            return "destructive", None
        limit = group_of(own, alloc.get("TaskGroup")).get("MaxRunDuration") or 0
        if own.get("Type") in ("batch", "sysbatch") and limit > 0:
            a = dict(alloc)
            a["EvalID"] = self.eval["ID"]
            a.pop("Job", None)
            a.pop("Resources", None)
            return "inplace", a
        self.stack.set_nodes([node])
        self.stop(alloc, "alloc updating in-place")
        option = self.stack.select(group, alloc.get("Name") or "")
        self.plan.pop(alloc)
        if option is None:
            return "destructive", None
        return "inplace", self.updated_in_place(alloc, group, option, restore_cores=True)

    # --- placing (sections 8 to 12)

    def load_nodes(self, job):
        self.base, _, self.by_dc = candidates(self.state, job)
        self.stack.set_nodes(self.base)

    def place(self, placements):
        self.load_nodes(self.job)
        active = self.deployment is not None and self.deployment["Status"] in ACTIVE
        deployment_id = self.deployment["ID"] if active else ""
        for p in placements:
            group, version_index = p.group, None
            if p.downgrade:
                found, index, dep = self.older_version(p)
                if found is not None:
                    group, version_index, deployment_id = found, index, dep
            name = group["Name"]
            if name in self.failed:
                self.failed[name].coalesced += 1
                self.failed[name].exhaust_resources(group)
                continue
            reloaded = False
            if version_index is not None:
                old = self.state.jobs[version_index]
                self.stack.set_job(old)
                self.stack.set_config(old)
                reloaded = old.get("NodePool") != self.job.get("NodePool") or not same_list_as_set(
                    old.get("Datacenters") or [], self.job.get("Datacenters") or [])
                if reloaded:
                    self.load_nodes(old)
            preferred = self.preferred(p)
            if p.stop_previous:
                self.stop(p.previous, UPDATING)
            penalty = self.penalties(p.previous)
            option = self.stack.select(group, p.name, preferred, penalty)
            if option is None and self.preemption():
                option = self.stack.select(group, p.name, preferred, penalty, evict=True)
            m = self.ctx.metrics
            m.available, m.in_pool, m.pool = dict(self.by_dc), len(self.base), self.job.get("NodePool") or ""
            m.fill_scores()
            if version_index is not None:
                self.stack.set_job(self.job)
                self.stack.set_config(self.job)
                if reloaded:
                    self.load_nodes(self.job)
            if option is None:
                m.exhaust_resources(group)
                self.failed[name] = m
                if p.stop_previous:
                    self.plan.pop(p.previous)
                if p.reschedule and p.previous is not None:
                    self.mark_failed(p.previous)
                continue
            self.record(p, group, option, version_index, deployment_id)

    def preemption(self):
        config = self.state.config
        if config is None:
            return True
        key = "BatchSchedulerEnabled" if self.job.get("Type") == "batch" else "ServiceSchedulerEnabled"
        return bool((config.get("PreemptionConfig") or {}).get(key))

    def older_version(self, p):
        """R-SCHED-68 to R-SCHED-71."""
        s, job = self.state, self.job
        mine = [d for d in s.deployments.values() if d.get("Namespace") == job["Namespace"]
                and d.get("JobID") == job["ID"]
                and (d.get("JobCreateIndex") or 0) == (job.get("CreateIndex") or 0)]
        index, dep, decided = None, "", False
        for d in sorted(mine, key=lambda d: -(d.get("JobVersion") or 0)):
            state = (d.get("TaskGroups") or {}).get(p.group["Name"])
            if state is not None and (state.get("Promoted") or not state.get("DesiredCanaries")):
                index, dep, decided = s.versions.get((job["Namespace"], job["ID"], d.get("JobVersion")
                                                      or 0)), d["ID"], True
                break
        if not decided:
            index = s.versions.get((job["Namespace"], job["ID"], p.min_version))
            if index is not None and not strategy_empty(s.jobs[index].get("Update")):
                index = None
        if index is None:
            return None, None, None
        old = s.jobs[index]
        group = group_of(old, p.group["Name"])
        if (old.get("Version") or 0) < p.min_version or group is None:
            return None, None, None
        return group, index, dep

    def preferred(self, p):
        """R-SCHED-74 to R-SCHED-76."""
        if p.previous is None:
            return None
        own = self.state.job_of(p.previous)
        if own is None or own.get("NodePool") != self.job.get("NodePool") or \
                (own.get("Datacenters") or []) != (self.job.get("Datacenters") or []):
            return None
        disk = p.group.get("EphemeralDisk") or {}
        if not (disk.get("Sticky") or disk.get("Migrate")):
            return None
        node = self.state.nodes.get(p.previous.get("NodeID") or "")
        return node if node is not None and node_ready(node) else None

    @staticmethod
    def penalties(previous):
        """R-SCHED-79."""
        if previous is None:
            return set()
        out = {e.get("PrevNodeID") for e in (previous.get("RescheduleTracker") or {}).get("Events") or []}
        if previous.get("ClientStatus") == "failed":
            out.add(previous.get("NodeID"))
        return out

    def record(self, p, group, option, version_index, deployment_id):
        name = p.name
        index = self.names.get(p.group["Name"])
        if index is not None:
            i = name_index({"Name": name, "JobID": self.job["ID"], "TaskGroup": group["Name"]})
            if i in index.dup:  # R-SCHED-83
                name = index.next(1)[0]
                index.unset(i)
        a = self.new_alloc(group, name, option, deployment_id)
        if p.previous is not None:
            a["PreviousAllocation"] = p.previous["ID"]
            if p.reschedule:
                self.reschedule(a, p.previous)
        if p.canary and self.deployment is not None:
            a["DeploymentStatus"] = {"Canary": True}
        self.record_preemptions(a, option, True)
        self.plan.append(a, version_index)

    def reschedule(self, a, previous):
        """R-SCHED-88 to R-SCHED-94."""
        p = copy.deepcopy(previous)
        policy = (group_of(self.state.job_of(p), p.get("TaskGroup")) or {}).get("ReschedulePolicy")
        kept, t = [], p.get("RescheduleTracker")
        if t is not None:
            events = t.get("Events") or []
            if policy is not None and (policy.get("Attempts") or 0) > 0:
                interval = policy.get("Interval") or 0
                kept = [e for e in events if interval > 0 and self.now - (e.get("RescheduleTime") or 0) <= interval]
            else:
                kept = events[-5:]
        a["RescheduleTracker"] = {"Events": copy.deepcopy(kept) + [
            {"RescheduleTime": self.now, "PrevAllocID": p["ID"], "PrevNodeID": p.get("NodeID"),
             "Delay": next_delay(policy, p)}], "LastReschedule": "ok"}
        p["RescheduleTracker"] = dict(t or {}, LastReschedule="ok")
        for table in (self.plan.updates, self.plan.allocations):
            entries = table.get(p.get("NodeID") or "") or []
            for i, x in enumerate(entries):
                if x["ID"] == p["ID"]:
                    entries[i] = p
                    return

    def mark_failed(self, previous):
        """R-SCHED-96."""
        u = copy.deepcopy(previous)
        u["RescheduleTracker"] = dict(u.get("RescheduleTracker") or {}, LastReschedule="no placement")
        self.plan.pop(previous)
        entries = self.plan.allocations.get(u.get("NodeID") or "") or []
        for i, x in enumerate(entries):
            if x["ID"] == u["ID"]:
                entries[i] = u
                return
        self.plan.append(u, self.job_index)


def same_list_as_set(old, new):
    """R-SCHED-70."""
    if max(len(old), len(new)) <= 10:
        return len(old) == len(new) and all(x in new for x in old)
    return set(old) == set(new)
