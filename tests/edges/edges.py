#!/usr/bin/env python3
"""Sizes at the edge: 0 and 1 node, 50,000 allocations of a job, groups and tasks by the hundred, values of 1 MiB,
100,000 distinct values, counters at 2^31 and 2^63. Each is decided right, or refused.

    edges.py BERTH            the cases
    edges.py BERTH --growth   how instructions grow when a size doubles, counted by valgrind
    edges.py BERTH --large    how processor time and memory grow up to 10,000,000 nodes; needs 8 GiB

Exit code 1: a case is decided wrongly, or a cost grows faster than size^1.2."""
import argparse
import copy
import json
import math
import os
import re
import resource
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MIB = 1 << 20
STEEPEST = 1.2  # exponent of a cost; n log n has 1.1 at these sizes
# The ports of a node are listed again for each allocation that is placed there, as the plan so far has changed them.
STEEPEST_OF = {"allocations with a port, replaced": 2.2}
with open(os.path.join(ROOT, "tests/dryrun/small.json"), encoding="utf-8") as file:
    EXAMPLE = json.load(file)  # one node, and ten allocations of the job "filler"
NODE = next(v for k, v in EXAMPLE.items() if k.startswith("/v1/node/") and "Attributes" in v)
ALLOC = next(v for k, v in EXAMPLE.items() if k.endswith("/allocations"))[0]
CONFIGURATION = {k: v for k, v in EXAMPLE.items() if k in ("/v1/namespaces", "/v1/operator/scheduler/configuration")}
cases = []


def case(function):
    cases.append(function)
    return function


# ---------------------------------------------------------------- inputs
def node(number=1, mhz=1000, memory_mb=8192, disk_mb=100000, **more):
    out = copy.deepcopy(NODE)
    out["ID"], out["Name"] = f"{number:08x}-1111-4111-8111-111111111111", f"n{number}"
    held = out["NodeResources"]
    held["Cpu"]["CpuShares"] = held["Processors"]["Topology"]["Cores"][0]["BaseSpeed"] = mhz
    held["Memory"]["MemoryMB"], held["Disk"]["DiskMB"] = memory_mb, disk_mb
    out.update(more)
    return out


def cluster(nodes, **more):
    return {**CONFIGURATION, **{"/v1/node/" + n["ID"]: n for n in nodes}, **more}


def group(name="g", count=1, tasks=1, cpu=100, memory_mb=100, disk_mb=None, **more):
    one = {"Driver": "exec", "Config": {"command": "x"}, "LogConfig": {"MaxFiles": 1, "MaxFileSizeMB": 1},
           "Resources": {"CPU": cpu, "MemoryMB": memory_mb}}
    return {"Name": name, "Count": count, "EphemeralDisk": {"SizeMB": disk_mb or max(10, tasks)},
            "Tasks": [{**one, "Name": f"t{i}"} for i in range(tasks)], **more}


def job(groups, **more):
    return {"Job": {"ID": "j", "Name": "j", "Type": "service", "Region": "global", "Namespace": "default",
                    "Datacenters": ["dc1"], "TaskGroups": groups, **more}}


def running(count, of, ports=False):
    """A cluster with `count` running allocations of the job `of` on one node, each with a port or none."""
    stored = {**of["Job"], "Version": 0, "CreateIndex": 10, "ModifyIndex": 20, "JobModifyIndex": 10,
              "Status": "running"}
    host = node(mhz=10**8, memory_mb=10**8, disk_mb=10**8)
    cpu, memory = ({"CpuShares": 1, "ReservedCores": None}, {"MemoryMB": 10, "MemoryMaxMB": 0})
    held = {"Tasks": {"t0": {"Cpu": cpu, "Memory": memory}}, "TaskLifecycles": {"t0": None},
            "Shared": {"DiskMB": 10, "Networks": None, "Ports": None}}

    def held_by(i):
        port = {"Label": "x", "Value": 20000 + i, "To": 0, "HostIP": "10.0.0.1"}
        return {**held, "Shared": {**held["Shared"], "Ports": [port]}} if ports else held

    allocs = [{**ALLOC, "ID": f"{i:08x}-0000-4000-8000-000000000000", "Name": f"j.g[{i}]", "NodeID": host["ID"],
               "NodeName": host["Name"], "JobID": "j", "TaskGroup": "g", "Job": stored,
               "AllocatedResources": held_by(i)}
              for i in range(count)]
    return cluster([host], **{"/v1/job/j": stored, f"/v1/node/{host['ID']}/allocations": allocs})


