"""Resource arithmetic, fit, fit score, ports and devices of one node.

Specification: part 01, sections 10 to 14; part 03, sections 5 and 6."""
import ipaddress
import re

from values import device_rule, divide, pow10

INT64_MAX = 2**63 - 1


# --- facts about allocations ---

def client_terminal(a):
    return a.get("ClientStatus") in ("complete", "failed", "lost")


def server_terminal(a):
    return a.get("DesiredStatus") in ("stop", "evict")


def terminal(a):
    return client_terminal(a) or server_terminal(a)


# --- flatten ---

class Amounts:
    def __init__(self, cpu=0, cores=(), memory=0, disk=0):
        self.cpu, self.cores, self.memory, self.disk = cpu, set(cores), memory, disk

    def plus(self, o):
        return Amounts(self.cpu + o.cpu, self.cores | o.cores, self.memory + o.memory, self.disk + o.disk)

    def minus(self, o):
        return Amounts(self.cpu - o.cpu, self.cores - o.cores, self.memory - o.memory, self.disk - o.disk)


def phases(task, lifecycle):
    """R-RANK-513: the phases in which a task counts."""
    if not lifecycle or not lifecycle.get("Hook"):
        return ("main",)
    hook = lifecycle["Hook"]
    if hook == "prestart":
        return ("main", "pre") if lifecycle.get("Sidecar") else ("pre",)
    return {"poststart": ("main",), "poststop": ("post",)}.get(hook, ())


def flatten(resources):
    """R-RANK-511 to R-RANK-515."""
    if not resources:
        return Amounts()
    sums = {p: [0, 0] for p in ("main", "pre", "post")}
    direct_cpu, cores = 0, set()
    lifecycles = resources.get("TaskLifecycles") or {}
    for name, task in (resources.get("Tasks") or {}).items():
        cpu = task.get("Cpu") or {}
        shares = cpu.get("CpuShares") or 0
        if cpu.get("ReservedCores"):
            direct_cpu += shares
            cores |= set(cpu["ReservedCores"])
            shares = 0
        for p in phases(task, lifecycles.get(name)):
            sums[p][0] += shares
            sums[p][1] += (task.get("Memory") or {}).get("MemoryMB") or 0
    return Amounts(direct_cpu + max(s[0] for s in sums.values()), cores, max(s[1] for s in sums.values()),
                   (resources.get("Shared") or {}).get("DiskMB") or 0)


def flatten_networks(resources):
    """R-RANK-514, R-RANK-515: networks merged by device name, in order of first appearance."""
    merged = {}

    def add(network):
        m = merged.setdefault(network.get("Device") or "", {"Device": network.get("Device") or "", "MBits": 0,
                                                            "ReservedPorts": [], "DynamicPorts": []})
        m["MBits"] += network.get("MBits") or 0
        m["ReservedPorts"] += network.get("ReservedPorts") or []
        m["DynamicPorts"] += network.get("DynamicPorts") or []

    if not resources:
        return []
    lifecycles = resources.get("TaskLifecycles") or {}
    tasks = sorted((resources.get("Tasks") or {}).items())
    for phase in ("main", "pre", "post"):
        for name, task in tasks:
            if phase in phases(task, lifecycles.get(name)):
                for n in task.get("Networks") or []:
                    add(n)
    for n in (resources.get("Shared") or {}).get("Networks") or []:
        add(n)
    return list(merged.values())


# --- node ---

