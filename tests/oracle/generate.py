"""Seeded sequences of evaluations: one cluster, jobs that differ in one thing, one event a step.

Each step is written as a vector of the golden format with the oracle's answer, which then becomes the state of the
next step."""
import copy
import hashlib
import json

from resources import terminal
from state import format_time, parse_time
from world import SECOND, World, uuid

ENDED = ("complete", "failed", "lost")


class Sequence(World):
    def __init__(self, seed, steps=10):
        super().__init__(seed)
        self.steps = steps
        self.nodes = self.make_nodes()
        self.spare = [self.nodes.pop()] if len(self.nodes) > 2 and self.chance(0.5) else []
        self.volumes = self.make_volumes()
        self.config = self.make_config()
        self.pools = [{"Name": n, "CreateIndex": 1, "ModifyIndex": 1} for n in ("all", "default", "gpu")]
        if self.chance(0.3):
            self.pools[2]["SchedulerConfiguration"] = {"SchedulerAlgorithm": "spread",
                                                       "MemoryOversubscriptionEnabled": True}
        self.csi = self.make_csi()
        self.family()

    # --- cluster

    def make_config(self):
        if self.chance(0.1):
            return None
        return {"SchedulerAlgorithm": self.pick("binpack", "binpack", "spread"),
                "MemoryOversubscriptionEnabled": self.chance(0.5),
                "NodeLimitForFeasibilityChecks": self.pick(0, 0, 2, 4),
                "PreemptionConfig": {"SystemSchedulerEnabled": self.chance(0.8),
                                     "SysBatchSchedulerEnabled": self.chance(0.4),
                                     "BatchSchedulerEnabled": self.chance(0.5),
                                     "ServiceSchedulerEnabled": self.chance(0.6)},
                "CreateIndex": 5, "ModifyIndex": 5}

    def make_nodes(self):
        rng, nodes = self.rng, []
        kinds = []
        for k in range(self.pick(1, 2, 3)):
            kinds.append({"dc": self.pick("dc1", "dc1", "dc2", "eu-1"), "pool": self.pick("default", "default", "gpu"),
                          "class": self.pick("", "small", "large"),
                          "attrs": {"kernel.name": self.pick("linux", "windows"),
                                    "nomad.version": self.pick("2.0.5", "2.0.5", "2.0.5", "0.11.3"),
                                    "os.version": self.pick("22.04", "20.10", "9.5"),
                                    "cpu.numcores": self.pick("4", "16", "x8"),
                                    "driver.docker": "1"},
                          "meta": {"rack": self.pick("r1", "r2", "r3"), "tags": self.pick("a,b", "b,c", " a , c")},
                          "gpu": self.chance(0.45), "cores": self.pick(2, 4, 4)})
        kinds[0].update({"dc": "dc1", "pool": "default"})
        kinds[0]["attrs"]["kernel.name"] = "linux"
        for i in range(self.pick(1, 3, 5, 6, 9)):
            kind = copy.deepcopy(rng.choice(kinds + kinds[:1]))
            if self.chance(0.5):
                kind["meta"]["rack"] = self.pick("r1", "r2", "r3")
            if self.chance(0.15):
                del kind["meta"]["rack"]
            devices = []
            if kind["gpu"]:
                attrs = {"memory": {"Int": 11, "Unit": "GiB"}, "arch": {"String": "turing"}}
                devices.append({"Vendor": "nvidia", "Type": "gpu", "Name": "1080ti", "Attributes": attrs,
                                "Instances": [{"ID": f"g{i}-{n}", "Healthy": not self.chance(0.2)} for n in range(2)]})
                if i % 2:
                    devices.append({"Vendor": "amd", "Type": "gpu", "Name": "mi50",
                                    "Attributes": {"memory": {"Float": 16.0, "Unit": "GB"}},
                                    "Instances": [{"ID": f"m{i}-{n}", "Healthy": True}
                                                  for n in range(self.pick(1, 2))]})
            ip = f"10.0.0.{i + 1}"
            attrs = dict(kind["attrs"], **{"unique.hostname": f"h{i}", "unique.parity": str(i % 2)})
            shape = json.dumps([kind["dc"], kind["class"], kind["pool"], kind["attrs"], kind["meta"],
                                [(d["Vendor"], d["Type"], d["Name"], d["Attributes"]) for d in devices]],
                               sort_keys=True)
            addresses = [{"Family": "ipv4", "Alias": "default", "Address": ip,
                          "ReservedPorts": self.pick("", "", "8080"),
                          "Gateway": ""}]
            if self.chance(0.6):
                addresses.append({"Family": "ipv4", "Alias": "public", "Address": f"192.168.0.{i + 1}",
                                  "ReservedPorts": "",
                                  "Gateway": ""})
            networks = [{"Mode": "host", "Device": "eth0", "CIDR": ip + "/32", "IP": ip, "MBits": 1000}]
            if self.chance(0.6):
                networks.append({"Mode": "bridge", "Device": "nomad"})
            speed = self.pick(1000, 1000, 2200)
            node = {"ID": uuid(rng), "SecretID": "", "Name": f"n{i}", "Datacenter": kind["dc"],
                    "NodePool": kind["pool"],
                    "NodeClass": kind["class"], "Attributes": attrs, "Meta": kind["meta"],
                    "ComputedClass": "v1:" + str(int(hashlib.sha1(shape.encode()).hexdigest()[:15], 16)),
                    "NodeResources": {
                        "Processors": {"Topology": {"Nodes": [0], "Distances": [[10]], "OverrideTotalCompute": 0,
                                                    "OverrideWitholdCompute": 0,
                                                    "Cores": [{"SocketID": 0, "NodeID": 0, "ID": c, "Grade": True,
                                                               "Disable": c == 3 and i % 3 == 0, "BaseSpeed": speed,
                                                               "MaxSpeed": 0, "GuessSpeed": 0}
                                                              for c in range(kind["cores"])]}},
                        "Cpu": {"CpuShares": speed * kind["cores"], "TotalCpuCores": kind["cores"]},
                        "Memory": {"MemoryMB": self.pick(2048, 4096, 8192)}, "Disk": {"DiskMB": self.pick(4096, 20000)},
                        "Networks": networks, "Devices": devices,
                        "NodeNetworks": [{"Mode": "host", "Device": "eth0", "MacAddress": "", "Speed": 1000,
                                          "Addresses": addresses}],
                        "MinDynamicPort": self.pick(0, 0, 20000), "MaxDynamicPort": self.pick(0, 0, 0, 20002)},
                    "ReservedResources": {"Cpu": {"CpuShares": self.pick(0, 100)},
                                          "Memory": {"MemoryMB": self.pick(0, 256)},
                                          "Disk": {"DiskMB": 0},
                                          "Networks": {"ReservedHostPorts": self.pick("", "22", "22,9000-9001")}},
                    "Drivers": {"docker": {"Detected": True, "Healthy": not self.chance(0.15)}},
                    "HostVolumes": {}, "Status": "ready", "SchedulingEligibility": "eligible", "CreateIndex": 10 + i,
                    "ModifyIndex": 10 + i, "NodeMaxAllocs": self.pick(0, 0, 0, 3)}
            if self.chance(0.3):
                node["Drivers"]["exec"] = {"Detected": True, "Healthy": self.chance(0.8)}
            elif self.chance(0.5):
                node["Attributes"]["driver.exec"] = "1"
                node["ComputedClass"] += "0"
            nodes.append(node)
        return nodes

    def make_volumes(self):
        out = []
        for n in self.nodes:
            if self.chance(0.5):
                n["HostVolumes"]["data"] = {"ID": "", "Name": "data", "Path": "/srv", "ReadOnly": self.chance(0.4)}
            for name in ("dyn", "dyn[0]", "dyn[1]"):
                if self.chance(0.5):
                    v = {"ID": uuid(self.rng), "Name": name, "Namespace": "default", "NodeID": n["ID"],
                         "NodePool": n["NodePool"], "PluginID": "mkdir",
                         "State": self.pick("ready", "ready", "ready", "pending"),
                         "RequestedCapabilities": [{"AccessMode": m, "AttachmentMode": "file-system"} for m in
                                                   self.rng.sample(["single-node-writer", "single-node-single-writer",
                                                                    "single-node-reader-only",
                                                                    "single-node-multi-writer"], 3)],
                         "CreateIndex": 50, "ModifyIndex": 50}
                    n["HostVolumes"][name] = {"ID": v["ID"], "Name": name, "Path": "/d", "ReadOnly": False}
                    out.append(v)
        return out

    def make_csi(self):
        for n in self.nodes:
            if self.chance(0.6):
                n["CSINodePlugins"] = {"ebs": {"PluginID": "ebs", "Healthy": self.chance(0.85), "NodeInfo": {
                    "ID": n["Name"], "MaxVolumes": self.pick(1, 2, 9),
                    "AccessibleTopology": {"Segments": {"zone": self.pick("z1", "z2")}}}}}
        volumes = []
        for vid in ("vol", "vol[0]"):
            v = {"ID": vid, "Name": vid, "Namespace": "default", "PluginID": "ebs",
                 "AccessMode": self.pick("", "single-node-writer", "multi-node-multi-writer", "multi-node-reader-only"),
                 "AttachmentMode": "file-system", "CreateIndex": 51, "ModifyIndex": 51, "Schedulable": True,
                 "RequestedCapabilities": [{"AccessMode": "single-node-writer", "AttachmentMode": "file-system"}]}
            if self.chance(0.4):
                v["Topologies"] = [{"Segments": {"zone": "z1"}}]
            volumes.append(v)
        healthy = sum(1 for n in self.nodes if (n.get("CSINodePlugins") or {}).get("ebs", {}).get("Healthy"))
        return {"CSIVolumes": volumes, "CSIPlugins": [
            {"ID": "ebs", "ControllerRequired": False, "NodesHealthy": healthy, "CreateIndex": 51, "ModifyIndex": 51}]}

    # --- jobs

    def make_job(self, job_id, kind):
        tasks = [self.make_task("main")]
        job = {"ID": job_id, "Name": job_id, "Namespace": "default", "Region": "global", "Type": kind,
               "Priority": self.pick(20, 50, 50, 75), "Datacenters": ["*"], "NodePool": "default",
               "TaskGroups": [self.make_group("web", tasks)], "Version": 0, "Status": "pending", "Stop": False,
               "Update": {"Stagger": 30 * SECOND, "MaxParallel": 0}}
        return job

    def make_task(self, name):
        return {"Name": name, "Driver": "docker", "Config": {"image": "a"}, "KillTimeout": 5 * SECOND,
                "Resources": {"CPU": self.pick(200, 500, 900, 1500), "MemoryMB": self.pick(128, 300, 700, 1200)},
                "LogConfig": {"MaxFiles": 1, "MaxFileSizeMB": 1, "Disabled": False}}

    def make_group(self, name, tasks):
        return {"Name": name, "Count": self.pick(1, 2, 3, 5), "Tasks": tasks,
                "EphemeralDisk": {"Sticky": False, "Migrate": False, "SizeMB": 150},
                "RestartPolicy": {"Attempts": 1, "Interval": 60 * SECOND, "Delay": SECOND, "Mode": "fail"},
                "ReschedulePolicy": {"Attempts": 0, "Interval": 0, "Delay": 5 * SECOND, "DelayFunction": "exponential",
                                     "MaxDelay": 60 * SECOND, "Unlimited": True}}

    def family(self):
        """Jobs of one shape that differ in one to three things."""
        base = self.make_job("a", self.pick("service", "service", "batch", "system", "system", "sysbatch"))
        if base["Type"] in ("service", "system") and self.chance(0.5):
            MUTATIONS["update block"](self, base, base["TaskGroups"][0], None)
        if self.chance(0.3):
            MUTATIONS["disconnect block"](self, base, base["TaskGroups"][0], None)
        for _ in range(self.pick(0, 1, 2)):
            self.mutate(base)
        for job_id in "abc"[:self.pick(2, 3, 3)]:
            job = copy.deepcopy(base)
            job["ID"] = job["Name"] = job_id
            if job_id != "a":
                for _ in range(self.pick(1, 1, 2)):
                    self.mutate(job)
            if self.chance(0.4):
                job["Priority"] = self.pick(10, 30, 80, 100)
            if job_id != "a" and self.chance(0.15):
                job["Type"] = self.pick("service", "batch", "system", "sysbatch")
            job["CreateIndex"] = job["ModifyIndex"] = job["JobModifyIndex"] = self.tick()
            self.store(job)

    def store(self, job):
        legal(job)
        super().store(job)

    def mutate(self, job):
        """One change of a job."""
        MUTATIONS[self.rng.choice(sorted(MUTATIONS))](self, job, job["TaskGroups"][0], job["TaskGroups"][0]["Tasks"][0])

    # --- events

    def live(self, job_id=None):
        return [a for a in self.allocs.values() if a["DesiredStatus"] == "run" and
                a["ClientStatus"] in ("pending", "running") and job_id in (None, a["JobID"])]

    def touch(self, a):
        a["ModifyIndex"], a["ModifyTime"] = self.tick(), self.now

    def event(self, job_id):
        """Changes the state; returns (evaluation trigger, evaluation fields)."""
        job = self.jobs[self.current[job_id]]
        what = self.pick("update", "update", "update", "update", "config", "count", "count", "fail", "fail", "fail",
                         "down",
                         "drain", "disconnect", "back", "back", "back", "stop-alloc", "promote", "promote", "followup",
                         "followup", "blocked", "stop", "complete", "ineligible", "join", "collect", "nothing")
        if any(f["JobID"] == job_id for f in self.followups) and self.chance(0.3):
            what = "followup"
        mine = self.live(job_id)
        if what in ("update", "config", "count", "stop"):
            new = copy.deepcopy(job)
            new["Version"] += 1
            new["ModifyIndex"] = new["JobModifyIndex"] = self.tick()
            if what == "update":
                self.mutate(new)
            elif what == "config":
                MUTATIONS["config"](self, new, new["TaskGroups"][0], new["TaskGroups"][0]["Tasks"][0])
            elif what == "count":
                new["TaskGroups"][0]["Count"] = self.pick(0, 1, 2, 4, 6, 9)
            else:
                new["Stop"] = not new["Stop"]
            if job["Stop"] and self.chance(0.8):
                new["Stop"] = False
            self.store(new)
            return "job-register", {}
        if what in ("fail", "complete") and mine:
            for a in self.rng.sample(mine, min(len(mine), self.pick(1, 1, 2))):
                a["ClientStatus"] = "failed" if what == "fail" else "complete"
                a["TaskStates"] = {"main": {"State": "dead", "Failed": what == "fail",
                                            "StartedAt": format_time(self.now - 60 * SECOND),
                                            "FinishedAt": format_time(self.now - self.pick(0, 3, 8, 100) * SECOND)}}
                if a.get("DeploymentID") and self.chance(0.5):
                    a.setdefault("DeploymentStatus", {})["Healthy"] = False
                    if self.chance(0.5):
                        a["DesiredTransition"] = {"Reschedule": True}
                self.touch(a)
            return "alloc-failure", {}
        if what in ("down", "drain", "disconnect", "ineligible") and self.nodes:
            used = [n for n in self.nodes if any(a["NodeID"] == n["ID"] for a in mine)] or self.nodes
            n = self.rng.choice(used)
            n["ModifyIndex"] = self.tick()
            if what == "ineligible":
                n["SchedulingEligibility"] = "ineligible"
            elif what == "drain":
                n["DrainStrategy"] = {"Deadline": 3600 * SECOND}
                n["SchedulingEligibility"] = "ineligible"
                for a in self.live():
                    if a["NodeID"] == n["ID"] and self.chance(0.7):
                        a["DesiredTransition"] = {"Migrate": True}
                        if self.jobs[a["Job"]]["Type"] == "batch" and self.chance(0.5):
                            a["DesiredTransition"]["MigrateDisablePlacement"] = True
                        self.touch(a)
            else:
                n["Status"] = "down" if what == "down" else "disconnected"
            return "node-drain" if what == "drain" else "node-update", {"NodeID": n["ID"]}
        if what == "join" and self.spare:
            n = self.spare.pop()
            n["CreateIndex"] = n["ModifyIndex"] = self.tick()
            self.nodes.append(n)
            return "node-update", {"NodeID": n["ID"]}
        if what == "collect":  # garbage: what has ended is removed, claims on volumes stay
            live = {a["ID"] for a in self.allocs.values() if not terminal(a)}
            linked = {self.allocs[i].get("PreviousAllocation") for i in live}
            for a in [a for a in self.allocs.values() if a["ID"] not in live | linked and a["ClientStatus"] in ENDED]:
                del self.allocs[a["ID"]]
            return "job-register", {}
        if what == "back":
            for n in self.nodes:
                if n["Status"] != "ready" or n["SchedulingEligibility"] != "eligible":
                    n["Status"], n["SchedulingEligibility"] = "ready", "eligible"
                    n.pop("DrainStrategy", None)
                    n["ModifyIndex"] = self.tick()
                    for a in self.allocs.values():
                        if a["NodeID"] == n["ID"] and a["ClientStatus"] == "unknown" and self.chance(0.6):
                            a["ClientStatus"] = self.pick("running", "running", "failed")
                            self.touch(a)
            return self.pick("node-update", "reconnect"), {}
        if what == "stop-alloc" and mine:
            a = self.rng.choice(mine)
            a["DesiredTransition"] = self.pick({"Migrate": True, "Reschedule": True}, {"ForceReschedule": True})
            self.touch(a)
            return "alloc-stop", {}
        if what == "promote":
            for d in self.deployments.values():
                if d["Status"] == "running" and d["JobID"] == job_id:
                    d["ModifyIndex"] = self.tick()
                    if self.chance(0.25):
                        d["Status"] = self.pick("failed", "paused")
                    else:
                        for s in filter(None, d["TaskGroups"].values()):
                            s["Promoted"] = True
                        for a in mine:
                            if a.get("DeploymentID") == d["ID"]:
                                a["DeploymentStatus"] = {"Healthy": True}
            return "deployment-watcher", {}
        if what == "followup":
            due = [f for f in self.followups if f["JobID"] == job_id]
            if due:
                f = self.rng.choice(due)
                self.followups.remove(f)
                self.now = max(self.now, parse_time(f["WaitUntil"]))
                return f["TriggeredBy"], {k: f[k] for k in ("ID", "WaitUntil", "PreviousEval")}
        if what == "blocked":
            mine = [b for b in self.blocked if b["JobID"] == job_id]
            if mine:
                b = mine[-1]
                return "queued-allocs", {"ID": b["ID"], "PreviousEval": b["PreviousEval"],
                                               "Status": self.pick("pending", "blocked")}
        return self.pick("node-update", "job-register", "periodic-job"), {}

    # --- one step

    def start_pending(self):
        for a in self.allocs.values():
            if a["DesiredStatus"] == "run" and a["ClientStatus"] == "pending" and self.chance(0.75):
                a["ClientStatus"] = "running"
                a["TaskStates"] = {"main": {"State": "running", "StartedAt": format_time(self.now - SECOND)}}
                if a.get("DeploymentID") and self.chance(0.7):
                    a["DeploymentStatus"] = dict(a.get("DeploymentStatus") or {}, Healthy=True)
                    d = self.deployments.get(a["DeploymentID"])
                    s = d and d["TaskGroups"].get(a["TaskGroup"])
                    if s:
                        s["HealthyAllocs"] = (s.get("HealthyAllocs") or 0) + 1
                self.touch(a)
            elif a["DesiredStatus"] != "run" and a["ClientStatus"] in ("running", "pending") and self.chance(0.5):
                a["ClientStatus"] = "complete"
                self.touch(a)

    def vectors(self):
        for step in range(self.steps):
            self.now += self.pick(1, 4, 30, 120) * SECOND
            if step:
                self.start_pending()
            job_id = self.rng.choice(sorted(self.current))
            if step < len(self.current):
                job_id = sorted(self.current)[step]
                trigger, more = "job-register", {}
            else:
                trigger, more = self.event(job_id)
            job = self.jobs[self.current[job_id]]
            if job["Type"] in ("system", "sysbatch") and trigger in ("alloc-failure",
                                                                     "periodic-job") and self.chance(0.9):
                trigger = "node-update"  # most of what this type would refuse (R-SCHED-3)
            evaluation = {"ID": uuid(self.rng), "Namespace": "default", "JobID": job_id, "Type": job["Type"],
                          "Priority": self.pick(job["Priority"], job["Priority"], 50), "TriggeredBy": trigger,
                          "Status": "pending", "JobModifyIndex": job["JobModifyIndex"], "CreateTime": self.now,
                          "ModifyTime": self.now, "AnnotatePlan": self.chance(0.2)}
            evaluation.update(more)
            evaluation["CreateIndex"] = evaluation["ModifyIndex"] = self.tick()
            planner = self.pick("apply", "apply", "apply", "apply", "partial", "partial", "nosubmit", "reject")
            yield self.decide(f"sequence/{self.seed}/{step}", evaluation, planner)