def workload(nodes, count, racks=0, more=""):
    return (f'name = "edge"\n[cluster]\nnodes = {nodes}\nracks = {racks}\n[[cluster.shapes]]\nname = "std"\n'
            f'[jobs]\ncount = 1\n[[jobs.mix]]\nname = "web"\ncount = {count}\ncpu_mhz = 1000\nmemory_mb = 100\n{more}')


# ---------------------------------------------------------------- runs
class Berth:
    """Runs the program in an empty folder."""
    def __init__(self, program, folder):
        self.program, self.folder = os.path.abspath(program), folder

    def __call__(self, *arguments):
        return subprocess.run([self.program, *arguments], cwd=self.folder, text=True, capture_output=True, check=False)

    def put(self, name, content):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as out:
            out.write(content if isinstance(content, str) else json.dumps(content))

    def plan(self, cluster_, job_):
        """(placements and other changes by kind, allocations that found no node) of one job of one group, or more."""
        self.put("cluster.json", cluster_)
        self.put("job.json", job_)
        done = self("plan", "--no-diff", "--advice", "0", "--require", "none", "--json", "answer.json", "cluster.json",
                    "job.json")
        expect(done.returncode, 0, done.stderr[:300])
        with open(os.path.join(self.folder, "answer.json"), encoding="utf-8") as answer_file:
            answer = json.load(answer_file)
        changes = {}
        for counts in (answer["Annotations"]["DesiredTGUpdates"] or {}).values():
            for kind, number in counts.items():
                if number:
                    changes[kind] = changes.get(kind, 0) + number
        failed = sum(1 + f.get("CoalescedFailures", 0) for f in (answer["FailedTGAllocs"] or {}).values())
        return changes, failed

    def run(self, text):
        """(placed, wanted) of a workload."""
        self.put("w.toml", text)
        done = self("run", "--quiet", "w.toml")
        expect(done.returncode, 0, done.stderr[:300])
        placed = re.search(r"placed +([\d,]+) of ([\d,]+)", done.stdout)
        return tuple(int(n.replace(",", "")) for n in placed.groups())

    def refuses(self, text, *arguments):
        """One line on standard error that contains `text`, and nothing on standard output."""
        done = self(*arguments)
        said = done.stderr.strip()
        if done.returncode != 2 or text not in said or "\n" in said or done.stdout.strip():
            raise AssertionError(f"not refused with '{text}' in one line: exit code {done.returncode}, {said[:300]}")

    def refuses_job(self, text, cluster_, job_):
        """Refused at registration, in Nomad's words, which are a list of several lines."""
        self.put("cluster.json", cluster_)
        self.put("job.json", job_)
        done = self("plan", "cluster.json", "job.json")
        expect((done.returncode, text in done.stderr), (2, True), done.stderr[:300])


def expect(got, wanted, what=""):
    if got != wanted:
        raise AssertionError(f"{what}: got {got}, expected {wanted}")


# ---------------------------------------------------------------- cases
@case
def no_node(berth):
    berth.put("w.toml", workload(0, 1))
    berth.refuses("'nodes' is 0", "run", "--quiet", "w.toml")
    berth.put("empty.json", cluster([]))
    berth.refuses("holds neither nodes nor jobs nor allocations", "import", "empty.json", "-o", "out.json")
    for kind in ("service", "batch", "system", "sysbatch"):  # a node, but none that is ready
        changes, failed = berth.plan(cluster([node(Status="down")]), job([group()], Type=kind))
        placed = kind in ("service", "batch")  # jobs of the other two have as many allocations as ready nodes
        expect((changes, failed), ({"Place": 1} if placed else {}, 1 if placed else 0), kind)


@case
def one_node(berth):
    for count in (10, 11):  # of 100 MHz; the node has 1000
        for kind in ("service", "batch"):
            expect(berth.plan(cluster([node()]), job([group(count=count)], Type=kind)), ({"Place": count}, count - 10))
    for kind in ("system", "sysbatch"):
        expect(berth.plan(cluster([node()]), job([group()], Type=kind)), ({"Place": 1}, 0), kind)
    expect(berth.run(workload(1, 21)), (20, 21), "a node of 20,000 MHz, tasks of 1,000")


@case
def more_nodes_than_the_limit(berth):
    berth.put("w.toml", workload(10_000_001, 1))
    berth.refuses("'nodes' is 10000001", "run", "--quiet", "w.toml")


