"""Alters one rule of the oracle at a time; every alteration must show as a difference from recorded decisions."""
import glob
import os
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, FOLDER)
import commit  # noqa: E402
import preempt  # noqa: E402
import reconcile  # noqa: E402
import resources  # noqa: E402
import scheduler  # noqa: E402
import stack  # noqa: E402
import system  # noqa: E402
import values  # noqa: E402
from compare import difference  # noqa: E402
from oracle import PARTIAL, decide, read  # noqa: E402

RULES = [
    ("R-FEAS-202 shift of the shuffle's seed", stack, "shuffled", lambda n, e, i: values.shuffled(n, e, i + 8)),
    ("R-FEAS-701 constraints", stack, "node_check", lambda rule, node: True),
    ("R-FEAS-801 driver health", stack, "driver_ok", lambda driver, node: True),
    ("R-FEAS-1311 distinct_hosts", stack, "distinct_hosts", lambda constraints: False),
    ("R-RANK-523 reserved amounts", resources, "reserved", lambda node: resources.Amounts()),
    ("R-RANK-834 even spread", stack, "even", lambda combined, raw: 0.0),
    ("R-PREEMPT-204 priority delta of 10", preempt, "DELTA", 11),
    ("R-PREEMPT-411 distance of a victim", preempt, "distance", lambda need, u: 0.0),
    ("R-RECON-7 canonical order", reconcile, "in_k", lambda allocs: sorted(allocs, key=lambda a: a["ID"])),
    ("R-RECON-47 reconnect", reconcile, "needs_reconnect", lambda a: False),
    ("R-RECON-57 next delay", scheduler, "next_delay", lambda policy, a: (policy or {}).get("Delay") or 0),
    ("R-SCHED-103 destructive fields", scheduler.update, "changed", lambda new, old, name: False),
    ("R-SCHED-145 nodes older than 1.11.0", system, "old_node", lambda node: False),
    ("R-SCHED-158 metrics of filtered nodes", system, "merge", lambda total, m: None),
    ("R-CTRL-615 a refused node loses its stops", commit.Commit, "entries", lambda self,
     t: [a for n in sorted(t) for a in t[n]]),
    ("R-CTRL-720 status of the job", commit.Commit, "job_status", lambda self, key, last: None),
    ("R-CTRL-727 counts of a deployment", commit.Commit, "count", lambda self, a, old: None),
    ("R-SCHED-184 deployment updates", system, "change", lambda d, status,
     text: {"DeploymentID": d["ID"], "Status": status, "StatusDescription": ""}),
]


def main():
    folder, every = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 40
    vectors = [v for f in sorted(glob.glob(os.path.join(folder, "*", "*.jsonl.gz"))) for v in read(f, every, PARTIAL)
               if len(v["state"].get("Nodes") or []) < 100]
    vectors.sort(key=lambda v: v["planner"] != "partial")  # first those that a commit can show in
    if not vectors:
        sys.exit(f"{folder}: no evaluation vectors here; give the folder that holds life/ and place/")
    unnoticed = 0
    for name, module, attribute, altered in RULES:
        real = getattr(module, attribute)
        setattr(module, attribute, altered)
        first = None
        for n, v in enumerate(vectors):
            answer, jobs = decide(v)
            if difference(v, answer, jobs):
                first = (n, v["name"])
                break
        setattr(module, attribute, real)
        print(f"{name}: " + (f"noticed by vector {first[0] + 1} of {len(vectors)}, {first[1]}" if first
                             else "NOT NOTICED"))
        unnoticed += first is None
    return 1 if unnoticed else 0


if __name__ == "__main__":
    sys.exit(main())