# --- the one thing that differs ---

def add(key, *choices):
    def change(s, job, group, task):
        at = s.pick(job, group, task)
        if key == "Spreads" and at is task:
            at = group
        at[key] = (at.get(key) or []) + [copy.deepcopy(s.rng.choice(choices))]
    return change


def rule(left, op, right, **more):
    return dict({"LTarget": left, "Operand": op, "RTarget": right}, **more)


def on_group(key, *choices):
    def change(s, job, group, task):
        group[key] = copy.deepcopy(s.rng.choice(choices))
    return change


def distinct(op, left, right):
    def change(s, job, group, task):
        at = s.pick(job, group)
        at["Constraints"] = (at.get("Constraints") or []) + [rule(left, op, s.rng.choice(right))]
    return change


def resource(key, *choices):
    def change(s, job, group, task):
        task["Resources"][key] = copy.deepcopy(s.rng.choice(choices))
    return change


def set_job(key, *choices):
    def change(s, job, group, task):
        job[key] = copy.deepcopy(s.rng.choice(choices))
    return change


def set_disk(s, job, group, task):
    group["EphemeralDisk"] = {"Sticky": s.chance(0.7), "Migrate": s.chance(0.3), "SizeMB": s.pick(150, 150, 900)}


def second_group(s, job, group, task):
    if len(job["TaskGroups"]) == 1:
        g = copy.deepcopy(group)
        g["Name"], g["Count"] = "db", s.pick(1, 2)
        if s.chance(0.3):  # in nothing but the network
            g["Count"] = group["Count"]
            MUTATIONS["ports"](s, job, g, g["Tasks"][0])
        else:
            for key in s.rng.sample(["Networks", "Volumes", "Spreads", "Affinities", "Constraints"], 2):
                g.pop(key, None)
        job["TaskGroups"].append(g)
    else:
        job["TaskGroups"].pop()


