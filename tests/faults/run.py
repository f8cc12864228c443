#!/usr/bin/env python3
"""Faults, one at a time. After each, the program has ended with one line or went on, and its outputs are whole.

    run.py BERTH PRELOAD [--all] [--only TEXT]

allocation   the first allocation of a run finds no memory, then the second, up to 10,000 (preload.cc)
short        every read() and write() on a file transfers at most 1, 7 or 4,096 bytes
error        one system call on a file fails (strace injects it): each of a command in turn, with each of several errors
kill         the process is killed (SIGKILL) at one system call on a file, each in turn
serve        `berth serve` writes a snapshot over an older one: each operation on its temporary file fails, and the
             server continues; or it is killed there, in the middle of a write too, and a new one restores what is there

Without --all, which takes minutes, it is every fiftieth allocation, and every fourth system call of `error` and `kill`.
These two need strace and a system that permits it; else they are left out, and the exit code is 77."""
import concurrent.futures
import http.client
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
ALLOCATIONS = 10_000
STALLS = 100  # seeds of `stall` with --all
NO_MEMORY = "berth: out of memory; give it more, or a smaller input\n"
ERRORS = {"openat": ["EIO", "EMFILE", "ENOSPC"], "read": ["EIO"], "pread64": ["EIO"],
          "write": ["EIO", "ENOSPC", "EINTR"], "pwrite64": ["EIO", "ENOSPC"], "fsync": ["EIO", "ENOSPC"],
          "fdatasync": ["EIO"], "rename": ["EIO", "ENOSPC"], "close": ["EIO"], "unlink": ["EIO"],
          "ftruncate": ["EIO"], "newfstatat": ["EIO"], "fchmod": ["EIO"], "getdents64": ["EIO"], "lseek": ["EIO"]}
# Paths of the system: a program that does not start there is not a fault of berth.
SYSTEM = ("/lib", "/usr/lib", "/etc", "/proc", "/sys", "/dev", "/usr/share", "pipe:", "socket:")
CRASH = re.compile(r"terminate called|berth is wrong|Assertion|Segmentation fault|core dumped")


class Command:
    """A command line, and what its output must be like: `is_whole` of the text of the output file."""

    def __init__(self, words, output, is_whole, old="old\n"):
        self.words, self.output, self.is_whole, self.old = words, output, is_whole, old

    def is_fine(self, folder):
        """The output is as before, absent where there was none, or whole."""
        path = os.path.join(folder, self.output)
        if self.output.endswith(".db"):
            return rows_of(path) in (1, 2)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        return text == self.old or self.is_whole(text)


def rows_of(path):
    """Number of runs in a database of results; 0 if it is damaged."""
    try:
        with sqlite3.connect(path) as db:
            if db.execute("pragma integrity_check").fetchone()[0] != "ok":
                return 0
            return db.execute("select count(*) from runs").fetchone()[0]
    except sqlite3.Error:
        return 0


def is_run(text):
    try:
        return json.loads(text)["format"] == "berth-run" and text.endswith("}\n")
    except (ValueError, KeyError):
        return False


def commands(fixtures):
    cluster, job, small = (os.path.join(fixtures, name) for name in ("cluster.json", "job.json", "small.toml"))
    with open(os.path.join(fixtures, "imported.json"), encoding="utf-8") as file:
        imported = file.read()
    return [
        Command(["run", small, "--quiet", "--json", "out"], "out", is_run),
        Command(["import", cluster, "-o", "out"], "out", lambda text: text == imported),
        Command(["plan", cluster, job, "--require", "none", "--json", "out"], "out", lambda text: text.endswith("}\n")),
        Command(["report", os.path.join(fixtures, "run.json"), "--html", "out"], "out",
                lambda text: text.rstrip().endswith("</html>")),
        Command(["run", small, "--quiet", "--results", "out.db"], "out.db", None),
    ]


def make_fixtures(folder, berth):
    shutil.copy(os.path.join(ROOT, "tests/dryrun/small.json"), os.path.join(folder, "cluster.json"))
    shutil.copy(os.path.join(ROOT, "tests/dryrun/jobs/low.json"), os.path.join(folder, "job.json"))
    with open(os.path.join(folder, "small.toml"), "w", encoding="utf-8") as file:
        file.write('name = "small"\n[cluster]\nnodes = 20\n[[cluster.shapes]]\nname = "std"\n[jobs]\ncount = 5\n'
                   '[[jobs.mix]]\nname = "web"\ncount = 2\n')
    with open(os.path.join(folder, "full.toml"), "w", encoding="utf-8") as file:
        file.write('name = "full"\n[cluster]\nnodes = 12\n[[cluster.shapes]]\nname = "std"\n[jobs]\ncount = 120\n'
                   '[[jobs.mix]]\nname = "web"\ncount = 20\n')
    for words in (["import", "cluster.json", "-o", "imported.json"],
                  ["run", "small.toml", "--quiet", "--json", "run.json"],
                  ["run", "small.toml", "--quiet", "--results", "old.db"]):
        subprocess.run([berth, *words], cwd=folder, check=True, capture_output=True)


