"""Feasibility and ranking: one Select after another (spec parts 02 and 03)."""
from preempt import Preemptor
from resources import (DeviceIndex, PortIndex, device_groups, device_key, fit, fit_score, group_matches,
                       sorted_groups, terminal, topology)
from state import Metrics, group_of
from values import (device_check, device_rule, device_target, divide, node_check, parse_version, quoted,
                    resolve, rule_text, satisfies, shuffled)

INT64_MAX = 2**63 - 1
ESCAPES = ("${unique.", "${node.unique.", "${attr.unique.", "${meta.unique.")


def escapes(constraint):
    """R-FEAS-405."""
    return any((constraint.get(t) or "").startswith(ESCAPES) for t in ("LTarget", "RTarget"))


def rules(group, key):
    out = list(group.get(key) or [])
    for t in group.get("Tasks") or []:
        out += t.get(key) or []
    return out


def effective_source(request, alloc_name):
    source = request.get("Source") or ""
    if request.get("PerAlloc"):
        at = alloc_name.rfind("[")
        source += alloc_name[at:] if at >= 0 else ""
    return source


class Option:
    def __init__(self, node):
        self.node, self.components, self.scores = node, [], {}
        self.tasks, self.shared, self.victims, self.final = {}, None, [], 0.0
        self.proposed = None


class PropertySet:
    """Use of the values of one target by a job's allocations (R-FEAS-1401 and following, R-RANK-812 and following)."""

    def __init__(self, ctx, job, target, group, targets=()):
        self.ctx, self.job, self.target, self.group = ctx, job, target, group
        self.explicit = set()
        current = ctx.state.job_index(job["Namespace"], job["ID"])
        existing = []
        for a in ctx.state.job_allocs(job["Namespace"], job["ID"]):
            stored = ctx.state.job_of(a)
            if current is not None and (stored is None or stored.get("CreateIndex") !=
                                        ctx.state.jobs[current].get("CreateIndex")):
                continue
            if not terminal(a):
                existing.append(a)
        self.existing = self.counts(existing)
        self.refresh()
        self.explicit = set(targets)

    def counts(self, allocs):
        out = {}
        for a in allocs:
            if self.group is not None and a.get("TaskGroup") != self.group:
                continue
            node = self.ctx.state.nodes.get(a.get("NodeID") or "")
            value = self.value(node) if node else None
            if value is not None:
                value = self.mapped(value)
                out[value] = out.get(value, 0) + 1
        return out

    def value(self, node):
        """The node's value, None if the target is empty or does not resolve."""
        if not self.target:
            return None
        value, found = resolve(self.target, node)
        return value if found else None

    def mapped(self, value):
        return value if not self.explicit or value in self.explicit else "*"

    def refresh(self):
        """R-FEAS-1405, R-FEAS-1407."""
        plan = self.ctx.plan
        planned = [a for v in plan.allocations.values() for a in v if not terminal(a) and self.of_job(a)]
        stopped = [a for v in plan.updates.values() for a in v if self.of_job(a)]
        self.proposed, self.cleared = self.counts(planned), self.counts(stopped)
        for value in self.proposed:
            if self.cleared.get(value, 0) > 1:
                self.cleared[value] -= 1

    def of_job(self, a):
        return a.get("JobID") == self.job["ID"] and a.get("Namespace") == self.job["Namespace"]

    def combined(self):
        out = {}
        for table in (self.existing, self.proposed):
            for value, n in table.items():
                out[self.mapped(value)] = out.get(self.mapped(value), 0) + n
        for value, n in self.cleared.items():
            m = self.mapped(value)
            if m in out:
                out[m] = max(0, out[m] - n)
        return out


