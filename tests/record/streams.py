"""Shared by the tests of this folder: a simulated agent whose event stream follows a script, and `berth serve`."""
import http.server
import json
import os
import re
import subprocess
import threading
import time
import urllib.parse
import urllib.request

EMPTY = {"/v1/nodes": [], "/v1/jobs": [], "/v1/allocations": [], "/v1/evaluations": [], "/v1/deployments": [],
         "/v1/namespaces": [{"Name": "default"}], "/v1/node/pools": [{"Name": "all"}, {"Name": "default"}],
         "/v1/operator/scheduler/configuration": {"SchedulerConfig": {"SchedulerAlgorithm": "binpack",
                                                                      "ModifyIndex": 5}}}


class StreamAgent:
    """Each request for the event stream takes the next list of `streams`; the last one is repeated. Its items: bytes
    are sent, a number is a status to answer with, "hold" leaves the connection open. `answers` is {path: answer}."""

    def __init__(self, answers, streams):
        self.answers, self.streams, self.requests, self.lock = answers, list(streams), [], threading.Lock()
        agent = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                try:
                    agent.answer(self)
                except (BrokenPipeError, ConnectionResetError):
                    pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.address = "http://127.0.0.1:%d" % self.server.server_address[1]
        # s until shutdown() returns
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def opened(self):
        """The `index` of each request for the stream."""
        return [urllib.parse.parse_qs(r.partition("?")[2]).get("index", [None])[0] for r in self.requests
                if r.startswith("/v1/event/stream")]

    def answer(self, request):
        path, _, _ = request.path.partition("?")
        with self.lock:
            self.requests.append(request.path)
            script = None
            if path == "/v1/event/stream":
                script = self.streams.pop(0) if len(self.streams) > 1 else self.streams[0]
        if script is not None:
            return self.stream(request, script)
        answer = self.answers.get(request.path, self.answers.get(path))
        if callable(answer):
            answer = answer()
        body = json.dumps(answer).encode() if answer is not None else b"not found"
        request.send_response(200 if answer is not None else 404)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    @staticmethod
    def stream(request, script):
        if isinstance(script[0], int):
            body = b"Permission denied" if script[0] == 403 else b"it broke"
            request.send_response(script[0])
            request.send_header("Content-Length", str(len(body)))
            request.end_headers()
            return request.wfile.write(body)
        request.send_response(200)
        request.send_header("Connection", "close")
        request.end_headers()
        request.close_connection = True
        for item in script:
            if item == "hold":
                time.sleep(60)
            elif isinstance(item, float):
                time.sleep(item)
            else:
                request.wfile.write(item)
                request.wfile.flush()


def frame(index, *events):
    return json.dumps({"Index": index, "Events": list(events)}).encode() + b"\n"


def event(topic, kind, index, key, payload, **more):
    return {"Topic": topic, "Type": kind, "Key": key, "Namespace": more.get("namespace", ""), "FilterKeys": None,
            "Index": index, "Payload": {topic: payload, **more.get("beside", {})}}


def pool(index, name="gpu"):
    return event("NodePool", "NodePoolUpserted", index, name,
                 {"Name": name, "Description": "at %d" % index, "CreateIndex": 100, "ModifyIndex": index})


def clean_environment(**more):
    return {**{k: v for k, v in os.environ.items() if not k.startswith("NOMAD_")}, **more}


def lines_of(path):
    with open(path) as file:
        return [json.loads(line) for line in file]


class Served:
    """A running `berth serve`."""

    def __init__(self, berth, *arguments):
        self.process = subprocess.Popen([berth, "serve", *arguments, "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.address = re.search(r"http://[0-9.:]+", self.process.stdout.readline()).group(0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def call(self, method, path, body=None):
        request = urllib.request.Request(self.address + path, method=method,
                                         data=None if body is None else json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=60) as answer:
            text = answer.read()
        return json.loads(text) if text else None
