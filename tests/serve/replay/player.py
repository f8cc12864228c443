"""Plays a recorded scenario against a running `berth serve --speed step`.

Time is the recording's: before a step the virtual clock advances to the recorded start of the step. Repeated requests
of a monitor are repeated until the answer is the last recorded one, for a bounded time; every other request is made
once. A step that waits advances time until its condition holds.
"""
import json
import re
import shutil
import subprocess
import tempfile
import os
from urllib.parse import unquote

import recording
from client import Client, Stream
from compare import Matching, compare, masked_text, TOKEN
from events import compare_frames

STEP = 0.1            # seconds of virtual time between two polls
MONITOR_LIMIT = 5.0   # how much longer than recorded a monitor may take
WARM_UP = 30.0        # until every client has called once: only then a dead one is noticed soon
WAIT_LIMIT = 25.0     # and a wait
SETTLE_LIMIT = 1.0    # and one until nothing changes: where something always does, the time counts


MOVING = re.compile(r"(Status|State|Healthy|Unhealthy|Placed\w*|\w+Allocs|Running|Starting|Queued|Complete|Failed|Lost|"
                    r"Drain|DrainStrategy|StatusDescription|ClientDescription|NextAllocation|DeploymentID)$")


def may_pass(difference):
    """True if the difference may disappear with time."""
    if difference.what in ("missing", "extra"):
        return difference.where.endswith("[]") or difference.where == "DeploymentID"
    return difference.what == "status" or bool(MOVING.search(difference.where))


class Answer:
    """One answer that counts."""

    def __init__(self, scenario, step, endpoint, path, differences):
        self.scenario, self.step, self.endpoint, self.path = scenario, step, endpoint, path
        self.differences = differences


