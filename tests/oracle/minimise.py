"""Makes a vector that the program decides otherwise smaller: what can be left out without the difference going away."""
import argparse
import copy
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from oracle import scheduler_of  # noqa: E402
from world import tokens  # noqa: E402

KEPT = {"ID", "Namespace", "Name", "Type", "JobID", "NodeID", "Job", "Status", "TaskGroup", "Datacenter", "NodePool",
        "Index"}


def decided(vector):
    """The vector with the oracle's answer, None if it cannot decide it."""
    v = copy.deepcopy(vector)
    try:
        scheduler = scheduler_of(copy.deepcopy(v))
        v["expect"] = tokens(scheduler.run())
    except Exception:  # what was left out was needed
        return None
    v["jobs"] = scheduler.state.jobs
    return v


def differing(program, candidates):
    """Which of the vectors the program decides otherwise, the same kind of difference: {number: text}."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "candidates.jsonl")
        with open(path, "w") as f:
            for n, v in enumerate(candidates):
                f.write(json.dumps(dict(v, name=f"candidate/0/{n}")) + "\n")
        run = subprocess.run([program, "conform", path, "--diff", str(len(candidates))], capture_output=True, text=True)
    out = {}
    for part in run.stdout.split("\ncandidate/0/")[1:]:
        lines = part.splitlines()
        out[int(lines[0].split()[0])] = [x.strip() for x in lines if x.startswith("  /")]
    return out


def parts(x, path=()):
    """Paths of what can be left out, large things first."""
    if isinstance(x, dict):
        for k, v in x.items():
            if k not in KEPT:
                yield (*path, k)
            yield from parts(v, (*path, k))
    elif isinstance(x, list):
        for n in range(len(x) - 1, -1, -1):
            yield (*path, n)
            yield from parts(x[n], (*path, n))


def without(vector, path):
    v = copy.deepcopy(vector)
    at = v
    for k in path[:-1]:
        at = at[k]
    del at[path[-1]]
    return v


def exists(vector, path):
    at = vector
    for k in path:
        if isinstance(at, list) and not (isinstance(k, int) and k < len(at)) or isinstance(at, dict) and k not in at:
            return False
        at = at[k]
    return True


def minimise(program, vector, size=60):
    first = differing(program, [vector]).get(0)
    if not first:
        sys.exit("the program decides this vector as the oracle does")
    last = {p.rsplit("/", 1)[-1] for p in first}
    changed = True
    while changed:
        changed = False
        paths = [("state", *p) for p in parts(vector["state"])] + [("jobs", n, *p) for n,
                                                                   j in enumerate(vector["jobs"]) for p in parts(j)]
        paths = sorted((p for p in paths if p != ("state", "Jobs")), key=len)
        at = 0
        while at < len(paths):
            chunk = [p for p in paths[at:at + size] if exists(vector, p)]
            at += size
            tried = [(p, decided(without(vector, p))) for p in chunk]
            tried = [(p, v) for p, v in tried if v is not None]
            if not tried:
                continue
            found = differing(program, [v for _, v in tried])
            good = [p for n, (p, _) in enumerate(tried) if {q.rsplit("/", 1)[-1] for q in found.get(n, [])} & last]
            for p in sorted(good, key=lambda p: [x if isinstance(x, int) else -1 for x in p], reverse=True):
                if not exists(vector, p):
                    continue
                v = decided(without(vector, p))
                if v is not None and {q.rsplit("/", 1)[-1] for q in differing(program, [v]).get(0, [])} & last:
                    vector, changed = v, True
            print(f"{len(json.dumps(vector))} bytes", file=sys.stderr, flush=True)
    return vector


def main(arguments=None):
    p = argparse.ArgumentParser(prog="minimise", description=__doc__)
    p.add_argument("program", help="the built berth")
    p.add_argument("file", help="a file with vectors")
    p.add_argument("name", help="name of the vector")
    o = p.parse_args(arguments)
    for line in open(o.file):
        v = json.loads(line)
        if v["name"] == o.name:
            print(json.dumps(minimise(o.program, v)))
            return 0
    sys.exit(f"{o.file}: no vector {o.name}")


if __name__ == "__main__":
    sys.exit(main())
