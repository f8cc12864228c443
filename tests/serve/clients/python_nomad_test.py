"""`berth serve` with python-nomad (PyPI), as programs use it: once without access control, once with it.

  python_nomad_test.py BERTH        in an environment that has python-nomad; python_test.sh makes one
"""
import re
import subprocess
import sys
import time
import unittest
import uuid

import nomad
from nomad.api import exceptions

BERTH = ""
JOB = """
job "%s" {
  group "app" {
    count = %d
    update { min_healthy_time = "1s" }
    task "main" {
      driver = "mock_driver"
      config {
        run_for       = "24h"
        stdout_string = "hello"
      }
      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
"""


class ClientTest:
    """What holds with and without access control."""
    options = ()

    @classmethod
    def setUpClass(cls):
        cls.server = subprocess.Popen(
            [BERTH, "serve", "--nodes", "3", "--self-node", "here", "--speed", "20", "--listen", "127.0.0.1:0",
             *cls.options],
            stdout=subprocess.PIPE, text=True)
        cls.url = next(found.group(0) for found in (re.search(r"http://[\d.]+:\d+", line) for line in cls.server.stdout)
                       if found)
        cls.nomad = nomad.Nomad(address=cls.url, timeout=20)
        cls.token = None

    @classmethod
    def tearDownClass(cls):
        cls.server.terminate()
        code = cls.server.wait(10)
        cls.server.stdout.close()
        if code:
            raise AssertionError(f"berth serve ended with {code}")

    def eventually(self, what, holds):
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            if holds():
                return
            time.sleep(0.05)
        self.fail(f"{what}: not within 10 s")

    def run_job(self, name, count=2):
        job = self.nomad.jobs.parse(JOB % (name, count), canonicalize=True)
        answer = self.nomad.job.register_job(name, {"Job": job})
        self.assertTrue(answer["EvalID"])
        self.eventually(f"deployment of {name}",
                        lambda: (self.nomad.job.get_deployment(name) or {}).get("Status") == "successful")
        return job

    def running(self, name):
        return [a for a in self.nomad.job.get_allocations(name) if a["ClientStatus"] == "running"
                and a["DesiredStatus"] == "run"]

    def test_jobs(self):
        job = self.nomad.jobs.parse(JOB % ("web", 2), canonicalize=True)
        self.assertEqual(self.nomad.validate.validate_job({"Job": job}).status_code, 200)
        plan = self.nomad.job.plan_job("web", {"Job": job}, diff=True)
        self.assertEqual(plan["Annotations"]["DesiredTGUpdates"]["app"]["Place"], 2)
        self.run_job("web")
        self.assertEqual(len(self.running("web")), 2)
        self.assertIn("web", self.nomad.jobs)
        self.assertEqual(self.nomad.job["web"]["Status"], "running")
        self.assertEqual(self.nomad.job.get_summary("web")["Summary"]["app"]["Running"], 2)
        self.assertEqual([j["ID"] for j in self.nomad.jobs.get_jobs(prefix="we")], ["web"])
        job["Meta"] = {"release": "2"}
        self.nomad.job.register_job("web", {"Job": job})
        versions = self.nomad.job.get_versions("web")["Versions"]
        self.assertEqual([v["Version"] for v in versions], [1, 0])
        self.nomad.job.stable_job("web", 0, True)
        self.nomad.job.revert_job("web", 0)
        self.assertEqual(len(self.nomad.job.get_versions("web")["Versions"]), 3)
        self.nomad.job.evaluate_job("web")
        self.assertGreaterEqual(len(self.nomad.job.get_evaluations("web")), 3)
        with self.assertRaises(exceptions.URLNotFoundNomadException):
            self.nomad.job.get_job("nothing")
        with self.assertRaises(exceptions.BadRequestNomadException):
            self.nomad.job.register_job("web", {"Job": {"ID": 5}})
        self.nomad.job.deregister_job("web", purge=True)
        with self.assertRaises(exceptions.URLNotFoundNomadException):
            self.nomad.job.get_job("web")

    def test_dispatch_and_periodic(self):
        parent = self.nomad.jobs.parse(
            'job "each" {\n type = "batch"\n parameterized { meta_required = ["who"] }\n group "g" {\n'
                                       ' task "t" { driver = "mock_driver" }\n }\n}')
        self.nomad.job.register_job("each", {"Job": parent})
        child = self.nomad.job.dispatch_job("each", meta={"who": "me"})
        self.assertTrue(child["DispatchedJobID"].startswith("each/dispatch-"))
        nightly = self.nomad.jobs.parse(
            'job "nightly" {\n type = "batch"\n periodic { crons = ["0 3 * * *"] }\n group "g" {\n'
                                        ' task "t" { driver = "mock_driver" }\n }\n}')
        self.nomad.job.register_job("nightly", {"Job": nightly})
        self.assertTrue(self.nomad.job.periodic_job("nightly")["EvalID"])

    def test_deployments(self):
        job = self.run_job("rolled")
        job["TaskGroups"][0]["Update"]["Canary"] = 1
        job["TaskGroups"][0]["Tasks"][0]["Env"] = {"RELEASE": "2"}
        self.nomad.job.register_job("rolled", {"Job": job})
        self.eventually("healthy canary", lambda: (
            self.nomad.job.get_deployment("rolled")["TaskGroups"]["app"]["HealthyAllocs"] == 1 and
            self.nomad.job.get_deployment("rolled")["JobVersion"] == 1))
        deployment = self.nomad.job.get_deployment("rolled")["ID"]
        self.assertEqual(len(self.nomad.deployment.get_deployment_allocations(deployment)), 1)
        self.nomad.deployment.pause_deployment(deployment, True)
        self.nomad.deployment.pause_deployment(deployment, False)
        self.nomad.deployment.promote_deployment_all(deployment)
        self.eventually("roll-out", lambda: self.nomad.deployment[deployment]["Status"] == "successful")
        self.assertIn(deployment, self.nomad.deployments)
        with self.assertRaises(exceptions.BaseNomadException):
            self.nomad.deployment.fail_deployment(deployment)

    def test_allocations(self):
        self.run_job("tasks")
        alloc = self.running("tasks")[0]["ID"]
        self.assertEqual(self.nomad.allocation[alloc]["JobID"], "tasks")
        self.assertIn(alloc, [a["ID"] for a in self.nomad.allocations.get_allocations(prefix=alloc[:8])])
        evaluation = self.nomad.allocation[alloc]["EvalID"]
        self.assertEqual(self.nomad.evaluation[evaluation]["Status"], "complete")
        self.assertTrue(self.nomad.evaluation.get_allocations(evaluation))
        self.assertTrue(self.nomad.evaluations.get_evaluations(prefix=evaluation[:8]))
        self.assertIn("ResourceUsage", self.nomad.client.allocation.read_allocation_stats(alloc))
        self.nomad.client.allocation.restart_allocation(alloc)
        self.eventually("restart", lambda: self.nomad.allocation[alloc]["TaskStates"]["main"]["Restarts"] == 1)
        self.nomad.client.allocation.signal_allocation(alloc, "SIGUSR1")
        self.assertTrue(any(file["Name"] == "main" for file in self.nomad.client.ls.list_files(alloc)))
        self.assertIn("hello", self.nomad.client.stream_logs.stream(alloc, "main", "stdout", plain=True))
        self.assertTrue(self.nomad.allocation.stop_allocation(alloc)["EvalID"])
        self.eventually("replacement", lambda: len(self.running("tasks")) == 2)

    def test_nodes(self):
        node = next(n["ID"] for n in self.nomad.nodes if n["Name"] == "here")
        self.assertEqual(self.nomad.node[node]["Status"], "ready")
        self.assertEqual(len(self.nomad.nodes.get_nodes(resources=True)), 3)
        self.assertIn("Memory", self.nomad.client.stats.read_stats(node))
        self.nomad.node.eligible_node(node, ineligible=True)
        self.assertEqual(self.nomad.node[node]["SchedulingEligibility"], "ineligible")
        self.nomad.node.eligible_node(node, eligible=True)
        self.nomad.node.drain_node_with_spec(node, {"Deadline": 60_000_000_000}, mark_eligible=True)
        self.eventually("drain", lambda: self.nomad.node[node]["DrainStrategy"] is None)
        self.nomad.node.drain_node_with_spec(node, None, mark_eligible=True)
        self.assertEqual(self.nomad.node[node]["SchedulingEligibility"], "eligible")
        self.nomad.node.evaluate_node(node)
        self.nomad.node.get_allocations(node)
        with self.assertRaises(exceptions.URLNotFoundNomadException):
            self.nomad.node.get_node(str(uuid.uuid4()))

    def test_variables(self):
        made = self.nomad.variable.create_variable("app/db", {"Items": {"user": "me"}})
        self.assertEqual(self.nomad.variable["app/db"]["Items"], {"user": "me"})
        self.assertIn("app/db", self.nomad.variables)
        self.assertEqual(len(self.nomad.variables.get_variables("app/")), 1)
        with self.assertRaises(exceptions.VariableConflict):
            self.nomad.variable.create_variable("app/db", {"Items": {"user": "other"}}, cas=0)
        self.nomad.variable.create_variable("app/db", {"Items": {"user": "you"}}, cas=made["ModifyIndex"])
        self.nomad.variable.delete_variable("app/db")
        with self.assertRaises(exceptions.URLNotFoundNomadException):
            self.nomad.variable.get_variable("app/db")

    def test_namespaces(self):
        self.nomad.namespace.create_namespace({"Name": "team", "Description": "of a team"})
        self.assertEqual(self.nomad.namespace.get_namespace("team")["Description"], "of a team")
        self.nomad.namespace.update_namespace("team", {"Name": "team", "Description": "of another"})
        self.assertIn("team", self.nomad.namespaces)
        in_team = nomad.Nomad(address=self.url, namespace="team", token=self.token, timeout=20)
        in_team.job.register_job("app", {"Job": dict(self.nomad.jobs.parse(JOB % ("app", 1)), Namespace="team")})
        self.assertEqual([j["ID"] for j in in_team.jobs.get_jobs()], ["app"])
        in_team.job.deregister_job("app", purge=True)
        self.eventually("namespace deleted", lambda: self.deleted("team"))

    def deleted(self, name):
        try:
            self.nomad.namespace.delete_namespace(name)
        except exceptions.BaseNomadException:
            return False
        return True

    def test_cluster(self):
        self.assertRegex(self.nomad.status.leader.get_leader(), r"^[\d.]+:\d+$")
        self.assertEqual(len(self.nomad.status.peers.get_peers()), 1)
        self.assertEqual(self.nomad.regions.get_regions(), ["global"])
        self.assertIn("config", self.nomad.agent.get_agent())
        self.assertEqual(self.nomad.agent.get_members()["Members"][0]["Status"], "alive")
        self.nomad.agent.get_servers()
        self.assertEqual(len(self.nomad.operator.get_configuration()["Servers"]), 1)
        self.assertIn("Gauges", self.nomad.metrics.get_metrics())
        self.nomad.system.initiate_garbage_collection()
        self.nomad.system.reconcile_summaries()
        self.run_job("found", 1)
        self.assertEqual(self.nomad.search.search("fou", "jobs")["Matches"]["jobs"], ["found"])
        self.assertEqual(self.nomad.search.fuzzy_search("oun", "jobs")["Matches"]["jobs"][0]["ID"], "found")
        self.assertEqual(self.nomad.scaling.get_scaling_policies(), [])

    def test_events(self):
        stream, stop, events = self.nomad.event.stream.get_stream(topic="Job:streamed", timeout=10)
        stream.start()
        self.run_job("streamed", 1)
        frame = events.get(timeout=10)
        while not frame.get("Events"):
            frame = events.get(timeout=10)
        self.assertEqual(frame["Events"][0]["Key"], "streamed")
        stop.set()  # the library stops at the next line
        self.nomad.job.deregister_job("streamed")
        stream.join(10)


