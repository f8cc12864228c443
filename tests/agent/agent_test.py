"""Clusters from a running agent: `berth import http://...` against simulated agents that answer from a recorded export
(in pages, slowly, with errors, or while the cluster changes), and against `berth serve`.

    agent_test.py BERTH SOURCE_DIR
"""
import gzip
import http.server
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

berth, source = sys.argv[1], sys.argv[2]
recorded = source + "/tests/dryrun/recorded/"
scratch = tempfile.mkdtemp()
failures = []


def broken(text):
    failures.append(text)
    print("BROKEN:", text, flush=True)


class Agent:
    """Answers GETs from an export {path: answer}; `faults` says how it misbehaves."""

    def __init__(self, answers, faults=None, tls=None, pages=0):
        self.answers, self.faults, self.pages = answers, faults or {}, pages
        self.requests, self.tokens, self.unknown = [], set(), []
        agent = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # head and body are two writes; the second would wait for an acknowledgement

            def log_message(self, *_):
                pass

            def do_GET(self):
                try:
                    agent.answer(self)
                except (BrokenPipeError, ConnectionResetError):
                    pass

            def handle(self):
                try:
                    super().handle()
                except (ConnectionResetError, ssl.SSLError):
                    pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        scheme = "http"
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
            scheme = "https"
        self.address = "%s://127.0.0.1:%d" % (scheme, self.server.server_address[1])
        # s until shutdown() returns
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def find(self, path, query):
        """The recorded answer to a request, whatever its query apart from namespace and type."""
        name_space = query.get("namespace", ["default"])[0]
        kind = query.get("type", [""])[0]
        best = None
        for key, answer in self.answers.items():
            key_path, _, key_query = key.partition("?")
            if key_path != path:
                continue
            key_query = urllib.parse.parse_qs(key_query)
            if kind and key_query.get("type", [""])[0] != kind:
                continue
            if key_query.get("namespace", ["default"])[0] == name_space:
                return answer
            best = best if best is not None else answer
        return best

    def answer(self, request):
        path, _, query = request.path.partition("?")
        query = urllib.parse.parse_qs(query)
        self.requests.append(request.path)
        self.tokens.add(request.headers.get("X-Nomad-Token"))
        fault = self.faults.get(path)
        if callable(fault):
            fault = fault(len([r for r in self.requests if r.partition("?")[0] == path]))
        if fault == "slow":
            time.sleep(3)
        if isinstance(fault, int):
            return self.send(request, fault, b"Permission denied\nmore" if fault == 403 else b"it broke")
        if fault == "cut":
            return self.send(request, 200, b"[{", length=100)
        if isinstance(fault, bytes):
            return self.send(request, 200, fault)
        answer = self.find(path, query) if fault is None or fault == "slow" else fault
        if answer is None:
            self.unknown.append(request.path)
            return self.send(request, 404, b"not found")
        token = ""
        if isinstance(answer, list) and self.pages and path.count("/") == 2:
            at = int(query.get("next_token", ["0"])[0])
            token = str(at + self.pages) if at + self.pages < len(answer) else ""
            if self.faults.get("same page"):
                token = "0"
            answer = answer[at:at + self.pages]
            if self.faults.get("endless"):
                token, answer = str(at + 1), []
        self.send(request, 200, json.dumps(answer).encode(), token)

    def send(self, request, status, body, token="", length=None):
        request.send_response(status)
        request.send_header("Content-Length", str(length or len(body)))
        request.send_header("X-Nomad-Index", str(self.faults.get("index", 229)))
        if token:
            request.send_header("X-Nomad-NextToken", token)
        request.end_headers()
        request.wfile.write(body)
        if length:
            request.close_connection = True


def run(*arguments, environment=None):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("NOMAD_")}
    done = subprocess.run([berth, *arguments], capture_output=True, text=True, timeout=300,
                          env={**clean, **(environment or {})})
    return done.returncode, done.stdout, done.stderr


output = scratch + "/cluster.json"


def take(agent, *arguments, environment=None, before=()):
    """Imports from an agent: exit code, standard error, the cluster or None."""
    if os.path.exists(output):
        os.remove(output)
    code, _, errors = run(*before, "import", agent if isinstance(agent, str) else agent.address, "-o", output, "--rate",
                          "2000",
                          *arguments, environment=environment)
    return code, errors, json.load(open(output)) if os.path.exists(output) else None


