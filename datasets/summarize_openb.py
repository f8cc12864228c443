#!/usr/bin/env python3
"""Computes openb-summary.json, the table from which clusters and tasks like those of openb are generated.

Usage: datasets/summarize_openb.py [--data FOLDER] [--output FILE]

Reads openb_node_list_gpu_node.csv and openb_pod_list_default.csv (datasets/fetch.sh openb brings them). Writes node
shapes and task classes with their counts, and run times and gaps between arrivals as quantiles. Names and
times of single tasks are not kept: a class stands for all tasks of the same size. Python 3 standard library only.
"""
import argparse
import collections
import csv
import hashlib
import json
import os
import sys

NODES = "openb_node_list_gpu_node.csv"
TASKS = "openb_pod_list_default.csv"
QUANTILES = [0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1]


def quantiles(values):
    """[[q, value], ...] of the values, nearest rank; values are whole numbers."""
    values = sorted(values)
    out = []
    for q in QUANTILES:
        rank = min(len(values) - 1, max(0, int(round(q * (len(values) - 1)))))
        out.append([q, values[rank]])
    return out


def kind_of(row):
    if int(row["num_gpu"]) == 0:
        return "cpu"
    return "part" if int(row["gpu_milli"]) < 1000 else "whole"


def summarize(folder):
    with open(os.path.join(folder, NODES), newline="") as file:
        nodes = list(csv.DictReader(file))
    with open(os.path.join(folder, TASKS), newline="") as file:
        tasks = list(csv.DictReader(file))

    shapes = collections.Counter(
        (row["model"], int(row["gpu"]), int(row["cpu_milli"]), int(row["memory_mib"])) for row in nodes)
    classes = collections.Counter(
        (int(row["cpu_milli"]), int(row["memory_mib"]), int(row["num_gpu"]), int(row["gpu_milli"]), row["gpu_spec"],
         row["qos"]) for row in tasks)
    run_times = collections.defaultdict(list)
    for row in tasks:
        start = int(row["scheduled_time"] or row["creation_time"])
        run_times[kind_of(row)].append(max(0, int(row["deletion_time"]) - start))
    created = sorted(int(row["creation_time"]) for row in tasks)
    gaps = [(b - a) * 1000 for a, b in zip(created, created[1:])]

    def checksum(name):
        with open(os.path.join(folder, name), "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()

    return {
        "format": "berth-openb-summary",
        "version": 1,
        "source": {name: checksum(name) for name in (NODES, TASKS)},
        "node_count": len(nodes),
        "task_count": len(tasks),
        # Most frequent first; ties by the fields, so that the file does not depend on the order of rows.
        "nodes": [dict(zip(("model", "gpus", "cpu_milli", "memory_mib", "count"), key + (count,)))
                  for key, count in sorted(shapes.items(), key=lambda item: (-item[1], item[0]))],
        "tasks": [dict(zip(("cpu_milli", "memory_mib", "gpus", "gpu_milli", "gpu_spec", "qos", "count"),
                           key + (count,)))
                  for key, count in sorted(classes.items(), key=lambda item: (-item[1], item[0]))],
        "run_time_s": {kind: quantiles(run_times[kind]) for kind in ("cpu", "part", "whole")},
        "gap_ms": quantiles(gaps),
    }


def text_of(summary):
    """JSON with one node shape, task class and quantile list per line."""
    lines = []
    for key, value in summary.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            inner = ",\n".join("    " + json.dumps(item) for item in value)
            lines.append(f'  "{key}": [\n{inner}\n  ]')
        elif isinstance(value, dict):
            inner = ",\n".join(f"    {json.dumps(name)}: {json.dumps(item)}" for name, item in value.items())
            lines.append(f'  "{key}": {{\n{inner}\n  }}')
        else:
            lines.append(f'  "{key}": {json.dumps(value)}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", default=os.path.join(here, "data", "openb"), help="folder with the CSV files")
    parser.add_argument("--output", default=os.path.join(here, "openb-summary.json"))
    arguments = parser.parse_args()
    try:
        text = text_of(summarize(arguments.data))
    except FileNotFoundError as error:
        print(f"{error.filename}: is not there; run datasets/fetch.sh openb", file=sys.stderr)
        return 2
    except (KeyError, ValueError) as error:
        print(f"{arguments.data}: not the expected columns ({error}); fetch the files again", file=sys.stderr)
        return 2
    part = arguments.output + ".part"
    with open(part, "w") as file:
        file.write(text)
    os.replace(part, arguments.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
