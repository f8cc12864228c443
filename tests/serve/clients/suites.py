#!/usr/bin/env python3
"""The test suites of client libraries, from their registries, against berth serve in the place of `nomad agent`.

  suites.py api BERTH FOLDER              Nomad's Go module `api`: the tests that start a server
  suites.py python-nomad BERTH FOLDER     python-nomad: all tests, without and with access control

FOLDER keeps what is downloaded and built. Prints the share of tests that pass and the others by name. Exit code: 0 only
the tests of KNOWN fail, 1 another one fails, a known one passes or the time is over, 77 the suite cannot be fetched
here.
"""
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import time
import urllib.request

HERE = os.path.dirname(os.path.realpath(__file__))
AS_NOMAD = os.path.join(HERE, "..", "..", "..", "bench", "serve", "as-nomad")
API = "github.com/hashicorp/nomad/api"
PYTHON_NOMAD = "2.1.0"
SECONDS = 600  # for all steps together; less than the limit of ctest, which would leave agents running
END = time.monotonic() + SECONDS
RERUNS = 2

# Tests that fail, and why.
KNOWN = {
    "api": {
        "TestAgent_Join": "a second server",
        "TestAgent_ForceLeave": "a second server",
        "TestAgent_ForceLeavePrune": "a second server",
        "TestRegionsList": "a second region",
    },
    "python-nomad": {
        "test_client.py::test_streamfile_fail": "wants 400 for a file that is absent; the answer is 404, as for fs/ls",
        "test_deployments.py::test_get_deployments_with_namespace":
            "contacts no server; fails with today's `responses`",
        "test_job.py::test_dispatch_job_idempotency": "registers a job under another ID, which Nomad refuses, too",
        "test_job.py::test_delete_job_with_invalid_purge_param_raises": "contacts no server; the library allows it",
    },
}
# Passes only if the node registers in a later second than that in which the test began.
SOMETIMES = {"api": {"TestNodes_Info"}, "python-nomad": set()}
# Without access control these fail, as with Nomad.
NEEDS_ACL = re.compile(r"test_acl\.py::|test_base\.py::test_base_get_connnection_not_authorized"
                       r"|test_base\.py::test_use_custom_user_agent")
# Contacts another machine.
ELSEWHERE = {f"test_base.py::test_base_{verb}_connection_error" for verb in ("get", "put", "delete")}

CONFTEST = '''
import nomad, pytest
from tests import common

def client(**more):
    return nomad.Nomad(host=common.IP, port=common.NOMAD_PORT, verify=False, token=common.NOMAD_TOKEN, **more)

@pytest.fixture
def nomad_setup():
    return client()

@pytest.fixture
def nomad_setup_with_namespace():
    return client(namespace=common.NOMAD_NAMESPACE)
'''
COMMON = '''
import os
IP, NOMAD_PORT, NOMAD_TOKEN, NOMAD_NAMESPACE = "127.0.0.1", os.environ["NOMAD_PORT"], None, "default"
'''
JOB_FILE = '''
job "example" {
  type        = "service"
  datacenters = ["dc1"]
  group "cache" {
    task "redis" {
      driver = "docker"
      config {
        image = "redis:7"
      }
    }
  }
}
'''


class Unavailable(Exception):
    """The suite cannot be fetched."""


def seconds_left():
    return max(0, END - time.monotonic())


def fetch(*command, **options):
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=seconds_left(),
                              **options).stdout
    except subprocess.TimeoutExpired:
        raise
    except (OSError, subprocess.SubprocessError) as error:
        what = (getattr(error, "stderr", "") or "").strip().split("\n")[-1]
        raise Unavailable(f"{command[0]}: {error}: {what}") from None


def link_nomad(folder):
    """A folder that has only the command `nomad`."""
    path = os.path.join(folder, "bin")
    os.makedirs(path, exist_ok=True)
    link = os.path.join(path, "nomad")
    if os.path.lexists(link):
        os.remove(link)
    os.symlink(os.path.realpath(AS_NOMAD), link)
    return path


def run_group(command, folder, environment, log):
    """Returns the output, which is also in the file `log`. Ends what the command started and left, such as agents."""
    with open(log, "w", encoding="utf-8") as file:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=file, stderr=subprocess.STDOUT,
                                   start_new_session=True)
        try:
            process.wait(seconds_left())
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(30)
    with open(log, encoding="utf-8", errors="replace") as file:
        return file.read()


def rerun_failed(got, known, run):
    """Runs the tests that failed again, alone: the machine may have been too slow for their deadlines. `run` takes
    names."""
    for _ in range(RERUNS):
        failed = sorted(name for name, word in got.items() if word == "FAIL" and name not in known)
        if not failed:
            return
        got.update(run(failed))


