#!/usr/bin/env python3
"""Serves an import in which every field that can hold an address has a distinct one, requests every endpoint, and
searches for them:
addresses_test.py BERTH. None may be in a field that clients connect to (R-API-303); DOCUMENTATION lists the other
fields.
Decisions are the same as with --keep-addresses, where the addresses are served unchanged, all but HTTPAddr."""
import json
import os
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

# Informational: constraints and jobs refer to these, and no client connects to them.
DOCUMENTATION = {"Attributes", "Meta", "Static", "Links", "Segments", "Job", "Message", "ConstraintFiltered"}
OF_JOBS = ("/v1/job/web", "/v1/job/web/versions")  # the specification as it was submitted
NODES = ["11111111-1111-4111-8111-11111111111%d" % i for i in range(3)]
ALLOC = "22222222-2222-4222-8222-222222222220"
EVAL = "33333333-3333-4333-8333-333333333330"
VOLUME = "55555555-5555-4555-8555-555555555550"
DEPLOYMENT = "44444444-4444-4444-8444-444444444440"
TIME = 1_700_000_000_000_000_000


class Planted:
    """Addresses that nothing else has, by where they were planted."""
    def __init__(self):
        self.of = {}

    def four(self, where):
        # No two differ in their first four bits alone, which the server replaces.
        address = f"10.77.{len(self.of) // 200}.{len(self.of) % 200 + 1}"
        self.of[address] = where
        return address

    def six(self, where):
        address = f"fd00:77::{len(self.of) + 1:x}"
        self.of[address] = where
        return address

    def host(self, where):
        name = f"planted-{len(self.of)}.prod.example"
        self.of[name] = where
        return name

    def found_in(self, text):
        return [f"{address} ({where})" for address, where in self.of.items()
                if address in text.replace('"', " ").split() or
                any(address + end in text for end in ('"', ":", "/", " ", "\\"))]


def node_of(planted, number):
    four, six, host = planted.four, planted.six, planted.host
    ip = four("node ip")
    return {
        "ID": NODES[number], "Name": f"client-{number}", "Datacenter": "dc1", "NodePool": "default", "NodeClass": "",
        "Attributes": {"kernel.name": "linux", "driver.mock_driver": "1", "nomad.service_discovery": "true",
                       "nomad.version": "2.0.5", "unique.network.ip-address": ip,
                       "unique.advertise.address": four("attribute") + ":4646", "unique.hostname": host("attribute")},
        "Meta": {"ssh": four("meta")}, "Links": {"consul": host("link")}, "HTTPAddr": four("HTTPAddr") + ":4646",
        "TLSEnabled": False, "Status": "ready", "SchedulingEligibility": "eligible", "StatusUpdatedAt": TIME // 10**9,
        "Drivers": {"mock_driver": {"Detected": True, "Healthy": True, "HealthDescription": "up at " +
                                    four("driver health"),
                                    "Attributes": {"driver.mock_driver.bridge_ip": four("driver attribute")}}},
        "HostVolumes": {"data": {"Name": "data", "Path": "nfs://" + four("volume path") + "/x", "ReadOnly": False}},
        "CSINodePlugins": {"ebs": {"PluginID": "ebs", "Healthy": True, "HealthDescription": "", "Provider": "p",
                                   "NodeInfo": {
            "ID": four("CSI node"), "MaxVolumes": 5, "AccessibleTopology": {"Segments": {"ip": four("CSI segment")}}}}},
        "CSIControllerPlugins": {"ebs": {"PluginID": "ebs", "AllocID": "", "Healthy": True, "Provider": "p",
                                         "ControllerInfo": {
            "Endpoint": "tcp://[" + six("CSI controller") + "]:9000"}}},
        "Events": [{"Message": "at", "Subsystem": "x", "Details": {"addr": four("node event")},
                    "Timestamp": "2023-11-14T22:13:20Z",
                    "CreateIndex": 5}],
        "LastDrain": {"Status": "complete", "AccessorID": "", "StartedAt": "2023-11-14T22:13:20Z",
                      "UpdatedAt": "2023-11-14T22:13:20Z",
                      "Meta": {"from": four("last drain")}},
        "StatusDescription": "seen at " + four("status description") + ".", "ClientAddr": four("unknown field") +
        ":4646",
        "Resources": {"Networks": [{"IP": four("old resources"), "CIDR": four("old CIDR") + "/32"}]},
        "HostNetworks": {"public": {"Name": "public", "CIDR": four("host network") + "/32", "Interface": "",
                                    "ReservedPorts": ""}},
        "NodeResources": {
            "Cpu": {"CpuShares": 4000, "TotalCpuCores": 2, "ReservableCpuCores": [0, 1]}, "Memory": {"MemoryMB": 4096},
            "Disk": {"DiskMB": 20480}, "MinDynamicPort": 20000, "MaxDynamicPort": 20100,
            "Networks": [{"Mode": "host", "Device": "eth0", "CIDR": ip + "/32", "IP": ip, "MBits": 1000}],
            "NodeNetworks": [{"Mode": "host", "Device": "eth0", "Speed": 1000, "MacAddress": "", "Addresses": [
                {"Family": "ipv4", "Alias": "default", "Address": ip, "ReservedPorts": "", "Gateway": four("gateway")},
                {"Family": "ipv6", "Alias": "six", "Address": six("node ipv6"), "ReservedPorts": "", "Gateway": ""}]}]},
        "ReservedResources": {"Cpu": {"CpuShares": 0}, "Memory": {"MemoryMB": 0}, "Disk": {"DiskMB": 0},
                              "Networks": {"ReservedHostPorts": ""}},
        "CreateIndex": 5, "ModifyIndex": 6}


