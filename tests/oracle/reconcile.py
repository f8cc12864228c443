"""Wanted against present, for service and batch jobs (spec part 05)."""
from resources import client_terminal, server_terminal, terminal
from state import append_alloc_state, format_time, group_of, parse_time, transition

SECOND = 10**9
ACTIVE = ("running", "paused", "blocked", "unblocking", "initializing", "pending")
NOT_NEEDED = "alloc not needed due to job update"
LOST = "alloc is lost since its node is down"
RESCHEDULED = "alloc was rescheduled because it failed"
MIGRATING = "alloc is being migrated"
UNKNOWN = "alloc is unknown since its node is disconnected"


def name_index(a):
    """R-RECON-41."""
    name = (a.get("Name") or "").encode()
    p = len((a.get("JobID") or "").encode()) + len((a.get("TaskGroup") or "").encode()) + 2
    if len(name) <= 3 or len(name) <= p:
        return 0
    try:
        return int(name[p:-1].decode())
    except ValueError:
        return 0


def in_k(allocs):
    """R-RECON-7."""
    return sorted(allocs, key=lambda a: (name_index(a), a["ID"]))


def needs_reconnect(a):
    """R-RECON-47."""
    for s in reversed(a.get("AllocStates") or []):
        if not (s.get("Field") or 0) and s.get("Value"):
            return s["Value"] == "unknown"
    return False


def last_unknown(a):
    """R-RECON-48."""
    found = None
    for s in reversed(a.get("AllocStates") or []):
        if s.get("Field") or 0:
            continue
        if s.get("Value") == "unknown":
            found = parse_time(s.get("Time"))
        elif found is not None:
            break
    return found


def ran_successfully(a):
    states = a.get("TaskStates") or {}
    return bool(states) and all(s.get("State") == "dead" and not s.get("Failed") for s in states.values())


def tracker(a):
    return a.get("RescheduleTracker")


def last_reschedule_failed(a):
    t = tracker(a)
    return t is not None and (t.get("LastReschedule") or "") not in ("", "ok")


def health(a):
    return (a.get("DeploymentStatus") or {}).get("Healthy")


def is_canary(a):
    return bool((a.get("DeploymentStatus") or {}).get("Canary"))


def last_event_time(a):
    """R-RECON-52."""
    times = [parse_time(s.get("FinishedAt")) for s in (a.get("TaskStates") or {}).values()]
    times = [t for t in times if t is not None]
    return max(times) if times else a.get("ModifyTime") or 0


def strategy_empty(update):
    """R-RECON-98."""
    return not update or not update.get("MaxParallel")


def next_delay(policy, a):
    """R-RECON-57, R-RECON-58."""
    if policy is None:
        return 0
    base, events = policy.get("Delay") or 0, (tracker(a) or {}).get("Events") or []
    if not events:
        return base
    e1 = events[-1].get("Delay") or 0
    ceiling = policy.get("MaxDelay") or 0
    if policy.get("DelayFunction") == "exponential":
        d = 2 * e1
    elif policy.get("DelayFunction") == "fibonacci":
        d = base
        if len(events) > 1:
            e2 = events[-2].get("Delay") or 0
            d = e1 if e2 == ceiling and e1 == base else e1 + e2
    else:
        return base
    if ceiling > 0 and d > ceiling:
        d = ceiling
        if last_event_time(a) - (events[-1].get("RescheduleTime") or 0) > ceiling:
            d = base
    return d


def next_time(policy, a, failed_at):
    """R-RECON-60, R-RECON-61: (time, eligible)."""
    delay = next_delay(policy, a)
    attempts = policy.get("Attempts") or 0
    t = tracker(a)
    eligible = bool(policy.get("Unlimited")) or (attempts > 0 and t is None)
    if attempts > 0 and t is not None and t.get("Events") is not None:
        if failed_at is None:
            used = len(t["Events"])
        else:
            used = sum(1 for e in t["Events"] if failed_at - (e.get("RescheduleTime") or 0) < (policy.get("Interval")
                                                                                               or 0))
        eligible = used < attempts and delay < (policy.get("Interval") or 0)
    return (-2**63 if failed_at is None else failed_at + delay), eligible


