"""What an evaluation exercises: features of its input and of its answer, and which two of them can never meet."""
import itertools
import json
import re

from reconcile import is_canary, needs_reconnect, strategy_empty
from resources import terminal
from state import group_of, in_datacenters, in_pool, transition

CONSTRAINTS = ("=", "!=", ">", "version", "semver", "regexp", "set_contains", "set_contains_any", "is_set",
               "is_not_set",
               "distinct_hosts", "distinct_property")
JOB = (["job stopped", "job purged", "two groups", "count 0", "datacenters", "pool", "pool all", "lifecycle prestart",
        "lifecycle sidecar",
        "lifecycle poststart", "lifecycle poststop", "sticky disk", "migrated disk", "cores", "memory max",
        "max run duration",
        "affinity", "negative affinity", "even spread", "spread targets", "constant spreads",
        "network host", "network bridge", "network none", "groups differ in network", "static port", "dynamic port",
        "host network", "task network",
        "device", "two devices", "device constraint", "device affinity",
        "host volume", "sticky volume", "volume per allocation", "single-writer volume", "CSI volume",
        "update block", "canaries", "automatic promotion",
        "lost_after", "never replaced", "stop_on_client_after", "keep_original", "keep_replacement", "longest_running",
        "limited reschedules", "no reschedules", "fibonacci delay", "constant delay", "escaped constraint"]
       + ["constraint " + o for o in CONSTRAINTS])
DIFFERS = ["constraint", "affinity", "spread", "ask", "cores", "ports", "volumes", "devices", "disk", "config",
           "driver", "count",
           "update", "datacenters", "pool", "priority", "reschedule", "disconnect", "details"]
STATE = ["draining node", "down node", "disconnected node", "gone node", "ineligible node",
         "pending", "running", "complete", "failed", "lost", "unknown", "stopping", "evicted", "migrating",
         "migrating, not replaced", "reschedule asked", "reschedule forced", "earlier reschedules", "reschedule failed",
         "reconnecting", "failed while disconnected", "replaced", "healthy", "unhealthy", "canary",
         "of the newest version",
         "of an older version", "waiting for a follow-up"]
DEPLOYMENT = ["running", "paused", "failed", "successful", "cancelled", "pending", "initializing", "blocked"]
TYPES, PLANNERS = ["service", "batch", "system", "sysbatch"], ["apply", "nosubmit", "reject", "partial"]
INPUTS = (["type " + t for t in TYPES] + ["planner " + p for p in PLANNERS]
          + ["evaluation delayed", "evaluation blocked", "evaluation annotated",
             "config spread", "config oversubscription", "config preemption", "config no preemption",
             "config node limit", "config of a pool"]
          + ["nodes with an allocation limit", "nodes older than 1.11.0", "nodes with an unhealthy driver",
             "nodes in two pools"]
          + JOB + ["version differs: " + d for d in DIFFERS] + ["other job differs: " + d for d in DIFFERS]
          + ["claim of a removed allocation"] + ["allocation " + s for s in STATE] + ["deployment " + d
                                                                                      for d in DEPLOYMENT]
          + ["deployment of an older version", "deployment promoted", "deployment with canaries"])

ANSWERS = {"placed": '"new-alloc', "preemption": '"PreemptedByAllocation"', "failed group": '"FailedTGAllocs": {"',
           "rescheduled": "alloc was rescheduled", "canary": '"Canary": true', "follow-up": "created for delayed",
           "destructive": "updated due to job update", "migrated": "is being migrated", "tainted": "as node is tainted",
           "lost": "node is down", "unknown": "node is disconnected", "stopped": "alloc not needed due to job update",
           "reconnected": "disconnected client reconnect", "network exhausted": '"network: ',
           "devices exhausted": '"devices: ',
           "cores exhausted": '"cores"', "cpu exhausted": '"cpu"', "memory exhausted": '"memory"',
           "disk exhausted": '"disk"',
           "allocations exhausted": "max allocation", "property used": "distinct_property: ",
           "hosts used": '"distinct_hosts"',
           "class verdict": "computed class", "driver missing": "missing drivers", "devices missing": "missing devices",
           "network missing": "missing network", "host volume missing": "missing compatible host volumes",
           "CSI refused": "CSI ",
           "blocked evaluation": "created to place remaining", "placement conflicts": "placement conflicts",
           "deployment completed": "completed successfully", "deployment cancelled": '"cancelled"',
           "deployment created": '"new-deployment', "promotion awaited": "pending automatic promotion",
           "manual promotion": "requires manual promotion", "reblocked": '"ReblockedEvals"',
           "in place": '"InPlaceUpdate": [1-9]',
           "coalesced": '"CoalescedFailures": [1-9]',
           "no placement": "no placement", "port collision": "PortCollision"}