class OpenTest(ClientTest, unittest.TestCase):
    def test_access_is_off(self):
        with self.assertRaises(exceptions.BadRequestNomadException):
            self.nomad.acl.get_tokens()


class AccessTest(ClientTest, unittest.TestCase):
    options = ("--acl",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.token = cls.nomad.acl.generate_bootstrap()["SecretID"]
        cls.nomad = nomad.Nomad(address=cls.url, token=cls.token, timeout=20)

    def test_access(self):
        with self.assertRaises(exceptions.BaseNomadException):
            self.nomad.acl.generate_bootstrap()
        rules = 'namespace "default" { policy = "read" }'
        self.nomad.acl.create_policy("readers", {"Name": "readers", "Rules": rules})
        self.assertEqual(self.nomad.acl.get_policy("readers")["Rules"], rules)
        self.assertEqual([p["Name"] for p in self.nomad.acl.get_policies()], ["readers"])
        token = self.nomad.acl.create_token({"Name": "reader", "Type": "client", "Policies": ["readers"]})
        reader = nomad.Nomad(address=self.url, token=token["SecretID"], timeout=20)
        reader.jobs.get_jobs()
        self.assertEqual(reader.acl.get_self_token()["AccessorID"], token["AccessorID"])
        for refused in (lambda: reader.job.register_job("x", {"Job": self.nomad.jobs.parse(JOB % ("x", 1))}),
                        reader.nodes.get_nodes, reader.acl.get_tokens,
                        nomad.Nomad(address=self.url, token=str(uuid.uuid4()), timeout=20).jobs.get_jobs,
                        nomad.Nomad(address=self.url, timeout=20).jobs.get_jobs):
            with self.assertRaises(exceptions.URLNotAuthorizedNomadException):
                refused()
        self.nomad.acl.update_token(token["AccessorID"], {"AccessorID": token["AccessorID"], "Name": "renamed",
                                                          "Type": "client", "Policies": ["readers"]})
        self.assertEqual(self.nomad.acl.get_token(token["AccessorID"])["Name"], "renamed")
        self.assertEqual(len(self.nomad.acl.get_tokens()), 2)
        self.nomad.acl.delete_token(token["AccessorID"])
        self.nomad.acl.delete_policy("readers")
        with self.assertRaises(exceptions.URLNotFoundNomadException):
            self.nomad.acl.get_policy("readers")


if __name__ == "__main__":
    BERTH = sys.argv.pop(1)
    unittest.main(verbosity=1)
