#!/usr/bin/env python3
"""Tests the comparison itself. Two recordings of one scenario must be equal up to random differences. So must a
recording in which two allocations of a group have exchanged their names. Any answer that was changed on purpose must be
found to differ.

  calibrate.py FOLDER        FOLDER holds NAME.json.gz and NAME-again.json.gz
"""
import argparse
import copy
import glob
import os
import random
import sys

import recording
from compare import BY_NAME, Matching, allocations_in, batch_of, compare


def answers(first, second):
    """Pairs of answers (step, endpoint, path, recorded, other) of two recordings of one scenario; and the bindings."""
    for a, b in zip(first["steps"], second["steps"]):
        if a["kind"] != b["kind"]:
            return
        if a["kind"] == "bind":
            yield a, None, None, a["value"], b["value"]
        elif a["kind"] == "http":
            yield a, recording.endpoint(a["method"], a["path"]), a["path"], a, b
        elif a["kind"] == "cli" and not a.get("interrupted"):
            theirs = {}
            for position in recording.last_of_each(b["calls"]):
                theirs.setdefault(recording.poll_key(b["calls"][position]), []).append(b["calls"][position])
            for position in recording.last_of_each(a["calls"]):
                call = a["calls"][position]
                found = theirs.get(recording.poll_key(call))
                if found:
                    yield a, recording.endpoint(call["method"], call["path"]), call["path"], call, found.pop(0)


def play(first, second, on_answer):
    matching = Matching(recording.nodes_of(first))
    for step, name, path, left, right in answers(first, second):
        if name is None:
            matching.bind(left, right)
        else:
            on_answer(matching, step, name, path, left, right)


# --- changes that a comparison must find ---
SEEDED = 0.25  # share of the changes that is tried


def leaves(value, trail=()):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, trail + (key,))
    elif isinstance(value, list):
        for position, inner in enumerate(value):
            yield from leaves(inner, trail + (position,))
    else:
        yield trail


def mutations(answer, draw):
    """Answers that differ from the given one in something that is never random."""
    changed = copy.deepcopy(answer)
    changed["status"] = 500 if changed["status"] != 500 else 200
    yield "status", changed
    if isinstance(answer.get("body"), dict) and answer["body"]:
        changed = copy.deepcopy(answer)
        key = draw.choice(sorted(changed["body"]))
        changed["body"]["Another" + key] = changed["body"].pop(key)
        yield "key", changed
    if isinstance(answer.get("body"), list):
        changed = copy.deepcopy(answer)
        if changed["body"]:
            dropped = changed["body"].pop(draw.randrange(len(changed["body"])))
        else:
            dropped = {"ID": "x"}
            changed["body"].append(dropped)
        if not (isinstance(dropped, dict) and batch_of(dropped)):  # one more or less of those is random
            yield "length", changed
        changed = copy.deepcopy(answer)
        changed["body"] = None
        yield "null for a list", changed
    if answer.get("body_text"):
        changed = dict(answer, body_text=answer["body_text"] + " x")
        yield "text", changed
    for name in ("ClientStatus", "DesiredStatus", "Status", "TriggeredBy", "DisplayMessage", "JobVersion", "Count",
                 "DesiredTotal", "HealthyAllocs", "Running", "Type", "StatusDescription"):
        places = [trail for trail in leaves(answer.get("body")) if trail and trail[-1] == name]
        if places:
            changed = copy.deepcopy(answer)
            trail = draw.choice(places)
            target = changed["body"]
            for part in trail[:-1]:
                target = target[part]
            old = target[trail[-1]]
            target[trail[-1]] = old + 1 if isinstance(old, int) else (old or "") + "x"
            yield f"value of {name}", changed


# What two allocations of one group cannot exchange alone: the rest identifies the allocation. Those of system jobs have
# one name, and differ in their nodes only.
HALVES = ("ClientStatus", "DesiredStatus", "TaskStates", "JobVersion", "DeploymentStatus")


def groups_of(value):
    groups = {}
    for alloc in allocations_in(value):
        groups.setdefault((alloc.get("JobID"), alloc["TaskGroup"]), []).append(alloc)
    return groups


def shape_of(name, value):
    """A part of an allocation without random values: times, jitter, events that a restarted client logs."""
    if name == "TaskStates":
        return {task: (state["State"], state["Failed"], state["Restarts"]) for task, state in (value or {}).items()}
    if name == "DeploymentStatus":
        return (value or {}).get("Healthy"), (value or {}).get("Canary")
    return value


