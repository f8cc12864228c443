#!/usr/bin/env python3
"""Hostile inputs: every row of rows.txt is a command, its expected exit code, and text that it must print.

    run.py BERTH [--sanitized] [--only TEXT] [--rows]

A row is `CODE | MESSAGE | COMMAND`. MESSAGE is a regular expression, searched in standard error and then in standard
output. COMMAND is a line for bash, run in an empty folder of its own; $F is the folder of fixtures, `edit` changes JSON
(below), `interrupt` sends a signal, `fake` is a stand-in for the program that the gate measures. `{a;b;c}` in a command
stands for several rows, one per choice; {1}, {2} in the message are what was chosen. A `!` after the code leaves the
row out under a sanitizer, which needs more memory than the row allows. Programs start slowly there: every row is run
with all commands of a choice, but of other choices with one, another one in each row.

In addition to code and message each row must hold this: no crash and no report of a sanitizer, an error in one line, no
half written file (*.part*) left, the fixtures unchanged, an end within a minute."""
import concurrent.futures
import gzip
import hashlib
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TIMEOUT_S = 60
CRASHES = re.compile(r"AddressSanitizer|LeakSanitizer|UndefinedBehavior|runtime error:|terminate called|"
                     r"berth is wrong|Assertion|core dumped|Segmentation fault|Traceback")


def rows(text, sanitized):
    """(line, code, message, command) of each row, choices expanded."""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        code, message, command = line.split(" | ", 2)
        if sanitized and code.strip().endswith("!"):
            continue
        choices, wanted = [], []
        for choice in re.finditer(r"(?<!\$)\{([^{}]*;[^{}]*)\}", command):
            choices.append(choice.group(1))
            each = choice.group(1).split(";")
            of_commands = re.search(r"berth (--max-input \S+ )?$", command[:choice.start()])
            wanted.append([each[number % len(each)]] if sanitized and not of_commands else each)
        for chosen in itertools.product(*wanted):
            each, said = command, message
            for i, (choice, value) in enumerate(zip(choices, chosen), 1):
                each = each.replace("{" + choice + "}", value, 1)
                said = said.replace("{%d}" % i, re.escape(value))
            yield number, int(code.strip().rstrip("!")), said, each


def edit(arguments):
    """edit FILE POINTER JSON: the document with that value there. - as JSON removes, + at the pointer's end appends."""
    path, pointer, text = arguments
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    keys = [k.replace("~1", "/").replace("~0", "~") for k in pointer.split("/")[1:]]
    at = document
    for key in keys[:-1]:
        at = at[int(key)] if isinstance(at, list) else at[key]
    last = keys[-1]
    if text == "-":
        del at[int(last) if isinstance(at, list) else last]
    elif isinstance(at, list):
        at.append(json.loads(text)) if last == "+" else at.__setitem__(int(last), json.loads(text))
    else:
        at[last] = json.loads(text)
    json.dump(document, sys.stdout)


def interrupt(arguments):
    """interrupt SIGNAL SECONDS COMMAND...: sends the signal so many seconds after the command is ready for it, however
    slowly it starts (within half a minute); exits as it does."""
    process = subprocess.Popen(arguments[2:])
    limit = time.monotonic() + TIMEOUT_S / 2
    while process.poll() is None and time.monotonic() < limit:
        with open("/proc/%d/status" % process.pid, encoding="ascii") as file:
            caught = re.search(r"^SigCgt:\s*(\w+)", file.read(), re.M)
        if caught and int(caught.group(1), 16) >> (signal.SIGTERM - 1) & 1:
            break
        time.sleep(0.01)
    time.sleep(float(arguments[1]))
    process.send_signal(signal.Signals["SIG" + arguments[0]])
    code = process.wait()
    return 128 - code if code < 0 else code


