"""Lines and branches of the engine's deciding folders that the unit tests and the recorded decisions run.

    python3 tests/mutation/coverage.py build/release [--folders plan,broker] [--missing]

Needs gcovr. Branches of assertions and of exceptions are not counted.
--missing lists lines with a branch never taken."""
import argparse
import collections
import json
import os
import subprocess

import overlay
from overlay import ROOT, say


def measure(build, folders):
    """The report of gcovr as JSON."""
    objects, instances = [], []  # instances: of templates, which the tests of the broker make themselves
    units = build.units(folders)
    if "broker" in folders:
        units += [("tests", entry) for entry in build.commands if "/tests/broker/" in entry["file"]]
    for number, (folder, entry) in enumerate(units):
        output = os.path.join(build.work, f"{folder}{number}.o")
        said = build.compile(entry, output, ["-O0", "--coverage", "-fno-exceptions"])
        if said:
            raise SystemExit(said)
        (instances if folder == "tests" else objects).append((entry, output))
        say(f"compiled {os.path.relpath(entry['file'], build.folder)}")
    tests = sorted({test for folder in folders for test in overlay.TESTS[folder]})
    for test in tests + ["berth"]:
        own = [made for entry, made in instances if f"/tests/{test}/" in entry["file"]]
        build.link(overlay.program_of(test), objects, os.path.join(build.work, test), ["--coverage"], own)
    done = set()
    for folder in folders:
        for name, command in overlay.steps_of(folder, build.work):
            if name not in done:
                code, seconds = overlay.run(command, {}, 1200, 3600)
                if code != 0:
                    raise SystemExit(f"{name} fails: exit code {code}")
                say(f"{name}: {seconds:.0f} s")
                done.add(name)
    report = os.path.join(build.work, "coverage.json")
    subprocess.run(["gcovr", "--root", ROOT, "--object-directory", build.work, "--json", report, build.work,
                    "--filter", f"{ROOT}/engine/({'|'.join(folders)})/", "--exclude-throw-branches",
                    "--exclude-unreachable-branches", "--exclude-branches-by-pattern", ".*BERTH_(DEBUG_)?ASSERT.*",
                    "--gcov-ignore-parse-errors"], check=True)
    with open(report) as f:
        return json.load(f)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--folders", default=",".join(overlay.FOLDERS))
    parser.add_argument("--missing", action="store_true")
    parser.add_argument("--work")
    options = parser.parse_args()
    folders = options.folders.split(",")
    report = measure(overlay.Build(options.build, options.work or os.path.join(ROOT, "build", "coverage")), folders)
    sums = collections.defaultdict(lambda: [0, 0, 0, 0])
    for file in report["files"]:
        of = sums[file["file"].split("/")[1]]
        with open(os.path.join(ROOT, file["file"])) as f:
            source = f.read().splitlines()
        for line in file["lines"]:
            if line.get("gcovr/noncode") or "ASSERT(" in source[line["line_number"] - 1]:
                continue
            taken = [branch["count"] > 0 for branch in line["branches"]]
            of[0] += 1
            of[1] += line["count"] > 0
            of[2] += len(taken)
            of[3] += sum(taken)
            if options.missing and (line["count"] == 0 or not all(taken)):
                code = source[line["line_number"] - 1].strip()
                print(f"{file['file']}:{line['line_number']}: {sum(taken)} of {len(taken)}, {code}")
    print("folder        lines   run      branches  taken")
    for folder in folders:
        lines, run, branches, taken = sums[folder]
        print(f"{folder:12} {lines:6} {100 * run / max(1, lines):5.1f} %"
              f" {branches:10} {100 * taken / max(1, branches):5.1f} %")


if __name__ == "__main__":
    main()