class Stack:
    """What the generic and the system stack share: the feasibility checks and the bin-pack stage."""
    generic = True

    def __init__(self, ctx, batch, eval_id, evict=False):
        self.ctx, self.batch, self.eval_id, self.evict = ctx, batch, eval_id, evict
        self.job, self.version = None, None
        self.nodes, self.offset, self.seen = [], 0, 0
        self.limit = 2
        self.job_sets, self.group_sets = [], {}
        self.mode, self.ports = "host", []
        self.algorithm, self.oversubscription, self.checks = "binpack", False, 100
        self.spreads, self.spread_sets, self.spread_tables = None, {}, {}
        self.weight_sum, self.lowest_boost = 0, -1.0

    # --- giving lists, jobs, configuration

    def set_config(self, job):
        """R-SCHED-36, R-RANK-216."""
        config = self.ctx.state.config or {}
        pool = (self.ctx.state.pools.get(job.get("NodePool") or "") or {}).get("SchedulerConfiguration") or {}
        self.algorithm = pool.get("SchedulerAlgorithm") or config.get("SchedulerAlgorithm") or "binpack"
        over = pool.get("MemoryOversubscriptionEnabled")
        self.oversubscription = bool(config.get("MemoryOversubscriptionEnabled") if over is None else over)
        self.checks = config.get("NodeLimitForFeasibilityChecks") or 100

    def set_job(self, job):
        """R-FEAS-310, R-RANK-215."""
        version = job.get("Version") or 0
        if self.version == version:
            return
        self.job, self.version = job, version
        for c in job.get("Constraints") or []:
            if c.get("Operand") == "distinct_property":
                self.job_sets.append(self.distinct_set(c, None))
        self.ctx.job_escaped = any(escapes(c) for c in job.get("Constraints") or [])
        for g in job.get("TaskGroups") or []:
            self.ctx.group_escaped[g["Name"]] = (any(escapes(c) for c in rules(g, "Constraints"))
                                                 or any((v or {}).get("Type") == "csi"
                                                        for v in (g.get("Volumes") or {}).values()))
        if job.get("Spreads") is not None:
            self.spreads = job["Spreads"]
        self.spread_sets, self.spread_tables = {}, {}

    def distinct_set(self, c, group):
        s = PropertySet(self.ctx, self.job, c.get("LTarget") or "", group)
        text, s.error, s.allowed = c.get("RTarget") or "", None, 1
        if text:
            if text.isascii() and text.isdigit():
                s.allowed = int(text)
                if s.allowed >= 2**64:
                    s.error = "value out of range"
            else:
                s.error = "invalid syntax"
        if s.error:
            s.error = (f"failed to convert RTarget {quoted(text)} to uint64: strconv.ParseUint: "
                       f"parsing {quoted(text)}: {s.error}")
        return s

    def set_nodes(self, nodes):
        """A base set: shuffled, cursor at 0, limit reset (R-FEAS-202, R-FEAS-216)."""
        if self.generic:
            nodes = shuffled(nodes, self.eval_id, self.ctx.state.index)
            n = len(nodes)
            self.limit = 2 if self.batch or n == 0 else max(2, (n - 1).bit_length())
        self.nodes, self.offset, self.seen = list(nodes), 0, 0

    def pull(self):
        """R-FEAS-208."""
        n = len(self.nodes)
        if self.offset == n or self.seen == n:
            if self.seen == n:
                return None
            self.offset = 0
        x = self.nodes[self.offset]
        self.offset += 1
        self.seen += 1
        self.ctx.metrics.evaluated += 1
        return x

    # --- feasibility

    def load(self, group, alloc_name):
        """R-FEAS-307 to R-FEAS-309."""
        self.group, self.alloc_name = group, alloc_name
        if group.get("Networks"):
            n = group["Networks"][0]
            self.mode = n.get("Mode") or "host"
            self.ports = (n.get("DynamicPorts") or []) + (n.get("ReservedPorts") or [])
        constraints = group.get("Constraints") or []
        name = group["Name"]
        if name not in self.group_sets:
            sets = [self.distinct_set(c, name) for c in constraints if c.get("Operand") == "distinct_property"]
            if sets:
                self.group_sets[name] = sets
        volumes = sorted((group.get("Volumes") or {}).items(), key=lambda kv: kv[0].encode())
        self.host_requests = [v for _, v in volumes if (v or {}).get("Type") == "host"]
        self.csi_requests = [v for _, v in volumes if (v or {}).get("Type") == "csi"]
        self.unmet = self.unmet_claims()

    def unmet_claims(self):
        """R-FEAS-1111."""
        out, state = [], self.ctx.state
        for c in state.claims:
            if c.get("Namespace") != self.job["Namespace"] or c.get("JobID") != self.job["ID"]:
                continue
            alloc = state.allocs.get(c.get("AllocID") or "")
            volume = state.host_volumes.get((self.job["Namespace"], c.get("VolumeID") or ""))
            if alloc is None or volume is None:
                continue
            met = False
            for p in self.ctx.proposed(volume.get("NodeID") or ""):
                if terminal(p):
                    continue
                if p["ID"] == alloc["ID"] or (p.get("NodeID") == alloc.get("NodeID")
                                              and p.get("Namespace") == c.get("Namespace")
                                              and p.get("JobID") == c.get("JobID")
                                              and p.get("TaskGroup") == c.get("TaskGroupName")):
                    met = True
            if not met:
                out.append(c)
        return out

    def feasible(self, node):
        """R-FEAS-410 and the stages behind it. Filters the node itself."""
        m, ctx = self.ctx.metrics, self.ctx
        c, name = node.get("ComputedClass") or "", self.group["Name"]
        job_status = "escaped" if ctx.job_escaped else ctx.job_class.get(c)
        if job_status is False:
            m.filter(node, "computed class ineligible")
            return False
        for rule in self.job.get("Constraints") or []:
            if not node_check(rule, node):
                m.filter(node, rule_text(rule))
                if job_status != "escaped":
                    ctx.job_class[c] = False
                return False
        if job_status is None:
            ctx.job_class[c] = True
        status = "escaped" if ctx.group_escaped.get(name) else ctx.group_class.get((name, c))
        if status is False:
            m.filter(node, "computed class ineligible")
            return False
        if status is not True:
            reason = self.group_reason(node)
            if reason is not None:
                m.filter(node, reason)
                if status != "escaped":
                    ctx.group_class[(name, c)] = False
                return False
            if status is None:
                ctx.group_class[(name, c)] = True
        if not self.host_volumes(node):
            m.filter(node, "missing compatible host volumes")
            return False
        reason = self.csi_reason(node)
        if reason is not None:
            m.filter(node, reason)
            return False
        if self.generic and self.hosts_taken(node):
            m.filter(node, "distinct_hosts")
            return False
        for s in self.job_sets + self.group_sets.get(name, []):
            reason = self.property_reason(s, node)
            if reason is not None:
                m.filter(node, reason)
                return False
        return True

    def group_reason(self, node):
        """R-FEAS-304: the reason of the first failing check, None if all pass."""
        g = self.group
        for task in g.get("Tasks") or []:
            if not driver_ok(task.get("Driver") or "", node):
                return "missing drivers"
        for rule in rules(g, "Constraints"):
            if not node_check(rule, node):
                return rule_text(rule)
        if not self.devices_ok(node):
            return "missing devices"
        reason = self.network_reason(node)
        if reason is not None:
            return reason
        for task in g.get("Tasks") or []:
            for s in task.get("Secrets") or []:
                if f"plugins.secrets.{s.get('Provider') or ''}.version" not in (node.get("Attributes") or {}):
                    return "missing secrets provider"
        return None

    def devices_ok(self, node):
        """R-FEAS-901 to R-FEAS-908."""
        requests = [d for t in self.group.get("Tasks") or [] for d in (t.get("Resources") or {}).get("Devices") or []]
        if not requests:
            return True
        if not device_groups(node):
            return False
        left = [[g, sum(1 for i in g.get("Instances") or [] if i.get("Healthy"))] for g in sorted_groups(node)]
        for r in requests:
            need, done = r.get("Count") or 0, False
            for entry in left:
                if entry[1] == 0 or not group_matches(r, entry[0]):
                    continue
                take = min(entry[1], need)
                entry[1] -= take
                need -= take
                if need == 0:
                    done = True
                    break
            if not done:
                return False
        return True

    def network_reason(self, node):
        """R-FEAS-1001 to R-FEAS-1008."""
        if self.mode == "none":
            return None
        res = node.get("NodeResources") or {}
        if not any((n.get("Mode") or "host") == self.mode for n in res.get("Networks") or []):
            version = parse_version((node.get("Attributes") or {}).get("nomad.version") or "", strict=True)
            if self.mode == "bridge" and version is not None and satisfies(version, "<", parse_version("0.12"), False):
                return None
            return "missing network"
        for p in self.ports:
            raw = p.get("HostNetwork") or ""
            if not raw:
                continue
            alias, found = resolve(raw, node)
            if not found:
                return f"invalid host network {quoted(raw)} template for port {quoted(p.get('Label') or '')}"
            if not any((a.get("Alias") or "") == alias for n in res.get("NodeNetworks") or []
                       for a in n.get("Addresses") or []):
                return f"missing host network {quoted(alias)} for port {quoted(p.get('Label') or '')}"
        return None

    def host_volumes(self, node):
        """R-FEAS-1101 to R-FEAS-1112."""
        return all(self.host_volume(r, node) for r in self.host_requests)

    def host_volume(self, request, node):
        entry = (node.get("HostVolumes") or {}).get(effective_source(request, self.alloc_name))
        if entry is None:
            return False
        if not entry.get("ID"):
            return not request.get("Sticky") and not (entry.get("ReadOnly") and not request.get("ReadOnly"))
        volume = self.ctx.state.host_volumes.get((self.job["Namespace"], entry["ID"]))
        if volume is None or volume.get("State") != "ready":
            return False
        read_only = bool(request.get("ReadOnly"))
        access = request.get("AccessMode") or ("single-node-reader-only" if read_only else "single-node-writer")
        attachment = request.get("AttachmentMode") or "file-system"
        if not any((c.get("AccessMode"), c.get("AttachmentMode")) == (access, attachment)
                   for c in volume.get("RequestedCapabilities") or []):
            return False
        if access == "single-node-reader-only" and not read_only:
            return False
        if access == "single-node-writer" and read_only:
            return False
        if access == "single-node-single-writer" and not self.no_writer(volume, node):
            return False
        if request.get("Sticky") and self.unmet:
            if not any(c.get("VolumeID") == volume["ID"] for c in self.unmet):
                return False
            self.unmet = [c for c in self.unmet if c.get("VolumeID") != volume["ID"]]
        return True

    def no_writer(self, volume, node):
        """R-FEAS-1109."""
        seen, state = set(), self.ctx.state
        for a in self.ctx.proposed(node["ID"]):
            key = (a.get("Namespace"), a.get("JobID"), a.get("TaskGroup"))
            if key in seen:
                continue
            seen.add(key)
            index = state.job_index(key[0], key[1])
            group = group_of(state.jobs[index], key[2]) if index is not None else None
            if group is None:
                return False
            for r in (group.get("Volumes") or {}).values():
                if (r.get("Type") == "host" and effective_source(r, a.get("Name") or "") == volume.get("Name")
                        and not r.get("ReadOnly")):
                    return False
        return True

    def csi_reason(self, node):
        """R-FEAS-1201 to R-FEAS-1221."""
        if not self.csi_requests:
            return None
        state, ns = self.ctx.state, self.job["Namespace"]
        wanted, missing = [], []
        for r in self.csi_requests:
            source = effective_source(r, self.alloc_name)
            v = state.csi_volumes.get((ns, source))
            (wanted if v is not None else missing).append((r, v) if v is not None else source)
        if missing:
            self.ctx.missing |= {f"csi-volume:{ns}:{m}" for m in missing}
            return "missing CSI volume(s) " + ", ".join(missing)
        ids = {}
        for a in state.by_node.get(node["ID"], []):
            if a.get("DesiredStatus") != "run" and a.get("ClientStatus") != "running":
                continue
            g = group_of(state.job_of(a), a.get("TaskGroup"))
            for r in ((g or {}).get("Volumes") or {}).values():
                if r.get("Type") == "csi":
                    ids[r.get("Source") or ""] = a.get("Namespace")
        count = {}
        for source, namespace in ids.items():
            v = state.csi_volumes.get((namespace, source))
            if v is not None:
                count[v.get("PluginID")] = count.get(v.get("PluginID"), 0) + 1
        for r, v in wanted:
            p, n = v.get("PluginID") or "", node["ID"]
            plugin = (node.get("CSINodePlugins") or {}).get(p)
            if plugin is None:
                return f"CSI plugin {p} is missing from client {n}"
            if not plugin.get("Healthy"):
                return f"CSI plugin {p} is unhealthy on client {n}"
            info = plugin.get("NodeInfo") or {}
            if count.get(p, 0) >= (info.get("MaxVolumes") or 0):
                return f"CSI plugin {p} has the maximum number of volumes on client {n}"
            if v.get("Topologies"):
                at = info.get("AccessibleTopology")
                at = None if at is None else at.get("Segments") or {}
                if at is None or not any(all(at.get(k) == x for k, x in ((t or {}).get("Segments") or {}).items())
                                         for t in v["Topologies"]):
                    return "did not meet topology requirement"
            record = state.csi_plugins.get(p)
            schedulable = (record is not None and (record.get("NodesHealthy") or 0) > 0
                           and (not record.get("ControllerRequired") or (record.get("ControllersHealthy") or 0) > 0))
            schedulable = schedulable and v.get("ResourceExhausted") in (None, "", "0001-01-01T00:00:00Z")
            mode = v.get("AccessMode") or ""
            if r.get("ReadOnly"):
                if not schedulable:
                    return f"CSI volume {v['ID']} is unschedulable or has exhausted its available reader claims"
                continue
            writers = ("single-node-writer", "multi-node-single-writer", "multi-node-multi-writer")
            writable = mode in writers if mode else any(c.get("AccessMode") in writers
                                                        for c in v.get("RequestedCapabilities") or [])
            if not (schedulable and writable):
                return f"CSI volume {v['ID']} is unschedulable or is read-only"
            claims = v.get("WriteClaims") or v.get("WriteAllocs") or {}
            free = {"single-node-writer": not claims, "multi-node-single-writer": not claims,
                    "multi-node-multi-writer": True, "": True}.get(mode, False)
            if not free:
                for alloc_id in sorted(v.get("WriteAllocs") or v.get("WriteClaims") or {}):
                    a = state.allocs.get(alloc_id)
                    if a is None:
                        return (f"CSI volume {v['ID']} has exhausted its available writer claims and is claimed by a "
                                f"garbage collected allocation {alloc_id}; waiting for claim to be released")
                    if (a.get("Namespace"), a.get("JobID")) != (ns, self.job["ID"]):
                        return f"CSI volume {v['ID']} has exhausted its available writer claims"
        return None

    def hosts_taken(self, node):
        """R-FEAS-1311 to R-FEAS-1314."""
        job_level, group_level = (distinct_hosts(x.get("Constraints")) for x in (self.job, self.group))
        if not (job_level or group_level):
            return False
        return any(a.get("Namespace") == self.job["Namespace"] and a.get("JobID") == self.job["ID"]
                   and (job_level or a.get("TaskGroup") == self.group["Name"]) for a in self.ctx.proposed(node["ID"]))

    def property_reason(self, s, node):
        """R-FEAS-1410."""
        if s.error:
            return s.error
        value = s.value(node)
        if value is None:
            return f"missing property {quoted(s.target)}"
        used = s.combined().get(value, 0)
        if used < s.allowed:
            return None
        return f"distinct_property: {s.target}={value} used by {used} allocs"

    # --- bin-pack

    def binpack(self, node):
        """Section 6 of part 03: an option, or None after the metric was counted."""
        o, m, group, evict = Option(node), self.ctx.metrics, self.group, self.evict
        proposed = o.proposed = self.ctx.proposed(node["ID"])
        preemptor = Preemptor(self.ctx.state, node, self.job)
        index = PortIndex(node)
        if not index.valid or index.add_allocs(proposed):
            reason = "network: port collision" if index.valid else "network: invalid node"
            self.ctx.events.append(reason)
            m.exhaust(node, reason)
            return None
        devices = DeviceIndex(node)
        devices.add_allocs(proposed)
        victims = []

        def remove(more):
            nonlocal proposed
            victims.extend(more)
            gone = {a["ID"] for a in victims}
            proposed = [a for a in proposed if a["ID"] not in gone]

        def network(ask, offer):
            """An offer, with one retry after a preemption (R-PREEMPT-515)."""
            nonlocal index
            found, error = getattr(index, offer)(ask)
            if found is not None:
                return found
            if evict:
                more = preemptor.for_network(proposed, ask, index)
                if more:
                    remove(more)
                    index = PortIndex(node)
                    index.add_allocs(proposed)
                    found, error = getattr(index, offer)(ask)
                    if found is not None:
                        return found
            m.exhaust(node, "network: " + error)
            return None

        shared = {"DiskMB": (group.get("EphemeralDisk") or {}).get("SizeMB") or 0}
        if group.get("Networks"):
            ask = dict(group["Networks"][0])
            for key in ("DynamicPorts", "ReservedPorts"):
                ask[key] = [dict(p) for p in ask.get(key) or []]
                for p in ask[key]:
                    if p.get("HostNetwork"):
                        p["HostNetwork"], found = resolve(p["HostNetwork"], node)
                        if not found:
                            return None
            offer = network(ask, "offer_group")
            if offer is None:
                return None
            index.add_mappings(offer)
            for p in ask["DynamicPorts"]:
                got = next(x for x in offer if x["Label"] == (p.get("Label") or ""))
                p["Value"], p["To"] = got["Value"], got["To"]
                p["dynamic"] = True
            ip = host_address(node)
            if ip is not None:
                ask["IP"] = ip
            shared["Networks"], shared["Ports"] = [ask], offer
            o.shared = shared
        weight = affinity = 0.0
        taken_cores = set()
        for task in group.get("Tasks") or []:
            r = task.get("Resources") or {}
            secrets = r.get("SecretsMB") or 0
            ceiling = r.get("MemoryMaxMB") or 0
            ceiling = 0 if not self.oversubscription else (min(ceiling + secrets, INT64_MAX) if ceiling > 0
                                                           else -1 if ceiling == -1 else 0)
            got = {"Cpu": {"CpuShares": r.get("CPU") or 0},
                   "Memory": {"MemoryMB": min((r.get("MemoryMB") or 0) + secrets, INT64_MAX), "MemoryMaxMB": ceiling}}
            if r.get("Networks"):
                offer = network(r["Networks"][0], "offer_task")
                if offer is None:
                    return None
                index.add_network(offer)
                got["Networks"] = [offer]
            requests = r.get("Devices") or []
            if requests:
                accounting, w, a, entries, error = self.devices_plain(node, devices, requests)
                if error is not None and evict:
                    accounting, w, a, entries, error = devices.copy(), 0.0, 0.0, [], None
                    for request in requests:
                        offer, error = self.device_offer(node, accounting, request)
                        if offer is None:
                            more = preemptor.for_device(proposed, request, accounting)
                            if not more:
                                break
                            remove(more)
                            accounting = DeviceIndex(node)
                            accounting.add_allocs(proposed)
                            offer, error = self.device_offer(node, accounting, request)
                            if offer is None:
                                break
                        error = None
                        w, a = w + offer[1], a + offer[2]
                        accounting.add_entry(offer[0])
                        entries.append(offer[0])
                if error is not None:
                    m.exhaust(node, "devices: " + error)
                    return None
                devices = accounting
                weight, affinity = weight + w, affinity + a
                got["Devices"] = entries
            if r.get("Cores"):
                cores, _ = topology(node)
                used = set(taken_cores)
                for x in proposed:
                    for t in ((x.get("AllocatedResources") or {}).get("Tasks") or {}).values():
                        used |= set((t.get("Cpu") or {}).get("ReservedCores") or [])
                free = [c for c in cores if not c[1] and c[0] not in used]
                if len(free) < r["Cores"]:
                    m.exhaust(node, "cores")
                    return None
                chosen = sorted(free)[:r["Cores"]]
                taken_cores |= {c[0] for c in chosen}
                got["Cpu"] = {"CpuShares": sum(c[2] for c in chosen), "ReservedCores": [c[0] for c in chosen]}
            o.tasks[task["Name"]] = got
        o.lifecycles = {t["Name"]: t["Lifecycle"] for t in group.get("Tasks") or [] if t.get("Lifecycle")}
        resources = {"Tasks": o.tasks, "TaskLifecycles": o.lifecycles, "Shared": shared}
        o.disk = shared["DiskMB"]
        dimension, use = fit(node, proposed + [{"AllocatedResources": resources}])
        if dimension:
            more = preemptor.for_amounts(proposed, resources) if evict else []
            if not more:
                m.exhaust(node, dimension)
                return None
            victims += more
        o.victims, o.preemptor = victims, preemptor
        self.component(o, "binpack", fit_score(node, use, self.algorithm))
        if weight != 0:
            self.component(o, "devices", affinity / weight)
        return o

    def devices_plain(self, node, devices, requests):
        accounting, w, a, entries = devices.copy(), 0.0, 0.0, []
        for request in requests:
            offer, error = self.device_offer(node, accounting, request)
            if offer is None:
                return devices, 0.0, 0.0, [], error
            w, a = w + offer[1], a + offer[2]
            accounting.add_entry(offer[0])
            entries.append(offer[0])
        return accounting, w, a, entries, None

    def device_offer(self, node, accounting, request):
        """R-RANK-633: ((entry, W, A), None) or (None, error)."""
        if not device_groups(node):
            return None, "no devices available"
        count = request.get("Count") or 0
        if count == 0:
            return None, "invalid request of zero devices"
        best = None
        affinities = request.get("Affinities") or []
        for g in sorted_groups(node):
            if not group_matches(request, g):
                continue
            table = accounting.count.get(device_key(g), {})
            free = [i for i in sorted(table) if table[i] == 0 and instance_ok(request, g, i)][:count]
            if len(free) < count:
                continue
            total = sum(abs(float(a.get("Weight") or 0)) for a in affinities)
            hit = sum(float(a.get("Weight") or 0) for a in affinities if device_rule(a, g))
            score = divide(hit, total) if affinities else 0.0
            if best is None or not score < best[0]:
                best = (score, g, free, total, hit)
        if best is None:
            return None, "no devices match request"
        _, g, free, total, hit = best
        return ({"Vendor": g.get("Vendor") or "", "Type": g.get("Type") or "", "Name": g.get("Name") or "",
                 "DeviceIDs": free}, total, hit), None

    @staticmethod
    def component(o, name, value, append=True):
        o.scores[name] = value
        if append:
            o.components.append(value)

    def finish(self, o):
        """R-RANK-901."""
        total = 0.0
        for c in o.components:
            total += c
        o.final = total / float(len(o.components))
        self.ctx.metrics.score({"NodeID": o.node["ID"], "Scores": o.scores, "NormScore": o.final})