def make_fixtures(folder, berth, tools):
    def put(name, content):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())

    for name, source in (("cluster.json", "tests/dryrun/small.json"), ("job.json", "tests/dryrun/jobs/low.json")):
        shutil.copy(os.path.join(ROOT, source), os.path.join(folder, name))
    put("small.toml",
        'name = "small"\nlabels = ["full", "smoke"]\n[cluster]\nnodes = 20\n[[cluster.shapes]]\nname = "std"\n'
        '[jobs]\ncount = 5\n[[jobs.mix]]\nname = "web"\ncount = 2\n')
    put("slow.toml", 'name = "slow"\n[cluster]\nnodes = 20\n[[cluster.shapes]]\nname = "std"\n[jobs]\ncount = 1000\n'
        '[[jobs.mix]]\nname = "web"\n[arrivals]\nprocess = "fixed"\nrate_per_s = 1\nclock = "wait"\n')
    put("large.toml",
        'name = "large"\n[cluster]\nnodes = 2000000\nracks = 100\n[[cluster.shapes]]\nname = "std"\n[jobs]\n'
        'count = 5\n[[jobs.mix]]\nname = "web"\n')
    put("perf.yaml",
        "- name: T\n  defaultPodTemplatePath: pod.yaml\n  workloadTemplate:\n  - {opcode: createNodes, count: 3}\n"
        "  - {opcode: createPods, countParam: $pods}\n  workloads:\n  - {name: w, params: {pods: 4}}\n")
    put("pod.yaml", "kind: Pod\nspec:\n  containers:\n  - resources: {requests: {cpu: 100m, memory: 64Mi}}\n")
    put("job.hcl", 'job "web" {\n  group "a" {\n    cuont = 1\n  }\n}\n')
    put("bomb.gz", gzip.compress(b"[" + b" " * (8 << 20) + b"]"))
    put("cut.gz", gzip.compress(open(os.path.join(folder, "cluster.json"), "rb").read())[:200])
    put("recording.jsonl",
        '{"format": "berth-recording", "version": 1, "Topics": ["Evaluation", "Allocation", "Deployment", '
        '"Job", "Node", "NodePool"]}\n{"State": {"Index": 7, "Nodes": []}}\n')
    put("vector.jsonl", '{"name": "fit/a#0", "in": {}, "out": {}}\n')
    def run(*arguments):
        done = subprocess.run([berth, *arguments], cwd=ROOT, capture_output=True, text=True, env=tools, check=False)
        if done.returncode != 0:
            sys.exit("fixture: %s: %s" % (" ".join(arguments), done.stderr))
    small = os.path.join(folder, "small.toml")
    run("run", small, "--quiet", "--json", os.path.join(folder, "run.json"))
    run("compare", small, "--quiet", "--seeds", "2", "--strategies", "best-fit,worst-fit", "--json",
        os.path.join(folder, "compare.json"))
    run("gate", "record", "--quiet", "--binary", os.path.join(folder, "..", "tools", "fake"), "-o",
        os.path.join(folder, "base.json"), "--history", os.path.join(folder, "history.db"), "--repetitions", "2")
    run("import", os.path.join(folder, "cluster.json"), "-o", os.path.join(folder, "CLUSTER.json"))


def digest_of(folder):
    out = hashlib.sha256()
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            out.update(name.encode() + file.read())
    return out.hexdigest()


def check(row, work, environment):
    number, code, message, command = row
    folder = tempfile.mkdtemp(dir=work)
    try:
        done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return "line %d: %s\n    did not end within %d s" % (number, command, TIMEOUT_S)
    said = done.stderr.decode(errors="replace"), done.stdout.decode(errors="replace")
    problems = []
    if done.returncode != code:
        problems.append("exit code %d instead of %d" % (done.returncode, code))
    if not re.search(message, said[0] + said[1], re.M):
        problems.append("does not say '%s'" % message)
    if CRASHES.search(said[0]):
        problems.append("crashed")
    lines = [l for l in said[0].splitlines() if l and not l.startswith(("Run with --help", "warning: ", "\t"))]
    if code in (1, 2) and len(lines) != 1:
        problems.append("%d lines on standard error instead of one" % len(lines))
    left = [name for _, _, names in os.walk(folder) for name in names if ".part" in name]
    if left:
        problems.append("left %s behind" % ", ".join(left))
    shutil.rmtree(folder, ignore_errors=True)
    if not problems:
        return None
    return "line %d: %s\n    %s\n    it said: %s" % (number, command, "; ".join(problems), (said[0] + said[1])[:600])


def main():
    if os.path.basename(sys.argv[0]) == "edit":
        return edit(sys.argv[1:])
    if os.path.basename(sys.argv[0]) == "interrupt":
        return interrupt(sys.argv[1:])
    berth = os.path.abspath(sys.argv[1])
    sanitized = "--sanitized" in sys.argv
    only = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else ""
    with open(os.path.join(HERE, "rows.txt"), encoding="utf-8") as file:
        every = list(rows(file.read(), sanitized))
    if len(every) < 300:
        sys.exit("rows.txt has %d rows; at least 300 are wanted" % len(every))
    chosen = [row for row in every if only in row[3]]
    work = tempfile.mkdtemp(prefix="berth-hostile-")
    try:
        tools = os.path.join(work, "tools")
        fixtures = os.path.join(work, "fixtures")
        os.mkdir(tools), os.mkdir(fixtures)
        os.symlink(berth, os.path.join(tools, "berth"))
        for name in ("edit", "interrupt"):
            os.symlink(os.path.join(HERE, "run.py"), os.path.join(tools, name))
        with open(os.path.join(tools, "fake"), "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\nexec bash %s/tests/gate/fake_berth.sh \"$@\"\n" % ROOT)
        os.chmod(os.path.join(tools, "fake"), 0o755)
        environment = dict(os.environ, PATH=tools + ":" + os.environ["PATH"], F=fixtures, LC_ALL="C.UTF-8", ROOT=ROOT,
                           FAKE_COUNTER=os.path.join(work, "counter"), TMPDIR=work,
                           ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0")
        with open(environment["FAKE_COUNTER"], "w", encoding="utf-8") as file:
            file.write("0\n")
        make_fixtures(fixtures, berth, environment)
        before = digest_of(fixtures)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            failures = [f for f in pool.map(lambda row: check(row, work, environment), chosen) if f]
        if digest_of(fixtures) != before:
            failures.append("a command changed its inputs: the fixtures are not what they were")
        # What a signal or a full disk stopped must not leave files of its own either.
        for name in os.listdir(work):
            if name.startswith("berth-"):
                failures.append("a temporary file was left: " + name)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    for failure in failures:
        print(failure)
    print("%d of %d rows hold" % (len(chosen) - len(failures), len(chosen)))
    return 1 if failures else 0


sys.exit(main())