OUTPUTS = ["answer " + a for a in ANSWERS] + ["answer older version placed"]


READ = {"Constraints", "Affinities", "Config", "Driver", "Resources", "Lifecycle",
        "Name"}  # fields of a task with names of their own


def rules(job, group, key):
    return [r for level in (job, group, *group["Tasks"]) for r in level.get(key) or []]


def of_job(job):
    out = set()
    if job.get("Stop"):
        out.add("job stopped")
    if len(job["TaskGroups"]) > 1:
        out.add("two groups")
    if job.get("Datacenters") != ["*"]:
        out.add("datacenters")
    if job.get("NodePool") != "default":
        out.add("pool all" if job["NodePool"] == "all" else "pool")
    networks = [g.get("Networks") or [] for g in job["TaskGroups"]]
    if any(n != networks[0] for n in networks):
        out.add("groups differ in network")
    for g in job["TaskGroups"]:
        if len({s["Attribute"] for s in (job.get("Spreads") or []) + (g.get("Spreads") or [])
                if "${" not in s["Attribute"]}) > 1:
            out.add("constant spreads")
        out |= of_group(job, g)
    return out


def of_group(job, g):
    out = set()

    def has(name, fact):
        if fact:
            out.add(name)
    has("count 0", not g.get("Count"))
    disk = g.get("EphemeralDisk") or {}
    has("sticky disk", disk.get("Sticky"))
    has("migrated disk", disk.get("Migrate"))
    has("max run duration", g.get("MaxRunDuration"))
    for c in rules(job, g, "Constraints"):
        has("constraint " + c["Operand"], True)
        has("escaped constraint", "unique" in (c.get("LTarget") or ""))
    for a in rules(job, g, "Affinities"):
        has("affinity" if a["Weight"] > 0 else "negative affinity", True)
    for s in (job.get("Spreads") or []) + (g.get("Spreads") or []):
        has("spread targets" if s.get("SpreadTarget") else "even spread", True)
    for n in g.get("Networks") or []:
        has("network " + n["Mode"], True)
        has("static port", n.get("ReservedPorts"))
        has("dynamic port", n.get("DynamicPorts"))
        has("host network", any(p.get("HostNetwork") != "default" for k in ("ReservedPorts", "DynamicPorts")
                                for p in n.get(k) or []))
    for t in g["Tasks"]:
        r, life = t["Resources"], t.get("Lifecycle")
        has("lifecycle " + ("sidecar" if life and life["Sidecar"] else life["Hook"] if life else ""), life)
        has("cores", r.get("Cores"))
        has("memory max", r.get("MemoryMaxMB"))
        has("task network", r.get("Networks"))
        for d in r.get("Devices") or []:
            has("device", True)
            has("two devices", d.get("Count", 1) > 1)
            has("device constraint", d.get("Constraints"))
            has("device affinity", d.get("Affinities"))
    for v in (g.get("Volumes") or {}).values():
        has("CSI volume" if v["Type"] == "csi" else "host volume", True)
        has("sticky volume", v.get("Sticky"))
        has("volume per allocation", v.get("PerAlloc"))
        has("single-writer volume", v.get("AccessMode") == "single-node-single-writer")
    u, d, p = g.get("Update"), g.get("Disconnect") or {}, g.get("ReschedulePolicy")
    has("update block", not strategy_empty(u))
    has("canaries", not strategy_empty(u) and u.get("Canary"))
    has("automatic promotion", not strategy_empty(u) and u.get("AutoPromote"))
    has("lost_after", d.get("LostAfter"))
    has("never replaced", d.get("Replace") is False)
    has("stop_on_client_after", d.get("StopOnClientAfter"))
    has(d.get("Reconcile"), d.get("Reconcile") in ("keep_original", "keep_replacement", "longest_running"))
    if p:
        has("limited reschedules", p.get("Attempts"))
        has("no reschedules", not p.get("Attempts") and not p.get("Unlimited"))
        has(p["DelayFunction"] + " delay", p["DelayFunction"] in ("fibonacci", "constant"))
    return out & set(JOB)