class Faults:
    def __init__(self, berth, preload, work):
        self.berth, self.preload, self.work = berth, preload, work
        self.fixtures = os.path.join(work, "fixtures")
        os.mkdir(self.fixtures)
        make_fixtures(self.fixtures, berth)

    def once(self, command, fault, prefix=(), environment=None, killed=False, may_be_mute=False):
        """Runs the command under one fault; returns what is wrong, or None, and the exit code."""
        with tempfile.TemporaryDirectory(dir=self.work) as folder:
            output = os.path.join(folder, command.output)
            if command.output.endswith(".db"):
                shutil.copy(os.path.join(self.fixtures, "old.db"), output)
            else:
                with open(output, "w", encoding="utf-8") as file:
                    file.write(command.old)
            done = subprocess.run([*prefix, self.berth, *command.words], cwd=folder, capture_output=True, timeout=60,
                                  check=False, env=dict(os.environ, LC_ALL="C.UTF-8", **(environment or {})))
            said = done.stderr.decode(errors="replace")
            problems = []
            if CRASH.search(said) or (done.returncode not in (0, 1, 2) and not killed):
                problems.append("ended with code %d" % done.returncode)
            lines = [line for line in said.splitlines() if line and not line.startswith("warning: ")]
            if done.returncode in (1, 2) and len(lines) != 1 and not may_be_mute:
                problems.append("%d lines on standard error instead of one" % len(lines))
            if fault.startswith("allocation") and said != NO_MEMORY:
                problems.append("does not say that there is no memory")
            if not command.is_fine(folder):
                problems.append("the output is neither the old one nor whole")
            left = [name for name in os.listdir(folder) if ".part" in name]
            if left and not killed and "unlink" not in fault:
                problems.append("left " + ", ".join(left))
            if done.returncode == 0 and not command.output.endswith(".db"):
                with open(output, encoding="utf-8") as file:
                    if file.read() == command.old:
                        problems.append("ended with 0 and wrote nothing")
            if not problems:
                return None, done.returncode
            return "%s: berth %s\n    %s\n    it said: %s" % (
                fault, " ".join(command.words), "; ".join(problems), said[:400]), done.returncode

    # ------------------------------------------------------------ memory

    def allocations(self, every):
        command = commands(self.fixtures)[0]
        for number in range(1, ALLOCATIONS + 1, every):
            yield lambda n=number: self.allocation(command, n)

    def allocation(self, command, number):
        problem, code = self.once(command, "allocation %d" % number,
                                  environment={"LD_PRELOAD": self.preload, "BERTH_FAULT_ALLOCATION": str(number)})
        if not problem and code != 1:
            problem = "allocation %d: the run ends with code %d: it did not fail" % (number, code)
        return problem

    # ------------------------------------------------------------ files

    def shorts(self):
        for command in commands(self.fixtures):
            for most in (1, 7, 4096):
                if not command.output.endswith(".db") or most > 1:
                    yield lambda c=command, m=most: self.once(
                        c, "short %d" % m, environment={"LD_PRELOAD": self.preload, "BERTH_FAULT_SHORT": str(m)})[0]

    def calls(self, command):
        """(system call, its number among those of its name, is a standard stream) of the command's calls on files."""
        log = tempfile.mktemp(dir=self.work)
        self.once(command, "trace", ["strace", "-qq", "-y", "-s", "0", "-o", log, "-e", "trace=" + ",".join(ERRORS)])
        counts, out = {}, []
        with open(log, encoding="utf-8", errors="replace") as file:
            for line in file:
                call = re.match(r"(\w+)\((.*)", line)
                if not call:
                    continue
                name, rest = call.groups()
                counts[name] = counts.get(name, 0) + 1
                path = re.search(r'<([^<>]*)>|"([^"]*)"', rest.replace("AT_FDCWD</", "</", 1) if name != "openat" else
                                 rest.split(",", 1)[1])
                path = (path.group(1) or path.group(2) or "") if path else ""
                if not path.startswith(SYSTEM):
                    out.append((name, counts[name], rest.startswith(("0<", "1<", "2<"))))
        return out

    def injected(self, command, call, number, what, stream):
        # A failed close of a file that was read, or a failed removal, may go unnoticed: then the run is whole.
        return self.once(command, "%s %d: %s" % (call, number, what),
                         ["strace", "-qq", "-o", "/dev/null", "-e", "trace=" + call, "-e",
                          "inject=%s:%s:when=%d" % (call, what, number)],
                         killed=what.startswith("signal"), may_be_mute=stream)[0]

    def errors(self):
        for command in commands(self.fixtures):
            for call, number, stream in self.calls(command):
                for error in ERRORS[call]:
                    yield lambda c=command, k=call, n=number, e=error, s=stream: self.injected(c, k, n, "error=" + e, s)

    # ------------------------------------------------------------ a server's snapshot

    def serve(self):
        """All faults of a snapshot's file, one after the other, until one number is beyond the last operation."""
        folder = tempfile.mkdtemp(dir=self.work)
        first = Server(self.berth, folder, {})
        first.put("/v1/jobs", job(0))
        first.put("/v1/berth/snapshot", {"Name": "state"})
        first.end()
        for number in range(1, 50):
            for error in ("", ":5", ":28"):  # killed, EIO, ENOSPC
                problem = self.snapshot(folder, number, error)
                if problem == "end":
                    return
                yield lambda p=problem: p
        yield lambda: "serve: 50 operations on the file of one snapshot"

    def snapshot(self, folder, number, error):
        """One fault; "end" if no operation has this number."""
        path = os.path.join(folder, "state.json")
        with open(path, "rb") as file:
            old = file.read()
        where = "serve: operation %d on a snapshot's file, %s" % (number, error or "killed")
        server = Server(self.berth, folder, {"LD_PRELOAD": self.preload, "BERTH_FAULT_PART": "%d%s" % (number, error)})
        server.put("/v1/jobs", job(number))
        answer = server.put("/v1/berth/snapshot", {"Name": "state"})
        lives = server.process.poll() is None if answer is not None else False
        if lives and answer == 200 and error == "":
            server.end()
            return "end"
        if error and not (lives and server.put("/v1/jobs", job(99)) == 200):
            return where + ": the server does not continue"
        server.end()
        with open(path, "rb") as file:
            found = file.read()
        if found != old:
            try:
                json.loads(found)
            except ValueError:
                return where + ": the file is torn"
            if answer not in (200, None):
                return where + ": the answer is %d and the file is new" % answer
        elif answer == 200:
            return where + ": the answer is 200 and the file is old"
        again = Server(self.berth, folder, {})
        restored = again.put("/v1/berth/restore", {"Name": "state"})
        again.end()
        return None if restored == 200 else where + ": the file cannot be restored"

    # ------------------------------------------------------------ clocks and threads

    def clocks(self):
        for seconds in (30, 7200, -7200):
            yield lambda s=seconds: self.clock(s)

    def clock(self, seconds):
        """Ten jobs, and a jump of the clocks after each."""
        folder = tempfile.mkdtemp(dir=self.work)
        server = Server(self.berth, folder, {"LD_PRELOAD": self.preload, "BERTH_FAULT_CLOCK": str(seconds)}, "600")
        try:
            every_minute = job(0, 1)
            every_minute["Job"].update(Type="batch", Periodic={"Enabled": True, "Spec": "* * * * *"})
            statuses = [server.put("/v1/jobs", every_minute)]
            for number in range(1, 11):
                # A request has 20 s in the server: one under way during a jump may be cut off, and is sent again.
                statuses.append(server.put("/v1/jobs", job(number)) or server.put("/v1/jobs", job(number)))
                server.process.send_signal(signal.SIGUSR2)
            wrong = after_jumps(server, statuses)
            return wrong and "clock %d: %s" % (seconds, wrong)
        except (OSError, http.client.HTTPException) as error:
            return "clock %d: the server does not answer: %r" % (seconds, error)
        finally:
            server.end()

    def stalls(self, every):
        expected = self.decisions("deterministic", 1, {})
        for seed in range(1, STALLS + 1, every):
            for order in ("deterministic", "free"):
                yield lambda s=seed, o=order: self.stall(s, o, expected)

    def stall(self, seed, order, expected):
        found = self.decisions(order, 4, {"LD_PRELOAD": self.preload, "BERTH_FAULT_STALL": str(seed)})
        if order == "free":  # the order of commits differs from run to run
            found["digest"] = expected["digest"]
        return None if found == expected else "stall %d, order %s: %s instead of %s" % (seed, order, found, expected)

    def decisions(self, order, workers, environment):
        """A run of a cluster that becomes full. Every evaluation is decided a second time without caches."""
        with tempfile.TemporaryDirectory(dir=self.work) as folder:
            words = [self.berth, "run", os.path.join(self.fixtures, "full.toml"), "--workers", str(workers), "--order",
                     order, "--quiet", "--json", "out", "--shadow", "1"]
            done = subprocess.run(words, cwd=folder, capture_output=True, timeout=60, check=False,
                                  env=dict(os.environ, **environment))
            with open(os.path.join(folder, "out"), encoding="utf-8") as file:
                report = json.load(file)
        return {"exit code": done.returncode, "evaluations": report["evaluations"], "placed": report["placed"],
                "digest": report["decisions_digest"]}

    def threads(self):
        for order in ("deterministic", "free"):
            for number in range(1, 4):
                yield lambda o=order, n=number: self.thread(o, n)

    def thread(self, order, number):
        command = Command(["run", os.path.join(self.fixtures, "small.toml"), "--quiet", "--workers", "4", "--order",
                           order, "--json", "out"], "out", is_run)
        problem, code = self.once(command, "thread %d" % number,
                                  environment={"LD_PRELOAD": self.preload, "BERTH_FAULT_THREAD": str(number)})
        if not problem and code != 1:
            problem = "thread %d: the run ends with code %d: it did not fail" % (number, code)
        return problem

    def kills(self):
        for command in commands(self.fixtures):
            for call, number, stream in self.calls(command):
                yield lambda c=command, k=call, n=number, s=stream: self.injected(c, k, n, "signal=KILL", s)


