"""What a decision costs through Python, beside C++: `python bench/python/figures.py [NODES]` (10,000).

Prints decisions per second of one-allocation jobs on NODES nodes: strategy in C++, the same formula as a NumPy function, and the share of
a decision that Python adds to a strategy in C++ (schedule() against the time of the evaluation itself is what the C example measures)."""

import sys
import time

import numpy as np

import berth


def best_fit(nodes, task):
    return 1.0 - (nodes.free - task.ask)[:, :2].sum(axis=1) / nodes.capacity[:, :2].sum(axis=1)


def rate(strategy, count, decisions=2000, read=False):
    cluster = berth.Cluster(seed=1)
    for node in berth.nodes(count, cpu=[8000, 16000], memory=[16384, 65536]):
        cluster.add_node(node)
    cluster.score_by(strategy)
    cluster.register(berth.job("warm", count=50))
    cluster.commit(cluster.schedule("warm"))
    for i in range(decisions):
        cluster.register(berth.job(f"job-{i}", cpu=500, memory=512))
    begun = time.perf_counter()
    for i in range(decisions):
        plan = cluster.schedule(f"job-{i}")
        if read:
            plan.placements["score"]
    return decisions / (time.perf_counter() - begun)


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    for name, strategy in [("best-fit, C++", "best-fit"), ("best-fit, NumPy", best_fit)]:
        print(f"{name:18} {rate(strategy, count):10,.0f} decisions/s, {rate(strategy, count, read=True):10,.0f} with the result read as an array")