def second_task(s, job, group, task):
    if len(group["Tasks"]) == 1:
        t = s.make_task("side")
        t["Lifecycle"] = s.pick({"Hook": "prestart", "Sidecar": True}, {"Hook": "prestart", "Sidecar": False},
                                {"Hook": "poststop", "Sidecar": False}, {"Hook": "poststart", "Sidecar": False})
        group["Tasks"].append(t)
    else:
        group["Tasks"].pop()


def config_change(s, job, group, task):
    task["Config"] = {"image": s.pick("a", "b", "c")}


def driver(s, job, group, task):
    task["Driver"] = s.pick("exec", "docker")


def update_block(s, job, group, task):
    group["Update"] = {"Stagger": 30 * SECOND, "MaxParallel": s.pick(0, 1, 2, 3), "Canary": s.pick(0, 0, 1, 2),
                       "AutoPromote": s.chance(0.5), "AutoRevert": s.chance(0.3), "HealthCheck": "checks",
                       "MinHealthyTime": 10 * SECOND, "HealthyDeadline": 300 * SECOND, "ProgressDeadline": 600 * SECOND}
    if job["Type"] in ("batch", "sysbatch"):
        group.pop("Update")
        group["MaxRunDuration"] = s.pick(0, 600 * SECOND)


def disconnect_block(s, job, group, task):
    group["Disconnect"] = s.pick({"LostAfter": 60 * SECOND, "Replace": True, "Reconcile": "best_score"},
                                 {"LostAfter": 300 * SECOND, "Replace": False, "Reconcile": "keep_original"},
                                 {"LostAfter": 60 * SECOND, "Reconcile": "keep_replacement"},
                                 {"LostAfter": 60 * SECOND, "Reconcile": "longest_running"},
                                 {"LostAfter": 20 * SECOND, "Replace": False, "StopOnClientAfter": 10 * SECOND},
                                 {"LostAfter": 0, "StopOnClientAfter": 30 * SECOND})


