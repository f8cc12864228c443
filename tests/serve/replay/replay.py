#!/usr/bin/env python3
"""Replays recorded conversations with a Nomad cluster against `berth serve` and compares every answer.

  replay.py --berth BERTH [--cluster FILE] SCENARIO.json.gz ...     one server per scenario, started and ended here
  replay.py --address URL SCENARIO.json.gz                          a server that runs already, with --speed step

A recording is one random course. With --draws N a scenario whose answers differ is played up to N times, each time with
another seed of the server, and the run with the fewest differences counts.

Prints the share of equal answers per scenario and over all; ends with 1 if it is below --floor.
"""
import argparse
import collections
import os
import re
import subprocess
import sys
import threading
import traceback

import recording
from player import Player

HERE = os.path.dirname(os.path.abspath(__file__))


class Server:
    """`berth serve` on a free port."""

    def __init__(self, berth, cluster, options=()):
        self.process = subprocess.Popen([berth, "serve", cluster, "--speed", "step", "--keep-addresses", "--listen",
                                         "127.0.0.1:0",
                                         "--heartbeat-grace", "2s", "--min-heartbeat-ttl", "3s", *options],
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.lines = []
        self.url = None
        for line in self.process.stdout:
            self.lines.append(line)
            found = re.search(r"http://[\d.]+:\d+", line)
            if found:
                self.url = found.group(0)
                break
        if self.url is None:
            raise RuntimeError("berth serve did not start: " + "".join(self.lines)[-500:])
        threading.Thread(target=self.drain, daemon=True).start()

    def drain(self):
        for line in self.process.stdout:
            self.lines.append(line)

    def stop(self):
        if self.process.poll() is not None:
            raise RuntimeError(f"berth serve ended with {self.process.returncode}: " + "".join(self.lines[-20:]))
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise RuntimeError("berth serve did not end when it was told to") from None


def make_client(url):
    from python_nomad import NomadClient  # the only place that needs it installed
    return NomadClient(url)


def play(path, arguments, seed=1):
    """(answers, how many were expected, problem) of one scenario."""
    scenario = recording.load(path)
    server = None if arguments.address else Server(arguments.berth, arguments.cluster, ("--seed", str(seed)))
    url = arguments.address or server.url
    player = Player(url, scenario, client=make_client(url) if arguments.client == "python-nomad" else None)
    problem = ""
    try:
        player.play()
    except Exception as error:  # a scenario that fails counts its remaining answers as different
        problem = f"{type(error).__name__}: {error}"
        if arguments.verbose:
            traceback.print_exc()
    finally:
        if server:
            try:
                server.stop()
            except RuntimeError as error:
                problem = problem or str(error)
    return player.answers, expected(scenario), problem


def differing(result):
    answers, total, _ = result
    return max(total, len(answers)) - sum(1 for answer in answers if not answer.differences)


def play_best(path, arguments):
    """Of the runs with the seeds 1 to `draws` the one with the fewest differences, and how many the first one has."""
    best = play(path, arguments)
    first = differing(best)
    for seed in range(2, arguments.draws + 1):
        if differing(best) == 0:
            break
        best = min(best, play(path, arguments, seed), key=differing)
    return best, first


def expected(scenario):
    """How many answers the recording has, as they are counted."""
    count = 0
    for step in scenario["steps"]:
        if step["kind"] == "http":
            count += 1
        elif step["kind"] == "cli" and not step.get("interrupted"):
            count += len(recording.last_of_each(step["calls"]))
    return count


def report(file, results):
    """Shares per scenario, then what differs: one line per endpoint and kind, the most frequent first."""
    kinds = collections.defaultdict(list)
    all_equal = all_total = 0
    for name, answers, total, problem in results:
        equal = sum(1 for answer in answers if not answer.differences)
        total = max(total, len(answers))
        all_equal, all_total = all_equal + equal, all_total + total
        share = 100 * equal / total if total else 0.0
        file.write(f"{name:32} {equal:5} of {total:5} equal {share:6.1f} %{'  ' + problem if problem else ''}\n")
        for answer in answers:
            for difference in answer.differences:
                kinds[answer.endpoint, difference.where, difference.what].append((answer, difference))
    share = all_equal / all_total if all_total else 0.0
    file.write(f"{'all':32} {all_equal:5} of {all_total:5} equal {100 * share:6.2f} %\n")
    if kinds:
        file.write("\nWhat differs: in how many answers, endpoint, place, kind, and an example.\n")
    for (endpoint, where, what), found in sorted(kinds.items(), key=lambda item: -len({id(a) for a, _ in item[1]})):
        answer, difference = found[0]
        text = str(difference).replace("\n", "\\n")
        file.write(f"{len({id(a) for a, _ in found}):5} {endpoint}: {text}   [{answer.scenario} {answer.step} {answer.path[:90]}]\n")
    return share


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenarios", nargs="+")
    parser.add_argument("--berth", help="the program")
    parser.add_argument("--cluster", default=os.path.join(HERE, "cluster.json"))
    parser.add_argument("--address", help="a server that runs already")
    parser.add_argument("--client", choices=("http", "python-nomad"), default="http", help="what asks")
    parser.add_argument("--floor", type=float, default=0.0, help="least share of equal answers, 0 to 1")
    parser.add_argument("--draws", type=int, default=1,
                        help="seeds that a scenario is played with until nothing differs")
    parser.add_argument("--report", help="a file for the shares and all differences")
    parser.add_argument("-v", "--verbose", action="store_true", help="print what differs too")
    arguments = parser.parse_args()
    if bool(arguments.berth) == bool(arguments.address):
        parser.error("give either --berth or --address")
    if arguments.address and arguments.draws > 1:
        parser.error("--draws needs --berth: a server that runs has one seed")
    results, first = [], 0
    for path in arguments.scenarios:
        best, of_first = play_best(path, arguments)
        first += of_first
        results.append((recording.name_of(path), *best))
    if arguments.report:
        with open(arguments.report + ".new", "w", encoding="utf-8") as file:
            report(file, results)
        os.replace(arguments.report + ".new", arguments.report)
    if arguments.verbose:
        share = report(sys.stdout, results)
    else:
        with open(os.devnull, "w", encoding="utf-8") as nowhere:
            share = report(nowhere, results)
        equal = [sum(1 for answer in answers if not answer.differences) for _, answers, _, _ in results]
        for (name, answers, total, problem), same in zip(results, equal):
            print(f"{name:32} {same:5} of {max(total, len(answers)):5}  {problem}")
    total = sum(max(total, len(answers)) for _, answers, total, _ in results)
    alone = f" (with the first of {arguments.draws} draws {100 * (1 - first / total):.2f} %)" if arguments.draws > 1 else ""
    print(f"share of equal answers: {100 * share:.2f} %{alone}, floor {100 * arguments.floor:.2f} %")
    sys.exit(0 if share >= arguments.floor else 1)


if __name__ == "__main__":
    main()