def differences(a, b):
    """What differs between two jobs, over groups of one name."""
    out = set()
    for name, key in (("constraint", "Constraints"), ("affinity", "Affinities"), ("spread", "Spreads"),
                      ("datacenters", "Datacenters"),
                      ("pool", "NodePool"), ("priority", "Priority")):
        if (a.get(key) or None) != (b.get(key) or None):
            out.add(name)
    for g in a["TaskGroups"]:
        h = group_of(b, g["Name"])
        if h is None:
            continue
        for name, key in (("constraint", "Constraints"), ("affinity", "Affinities"), ("spread", "Spreads"),
                          ("ports", "Networks"),
                          ("volumes", "Volumes"), ("disk", "EphemeralDisk"), ("count", "Count"), ("update", "Update"),
                          ("reschedule", "ReschedulePolicy"), ("disconnect", "Disconnect")):
            if (g.get(key) or None) != (h.get(key) or None):
                out.add(name)
        if any((g.get(k) or None) != (h.get(k) or None)
               for k in ("Meta", "Consul", "Services", "ShutdownDelay", "RestartPolicy")):
            out.add("details")
        for t, u in zip(g["Tasks"], h["Tasks"]):
            for name, key in (("constraint", "Constraints"), ("affinity", "Affinities"), ("config", "Config"),
                              ("driver", "Driver")):
                if (t.get(key) or None) != (u.get(key) or None):
                    out.add(name)
            if any((t.get(k) or None) != (u.get(k) or None) for k in (set(t) | set(u)) - READ):
                out.add("details")
            r, q = t["Resources"], u["Resources"]
            for name, keys in (("ask", ("CPU", "MemoryMB", "MemoryMaxMB")), ("cores", ("Cores",)),
                               ("devices", ("Devices",)),
                               ("ports", ("Networks",))):
                if any((r.get(k) or None) != (q.get(k) or None) for k in keys):
                    out.add(name)
    return out


def of_alloc(a, own, job, nodes, now):
    out = set()
    n = nodes.get(a["NodeID"])
    if not terminal(a):
        if n is None:
            out.add("gone node")
        elif n.get("DrainStrategy"):
            out.add("draining node")
        elif n["Status"] != "ready":
            out.add(n["Status"] + " node")
        elif n["SchedulingEligibility"] != "eligible":
            out.add("ineligible node")
    client, desired = a["ClientStatus"], a["DesiredStatus"]
    if desired == "run":
        out.add(client)
        if needs_reconnect(a):
            out.add({"running": "reconnecting", "failed": "failed while disconnected"}.get(client))
    elif desired == "evict":
        out.add("evicted")
    elif client in ("running", "pending"):
        out.add("stopping")
    t = a.get("RescheduleTracker") or {}
    healthy = (a.get("DeploymentStatus") or {}).get("Healthy")
    for name, fact in (("migrating", transition(a, "Migrate")),
                       ("migrating, not replaced", transition(a, "MigrateDisablePlacement")),
                       ("reschedule asked", transition(a, "Reschedule")),
                       ("reschedule forced", transition(a, "ForceReschedule")),
                       ("earlier reschedules", t.get("Events")),
                       ("reschedule failed", t.get("LastReschedule") == "no placement"),
                       ("replaced", a.get("NextAllocation")), ("healthy", healthy), ("unhealthy", healthy is False),
                       ("canary", is_canary(a)), ("waiting for a follow-up", a.get("FollowupEvalID")
                                                  and desired == "run")):
        if fact:
            out.add(name)
    if job is not None:
        out.add("of the newest version" if own.get("Version") == job.get("Version") else "of an older version")
    return out & set(STATE)


