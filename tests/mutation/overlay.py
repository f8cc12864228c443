"""Programs of a build folder linked again, with the libraries of some folders of engine/ compiled otherwise.

Only the sources of those folders are compiled. Needs a build folder with ninja files, in which the programs
are built."""
import json
import os
import re
import resource
import shlex
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GOLDEN = os.path.join(ROOT, "tests", "golden")
FOLDERS = ["sched", "feasible", "rank", "preempt", "reconcile", "plan", "broker", "fsm"]

# Per folder: programs of the unit tests, the nearest first.
TESTS = {
    "sched": ["sched", "quirks", "server", "run"], "feasible": ["feasible", "sched"], "rank": ["rank", "sched"],
    "preempt": ["preempt", "sched"], "reconcile": ["reconcile", "sched"], "plan": ["plan", "server", "quirks"],
    "broker": ["broker", "quirks", "server"], "fsm": ["fsm", "plan", "server", "quirks"],
}
FILTERS = {"run": ["--gtest_filter=Gangs.*"]}  # of programs that mostly test something else
# Parts of the recorded decisions, each a step of its own.
RECORDED = ["components", "control", "streams", "evals/place", "evals/life"]


class Build:
    def __init__(self, folder, work):
        self.folder, self.work = os.path.abspath(folder), os.path.join(os.path.abspath(work), "units")
        shutil.rmtree(self.work, ignore_errors=True)  # of an earlier run, with other units
        os.makedirs(self.work)
        with open(os.path.join(self.folder, "compile_commands.json")) as f:
            self.commands = json.load(f)

    def units(self, folders):
        """(name of the folder, entry of compile_commands.json) of what the folders are compiled from."""
        out = []
        for entry in self.commands:
            relative = os.path.relpath(entry["file"], ROOT)
            found = re.search(r"(?:^|/)engine/(\w+)/", relative)
            if found and found.group(1) in folders:
                out.append((found.group(1), entry))
        return out

    def compile(self, entry, output, flags, source=None, include=None):
        """Compiles the entry, or `source` in its place. Returns what the compiler said; "" if it succeeded."""
        words = [w for w in shlex.split(entry["command"]) if w not in ("-Werror", "-O2", "-O3", "-Og")]
        at = words.index("-o")
        words[at + 1] = output
        words[words.index("-c") + 1] = source or entry["file"]
        if include:
            words.insert(1, "-I" + include)
        prefix = shlex.split(os.environ.get("CCACHE_PREFIX", ""))
        done = subprocess.run(prefix + words + ["-w"] + flags, cwd=entry["directory"], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return "" if done.returncode == 0 else done.stdout

    def archive(self, entry):
        """The library of the build folder that the object of the entry is in."""
        found = re.match(r"(.*)/CMakeFiles/(\w+)\.dir/", shlex.split(entry["command"])[-3])
        return f"{found.group(1)}/lib{found.group(2)}.a"

    def link(self, target, objects, output, flags=(), own=()):
        """Links `target`, a path in the build folder. `objects`: (entry, object) of libraries that are replaced; `own`:
        what replaces the objects of the target's own sources."""
        libraries = {}
        for entry, made in objects:
            libraries.setdefault(self.archive(entry), []).append(made)
        for name, made in libraries.items():
            library = os.path.join(self.work, os.path.basename(name))
            subprocess.run(["ar", "crs", library] + made, check=True)
        told = subprocess.run(["ninja", "-C", self.folder, "-t", "commands", target], text=True, check=True,
                              stdout=subprocess.PIPE).stdout.splitlines()
        words = shlex.split(told[-1].removeprefix(": && ").split(" && ")[0])
        words[words.index("-o") + 1] = output
        words = [os.path.join(self.work, os.path.basename(w)) if w in libraries else w for w in words]
        if own:
            words = [w for w in words if f"/test_{os.path.basename(target)[5:]}.dir/" not in w]
            at = words.index("-o")
            words[at:at] = own
        subprocess.run(words + list(flags), cwd=self.folder, check=True)


def program_of(test):
    return "berth" if test == "berth" else f"tests/{test}/test_{test}"


def steps_of(folder, where):
    """Commands that may find a change in the folder: (name, command)."""
    out = [(test, [os.path.join(where, test), "--gtest_fail_fast", "--gtest_brief=1"] + FILTERS.get(test, []))
           for test in TESTS[folder]]
    return out + [("conform " + part, [os.path.join(where, "berth"), "conform", os.path.join(GOLDEN, part)])
                  for part in RECORDED]


def run(command, env, cpu_seconds, wall_seconds):
    """(exit code or None after a limit, seconds of processor time)."""
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run(command, env={**os.environ, **env}, preexec_fn=limit, timeout=wall_seconds, cwd=ROOT,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
    except subprocess.TimeoutExpired:
        done = None
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def say(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)
