"""Cost of a decision through Python: `python tests/python/figures.py [WORKLOAD] [LABEL]` (quickstart, full: 10,000
nodes).

Prints decisions per second of one-allocation batch jobs on the cluster of a workload: with a strategy in C++ and with
the same formula as a NumPy function, each without and with reading the placements as an array. Then, if PKG_CONFIG_PATH
names an installed berth, the processor time of a decision with the strategy in C++, through Python and in a program in
C++ (figures.cc), alternately."""

import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import berth


def best_fit(nodes, task):
    return 1.0 - (nodes.free - task.ask)[:, :2].sum(axis=1) / nodes.capacity[:, :2].sum(axis=1)


def prepared(workload, label, strategy, decisions):
    cluster = berth.Cluster.from_workload(workload, label, seed=1)
    cluster.score_by(strategy)
    cluster.register(berth.job("warm", count=50, cpu=500, memory=512, type="batch"))
    cluster.commit(cluster.schedule("warm"))
    names = [f"job-{i}" for i in range(decisions)]
    for name in names:
        cluster.register(berth.job(name, cpu=500, memory=512, type="batch"))
    return cluster, names


def rate(workload, label, strategy, decisions=2000, read=False):
    cluster, names = prepared(workload, label, strategy, decisions)
    begun = time.perf_counter()
    for name in names:
        plan = cluster.schedule(name)
        if read:
            plan.placements["score"]
    return decisions / (time.perf_counter() - begun)


def python_us(workload, label, strategy, decisions):
    cluster, names = prepared(workload, label, strategy, decisions)
    placed = 0
    begun = time.process_time()
    for name in names:
        placed += len(cluster.schedule(name))
    each = 1e6 * (time.process_time() - begun) / decisions
    assert placed == decisions
    return each


def beside_cxx(workload, label, strategy="best-fit", decisions=5000, rounds=15):
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "figures.cc")
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "berth"], capture_output=True, text=True)
    if flags.returncode != 0:
        print("no berth for pkg-config: not compared with C++")
        return
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "figures")
        subprocess.run(["c++", "-std=c++20", "-O2", source, "-o", program, *flags.stdout.split()], check=True)
        differences, cxx, python = [], [], []
        for _ in range(rounds):
            cxx.append(float(subprocess.run([program, workload, label, strategy, str(decisions)], capture_output=True,
                                            check=True).stdout))
            python.append(python_us(workload, label, strategy, decisions))
            differences.append(python[-1] - cxx[-1])
    print(f"{strategy} in C++: {statistics.median(cxx):.2f} us of processor time each from C++, {statistics.median(python):.2f} us through Python; "
          f"difference {statistics.median(differences):+.2f} us (median of {rounds}; quartiles "
          f"{np.percentile(differences, 25):+.2f} to {np.percentile(differences, 75):+.2f})")


if __name__ == "__main__":
    cluster = (sys.argv[1:] + ["quickstart"])[0], (sys.argv[2:] + ["full"])[0]
    for name, strategy in [("best-fit, C++", "best-fit"), ("best-fit, NumPy", best_fit)]:
        print(f"{name:18} {rate(*cluster, strategy):10,.0f} decisions/s, {rate(*cluster, strategy, read=True):10,.0f} with the result as an array")
    beside_cxx(*cluster)