@case
def fifty_thousand_allocations_of_a_job(berth):
    before = job([group(count=50_000, cpu=1, memory_mb=10)])
    berth.put("cluster.json", running(50_000, before))

    def plan(changed):
        berth.put("job.json", changed)
        berth.put("answer.json", "")  # that of the plan before
        done = berth("plan", "--no-diff", "--advice", "0", "--json", "answer.json", "cluster.json", "job.json")
        if done.returncode == 2:
            return done.stderr
        with open(os.path.join(berth.folder, "answer.json"), encoding="utf-8") as answer:
            counts = json.load(answer)["Annotations"]["DesiredTGUpdates"]["g"]
        return {kind: number for kind, number in counts.items() if number}
    # The stored job lacks the defaults that a registration fills in, so each version differs from it.
    expect(plan(job([group(count=49_999, cpu=1, memory_mb=10)])), {"InPlaceUpdate": 49_999, "Stop": 1})
    at_once = {"MaxParallel": 0}
    expect(plan(job([group(count=50_000, cpu=2, memory_mb=10, Update=at_once)])), {"DestructiveUpdate": 50_000})
    said = plan(job([group(count=50_001, cpu=1, memory_mb=10)]))
    expect("job_max_count: 50001 > 50000" in said, True, str(said)[:300])


@case
def placing_fifty_thousand_allocations(berth):
    expect(berth.run(workload(2500, 50_000)), (50_000, 50_000))  # 20 on each node
    expect(berth.run(workload(2499, 50_000)), (49_980, 50_000))


@case
def groups_and_tasks_by_the_hundred(berth):
    host = node(mhz=30_000, memory_mb=30_000)
    for count, failed in ((300, 0), (301, 1)):  # of 100 MHz and 100 MiB each
        expect(berth.plan(cluster([host]), job([group(f"g{i}") for i in range(count)])), ({"Place": count}, failed))
        expect(berth.plan(cluster([host]), job([group(tasks=count)])), ({"Place": 1}, failed))
    both = job([group(f"g{i}", tasks=100, cpu=1, memory_mb=10) for i in range(100)])
    expect(berth.plan(cluster([node(mhz=10_000, memory_mb=100_000)]), both), ({"Place": 100}, 0))
    expect(berth.plan(cluster([node(mhz=9_999, memory_mb=100_000)]), both), ({"Place": 100}, 1))


@case
def values_of_a_mebibyte(berth):
    value = "a" * MIB
    here = cluster([node(Meta={"big": value})])

    def failed(operand, other, target="big"):
        constraint = {"LTarget": "${meta.%s}" % target, "RTarget": other, "Operand": operand}
        return berth.plan(here, job([group(count=2)], Constraints=[constraint]))[1]
    for operand, other, wanted in (
            ("=", value, 0), ("=", value[:-1] + "b", 2), ("!=", value, 2), ("!=", value[:-1], 0), ("<", "b", 0),
            ("regexp", "a$", 0), ("regexp", "(a|aa)*b$", 2), ("set_contains", value, 0), ("set_contains", "a", 2),
            ("set_contains_any", "b," + value, 0), ("version", "> 1", 2), ("is_set", "", 0),
            ("distinct_property", "1", 1), ("distinct_property", "2", 0)):
        expect(failed(operand, other), wanted, operand)
    expect(failed("=", value, "k" * MIB), 2, "a key of 1 MiB")
    spread = {"Attribute": "${meta.big}", "Weight": 50, "SpreadTarget": [{"Value": value, "Percent": 100}]}
    expect(berth.plan(here, job([group(count=2)], Spreads=[spread])), ({"Place": 2}, 0))
    pattern = {"LTarget": "${meta.big}", "RTarget": value, "Operand": "regexp"}
    berth.refuses_job("Regular expression failed to compile", here, job([group()], Constraints=[pattern]))
    expect(berth("import", "cluster.json", "-o", "out.json").returncode, 0)
    with open(os.path.join(berth.folder, "out.json"), encoding="utf-8") as out:
        expect(value in out.read(), True, "the value after an import")


@case
def a_hundred_thousand_distinct_values(berth):
    spread = 'spreads = [{ attribute = "${meta.rack}", weight = 50 }]\n'
    distinct = 'constraints = [{ attribute = "${meta.rack}", operator = "distinct_property", value = "1" }]\n'
    expect(berth.run(workload(100_000, 200, racks=100_000, more=spread + distinct)), (200, 200))
    listed = ",".join(f"v{i}" for i in range(100_000))
    for wanted, failed in (("v0,v99999", 0), ("v0,v100000", 1)):
        constraint = {"LTarget": "${meta.list}", "RTarget": wanted, "Operand": "set_contains"}
        answer = berth.plan(cluster([node(Meta={"list": listed})]), job([group()], Constraints=[constraint]))
        expect(answer, ({"Place": 1}, failed), wanted)
    meta = {f"k{i}": str(i) for i in range(100_000)}
    last = {"LTarget": "${meta.k99999}", "RTarget": "99999", "Operand": "="}
    expect(berth.plan(cluster([node(Meta=meta)]), job([group()], Constraints=[last])), ({"Place": 1}, 0))