def run_api(berth, folder):
    """Yields the title and the results {test: passed} of the tests that start a server."""
    with open(os.path.join(HERE, "go", "go.mod"), encoding="utf-8") as file:
        version = re.search(re.escape(API) + r" (\S+)", file.read()).group(1)
    source = json.loads(fetch("go", "mod", "download", "-json", f"{API}@{version}", cwd=folder))["Dir"]
    work = os.path.join(folder, "api")
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(source, work)
    for place, _, _ in os.walk(work):
        os.chmod(place, 0o755)
    program = os.path.join(folder, "api.test")
    fetch("go", "test", "-c", "-o", program, ".", cwd=work)

    def results(path, log, *options):
        environment = dict(os.environ, BERTH=berth, PATH=path)
        output = run_group([program, "-test.v", *options], work, environment, os.path.join(folder, log))
        return {name: word for word, name in re.findall(r"^--- (\w+): (\S+)", output, re.MULTILINE)}

    # Without `nomad` the tests that start a server are skipped.
    empty = os.path.join(folder, "empty")
    os.makedirs(empty, exist_ok=True)
    started = {name for name, word in results(empty, "api-alone.txt").items() if word == "SKIP"}
    path = f"{link_nomad(folder)}:{os.environ['PATH']}"
    got = dict.fromkeys(started, "FAIL")  # what has no result after a panic of another test runs again
    got.update(results(path, "api.txt", "-test.parallel", "4"))
    rerun_failed(got, KNOWN["api"], lambda names: results(
        path, "api-again.txt", "-test.parallel", "1", "-test.run", f"^({'|'.join(names)})$"))
    yield f"{API} {version}", {name: word == "PASS" for name, word in got.items() if name in started and word != "SKIP"}


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(text)


def prepare_python(folder):
    """The suite's folder, with the files that are only in its repository in a version of ours."""
    python = os.path.join(folder, "venv", "bin", "python")
    if not os.path.exists(python):
        fetch(sys.executable, "-m", "venv", os.path.join(folder, "venv"))
    fetch(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"python-nomad=={PYTHON_NOMAD}",
          "pytest",
          "flaky", "responses", "mock")
    fetch(python, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-binary",
          ":all:", "-d", folder,
          f"python-nomad=={PYTHON_NOMAD}")
    work = os.path.join(folder, f"python_nomad-{PYTHON_NOMAD}")
    shutil.rmtree(work, ignore_errors=True)
    with tarfile.open(work + ".tar.gz") as archive:
        archive.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))  # 3.11.2 has none
    write(work, "tests/__init__.py", "")
    write(work, "tests/common.py", COMMON)
    write(work, "conftest.py", CONFTEST)
    write(work, "example.nomad", JOB_FILE)
    task = {"Name": "redis", "Driver": "docker", "Config": {"image": "redis:7"}}
    job = {"ID": "example", "Name": "example", "Type": "service", "Datacenters": ["dc1"],
           "TaskGroups": [{"Name": "cache", "Count": 1, "Tasks": [task]}]}
    write(work, "example.json", json.dumps({"Job": job}))
    job.update(ID="example-batch", Name="example-batch", Type="batch",
               ParameterizedJob={"Payload": "optional", "MetaRequired": ["time"]})
    write(work, "example_batch_parameterized.json", json.dumps({"Job": job}))
    return python, work


def run_python(berth, folder):
    python, work = prepare_python(folder)
    for acl in (False, True):
        port = free_port()
        environment = dict(os.environ, BERTH=berth, BERTH_SERVE_OPTIONS=f"--listen 127.0.0.1:{port}",
                           NOMAD_IP="127.0.0.1", NOMAD_PORT=str(port), NOMAD_VERSION="2.0.6")
        agent = subprocess.Popen([AS_NOMAD, "agent", "-dev", "-node", "pynomad1"] + ["-acl-enabled"] * acl,
                                 env=environment)
        try:
            wait_for(f"http://127.0.0.1:{port}/v1/status/leader")
            output = run_group([python, "-m", "pytest", "-v", "--runxfail", "-p", "no:cacheprovider", "tests"] +
                               [f"--deselect=tests/{test}" for test in ELSEWHERE], work, environment,
                               os.path.join(folder, f"python-nomad-acl-{'on' if acl else 'off'}.txt"))
        finally:
            agent.kill()
            agent.wait(30)
        found = re.findall(r"^tests/(\S+)\s+(PASSED|FAILED|ERROR)", output, re.MULTILINE)
        yield (f"python-nomad {PYTHON_NOMAD}, access control {'on' if acl else 'off'}",
               {name: word == "PASSED" for name, word in found if acl or not NEEDS_ACL.search(name)})


def wait_for(address):
    for _ in range(300):
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    raise SystemExit(f"{address}: no answer within 30 s")


def report(suite, title, results):
    """Prints one run; True if exactly the known tests fail."""
    failed = {name for name, passed in results.items() if not passed}
    print(f"{title}: {len(results) - len(failed)} of {len(results)} pass")
    for name in sorted(failed):
        print(f"  {name}: {KNOWN[suite].get(name) or ('sometimes' if name in SOMETIMES[suite] else 'NOT KNOWN')}")
    healed = set(KNOWN[suite]) - failed
    for name in sorted(healed):
        print(f"  {name} is listed as failing, but passes or is absent; correct KNOWN")
    return bool(results) and not healed and not failed - set(KNOWN[suite]) - SOMETIMES[suite]


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in KNOWN:
        raise SystemExit(__doc__)
    suite, berth, folder = sys.argv[1], os.path.realpath(sys.argv[2]), os.path.realpath(sys.argv[3])
    os.makedirs(folder, exist_ok=True)
    try:
        runs = list((run_api if suite == "api" else run_python)(berth, folder))
    except Unavailable as error:
        print(f"skipped: {error}")
        return 77
    except subprocess.TimeoutExpired as error:
        print(f"{suite}: {os.path.basename(error.cmd[0])} has not ended {SECONDS} s after the start of the suite; see the "
              f"logs in {folder}, or raise SECONDS in {os.path.basename(__file__)}")
        return 1
    return 0 if all([report(suite, title, results) for title, results in runs]) else 1


if __name__ == "__main__":
    sys.exit(main())
