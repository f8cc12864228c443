"""A second generator of evaluations, apart from generate.py: states made to have wanted features.

generate.py walks: one event after another. Here two jobs are placed. Then nodes, allocations, deployment and job
version are rewritten at once to what the wanted features need, and evaluated; two more rewritings follow."""
import copy
import hashlib
import json

from features import DEPLOYMENT, DIFFERS, STATE, TYPES
from state import format_time
from world import SECOND, World, uuid

MINUTE = 60 * SECOND


# Features that together lead to a part of the rules which few evaluations reach. "tight": few small nodes and an
# urgent job, "same": no new version of the job.
STORIES = [
    "type service + allocation replaced + lost_after + same",
    "type service + allocation replaced + keep_original + same",
    "type service + allocation replaced + keep_replacement + same",
    "type service + allocation replaced + longest_running + same",
    "type batch + allocation replaced + lost_after + same",
    "type service + allocation reconnecting + lost_after + same",
    "type service + allocation failed while disconnected + lost_after + same",
    "never replaced + allocation disconnected node + allocation running",
    "never replaced + allocation down node + allocation unknown",
    "type service + stop_on_client_after + allocation down node + same",
    "type service + stop_on_client_after + allocation lost + allocation gone node",
    "type batch + max run duration + version differs: constraint",
    "type batch + max run duration + version differs: priority",
    "type sysbatch + max run duration + version differs: constraint + allocation complete",
    "type service + limited reschedules + allocation earlier reschedules + same",
    "type batch + limited reschedules + allocation earlier reschedules + same",
    "type service + fibonacci delay + allocation earlier reschedules + same",
    "type service + constant delay + allocation earlier reschedules",
    "type service + limited reschedules + allocation reschedule failed + allocation stopping",
    "no reschedules + allocation failed + same",
    "type batch + allocation complete + allocation stopping",
    "type batch + allocation reschedule failed + allocation stopping",
    "type batch + allocation migrating, not replaced + allocation complete",
    "type batch + allocation evicted + allocation failed",
    "type service + canaries + deployment with canaries + deployment running + version differs: pool "
    "+ allocation failed",
    "type service + canaries + deployment with canaries + deployment running + version differs: datacenters "
    "+ allocation down node",
    "type service + canaries + deployment with canaries + deployment promoted + version differs: config",
    "type service + deployment failed + allocation failed + update block",
    "type service + deployment paused + allocation failed + update block",
    "type service + deployment with canaries + allocation migrating + allocation canary",
    "type service + count 0 + deployment running",
    "type system + canaries + version differs: config",
    "type system + canaries + version differs: config + deployment with canaries",
    "type system + canaries + deployment promoted + version differs: ask",
    "type system + update block + version differs: config + allocation draining node",
    "type system + lost_after + allocation reconnecting",
    "type system + allocation unknown + allocation disconnected node",
    "type sysbatch + allocation complete + version differs: config", "type sysbatch + allocation failed + same",
    "type service + task network + config preemption + tight", "type batch + task network + config preemption + tight",
    "type service + static port + config preemption + tight", "type system + static port + config preemption + tight",
    "type sysbatch + device + config preemption + tight", "type service + two devices + config preemption + tight",
    "type batch + cores + config preemption + tight",
    "type service + affinity + spread targets + config preemption + tight",
    "type service + CSI volume + constraint distinct_property", "type batch + CSI volume + volume per allocation",
    "type service + sticky volume + version differs: config", "type service + sticky disk + allocation failed + same",
    "type service + groups differ in network + escaped constraint + version differs: ask + version differs: count",
    "type batch + groups differ in network + escaped constraint + version differs: ask + version differs: count",
    "type service + groups differ in network + version differs: count + tight",
    "type batch + groups differ in network + same + tight",
    "type service + constant spreads + even spread + same", "type batch + constant spreads + version differs: count",
    "type service + sticky volume + claim of a removed allocation + version differs: count",
    "type batch + sticky volume + claim of a removed allocation + version differs: ask",
    "type service + host network + network none + two groups",
    "type service + spread targets + even spread + negative affinity",
]