def inputs(v):
    """Features of an evaluation and the state it reads."""
    s, e, jobs = v["state"], v["eval"], v["jobs"]
    out = {"type " + v["scheduler"], "planner " + v["planner"]}
    job = next((jobs[i] for i in s["Jobs"] if jobs[i]["ID"] == e["JobID"]), None)
    out |= of_job(job) if job else {"job purged"}
    out |= {"evaluation " + name for name, fact in (("delayed", e.get("WaitUntil")),
                                                    ("blocked", e["Status"] == "blocked"),
                                                    ("annotated", e.get("AnnotatePlan"))) if fact}
    config = s.get("SchedulerConfig") or {}
    key = {"service": "ServiceSchedulerEnabled", "batch": "BatchSchedulerEnabled", "system": "SystemSchedulerEnabled",
           "sysbatch": "SysBatchSchedulerEnabled"}[v["scheduler"]]
    on = not config or (config.get("PreemptionConfig") or {}).get(key)
    out.add("config preemption" if on else "config no preemption")
    pool = job and next((p for p in s["NodePools"] if p["Name"] == job["NodePool"]), None)
    out |= {"config " + name for name, fact in (("spread", config.get("SchedulerAlgorithm") == "spread"),
                                                ("oversubscription", config.get("MemoryOversubscriptionEnabled")),
                                                ("node limit", config.get("NodeLimitForFeasibilityChecks")),
                                                ("of a pool", pool and pool.get("SchedulerConfiguration"))) if fact}
    nodes = {n["ID"]: n for n in s["Nodes"]}
    ready = [n for n in s["Nodes"] if n["Status"] == "ready"]
    out |= {"nodes " + name for name, fact in (
        ("with an allocation limit", any(n.get("NodeMaxAllocs") for n in ready)),
        ("older than 1.11.0", any(n["Attributes"]["nomad.version"] in OLD for n in ready)),
        ("with an unhealthy driver", any(not d["Healthy"] for n in ready for d in n["Drivers"].values())),
        ("in two pools", len({n["NodePool"] for n in ready}) > 1)) if fact}
    for a in s["Allocs"]:
        own = jobs[a["Job"]]
        if a["JobID"] == e["JobID"]:
            out |= {"allocation " + x for x in of_alloc(a, own, job, nodes, v["now"])}
        if job is not None and not terminal(a) and own is not job:
            kind = "version" if a["JobID"] == e["JobID"] else "other job"
            out |= {f"{kind} differs: {d}" for d in differences(own, job)}
    stored = {a["ID"] for a in s["Allocs"]}
    if any(c["JobID"] == e["JobID"] and c["AllocID"] not in stored for c in s.get("HostVolumeClaims") or []):
        out.add("claim of a removed allocation")
    mine = [d for d in s["Deployments"] if d["JobID"] == e["JobID"]]
    if mine:
        d = max(mine, key=lambda d: d.get("CreateIndex") or 0)
        out.add("deployment " + d["Status"])
        if job and d["JobVersion"] != job["Version"]:
            out.add("deployment of an older version")
        groups = [g for g in (d.get("TaskGroups") or {}).values() if g]
        if any(g.get("Promoted") for g in groups):
            out.add("deployment promoted")
        if any(g.get("PlacedCanaries") for g in groups):
            out.add("deployment with canaries")
    return out & set(INPUTS)


def outputs(v):
    """Features of the answer."""
    text = json.dumps(v["expect"])
    out = {"answer " + name for name, word in ANSWERS.items() if re.search(word, text)}
    placed = [a for attempt in v["expect"]["Attempts"] for a in attempt["Plan"].get("NodeAllocation") or []]
    if any("Job" in a and a["ID"].startswith("new-") for a in placed):
        out.add("answer older version placed")
    return out


OLD = ("1.10.2", "0.11.3")

# Two features that no evaluation can have both: (pattern, pattern, reason).
ROLLOUT = "update block|canaries|automatic promotion|version differs: update|deployment .*"
NEVER = [
    ("type .*", "type .*", "an evaluation is of one type"),
    ("planner .*", "planner .*", "a vector has one planner"),
    ("config preemption", "config no preemption", "preemption is on or off for the type"),
    ("pool", "pool all", "a job has one pool"),
    ("|".join("deployment " + d for d in DEPLOYMENT), "|".join("deployment " + d for d in DEPLOYMENT),
     "the latest deployment has one status"),
    ("job purged",
     "|".join(re.escape(f) for f in JOB)
     + "|(version|other job) differs: .*|config of a pool|allocation of (the newest|an older) version"
     "|deployment of an older version", "a purged job has no version"),
    ("type (batch|sysbatch)", ROLLOUT, "batch and sysbatch jobs have no update block and no deployment"),
    ("max run duration", "type (service|system)|" + ROLLOUT, "only batch and sysbatch jobs have a run duration"),
    ("type (system|sysbatch)", "(limited|no) reschedules|(fibonacci|constant) delay|version differs: reschedule",
     "jobs that run on every node have no reschedule policy"),
    ("job purged", "claim of a removed allocation", "purging a job removes its claims"),
    ("type system",
     "(negative )?affinity|even spread|spread targets|constant spreads|version differs: (affinity|spread)",
     "system jobs have no affinities and spreads"),
]


def impossible():
    """{pair: reason}."""
    out = {}
    for x, y in itertools.combinations(sorted(INPUTS), 2):
        for p, q, reason in NEVER:
            if (re.fullmatch(p, x) and re.fullmatch(q, y)) or (re.fullmatch(p, y) and re.fullmatch(q, x)):
                out[x, y] = reason
                break
    return out


def pairs(names):
    return set(itertools.combinations(sorted(names), 2))
