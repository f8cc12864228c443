"""Reads recorded scenarios and their calls."""
import calendar
import gzip
import json
import os
import re
import time

from compare import TOKEN

GROUPS = (  # endpoints as a report names them, the first that matches
    (r"^/v1/job/[^?]*?/(allocations|deployments|deployment|evaluations|summary|versions|scale|submission|evaluate|plan|"
     r"dispatch|revert|stable|periodic/force|actions|services|versions/[^?/]*/tag)$", r"/v1/job/:id/\1"),
    (r"^/v1/job/[^?]*$", "/v1/job/:id"),
    (r"^/v1/node/(pools?)(/[^/]+)?(/jobs|/nodes)?$", r"/v1/node/\1/:name\3"),
    (r"^/v1/node/[^/]+(/[a-z-]+)?$", r"/v1/node/:id\1"),
    (r"^/v1/deployment/([a-z-]+)/[^/]+$", r"/v1/deployment/\1/:id"),
    (r"^/v1/client/allocation/[^/]+(/[a-z]+)?$", r"/v1/client/allocation/:id\1"),
    (r"^/v1/(allocation|evaluation|deployment|namespace)/[^/]+(/[a-z]+)?$", r"/v1/\1/:id\2"),
)


def endpoint(method, path):
    """The route of a path, such as `GET /v1/job/:id/allocations`."""
    head = path.split("?")[0]
    for pattern, name in GROUPS:
        if re.match(pattern, head):
            return f"{method} {re.sub(pattern, name, head)}"
    return f"{method} {head}"


def load(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        return json.load(file)


def name_of(path):
    return re.sub(r"\.json(\.gz)?$", "", os.path.basename(path))


def nodes_of(scenario):
    return {node["id"]: node["name"] for node in scenario["cluster"]["nodes"]} | {
        scenario["vars"][f"n{i}"]: f"client-{i}" for i in range(1, 8) if f"n{i}" in scenario["vars"]}


def without_index(path):
    """A path without the index of a blocking query, so that the repetitions of a monitor are equal."""
    path = re.sub(r"([?&])(index|wait)=[^&]*&?", r"\1", path)
    return path.rstrip("?&")


def poll_key(call):
    return call["method"], TOKEN.sub("<id>", without_index(call["path"]))


def is_poll(call):
    return call["method"] == "GET"


def last_of_each(calls):
    """Positions of the calls that are compared: of repeated reads of a monitor, only the last one."""
    last = {}
    for position, call in enumerate(calls):
        if "status" in call:
            last[(call["method"], without_index(call["path"])) if is_poll(call) else position] = position
    return sorted(last.values())


def repeats(calls, position):
    """How often the read at this position was made."""
    call = calls[position]
    return sum(1 for other in calls if is_poll(call) and other["method"] == "GET" and
               without_index(other["path"]) == without_index(call["path"]))


START_UP = 0.3   # seconds that the command line takes before its first request
ONE_CALL = 0.02  # and for a request
POLLING = 1.0    # between two rounds of reads that do not block


def blocks(call):
    """True for a blocking read."""
    return re.search(r"[?&]index=[1-9]", call["path"]) is not None


# Keys with times in the past; others (RequireProgressBy, WaitUntil) lie ahead.
PAST_TIMES = {"ModifyTime", "CreateTime", "SubmitTime", "Timestamp", "Time", "StartedAt", "FinishedAt", "LastRestart"}


def seconds_of(value):
    """Unix seconds of a time as answers have it; None: it is none."""
    if isinstance(value, int) and not isinstance(value, bool) and value > 10**18:
        return value / 1e9
    found = re.match(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?Z$", value) if isinstance(value, str) else None
    if not found or value.startswith("0001"):
        return None
    return calendar.timegm(time.strptime(found.group(1), "%Y-%m-%dT%H:%M:%S")) + float(found.group(2) or 0)


def newest_time(value):
    """Unix seconds of the newest time in an answer; 0: it has none."""
    if isinstance(value, list):
        return max(map(newest_time, value), default=0.0)
    if not isinstance(value, dict):
        return 0.0
    return max((seconds_of(v) or 0.0 if k in PAST_TIMES else newest_time(v) for k, v in value.items()), default=0.0)


def beginning(scenario):
    """Unix seconds of the scenario's t = 0: the latest time that any answer mentions before it was sent. An answer
    within milliseconds of a write makes this exact to milliseconds."""
    latest = 0.0
    for step in scenario["steps"]:
        if step["kind"] in ("http", "cli"):
            newest = max((newest_time(call.get("body")) for call in step.get("calls", [step])), default=0.0)
            latest = max(latest, newest - step["t"] - step["took_s"])
    return latest


def moments(calls, begin, end, beginning):
    """When each call of a command was made: the first ones as soon as it ran, rounds of polling a second apart, and
    what is left passed in blocking reads. No call is earlier than the newest time in its answer."""
    seen, waits, leader = set(), [], None
    for call in calls:
        key = (call["method"], without_index(call["path"]))
        again = key in seen
        if again and not blocks(call):
            leader = leader or key
        waits.append("blocks" if again and blocks(call) else "polls" if again and key == leader else "")
        seen.add(key)
    spent = ONE_CALL * len(calls)
    start = begin + START_UP if any(waits) else end - spent
    start = max(begin, min(start, end - spent))
    left = max(0.0, end - start - spent)
    polls, blocked = waits.count("polls"), waits.count("blocks")
    poll = min(POLLING, left / polls) if polls else 0.0
    if polls and not blocked:
        poll = left / polls
    block = (left - poll * polls) / blocked if blocked else 0.0
    times, now, last = [], start, begin
    for call, wait in zip(calls, waits):
        now += ONE_CALL + {"polls": poll, "blocks": block, "": 0.0}[wait]
        last = max(min(now, end), last, min(end, newest_time(call.get("body")) - beginning))
        times.append(last)
    return times


def whole_text(text):
    """A request's text; very long ones were recorded by their beginning, whose last letter is repeated."""
    short = re.fullmatch(r"\((\d+) bytes: '(.*)' repeated\)", text, re.DOTALL)
    if not short:
        return text
    length, begin = int(short.group(1)), short.group(2)
    end = '"}}' if '"ID"' in begin else '"},"ID":"long"}}'
    return begin + begin[-1] * (length - len(begin) - len(end)) + end
