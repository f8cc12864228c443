"""A client for the player that uses python-nomad (PyPI) for the requests that it has a method for.

The method may send another request than the recorded one; the answer is compared in any case.
"""
import urllib.parse

import nomad
import requests

import client


class NomadClient(client.Client):
    def __init__(self, url, timeout=60):
        super().__init__(url, timeout)
        self.last = None
        session = requests.Session()
        session.hooks["response"].append(self.seen)
        self.nomad = nomad.Nomad(host=self.host, port=self.port, timeout=timeout, session=session)
        self.asked = 0  # requests that went through python-nomad

    def seen(self, response, *_, **__):
        result = {"status": response.status_code, "headers": client.named(response.headers.items())}
        try:
            result["body"] = response.json()
        except ValueError:
            result["body_text"] = response.text
        self.last = result

    def request(self, method, path, body=None, text=None):
        call = None if text is not None else self.method_for(method, path, body)
        if call is None:
            return super().request(method, path, body, text)
        self.last = None
        try:
            call()
        except nomad.api.exceptions.BaseNomadException:
            pass  # the answer was seen
        if self.last is None:
            return {"status": 0, "headers": {}, "body_text": "python-nomad sent nothing"}
        self.asked += 1
        return self.last

    def method_for(self, method, path, body):
        head, _, query = path.partition("?")
        parts = [urllib.parse.unquote(part) for part in head.split("/")[2:]]
        given = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        api = self.nomad
        if method == "GET":
            return self.read_for(api, parts, given)
        if given or "" in parts:
            return None
        body = body or {}
        if parts == ["jobs"] and set(body) == {"Job"}:
            return lambda: api.jobs.register_job(body)
        if parts == ["validate", "job"]:
            return lambda: api.validate.validate_job(body)
        if len(parts) == 3 and parts[0] == "job" and parts[2] == "evaluate" and not body:
            return lambda: api.job.evaluate_job(parts[1])
        if method == "DELETE" and len(parts) == 2 and parts[0] == "job":
            return lambda: api.job.deregister_job(parts[1])
        if method == "DELETE" and len(parts) == 2 and parts[0] == "namespace":
            return lambda: api.namespace.delete_namespace(parts[1])
        if len(parts) == 3 and parts[0] == "allocation" and parts[2] == "stop":
            return lambda: api.allocation.stop_allocation(parts[1])
        if len(parts) == 3 and parts[:2] == ["deployment", "fail"]:
            return lambda: api.deployment.fail_deployment(parts[2])
        if parts == ["search"] and set(body) == {"Prefix", "Context"} and body["Context"]:
            return lambda: api.search.search(body["Prefix"], body["Context"])
        if parts == ["system", "gc"]:
            return api.system.initiate_garbage_collection
        return None

    def read_for(self, api, parts, given):
        lists = {"jobs": (api.jobs.get_jobs, {"prefix", "namespace"}),
                 "nodes": (api.nodes.get_nodes, {"prefix"}),
                 "allocations": (api.allocations.get_allocations, {"prefix", "namespace"}),
                 "deployments": (api.deployments.get_deployments, {"prefix", "namespace"}),
                 "evaluations": (api.evaluations.get_evaluations, {"prefix"}),
                 "namespaces": (api.namespaces.get_namespaces, {"prefix"})}
        if len(parts) == 1 and parts[0] in lists and set(given) <= lists[parts[0]][1]:
            return lambda: lists[parts[0]][0](**given)
        if given and given != {"namespace": "default"}:
            return None
        if "" in parts or any("/" in part for part in parts):
            return None
        reads = {("job",): api.job.get_job, ("node",): api.node.get_node,
                 ("allocation",): api.allocation.get_allocation, ("evaluation",): api.evaluation.get_evaluation,
                 ("deployment",): api.deployment.get_deployment, ("namespace",): api.namespace.get_namespace,
                 ("job", "allocations"): api.job.get_allocations, ("job", "evaluations"): api.job.get_evaluations,
                 ("job", "deployments"): api.job.get_deployments, ("job", "deployment"): api.job.get_deployment,
                 ("job", "summary"): api.job.get_summary, ("job", "versions"): api.job.get_versions,
                 ("node", "allocations"): api.node.get_allocations,
                 ("evaluation", "allocations"): api.evaluation.get_allocations}
        if len(parts) in (2, 3) and (parts[0], *parts[2:]) in reads and parts[1] not in ("pools", "pool", "count"):
            return lambda: reads[(parts[0], *parts[2:])](parts[1])
        if parts == ["status", "leader"]:
            return api.status.leader.get_leader
        if parts == ["agent", "self"]:
            return api.agent.get_agent
        if parts == ["agent", "members"]:
            return api.agent.get_members
        if parts == ["regions"]:
            return api.regions.get_regions
        return None
