"""Whom to evict on one node (spec part 04)."""
import math

from resources import (capacity, device_key, flatten, flatten_networks, group_matches, lacking, reserved,
                       sorted_groups)
from values import divide, exp

DELTA = 10  # R-PREEMPT-204


class Preemptor:
    def __init__(self, state, node, job):
        self.state, self.node, self.job = state, node, job
        self.priority = job.get("Priority") or 0

    def candidates(self, proposed):
        """R-PREEMPT-202."""
        return [a for a in proposed if (a.get("Namespace"), a.get("JobID")) != (self.job["Namespace"], self.job["ID"])]

    def q(self, alloc):
        job = self.state.job_of(alloc)
        return None if job is None else job.get("Priority") or 0

    def preemptible(self, alloc):
        q = self.q(alloc)
        return q is not None and self.priority - q >= DELTA

    def groups(self, allocs):
        out = {}
        for a in allocs:
            if self.preemptible(a):
                out.setdefault(self.q(a), []).append(a)
        return [out[q] for q in sorted(out)]

    # R-PREEMPT-401 to R-PREEMPT-424
    def for_amounts(self, proposed, resources):
        ask = flatten(resources)
        rest = capacity(self.node).minus(reserved(self.node))
        allocs = self.candidates(proposed)
        for a in allocs:
            rest = rest.minus(flatten(a.get("AllocatedResources")))
        need, available, met, chosen = ask, rest, False, []
        for group in self.groups(allocs):
            while group and not met:
                best = min(range(len(group)), key=lambda i: (distance(need, use_of(group[i])), i))
                x = group[best]
                available = available.plus(use_of(x))
                met = not lacking(available, ask)
                chosen.append(x)
                group[best] = group[-1]
                group.pop()
                need = need.minus(use_of(x))
            if met:
                break
        if not met:
            return []
        chosen.sort(key=lambda x: -distance(ask, use_of(x)))
        available, victims = rest, []
        for x in chosen:
            victims.append(x)
            available = available.plus(use_of(x))
            if not lacking(available, ask):
                break
        return victims

    # R-PREEMPT-501 to R-PREEMPT-512
    def for_network(self, proposed, ask, index):
        b = ask.get("MBits") or 0
        wanted = [p.get("Value") or 0 for p in ask.get("ReservedPorts") or []]
        by_device, blocked = {}, {}
        for a in self.candidates(proposed):
            nets = flatten_networks(a.get("AllocatedResources"))
            if not nets:
                continue
            device = nets[0]["Device"]
            if not self.preemptible(a):
                blocked.setdefault(device, set()).update(p.get("Value") or 0 for p in nets[0]["ReservedPorts"])
            else:
                by_device.setdefault(device, []).append(a)
        for device in sorted(by_device):
            victims = self.on_device(device, by_device[device], blocked.get(device, set()), b, wanted, index)
            if victims is not None:  # also an empty list, which then counts as failure (R-PREEMPT-512)
                return victims
        return []

    def on_device(self, device, listed, blocked, b, wanted, index):
        """The victims on the first device that succeeds (R-PREEMPT-504); None: this one does not."""
        total = index.available.get(device, 0)
        if total < b:
            return None
        free = total - index.bandwidth.get(device, 0)
        got, victims = 0, []
        holders = {}
        for a in listed:
            for n in flatten_networks(a.get("AllocatedResources")):
                for p in n["ReservedPorts"]:
                    holders[p.get("Value") or 0] = a
        for port in wanted:
            if port in holders:
                victims.append(holders[port])
                got += first_mbits(holders[port])
            elif port in blocked:
                return None
        met = got + free >= b
        if not met:
            taken = {a["ID"] for a in victims}
            for group in self.groups([a for a in listed if a["ID"] not in taken]):
                group.sort(key=lambda a: divide(abs(b - first_mbits(a)), b))
                for a in group:
                    victims.append(a)
                    got += first_mbits(a)
                    if got + free >= b:
                        met = True
                        break
                if met:
                    break
        if not met:
            return None
        if b == 0:
            return victims
        victims.sort(key=lambda a: -divide(abs(b - first_mbits(a)), b))
        kept, total = [], free
        for a in victims:
            kept.append(a)
            total += sum(n["MBits"] for n in flatten_networks(a.get("AllocatedResources")) if n["Device"] == device)
            if total != 0 and total >= b:
                break
        return kept

    # R-PREEMPT-603 to R-PREEMPT-606
    def for_device(self, proposed, request, accounting):
        count = request.get("Count") or 0
        matching = {device_key(g): g for g in sorted_groups(self.node) if group_matches(request, g)}
        lists, held = {}, {}
        for a in self.candidates(proposed):
            for _, task in sorted(((a.get("AllocatedResources") or {}).get("Tasks") or {}).items()):
                for d in task.get("Devices") or []:
                    key = device_key(d)
                    if key in matching:
                        lists.setdefault(key, []).append(a)
                        held.setdefault(key, {})
                        held[key][a["ID"]] = held[key].get(a["ID"], 0) + len(d.get("DeviceIDs") or [])
        best = None
        for key in sorted(lists):
            free, taken, victims, reached = accounting.free(key), 0, [], False
            for group in self.groups(lists[key]):
                for a in group:
                    victims.append(a)
                    taken += held[key][a["ID"]]
                    if taken + free >= count:
                        reached = True
                        break
                if reached:
                    break
            if not reached:
                continue
            victims.sort(key=lambda a: -held[key][a["ID"]])
            kept, taken = [], 0
            for a in victims:
                if taken >= count:
                    break
                kept.append(a)
                taken += held[key][a["ID"]]
            net = sum({self.q(a) for a in kept})
            if best is None or net < best[0]:
                best = (net, kept)
        return best[1] if best else []

    def score(self, victims):
        """R-PREEMPT-701, R-PREEMPT-702."""
        priorities = [self.q(a) for a in victims]
        hi = float(max(priorities))
        net = hi + divide(sum(priorities), hi)
        return 1.0 / (1.0 + exp(0.0048 * (net - 2048.0)))


def use_of(alloc):
    return flatten(alloc.get("AllocatedResources"))


def first_mbits(alloc):
    return flatten_networks(alloc.get("AllocatedResources"))[0]["MBits"]


def distance(need, u):
    """R-PREEMPT-411."""
    def part(n, x):
        return (float(n) - float(x)) / float(n) if n > 0 else 0.0
    m, c, d = part(need.memory, u.memory), part(need.cpu, u.cpu), part(need.disk, u.disk)
    return math.sqrt((m * m + c * c) + d * d)
