"""Checks the oracle against recorded decisions, and the program against the oracle on generated sequences."""
import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, FOLDER)
from compare import difference  # noqa: E402
from features import inputs, outputs, pairs  # noqa: E402
from generate import Sequence  # noqa: E402
from oracle import decide, read  # noqa: E402
from snapshots import Snapshot  # noqa: E402


def recorded(paths, every):
    """Number of vectors decided and the differences."""
    count, wrong = 0, []
    for path in paths:
        for v in read(path, every):
            answer, jobs = decide(v)
            count += 1
            d = difference(v, answer, jobs)
            if d:
                wrong.append(f"{os.path.basename(path)} {v['name']}: {d}")
    return count, wrong


def main(arguments=None):
    p = argparse.ArgumentParser(prog="check", description=__doc__)
    p.add_argument("program", help="the built berth")
    p.add_argument("--golden", help="folder of recorded evaluation vectors")
    p.add_argument("--every", type=int, default=60, help="take every Nth recorded vector of a file")
    p.add_argument("--seed", type=int, default=1, help="first seed of the sequences")
    p.add_argument("--sequences", type=int, default=20)
    p.add_argument("--snapshots", type=int, default=30)
    p.add_argument("--steps", type=int, default=16, help="evaluations in a sequence")
    p.add_argument("--keep", help="write the generated vectors to this file")
    p.add_argument("--diffs", type=int, default=3, help="differences of the program to show")
    o = p.parse_args(arguments)

    failed = False
    files = sorted(glob.glob(os.path.join(o.golden, "*", "*.jsonl.gz"))) if o.golden else []
    if o.golden and not files:
        sys.exit(f"{o.golden}: no evaluation vectors here; give the folder that holds life/ and place/")
    for what, paths, every in (("recorded", files, o.every),
                               ("kept", sorted(glob.glob(os.path.join(FOLDER, "found", "*.jsonl"))), 1)):
        count, wrong = recorded(paths, every)
        print(f"{what} vectors: {count} decided by the oracle, {len(wrong)} differ")
        print("\n".join(wrong[:5]), end="\n" if wrong else "")
        failed = failed or bool(wrong) or (bool(paths) and not count)

    found, names, count = set(), set(), 0
    seeds = range(o.seed, o.seed + max(o.sequences, o.snapshots))
    sources = [Sequence(s, o.steps) for s in seeds[:o.sequences]] + [Snapshot(s, story=True)
                                                                     for s in seeds[:o.snapshots]]
    with tempfile.TemporaryDirectory() as folder:
        path = o.keep or os.path.join(folder, "generated.jsonl")
        with open(path, "w") as f:
            for v in (v for source in sources for v in source.vectors()):
                f.write(json.dumps(v) + "\n")
                features = inputs(v) | outputs(v)
                names |= features
                found |= pairs(features)
                count += 1
        kept = os.path.join(FOLDER, "found")
        run = subprocess.run([o.program, "conform", path, kept, "--diff", str(o.diffs)], capture_output=True, text=True)
    print(run.stdout + run.stderr, end="")
    print(f"{count} generated evaluations, {len(names)} features, {len(found)} pairs of features")
    count += sum(1 for file in glob.glob(os.path.join(kept, "*.jsonl")) for _ in open(file))
    expected = f"{count} equal, 0 differ, 0 not supported"
    if run.returncode or expected not in run.stdout:
        print(f"the program does not agree with the oracle: expected '{expected}'")
        failed = True
    for path in sorted(glob.glob(os.path.join(FOLDER, "open", "*.jsonl"))):
        run = subprocess.run([o.program, "conform", path], capture_output=True, text=True)
        if " 0 differ" in run.stdout:
            print(f"{path}: the program decides this as the oracle does now; move the file to found/")
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
