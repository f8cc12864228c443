#!/usr/bin/env python3
"""Runs berth for long, and checks that memory, open files and processor time do not grow.

    soak.py simulated BERTH WORKLOAD_FOLDER [--days 30] [--label full]
    soak.py served BERTH [--minutes 60] [--speed 240]

`simulated` runs the workload `day` for many days, twice: both runs must have the same digest. `served` puts mixed
clients on `berth serve`: they register, update and stop jobs, list, poll, read the event stream, drain nodes, keep
variables and save snapshots. Samples are taken from /proc. The first half of a run is left out, in which job versions
and garbage not yet collected still accumulate: Nomad keeps six versions of a job, and evaluations of batch jobs for a
day.

A growth is the slope of the least-squares line through the samples of the second half, in percent of their mean, over
the length of that half. Exit code 1: a growth is above its limit, or the digests differ.
"""
import argparse
import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time

# Percent of growth over the second half of the run. Processor time differs by a few percent between days, and more on a
# busy machine.
LIMITS = {"memory": 5.0, "open files": 5.0, "processor time": 25.0}
DAY_S = 86400
STOPPED_AT_WORK = 4  # exit code of `berth serve`: stopped while an evaluation was running


def growth(values):
    """Growth in percent over the second half of `values`, which are evenly spaced in time."""
    half = values[len(values) // 2:]
    n = len(half)
    if n < 2 or sum(half) == 0:
        return 0.0
    mean_x, mean_y = (n - 1) / 2, sum(half) / n
    slope = sum((x - mean_x) * (y - mean_y) for x, y in enumerate(half)) / sum((x - mean_x) ** 2 for x in range(n))
    return 100 * slope * (n - 1) / mean_y


def judge(series):
    """Prints a line for each series, (name, kind, unit, values): its values at each quarter and its growth. Returns
    whether all are within their limits."""
    fine = True
    for name, kind, unit, values in series:
        quarters = [values[round(share * (len(values) - 1) / 4)] for share in range(5)]
        grown = growth(values)
        bad = grown > LIMITS[kind]
        fine = fine and not bad
        print(f"  {name:30} {unit:4}{''.join(f'{value:11,.2f}' for value in quarters)}   growth {grown:+6.2f} %, "
              f"limit {LIMITS[kind]:.0f} %{'  TOO MUCH' if bad else ''}")
    return fine


def processor_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1)) / 1024