class Snapshot(World):
    def __init__(self, seed, wanted=(), story=False):
        super().__init__(seed)
        if story:
            wanted = {*wanted, *self.pick(*STORIES).split(" + ")}
        self.wanted = sorted(wanted)
        self.twins = "groups differ in network" in self.wanted  # and in nothing else
        if self.twins and self.chance(0.5):  # what leads to Selects of both groups in turn
            self.wanted = sorted({*self.wanted, "escaped constraint", "version differs: ask", "version differs: count",
                                  self.among("", ["type " + t for t in TYPES]) or "type service"})
        self.make_cluster()

    def wants(self, feature, otherwise=0.0):
        return feature in self.wanted or self.chance(otherwise)

    def among(self, prefix, names):
        """The wanted one of these features, else None."""
        found = [n for n in names if f"{prefix}{n}" in self.wanted]
        return self.rng.choice(found) if found else None

    # --- cluster: racks of equal machines, two of which are special

    def make_cluster(self):
        tight = "tight" in self.wanted
        self.roomy = self.chance(0.6) and not tight
        for i in range(3 if tight else self.rng.randint(3, 8) if self.chance(0.95) else self.rng.randint(20, 70)):
            self.nodes.append(self.make_node(i))
        self.pools = [{"Name": n, "CreateIndex": 1, "ModifyIndex": 1} for n in ("all", "default", "gpu")]
        if self.wants("config of a pool", 0.1):
            for p in self.pools:
                p["SchedulerConfiguration"] = {"SchedulerAlgorithm": self.pick("spread", "binpack"),
                                               "MemoryOversubscriptionEnabled": self.chance(0.5)}
        on = self.wants("config preemption") or (not self.wants("config no preemption") and self.chance(0.6))
        kinds = ("SystemSchedulerEnabled", "SysBatchSchedulerEnabled", "BatchSchedulerEnabled",
                 "ServiceSchedulerEnabled")
        self.config = {"SchedulerAlgorithm": "spread" if self.wants("config spread", 0.3) else "binpack",
                       "MemoryOversubscriptionEnabled": self.wants("config oversubscription", 0.3),
                       "NodeLimitForFeasibilityChecks": self.pick(1, 3) if self.wants("config node limit", 0.2) else 0,
                       "PreemptionConfig": {k: on for k in kinds}, "CreateIndex": 5, "ModifyIndex": 5}

    def make_node(self, i):
        rack, dc = f"r{i % 3 + 1}", "dc2" if i % 4 == 3 else "dc1"
        attrs = {"kernel.name": "linux", "nomad.version": "1.10.2" if self.wants("nodes older than 1.11.0", 0.12)
                 else "2.0.5", "os.version": self.pick("22.04", "20.10"),
                 "driver.docker": "1", "driver.exec": "1"}
        meta = {"rack": rack, "tags": "a,b" if i % 2 else "b, c"}
        devices = []
        if i % 2 == 0:
            devices.append({"Vendor": "nvidia", "Type": "gpu", "Name": "t4",
                            "Attributes": {"memory": {"Int": 16, "Unit": "GiB"}},
                            "Instances": [{"ID": f"t{i}-{n}", "Healthy": True} for n in range(3)]})
        if self.chance(0.1):
            del meta["rack"]
        attrs.update({"value": self.pick(*VALUES), "unique.value": self.pick(*VALUES),
                      "alias": self.pick("default", "public", "none")})
        if self.chance(0.9):
            attrs["plugins.secrets.vault.version"] = "1"
        if i % 3 == 1:
            devices.append({"Vendor": "intel", "Type": "fpga", "Name": "a10",
                            "Attributes": {"memory": {"Int": 8, "Unit": "GB"}},
                            "Instances": [{"ID": f"f{i}-{n}", "Healthy": n > 0} for n in range(3)]})
        shape = json.dumps([dc, attrs, meta, [(d["Name"], d["Attributes"]) for d in devices]], sort_keys=True)
        ip = f"10.1.0.{i + 1}"
        node = {"ID": uuid(self.rng), "SecretID": "", "Name": f"m{i}", "Datacenter": dc, "NodePool": "gpu" if i == 2
                else "default",
                "NodeClass": self.pick("", "big"), "Meta": meta,
                "Attributes": dict(attrs, **{"unique.parity": str(i % 2)}),
                "ComputedClass": "v1:" + str(int(hashlib.sha1(shape.encode()).hexdigest()[:15], 16)),
                "NodeResources": {
                    "Processors": {"Topology": {"Nodes": [0], "Distances": [[10]], "Cores": [
                        {"SocketID": 0, "NodeID": 0, "ID": c, "Grade": True, "BaseSpeed": 2000, "Disable": c == 2
                         and i % 4 == 0}
                        for c in range(4)]}},
                    "Cpu": {"CpuShares": 8000, "TotalCpuCores": 4},
                    "Memory": {"MemoryMB": 8000 if self.roomy else self.pick(1500, 2500)},
                    "Disk": {"DiskMB": 9000 if self.roomy else self.pick(600, 9000)},
                    "Networks": [{"Mode": "host", "Device": "eth0", "CIDR": ip + "/32", "IP": ip, "MBits": 1000}]
                    + [{"Mode": "bridge", "Device": "nomad"}] * self.chance(0.4 if self.twins else 0.85),
                    "NodeNetworks": [{"Mode": "host", "Device": "eth0", "Speed": 1000, "Addresses": [
                        {"Family": "ipv4", "Alias": "default", "Address": ip, "ReservedPorts": ""},
                        {"Family": "ipv4", "Alias": "public", "Address": f"192.168.1.{i + 1}",
                         "ReservedPorts": "9100"}]}],
                    "Devices": devices, "MinDynamicPort": 25000, "MaxDynamicPort": self.pick(25001, 25100)},
                "ReservedResources": {"Cpu": {"CpuShares": self.pick(0, 200)}, "Memory": {"MemoryMB": 100},
                                      "Disk": {"DiskMB": 0},
                                      "Networks": {"ReservedHostPorts": "22"}},
                "Drivers": {"docker": {"Detected": True, "Healthy": True},
                            "exec": {"Detected": True, "Healthy": i % 5 != 4}},
                "HostVolumes": {"data": {"ID": "", "Name": "data", "Path": "/srv", "ReadOnly": i % 4 == 2}},
                "CSINodePlugins": {"ebs": {"PluginID": "ebs", "Healthy": i % 5 != 3, "NodeInfo": {
                    "ID": f"m{i}", "MaxVolumes": self.pick(1, 4, 4),
                    "AccessibleTopology": {"Segments": {"zone": f"z{i % 2}"}}}}},
                "Status": "ready", "SchedulingEligibility": "eligible", "NodeMaxAllocs": self.pick(3, 4)
                if self.wants("nodes with an allocation limit", 0.12) else 0,
                "CreateIndex": 10 + i, "ModifyIndex": 10 + i}
        for name in ("kept", "kept[0]", "kept[1]"):
            v = {"ID": uuid(self.rng), "Name": name, "Namespace": "default", "NodeID": node["ID"],
                 "NodePool": node["NodePool"],
                 "PluginID": "mkdir", "State": "ready", "CreateIndex": 50, "ModifyIndex": 50, "RequestedCapabilities": [
                     {"AccessMode": m, "AttachmentMode": "file-system"}
                     for m in ("single-node-writer", "single-node-single-writer", "single-node-reader-only",
                               "single-node-multi-writer")]}
            node["HostVolumes"][name] = {"ID": v["ID"], "Name": name, "Path": "/k", "ReadOnly": False}
            self.volumes.append(v)
        if not self.csi:
            self.csi = {"CSIVolumes": [{"ID": vid, "Name": vid, "Namespace": "default", "PluginID": "ebs",
                                        "AccessMode": self.pick("multi-node-multi-writer", "single-node-writer", ""),
                                        "AttachmentMode": "file-system", "CreateIndex": 51, "ModifyIndex": 51,
                                        "Schedulable": True,
                                        "Topologies": self.pick([], [], [{"Segments": {"zone": "z1"}}]),
                                        "RequestedCapabilities": [{"AccessMode": "multi-node-multi-writer",
                                                                   "AttachmentMode": "file-system"}]}
                                       for vid in ("shared", "shared[0]", "shared[1]")],
                        "CSIPlugins": [{"ID": "ebs", "ControllerRequired": self.chance(0.1),
                                        "ControllersHealthy": self.pick(0, 1),
                                        "NodesHealthy": self.pick(0, 3, 3, 3, 3, 3), "CreateIndex": 51,
                                        "ModifyIndex": 51}]}
            if self.chance(0.15):
                self.csi["CSIVolumes"].pop()
        return node

    # --- jobs

    def make_job(self, kind):
        job = {"ID": "main", "Name": "main", "Namespace": "default", "Region": "global", "Type": kind,
               "Priority": self.pick(50, 70),
               "Datacenters": ["*"], "NodePool": "default", "TaskGroups": [self.make_group("g1")], "Version": 0,
               "Status": "pending",
               "Stop": False, "Update": {"Stagger": 30 * SECOND, "MaxParallel": 0}}
        if not self.twins and ("two groups" in self.wanted or self.chance(0.3)):
            job["TaskGroups"].append(self.make_group("g2"))
        mine = [f for f in self.wanted if f in SETTERS and f != "groups differ in network"]
        for f in mine + [self.rng.choice(sorted(SETTERS)) for _ in range(self.pick(0, 0, 1, 1, 2))]:
            g = self.rng.choice(job["TaskGroups"])
            SETTERS[f](self, job, g, g["Tasks"][-1])
        if self.chance(0.25) or any("details" in f for f in self.wanted):
            enrich(self.rng.choice(job["TaskGroups"]))
        if self.twins:
            differ_in_network(self, job)
        job["AllAtOnce"] = self.chance(0.04)
        if kind == "service" and self.chance(0.06):
            job["Multiregion"] = {"Regions": [{"Name": "global"}, {"Name": "far"}]}
        if kind == "service" and self.chance(0.5) and not any("Update" in g for g in job["TaskGroups"]):
            SETTERS["update block"](self, job, job["TaskGroups"][0], None)
        return job

    def make_group(self, name):
        return {"Name": name, "Count": self.pick(1, 2, 3, 4) if len(self.nodes) < 20 else self.pick(3, 12), "Tasks": [
            {"Name": "t1", "Driver": "docker", "Config": {"image": "v1"}, "KillTimeout": 5 * SECOND,
             "Resources": {"CPU": self.pick(300, 1200), "MemoryMB": self.pick(200, 600)},
             "LogConfig": {"MaxFiles": 1, "MaxFileSizeMB": 1}}],
                "EphemeralDisk": {"Sticky": False, "Migrate": False, "SizeMB": self.pick(150, 400)},
                "RestartPolicy": {"Attempts": 1, "Interval": MINUTE, "Delay": SECOND, "Mode": "fail"},
                "ReschedulePolicy": {"Attempts": 0, "Interval": 0, "Delay": 5 * SECOND, "DelayFunction": "exponential",
                                     "MaxDelay": 60 * SECOND, "Unlimited": True}}

    def differ(self, job, what):
        for g in job["TaskGroups"] if self.twins else [self.rng.choice(job["TaskGroups"])]:
            DIFFERENCES[what](self, job, g, g["Tasks"][-1])

    def register(self, job, **fields):
        job.update(fields)
        legal(job)
        job["ModifyIndex"] = job["JobModifyIndex"] = self.tick()
        job.setdefault("CreateIndex", job["ModifyIndex"])
        self.store(job)

    # --- rewriting

    def own(self):
        return [a for a in sorted(self.allocs.values(), key=lambda a: a["ID"]) if a["JobID"] == "main"]

    def rewrite(self):
        """Makes the state have the wanted features, and a few more."""
        job = copy.deepcopy(self.jobs[self.current["main"]])
        changes = [d for d in DIFFERS if f"version differs: {d}" in self.wanted] or (
            [self.pick(*DIFFERS)] if self.chance(0.5) and "same" not in self.wanted else [])
        stop = "job stopped" in self.wanted or self.chance(0.03)
        if changes or stop or job["Stop"]:
            job["Version"] += 1
            for d in changes:
                self.differ(job, d)
            self.register(job, Stop=stop)
        self.rewrite_deployment(job)
        allocs = self.own()
        self.rng.shuffle(allocs)
        kinds = [k for k in STATE if "allocation " + k in self.wanted]
        kinds += [self.pick(*STATE) for _ in range(self.pick(0, 1, 2, 3))]
        one = self.chance(0.4)  # all of them in one allocation, else one after another
        for n, kind in enumerate(kinds):
            live = [a for a in allocs if a["DesiredStatus"] == "run"] or allocs
            if live:
                ALLOCATION[kind](self, live[0 if one else n % len(live)], job)
        for v in self.csi["CSIVolumes"]:
            holders = self.rng.sample(sorted(self.allocs) + [uuid(self.rng)], self.pick(0, 0, 0, 1))
            v["WriteAllocs"] = dict.fromkeys(holders)
            if holders and self.chance(0.5):
                v["AccessMode"] = "single-node-writer"
        for a in allocs:
            a["ModifyIndex"], a["ModifyTime"] = self.tick(), self.now
        if "job purged" in self.wanted:
            del self.current["main"]
            self.claims = [c for c in self.claims if c["JobID"] != "main"]  # R-STORE-223
        elif self.wants("claim of a removed allocation", 0.05):
            self.lose_claimant(job)

    def lose_claimant(self, job):
        """A claim of the job on a sticky volume stays, but its allocation was garbage collected."""
        mine = [c for c in self.claims if c["JobID"] == "main"]
        if not mine:
            v = self.rng.choice([v for v in self.volumes if v["Name"] == "kept"])
            mine = [{"ID": uuid(self.rng), "Namespace": "default", "JobID": "main",
                     "TaskGroupName": self.rng.choice(job["TaskGroups"])["Name"],
                     "VolumeID": v["ID"], "VolumeName": v["Name"], "CreateIndex": self.tick(),
                     "ModifyIndex": self.index}]
            self.claims += mine
        self.rng.choice(mine)["AllocID"] = uuid(self.rng)

    def rewrite_deployment(self, job):
        mine = [d for d in self.deployments.values() if d["JobID"] == "main"]
        status = self.among("deployment ", DEPLOYMENT)
        if job["Type"] in ("batch", "sysbatch"):
            return
        if (not mine and (status or any(f.startswith("deployment") for f in self.wanted))) or (
                mine and "deployment with canaries" in self.wanted and self.chance(0.5)):
            d = {"ID": uuid(self.rng), "Namespace": "default", "JobID": "main", "JobVersion": job["Version"],
                 "JobModifyIndex": job["ModifyIndex"], "JobSpecModifyIndex": job["JobModifyIndex"],
                 "JobCreateIndex": job["CreateIndex"],
                 "TaskGroups": {g["Name"]: {"DesiredTotal": g["Count"], "ProgressDeadline": 10 * MINUTE}
                                for g in job["TaskGroups"]},
                 "Status": "running", "StatusDescription": "Deployment is running", "EvalPriority": job["Priority"],
                 "CreateTime": self.now,
                 "CreateIndex": self.tick(), "ModifyIndex": self.index}
            self.deployments[d["ID"]] = d
            mine.append(d)
        if not mine:
            return
        d = max(mine, key=lambda d: d["CreateIndex"])
        d["ModifyIndex"] = self.tick()
        d["Status"] = status or (self.pick(*DEPLOYMENT) if self.chance(0.2) else d["Status"])
        if "deployment of an older version" not in self.wanted and self.chance(0.7):
            d.update({"JobVersion": job["Version"], "JobModifyIndex": job["ModifyIndex"],
                      "JobSpecModifyIndex": job["JobModifyIndex"]})
        elif "deployment of an older version" in self.wanted and d["JobVersion"] == job["Version"]:
            job = copy.deepcopy(job)
            job["Version"] += 1
            self.register(job)
        for name, g in (d.get("TaskGroups") or {}).items():
            if g is None:
                continue
            live = [a for a in self.own() if a["TaskGroup"] == name and a["DesiredStatus"] == "run"]
            if "deployment with canaries" in self.wanted or self.chance(0.2):
                for a in self.rng.sample(live, min(len(live), self.pick(1, 2))):
                    a["DeploymentID"] = d["ID"]
                    a["DeploymentStatus"] = {"Canary": True, "Healthy": self.chance(0.7)}
                g["PlacedCanaries"] = [a["ID"] for a in live if (a.get("DeploymentStatus") or {}).get("Canary")]
                g["DesiredCanaries"] = self.pick(1, 2)
            g["Promoted"] = "deployment promoted" in self.wanted or self.chance(0.15)

    # --- evaluations

    def evaluation(self, job_id, kind, **fields):
        e = {"ID": uuid(self.rng), "Namespace": "default", "JobID": job_id, "Type": kind, "Priority": self.pick(50, 70),
             "TriggeredBy": "job-register", "Status": "pending", "CreateTime": self.now, "ModifyTime": self.now}
        if job_id in self.current:
            e["JobModifyIndex"] = self.jobs[self.current[job_id]]["JobModifyIndex"]
        e["CreateIndex"] = e["ModifyIndex"] = self.tick()
        e.update(fields)
        return e

    def settle(self):
        """Clients take up what was placed."""
        for a in self.allocs.values():
            if a["DesiredStatus"] == "run" and a["ClientStatus"] == "pending" and self.chance(0.85):
                a["ClientStatus"] = "running"
                a["TaskStates"] = {"t1": {"State": "running",
                                          "StartedAt": format_time(self.now - self.pick(1, 9) * SECOND)}}
                if a.get("DeploymentID") and self.chance(0.7):
                    a["DeploymentStatus"] = dict(a.get("DeploymentStatus") or {}, Healthy=True)

    def vectors(self):
        kind = self.among("type ", TYPES) or self.pick(*TYPES)
        job = self.make_job(kind)
        twin = copy.deepcopy(job)
        twin.update({"ID": "twin", "Name": "twin", "Priority": 20 if "tight" in self.wanted
                     else self.pick(10, 30, 50, 90), "Stop": False})
        for d in [d for d in DIFFERS if f"other job differs: {d}" in self.wanted] or [self.pick(*DIFFERS)]:
            self.differ(twin, d)
        for g in twin["TaskGroups"]:
            g["Count"] = g["Count"] or 1
        if self.chance(0.3):
            twin["Type"] = self.pick(*TYPES)
            if twin["Type"] != "service":
                twin.pop("Multiregion",
                         None)  # only service jobs have it here; the community edition refuses it (R-MODEL-10)
        old = copy.deepcopy(job)  # its first version must place something
        for g in old["TaskGroups"]:
            g["Count"] = g["Count"] or 2
        self.register(twin)
        yield self.step(0, "twin", twin["Type"], "apply")
        self.register(old)
        yield self.step(1, "main", kind, self.pick("apply", "apply", "partial"))
        self.settle()
        for n in (2, 3, 4):
            self.now += self.pick(1, 20, 90) * SECOND
            if n == 2 and [g["Count"] for g in job["TaskGroups"]] != [g["Count"] for g in old["TaskGroups"]]:
                new = copy.deepcopy(self.jobs[self.current["main"]])
                for g, h in zip(new["TaskGroups"], job["TaskGroups"]):
                    g["Count"] = h["Count"]
                new["Version"] += 1
                self.register(new)
            self.rewrite()
            fields = {"AnnotatePlan": self.wants("evaluation annotated", 0.15)}
            if self.wants("evaluation delayed", 0.08):
                fields["WaitUntil"] = format_time(self.now - self.pick(0, 5) * SECOND)
            if self.wants("evaluation blocked", 0.08):
                fields["Status"] = "blocked"
            if self.waiting and self.chance(0.5):
                fields["ID"] = self.waiting
            planner = self.among("planner ", ("apply", "nosubmit", "reject", "partial")) or self.pick(
                "apply", "apply", "partial", "reject", "nosubmit")
            yield self.step(n, "main", kind, planner, **fields)
            if "main" not in self.current:
                return
            self.settle()

    waiting = None  # the evaluation that an allocation waits for

    def step(self, n, job_id, kind, planner, **fields):
        return self.decide(f"snapshot/{self.seed}/{n}", self.evaluation(job_id, kind, **fields), planner)


