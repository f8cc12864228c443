"""Puts wrong decisions of earlier versions back into the program, one at a time.

`coverage` must find each within ten minutes.

Changes a source, builds, searches, and restores the source. `--check` only reads the sources: each text to alter is
there once."""
import os
import re
import subprocess
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(FOLDER))
LIMIT = 600  # seconds of processor time

# (decision, source, text, altered text)
PLANTS = [
    ("all targets of spreads that are no attribute share one entry", "engine/sched/scratch.cc",
     "MirrorKey{tables::kNoColumn, target.target.kind, target.target.key}",
     "MirrorKey{tables::kNoColumn, target.target.kind, {}}"),
    ("verdicts of a group's checks are kept under the network of the group before", "engine/sched/node/node_checks.cc",
     "if (v.checked_network == network_) return;", "if (v.checked_network == network_ || !v.network) return;"),
    ("class verdicts of a group are written under the network of a later group", "engine/sched/node/node_checks.cc",
     "    network_ = visit.network;\n", ""),
    ("the claim of a removed allocation on a sticky volume is kept", "engine/feasible/host_volumes.cc",
     "if (!claimant || !volume) continue;",
     "if (!volume) continue;\n    if (!claimant) {\n      unmet_claims_.push_back(claim.volume_id);\n"
     "      continue;\n    }"),
]


def source_of(file, text):
    with open(os.path.join(ROOT, file)) as f:
        source = f.read()
    if source.count(text) != 1:
        sys.exit(f"{file}: the text to alter occurs {source.count(text)} times: {text.strip()}")
    return source


def spent():
    t = os.times()
    return t.children_user + t.children_system


def make(build):
    subprocess.run(["cmake", "--build", build, "--target", "berth_program"], check=True, stdout=subprocess.DEVNULL)


def search(program, seed):
    """(evaluations until the first difference, or None; seconds of processor time, with those of minimising it)."""
    before = spent()
    run = subprocess.run([sys.executable, FOLDER, "coverage", program, "--seed", str(seed), "--first",
                          "--evaluations", "1000000",
                          "--seconds", str(LIMIT)], capture_output=True, text=True)
    found = re.search(r"^(\d+) evaluations decided twice; the smallest", run.stdout, re.M)
    if not found and run.returncode:
        sys.exit(run.stdout[-500:] + run.stderr[-500:])
    return found and int(found[1]), spent() - before


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: planted_program.py --check | BUILD_FOLDER [SEED]")
    sources = [source_of(file, right) for _, file, right, _ in PLANTS]
    if sys.argv[1] == "--check":
        return 0
    build, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
    missed = 0
    try:
        for source, (name, file, right, wrong) in zip(sources, PLANTS):
            path = os.path.join(ROOT, file)
            try:
                with open(path, "w") as f:
                    f.write(source.replace(right, wrong))
                make(build)
                after, seconds = search(os.path.join(build, "berth"), seed)
            finally:
                with open(path, "w") as f:
                    f.write(source)
            print(f"{name}: " + (f"found within {after} evaluations" if after else "NOT FOUND") + f", {seconds:.0f} s",
                  flush=True)
            missed += not after
    finally:
        make(build)  # or the wrong program stays
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