def half_exchanges(answer, draw):
    """Answers in which two allocations of one group have exchanged one part and nothing else."""
    for name in HALVES:
        changed = copy.deepcopy(answer)
        pairs = [(a, b) for allocs in groups_of(changed.get("body")).values() for i, a in enumerate(allocs)
                 for b in allocs[i + 1:] if a.get("Name") != b.get("Name") and name in a and name in b and
                 shape_of(name, a[name]) != shape_of(name, b[name])]
        if pairs:
            a, b = draw.choice(pairs)
            a[name], b[name] = b[name], a[name]
            yield f"exchange of {name}", changed


def exchanged(scenario, draw):
    """The scenario with two names of one group exchanged everywhere, as chance might have given them; None: it has
    none."""
    barred, names = set(), {}
    for step in scenario["steps"]:
        for answer in [step] + step.get("calls", []):
            for group, allocs in groups_of(answer.get("body")).items():
                names.setdefault(group, set()).update(a["Name"] for a in allocs if a.get("Name"))
                barred.update(a.get("Name") for a in allocs if a.get("DesiredDescription") == BY_NAME)
    pairs = [(a, b) for group in sorted(names, key=str) for a in sorted(names[group] - barred)
             for b in sorted(names[group] - barred) if a < b]
    if not pairs:
        return None
    a, b = draw.choice(pairs)
    swap = {a: b, b: a}

    def change(value, key=""):
        if isinstance(value, dict):
            return {k: change(v, k) for k, v in value.items()}
        if isinstance(value, list):
            return [change(v) for v in value]
        return swap.get(value, value) if key == "Name" else value

    def with_bodies(holder):
        out = dict(holder)
        if "body" in out:
            out["body"] = change(out["body"])
        if "calls" in out:
            out["calls"] = [with_bodies(call) for call in out["calls"]]
        return out
    return dict(scenario, steps=[with_bodies(step) for step in scenario["steps"]])


def calibrate(folder, verbose):
    draw = random.Random(1)
    total = equal = tried = missed = unlike = 0
    for path in sorted(glob.glob(os.path.join(folder, "*-again.json.gz"))):
        name = recording.name_of(path)[:-len("-again")]
        second, first = recording.load(path), recording.load(os.path.join(folder, name + ".json.gz"))
        def counting(tally, said):
            """A judge that counts answers, and those that are equal, in `tally`."""
            def judge(matching, step, endpoint, path, left, right):
                differences = compare(matching, path, left, right)
                tally["total"] += 1
                tally["equal"] += not differences
                for difference in differences[:4] if verbose else ():
                    print(f"  {name} step {step['n']} {endpoint}{said}: {difference}")
            return judge

        found = {"tried": 0, "missed": 0}

        def seeded(matching, step, endpoint, path, left, right):
            if "/v1/agent/self" in path or compare(matching, path, left, left):
                return
            for kind, changed in [*mutations(left, draw), *half_exchanges(left, draw)]:
                if draw.random() > SEEDED:
                    continue
                found["tried"] += 1
                if not compare(matching, path, left, changed):
                    found["missed"] += 1
                    if verbose:
                        print(f"  {name} step {step['n']} {endpoint}: {kind} was changed, and the comparison missed it")

        here, parts = {"total": 0, "equal": 0}, {"total": 0, "equal": 0}
        play(first, second, counting(here, ""))
        play(first, first, seeded)
        other = exchanged(first, draw)
        if other:
            play(first, other, counting(parts, ", names exchanged"))
        print(f"{name}: {here['equal']} of {here['total']} answers equal in two recordings; "
              f"{found['tried'] - found['missed']} of {found['tried']} seeded differences found; "
              f"{parts['equal']} of {parts['total']} equal with two names exchanged")
        total += here["total"]
        equal += here["equal"]
        tried += found["tried"]
        missed += found["missed"]
        unlike += parts["total"] - parts["equal"]
    return total, equal, tried, missed, unlike


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--floor", type=float, default=0.0, help="least share of equal answers of two recordings")
    parser.add_argument("-v", "--verbose", action="store_true")
    arguments = parser.parse_args()
    total, equal, tried, missed, unlike = calibrate(arguments.folder, arguments.verbose)
    if not total or not tried:
        sys.exit(f"{arguments.folder}: no scenario was recorded twice")
    share = equal / total
    print(f"all: {equal} of {total} equal ({100 * share:.2f} %), {missed} of {tried} seeded differences missed, "
          f"{unlike} answers differ with two names exchanged")
    sys.exit(1 if missed or unlike or share < arguments.floor else 0)


if __name__ == "__main__":
    main()