def legal(job):
    """What registration demands of the job's type."""
    per_node = job["Type"] in ("system", "sysbatch")
    for g in job["TaskGroups"]:
        if job["Type"] in ("batch", "sysbatch"):
            g.pop("Update", None)
        else:
            g.pop("MaxRunDuration", None)
        if per_node:
            g.pop("ReschedulePolicy", None)
        if job["Type"] == "system":
            g["Count"] = min(g["Count"], 1)
            block = g.get("Update") or {}
            if 0 < block.get("Canary", 0) < 10:
                block["Canary"] *= 30  # a percentage here (R-SCHED-173)
            for level in (job, g, *g["Tasks"]):
                level.pop("Affinities", None)
                level.pop("Spreads", None)


# --- features of a job: (world, job, group, task) --------------------------------------------------------------------

def rule(left, op, right="", **more):
    return dict({"LTarget": left, "Operand": op, "RTarget": right}, **more)


def grow(key, item, at_task=True):
    def change(s, job, group, task):
        level = s.pick(job, group, task) if at_task else s.pick(job, group)
        level[key] = (level.get(key) or []) + [copy.deepcopy(item)]
    return change


def group_field(key, field, *values):
    def change(s, job, group, task):
        group[key] = dict(group.get(key) or {}, **{field: s.rng.choice(values)})
    return change


