"""What a decision costs through Python: `python tests/python/figures.py [WORKLOAD] [LABEL]` (quickstart, full: 10,000 nodes).

Prints decisions per second of one-allocation batch jobs on the cluster of a workload: with a strategy in C++ and with the same formula as a NumPy
function, each without and with a look at the placements as an array."""

import sys
import time

import numpy as np

import berth


def best_fit(nodes, task):
    return 1.0 - (nodes.free - task.ask)[:, :2].sum(axis=1) / nodes.capacity[:, :2].sum(axis=1)


def rate(workload, label, strategy, decisions=2000, read=False):
    cluster = berth.Cluster.from_workload(workload, label, seed=1)
    cluster.score_by(strategy)
    cluster.register(berth.job("warm", count=50, type="batch"))
    cluster.commit(cluster.schedule("warm"))
    for i in range(decisions):
        cluster.register(berth.job(f"job-{i}", cpu=500, memory=512, type="batch"))
    begun = time.perf_counter()
    for i in range(decisions):
        plan = cluster.schedule(f"job-{i}")
        if read:
            plan.placements["score"]
    return decisions / (time.perf_counter() - begun)


if __name__ == "__main__":
    cluster = (sys.argv[1:] + ["quickstart"])[0], (sys.argv[2:] + ["full"])[0]
    for name, strategy in [("best-fit, C++", "best-fit"), ("best-fit, NumPy", best_fit)]:
        print(f"{name:18} {rate(*cluster, strategy):10,.0f} decisions/s, {rate(*cluster, strategy, read=True):10,.0f} with the result as an array")