class NameIndex:
    """R-RECON-157 to R-RECON-164."""

    def __init__(self, job_id, group, count, allocs, minimum):
        self.job_id, self.group, self.count = job_id, group, count
        indexes = [name_index(a) for a in allocs]
        top = max(indexes, default=0)
        n = max(minimum, len(indexes))
        if top < n:
            top = n
        elif top % 8 == 0:
            top += 1
        self.size = max(8, (top + 7) // 8 * 8)
        self.bits, self.dup = set(), {}
        for i in indexes:
            if i in self.bits:
                self.dup[i] = self.dup.get(i, 0) + 1
            self.bits.add(i)

    def name(self, i):
        return f"{self.job_id}.{self.group}[{i}]"

    def highest(self, n):
        names = set()
        for i in range(self.size - 1, -1, -1):
            if len(names) >= n:
                break
            if i in self.bits:
                self.bits.discard(i)
                names.add(self.name(i))
        return names

    def next(self, n):
        names = []
        for i in range(self.count):
            if len(names) == n:
                return names
            if i not in self.bits:
                self.bits.add(i)
                names.append(self.name(i))
        for i in range(n - len(names)):
            self.bits.add(i)
            names.append(self.name(i))
        return names

    def unset(self, i):
        if i in self.dup:
            if self.dup[i] - 1 == 0:
                del self.dup[i]
        else:
            self.bits.discard(i)

    def next_canaries(self, n, existing, destructive):
        held, names = {a.get("Name") for a in existing}, []
        other = NameIndex(self.job_id, self.group, self.count, destructive, self.count)
        for i in range(self.count):
            if len(names) == n:
                return names
            if i in other.bits and self.name(i) not in held:
                self.bits.add(i)
                names.append(self.name(i))
        for i in range(self.count):
            if len(names) == n:
                return names
            if i not in self.bits and self.name(i) not in held:
                self.bits.add(i)
                names.append(self.name(i))
        missing = n - len(names)
        return names + [self.name(self.count + k) for k in range(missing)]


class Placement:
    def __init__(self, name, group, canary=False, previous=None, reschedule=False, lost=False, downgrade=False,
                 min_version=0, stop_previous=False):
        self.name, self.group, self.canary, self.previous = name, group, canary, previous
        self.reschedule, self.lost, self.downgrade, self.min_version = reschedule, lost, downgrade, min_version
        self.stop_previous = stop_previous


class Result:
    def __init__(self):
        self.deployment, self.deployment_updates = None, []
        self.place, self.destructive, self.inplace, self.stop = [], [], [], []
        self.attribute, self.disconnect, self.reconnect = [], [], []
        self.counters, self.followups, self.names = {}, [], {}


class Reconciler:
    def __init__(self, state, job, job_id, is_batch, deployment, allocs, evaluation, tainted, now, update, new_id):
        self.state, self.job, self.job_id, self.is_batch = state, job, job_id, is_batch
        self.input, self.allocs, self.evaluation, self.tainted = deployment, allocs, evaluation, tainted
        self.now, self.update, self.new_id = now, update, new_id
        self.result = Result()

    # --- facts that need the allocation's own job

    def group(self, a):
        return group_of(self.state.job_of(a), a.get("TaskGroup"))

    def policy(self, a):
        return (self.group(a) or {}).get("ReschedulePolicy")

    def lost_after(self, a):
        return ((self.group(a) or {}).get("Disconnect") or {}).get("LostAfter") or 0

    def replace(self, a):
        r = ((self.group(a) or {}).get("Disconnect") or {}).get("Replace")
        return True if r is None else r

    def version(self, a):
        j = self.state.job_of(a) or {}
        return j.get("Version") or 0

    def create(self, a):
        j = self.state.job_of(a) or {}
        return j.get("CreateIndex") or 0

    def older(self, a):
        return (self.version(a) < (self.job.get("Version") or 0)
                or self.create(a) < (self.job.get("CreateIndex") or 0))

    def expired(self, a):
        """R-RECON-49."""
        t = last_unknown(a)
        return (a.get("ClientStatus") == "unknown" and t is not None and self.group(a) is not None
                and t + self.lost_after(a) - self.now <= 0)

    def batch_alloc(self, a):
        return (self.state.job_of(a) or {}).get("Type") == "batch"

    # --- top level

    def run(self):
        r = self.result
        names = [g["Name"] for g in (self.job or {}).get("TaskGroups") or []]
        extra = sorted({a.get("TaskGroup") or "" for a in self.allocs} - set(names), key=lambda x: x.encode())
        by_group = {}
        for a in self.allocs:
            by_group.setdefault(a.get("TaskGroup") or "", []).append(a)
        d, job = self.input, self.job
        self.old = self.current = None
        stopped = job is None or job.get("Stop")
        if stopped:
            self.old = d
            if d and d["Status"] in ACTIVE:
                self.deployment_update(d, "cancelled", "Cancelled because job is stopped")
        elif d:
            if ((d.get("JobCreateIndex") or 0) != (job.get("CreateIndex") or 0)
                    or (d.get("JobVersion") or 0) != (job.get("Version") or 0)):
                self.old = d
                if d["Status"] in ACTIVE:
                    self.deployment_update(d, "cancelled", "Cancelled due to newer version of job")
            elif d["Status"] == "successful":
                self.old = d
            else:
                self.current = d
        if stopped:
            for g in names + extra:
                allocs = [a for a in by_group.get(g, []) if not terminal(a)]
                self.counters(g)["Stop"] = len(allocs)
                self.stop_classes(allocs)
            return r
        status = (self.current or {}).get("Status")
        self.paused, self.failed = status in ("paused", "pending", "initializing"), status == "failed"
        complete = True
        for g in dict.fromkeys(names + extra):
            complete = self.compute_group(g, by_group.get(g, [])) and complete
        self.conclude(complete)
        return r

    def deployment_update(self, d, status, description):
        self.result.deployment_updates.append({"DeploymentID": d["ID"], "Status": status,
                                               "StatusDescription": description})

    def conclude(self, complete):
        c, r = self.current, self.result
        if c is not None and complete:
            multi = bool((self.job.get("Multiregion") or {}).get("Regions"))
            if not multi:
                self.deployment_update(c, "successful", "Deployment completed successfully")
            elif c["Status"] not in ("unblocking", "successful"):
                self.deployment_update(c, "blocked", "Deployment is complete but waiting for peer region")
        if c is not None and c["Status"] == "initializing":
            self.deployment_update(c, "pending", "Deployment is pending, waiting for peer region")
        d = r.deployment
        if d is not None and d["Status"] == "running":
            wanting = [s for s in (d.get("TaskGroups") or {}).values() if (s.get("DesiredCanaries") or 0) > 0]
            if any(not s.get("Promoted") for s in wanting):
                d["StatusDescription"] = ("Deployment is running pending automatic promotion"
                                          if all(s.get("AutoPromote") for s in wanting)
                                          else "Deployment is running but requires manual promotion")

    def counters(self, group):
        return self.result.counters.setdefault(group, {k: 0 for k in (
            "Ignore", "Place", "Migrate", "Stop", "InPlaceUpdate", "DestructiveUpdate", "Canary", "Preemptions",
            "Disconnect", "Reconnect", "RescheduleNow", "RescheduleLater")})

    def stop(self, a, client, description, followup=""):
        self.result.stop.append((a, client, description, followup))

    def stop_classes(self, allocs):
        """R-RECON-76, R-RECON-77."""
        classes = {c: [] for c in "UMLDRIX"}
        for a in in_k(allocs):
            classes[self.classify(a)].append(a)
        for c in "UMLDR":
            for a in classes[c]:
                self.stop(a, "lost", LOST) if c == "L" else self.stop(a, "", NOT_NEEDED)
        for a in classes["I"] + classes["X"]:
            if a.get("ClientStatus") == "unknown":
                self.stop(a, "", NOT_NEEDED)

    # --- 6.5

    def classify(self, a):
        """R-RECON-106."""
        client, desired = a.get("ClientStatus"), a.get("DesiredStatus")
        rc = client in ("unknown", "running", "failed") and needs_reconnect(a)
        node_id = a.get("NodeID") or ""
        tainted = node_id in self.tainted
        node = self.tainted.get(node_id)
        status = (node or {}).get("Status")
        if rc and desired == "run" and client == "failed":
            return "R"
        if server_terminal(a) and not rc:
            return "U" if transition(a, "MigrateDisablePlacement") else "I"
        if client_terminal(a) and not rc:
            return "M" if is_canary(a) and transition(a, "Migrate") else "U"
        if self.expired(a):
            return "X"
        if rc and client == "failed" and desired == "stop":
            return "I"
        if tainted and node is not None and status == "disconnected":
            if client == "unknown":
                return "U"
            if client == "pending" or self.lost_after(a) == 0:
                return "L"
            return "D"
        if transition(a, "Migrate"):
            return "M"
        if not tainted or (node is not None and status == "ready"):
            return "R" if rc else "U"
        if node is None:
            return "L"
        if status == "down":
            if not self.replace(a) and client == "unknown":
                return "U"
            if not self.replace(a) and client == "running":
                return "D"
            return "L"
        return "U"

    # --- 6.6

    def filter_reschedulable(self, allocs, disc):
        """R-RECON-112: (kept, now, later)."""
        kept, now, later = [], [], []
        for a in in_k(allocs):
            if disc and a.get("ClientStatus") == "unknown":
                continue
            if a.get("NextAllocation") and terminal(a):
                continue
            verdict = self.verdict(a)
            if verdict == "keep" and not disc:
                kept.append(a)
                continue
            if verdict == "drop":
                continue
            when, time = self.time_test(a, disc)
            if when == "now":
                now.append(a)
                continue
            kept.append(a)
            if when == "later":
                later.append((a, time))
        return kept, now, later

    def verdict(self, a):
        desired, client = a.get("DesiredStatus"), a.get("ClientStatus")
        if self.is_batch:
            if transition(a, "MigrateDisablePlacement"):
                return "keep"
            if transition(a, "Reschedule"):
                return "candidate"
            if desired == "stop":
                if ran_successfully(a):
                    return "keep"
                return "candidate" if last_reschedule_failed(a) else "drop"
            if desired == "evict":
                return "drop"
            return "candidate" if client == "failed" else "keep"
        if desired in ("stop", "evict"):
            return "candidate" if last_reschedule_failed(a) else "drop"
        return "drop" if client in ("complete", "lost") else "candidate"

    def time_test(self, a, disc):
        """R-RECON-116."""
        c = self.current
        if (c is not None and c["Status"] in ACTIVE and a.get("DeploymentID") == c["ID"]
                and not transition(a, "Reschedule")):
            return None, None
        force = transition(a, "ForceReschedule") and client_terminal(a)
        if disc and not self.replace(a):
            return ("now" if force else None), None
        ours = (a.get("FollowupEvalID") or "") == self.evaluation["ID"]
        policy = self.policy(a)
        if policy is None:
            time, eligible = 0, False
        elif disc:
            time, eligible = next_time(policy, a, self.now)
        elif a.get("ClientStatus") == "unknown" and ours:
            time, eligible = next_time(policy, a, last_unknown(a))
        else:
            time, eligible = self.standard_time(policy, a)
        if eligible and (ours or time - self.now <= SECOND):
            return "now", time
        if force:
            return "now", time
        if eligible and not a.get("FollowupEvalID"):
            return "later", time
        return None, None

    def standard_time(self, policy, a):
        """R-RECON-63."""
        if not policy.get("Attempts") and not policy.get("Unlimited"):
            return 0, False
        if a.get("DesiredStatus") == "stop" and not last_reschedule_failed(a):
            return 0, False
        if a.get("ClientStatus") not in ("failed", "lost") and not (self.batch_alloc(a)
                                                                    and transition(a, "Reschedule")):
            return 0, False
        return next_time(policy, a, last_event_time(a))

    # --- 6.7

    def last_start(self, a, task):
        s = (a.get("TaskStates") or {}).get(task)
        if s is None:
            return None
        return parse_time(s.get("LastRestart")) if (s.get("Restarts") or 0) > 0 else parse_time(s.get("StartedAt"))

    def alloc_start(self, a, group):
        """R-RECON-133."""
        best = None
        for t in (group or {}).get("Tasks") or []:
            start = self.last_start(a, t["Name"])
            if t.get("Leader"):
                return start
            if start is not None and start < self.now and (best is None or start < best):
                best = start
        return best

    def prefers_replacement(self, o, p, tg):
        """R-RECON-128 to R-RECON-134."""
        if self.version(p) > self.version(o) or self.create(p) > self.create(o):
            return True
        how = (tg.get("Disconnect") or {}).get("Reconcile") or "best_score"
        if how == "keep_original":
            return False
        if how == "keep_replacement":
            return True
        if how == "longest_running":
            group = group_of(self.state.job_of(o), o.get("TaskGroup"))
            so, sp = self.alloc_start(o, group), self.alloc_start(p, group)
            if so is None and sp is not None:
                return True
            if so is not None and sp is None:
                return False
            if so is not None:
                return not so < sp

        def score(a):
            meta = (a.get("Metrics") or {}).get("ScoreMetaData") or []
            return (meta[0].get("NormScore") or 0.0) if meta else None
        a, b = score(o), score(p)
        better = b is not None and (a is None or b > a)
        return better and (p.get("ClientStatus") == "running" or o.get("ClientStatus") != "running")

    def reconcile_reconnecting(self, reconnecting, everything, tg):
        stopped = {}
        for r in in_k(reconnecting.values()):
            if not server_terminal(r) and r.get("ClientStatus") == "failed":
                stopped[r["ID"]] = r
                self.stop(r, "failed", RESCHEDULED)
                continue
            if (r.get("DesiredStatus") != "run" or transition(r, "Migrate") or transition(r, "Reschedule")
                    or transition(r, "ForceReschedule") or self.older(r)):
                stopped[r["ID"]] = r
                self.stop(r, "", NOT_NEEDED)
                continue
            chain, at = [], r.get("NextAllocation")
            while at and at in everything and at not in [x["ID"] for x in chain]:
                chain.append(everything[at])
                at = everything[at].get("NextAllocation")
            for p in in_k([x for x in chain if not server_terminal(x)]):
                if self.prefers_replacement(r, p, tg):
                    if r["ID"] not in stopped:
                        stopped[r["ID"]] = r
                        self.stop(r, "", NOT_NEEDED)
                elif p["ID"] not in stopped:
                    stopped[p["ID"]] = p
                    self.stop(p, "", "alloc not needed due to disconnected client reconnect")
        return stopped

    # --- 6.10

    def followups(self, later, trigger):
        """R-RECON-150 to R-RECON-153: allocation ID -> evaluation ID."""
        ids, start, current = {}, None, None
        for a, time in sorted(later, key=lambda x: (x[1], name_index(x[0]), x[0]["ID"])):
            if start is None or time - start >= 5 * SECOND:
                first = start is None
                start = time
                current = {"ID": self.new_id("eval"), "Namespace": self.job["Namespace"],
                           "Priority": self.evaluation.get("Priority") or 0, "Type": self.job.get("Type"),
                           "JobID": self.job["ID"], "JobModifyIndex": self.job.get("ModifyIndex") or 0,
                           "TriggeredBy": trigger if first else "alloc-failure", "Status": "pending",
                           "StatusDescription": "created for delayed rescheduling" if first else "",
                           "WaitUntil": format_time(time)}
                if trigger == "max-disconnect-timeout":
                    current["TriggeredBy"] = trigger
                    current["StatusDescription"] = "created for delayed disconnect timeout"
                self.result.followups.append(current)
            ids[a["ID"]] = current["ID"]
        return ids

    # --- section 6

    def compute_group(self, gname, allocs):
        r, now = self.result, self.now
        count = self.counters(gname)
        every = {a["ID"]: a for a in allocs
                 if not server_terminal(a) or (self.batch_alloc(a) and not transition(a, "Reschedule"))}
        tg = group_of(self.job, gname)
        if tg is None or not tg.get("Count"):  # 6.2
            count["Stop"] = len(every)
            self.stop_classes(every.values())
            return True
        wanted, update = tg["Count"], tg.get("Update")
        # 6.3
        c = self.current
        existing = c is not None and (c.get("TaskGroups") or {}).get(gname) is not None
        if existing:
            dst = c["TaskGroups"][gname]
        else:
            dst = {"DesiredTotal": 0}
            if not strategy_empty(update):
                dst.update({k: update.get(k) for k in ("AutoRevert", "AutoPromote", "ProgressDeadline")})
        if self.is_batch:
            gone = [a for a in every.values() if terminal(a) and self.older(a)]
            count["Ignore"] += len(gone)
            for a in gone:
                del every[a["ID"]]
        # 6.4
        placed = set()
        for d in (self.old, c if self.failed else None):
            for s in ((d or {}).get("TaskGroups") or {}).values():
                if s and not s.get("Promoted"):
                    placed |= set(s.get("PlacedCanaries") or [])
        for a in in_k([a for a in every.values() if a["ID"] in placed]):
            self.stop(a, "", NOT_NEEDED)
            count["Stop"] += 1
            del every[a["ID"]]
        canaries = {}
        if c is not None:
            ids = {i for s in (c.get("TaskGroups") or {}).values() for i in (s or {}).get("PlacedCanaries") or []}
            found = {"M": [], "L": [], "U": []}
            for a in in_k([a for a in every.values() if a["ID"] in ids]):
                found.setdefault(self.classify(a), []).append(a)
            for a in found["M"]:
                self.stop(a, "", MIGRATING)
            for a in found["L"]:
                self.stop(a, "lost", LOST)
            for a in found["M"] + found["L"]:
                del every[a["ID"]]
            canaries = {a["ID"]: a for a in found["U"]}
        # 6.5
        sets = {k: {} for k in "UMLDRIX"}
        for a in in_k(every.values()):
            sets[self.classify(a)][a["ID"]] = a
        U, M, L, D, R, I, X = (sets[k] for k in "UMLDRIX")
        count["Ignore"] += len(I)
        # 6.6
        kept, now_list, later = self.filter_reschedulable(U.values(), False)
        U = {a["ID"]: a for a in kept}
        NOW = {a["ID"]: a for a in now_list}
        _, now_list, more = self.filter_reschedulable(M.values(), False)
        NOW.update({a["ID"]: a for a in now_list})
        later += more
        # 6.7
        if R:
            stopped = self.reconcile_reconnecting(R, every, tg)
            count["Stop"] += len(stopped)
            for s in (U, M, L, D):
                for i in stopped:
                    s.pop(i, None)
            for a in in_k([a for a in R.values() if a["ID"] not in stopped]):
                U[a["ID"]] = a
                if a.get("ClientStatus") == "running":
                    copy = dict(a)
                    append_alloc_state(copy, "running", now)
                    r.reconnect.append(copy)
                    count["Reconnect"] += 1
        # 6.8
        L.update(X)
        disconnecting = {}
        if D:
            kept, now_list, more = self.filter_reschedulable(D.values(), True)
            U.update({a["ID"]: a for a in kept})
            NOW.update({a["ID"]: a for a in now_list})
            later += more
            ids = self.followups([(a, now + self.lost_after(a)) for a in D.values()], "max-disconnect-timeout")
            for a in in_k(D.values()):
                copy = dict(a)
                copy["ClientStatus"], copy["ClientDescription"] = "unknown", UNKNOWN
                append_alloc_state(copy, "unknown", now)
                copy["FollowupEvalID"] = ids[a["ID"]]
                disconnecting[a["ID"]] = copy
                r.disconnect.append(copy)
            for i in NOW:
                if i in disconnecting:
                    NOW[i] = disconnecting[i]
            count["Disconnect"] = len(D)
            count["RescheduleNow"] = len(NOW)
            count["RescheduleLater"] = len(later)
        # 6.9
        lost_later = {}
        waiting = []
        for a in in_k(L.values()):
            g = self.group(a)
            after = (((g or {}).get("Disconnect")) or {}).get("StopOnClientAfter")
            if not after:
                continue
            base = next((parse_time(s.get("Time")) for s in a.get("AllocStates") or []
                         if not (s.get("Field") or 0) and s.get("Value") == "lost"), now)
            kill = max([5 * SECOND] + [t.get("KillTimeout") or 0 for t in g.get("Tasks") or []])
            if base + after + kill > now:
                waiting.append((a, base + after + kill))
        if waiting:
            lost_later = self.followups(waiting, "alloc-failure")
        # 6.10
        if later:
            ids = self.followups(later, "alloc-reschedule")
            for a in in_k({x["ID"]: x for x, _ in later}.values()):
                if a["ID"] in disconnecting:
                    disconnecting[a["ID"]]["FollowupEvalID"] = ids[a["ID"]]
                elif a["ID"] in M:
                    M[a["ID"]]["FollowupEvalID"] = ids[a["ID"]]
                else:
                    copy = dict(every[a["ID"]])
                    copy["FollowupEvalID"] = ids[a["ID"]]
                    r.attribute.append(copy)
            count["RescheduleLater"] = len(later)
        # 6.11
        union = {}
        for s in (U, M, NOW, L):
            union.update(s)
        names = NameIndex(self.job_id, gname, wanted, in_k(union.values()), wanted)
        r.names[gname] = names
        # 6.12
        canarying1 = bool(dst.get("DesiredCanaries")) and not dst.get("Promoted")
        S = {}
        for a in in_k(L.values()):
            self.stop(a, "lost", LOST, lost_later.get(a["ID"], ""))
            S[a["ID"]] = a
        W = {i: a for i, a in U.items() if not (canarying1 and i in canaries)}
        remove = sum(1 for a in W.values() if a.get("ClientStatus") != "unknown") + len(M) - wanted
        if remove > 0:
            W = {i: a for i, a in W.items() if not server_terminal(a)}
            self.select_stops(remove, W, M, canaries, canarying1, names, S, wanted, gname)
        count["Stop"] += len(S)
        U = {i: a for i, a in U.items() if i not in S}
        # 6.13
        DEST, inplace = {}, 0
        for a in in_k(U.values()):
            what, copy = self.update(a, self.job, tg)
            if what == "ignore":
                count["Ignore"] += 1
            elif what == "inplace":
                inplace += 1
                r.inplace.append(copy)
            else:
                DEST[a["ID"]] = a
        count["InPlaceUpdate"] += inplace
        if not existing:
            dst["DesiredTotal"] = (dst.get("DesiredTotal") or 0) + len(DEST) + inplace
        if canarying1:
            U = {i: a for i, a in U.items() if i not in canaries}
        # 6.14
        place = []
        canary_count = (update or {}).get("Canary") or 0
        need_canaries = (update is not None and bool(DEST) and len(canaries) < canary_count and not dst.get("Promoted"))
        if need_canaries:
            dst["DesiredCanaries"] = canary_count
            if not self.paused and not self.failed:
                count["Canary"] += canary_count - len(canaries)
                for n in names.next_canaries(count["Canary"], canaries.values(), in_k(DEST.values())):
                    place.append(Placement(n, tg, canary=True))
        canarying2 = bool(dst.get("DesiredCanaries")) and not dst.get("Promoted")
        # 6.15
        limit = self.limit(wanted, update, DEST, M, U, canarying2)
        PL = []
        if not lost_later:
            for a in in_k(NOW.values()):
                PL.append(Placement(a.get("Name"), tg, is_canary(a), a, reschedule=True,
                                    downgrade=canarying2 and not is_canary(a), min_version=self.version(a)))
            have = len(U) + len(M) + len(NOW)
            for a in in_k(L.values()):
                if have >= wanted:
                    break
                have += 1
                PL.append(Placement(a.get("Name"), tg, is_canary(a), a, lost=True,
                                    downgrade=canarying2 and not is_canary(a), min_version=self.version(a)))
            if have < wanted:
                for n in names.next(wanted - have):
                    PL.append(Placement(n, tg, downgrade=canarying2))
            if not existing:
                dst["DesiredTotal"] = (dst.get("DesiredTotal") or 0) + len(PL)
        ready = not self.paused and not self.failed and not canarying2
        if ready:
            count["Place"] += len(PL)
            place += PL
            for a in in_k(NOW.values()):
                if a["ID"] in disconnecting or a["ID"] in M or a.get("ClientStatus") == "unknown":
                    continue
                self.stop(a, "", RESCHEDULED)
                count["Stop"] += 1
            limit -= min(len(PL), limit)
        else:
            if L:
                n = min(len(L), len(PL))
                count["Place"] += n
                place += PL[:n]
            if NOW and PL:
                for p in PL:
                    if not p.reschedule:
                        continue
                    if self.failed and c is not None and p.previous.get("DeploymentID") == c["ID"]:
                        continue
                    count["Place"] += 1
                    place.append(p)
                    if p.previous["ID"] not in disconnecting:
                        self.stop(p.previous, "", RESCHEDULED)
                        count["Stop"] += 1
        if ready:
            n = max(0, min(len(DEST), limit))
            count["DestructiveUpdate"] += n
            count["Ignore"] += len(DEST) - n
            for a in in_k(DEST.values())[:n]:
                r.destructive.append(Placement(a.get("Name"), tg, previous=a, stop_previous=True))
        else:
            count["Ignore"] += len(DEST)
        count["Migrate"] += len(M)
        for a in in_k(M.values()):
            self.stop(a, "", MIGRATING)
            if self.batch_alloc(a) and (transition(a, "Reschedule") or transition(a, "MigrateDisablePlacement")):
                continue
            place.append(Placement(a.get("Name"), tg, is_canary(a), a, downgrade=canarying2 and not is_canary(a),
                                   min_version=self.version(a)))
        # 6.16
        had_running = any(self.version(a) == (self.job.get("Version") or 0)
                          and self.create(a) == (self.job.get("CreateIndex") or 0) for a in every.values())
        if not (existing or strategy_empty(update) or not dst.get("DesiredTotal")
                or (had_running and not DEST and not inplace)):
            if self.current is None:
                self.current = {
                    "ID": self.new_id("deployment"), "Namespace": self.job["Namespace"], "JobID": self.job["ID"],
                    "JobVersion": self.job.get("Version") or 0, "JobModifyIndex": self.job.get("ModifyIndex") or 0,
                    "JobSpecModifyIndex": self.job.get("JobModifyIndex") or 0,
                    "JobCreateIndex": self.job.get("CreateIndex") or 0, "TaskGroups": {},
                    "IsMultiregion": bool((self.job.get("Multiregion") or {}).get("Regions")),
                    "Status": "running", "StatusDescription": "Deployment is running",
                    "EvalPriority": self.evaluation.get("Priority") or 0, "CreateTime": now}
                r.deployment = self.current
            if self.current.get("TaskGroups") is None:
                self.current["TaskGroups"] = {}
            self.current["TaskGroups"][gname] = dst
        c = self.current
        if c is not None and c["Status"] == "initializing":
            r.deployment = c
        if len(place) > wanted:
            place = place[:wanted]
            count["Place"] = wanted
        r.place += place
        # R-RECON-213, R-RECON-214
        if DEST or inplace or place or M or NOW or later or need_canaries or c is None:
            return False
        state = (c.get("TaskGroups") or {}).get(gname)
        if state is not None:
            canaries_wanted = state.get("DesiredCanaries") or 0
            if (state.get("HealthyAllocs") or 0) < max(state.get("DesiredTotal") or 0, canaries_wanted):
                return False
            if canaries_wanted > 0 and not state.get("Promoted"):
                return False
        return True

    def select_stops(self, remove, W, M, canaries, canarying1, names, S, wanted, gname):
        """R-RECON-169 to R-RECON-173."""
        def take(a, table):
            nonlocal remove
            S[a["ID"]] = a
            table.pop(a["ID"], None)
            self.stop(a, "", NOT_NEEDED)
            remove -= 1
            return remove == 0

        if not canarying1 and canaries:
            held = {a.get("Name") for a in canaries.values()}
            for a in reversed(in_k([a for i, a in W.items() if i not in canaries])):
                if a.get("Name") in held and take(a, W):
                    return
        if M:
            top = NameIndex(self.job_id, gname, wanted, in_k(M.values()), wanted).highest(remove)
            for a in reversed(in_k(M.values())):
                if a.get("Name") in top:
                    names.unset(name_index(a))
                    if take(a, M):
                        return
        top = names.highest(remove)
        for a in reversed(in_k(W.values())):
            if a.get("Name") in top and take(a, W):
                return
        for a in reversed(in_k(W.values())):
            if take(a, W):
                return

    def limit(self, wanted, update, DEST, M, U, canarying2):
        """R-RECON-183."""
        if strategy_empty(update) or len(DEST) + len(M) == 0:
            return wanted
        if self.current is None:
            return update["MaxParallel"]
        if self.paused or self.failed or canarying2:
            return 0
        limit = update["MaxParallel"]
        for a in U.values():
            if a.get("DeploymentID") != self.current["ID"]:
                continue
            if health(a) is False:
                return 0
            if health(a) is not True:
                limit -= 1
        return max(0, limit)