class Player:
    def __init__(self, url, scenario, command=None, client=None):
        self.url, self.scenario, self.name = url, scenario, scenario["name"]
        self.client = client or Client(url)
        self.matching = Matching(recording.nodes_of(scenario))
        self.here = {}     # variables of this run
        self.answers = []
        self.now = 0.0     # virtual seconds since the scenario began
        self.beginning = recording.beginning(scenario)
        self.drift = 0.0   # by how much the replay is late
        self.streams = {}
        self.command = command or shutil.which("nomad")
        self.folder = None

    def play(self):
        self.advance(WARM_UP)
        self.now = 0.0
        for step in self.scenario["steps"]:
            self.one_step(step)
        for stream in self.streams.values():
            stream.close()
        self.client.close()
        return self.answers

    def one_step(self, step):
        # `t` is when a request or command began, and when a wait ended.
        begin = end = step["t"]
        if step["kind"] in ("cli", "http"):
            end = begin + step["took_s"]
        getattr(self, "do_" + step["kind"])(step, begin, end)

    # --- time ---
    def advance(self, seconds):
        if seconds <= 0:
            return
        answer = self.client.request("POST", "/v1/berth/advance", {"Seconds": round(seconds, 6)})
        if answer["status"] != 200:
            raise RuntimeError(f"POST /v1/berth/advance: {answer['status']} {answer.get('body_text', '')[:200]}")
        self.now += seconds

    def advance_to(self, recorded):
        """Advances the virtual time to that of the recording, unless the replay is late already."""
        self.advance(recorded + self.drift - self.now)

    def note(self, step, method, path, differences):
        self.answers.append(Answer(self.name, step["n"], recording.endpoint(method, path), path, differences))

    # --- steps ---
    def do_http(self, step, begin, end):
        self.advance_to(begin)
        path = self.fill(step.get("path_t", step["path"]))
        if "path_t" not in step:
            path = self.matching.translate(path)
        body = self.request_of(step)
        text = recording.whole_text(step["request_text"]) if "request_text" in step else None
        here = self.client.request(step["method"], self.with_token(path), body, text)
        self.note(step, step["method"], step["path"], compare(self.matching, step["path"], step, here))
        self.advance_to(end)

    def request_of(self, step):
        """A body with the identifiers of this run."""
        recorded, template = step.get("request", step.get("request_body")), step.get("request_t")
        if isinstance(template, str):
            try:
                return json.loads(self.fill(template))
            except ValueError:
                return recorded
        if template is not None:
            return self.fill_json(template)
        return None if recorded is None else self.matching.translate_json(recorded)

    def fill(self, text):
        def one(match):
            name, length = match.group(1), match.group(2)
            value = str(self.here.get(name, self.scenario["vars"].get(name, "")))
            value = self.matching.node_here(value) if re.fullmatch(r"n\d", name) else value
            return value[:int(length)] if length else value
        return re.sub(r"\$\{(\w+)(?::(\d+))?\}", one, text)

    def fill_json(self, value):
        if isinstance(value, dict):
            return {k: self.fill_json(v) for k, v in value.items()}
        if isinstance(value, list):
            return [self.fill_json(v) for v in value]
        if isinstance(value, str):
            filled = self.fill(value)
            if re.fullmatch(r"\$\{\w+\}", value) and re.fullmatch(r"\d+", filled):
                return int(filled)
            return filled
        return value

    def with_token(self, path):
        """Page tokens name objects of this run."""
        def one(match):
            import urllib.parse
            token = urllib.parse.unquote(match.group(2))
            return match.group(1) + urllib.parse.quote(self.matching.tokens.get(token, token), safe=".-:")
        return re.sub(r"([?&]next_token=)([^&]*)", one, path)

    def do_cli(self, step, begin, end):
        if step.get("interrupted"):
            return self.monitor_that_was_interrupted(step, begin, end)
        calls = step["calls"]
        counts = recording.last_of_each(calls)
        moments = recording.moments(calls, begin, end, self.beginning)
        for position, call in enumerate(calls):
            self.advance_to(moments[position])
            if position not in counts:
                continue
            repeated = recording.repeats(calls, position) > 1 or recording.blocks(call)
            self.note(step, call["method"], call["path"], self.one_call(call, repeated, end))
        self.drift = max(self.drift, self.now - end)
        self.advance_to(end)
        if self.command:
            self.run_command(step)

    def monitor_that_was_interrupted(self, step, begin, end):
        """A command that was interrupted while it polled. Repeats its writes only: its polls may come at any time."""
        for position, call in enumerate(step["calls"]):
            if call["method"] != "GET" and "status" in call:
                self.advance_to(begin)
                self.note(step, call["method"], call["path"], self.one_call(call, False, end))
        self.advance_to(end)

    def send(self, call):
        path = self.with_token(self.matching.translate(recording.without_index(call["path"])))
        body = self.request_of(call)
        return self.client.request(call["method"], path, body)

    def one_call(self, call, repeated, end):
        limit = max(self.now, end + self.drift) + MONITOR_LIMIT
        while True:
            here = self.send(call)
            before = self.matching.state()
            differences = compare(self.matching, call["path"], call, here)
            waits = repeated and self.now < limit and any(may_pass(difference) for difference in differences)
            if not waits:
                return differences
            self.matching.restore(before)
            self.advance(STEP)

    def run_command(self, step):
        """Repeats reads with the real command line, if it is installed."""
        argv = [self.fill(word) for word in step.get("argv_t", step["argv"])]
        if any(call["method"] != "GET" for call in step["calls"]) or step.get("stdin") is not None:
            return  # it would write a second time
        if self.folder is None:
            self.folder = tempfile.TemporaryDirectory()
            for name, job in self.scenario.get("jobs", {}).items():
                with open(os.path.join(self.folder.name, name), "w", encoding="utf-8") as file:
                    file.write(job["hcl"])
        environment = {"NOMAD_ADDR": self.url, "HOME": self.folder.name, "NOMAD_CLI_NO_COLOR": "1", "TZ": "UTC",
                       "PATH": os.environ["PATH"]}
        done = subprocess.run([self.command] + argv[1:], cwd=self.folder.name, env=environment, capture_output=True,
                              text=True, timeout=120, stdin=subprocess.DEVNULL, check=False)
        differences = compare(self.matching, "", {"status": step["exit"], "body_text": words_of(step["stdout"])},
                              {"status": done.returncode, "body_text": words_of(done.stdout)})
        self.answers.append(Answer(self.name, step["n"], "nomad " + " ".join(step["argv"][1:3]), "", differences))

    def do_bind(self, step, begin, end):
        select = step["select"]
        value = self.header_value(step, select) if "header" in select else self.selected(select)
        self.here[step["var"]] = step["value"] if value is None else value
        if value is not None:
            self.matching.bind(step["value"], value)

    def header_value(self, step, select):
        """An index of an earlier answer: the newest one of this run."""
        answer = self.client.request("GET", "/v1/jobs")
        return answer["headers"].get(select["header"])

    def selected(self, select):
        answer = self.client.request("GET", self.fill(select["path"]))
        rows = answer.get("body")
        rows = rows if isinstance(rows, list) else [rows] if isinstance(rows, dict) else []
        where = {k: self.fill(v) if isinstance(v, str) else v for k, v in (select.get("where") or {}).items()}
        if "Name" in where:
            where["Name"] = self.matching.name_here(where["Name"])
        rows = [row for row in rows if all(dig(row, k) == v for k, v in where.items())]
        for key in reversed(select.get("order_by") or []):
            rows.sort(key=lambda row: (dig(row, key) is not None, dig(row, key)))
        try:
            return dig(rows[select.get("pick", 0)], select["field"])
        except IndexError:
            return None

    def do_wait(self, step, begin, end):
        if step["what"] == "time passes" or not step["satisfied"]:
            return self.advance_to(end)
        waited, quiet = 0.0, None
        limit = step["waited_s"] + (SETTLE_LIMIT if step["what"] == "settled" else WAIT_LIMIT)
        while waited < limit:
            if step["what"] == "settled":
                # Recorded waits poll: advance at least to the time at which the recording continued.
                quiet = self.quiet_since(quiet)
                if min(self.now - quiet[1] - step["args"]["quiet_s"], self.now - (end + self.drift - STEP)) > -1e-6:
                    break
            elif self.holds(step["what"], step["args"]):
                break
            self.advance(STEP)
            waited += STEP
        if step["what"] == "node has these field values":
            # when a node is missed is drawn: what follows is as long after that as recorded
            self.drift = self.now - end
        else:
            self.drift = max(min(self.drift, 0.0), self.now - end)
            if step["what"] != "settled":
                self.advance_to(end)

    LISTS = ("allocations", "evaluations", "deployments", "nodes", "jobs")

    def quiet_since(self, state):
        """(indexes, since when nothing has changed), given the same of the look before."""
        indexes, busy = [], False
        for name in self.LISTS:
            answer = self.client.request("GET", f"/v1/{name}" + ("?namespace=*" if name != "nodes" else ""))
            indexes.append(answer["headers"].get("X-Nomad-Index"))
            for row in answer.get("body") or []:
                if name == "evaluations" and row["Status"] == "pending":
                    busy |= row.get("WaitUntil") in (None, "", "0001-01-01T00:00:00Z")
                if name == "allocations" and row["ClientStatus"] == "pending":
                    busy |= row["DesiredStatus"] == "run"
        return state if state and state[0] == indexes and not busy else (indexes, self.now)

    def holds(self, what, args):
        if what.startswith("allocations of the job"):
            job = self.matching.translate(unquote(args["job"]))  # recorded as in a path
            rows = self.rows(f"/v1/job/{quoted(job)}/allocations?namespace={args['namespace']}")
            found = [row for row in rows if row["ClientStatus"] == args["status"] and
                     args["version"] in (None, row["JobVersion"]) and args["desired"] in (None, row["DesiredStatus"])]
            return len(found) >= args["count"] if args["at_least"] else len(found) == args["count"]
        if what == "job has this Status":
            rows = self.rows(f"/v1/job/{quoted(self.matching.translate(args['job']))}?namespace={args['namespace']}")
            return bool(rows) and rows[0].get("Status") == args["status"]
        if what == "node has these field values":
            ids = {name: node for node, name in self.matching.nodes.items()}
            rows = self.rows(f"/v1/node/{self.matching.node_here(ids[args['node']])}")
            return bool(rows) and all(rows[0].get(k) == v for k, v in args.items() if k != "node")
        if what == "latest deployment of the job is not running":
            latest = self.latest_deployment(args.get("job"))
            return latest is None or latest["Status"] != "running"
        latest = self.latest_deployment(args["job"])
        if latest is None or args.get("version") not in (None, latest["JobVersion"]):
            return False
        if what.startswith("latest deployment of the job has this status"):
            return latest["Status"] == args["status"]
        if what.startswith("latest deployment of the job: TaskGroups"):
            return latest["TaskGroups"].get(args["group"], {}).get(args["field"]) == args["n"]
        raise RuntimeError(f"{self.name}: no way to wait for {what!r}")

    def rows(self, path):
        body = self.client.request("GET", path).get("body")
        return body if isinstance(body, list) else [] if body is None else [body]

    def latest_deployment(self, job):
        rows = self.rows(f"/v1/job/{quoted(job)}/deployments") if job else self.rows("/v1/deployments")
        return max(rows, key=lambda row: row["CreateIndex"], default=None)

    def do_cluster(self, step, begin, end):
        self.advance_to(end)
        ids = {name: node for node, name in self.matching.nodes.items()}
        node = self.matching.node_here(ids[step["node"]])
        if step["action"].startswith("SIGKILL"):
            fault = {"Kind": "kill", "NodeID": node}
        elif self.client.request("GET", f"/v1/node/{node}")["status"] == 200:
            fault = {"Kind": "start", "NodeID": node}
        else:
            fault = {"Kind": "join", "Node": self.joining(node)}
        answer = self.client.request("POST", "/v1/berth/fault", fault)
        if answer["status"] != 200:
            raise RuntimeError(f"POST /v1/berth/fault {fault['Kind']}: {answer['status']} "
                               f"{answer.get('body_text', '')[:200]}")

    def joining(self, node):
        with open(os.path.join(os.path.dirname(__file__), "joining.json"), encoding="utf-8") as file:
            return json.load(file)[node]

    # --- event streams ---
    def do_event_stream(self, step, begin, end):
        self.advance_to(end)
        stream = Stream(self.url, self.fill(step["path"]))
        stream.opened.wait(5)
        self.streams[step["n"]] = stream
        if step["status"] != 200:
            here = {"status": stream.status, "headers": stream.headers, "body_text": stream.text or ""}
            self.note(step, "GET", step["path"], compare(self.matching, step["path"], step, here))

    def do_join(self, step, begin, end):
        self.advance_to(end)
        recorded = next(s for s in self.scenario["steps"] if s["n"] == step["of"])
        stream = self.streams.pop(step["of"], None)
        if stream is None:
            return
        stream.join(0.3)
        stream.close()
        for kind, differences in compare_frames(self.matching, recorded, stream):
            self.answers.append(Answer(self.name, recorded["n"], f"event stream: {kind}", recorded["path"],
                                       differences))


def dig(row, path):
    for part in path.split("."):
        row = row.get(part) if isinstance(row, dict) else None
    return row


def quoted(job):
    import urllib.parse
    return urllib.parse.quote(job, safe="")


def words_of(text):
    """What a command prints, its lines sorted and its columns one space apart: their width depends on identifiers."""
    return "\n".join(sorted(re.sub(r"[ \t]+", " ", masked_text(re.sub(r"\b[0-9a-f]{8}\b", "<id>", TOKEN.sub(
        "<id>", line)))).strip() for line in text.splitlines()))