def cluster_of(planted):
    nodes = [node_of(planted, number) for number in range(2)]
    ip = nodes[0]["NodeResources"]["Networks"][0]["IP"]
    service = {"Name": "db", "Provider": "nomad", "PortLabel": "http", "Tags": ["a"]}
    literal = {"Name": "literal", "Provider": "nomad", "PortLabel": "", "Address": planted.host("service of the job")}
    job = {"ID": "web", "Name": "web", "Namespace": "default", "Type": "service", "Priority": 50,
           "Datacenters": ["dc1"],
           "NodePool": "default", "Status": "running", "CreateIndex": 10, "ModifyIndex": 10, "JobModifyIndex": 10,
           "SubmitTime": TIME,
           "TaskGroups": [{"Name": "app", "Count": 1,
                           "Networks": [{"Mode": "host", "DynamicPorts": [{"Label": "http"}]}],
                           "Services": [service, literal],
                           "Tasks": [{"Name": "main", "Driver": "mock_driver", "Config": {"run_for": "9h"},
                                      "Resources": {"CPU": 100, "MemoryMB": 64}}]}]}
    network = {"Mode": "host", "Device": "eth0", "IP": ip, "CIDR": planted.four("allocated CIDR") + "/32",
               "Hostname": planted.host("allocated Hostname"), "DNS": {"Servers": [planted.four("DNS")]},
               "DynamicPorts": [{"Label": "http", "Value": 20001}]}
    mirror = {"CPU": 100, "MemoryMB": 64, "Networks": [{"IP": planted.four("mirror")}]}
    alloc = {"ID": ALLOC, "Namespace": "default", "EvalID": EVAL, "Name": "web.app[0]", "NodeID": NODES[0],
             "NodeName": "client-0",
             "JobID": "web", "Job": job, "TaskGroup": "app", "DesiredStatus": "run", "ClientStatus": "running",
             "AllocatedResources": {"Tasks": {"main": {"Cpu": {"CpuShares": 100}, "Memory": {"MemoryMB": 64},
                                                       "Networks": [network]}},
                                    "Shared": {"DiskMB": 300, "Networks": [network], "Ports": [
                                        {"Label": "http", "Value": 20001, "To": 0, "HostIP": ip}]}},
             "Resources": mirror, "SharedResources": mirror, "TaskResources": {"main": mirror},
             "TaskStates": {"main": {"State": "running", "StartedAt": "2023-11-14T22:13:20Z",
                                     "Events": [{"Type": "Driver", "Time": TIME, "Details": {
                 "ip": planted.four("task event")}}]}},
             "NodeAddress": planted.four("unknown field"), "ClientDescription": "on " +
             planted.four("client description"),
             "AllocStates": [{"Field": 0, "Value": planted.four("allocation state"), "Time": "2023-11-14T22:13:20Z"}],
             "NetworkStatus": {"InterfaceName": "eth0", "Address": planted.four("NetworkStatus"),
                               "AddressIPv6": planted.six("NetworkStatus"),
                               "DNS": {"Servers": [planted.four("DNS status")]}},
             "DeploymentID": DEPLOYMENT, "DeploymentStatus": {"Healthy": True, "Canary": False},
             "CreateIndex": 11, "ModifyIndex": 12, "CreateTime": TIME, "ModifyTime": TIME}
    evaluation = {"ID": EVAL, "Namespace": "default", "Priority": 50, "Type": "service", "TriggeredBy": "job-register",
                  "JobID": "web",
                  "Status": "complete", "DeploymentID": DEPLOYMENT, "CreateIndex": 10, "ModifyIndex": 12,
                  "CreateTime": TIME,
                  "ModifyTime": TIME}
    deployment = {"ID": DEPLOYMENT, "Namespace": "default", "JobID": "web", "JobVersion": 0, "JobCreateIndex": 10,
                  "JobModifyIndex": 10,
                  "Status": "running", "StatusDescription": "Deployment is running", "CreateIndex": 11,
                  "ModifyIndex": 12,
                  "TaskGroups": {"app": {"DesiredTotal": 1, "PlacedAllocs": 1, "HealthyAllocs": 0, "UnhealthyAllocs": 0,
                                         "ProgressDeadline": 600_000_000_000,
                                         "RequireProgressBy": "2023-11-14T22:23:20Z"}}}
    volume = {"Namespace": "default", "ID": VOLUME, "Name": "data", "PluginID": "mkdir", "NodePool": "default",
              "NodeID": NODES[0],
              "State": "ready", "Parameters": {"server": planted.four("host volume")},
              "RequestedCapabilities": [{"AttachmentMode": "file-system", "AccessMode": "single-node-writer"}]}
    csi = {"ID": "csi", "Name": "csi", "Namespace": "default", "PluginID": "ebs",
           "Context": {"endpoint": planted.four("CSI context")},
           "Parameters": {"server": planted.four("CSI volume")}, "Secrets": {"addr": planted.four("CSI secret")},
           "Schedulable": True,
           "AccessMode": "single-node-writer", "AttachmentMode": "file-system",
           "MountOptions": {"MountFlags": ["addr=" + planted.four("mount flag")]}}
    return {"HostVolumes": [volume], "CSIVolumes": [csi], "Nodes": nodes, "Jobs": [job], "Allocs": [alloc],
            "Evals": [evaluation], "Deployments": [deployment], "Index": 20}


