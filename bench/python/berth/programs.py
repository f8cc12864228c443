"""Whole workloads, measured by the program `berth`, as data frames."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from typing import Any, Callable, Iterable, Sequence, Union

from ._berth import Error, PackingTrial


Strategy = Union[str, Callable[..., Any]]


_PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "program")
_SHARE = os.path.join(_PROGRAM, "share", "berth")


def find_data() -> None:
    """Makes the engine in this process find the workloads of the package, unless BERTH_DATA is set."""
    if os.path.isdir(_SHARE):
        os.environ.setdefault("BERTH_DATA", _SHARE)


def program() -> str:
    """The program `berth`: BERTH_PROGRAM, else the one that came with this package, else the one on the PATH."""
    named = os.environ.get("BERTH_PROGRAM")
    if named:
        return named
    within = os.path.join(_PROGRAM, "bin", "berth")
    if os.access(within, os.X_OK):
        return within
    found = shutil.which("berth")
    if found:
        return found
    raise Error("the program berth is not found; put it on the PATH, or name it in BERTH_PROGRAM")


def _environment() -> dict[str, str]:
    """The environment of the program, without the package's BERTH_DATA: the program finds its own data."""
    return {name: value for name, value in os.environ.items() if (name, value) != ("BERTH_DATA", _SHARE)}


def main() -> None:
    """The command `berth` of an environment: becomes the program that came with this package."""
    within = os.path.join(_PROGRAM, "bin", "berth")
    if not os.access(within, os.X_OK):
        sys.exit("berth: this package was built without the program; build it against an installation that has bin/berth")
    os.execve(within, [within, *sys.argv[1:]], _environment())


def _call(arguments: Sequence[str]) -> dict:
    return _call_logged(arguments)[0]


def _call_logged(arguments: Sequence[str]) -> tuple[dict, str]:
    """The report, and what the program wrote to standard error."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "result.json")
        done = subprocess.run(
            [program(), *arguments, "--json", path], capture_output=True, encoding="utf-8", stdin=subprocess.DEVNULL,
            env=_environment())
        if done.returncode != 0 or not os.path.exists(path):
            lines = (done.stderr.strip() or done.stdout.strip()).split("\n")
            raise Error(next((line for line in lines if line), f"berth ended with {done.returncode}"))
        with open(path, encoding="utf-8") as file:
            return json.load(file), done.stderr


def _flags(options: dict[str, Any]) -> list[str]:
    out = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            out.append(flag)
        elif value is not False and value is not None:
            for one in value if isinstance(value, (list, tuple)) else [value]:
                out += [flag, str(one)]
    return out


def run(workload: str, *, label: str = "full", seeds: Iterable[int] = (1,), **options: Any):
    """`berth run`: one row per seed as a pandas.DataFrame, indexed by seed.

    Columns: placed, failed, placed_share (0..1), placements_per_second, busy_seconds, schedule_p50_us to
    schedule_p99_us and placement_p50_us to placement_p99_us, cpu_utilisation, memory_utilisation and fragmentation
    (0..1), digest; of workloads whose allocations end also wait_mean_s, wait_p50_s, wait_p99_s, completion_mean_s,
    slowdown_mean, makespan_s and fairness. `options` are options of the program (workers=2, order="free",
    strategy="best-fit", queue="fifo"). The unchanged reports are in `frame.attrs["reports"]`.
    Raises berth.Error with the program's line."""
    import pandas

    rows, reports = [], []
    for seed in seeds:
        report = _call(["run", workload, "--label", label, "--seed", str(seed), "--quiet", *_flags(options)])
        reports.append(report)
        row = {"seed": seed}
        for key in ("placed", "failed", "placed_share", "placements_per_second", "busy_seconds"):
            row[key] = report.get(key)
        for name, key in (("schedule", "schedule_ns"), ("placement", "latency_ns")):
            for percentile in ("p50", "p90", "p99"):
                value = (report.get(key) or {}).get(percentile)
                row[f"{name}_{percentile}_us"] = None if value is None else value / 1e3
        packing = report.get("packing") or {}
        for key in ("cpu_utilisation", "memory_utilisation", "fragmentation"):
            row[key] = packing.get(key)
        if waiting := report.get("waiting"):
            for percentile in ("mean", "p50", "p99"):
                row[f"wait_{percentile}_s"] = waiting["wait_s"][percentile]
            for name, key in (("completion_mean_s", "completion_s"), ("slowdown_mean", "slowdown")):
                row[name] = (waiting.get(key) or {}).get("mean")
            for key in ("makespan_s", "fairness"):
                row[key] = waiting.get(key)
        row["digest"] = report.get("decisions_digest")
        rows.append(row)
    frame = pandas.DataFrame(rows).set_index("seed")
    frame.attrs["reports"] = reports
    return frame


_UNITS = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9, "h": 3600e9}


def _nanoseconds(text: str) -> int:
    """A duration as Go prints it: "161.681µs" is 161681, "1m2.5s" is 62500000000."""
    if not re.fullmatch(r"([0-9.]+(ns|µs|ms|s|m|h))+", text):
        raise Error(f"{text!r} is no duration")
    return round(sum(float(number) * _UNITS[unit] for number, unit in re.findall(r"([0-9.]+)([a-zµ]+)", text)))


def _log_of(workload: str, label: str, options: dict[str, Any]) -> list[dict[str, str]]:
    arguments = ["run", workload, "--label", label, "--quiet", "--log-level", "info", "--log-json", *_flags(options)]
    return [json.loads(line) for line in _call_logged(arguments)[1].splitlines() if line.startswith("{")]