def refused(name, agent, pattern, *arguments, environment=None, before=()):
    code, errors, cluster = take(agent, *arguments, environment=environment, before=before)
    lines = [line for line in errors.splitlines() if not line.startswith("warning: ")]
    if code != 2 or cluster is not None or len(lines) != 1 or not re.search(pattern, errors):
        broken("%s: exit %d, %s, %r does not match %r" %
               (name, code, "a file" if cluster else "no file", errors, pattern))


answers = json.load(gzip.open(recorded + "stage-02.json.gz"))
run("import", recorded + "stage-02.json.gz", "-o", scratch + "/file.json")
from_file = json.load(open(scratch + "/file.json"))
nodes = answers["/v1/nodes"]
one = "/v1/node/" + nodes[0]["ID"]


def same(name, cluster):
    if cluster is None:
        return broken(name + ": no cluster")
    for key in ("Nodes", "Allocs", "Jobs", "JobVersions", "Evals", "Deployments", "NodePools", "Namespaces",
                "SchedulerConfig", "HostVolumes", "HostVolumeClaims"):
        if key == "Allocs":  # a node's list has the ports as stored, the single answer has made some up
            for cluster_ in (cluster, from_file):
                for alloc in cluster_[key]:
                    alloc.pop("Job", None), alloc.pop("JobVersion", None)
        if cluster.get(key) != from_file.get(key):
            broken("%s: %s differ from those of the export" % (name, key))


# All of it, in one page and in many; the same as the export of all endpoints.
with Agent(answers) as agent:
    code, errors, cluster = take(agent, environment={"NOMAD_TOKEN": "the-token", "NOMAD_NAMESPACE": "other"})
    same("one page", cluster)
    if code != 0 or "read at index 229 with" not in errors:
        broken("one page: exit %d, %s" % (code, errors))
    if agent.tokens != {"the-token"} or "the-token" in errors:
        broken("the token is not sent, or printed: %s" % agent.tokens)
    if [path for path in agent.unknown if not path.startswith(("/v1/plugins", "/v1/job/"))]:
        broken("asked for what is not there: %s" % agent.unknown)
    # NOMAD_ADDR stands for a source that is not named.
    code, _, errors = run("import", "-o", output, environment={"NOMAD_ADDR": agent.address})
    if code != 0:
        broken("NOMAD_ADDR: " + errors)
    # Every command that takes a cluster takes an address, with the same plan.
    job = source + "/tests/dryrun/jobs/low.json"
    _, by_address, _ = run("plan", agent.address, job, "--no-diff", "--rate", "2000")
    _, by_file, _ = run("plan", recorded + "stage-02.json.gz", job, "--no-diff")
    _, by_snapshot, _ = run("plan", recorded + "stage-02.snap", job, "--no-diff")
    if not by_address or by_address != by_file or by_snapshot != by_file:
        broken("plans differ: %r, %r, %r" % (by_address, by_file, by_snapshot))
with Agent(answers, pages=7) as agent:
    code, errors, cluster = take(agent)
    same("pages", cluster)
    if not any("next_token=7" in path for path in agent.requests):
        broken("pages: no second page was asked for")

# Answers that fail, for the moment and for good.
with Agent(answers, {one: lambda n: 503 if n < 3 else None}) as agent:
    same("busy twice", take(agent)[2])
with Agent(answers, {one: 500}) as agent:
    refused("broken", agent, r"^http://127.0.0.1:\d+:%s: answers 500: it broke; " % one)
with Agent(answers, {"/v1/nodes": 403}) as agent:
    refused("denied", agent, r":/v1/nodes\?per_page=1000: answers 403: Permission denied; set NOMAD_TOKEN")
with Agent(answers, {one: b"<html>"}) as agent:
    refused("no JSON", agent, r"%s:1:1: not JSON" % one)
with Agent(answers, {one: b"[" * 100000}) as agent:
    refused("deep", agent, r"%s.*not JSON" % one)
with Agent(answers, {one: b""}) as agent:
    refused("empty", agent, r"%s:1:1: not JSON: the text is empty; check that this is an agent" % one)
with Agent(answers, {one: 429}) as agent:
    refused("too many", agent, r"%s: answers 429: it broke; --rate 10 sends fewer" % one)
with Agent(answers, {one: 307}) as agent:
    refused("redirect", agent, r"%s: answers 307: it broke; check that this is an agent of Nomad" % one)
with Agent(answers, {"/v1/nodes": b"[1,2]"}) as agent:
    refused("numbers", agent, r"/v1/nodes\?per_page=1000: lists nodes without an ID; check that this is an agent")