def ask(key, *values):
    def change(s, job, group, task):
        task["Resources"][key] = copy.deepcopy(s.rng.choice(values))
    return change


def set_job(key, *values):
    def change(s, job, group, task):
        job[key] = copy.deepcopy(s.rng.choice(values))
    return change


def network(mode=None, static=None, dynamic=None, alias="default", free=False):
    def change(s, job, group, task):
        n = (group.get("Networks") or [{"Mode": "host"}])[0]
        if mode:
            n["Mode"] = mode
            if mode == "none":
                n.pop("ReservedPorts", None)
                n.pop("DynamicPorts", None)
        label = f"p{s.rng.randrange(1000)}"
        if static:
            port = {"Label": label, "Value": s.rng.choice(static), "To": 0, "HostNetwork": alias}
            if free:
                port["IgnoreCollision"] = True
            n["ReservedPorts"] = (n.get("ReservedPorts") or []) + [port]
        if dynamic:
            n["DynamicPorts"] = (n.get("DynamicPorts") or []) + [
                {"Label": label, "Value": 0, "To": s.pick(0, -1, 80), "HostNetwork": alias}]
        group["Networks"] = [n]
    return change


def volume(alias, **fields):
    def change(s, job, group, task):
        group["Volumes"] = dict(group.get("Volumes") or {}, **{alias: {"Name": alias, **fields}})
    return change