def driver_ok(driver, node):
    """R-FEAS-801, R-FEAS-802."""
    table = node.get("Drivers") or {}
    if driver in table:
        return bool(table[driver]) and bool(table[driver].get("Detected")) and bool(table[driver].get("Healthy"))
    return (node.get("Attributes") or {}).get("driver." + driver) in ("1", "t", "T", "true", "TRUE", "True")


def distinct_hosts(constraints):
    """R-FEAS-1311."""
    first = next((c for c in constraints or [] if c.get("Operand") == "distinct_hosts"), None)
    return first is not None and (first.get("RTarget") or "") not in ("0", "f", "F", "false", "FALSE", "False")


def instance_ok(request, group, instance):
    """R-RANK-634."""
    for c in request.get("Constraints") or []:
        left, right = c.get("LTarget") or "", c.get("RTarget") or ""
        if "${device.ids}" not in (left, right):
            continue
        other = device_target(right if left == "${device.ids}" else left, group)
        if other is None:
            other = ("none", None, "")
        if not device_check(c.get("Operand") or "", other, ("text", instance, "")):
            return False
    return True


def host_address(node):
    """R-MODEL-488."""
    res = node.get("NodeResources") or {}
    networks = res.get("NodeNetworks") or []
    if networks:
        for n in networks:
            if n.get("Mode") == "host":
                return n["Addresses"][0].get("Address") or ""
        return None
    ip = None
    for n in res.get("Networks") or []:
        if n.get("Mode") == "host":
            ip = n.get("IP") or ""
    return ip