class Server:
    def __init__(self, berth, cluster, folder, *more):
        self.process = subprocess.Popen([berth, "serve", cluster, "--speed", "step", "--listen", "127.0.0.1:0",
                                         "--snapshots", folder,
                                         *more], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        lines = []
        while not lines or "http://" not in lines[-1]:
            lines.append(self.process.stdout.readline())
            if not lines[-1]:
                raise RuntimeError("berth serve did not start: " + "".join(lines))
        self.url = lines[-1].split()[-1]

    def ask(self, path, body=None, method=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, method=method or ("PUT" if data else "GET"))
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                if path.startswith("/v1/event/stream"):
                    return b"".join(answer.readline() for _ in range(6)).decode()
                if path == "/v1/berth/live":
                    return answer.readline().decode()
                return answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.read().decode()

    def json(self, path, body=None):
        return json.loads(self.ask(path, body))

    def stop(self):
        self.process.terminate()
        self.process.wait(20)


def without_documentation(value):
    if isinstance(value, dict):
        return {key: without_documentation(item) for key, item in value.items() if key not in DOCUMENTATION}
    return [without_documentation(item) for item in value] if isinstance(value, list) else value


def shown(text):
    """What of an answer a client may connect to."""
    lines = []
    for line in text.splitlines():
        try:
            lines.append(json.dumps(without_documentation(json.loads(line.removeprefix("data:")))))
        except ValueError:
            lines.append(line)
    return "\n".join(lines)


WHERE = "Constraints"


def asking_job(planted, name, count=1, address=None):
    group = {"Name": "g", "Count": count, "Networks": [{"Mode": "host", "DynamicPorts": [{"Label": "p"}]}],
             "Services": [{"Name": name, "Provider": "nomad", "PortLabel": "p"}],
             "Tasks": [{"Name": "t", "Driver": "mock_driver", "Config": {"run_for": "1h"},
                        "Resources": {"CPU": 50, "MemoryMB": 32}}]}
    if address:
        group[WHERE] = [{"LTarget": "${attr.unique.network.ip-address}", "RTarget": address, "Operand": "="}]
    return {"ID": name, "Name": name, "Type": "service", "Datacenters": ["*"], "TaskGroups": [group]}


def placements(server, planted, address):
    """By allocation's name, node and port: decisions, which must not depend on which addresses are served."""
    for job in (asking_job(planted, "constrained", 1, address), asking_job(planted, "free", 4)):
        server.ask("/v1/jobs", {"Job": job})
        server.ask("/v1/berth/advance", {"Seconds": 30})
    out = {}
    for stub in server.json("/v1/allocations"):
        alloc = server.json("/v1/allocation/" + stub["ID"])
        ports = (alloc["AllocatedResources"]["Shared"].get("Ports") or [])
        out[alloc["Name"]] = (alloc["NodeID"], sorted(port["Value"] for port in ports))
    return out


def endpoints():
    yield from ("/v1/nodes", "/v1/nodes?resources=true&os=true", "/v1/jobs", "/v1/jobs?meta=true", "/v1/jobs/statuses",
                "/v1/allocations",
                "/v1/allocations?resources=true&task_states=true", "/v1/evaluations", "/v1/evaluations/count",
                "/v1/deployments",
                "/v1/node/pools", "/v1/node/pool/default", "/v1/node/pool/default/nodes", "/v1/node/pool/default/jobs",
                "/v1/namespaces",
                "/v1/namespace/default", "/v1/services", "/v1/service/db", "/v1/service/literal", "/v1/service/free",
                "/v1/scaling/policies", "/v1/volumes", "/v1/volumes?type=host", "/v1/volumes?type=csi",
                "/v1/plugins?type=csi", "/v1/vars",
                f"/v1/volume/host/{VOLUME}", "/v1/volume/csi/csi", "/v1/plugin/csi/ebs",
                "/v1/status/leader", "/v1/status/peers", "/v1/regions", "/v1/agent/members", "/v1/agent/self",
                "/v1/agent/health",
                "/v1/agent/servers", "/v1/agent/schedulers", "/v1/agent/schedulers/config",
                "/v1/operator/raft/configuration",
                "/v1/operator/autopilot/health", "/v1/operator/autopilot/configuration",
                "/v1/operator/scheduler/configuration",
                "/v1/operator/keyring/keys", "/v1/metrics", "/v1/metrics?format=prometheus", "/v1/berth/run",
                "/v1/berth/speed",
                "/v1/berth/live", "/v1/event/stream?index=0", "/ui/", f"/v1/evaluation/{EVAL}",
                f"/v1/evaluation/{EVAL}/allocations",
                f"/v1/deployment/{DEPLOYMENT}", f"/v1/deployment/allocations/{DEPLOYMENT}", f"/v1/allocation/{ALLOC}",
                f"/v1/allocation/{ALLOC}/services", f"/v1/allocation/{ALLOC}/checks",
                f"/v1/client/allocation/{ALLOC}/stats")
    for node in NODES:
        yield from (f"/v1/node/{node}", f"/v1/node/{node}/allocations", f"/v1/client/stats?node_id={node}",
                    f"/v1/client/metadata?node_id={node}")
    for job in ("web", "free"):
        for part in ("", "/allocations", "/evaluations", "/deployments", "/deployment", "/summary", "/versions",
                     "/scale", "/services",
                     "/actions", "/submission"):
            yield f"/v1/job/{job}{part}"


def main():
    berth = sys.argv[1]
    planted = Planted()
    cluster = cluster_of(planted)
    joining = node_of(planted, 2)
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "planted.json")
        with open(path, "w") as file:
            json.dump(cluster, file)
        wanted = cluster["Nodes"][1]["NodeResources"]["Networks"][0]["IP"]
        decided = []
        for more in ((), ("--keep-addresses",)):
            server = Server(berth, path, folder, *more)
            try:
                summary = server.json("/v1/job/web/summary")["Summary"]["app"]
                if summary["Running"] != 1:
                    problems.append(f"the summary of the import is {summary}")
                server.ask("/v1/berth/advance", {"Seconds": 60})
                if (status := server.json(f"/v1/deployment/{DEPLOYMENT}")["Status"]) == "failed":
                    problems.append("the import's deployment failed at once: it does not start at its own time")
                joined = server.json("/v1/berth/fault", {"Kind": "join", "Node": joining})
                if "Index" not in joined:
                    problems.append(f"join: {joined}")
                server.ask("/v1/berth/advance", {"Seconds": 30})
                decided.append(placements(server, planted, wanted))
                for node in NODES:
                    if (address := server.json("/v1/node/" + node)["HTTPAddr"]) != "":
                        problems.append(f"HTTPAddr of {node} is {address}, {more}")
                if more:
                    continue
                answers = {path: server.ask(path) for path in endpoints()}
                for body in ({"Prefix": "", "Context": "all"}, {"Text": "client", "Context": "all"}):
                    answers["search " + str(body)] = server.ask("/v1/search" + ("/fuzzy" if "Text" in body else ""),
                                                                body)
                job = asking_job(planted, "large", 100)
                answers["plan"] = server.ask("/v1/job/large/plan", {"Job": job, "Diff": True, "PolicyOverride": False})
                answers["explain"] = server.ask("/v1/berth/explain", {"Job": job, "Node": NODES[0]})
                answers["counterfactual"] = server.ask("/v1/berth/counterfactual",
                                                       {"JobID": "free", "Algorithm": "spread"})
                answers["snapshot"] = server.ask("/v1/berth/snapshot", {"Name": "planted-out"})
                with open(os.path.join(folder, "planted-out.json")) as file:
                    answers["snapshot's file"] = json.dumps({key: value for key,
                                                             value in json.load(file)["Cluster"].items() if
                                                             key not in ("Jobs", "JobVersions")})
                answers["restore"] = server.ask("/v1/berth/restore", {"Name": "planted-out"})
                answers["nodes restored"] = server.ask("/v1/nodes?resources=true")
                for asked, answer in answers.items():
                    if asked in OF_JOBS:
                        continue
                    for one in planted.found_in(shown(answer)):
                        problems.append(f"{asked}: {one}")
                registered = server.json("/v1/service/db")
                if not registered or not registered[0]["Address"].startswith("250.77."):
                    problems.append(f"the import's service is registered as {registered}")
                if wanted not in server.ask("/v1/node/" + NODES[1]):
                    problems.append("attributes are not shown, and constraints refer to them")
            finally:
                server.stop()
        if decided[0] != decided[1] or len(decided[0]) != 6:
            problems.append(f"decisions differ: {decided}")
        if decided[0].get("constrained.g[0]", [""])[0] != NODES[1]:
            problems.append("a constraint on the address of a node does not decide as before")
        empty = os.path.join(folder, "job.json")
        with open(empty, "w") as file:
            json.dump(cluster["Jobs"][0], file)
        refused = subprocess.run([berth, "serve", empty, "--listen", "127.0.0.1:0"], capture_output=True, text=True,
                                 timeout=60)
        if refused.returncode != 2 or "holds no nodes" not in refused.stderr or refused.stderr.count("\n") != 1:
            problems.append(f"serve of a job alone: {refused.returncode} {refused.stderr}")
    for problem in problems:
        print(problem)
    print(f"{len(planted.of)} addresses planted, {len(problems)} problems")
    sys.exit(1 if problems else 0)


main()