def lifecycle(hook, sidecar):
    def change(s, job, group, task):
        t = copy.deepcopy(group["Tasks"][-1])
        t.update({"Name": f"a{len(group['Tasks'])}", "Lifecycle": {"Hook": hook, "Sidecar": sidecar}})
        group["Tasks"].insert(0, t)
    return change


def update(**fields):
    def change(s, job, group, task):
        block = {"Stagger": 30 * SECOND, "MaxParallel": s.pick(1, 2), "Canary": 0, "AutoPromote": False,
                 "AutoRevert": False,
                 "HealthCheck": "checks", "MinHealthyTime": 10 * SECOND, "HealthyDeadline": 5 * MINUTE,
                 "ProgressDeadline": 10 * MINUTE}
        group["Update"] = dict(group.get("Update") or block, **fields)
    return change


def device(**fields):
    def change(s, job, group, task):
        d = dict((task["Resources"].get("Devices") or [{"Name": s.pick("gpu", "nvidia/gpu", "gpu", "fpga"),
                                                        "Count": 1}])[0], **fields)
        task["Resources"]["Devices"] = [copy.deepcopy(d)]
    return change


def group_count(*values):
    def change(s, job, group, task):
        more = [v for v in values if v > group["Count"] and s.twins]
        group["Count"] = s.rng.choice(more or [v for v in values if v != group["Count"]])
    return change


VALUES = ("", "1", "1.5", "0x10", "abc", "1.2.3", "1.2.3-beta.2", "1.2.3-rc", "v1.2", "10", "-3", "1.2.3.4",
          "1.10.0+x", "9")
WANTED_VERSIONS = (">= 1.2", "~> 1.2", "~> 1.2.3-beta", "< 1.10, > 0.9", "= 1.2.3-beta.2", "!= 1.5", "1.5",
                   "> 1.2.3-alpha", "<= 9", "nonsense", "")


def some_rule(op, usual):
    """Mostly a constraint that most nodes pass, at times one of odd values."""
    def change(s, job, group, task):
        odd = rule(s.pick("${attr.value}", "${attr.unique.value}"), op,
                   s.pick(*(WANTED_VERSIONS if op in ("version", "semver") else VALUES)))
        grow("Constraints", s.pick(usual, usual, odd))(s, job, group, task)
    return change


TARGETS = [{"Value": "r1", "Percent": 50}, {"Value": "r2", "Percent": 30}]
SETTERS = {
    "count 0": lambda s, job, group, task: group.update(Count=0),
    "datacenters": set_job("Datacenters", ["dc1"], ["dc*", "x"], ["dc2", "dc1"]),
    "pool": set_job("NodePool", "gpu"), "pool all": set_job("NodePool", "all"),
    "lifecycle prestart": lifecycle("prestart", False), "lifecycle sidecar": lifecycle("prestart", True),
    "lifecycle poststart": lifecycle("poststart", False), "lifecycle poststop": lifecycle("poststop", False),
    "sticky disk": group_field("EphemeralDisk", "Sticky", True),
    "migrated disk": group_field("EphemeralDisk", "Migrate", True),
    "cores": ask("Cores", 1, 2), "memory max": ask("MemoryMaxMB", 1000, -1),
    "max run duration": lambda s, job, group, task: group.update(MaxRunDuration=10 * MINUTE),
    "affinity": grow("Affinities", rule("${meta.rack}", "=", "r2", Weight=60)),
    "negative affinity": grow("Affinities", rule("${node.datacenter}", "=", "dc2", Weight=-30)),
    "even spread": grow("Spreads", {"Attribute": "${meta.rack}", "Weight": 40}, False),
    "spread targets": grow("Spreads", {"Attribute": "${meta.rack}", "Weight": 80, "SpreadTarget": TARGETS}, False),
    "constant spreads": lambda s, job, group, task: group.update(Spreads=(group.get("Spreads") or []) + [
        {"Attribute": a, "Weight": s.pick(30, 70), "SpreadTarget": s.pick([], [{"Value": v, "Percent": 60}])}
        for a, v in s.rng.sample([("1", "1"), ("r1", "r1"), ("all", "r1")], 2)]),
    "groups differ in network": lambda s, job, group, task: differ_in_network(s, job),
    "network host": network("host"), "network bridge": network("bridge"), "network none": network("none"),
    "static port": network(static=[8080, 9100]), "dynamic port": network(dynamic=True),
    "port that may collide": network(static=[9100, 8080], free=True),
    "host network": lambda s, job, group, task: network(dynamic=True,
                                                        alias=s.pick("public", "public", "${attr.alias}",
                                                                     "${attr.none}"))(
        s, job, group, task),
    "task network": ask("Networks", [{"MBits": 600, "DynamicPorts": [{"Label": "x", "Value": 0, "To": 0}]}],
                        [{"MBits": 400, "DynamicPorts": [{"Label": "x", "Value": 0, "To": 0}]}],
                        [{"MBits": 10, "ReservedPorts": [{"Label": "x", "Value": 7100, "To": 0}]}]),
    "device": device(), "two devices": device(Count=2),
    "device constraint": device(Constraints=[rule("${device.attr.memory}", ">", "9 GiB")]),
    "device affinity": device(Affinities=[rule("${device.vendor}", "=", "nvidia", Weight=50)]),
    "device instances": lambda s, job, group, task: device(Constraints=[s.pick(
        rule("${device.ids}", "!=", "t0-0"), rule("t0-0,t0-2,t2-1,t4-1", "set_contains", "${device.ids}"),
        rule("${device.attr.none}", "!=", "${device.ids}"))])(s, job, group, task),
    "host volume": volume("d", Type="host", Source="data", ReadOnly=True),
    "sticky volume": volume("k", Type="host", Source="kept", Sticky=True),
    "volume per allocation": volume("p", Type="host", Source="kept", PerAlloc=True),
    "single-writer volume": volume("w", Type="host", Source="kept", AccessMode="single-node-single-writer",
                                   AttachmentMode="file-system"),
    "CSI volume": lambda s, job, group, task: volume("c", Type="csi",
                                                     Source=s.pick("shared", "shared", "shared", "absent"),
                                                     ReadOnly=s.chance(0.3),
                                                     AccessMode="multi-node-multi-writer", AttachmentMode="file-system",
                                                     PerAlloc=s.chance(0.2))(s, job, group, task),
    "update block": update(), "canaries": update(Canary=1), "automatic promotion": update(AutoPromote=True, Canary=2),
    "lost_after": group_field("Disconnect", "LostAfter", 40 * SECOND, 5 * MINUTE),
    "never replaced": group_field("Disconnect", "Replace", False),
    "stop_on_client_after": group_field("Disconnect", "StopOnClientAfter", 30 * SECOND),
    "keep_original": group_field("Disconnect", "Reconcile", "keep_original"),
    "keep_replacement": group_field("Disconnect", "Reconcile", "keep_replacement"),
    "longest_running": group_field("Disconnect", "Reconcile", "longest_running"),
    "limited reschedules": lambda s, job, group, task: group.update(ReschedulePolicy={
        "Attempts": s.pick(1, 2), "Interval": 10 * MINUTE, "Delay": 5 * SECOND, "DelayFunction": "constant",
        "MaxDelay": 0, "Unlimited": False}),
    "no reschedules": lambda s, job, group, task: group.update(ReschedulePolicy={
        "Attempts": 0, "Interval": 0, "Delay": 5 * SECOND, "DelayFunction": "constant", "MaxDelay": 0,
        "Unlimited": False}),
    "fibonacci delay": group_field("ReschedulePolicy", "DelayFunction", "fibonacci"),
    "constant delay": group_field("ReschedulePolicy", "DelayFunction", "constant"),
    "escaped constraint": grow("Constraints", rule("${attr.unique.parity}", "=", "1")),
    "constraint =": grow("Constraints", rule("${attr.kernel.name}", "=", "linux")),
    "constraint !=": grow("Constraints", rule("${meta.rack}", "!=", "r3")),
    "constraint >": some_rule(">", rule("${attr.os.version}", ">", "21")),
    "constraint version": some_rule("version", rule("${attr.os.version}", "version", ">= 20.10")),
    "constraint semver": some_rule("semver", rule("${attr.nomad.version}", "semver", ">= 1.10.0")),
    "other operand": lambda s, job, group, task: some_rule(s.pick("<", "<=", ">=", "=", "!="),
                                                           rule("${attr.value}", "is_set"))(s, job, group, task),
    "constraint regexp": grow("Constraints", rule("${meta.rack}", "regexp", "^r[12]$")),
    "constraint set_contains": grow("Constraints", rule("${meta.tags}", "set_contains", "b")),
    "constraint set_contains_any": grow("Constraints", rule("${meta.tags}", "set_contains_any", "a,c")),
    "constraint is_set": grow("Constraints", rule("${meta.rack}", "is_set")),
    "constraint is_not_set": grow("Constraints", rule("${meta.none}", "is_not_set")),
    "constraint distinct_hosts": grow("Constraints", rule("", "distinct_hosts", "true"), False),
    "constraint distinct_property": lambda s, job, group, task: grow("Constraints", rule(
        s.pick("${meta.rack}", "${meta.rack}", "${attr.value}", "${meta.none}"), "distinct_property",
        s.pick("2", "2", "", "3", "x", str(2**64))),
        False)(s, job, group, task),
}