def open_files(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


# --- simulated -------------------------------------------------------------------------------------------------------


def workload_of(folder, days):
    """The text of `day`, for `days` days: the rates of each day again, and as many faults a day."""
    with open(os.path.join(folder, "day.toml"), encoding="utf-8") as file:
        text = file.read()

    def repeated(match):
        points = [point for point in json.loads(match.group(1)) if point[0] < DAY_S]
        return "rate = " + json.dumps([[second + DAY_S * day, rate] for day in range(days) for second, rate in points])

    text, rates = re.subn(r"^rate = (\[\[.*\]\])$", repeated, text, flags=re.M)
    text, faults = re.subn(r"^times = (\d+)$", lambda match: f"times = {int(match.group(1)) * days}", text, flags=re.M)
    # The label's duration is that of the whole file as well.
    text, durations = re.subn(r"duration_s = \d+", f"duration_s = {DAY_S * days}", text)
    if not rates or not faults or not durations:
        sys.exit("soak: day.toml has no rates, faults or duration; mend workload_of()")
    return text


def run_simulated(berth, workload, label):
    """One run: (its report, greatest number of open files in each tenth of the run)."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        process = subprocess.Popen([berth, "run", workload, "--label", label, "--quiet", "--json", report.name],
                                   stdout=subprocess.DEVNULL)
        files = []
        while process.poll() is None:
            try:
                files.append(open_files(process.pid))
            except FileNotFoundError:
                break
            time.sleep(0.05)
        if process.wait() != 0:
            sys.exit(f"soak: berth run ended with {process.returncode}")
        with open(report.name, encoding="utf-8") as file:
            return json.load(file), files


def daily(over_time, days):
    """Per day: greatest memory in MiB, and microseconds of processor time per placement."""
    memory, cpu, placed = [0] * days, [0.0] * days, [0] * days
    for second, size, seconds, count in zip(over_time["seconds"], over_time["memory_bytes"], over_time["cpu_seconds"],
                                            over_time["placed"]):
        day = min(days - 1, int(second // DAY_S))
        memory[day] = max(memory[day], size)
        cpu[day] += seconds
        placed[day] += count
    return [size / 2**20 for size in memory], [1e6 * seconds / max(1, count) for seconds, count in zip(cpu, placed)]


def simulated(options):
    with tempfile.TemporaryDirectory() as folder:
        workload = os.path.join(folder, "days.toml")
        with open(workload, "w", encoding="utf-8") as file:
            file.write(workload_of(options.folder, options.days))
        report, files = run_simulated(options.berth, workload, options.label)
        again, _ = run_simulated(options.berth, workload, options.label)
    memory, cpu = daily(report["life"]["over_time"], options.days)
    print(f"{options.days} simulated days, {report['nodes']:,} nodes, {report['evaluations']:,} evaluations, "
          f"{report['placed']:,} placements, {report['life']['events']:,} events; digest {report['decisions_digest']}")
    fine = judge([("memory, greatest of a day", "memory", "MiB", memory),
                  ("processor time of a placement", "processor time", "us", cpu),
                  ("open files", "open files", "", files)])
    if report["decisions_digest"] != again["decisions_digest"]:
        print(f"  the second run has the digest {again['decisions_digest']}")
        fine = False
    return fine


# --- served ----------------------------------------------------------------------------------------------------------


def job(name, kind, count, seconds):
    task = {"Name": "t", "Driver": "mock_driver", "Config": {"run_for": f"{seconds}s"},
            "Resources": {"CPU": 100, "MemoryMB": 64}}
    return {"Job": {"ID": name, "Name": name, "Type": kind, "Datacenters": ["*"],
                    "TaskGroups": [{"Name": "g", "Count": count, "Tasks": [task]}]}}


class Clients:
    """Threads that send requests until stop() is called. Any failed request ends the soak."""

    def __init__(self, host, port):
        self.host, self.port = host, port
        self.ended = threading.Event()
        self.requests = 0
        self.failures = []
        self.times_ms = []  # of reads and registrations, since take()
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self.guarded, args=(each,)) for each in
                        (self.batch, self.batch, self.services, self.lists, self.lists, self.polls, self.events,
                         self.operator)]
        for thread in self.threads:
            thread.start()

    def guarded(self, work):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=300)
        try:
            work(lambda method, path, body=None, timed=True: self.send(connection, method, path, body, timed))
        except (OSError, http.client.HTTPException, ValueError, KeyError) as error:
            self.failures.append(f"{work.__name__}: {error!r}")
            self.ended.set()
        finally:
            connection.close()

    def send(self, connection, method, path, body, timed):
        began = time.monotonic()
        connection.request(method, path, None if body is None else json.dumps(body))
        answer = connection.getresponse()
        content = answer.read()
        with self.lock:
            self.requests += 1
            if timed:
                self.times_ms.append(1000 * (time.monotonic() - began))
        if answer.status >= 400:
            raise ValueError(f"{method} {path}: {answer.status} {content[:200]!r}")
        index = int(answer.headers.get("X-Nomad-Index") or 0)
        return (json.loads(content) if content and path != "/v1/operator/snapshot" else None), index

    def take(self):
        """Requests so far, and the median time since the last call, in ms."""
        with self.lock:
            times, self.times_ms = sorted(self.times_ms), []
            return self.requests, times[len(times) // 2] if times else 0.0

    def stop(self):
        self.ended.set()
        for thread in self.threads:
            thread.join(300)

    def batch(self, send):
        number = 0
        while not self.ended.wait(0.05):
            number += 1
            send("PUT", "/v1/jobs",
                 job(f"batch-{threading.get_ident()}-{number}", "batch", 1 + number % 8, 30 + number % 600))

    def services(self, send):
        number = 0
        while not self.ended.wait(0.1):
            number += 1
            name = f"service-{number % 40}"
            if number % 7 == 0:
                send("DELETE", f"/v1/job/{name}")
            else:
                send("PUT", "/v1/jobs", job(name, "service", 1 + number % 5, 10**6 + number))
                send("PUT", f"/v1/job/{name}/plan", job(name, "service", 9, 5) | {"Diff": True})

    def lists(self, send):
        paths = ["/v1/jobs?per_page=50", "/v1/allocations?per_page=100", "/v1/evaluations?per_page=100", "/v1/nodes",
                 "/v1/deployments", '/v1/allocations?filter=ClientStatus+==+"running"&per_page=20', "/v1/metrics",
                 "/v1/job/service-1/allocations", "/v1/operator/scheduler/configuration"]
        number = 0
        while not self.ended.wait(0.1):
            number += 1
            path = paths[number % len(paths)]
            try:
                send("GET", path)
            except ValueError:
                if "/job/service-1/" not in path:  # it is stopped now and then
                    raise

    def polls(self, send):
        index = 1
        while not self.ended.is_set():
            _, index = send("GET", f"/v1/allocations?per_page=10&index={index}&wait=2s", timed=False)

    def events(self, send):
        del send
        while not self.ended.is_set():
            connection = http.client.HTTPConnection(self.host, self.port, timeout=300)
            connection.request("GET", "/v1/event/stream?topic=*")
            answer = connection.getresponse()
            until = time.monotonic() + 20
            while time.monotonic() < until and not self.ended.is_set():
                answer.readline()
            connection.close()

    def operator(self, send):
        nodes, _ = send("GET", "/v1/nodes")
        number = 0
        while not self.ended.wait(1):
            node = nodes[number % len(nodes)]["ID"]
            number += 1
            send("PUT", f"/v1/node/{node}/drain", {"DrainSpec": {"Deadline": 60 * 10**9}})
            self.ended.wait(1)
            send("PUT", f"/v1/node/{node}/drain", {"DrainSpec": None, "MarkEligible": True})
            name = f"app/{number % 20}"
            send("PUT", f"/v1/var/{name}", {"Path": name, "Items": {"key": str(number)}})
            if number % 20 == 0:
                send("GET", "/v1/operator/snapshot", timed=False)
            if number % 5 == 0:
                send("DELETE", f"/v1/var/{name}")


def served(options):
    server = subprocess.Popen([options.berth, "serve", "--nodes", "200", "--speed", str(options.speed), "--listen",
                               "127.0.0.1:0"],
                              stdout=subprocess.PIPE, text=True)
    samples = []  # (MiB, open files, processor seconds, requests, median ms)
    clients = None
    try:
        host, port = re.search(r"http://([^:]+):(\d+)", server.stdout.readline()).groups()
        clients = Clients(host, int(port))
        count = 60
        for _ in range(count):
            if clients.ended.wait(options.minutes * 60 / count):
                break
            requests, median = clients.take()
            samples.append((resident_mib(server.pid), open_files(server.pid), processor_seconds(server.pid), requests,
                            median))
    finally:
        if clients:
            clients.stop()
        server.terminate()
        try:
            code = server.wait(120)
        except subprocess.TimeoutExpired:
            server.kill()
            code = server.wait()
    if clients.failures or code not in (0, STOPPED_AT_WORK):
        print("soak:", "; ".join(clients.failures), f"exit code {code}")
        return False
    spent = [1e6 * (b[2] - a[2]) / max(1, b[3] - a[3]) for a, b in zip(samples, samples[1:])]
    print(f"{options.minutes} minutes of berth serve, {options.speed * options.minutes / 60:,.0f} hours of its clock, "
          f"{samples[-1][3]:,} requests; median of a timed request {samples[len(samples) // 2][4]:.2f} ms in the middle, "
          f"{samples[-1][4]:.2f} ms at the end")
    return judge([("memory", "memory", "MiB", [sample[0] for sample in samples]),
                  ("processor time of a request", "processor time", "us", spent),
                  ("open files", "open files", "", [float(sample[1]) for sample in samples])])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("simulated")
    one.add_argument("berth")
    one.add_argument("folder")
    one.add_argument("--days", type=int, default=30)
    one.add_argument("--label", default="full")
    one.set_defaults(run=simulated)
    two = commands.add_parser("served")
    two.add_argument("berth")
    two.add_argument("--minutes", type=float, default=60)
    two.add_argument("--speed", type=float, default=240)
    two.set_defaults(run=served)
    options = parser.parse_args()
    sys.exit(0 if options.run(options) else 1)


if __name__ == "__main__":
    main()