@case
def amounts_at_the_limits_of_integers(berth):
    small = cluster([node()])
    for amount in (2**31 - 1, 2**31, 2**32 + 100, 2**63 - 1):
        for field in ("mhz", "memory_mb", "disk_mb"):
            here = cluster([node(**{field: amount})])
            expect(berth.plan(here, job([group()])), ({"Place": 1}, 0), f"{field} {amount}")
        for field in ("cpu", "memory_mb", "disk_mb"):
            expect(berth.plan(small, job([group(**{field: amount})])), ({"Place": 1}, 1), f"{field} {amount}")
        berth.refuses_job(f"job_max_count: {amount} > 50000", small, job([group(count=amount)]))
    for document, name in ((cluster([node(memory_mb=2**63)]), "cluster.json"), (job([group(cpu=2**63)]), "job.json")):
        berth.put("cluster.json", small)
        berth.put("job.json", job([group()]))
        berth.put(name, document)
        berth.refuses(f"{2**63} is outside", "plan", "cluster.json", "job.json")
    berth.put("cluster.json", small)
    berth.put("job.json", job([group(cpu=2**63 - 1, tasks=2)]))
    said = berth("plan", "cluster.json", "job.json").stderr
    expect("the requested cpu exceeds 64 bits; Nomad's sum wraps" in said, True, said[:300])


@case
def counters_at_the_limits_of_integers(berth):
    for index in (2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1):
        stored = {**job([group(count=2)])["Job"], "Version": index, "CreateIndex": index, "ModifyIndex": index,
                  "JobModifyIndex": index}
        here = cluster([node(CreateIndex=index, ModifyIndex=index)], **{"/v1/job/j": stored})
        expect(berth.plan(here, job([group(count=3)])), ({"Place": 3}, 0), f"index {index}")
        done = berth("import", "cluster.json", "-o", "out.json")
        expect((done.returncode, f"at index {index}" in done.stdout), (0, True), done.stderr[:300])
        with open(os.path.join(berth.folder, "out.json"), encoding="utf-8") as out:
            expect(len(re.findall(rf'"Version": ?{index}\b', out.read())) > 0, True, f"version {index}")
    for index in (2**64, -1):
        berth.put("cluster.json", cluster([node(ModifyIndex=index)]))
        berth.refuses(str(index), "import", "cluster.json", "-o", "out.json")
    for time_ns in (2**31, 2**63 - 1):
        here = running(3, job([group(count=3, cpu=1, memory_mb=10)]))
        for alloc in next(v for k, v in here.items() if k.endswith("/allocations")):
            alloc["CreateTime"] = alloc["ModifyTime"] = time_ns
        answer = berth.plan(here, job([group(count=4, cpu=1, memory_mb=10)]))
        expect(answer, ({"InPlaceUpdate": 3, "Place": 1}, 0), str(time_ns))
    berth.put("cluster.json", cluster([node()]))
    for weight in (2**31, 2**63 - 1):
        berth.put("job.json", job([group(Spreads=[{"Attribute": "${node.datacenter}", "Weight": weight}])]))
        berth.refuses(f"{weight} is outside -128..127", "plan", "cluster.json", "job.json")


@case
def exponents_of_known_costs(_):
    sizes = [100, 200, 400, 800]
    for power in (0, 1, 2):
        costs = [5_000_000 + 300 * size**power for size in sizes]
        expect(round(exponent(sizes, costs), 2), power, "exponent")


# ---------------------------------------------------------------- growth
def exponent(sizes, costs):
    """p of the cost a + b size^p, from the increases between doubled sizes: no constant part counts. Least squares."""
    points = [(math.log2(size), math.log2(more - less)) for size, less, more in zip(sizes, costs, costs[1:])
              if more > less]
    if len(points) < 2:
        return 0.0
    x_mean, y_mean = (sum(p[i] for p in points) / len(points) for i in (0, 1))
    return sum((x - x_mean) * (y - y_mean) for x, y in points) / sum((x - x_mean)**2 for x, _ in points)


