#!/usr/bin/env python3
"""bench/serve/as-nomad under the name `nomad`: the effect of an agent's configuration on berth serve, and what is
refused.

  as_nomad_test.py SOURCE_DIR BERTH
"""
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

SOURCE = BERTH = ""

AGENT_HCL = """
# An agent for tests.
name       = "machine-1"
datacenter = "lab"
data_dir   = "%(folder)s/data"
bind_addr  = "127.0.0.1"
log_level  = "DEBUG"
ports { /* all of them */
  http = %(port)d
  rpc  = 14647
}
server {
  enabled          = true
  bootstrap_expect = 1
  heartbeat_grace  = "3s"
}
client {
  enabled    = true
  node_class = "small"
  node_pool  = "tests"
  meta { "rack" = "r9", owner = "me" }
  host_volume "data" { path = "/srv" }
  options = { "driver.allowlist" = "mock_driver" }
}
plugin "raw_exec" {
  config { enabled = true }
}
"""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class AsNomadTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        os.symlink(os.path.join(SOURCE, "bench/serve/as-nomad"), os.path.join(self.folder, "nomad"))
        self.environment = dict(os.environ, BERTH=BERTH, PATH=f"{self.folder}:{os.environ['PATH']}")
        for name in ("BERTH_SERVE_OPTIONS", "BERTH_NOMAD_CLI"):
            self.environment.pop(name, None)
        self.port, self.token = free_port(), ""

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def start(self, *arguments, **more):
        process = subprocess.Popen(["nomad", "agent", *arguments], env=dict(self.environment, **more),
                                   stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait, 10)
        self.addCleanup(process.kill)
        for _ in range(200):
            try:
                self.get("/v1/status/leader")
                return process
            except (urllib.error.URLError, ConnectionError):
                if process.poll() is not None:
                    self.fail(f"ended with {process.returncode}: {process.stderr.read()}")
                time.sleep(0.05)
        self.fail("does not answer within 10 s")

    def get(self, path):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", headers={"X-Nomad-Token": self.token})
        with urllib.request.urlopen(request, timeout=5) as answer:
            return json.load(answer)

    def refusal(self, *arguments):
        done = subprocess.run(["nomad", *arguments], env=self.environment, capture_output=True, text=True, timeout=20,
                              check=False)
        self.assertEqual(done.returncode, 1, done)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        return done.stderr.rstrip("\n")

    def test_hcl(self):
        process = self.start("-config", self.write("agent.hcl", AGENT_HCL % {"folder": self.folder, "port": self.port}))
        config = self.get("/v1/agent/self")["config"]
        self.assertEqual((config["NodeName"], config["Datacenter"], config["Ports"]["HTTP"]),
                         ("machine-1", "lab", self.port))
        self.assertEqual(config["Server"]["HeartbeatGrace"], 3_000_000_000)
        self.assertFalse(config["ACL"]["Enabled"])
        (stub,) = self.get("/v1/nodes")
        node = self.get(f"/v1/node/{stub['ID']}")
        self.assertEqual((node["Name"], node["Datacenter"], node["NodeClass"], node["NodePool"], node["Status"]),
                         ("machine-1", "lab", "small", "tests", "ready"))
        self.assertEqual((node["Meta"]["rack"], node["Meta"]["owner"]), ("r9", "me"))
        self.assertIn("tests", [pool["Name"] for pool in self.get("/v1/node/pools")])
        self.assertTrue(os.path.isdir(os.path.join(self.folder, "data")))
        process.terminate()
        self.assertEqual(process.wait(10), 0)

    def test_json_options_win_and_folders_are_read(self):
        self.write("conf/a.json",
                   json.dumps({"server": [{"enabled": True}], "datacenter": "first", "acl": {"enabled": True}}))
        self.write("conf/b.hcl", f'datacenter = "second"\nports {{\n  http = {self.port}\n}}\n')
        self.write("conf/notes.txt", "this is no configuration")
        self.start(f"-config={self.folder}/conf", "-dc", "third", "-bind=127.0.0.1")
        with self.assertRaises(urllib.error.HTTPError) as refused:
            self.get("/v1/nodes")
        with refused.exception as answer:
            self.assertEqual((answer.code, answer.read()), (403, b"Permission denied"))
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/v1/acl/bootstrap", method="POST")
        with urllib.request.urlopen(request, timeout=5) as answer:
            secret = json.load(answer)["SecretID"]
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/v1/nodes", headers={"X-Nomad-Token": secret})
        with urllib.request.urlopen(request, timeout=5) as answer:
            self.assertEqual(json.load(answer), [])  # a server alone
        self.assertEqual(self.get("/v1/regions"), ["global"])

    def test_dev(self):
        self.start("-dev", "-node", "devel", BERTH_SERVE_OPTIONS=f"--listen 127.0.0.1:{self.port} --speed max")
        self.assertEqual([node["Name"] for node in self.get("/v1/nodes")], ["devel"])
        self.assertEqual(self.get("/v1/agent/self")["config"]["NodeName"], "devel")

    def test_dev_has_a_client_whatever_the_files_say(self):
        config = {"name": "devel", "log_level": "ERROR", "ports": {"http": self.port}, "client": {"enabled": False}}
        self.start("-config", self.write("a.json", json.dumps(config)), "-dev", BERTH_SERVE_OPTIONS="--log-level warn")
        (node,) = self.get("/v1/nodes")
        self.assertEqual((node["Name"], node["NodeClass"]), ("devel", ""))

    def test_options_of_the_environment_win(self):
        config = {"name": "devel", "datacenter": "lab", "acl": {"enabled": True}, "ports": {"http": 1},
                  "client": {"node_class": "small", "meta": {"rack": "r9"}}}
        options = f"--listen=127.0.0.1:{self.port} --node-class gpu --datacenter=far --node-meta owner=me --acl"
        self.start("-config", self.write("a.json", json.dumps(config)), "-dev", BERTH_SERVE_OPTIONS=options)
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/v1/acl/bootstrap", method="POST")
        with urllib.request.urlopen(request, timeout=5) as answer:
            self.token = json.load(answer)["SecretID"]
        (stub,) = self.get("/v1/nodes")
        node = self.get(f"/v1/node/{stub['ID']}")
        self.assertEqual((node["Name"], node["NodeClass"], node["Datacenter"]), ("devel", "gpu", "far"))
        self.assertEqual((node["Meta"]["rack"], node["Meta"]["owner"]), ("r9", "me"))

    def test_version(self):
        done = subprocess.run(["nomad", "version"], env=self.environment, capture_output=True, text=True, timeout=20,
                              check=True)
        self.assertRegex(done.stdout, r"^Nomad v\d+\.\d+\.\d+-dev\n")
        self.start("-dev", BERTH_SERVE_OPTIONS=f"--listen 127.0.0.1:{self.port}")
        version = self.get("/v1/agent/self")["config"]["Version"]
        self.assertTrue(done.stdout.startswith(f"Nomad v{version['Version']}-{version['VersionPrerelease']}\n"))

    def test_other_commands_go_to_the_command_line(self):
        self.assertEqual(self.refusal("job", "status"),
                         "as-nomad: job: is a command of nomad's command line; name that program in BERTH_NOMAD_CLI")
        self.environment["BERTH_NOMAD_CLI"] = shutil.which("echo")
        done = subprocess.run(["nomad", "job", "status"], env=self.environment, capture_output=True, text=True,
                              timeout=20, check=True)
        self.assertEqual(done.stdout, "job status\n")

    def test_refusals(self):
        for text, words in (
                ("server {", "agent.hcl:1: expected a name, found the end; correct the file"),
                ("server {\n enabled = maybe\n}", "agent.hcl:2: expected a value, found maybe; correct the file"),
                ("a = @", "agent.hcl:1: unexpected '@'; write HCL or JSON as for nomad agent"),
                ("x " + "{ x " * 100, "agent.hcl:1: expected no more than 32 blocks in each other, found"),
                ("{\"server\": }", "agent.hcl: is no JSON (Expecting value"),
                ("server {\n enabled = \"yes\"\n}",
                 "server.enabled: \"yes\" is of the wrong kind; write false for example"),
                ("client {\n enabled = true\n}", "agent: a client without a server is none;"),
                ("", "agent: must be server, client or dev;"),
                ("server {\n enabled = true\n}\nregion = \"mars\"", "region: 'mars' is not to be had;")):
            self.assertIn(words, self.refusal("agent", "-config", self.write("agent.hcl", text)))
        self.assertIn("/none.hcl: cannot be read", self.refusal("agent", "-config", "/none.hcl"))
        self.assertIn("unknown option -nonsense", self.refusal("agent", "-nonsense"))
        self.assertIn("-config needs a value", self.refusal("agent", "-config"))
        self.environment["BERTH"] = "/none/berth"
        self.assertIn("/none/berth: does not start", self.refusal("agent", "-dev"))


if __name__ == "__main__":
    SOURCE, BERTH = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main()
