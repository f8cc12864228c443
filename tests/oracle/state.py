"""The state, the plan and the small facts every part of the oracle reads."""
import copy
import datetime

from resources import client_terminal
from values import glob


def parse_time(value):
    """Nanoseconds since 1970, None for an unset time."""
    if value is None or value == "" or value == "0001-01-01T00:00:00Z":
        return None
    if isinstance(value, int):
        return value
    base, _, zone = value.rstrip("Z"), "", ""
    offset = 0
    if not value.endswith("Z"):
        sign = 1 if value[-6] == "+" else -1
        offset = sign * (int(value[-5:-3]) * 3600 + int(value[-2:]) * 60)
        base = value[:-6]
    whole, _, fraction = base.partition(".")
    t = datetime.datetime.strptime(whole, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=datetime.timezone.utc)
    return (int((t - EPOCH).total_seconds()) - offset) * 10**9 + int((fraction + "000000000")[:9])


EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def format_time(ns):
    t = (EPOCH + datetime.timedelta(seconds=ns // 10**9)).strftime("%Y-%m-%dT%H:%M:%S")
    fraction = ("%09d" % (ns % 10**9)).rstrip("0")
    return t + ("." + fraction if fraction else "") + "Z"


class State:
    def __init__(self, vector):
        s = vector["state"]
        self.raw = s
        self.jobs = vector["jobs"]
        self.index = s.get("Index") or 0
        self.config = s.get("SchedulerConfig")
        nodes = s.get("Nodes") or []
        full = []
        for n in nodes:
            if "_like" in n:
                n = {**nodes[n["_like"]], **{k: v for k, v in n.items() if k != "_like"}}
            full.append(n)
        self.nodes = {n["ID"]: n for n in sorted(full, key=lambda n: n["ID"])}
        self.pools = {p["Name"]: p for p in s.get("NodePools") or []}
        self.allocs = {a["ID"]: a for a in sorted(s.get("Allocs") or [], key=lambda a: a["ID"])}
        self.current = {}
        for i in s.get("Jobs") or []:
            j = self.jobs[i]
            self.current[(j["Namespace"], j["ID"])] = i
        self.versions = {}
        for i in s.get("JobVersions") or []:
            j = self.jobs[i]
            self.versions[(j["Namespace"], j["ID"], j.get("Version") or 0)] = i
        self.deployments = {d["ID"]: d for d in sorted(s.get("Deployments") or [], key=lambda d: d["ID"])}
        self.host_volumes = {(v.get("Namespace"), v["ID"]): v for v in s.get("HostVolumes") or []}
        self.claims = s.get("HostVolumeClaims") or []
        self.csi_volumes = {(v.get("Namespace"), v["ID"]): v for v in s.get("CSIVolumes") or []}
        self.csi_plugins = {p["ID"]: p for p in s.get("CSIPlugins") or []}
        self.by_node = {}
        for a in self.allocs.values():
            self.by_node.setdefault(a.get("NodeID") or "", []).append(a)

    def job_of(self, alloc):
        """The job version stored with an allocation, or None."""
        i = alloc.get("Job")
        return None if i is None else self.jobs[i]

    def job_index(self, namespace, job_id):
        return self.current.get((namespace, job_id))

    def job_allocs(self, namespace, job_id):
        return [a for a in self.allocs.values() if a.get("Namespace") == namespace and a.get("JobID") == job_id]

    def latest_deployment(self, namespace, job_id):
        best = None
        for d in self.deployments.values():
            if d.get("Namespace") == namespace and d.get("JobID") == job_id:
                if best is None or (d.get("CreateIndex") or 0) > (best.get("CreateIndex") or 0):
                    best = d
        return copy.deepcopy(best)


def group_of(job, name):
    if job is None:
        return None
    return next((g for g in job.get("TaskGroups") or [] if g["Name"] == name), None)


def node_ready(node):
    return (node.get("Status") == "ready" and node.get("DrainStrategy") is None
            and node.get("SchedulingEligibility") == "eligible")


def in_datacenters(node, job):
    return any(glob(p, node.get("Datacenter") or "") for p in job.get("Datacenters") or [])


def in_pool(node, job):
    return job.get("NodePool") == "all" or (node.get("NodePool") or "") == (job.get("NodePool") or "")


def candidates(state, job):
    """R-SCHED-31: (ready nodes by ID, not-ready IDs, count by datacenter)."""
    ready, not_ready, by_dc = [], set(), {}
    for n in state.nodes.values():
        if (job.get("NodePool") or "") not in ("", "all") and (n.get("NodePool") or "") != job["NodePool"]:
            continue
        if not node_ready(n):
            not_ready.add(n["ID"])
        elif in_datacenters(n, job):
            ready.append(n)
            dc = n.get("Datacenter") or ""
            by_dc[dc] = by_dc.get(dc, 0) + 1
    return ready, not_ready, by_dc


def transition(alloc, name):
    return bool((alloc.get("DesiredTransition") or {}).get(name))


def tainted_nodes(state, allocs):
    """R-SCHED-33: node ID -> node or None."""
    out = {}
    for a in allocs:
        n = state.nodes.get(a.get("NodeID") or "")
        if n is None:
            out[a.get("NodeID") or ""] = None
        elif n.get("Status") in ("down", "disconnected") or n.get("DrainStrategy") is not None:
            out[n["ID"]] = n
    return out


def append_alloc_state(alloc, value, now):
    alloc["AllocStates"] = list(alloc.get("AllocStates")
                                or []) + [{"Field": 0, "Value": value, "Time": format_time(now)}]


class Plan:
    """R-SCHED-22 to R-SCHED-29."""

    def __init__(self, evaluation, job_index, job):
        self.evaluation, self.job_index, self.job = evaluation, job_index, job
        self.updates, self.allocations, self.preemptions = {}, {}, {}
        self.deployment, self.deployment_updates, self.annotations = None, [], None
        self.info = {"Namespace": job["Namespace"], "ID": job["ID"]} if job else None
        self.order = []  # placements in the order they were put in (R-RANK-504)

    def append_stopped(self, alloc, description, client="", followup="", now=0, state=None):
        a = dict(alloc)
        if self.job_index is None and self.info is None and a.get("Job") is not None:
            self.job_index = a["Job"]
            j = state.jobs[a["Job"]]
            self.info = {"Namespace": j["Namespace"], "ID": j["ID"]}
        a.pop("Job", None)
        a.pop("Resources", None)
        a["DesiredStatus"] = "stop"
        a["DesiredDescription"] = description
        if client:
            a["ClientStatus"] = client
            append_alloc_state(a, client, now)
        if followup:
            a["FollowupEvalID"] = followup
        self.updates.setdefault(a.get("NodeID") or "", []).append(a)

    def append(self, alloc, job_index):
        if job_index is None:
            alloc.pop("Job", None)
        else:
            alloc["Job"] = job_index
        self.allocations.setdefault(alloc.get("NodeID") or "", []).append(alloc)

    def append_unknown(self, alloc):
        alloc.pop("Resources", None)
        self.allocations.setdefault(alloc.get("NodeID") or "", []).append(alloc)

    def append_preempted(self, alloc, by):
        self.preemptions.setdefault(alloc.get("NodeID") or "", []).append(
            {"ID": alloc["ID"], "JobID": alloc.get("JobID"), "Namespace": alloc.get("Namespace"),
             "DesiredStatus": "evict",
             "PreemptedByAllocation": by, "DesiredDescription": "Preempted by alloc ID " + by,
             "AllocatedResources": alloc.get("AllocatedResources")})

    def pop(self, alloc):
        node = alloc.get("NodeID") or ""
        entries = self.updates.get(node) or []
        if entries and entries[-1]["ID"] == alloc["ID"]:
            entries.pop()
            if not entries:
                del self.updates[node]

    def noop(self):
        return not (self.updates or self.allocations or self.deployment or self.deployment_updates)

    def write(self):
        """The plan in the form of the vectors."""
        out = {"EvalID": self.evaluation["ID"], "Priority": self.evaluation.get("Priority") or 0}
        if self.job_index is not None:
            out["Job"] = self.job_index
        if self.info:
            out["JobInfo"] = self.info
        if self.job and self.job.get("AllAtOnce"):
            out["AllAtOnce"] = True
        for key, table in (("NodeUpdate", self.updates), ("NodeAllocation", self.allocations),
                           ("NodePreemptions", self.preemptions)):
            flat = [a for node in sorted(table) for a in table[node]]
            if flat:
                out[key] = flat
        if self.deployment:
            out["Deployment"] = self.deployment
        if self.deployment_updates:
            out["DeploymentUpdates"] = self.deployment_updates
        if self.annotations:
            out["Annotations"] = self.annotations
        return copy.deepcopy(out)


class Context:
    """What one attempt shares: state, plan, metrics, class verdicts."""

    def __init__(self, state, plan, events):
        self.state, self.plan, self.events = state, plan, events
        self.metrics = Metrics()
        self.job_class, self.group_class = {}, {}
        self.job_escaped, self.group_escaped = False, {}
        self.missing = set()

    def proposed(self, node_id):
        """R-RANK-501 to R-RANK-504."""
        gone = {a["ID"] for a in self.plan.updates.get(node_id, [])}
        gone |= {a["ID"] for a in self.plan.preemptions.get(node_id, [])}
        out = {a["ID"]: a for a in self.state.by_node.get(node_id, [])
               if a["ID"] not in gone and not client_terminal(a)}
        for a in self.plan.allocations.get(node_id, []):
            out[a["ID"]] = a
        return list(out.values())

    def has_escaped(self):
        return self.job_escaped or any(self.group_escaped.values())

    def classes(self):
        """R-FEAS-1701."""
        out = {c: v for c, v in self.job_class.items()}
        grouped = {}
        for (_, c), v in self.group_class.items():
            grouped[c] = grouped.get(c, False) or v
        for c, v in grouped.items():
            if self.job_class.get(c) is False:
                out[c] = False
            else:
                out[c] = v
        return out


class Metrics:
    def __init__(self):
        self.evaluated = self.filtered = self.exhausted = self.coalesced = 0
        self.class_filtered, self.constraint_filtered = {}, {}
        self.class_exhausted, self.dimension = {}, {}
        self.resources, self.heap, self.scores = None, [], None
        self.available, self.in_pool, self.pool = None, 0, ""

    def filter(self, node, reason):
        self.filtered += 1
        c = node.get("NodeClass")
        if c:
            self.class_filtered[c] = self.class_filtered.get(c, 0) + 1
        if reason:
            self.constraint_filtered[reason] = self.constraint_filtered.get(reason, 0) + 1

    def exhaust(self, node, reason):
        self.exhausted += 1
        c = node.get("NodeClass")
        if c:
            self.class_exhausted[c] = self.class_exhausted.get(c, 0) + 1
        if reason:
            self.dimension[reason] = self.dimension.get(reason, 0) + 1

    def score(self, record):
        """R-RANK-1007: insert into the heap of the best five."""
        h = self.heap
        less = lambda i, j: h[i]["NormScore"] < h[j]["NormScore"]
        if len(h) < 5:
            h.append(record)
            i = len(h) - 1
            while i and less(i, (i - 1) // 2):
                h[i], h[(i - 1) // 2] = h[(i - 1) // 2], h[i]
                i = (i - 1) // 2
        elif record["NormScore"] > h[0]["NormScore"]:
            h[0] = record
            self.sink(0, len(h))

    def sink(self, i, n):
        h = self.heap
        while 2 * i + 1 < n:
            c = 2 * i + 1
            if c + 1 < n and h[c + 1]["NormScore"] < h[c]["NormScore"]:
                c += 1
            if not h[c]["NormScore"] < h[i]["NormScore"]:
                break
            h[i], h[c] = h[c], h[i]
            i = c

    def fill_scores(self):
        if not self.heap:
            return
        out, n = [], len(self.heap)
        while n:
            self.heap[0], self.heap[n - 1] = self.heap[n - 1], self.heap[0]
            n -= 1
            self.sink(0, n)
            out.insert(0, self.heap.pop())
        self.scores = out

    def exhaust_resources(self, group):
        """R-SCHED-65."""
        if not self.dimension:
            return
        self.resources = self.resources or {}
        for t in group.get("Tasks") or []:
            r = self.resources.setdefault(t["Name"], {"CPU": 0, "MemoryMB": 0})
            if self.dimension.get("memory", 0) > 0:
                r["MemoryMB"] += (t.get("Resources") or {}).get("MemoryMB") or 0
            if self.dimension.get("cpu", 0) > 0:
                r["CPU"] += (t.get("Resources") or {}).get("CPU") or 0

    def write(self):
        out = {"NodesEvaluated": self.evaluated, "NodesFiltered": self.filtered, "NodesExhausted": self.exhausted,
               "CoalescedFailures": self.coalesced, "NodesInPool": self.in_pool, "NodePool": self.pool,
               "NodesAvailable": self.available, "ClassFiltered": self.class_filtered,
               "ConstraintFiltered": self.constraint_filtered, "ClassExhausted": self.class_exhausted,
               "DimensionExhausted": self.dimension, "ResourcesExhausted": self.resources, "ScoreMetaData": self.scores}
        return copy.deepcopy({k: v for k, v in out.items() if v})
