"""Decides evaluation vectors by the specification alone and compares with the recorded answers."""
import argparse
import collections
import glob
import gzip
import json
import os
import sys
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from compare import difference  # noqa: E402
from scheduler import GenericScheduler  # noqa: E402
from system import SystemScheduler  # noqa: E402


def scheduler_of(vector):
    return (GenericScheduler if vector["scheduler"] in ("service", "batch") else SystemScheduler)(vector)


def decide(vector):
    """(answer, jobs table)."""
    s = scheduler_of(vector)
    return s.run(), s.state.jobs


PARTIAL = '"planner":"partial"'


def read(path, every=1, always=None):
    """Every Nth vector of a file, and those whose text contains `always`."""
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt") as f:
        for n, line in enumerate(f):
            if line.strip() and (n % every == 0 or (always and always in line)):
                yield json.loads(line)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("paths", nargs="+")
    p.add_argument("--name", default="")
    p.add_argument("--scheduler", default="")
    p.add_argument("--planner", default="")
    p.add_argument("--every", type=int, default=1)
    p.add_argument("--max", type=int, default=10**9)
    p.add_argument("--diffs", type=int, default=5)
    o = p.parse_args()
    files = []
    for x in o.paths:
        files += sorted(glob.glob(os.path.join(x, "**", "*.jsonl*"), recursive=True)) if os.path.isdir(x) else [x]
    total, bad = collections.Counter(), 0
    for path in files:
        count = collections.Counter()
        for v in read(path, o.every):
            if o.name not in v["name"] or o.scheduler not in ("", v["scheduler"]) or \
                    o.planner not in ("", v["planner"]) or sum(count.values()) >= o.max:
                continue
            try:
                got, jobs = decide(v)
                d = difference(v, got, jobs)
            except Exception:
                d = "crash " + traceback.format_exc(limit=-3)
            count["equal" if not d else "different"] += 1
            if d and bad < o.diffs:
                bad += 1
                print(f"{os.path.basename(path)} {v['name']} ({v['scheduler']}, {v['planner']}): {d}")
        print(os.path.basename(path), dict(count), flush=True)
        total += count
    print("total", dict(total))
    return 1 if total["different"] else 0


if __name__ == "__main__":
    sys.exit(main())