with Agent(answers, {"/v1/jobs": b'[{"ID":null,"ModifyIndex":5}]'}) as agent:
    refused("null", agent, r"lists jobs without an ID")
# A node that is listed but cannot be read: without it the cluster would look smaller.
with Agent(answers, {one: 404}) as agent:
    refused("vanished", agent, r"changed in each of 6 passes")
with Agent(answers, {one: lambda n: 404 if n < 3 else None}) as agent:
    same("vanished twice", take(agent)[2])
with Agent(answers, {"/v1/jobs": b'"text"'}) as agent:
    refused("a text", agent, "expected jobs, got a string")
with Agent(answers, {"/v1/namespaces": "cut"}) as agent:
    refused("cut", agent, "/v1/namespaces")
with Agent(answers, {"/v1/nodes": "slow"}) as agent:
    refused("slow", agent, r"/v1/nodes.*no answer within 0.2 s, 3 times", "--timeout", "0.2")
with Agent(answers, {"same page": True}, pages=3) as agent:
    refused("same page", agent, "names the same page twice")
with Agent(answers, {"endless": True}, pages=3) as agent:
    refused("endless", agent, "names a further page after an empty one")
with Agent(answers) as agent:
    refused("large", agent, "more than", before=("--max-input", "100K"))
refused("nothing there", "http://127.0.0.1:9", "127.0.0.1:9.*check the address")
refused("no address", "http://", "no address of an agent")

# A cluster that changes while it is read: what changed is read again, and one that never rests is refused.


def changes(until):
    """The list of nodes, whose first entry is newer each time it is asked for, `until` times."""
    def answer(n):
        entries = json.loads(json.dumps(nodes))
        entries[0]["ModifyIndex"] += min(n, until) - 1
        return entries
    return answer


with Agent(answers, {"/v1/nodes": changes(2)}) as agent:
    code, errors, cluster = take(agent)
    same("changed once", cluster)
    if len([path for path in agent.requests if path == one]) != 2 or "for what changed meanwhile" not in errors:
        broken("changed once: the node was not read again: " + errors)
with Agent(answers, {"/v1/nodes": changes(10**6)}) as agent:
    refused("never rests", agent, "changed in each of 6 passes, at index 229 to 229; take one moment instead")
    code, errors, cluster = take(agent, "--allow-partial")
    if code != 0 or cluster is None or "went on changing" not in errors:
        broken("never rests, allowed: exit %d, %s" % (code, errors))

# At most so many requests a second.
with Agent(json.load(gzip.open(recorded + "stage-01.json.gz"))) as agent:
    begin = time.monotonic()
    code, _, errors = run("import", agent.address, "-o", output, "--rate", "40")
    if code != 0 or time.monotonic() - begin < (len(agent.requests) - 1) / 40 * 0.95:
        broken("--rate: %d requests in %.2f s, exit %d, %s" %
               (len(agent.requests), time.monotonic() - begin, code, errors))

# TLS, by the variables of the nomad command.
if shutil.which("openssl"):
    key, certificate = scratch + "/key.pem", scratch + "/certificate.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate,
                    "-days",
                    "2", "-subj", "/CN=server.global.nomad", "-addext", "subjectAltName=DNS:server.global.nomad"],
                   check=True, capture_output=True)
    with Agent(answers, tls=(certificate, key)) as agent:
        refused("unknown certificate", agent, "NOMAD_CACERT")
        refused("another name", agent, "NOMAD_CACERT", environment={"NOMAD_CACERT": certificate})
        same("tls", take(agent,
                         environment={"NOMAD_CACERT": certificate, "NOMAD_TLS_SERVER_NAME": "server.global.nomad"})[2])
        same("unverified", take(agent, environment={"NOMAD_SKIP_VERIFY": "true"})[2])
        refused("no file", agent, "missing.pem: cannot be read", environment={"NOMAD_CACERT": scratch + "/missing.pem"})

# berth's own server is an agent, too.
server = subprocess.Popen([berth, "serve", recorded + "stage-02.snap", "--speed", "step", "--listen", "127.0.0.1:0"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
try:
    address = re.search(r"http://[0-9.:]+", server.stdout.readline()).group(0)
    code, errors, cluster = take(address)
    if code != 0 or not cluster or [len(cluster[k]) for k in ("Nodes", "Allocs", "Jobs")] != [8, 66, 19]:
        broken("berth serve: exit %d, %s" % (code, errors))
finally:
    server.terminate()
    server.wait()

shutil.rmtree(scratch)
sys.exit(1 if failures else 0)