def after_jumps(server, statuses):
    """What is wrong after the clocks jumped; None if all is well within a minute."""
    if statuses != [200] * len(statuses):
        return "answers %s" % statuses
    launches, until = set(), time.monotonic() + 60
    while time.monotonic() < until:
        launches.add(len([one for one in server.get("/v1/jobs") if one["ParentID"] == "job-0"]))
        nodes = {one["Status"] for one in server.get("/v1/nodes")}
        running = [len([one for one in server.get("/v1/job/job-%d/allocations" % number)
                        if one["ClientStatus"] == "running"]) for number in range(1, len(statuses))]
        if nodes == {"ready"} and running == [5] * len(running) and len(launches) > 2:
            return None
        time.sleep(0.05)
    return "nodes %s, running allocations %s, launches of the periodic job %s" % (nodes, running, sorted(launches))


class Server:
    def __init__(self, berth, folder, environment, speed="step"):
        words = ["serve", "--nodes", "50", "--speed", speed, "--listen", "127.0.0.1:0", "--snapshots", folder]
        self.process = subprocess.Popen([berth, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                        env=dict(os.environ, **environment))
        self.address = re.search(r"http://\S+", self.process.stdout.readline()).group(0)

    def put(self, path, body):
        """The status of the answer, 0 if it reports an error after it began as 200; None if the server is gone."""
        request = urllib.request.Request(self.address + path, json.dumps(body).encode(), method="PUT")
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return 0 if "Error" in json.load(answer) else answer.status
        except urllib.error.HTTPError as error:
            return error.code
        except (OSError, http.client.HTTPException):
            return None

    def get(self, path):
        with urllib.request.urlopen(self.address + path, timeout=60) as answer:
            return json.load(answer)

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def job(number, seconds=10**8):
    task = {"Name": "t", "Driver": "mock_driver", "Config": {"run_for": "%ds" % seconds},
            "Resources": {"CPU": 100, "MemoryMB": 64}}
    return {"Job": {"ID": "job-%d" % number, "Name": "job-%d" % number, "Type": "service", "Datacenters": ["*"],
                    "TaskGroups": [{"Name": "g", "Count": 5, "Tasks": [task]}]}}


def strace_works(work):
    try:
        done = subprocess.run(["strace", "-qq", "-o", "/dev/null", "-e", "inject=write:error=EIO", "true"], cwd=work,
                              capture_output=True, check=False)
        return done.returncode == 0
    except OSError:
        return False


def main():
    everything = "--all" in sys.argv
    only = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else ""
    with tempfile.TemporaryDirectory(prefix="berth-faults-") as work:
        faults = Faults(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), work)
        kinds = [("allocation", lambda: faults.allocations(1 if everything else 50)), ("short", faults.shorts),
                 ("serve", faults.serve), ("clock", faults.clocks),
                 ("stall", lambda: faults.stalls(1 if everything else STALLS // 2)), ("thread", faults.threads)]
        traced = strace_works(work)
        if traced:
            kinds += [("error", faults.errors), ("kill", faults.kills)]
        failed = 0
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for kind, tasks in kinds:
                if only not in kind:
                    continue
                chosen = list(tasks())
                if kind in ("error", "kill") and not everything:
                    chosen = chosen[::4]
                results = list(pool.map(lambda task: task(), chosen))
                problems = [one for one in results if one]
                failed += len(problems)
                print("%s: %d faults, %d problems" % (kind, len(results), len(problems)), flush=True)
                for problem in problems[:20]:
                    print(problem)
    if failed:
        return 1
    if not traced:
        print("no strace, or it is not permitted here: system calls that fail are left out")
        return 77
    return 0


sys.exit(main())