def differ_in_network(s, job):
    """One group has a network and the other none, or both have different ones."""
    groups = job["TaskGroups"]
    if len(groups) == 1:
        groups.append(dict(copy.deepcopy(groups[0]), Name="g2"))
    for g in groups:
        g.pop("Networks", None)
    g = s.rng.choice(groups)
    in_turn = "escaped constraint" in s.wanted
    g["Networks"] = [{"Mode": "bridge" if in_turn else s.pick("bridge", "bridge", "none", "host")}]
    for each in groups if in_turn else []:
        each["Count"] = max(each["Count"], 1)
    if s.chance(0.3) and not in_turn:
        groups[1 - groups.index(g)]["Networks"] = [{"Mode": g["Networks"][0]["Mode"], "DynamicPorts": [
            {"Label": "one", "Value": 0, "To": 0, "HostNetwork": s.pick("default", "public")}]}]


# --- the one thing that differs between two jobs ---

def one_of(*names):
    def change(s, job, group, task):
        SETTERS[s.rng.choice(names)](s, job, group, task)
    return change


def other(key, *values):
    def change(s, job, group, task):
        job[key] = s.rng.choice([v for v in values if v != job[key]])
    return change


def change_ask(s, job, group, task):
    key = s.pick("CPU", "MemoryMB")
    task["Resources"][key] += s.pick(-50, 100, 700)


def change_cores(s, job, group, task):
    task["Resources"]["Cores"] = 0 if task["Resources"].get("Cores") else 1


def change_devices(s, job, group, task):
    if not task["Resources"].pop("Devices", None):
        SETTERS["device"](s, job, group, task)


def change_ports(s, job, group, task):
    if s.chance(0.4) and group.get("Networks"):
        del group["Networks"]
    else:
        SETTERS[s.pick("static port", "dynamic port", "host network")](s, job, group, task)


def change_volumes(s, job, group, task):
    if not (s.chance(0.4) and group.pop("Volumes", None)):
        SETTERS[s.pick("host volume", "sticky volume", "CSI volume", "volume per allocation")](s, job, group, task)


def change_disk(s, job, group, task):
    group["EphemeralDisk"] = dict(group["EphemeralDisk"], SizeMB=group["EphemeralDisk"]["SizeMB"] + 50)


SERVICE = {"Name": "web", "PortLabel": "x", "Cluster": "default", "Connect": {
    "Native": False, "Gateway": {"Ingress": {"TLS": {"Enabled": True}}}, "SidecarService": {"Port": "y", "Tags": ["a"]},
    "SidecarTask": {"Name": "s", "Driver": "docker", "User": "u", "Env": {"A": "1"}, "Meta": {"m": "1"},
                    "KillTimeout": SECOND, "KillSignal": "SIGINT",
                    "LogConfig": {"MaxFiles": 2, "MaxFileSizeMB": 3}, "ShutdownDelay": SECOND,
                    "Config": {"image": "s", "args": ["a", "b"]},
                    "VolumeMounts": [{"Volume": "v", "Destination": "/d"}],
                    "Identities": [{"Name": "i", "TTL": SECOND}],
                    "Resources": {"CPU": 50, "MemoryMB": 60, "NUMA": {"Affinity": "none"}}}}}
