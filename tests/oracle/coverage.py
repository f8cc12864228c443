"""Drives the generators until every pair of input features has occurred, and has the program decide each evaluation."""
import argparse
import collections
import json
import os
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from features import INPUTS, JOB, OUTPUTS, impossible, inputs, outputs, pairs  # noqa: E402
from generate import Sequence  # noqa: E402
from minimise import minimise  # noqa: E402
from snapshots import Snapshot  # noqa: E402


class Table:
    """How often features and pairs of them occurred."""

    def __init__(self):
        self.never = impossible()
        self.open = pairs(INPUTS) - set(self.never)  # not yet seen
        self.wrong = set()                           # seen, though listed as impossible
        self.answers, self.counts, self.evaluations = set(), collections.Counter(), 0

    def add(self, vector):
        found, answer = inputs(vector), outputs(vector)
        now = pairs(found)
        self.open -= now
        self.wrong |= now & set(self.never)
        self.answers |= {(x, y) for x in found for y in answer} | pairs(answer)
        self.counts.update(found | answer)
        self.evaluations += 1


def batches(table, first, limit, rng, tries, ends, size=400):
    """Lists of vectors until the limit of evaluations. Limit None: until every open pair was tried often."""
    seed, out = first, []
    while True:
        if sum(os.times()[:4]) > ends:
            break
        left = sorted(p for p in table.open if tries[p] < 40)
        if limit is None and not left:
            break
        if limit is not None and table.evaluations >= limit:
            break
        seed += 1
        if rng.random() < 0.25:  # as it is: wanting more seldom leaves a story whole
            source = Snapshot(seed, story=True)
        elif left and rng.random() < 0.9:
            pair = rng.choice(left)
            tries[pair] += 1
            wanted = set(pair)
            if rng.random() < 0.5:
                wanted |= set(rng.choice(left))
            source = Snapshot(seed, wanted)
        elif rng.random() < 0.7:
            source = Snapshot(seed, rng.sample(INPUTS, rng.randint(0, 4)), story=rng.random() < 0.6)
        else:
            source = Sequence(seed, 16)
        for v in source.vectors():
            table.add(v)
            out.append(v)
        if len(out) >= size:
            yield out
            out = []
    if out:
        yield out


def is_open(vector, text):
    """Whether the difference is the question of open/deployment_forgotten_for_lost_system_allocation.jsonl."""
    return vector["scheduler"] == "system" and re.search(r"/Plan/Deployment\n +expected null\n", text)


def decide(program, vectors, keep):
    """Those vectors that the program decides otherwise, with all sources of candidates, the general one or mixed."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "vectors.jsonl")
        with open(path, "w") as f:
            f.writelines(json.dumps(v) + "\n" for v in vectors)
        for sources in ("all", "none", f"mixed:{len(vectors)}"):
            run = subprocess.run([program, "conform", path, "--sources", sources, "--diff", "100"],
                                 capture_output=True, text=True)
            if f"{len(vectors)} equal, 0 differ, 0 not supported" not in run.stdout:
                break
        else:
            return []
    texts = {t.split()[0]: t for t in re.split(r"^(?=\S+/\d+/\d+  in )", run.stdout, flags=re.M)[1:]}
    different = [v for v in vectors if v["name"] in texts]
    if not different:
        sys.exit(f"{program} failed: {run.stderr or run.stdout}")
    different = [v for v in different if not is_open(v, texts[v["name"]])]
    if not different:
        return []
    print(run.stdout + run.stderr, end="", flush=True)
    if keep:
        with open(keep, "a") as f:
            f.writelines(json.dumps(v) + "\n" for v in different)
    return different


def kind(feature):
    """The first word, `job` for what has none of its own."""
    if feature in JOB:
        return "job"
    if feature.startswith("claim"):
        return "allocation"
    return re.match("type|planner|evaluation|config|nodes|version differs|other job differs|allocation|deployment",
                    feature).group(0)


def by_kind(table):
    """Lines of a table: pairs of each two kinds that occurred, as seen/possible where some are missing."""
    kinds = list(dict.fromkeys(map(kind, INPUTS)))
    possible = collections.Counter(tuple(sorted(map(kind, p), key=kinds.index))
                                   for p in pairs(INPUTS) - set(table.never))
    missing = collections.Counter(tuple(sorted(map(kind, p), key=kinds.index)) for p in table.open)
    yield "| pairs of | " + " | ".join(kinds) + " |"
    yield "|---|" + "--:|" * len(kinds)
    for n, row in enumerate(kinds):
        cells = []
        for column in kinds[:n + 1]:
            p, m = possible[column, row], missing[column, row]
            cells.append("-" if not p else str(p) if not m else f"{p - m}/{p}")
        yield f"| {row} | " + " | ".join(cells + [""] * (len(kinds) - n - 1)) + " |"


def main(arguments=None):
    p = argparse.ArgumentParser(prog="coverage", description=__doc__)
    p.add_argument("program", help="the built berth")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--evaluations", type=int, help="continue until so many (default: until every pair has occurred)")
    p.add_argument("--seconds", type=float, default=float("inf"), help="stop after so many seconds of processor time")
    p.add_argument("--keep", help="append vectors that the program decides otherwise to this file")
    p.add_argument("--first", action="store_true",
                   help="stop at the first difference and print the smallest vector that has it")
    p.add_argument("--pairs", action="store_true", help="print the pairs that did not occur")
    o = p.parse_args(arguments)
    table, rng, tries, different = Table(), random.Random(o.seed), collections.Counter(), []
    total = len(table.open)
    for vectors in batches(table, o.seed * 10**6, o.evaluations, rng, tries, o.seconds):
        found = decide(o.program, vectors, o.keep)
        different += [v["name"] for v in found]
        if found and o.first:
            print(f"{table.evaluations} evaluations decided twice; the smallest vector that differs:")
            print(json.dumps(minimise(o.program, min(found, key=lambda v: len(json.dumps(v))))))
            return 1
        print(f"{table.evaluations} evaluations, {len(different)} differ, {len(table.open)} of {total} pairs to come",
              flush=True)
    seen = total - len(table.open)
    print(f"{table.evaluations} evaluations decided twice, {len(different)} differ")
    print(f"{len(INPUTS)} input features: {seen} of {total} pairs that can exist occurred ({100 * seen / total:.1f} %)"
          f"; {len(table.never)} pairs cannot exist")
    print(f"{len(OUTPUTS)} features of answers: {len(table.answers)} pairs with each other and with input features")
    print("\n".join(by_kind(table)))
    for reason, n in sorted(collections.Counter(table.never.values()).items()):
        print(f"  {n} pairs cannot exist: {reason}")
    if o.pairs:
        for pair in sorted(table.open):
            print("  missing: " + " + ".join(pair))
    for pair in sorted(table.wrong):
        print("  listed as impossible, but seen: " + " + ".join(pair))
    unseen = [x for x in INPUTS + OUTPUTS if not table.counts[x]]
    if unseen:
        print("  never: " + ", ".join(unseen))
    return 1 if different or table.wrong or (o.evaluations is None and table.open) else 0


if __name__ == "__main__":
    sys.exit(main())