def grown():
    """(what grows, smallest size, function of the size to a cluster and a job)."""
    here = cluster([node(mhz=10**8, memory_mb=10**8, disk_mb=10**8)])
    small = {"cpu": 1, "memory_mb": 10}
    yield "nodes", 250, lambda n: (cluster([node(i + 1) for i in range(n)]), job([group(count=10)]))
    yield "allocations of a job, updated", 500, lambda n: (
        running(n, job([group(count=n, **small)])), job([group(count=n, **small)]))
    yield "allocations of a job, replaced", 500, lambda n: (
        running(n, job([group(count=n, **small)])), job([group(count=n, cpu=2, Update={"MaxParallel": 0})]))
    yield "allocations of a job, placed", 500, lambda n: (here, job([group(count=n, **small)]))
    port = {"Networks": [{"Mode": "host", "DynamicPorts": [{"Label": "x"}]}], **small}
    yield "allocations with a port, replaced", 250, lambda n: (
        running(n, job([group(count=n, **port)]), ports=True),
        job([group(count=n, **{**port, "cpu": 2}, Update={"MaxParallel": 0})]))
    yield "groups", 50, lambda n: (here, job([group(f"g{i}", **small) for i in range(n)]))
    yield "tasks of a group", 100, lambda n: (here, job([group(tasks=n, **small)]))
    yield "length of a value", MIB // 8, lambda n: (
        cluster([node(Meta={"big": "a" * n})]),
        job([group()], Constraints=[{"LTarget": "${meta.big}", "RTarget": "a" * n, "Operand": "="}]))
    yield "distinct values", 250, lambda n: (
        cluster([node(i + 1, Meta={"rack": f"r{i}"}) for i in range(n)]),
        job([group(count=10)], Spreads=[{"Attribute": "${meta.rack}", "Weight": 50}]))


def instructions(berth, cluster_, job_):
    berth.put("cluster.json", cluster_)
    berth.put("job.json", job_)
    log = os.path.join(berth.folder, "log")
    subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null",
                    "--log-file=" + log, berth.program, "plan", "--no-diff", "--advice", "0", "--require", "none",
                    "--json", "answer.json", "cluster.json", "job.json"], cwd=berth.folder, stdout=subprocess.DEVNULL,
                   check=True)
    with open(log, encoding="utf-8") as said:
        return int(re.search(r"refs: +([\d,]+)", said.read()).group(1).replace(",", ""))


def growth(berth):
    fine = True
    print(f"{'what grows':34} {'from':>8} {'to':>9}   instructions per unit   exponent")
    for name, smallest, make in grown():
        sizes = [smallest << i for i in range(4)]
        costs = [instructions(berth, *make(size)) for size in sizes]
        power = exponent(sizes, costs)
        fine = fine and power <= STEEPEST_OF.get(name, STEEPEST)
        each = (costs[-1] - costs[-2]) / (sizes[-1] - sizes[-2])
        print(f"{name:34} {sizes[0]:8} {sizes[-1]:9}   {each:21,.0f}   {power:8.2f}", flush=True)
    return fine


def large(berth):
    """One process per size; `more` nodes need more processor time and memory."""
    sizes, costs, memory = [1_250_000 << i for i in range(4)], [], []
    print(f"{'nodes':>10}   processor time   memory     placed")
    for size in sizes:
        berth.put("w.toml", workload(size, 10_000, racks=1000))
        with open(os.path.join(berth.folder, "out"), "w+", encoding="utf-8") as out:
            process = subprocess.Popen([berth.program, "run", "--quiet", "w.toml"], cwd=berth.folder, stdout=out)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            placed = re.search(r"placed +([\d,]+) of ([\d,]+)", out.read())
        expect((process.returncode, placed and placed.group(1)), (0, "10,000"), f"{size} nodes")
        costs.append(used.ru_utime + used.ru_stime)
        memory.append(used.ru_maxrss / MIB)
        print(f"{size:10,}   {costs[-1]:12.1f} s   {memory[-1]:6.2f} GiB  {placed.group(1)}", flush=True)
    powers = exponent(sizes, costs), exponent(sizes, memory)
    print(f"exponents: processor time {powers[0]:.2f}, memory {powers[1]:.2f}")
    return max(powers) <= STEEPEST


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("berth")
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose name contains TEXT")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="berth-edges-") as folder:
        berth = Berth(options.berth, folder)
        if options.growth or options.large:
            sys.exit(0 if (large if options.large else growth)(berth) else 1)
        failed = 0
        for function in cases:
            if options.only not in function.__name__:
                continue
            begin = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime, time.process_time()
            try:
                function(berth)
                said = "right"
            except AssertionError as error:
                said, failed = f"WRONG: {error}", failed + 1
            used = (resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - begin[0], time.process_time() - begin[1])
            print(f"{function.__name__:40} {used[0]:5.2f} s {used[1]:5.2f} s  {said}", flush=True)
        sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