def topology(node):
    """Cores of the node: list of (ID, disabled, speed), and the override of the total."""
    res = node.get("NodeResources") or {}
    topo = (res.get("Processors") or {}).get("Topology")
    cpu = res.get("Cpu") or {}
    if topo is None and cpu.get("CpuShares") and cpu.get("TotalCpuCores"):  # R-MODEL-432
        ids = cpu.get("ReservableCpuCores") or list(range(cpu["TotalCpuCores"]))
        return [(i, False, cpu["CpuShares"] // len(ids)) for i in ids], cpu["CpuShares"]
    topo = topo or {}
    return ([(c.get("ID") or 0, bool(c.get("Disable")),
              c.get("BaseSpeed") or c.get("MaxSpeed") or c.get("GuessSpeed") or 0) for c in topo.get("Cores") or []],
            topo.get("OverrideTotalCompute") or 0)


def capacity(node):
    cores, total = topology(node)
    res = node.get("NodeResources") or {}
    return Amounts(total or sum(c[2] for c in cores), [c[0] for c in cores if not c[1]],
                   (res.get("Memory") or {}).get("MemoryMB") or 0, (res.get("Disk") or {}).get("DiskMB") or 0)


def reserved(node):
    r = node.get("ReservedResources") or {}
    cpu = r.get("Cpu") or {}
    return Amounts(cpu.get("CpuShares") or 0, cpu.get("ReservedCpuCores") or [],
                   (r.get("Memory") or {}).get("MemoryMB") or 0, (r.get("Disk") or {}).get("DiskMB") or 0)


def lacking(available, used):
    """R-RANK-524: the first dimension that is not covered, or ""."""
    if available.cpu < used.cpu:
        return "cpu"
    if available.cores and not used.cores <= available.cores:
        return "cores"
    if available.memory < used.memory:
        return "memory"
    return "disk" if available.disk < used.disk else ""


def fit(node, allocs):
    """R-RANK-531 to R-RANK-535: (dimension or "", use)."""
    limit = node.get("NodeMaxAllocs") or 0
    if limit and limit < len(allocs):
        return "max allocation exceeded", Amounts()
    use, overlap = Amounts(), False
    for a in allocs:
        if client_terminal(a):
            continue
        f = flatten(a.get("AllocatedResources"))
        overlap = overlap or bool(use.cores & f.cores)
        use = use.plus(f)
    if overlap:
        return "cores", use
    return lacking(capacity(node).minus(reserved(node)), use), use


def fit_score(node, use, algorithm):
    """R-RANK-651, R-RANK-652."""
    cap, res = capacity(node), reserved(node)
    free_cpu = 1.0 - divide(use.cpu, float(cap.cpu) - float(res.cpu))
    free_memory = 1.0 - divide(use.memory, float(cap.memory) - float(res.memory))
    total = pow10(free_cpu) + pow10(free_memory)
    s = total - 2.0 if algorithm == "spread" else 20.0 - total
    if s > 18.0:
        s = 18.0
    elif s < 0:
        s = 0.0
    return s / 18.0


# --- ports ---

def parse_ports(text):
    """R-MODEL-472: list of ports, None if the text is invalid."""
    if not text:
        return []
    ports, count = [], 0
    for part in text.split(","):
        ends = part.strip().split("-")
        if len(ends) > 2 or not all(re.fullmatch("[0-9]+", e) for e in ends):
            return None
        low, high = int(ends[0]), int(ends[-1])
        if high < low or low < 1 or high > 65536:
            return None
        count += high - low if len(ends) == 2 else 1
        if count > 65536:
            return None
        ports += range(low, high + 1)
    return ports


class PortIndex:
    """R-RANK-601 to R-RANK-607."""

    def __init__(self, node):
        res = node.get("NodeResources") or {}
        self.used, self.aliases, self.available, self.bandwidth = {}, {}, {}, {}
        self.networks, self.valid = [], True
        everywhere = parse_ports((((node.get("ReservedResources") or {}).get("Networks"))
                                  or {}).get("ReservedHostPorts"))
        if everywhere is None:
            self.valid = False
            return
        for n in res.get("Networks") or []:
            if n.get("Device"):
                self.networks.append(n)
                self.available[n["Device"]] = n.get("MBits") or 0
                self.on(n.get("IP") or "").update(everywhere)
        for n in res.get("NodeNetworks") or []:
            for address in n.get("Addresses") or []:
                self.aliases.setdefault(address.get("Alias") or "", []).append(address.get("Address") or "")
                own = parse_ports(address.get("ReservedPorts"))
                if own is None:
                    self.valid = False
                    return
                self.on(address.get("Address") or "").update(everywhere + own)
        low, high = res.get("MinDynamicPort") or 0, res.get("MaxDynamicPort") or 0
        self.low = low if low > 0 else 20000
        self.high = high if high > 0 else 32000

    def on(self, ip):
        return self.used.setdefault(ip, set())

    def mark(self, ip, value):
        """True on a collision."""
        if value in self.on(ip):
            return True
        self.on(ip).add(value)
        return False

    def add_network(self, network):
        """R-MODEL-481."""
        collision = False
        for p in (network.get("ReservedPorts") or []) + (network.get("DynamicPorts") or []):
            value = p.get("Value") or 0
            if not 0 <= value < 65536:
                return True
            collision |= self.mark(network.get("IP") or "", value)
        device = network.get("Device") or ""
        self.bandwidth[device] = self.bandwidth.get(device, 0) + (network.get("MBits") or 0)
        return collision

    def add_mappings(self, mappings):
        """R-MODEL-482."""
        collision = False
        for p in mappings:
            value = p.get("Value") or 0
            if not 0 <= value < 65536:
                return True
            if self.mark(p.get("HostIP") or "", value) and not p.get("IgnoreCollision"):
                collision = True
        return collision

    def add_allocs(self, allocs):
        """R-MODEL-480."""
        collision = False
        for a in allocs:
            if client_terminal(a):
                continue
            res = a.get("AllocatedResources") or {}
            shared = res.get("Shared") or {}
            if shared.get("Ports"):
                collision |= self.add_mappings(shared["Ports"])
                continue
            for n in shared.get("Networks") or []:
                collision |= self.add_network(n)
            for _, task in sorted((res.get("Tasks") or {}).items()):
                if task.get("Networks"):
                    collision |= self.add_network(task["Networks"][0])
        return collision

    def lowest_free(self, excluded):
        for p in range(self.low, max(self.low, self.high) + 1):
            if p not in excluded:
                return p
        return None

    def offer_group(self, ask):
        """R-MODEL-485: (mappings, None) or (None, error)."""
        offer = []
        for p in ask.get("ReservedPorts") or []:
            alias, value, found, error = p.get("HostNetwork") or "", p.get("Value") or 0, None, None
            for ip in self.aliases.get(alias, []):
                if not 0 <= value < 65536:
                    return None, f"invalid port {value} (out of range)"
                if value in self.on(ip) and not p.get("IgnoreCollision"):
                    error = f"reserved port collision {p.get('Label') or ''}={value}"
                    continue
                found = {"Label": p.get("Label") or "", "Value": value, "To": p.get("To") or 0, "HostIP": ip}
                if p.get("IgnoreCollision"):
                    found["IgnoreCollision"] = True
                break
            if found is None:
                return None, error or f"no addresses available for {alias} network"
            offer.append(found)
        for p in ask.get("DynamicPorts") or []:
            alias, found, error = p.get("HostNetwork") or "", None, None
            for ip in self.aliases.get(alias, []):
                excluded = (self.on(ip) | {o["Value"] for o in offer}
                            | {r.get("Value") or 0 for r in ask.get("ReservedPorts") or []
                               if (r.get("HostNetwork") or "") == alias})
                value = self.lowest_free(excluded)
                if value is None:
                    error = "dynamic port selection failed"
                    continue
                found = {"Label": p.get("Label") or "", "Value": value,
                         "To": value if p.get("To") == -1 else p.get("To") or 0, "HostIP": ip, "dynamic": True}
                break
            if found is None:
                return None, error or f"no addresses available for {alias} network"
            offer.append(found)
        return offer, None

    def offer_task(self, ask):
        """R-MODEL-495: (network, None) or (None, error)."""
        error = "no networks available"
        for n in self.networks:
            try:
                block = ipaddress.ip_network(n.get("CIDR") or "", strict=False)
            except ValueError:
                continue
            device = n["Device"]
            if self.bandwidth.get(device, 0) + (ask.get("MBits") or 0) > self.available.get(device, 0):
                error = "bandwidth exceeded"
                continue
            asked = ask.get("ReservedPorts") or []
            bad = next((p for p in asked if not 0 <= (p.get("Value") or 0) < 65536), None)
            for address in block:
                ip = str(address)
                used = self.used.get(ip, set())
                failed = None
                for p in asked:
                    value = p.get("Value") or 0
                    if p is bad:
                        failed = f"invalid port {value} (out of range)"
                    elif value in used:
                        failed = f"reserved port collision {p.get('Label') or ''}={value}"
                    if failed:
                        break
                if failed:
                    error = failed
                    continue
                excluded = set(used) | {p.get("Value") or 0 for p in asked}
                dynamic = []
                for p in ask.get("DynamicPorts") or []:
                    value = self.lowest_free(excluded)
                    if value is None:
                        break
                    excluded.add(value)
                    dynamic.append(dict(p, Value=value, To=value if p.get("To") == -1 else p.get("To") or 0,
                                        dynamic=True))
                if len(dynamic) < len(ask.get("DynamicPorts") or []):
                    error = "dynamic port selection failed"
                    continue
                return {"Mode": ask.get("Mode"), "Device": device, "IP": ip, "MBits": ask.get("MBits") or 0,
                        "DNS": ask.get("DNS"), "ReservedPorts": [dict(p) for p in asked], "DynamicPorts": dynamic}, None
        return None, error


# --- devices ---

def device_key(d):
    return (d.get("Vendor") or "", d.get("Type") or "", d.get("Name") or "")


def device_groups(node):
    return (node.get("NodeResources") or {}).get("Devices") or []


def sorted_groups(node):
    """R-RANK-635, R-FEAS-908."""
    return sorted(device_groups(node), key=lambda d: tuple(x.encode() for x in device_key(d)))


def name_matches(name, group):
    """R-FEAS-906."""
    if not name:
        return False
    parts = name.split("/", 2)
    vendor, kind, model = {1: ["", parts[0], ""], 2: parts[:2] + [""], 3: parts}[len(parts)]
    return all(not w or w == h for w, h in zip((vendor, kind, model), device_key(group)))


def group_matches(request, group):
    """R-FEAS-905."""
    return (name_matches(request.get("Name") or "", group)
            and all(device_rule(c, group) for c in request.get("Constraints") or []))


class DeviceIndex:
    """R-RANK-632: use counts of the healthy instances."""

    def __init__(self, node):
        self.count = {}
        for d in device_groups(node):
            self.count[device_key(d)] = {i.get("ID") or "": 0 for i in d.get("Instances") or [] if i.get("Healthy")}

    def copy(self):
        c = DeviceIndex({})
        c.count = {k: dict(v) for k, v in self.count.items()}
        return c

    def add_entry(self, d):
        group = self.count.get(device_key(d))
        for i in d.get("DeviceIDs") or []:
            if group is not None and i in group:
                group[i] += 1

    def add_allocs(self, allocs):
        for a in allocs:
            if client_terminal(a):
                continue
            for _, task in sorted(((a.get("AllocatedResources") or {}).get("Tasks") or {}).items()):
                for d in task.get("Devices") or []:
                    self.add_entry(d)

    def free(self, key):
        return sum(1 for c in self.count.get(key, {}).values() if c == 0)