def _times(lines: list[dict[str, str]]):
    import pyarrow
    import pyarrow.compute as pc

    times = pyarrow.array([line["@timestamp"].rstrip("Z") for line in lines], pyarrow.string())
    return pc.assume_timezone(times.cast(pyarrow.timestamp("ns")), "UTC")


def evaluations(workload: str, *, label: str = "full", **options: Any):
    """`berth run`: one row per evaluation as a pyarrow.Table, in the order in which they ended. Needs pyarrow.

    Columns: ended (of a simulated cluster its time, else real time), eval_id, type, namespace, job_id, triggered_by,
    status; attempts, placed, failed, refused (allocations); sources (of candidates, with their number of placements),
    took_ns. `options` are options of the program, as for `run`. Raises berth.Error with the program's line."""
    import pyarrow

    lines = [line for line in _log_of(workload, label, options) if line["@message"] == "evaluation processed"]
    columns = {"ended": _times(lines)}
    for name in ("eval_id", "type", "namespace", "job_id", "triggered_by", "status"):
        columns[name] = pyarrow.array([line[name] for line in lines], pyarrow.string())
    for name in ("attempts", "placed", "failed", "refused"):
        columns[name] = pyarrow.array([int(line[name]) for line in lines], pyarrow.int64())
    columns["sources"] = pyarrow.array([line["sources"] for line in lines], pyarrow.string())
    columns["took_ns"] = pyarrow.array([_nanoseconds(line["took"]) for line in lines], pyarrow.int64())
    return pyarrow.table(columns)


def events(workload: str, *, label: str = "full", **options: Any):
    """`berth run` of a workload that simulates a cluster: what happened, one row per line of its log as a
    pyarrow.Table. Needs pyarrow.

    Evaluations, allocations placed and changed, nodes, deployments that ended, drains. Columns: time (of the cluster),
    level, message, then the members of the lines as texts (alloc_id, node_id, client_status, job_id, ...), null where a
    line has none. `options` and errors as for `run`."""
    import pyarrow

    lines = _log_of(workload, label, options)
    columns = {"time": _times(lines)}
    for name in ("level", "message"):
        columns[name] = pyarrow.array([line["@" + name] for line in lines], pyarrow.string())
    for name in dict.fromkeys(name for line in lines for name in line if not name.startswith("@")):
        columns[name] = pyarrow.array([line.get(name) for line in lines], pyarrow.string())
    return pyarrow.table(columns)


def compare(workload: str, strategies: Sequence[Strategy], *, label: str = "full", seeds: int = 5, **options: Any):
    """`berth compare --strategies`: one row per strategy and seed as a pandas.DataFrame, indexed by both, one column
    per metric.

    With queue="fifo,shortest" or preemption="nomad,kubernetes" these are compared, and `strategies` names the one that
    places.
    `strategies` has names and may have functions of (nodes, task), as for `Cluster.score_by`; at least one must be a
    name. The program runs the names, this process the functions, over the same clusters, jobs and visiting orders, so
    rows of one seed are pairs. A function is called with blocks of at most 64 feasible nodes, and again only for nodes
    that changed; its name is its `__name__`. The program's report, with tests and intervals, is in
    `frame.attrs["report"]`; `frame.attrs["digests"]` has the digest of the placements of every row. Raises berth.Error
    with the program's line, and the exceptions of a function."""
    import pandas

    functions = [one for one in strategies if callable(one)]
    named = [one for one in strategies if not callable(one)]
    for one in named:
        if not isinstance(one, str):
            raise TypeError(f"strategies: {one!r} is no name and no function of (nodes, task)")
    if functions and not named:
        raise ValueError(
            "strategies: one of berth's own has to be among them, to compare with; nomad-binpack is what Nomad does")
    names = [one if isinstance(one, str) else getattr(one, "__name__", repr(one)) for one in strategies]
    if len(set(names)) < len(names):
        raise ValueError(
            f"strategies: two are called {next(name for name in names if names.count(name) > 1)!r}; give each function a name")
    if functions and (others := [name for name in ("preemption", "queue", "rebalance", "capacity", "minimum_nodes",
                                                   "experiment") if options.get(name)]):
        raise ValueError(f"strategies: functions place tasks; with {others[0]} only berth's own can be compared")
    report = _call(["compare", workload, "--label", label, "--strategies", ",".join(named), "--seeds", str(seeds),
                    "--quiet", *_flags(options)])
    runs = {(one["strategy"], single["seed"]): (single["metrics"], single["digest"]) for one in report["strategies"]
            for single in one["runs"]}
    used = [single["seed"] for single in report["strategies"][0]["runs"]]
    trials = {seed: PackingTrial(workload, label, seed) for seed in used} if functions else {}
    if functions and trials[used[0]].pack(named[0])[1] != runs[named[0], used[0]][1]:
        raise Error(f"{program()} packs {workload} in another way than this package: they are of different versions, or find different files")
    for function, name in ((one, name) for one, name in zip(strategies, names) if callable(one)):
        for seed in used:
            runs[name, seed] = trials[seed].pack(function)
    if not functions:
        # with `queue` and others what is compared, not what places
        names = [one["strategy"] for one in report["strategies"]]
    rows = [{"strategy": name, "seed": seed, **runs[name, seed][0]} for name in names for seed in used
            if (name, seed) in runs]
    frame = pandas.DataFrame(rows).set_index(["strategy", "seed"])
    frame.attrs["report"] = report
    frame.attrs["digests"] = {key: digest for key, (_, digest) in runs.items()}
    return frame