TASK_DETAILS = {
    "Env": {"A": "1"}, "User": "nobody", "Meta": {"k": "1"}, "KillSignal": "SIGTERM", "ShutdownDelay": SECOND,
    "Leader": True,
    "Artifacts": [{"GetterSource": "s", "GetterOptions": {"a": "1"}, "GetterHeaders": {"h": "1"}, "GetterMode": "any",
                   "GetterInsecure": True,
                   "RelativeDest": "d", "Chown": True}],
    "Vault": {"Role": "r", "Namespace": "n", "Cluster": "default", "Env": True, "DisableFile": True,
              "ChangeMode": "restart", "ChangeSignal": "SIGHUP",
              "AllowTokenExpiration": True, "Policies": ["p"]},
    "Consul": {"Cluster": "c", "Partition": "p", "Namespace": "n"},
    "Secrets": [{"Name": "s", "Provider": "vault", "Path": "p", "Config": {"c": "1"}, "Env": {"E": "1"}}],
    "Templates": [{"SourcePath": "s", "DestPath": "d", "EmbeddedTmpl": "e", "ChangeMode": "script",
                   "ChangeSignal": "SIGHUP", "Once": True, "Splay": SECOND,
                   "Perms": "0644", "Uid": 5, "Gid": 6, "LeftDelim": "{{", "RightDelim": "}}", "Envvars": True,
                   "VaultGrace": SECOND, "ErrMissingKey": True,
                   "Wait": {"Min": SECOND, "Max": 2 * SECOND},
                   "ChangeScript": {"Command": "c", "Args": ["a"], "Timeout": SECOND, "FailOnError": True,
                                    "RunOnFirstRender": True}}],
    "CSIPluginConfig": {"ID": "p", "Type": "node", "MountDir": "/m", "StagePublishBaseDir": "/s",
                        "HealthTimeout": SECOND},
    "VolumeMounts": [{"Volume": "v", "Destination": "/d", "ReadOnly": True, "PropagationMode": "private",
                      "SELinuxLabel": "z"}],
    "Identity": {"Name": "default", "Audience": ["a"], "ChangeMode": "signal", "ChangeSignal": "SIGHUP", "Env": True,
                 "File": True, "Filepath": "f",
                 "ServiceName": "s", "TTL": SECOND},
    "Identities": [{"Name": "other", "Audience": ["a"], "ChangeMode": "signal", "Env": True, "File": True,
                    "TTL": SECOND, "ExtraClaims": {"a": "1"}}],
    "RestartPolicy": {"Attempts": 1, "RenderTemplates": True},
    "Config": {"image": "v1", "nested": {"a": [1, 2], "b": ""}},
    "LogConfig": {"MaxFiles": 1, "MaxFileSizeMB": 1, "Disabled": True}, "Actions": [{"Name": "a", "Command": "c"}],
    "Kind": "k",
}
GROUP_DETAILS = {"Meta": {"g": "1"}, "Consul": {"Cluster": "c", "Partition": "p", "Namespace": "n"},
                 "Services": [SERVICE], "ShutdownDelay": SECOND,
                 "RestartPolicy": {"Attempts": 2, "Interval": MINUTE, "Delay": SECOND, "Mode": "fail",
                                   "RenderTemplates": True},
                 "Networks": [{"Mode": "host", "MBits": 5, "Hostname": "h",
                               "DNS": {"Servers": ["1.1.1.1"], "Searches": ["s"], "Options": ["o"]},
                               "CNI": {"Args": {"a": "1"}},
                               "DynamicPorts": [{"Label": "det", "Value": 0, "To": 80, "HostNetwork": "default"}]}],
                 "Volumes": {"det": {"Name": "det", "Type": "host", "Source": "data", "ReadOnly": True,
                                     "Sticky": False, "AccessMode": "", "AttachmentMode": "",
                                     "PerAlloc": False,
                                     "MountOptions": {"FSType": "ext4", "MountFlags": ["ro", "noatime"]}}}}


def enrich(group):
    """Blocks that placing does not read, but that an update may change."""
    group.update(copy.deepcopy(GROUP_DETAILS))
    group["Tasks"][-1].update(copy.deepcopy(TASK_DETAILS))


def leaves(x, path=()):
    if isinstance(x, (dict, list)):
        for k in (x if isinstance(x, dict) else range(len(x))):
            yield from leaves(x[k], (*path, k))
    yield path


NEEDED = ("Mode", "Type", "Source", "Name", "Provider", "Label", "Value", "HostNetwork")


def change_detail(s, job, group, task):
    """One value, or one whole block, of those that placing does not read."""
    at, table = s.pick((group, GROUP_DETAILS), (task, TASK_DETAILS), (task, TASK_DETAILS))
    key = s.rng.choice(sorted(table))
    if not at.get(key):
        at[key] = copy.deepcopy(table[key])
        return
    path = s.rng.choice([(key, *p) for p in leaves(at[key])])
    for k in path[:-1]:
        at = at[k]
    old, last = at[path[-1]], path[-1]
    if isinstance(old, bool):
        at[last] = not old
    elif isinstance(old, int):
        at[last] = old + 1
    elif isinstance(old, str) and last not in NEEDED:
        at[last] = old + "x"
    elif last not in NEEDED:
        del at[last]


DIFFERENCES = {
    "constraint": one_of(*[n for n in SETTERS if n.startswith("constraint")]),
    "affinity": one_of("affinity", "negative affinity"),
    "spread": one_of("even spread", "spread targets"), "ask": change_ask, "cores": change_cores, "ports": change_ports,
    "volumes": change_volumes, "devices": change_devices, "disk": change_disk,
    "config": lambda s, job, group, task: task.update(Config={"image": f"v{s.rng.randrange(2, 99)}"}),
    "driver": lambda s, job, group, task: task.update(Driver="exec" if task["Driver"] == "docker" else "docker"),
    "count": group_count(0, 1, 2, 3, 5, 9, 17), "datacenters": other("Datacenters", ["*"], ["dc1"], ["dc*"]),
    "pool": other("NodePool", "default", "all", "gpu"), "priority": other("Priority", 30, 50, 70, 90),
    "update": lambda s, job, group, task: (update(MaxParallel=s.pick(1, 2, 3), Canary=s.pick(0, 1))(s, job, group,
                                                                                                    task),
                                           group["Update"].update(MinHealthyTime=s.rng.randrange(1, 50) * SECOND)),
    "details": change_detail,
    "reschedule": lambda s, job, group, task: group.update(ReschedulePolicy={
        "Attempts": 0, "Interval": 0, "Delay": s.rng.randrange(6, 40) * SECOND, "DelayFunction": "exponential",
        "MaxDelay": 60 * SECOND, "Unlimited": True}),
    "disconnect": lambda s, job, group, task: group.update(Disconnect={"LostAfter": s.rng.randrange(30, 300) * SECOND,
                                                                       "Replace": s.chance(0.5)}),
}


# --- states of an allocation: (world, allocation, job) ---------------------------------------------------------------

