#!/usr/bin/env python3
"""Tries the comparison itself: two recordings of one scenario must be found equal wherever only chance differs, and any
answer that was changed on purpose must be found to differ.

  calibrate.py FOLDER        FOLDER holds NAME.json.gz and NAME-again.json.gz
"""
import argparse
import copy
import glob
import os
import random
import sys

import recording
from compare import Matching, compare


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
SEEDED = 0.5  # the share of them that is tried


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
    """Answers that differ from the given one in something that chance never decides."""
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
            changed["body"].pop(draw.randrange(len(changed["body"])))
        else:
            changed["body"].append({"ID": "x"})
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


def calibrate(folder, verbose):
    draw = random.Random(1)
    total = equal = tried = missed = 0
    for path in sorted(glob.glob(os.path.join(folder, "*-again.json.gz"))):
        name = recording.name_of(path)[:-len("-again")]
        second, first = recording.load(path), recording.load(os.path.join(folder, name + ".json.gz"))
        here = {"total": 0, "equal": 0}

        def same(matching, step, endpoint, path, left, right):
            differences = compare(matching, path, left, right)
            here["total"] += 1
            here["equal"] += not differences
            for difference in differences[:4] if verbose else ():
                print(f"  {name} step {step['n']} {endpoint}: {difference}")

        found = {"tried": 0, "missed": 0}

        def seeded(matching, step, endpoint, path, left, right):
            if "/v1/agent/self" in path or compare(matching, path, left, left):
                return
            for kind, changed in mutations(left, draw):
                if draw.random() > SEEDED:
                    continue
                found["tried"] += 1
                if not compare(matching, path, left, changed):
                    found["missed"] += 1
                    if verbose:
                        print(f"  {name} step {step['n']} {endpoint}: {kind} was changed and nobody noticed")

        play(first, second, same)
        play(first, first, seeded)
        print(f"{name}: {here['equal']} of {here['total']} answers equal in two recordings; "
              f"{found['tried'] - found['missed']} of {found['tried']} seeded differences found")
        total += here["total"]
        equal += here["equal"]
        tried += found["tried"]
        missed += found["missed"]
    return total, equal, tried, missed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--floor", type=float, default=0.0, help="least share of equal answers of two recordings")
    parser.add_argument("-v", "--verbose", action="store_true")
    arguments = parser.parse_args()
    total, equal, tried, missed = calibrate(arguments.folder, arguments.verbose)
    if not total or not tried:
        sys.exit(f"{arguments.folder}: no scenario was recorded twice")
    share = equal / total
    print(f"all: {equal} of {total} equal ({100 * share:.2f} %), {missed} of {tried} seeded differences missed")
    sys.exit(1 if missed or share < arguments.floor else 0)


if __name__ == "__main__":
    main()