def legal(job):
    """What registration demands of the job's type."""
    system = job["Type"] == "system"
    for g in job["TaskGroups"]:
        if job["Type"] in ("batch", "sysbatch"):
            g.pop("Update", None)
        if job["Type"] in ("system", "sysbatch"):
            g.pop("ReschedulePolicy", None)
        if system:
            g["Count"] = min(g["Count"], 1)
            canary = (g.get("Update") or {}).get("Canary")
            if canary in (1, 2):
                g["Update"]["Canary"] = 30 * canary  # a percentage here (R-SCHED-173)
            for at in (job, g, *g["Tasks"]):
                at.pop("Affinities", None)
                at.pop("Spreads", None)


PORT = {"Label": "http", "Value": 0, "To": 0, "HostNetwork": "default"}
MUTATIONS = {
    "constraint": add("Constraints", rule("${attr.kernel.name}", "=", "linux"), rule("${meta.rack}", "!=", "r1"),
                      rule("${attr.os.version}", ">", "9.9"), rule("${attr.os.version}", "version", ">= 20.10, < 23"),
                      rule("${attr.nomad.version}", "semver", ">= 1.0.0"), rule("${meta.tags}", "set_contains", "b"),
                      rule("${meta.tags}", "set_contains_any", "b,x"), rule("${meta.none}", "is_not_set", ""),
                      rule("${meta.rack}", "regexp", "^r[12]"), rule("${meta.rack}", "is_set", ""),
                      rule("${attr.cpu.numcores}", ">=", "8"), rule("${node.class}", "=", "large")),
    "escaped constraint": add("Constraints", rule("${attr.unique.parity}", "=", "1"),
                              rule("${node.unique.name}", "!=", "n0")),
    "distinct_hosts": distinct("distinct_hosts", "", ["", "true", "false"]),
    "distinct_property": distinct("distinct_property", "${meta.rack}", ["", "2", "3"]),
    "affinity": add("Affinities", rule("${meta.rack}", "=", "r1", Weight=50),
                    rule("${node.class}", "!=", "large", Weight=-40),
                    rule("${attr.cpu.numcores}", ">", "8", Weight=100)),
    "spread": add("Spreads", {"Attribute": "${meta.rack}", "Weight": 50, "SpreadTarget": []},
                  {"Attribute": "${node.datacenter}", "Weight": 100, "SpreadTarget": [{"Value": "dc1", "Percent": 70}]},
                  {"Attribute": "${meta.rack}", "Weight": 70, "SpreadTarget": [{"Value": "r1", "Percent": 60},
                                                                               {"Value": "r2", "Percent": 40}]},
                  {"Attribute": "${node.unique.id}", "Weight": 30, "SpreadTarget": []}),
    "constant spreads": on_group("Spreads", [{"Attribute": "1", "Weight": 30, "SpreadTarget": []},
                                             {"Attribute": "r1", "Weight": 60,
                                              "SpreadTarget": [{"Value": "r1", "Percent": 60}]}]),
    "ports": on_group("Networks", [{"Mode": "host", "DynamicPorts": [PORT]}],
                      [{"Mode": "host", "ReservedPorts": [dict(PORT, Value=8080)]}],
                      [{"Mode": "bridge", "DynamicPorts": [dict(PORT, To=-1)],
                        "ReservedPorts": [dict(PORT, Label="db", Value=9000)]}],
                      [{"Mode": "host", "DynamicPorts": [dict(PORT, HostNetwork="public")]}],
                      [{"Mode": "host", "DynamicPorts": [PORT, dict(PORT, Label="a"), dict(PORT, Label="b")]}],
                      [{"Mode": "none"}], []),
    "task network": resource("Networks", [{"MBits": 300, "DynamicPorts": [dict(PORT)]}],
                             [{"MBits": 10, "ReservedPorts": [dict(PORT, Value=7000)]}], []),
    "device": resource("Devices", [{"Name": "gpu", "Count": 1}], [{"Name": "nvidia/gpu", "Count": 2}],
                       [{"Name": "nvidia/gpu/1080ti", "Count": 1}],
                       [{"Name": "gpu", "Count": 1, "Constraints": [rule("${device.attr.memory}", ">=", "12 GiB")]}],
                       [{"Name": "gpu", "Count": 1, "Affinities": [rule("${device.vendor}", "=", "amd", Weight=60),
                                                                   rule("${device.attr.memory}", ">", "10 GiB",
                                                                        Weight=-20)]}], []),
    "cores": resource("Cores", 0, 1, 2),
    "memory max": resource("MemoryMaxMB", 0, 900, -1),
    "amounts": resource("MemoryMB", 64, 900, 1800),
    "host volume": on_group("Volumes", {"v": {"Name": "v", "Type": "host", "Source": "data", "ReadOnly": True}},
                            {"v": {"Name": "v", "Type": "host", "Source": "data"}},
                            {"v": {"Name": "v", "Type": "host", "Source": "dyn",
                                   "AccessMode": "single-node-single-writer",
                                   "AttachmentMode": "file-system"}},
                            {"v": {"Name": "v", "Type": "host", "Source": "dyn", "Sticky": True}},
                            {"v": {"Name": "v", "Type": "host", "Source": "dyn", "PerAlloc": True, "ReadOnly": True}},
                            {}),
    "sticky volume": on_group("Volumes", {"v": {"Name": "v", "Type": "host", "Source": "dyn", "Sticky": True}}),
    "csi volume": on_group("Volumes", {"c": {"Name": "c", "Type": "csi", "Source": "vol",
                                             "AccessMode": "single-node-writer",
                                             "AttachmentMode": "file-system"}},
                           {"c": {"Name": "c", "Type": "csi", "Source": "vol", "ReadOnly": True, "PerAlloc": True}},
                           {}),
    "datacenters": set_job("Datacenters", ["*"], ["dc1"], ["dc*", "eu-1"], ["eu*"]),
    "pool": set_job("NodePool", "default", "gpu", "all"),
    "priority": set_job("Priority", 10, 50, 75, 100),
    "disk": set_disk, "second group": second_group, "second task": second_task, "config": config_change,
    "driver": driver, "update block": update_block, "disconnect block": disconnect_block,
    "reschedule": on_group("ReschedulePolicy", {"Attempts": 1, "Interval": 600 * SECOND, "Delay": 5 * SECOND,
                                                "DelayFunction": "constant", "MaxDelay": 0, "Unlimited": False},
                           {"Attempts": 0, "Interval": 0, "Delay": 5 * SECOND, "DelayFunction": "fibonacci",
                            "MaxDelay": 40 * SECOND, "Unlimited": True},
                           {"Attempts": 0, "Interval": 0, "Delay": 0, "DelayFunction": "constant", "MaxDelay": 0,
                            "Unlimited": False},
                           {"Attempts": 2, "Interval": 300 * SECOND, "Delay": 5 * SECOND,
                            "DelayFunction": "exponential",
                            "MaxDelay": 20 * SECOND, "Unlimited": False}),
}