class GenericStack(Stack):
    def select(self, group, alloc_name, preferred=None, penalty=(), evict=False):
        if preferred is not None:  # R-FEAS-213
            base = self.nodes
            self.nodes, self.offset, self.seen = [preferred], 0, 0
            o = self.select(group, alloc_name, None, penalty, evict)
            self.nodes, self.offset, self.seen = base, 0, 0
            if o is not None:
                return o
        self.seen = 0
        self.evict, self.penalty = evict, set(penalty)
        for s in self.job_sets + [x for v in self.group_sets.values() for x in v]:
            s.refresh()
        for sets in self.spread_sets.values():
            for s in sets:
                s.refresh()
        self.ctx.metrics = Metrics()
        self.load(group, alloc_name)
        self.affinities = list(self.job.get("Affinities") or []) + rules(group, "Affinities")
        self.prepare_spread(group)
        if self.affinities or self.spread_sets[group["Name"]]:
            self.limit = max(group.get("Count") or 0, self.checks)
        return self.best(self.options())

    def options(self):
        while True:
            node = self.pull()
            if node is None:
                return
            if not self.feasible(node):
                continue
            o = self.binpack(node)
            if o is None:
                continue
            self.rank(o)
            yield o

    def best(self, upstream):
        """R-RANK-411, R-RANK-421."""
        skipped, returned, seen, best = [], 0, 0, None

        def fetch():
            nonlocal returned
            o = next(upstream, None)
            if o is None and returned < len(skipped):
                o = skipped[returned]
                returned += 1
            return o

        while seen != self.limit:
            o = fetch()
            if o is None:
                break
            if len(skipped) < 3:
                while o is not None and o.final <= 0.0 and len(skipped) < 3:
                    skipped.append(o)
                    o = next(upstream, None)
            seen += 1
            if o is None:
                o = fetch()
                if o is None:
                    break
            if best is None or o.final > best.final:
                best = o
        return best

    def rank(self, o):
        group, node = self.group, o.node
        collisions = sum(1 for a in o.proposed if a.get("JobID") == self.job["ID"]
                         and a.get("TaskGroup") == group["Name"])
        if collisions:
            self.component(o, "job-anti-affinity", divide(-1.0 * float(collisions + 1), float(group.get("Count") or 0)))
        else:
            self.component(o, "job-anti-affinity", 0.0, append=False)
        hit = node["ID"] in self.penalty
        self.component(o, "node-reschedule-penalty", -1.0 if hit else 0.0, append=hit)
        if self.affinities:
            total = matched = 0.0
            for a in self.affinities:
                total += abs(float(a.get("Weight") or 0))
                if node_check(a, node):
                    matched += float(a.get("Weight") or 0)
            self.component(o, "node-affinity", divide(matched, total))
        else:
            self.component(o, "node-affinity", 0.0, append=False)
        spread = self.spread_score(node)
        if spread != 0.0:
            self.component(o, "allocation-spread", spread)
        if o.victims:
            self.component(o, "preemption", o.preemptor.score(o.victims))
        self.finish(o)

    # --- spread (part 03 section 8)

    def prepare_spread(self, group):
        name = group["Name"]
        if name not in self.spread_sets:
            job_level, own = self.spreads or [], group.get("Spreads") or []
            self.spread_sets[name] = [PropertySet(self.ctx, self.job, s.get("Attribute") or "", name,
                                                  [t.get("Value") or "" for t in s.get("SpreadTarget") or []])
                                      for s in list(job_level) + list(own)]
        if name not in self.spread_tables:
            table, count = {}, float(group.get("Count") or 0)
            for s in list(group.get("Spreads") or []) + list(self.spreads or []):
                desired, total = {}, 0.0
                for t in s.get("SpreadTarget") or []:
                    d = (float(t.get("Percent") or 0) / 100.0) * count
                    desired[t.get("Value") or ""] = d
                    total += d
                if 0.0 < total < count:
                    desired["*"] = count - total
                table[s.get("Attribute") or ""] = (s.get("Weight") or 0, desired)
                self.weight_sum += s.get("Weight") or 0
            self.spread_tables[name] = table

    def spread_score(self, node):
        """R-RANK-831."""
        total = 0.0
        for s in self.spread_sets[self.group["Name"]]:
            raw = s.value(node)
            if raw is None:
                total -= 1.0
                continue
            value, combined = s.mapped(raw), s.combined()
            used = combined.get(value, 0) + 1
            entry = self.spread_tables[self.group["Name"]].get(s.target)
            if entry is None:
                continue
            weight, desired = entry
            if not desired:
                total += even(combined, raw)
                continue
            want = desired.get(value, desired.get("*"))
            if want is None:
                total -= 1.0
                continue
            if want == 0:
                total += self.lowest_boost
                continue
            boost = ((want - float(used)) / want) * divide(float(weight), float(self.weight_sum))
            total += boost
            if boost < self.lowest_boost:
                self.lowest_boost = boost
        return total


def even(combined, raw):
    """R-RANK-834, R-RANK-835."""
    if not combined:
        return 0.0
    cur = combined.get(raw, 0)
    low = high = 0
    for value in sorted(combined, key=lambda v: v.encode()):
        n = combined[value]
        if low == 0 or n < low:
            low = n
        high = max(high, n)
    delta = -1.0 if low == 0 else float(low - cur) / float(low)
    if cur != low:
        return delta
    if low == high:
        return -1.0
    if low == 0:
        return 1.0
    return float(high - low) / float(low)


class SystemStack(Stack):
    """R-RANK-202, R-RANK-221. `evict` is fixed when the stack is built."""
    generic = False

    def select(self, group, alloc_name):
        self.seen = 0
        ctx = self.ctx
        for s in self.job_sets + [x for v in self.group_sets.values() for x in v]:
            s.refresh()
        ctx.metrics = Metrics()
        ctx.job_class, ctx.group_class, ctx.group_escaped, ctx.missing = {}, {}, {}, set()  # R-FEAS-412
        self.load(group, alloc_name)
        while True:
            node = self.pull()
            if node is None:
                return None
            if self.feasible(node):
                o = self.binpack(node)
                if o is not None:
                    self.finish(o)
                    return o