def node_of(s, a):
    return next((n for n in s.nodes if n["ID"] == a["NodeID"]), None)


def on_node(**fields):
    def change(s, a, job):
        n = node_of(s, a)
        if n is not None:
            n.update(fields)
            n["ModifyIndex"] = s.tick()
    return change


def gone(s, a, job):
    s.nodes = [n for n in s.nodes if n["ID"] != a["NodeID"]]
    s.volumes = [v for v in s.volumes if v["NodeID"] != a["NodeID"]]


def dead(client, failed):
    def change(s, a, job):
        end = format_time(s.now - s.pick(0, 2, 7, 70) * SECOND)
        a.update({"ClientStatus": client, "TaskStates": {"t1": {
            "State": "dead", "Failed": failed, "StartedAt": format_time(s.now - 100 * SECOND), "FinishedAt": end}}})
    return change


def fields(**values):
    def change(s, a, job):
        a.update(copy.deepcopy(values))
    return change


def transitions(**values):
    def change(s, a, job):
        a["DesiredTransition"] = dict(a.get("DesiredTransition") or {}, **values)
    return change


def states(*values, client):
    def change(s, a, job):
        start = s.now - s.pick(10, 50, 400) * SECOND
        a["AllocStates"] = [{"Field": 0, "Value": v, "Time": format_time(start + n * SECOND)} for n,
                            v in enumerate(values)]
        a["ClientStatus"] = client
        if client == "failed":
            dead("failed", True)(s, a, job)
    return change


def tracked(s, a, job):
    events = []
    for n in range(s.pick(1, 2, 3)):
        events.append({"RescheduleTime": s.now - s.pick(20, 100, 700) * SECOND, "PrevAllocID": uuid(s.rng),
                       "PrevNodeID": s.rng.choice(s.nodes)["ID"] if s.nodes else "",
                       "Delay": s.pick(5, 10, 20, 60) * SECOND})
    a["RescheduleTracker"] = {"Events": sorted(events, key=lambda e: e["RescheduleTime"]),
                              "LastReschedule": s.pick("ok", "ok", "", "no placement")}
    if s.chance(0.6):
        dead(s.pick("failed", "failed", "lost"), True)(s, a, job)


def replaced(s, a, job):
    """The allocation and one that replaced it."""
    b = copy.deepcopy(a)
    b["ID"], b["PreviousAllocation"], b["ClientStatus"] = uuid(s.rng), a["ID"], s.pick("running", "pending")
    b["CreateIndex"] = s.tick()
    for key in ("TaskStates", "AllocStates", "NextAllocation", "DesiredTransition"):
        b.pop(key, None)
    b["TaskStates"] = {"t1": {"State": "running", "StartedAt": format_time(s.now - 5 * SECOND)}}
    others = [n for n in s.nodes if n["ID"] != a["NodeID"]]
    if others:
        b["NodeID"], b["NodeName"] = (lambda n: (n["ID"], n["Name"]))(s.rng.choice(others))
    # Ports, devices and cores of the other node are another matter: the replacement holds plain amounts.
    res = b["AllocatedResources"]
    res["Shared"] = {"DiskMB": res["Shared"]["DiskMB"]}
    for t in res["Tasks"].values():
        t.pop("Networks", None)
        t.pop("Devices", None)
        t["Cpu"].pop("ReservedCores", None)
    a["NextAllocation"] = b["ID"]
    s.allocs[b["ID"]] = b
    scores = (b.get("Metrics") or {}).get("ScoreMetaData")
    if scores:
        scores[0]["NormScore"] = s.pick(0.0, 0.3, 0.9, scores[0]["NormScore"])
    if s.chance(0.6):  # the original comes back
        states("unknown", client=s.pick("running", "running", "failed"))(s, a, job)
        a["TaskStates"] = {"t1": s.pick({}, {"State": "running", "StartedAt": format_time(s.now - 300 * SECOND)},
                                        {"State": "running", "Restarts": 1,
                                         "LastRestart": format_time(s.now - s.pick(1, 30) * SECOND)})}


def health(value, **more):
    def change(s, a, job):
        mine = [d for d in s.deployments.values() if d["JobID"] == a["JobID"]]
        if mine and not a.get("DeploymentID"):
            a["DeploymentID"] = max(mine, key=lambda d: d["CreateIndex"])["ID"]
        a["DeploymentStatus"] = dict(a.get("DeploymentStatus") or {}, **more)
        if value is not None:
            a["DeploymentStatus"].update({"Healthy": value, "Timestamp": format_time(s.now - s.pick(0, 30) * SECOND)})
    return change


def follow_up(s, a, job):
    dead("failed", True)(s, a, job)
    a["FollowupEvalID"] = s.waiting = uuid(s.rng)


def newest(s, a, job):
    a["Job"] = s.current["main"]


def oldest(s, a, job):
    versions = [i for i in s.versions if s.jobs[i]["ID"] == "main"]
    a["Job"] = min(versions, key=lambda i: s.jobs[i]["Version"])


ALLOCATION = {
    "draining node": on_node(DrainStrategy={"Deadline": 3600 * SECOND}, SchedulingEligibility="ineligible"),
    "down node": on_node(Status="down"), "disconnected node": on_node(Status="disconnected"), "gone node": gone,
    "ineligible node": on_node(SchedulingEligibility="ineligible"),
    "pending": fields(ClientStatus="pending", TaskStates={}),
    "running": fields(ClientStatus="running"), "complete": dead("complete", False), "failed": dead("failed", True),
    "lost": dead("lost", False), "unknown": states("unknown", client="unknown"),
    "stopping": fields(DesiredStatus="stop", DesiredDescription="alloc not needed due to job update",
                       ClientStatus="running"),
    "evicted": fields(DesiredStatus="evict", DesiredDescription="Preempted by alloc ID x"),
    "migrating": transitions(Migrate=True), "migrating, not replaced": transitions(Migrate=True,
                                                                                   MigrateDisablePlacement=True),
    "reschedule asked": transitions(Reschedule=True),
    "reschedule forced": lambda s, a, job: (transitions(ForceReschedule=True)(s, a, job), s.chance(0.7)
                                            and dead("failed", True)(s, a, job)),
    "earlier reschedules": tracked,
    "reschedule failed": lambda s, a, job: (dead("failed", True)(s, a, job),
                                            a.update(RescheduleTracker={"Events": [],
                                                                        "LastReschedule": "no placement"})),
    "reconnecting": states("unknown", client="running"),
    "failed while disconnected": states("unknown", client="failed"),
    "replaced": replaced, "healthy": health(True), "unhealthy": health(False), "canary": health(None, Canary=True),
    "of the newest version": newest, "of an older version": oldest, "waiting for a follow-up": follow_up,
}
