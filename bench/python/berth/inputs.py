"""Jobs and nodes as dicts in the form of Nomad's API."""

from __future__ import annotations

import difflib
import inspect
import random
import uuid
from typing import Any, Sequence


JOB_FIELDS = (
    "Affinities", "AllAtOnce", "Constraints", "ConsulNamespace", "Meta", "Migrate", "Multiregion", "Namespace",
    "NodePool", "ParameterizedJob",
    "Periodic", "Region", "Reschedule", "Spreads", "Stop", "UI", "Update", "VaultNamespace", "VersionTag",
)
"""Fields of a job in Nomad's API that `job` passes on unchanged."""


def job(id: str, *, count: int = 1, cpu: int = 100, memory: int = 300, disk: int = 300, type: str = "service",
        priority: int = 50,
        datacenters: Sequence[str] = ("*",), driver: str = "exec", group: str = "group", **extra: Any) -> dict:
    """A job of one group with one task. `cpu` in MHz, `memory` and `disk` in MiB; `extra` are further fields of the
    job, as Nomad's API names them (JOB_FIELDS); any other keyword is a TypeError. What Nomad would refuse is refused
    when the job is registered."""
    for name in extra:
        if name not in JOB_FIELDS:
            known = [one for one in inspect.signature(job).parameters if one != "extra"] + list(JOB_FIELDS)
            lower = {one.lower(): one for one in known}
            near = difflib.get_close_matches(name.lower(), lower, n=1, cutoff=0.4)
            raise TypeError(f"job() has no keyword {name!r}" + (f"; did you mean {lower[near[0]]!r}?" if near else ""))
    return {"Job": {
        "ID": id, "Name": id, "Type": type, "Priority": priority, "Datacenters": list(datacenters), **extra,
        "TaskGroups": [{"Name": group, "Count": count, "EphemeralDisk": {"SizeMB": disk}, "Tasks": [{
            "Name": "task", "Driver": driver, "Config": {"command": "/bin/true"},
            "Resources": {"CPU": cpu, "MemoryMB": memory}}]}]}}


def nodes(count: int, *, cpu: int | Sequence[int] = 4000, memory: int | Sequence[int] = 8192, disk: int = 100_000,
          datacenters: Sequence[str] = ("dc1",), drivers: Sequence[str] = ("exec",), node_class: str = "",
          racks: int = 0,
          seed: int = 1) -> list[dict]:
    """`count` nodes that are ready. `cpu` (MHz) and `memory` (MiB) may be lists, from which each node draws one; with
    `racks`, node i has the meta value rack = r<i mod racks>. The same arguments give the same nodes."""
    if count < 0:
        raise ValueError(f"count: {count} is negative")
    draw = random.Random(seed)
    out = []
    for i in range(count):
        mhz = cpu if isinstance(cpu, int) else draw.choice(list(cpu))
        mib = memory if isinstance(memory, int) else draw.choice(list(memory))
        address = f"10.{i >> 16 & 255}.{i >> 8 & 255}.{i & 255}"
        out.append({
            "ID": str(uuid.UUID(int=draw.getrandbits(128), version=4)), "Name": f"node-{i}", "NodeClass": node_class,
            "NodePool": "default",
            "Datacenter": datacenters[i % len(datacenters)], "Status": "ready", "SchedulingEligibility": "eligible",
            "Attributes": {"kernel.name": "linux", **{f"driver.{driver}": "1" for driver in drivers}},
            "Meta": {"rack": f"r{i % racks}"} if racks else {},
            "Drivers": {driver: {"Detected": True, "Healthy": True} for driver in drivers},
            "NodeResources": {
                "Memory": {"MemoryMB": mib}, "Disk": {"DiskMB": disk},
                "Networks": [{"Mode": "host", "Device": "eth0", "IP": address, "CIDR": f"{address}/32", "MBits": 1000}],
                "Processors": {"Topology": {"Cores": [{"ID": 0, "BaseSpeed": mhz}]}}}})
    return out
