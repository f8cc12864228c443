#!/usr/bin/env python3
"""Writes inputs from recorded vectors and from files of the tests into a folder, to begin with. Fuzz targets that are
not named here begin with corpus/.

    seeds.py TARGET FOLDER
"""
import glob
import gzip
import hashlib
import io
import json
import pathlib
import sys
import tarfile

tests = pathlib.Path(__file__).resolve().parent.parent
BYTES_MOST = 65_536
LINES_MOST = 8  # of a file of vectors
BYTES_DEEP = 16_000


def texts(pattern):
    for path in sorted(glob.glob(str(tests / pattern))):
        with (gzip.open(path, "rt") if path.endswith(".gz") else open(path)) as file:
            yield pathlib.Path(path).name.split(".")[0], file.read()


def requests():
    """Steps of recorded conversations, five at a time: a request line, then its body."""
    for name, text in texts("golden/http/*.json.gz"):
        if name.endswith("-again"):  # the same steps once more
            continue
        steps = []
        for step in json.loads(text)["steps"]:
            for call in step.get("calls", [step] if "path" in step else []):
                target = call["path"]
                if not target.startswith("/v1/event/stream") and call.get("method"):
                    body = call.get("request")
                    steps.append("%s %s\n%s" % (call["method"], target, "" if body is None
                                                else json.dumps(body, separators=(",", ":"))))
        for at in range(0, len(steps), 5):
            yield "\n".join(steps[at:at + 5])
    for _, text in texts("golden/registration/*.json.gz"):
        for case in json.loads(text):
            lines = [step["request"] for step in case["steps"] if "request" in step]
            yield "\n".join("%s %s\n%s" % (each["method"], each["path"],
                                           json.dumps(each["body"], separators=(",", ":"))) for each in lines)


def vectors():
    for pattern in ("golden/components/*.gz", "golden/control/*.gz", "golden/evals/*/*.gz"):
        for name, text in texts(pattern):
            for line in sorted(text.splitlines(), key=len)[:LINES_MOST]:
                yield name + "\n" + line
    for name, text in texts("golden/streams/*.gz"):
        yield name + "\n" + text[:text.rfind("\n", 0, BYTES_MOST // 2) + 1]


def periodic():
    for _, text in texts("golden/control/periodic_next.jsonl.gz"):
        for line in text.splitlines():
            given = json.loads(line)["in"]
            if "spec" in given:
                yield given["spec"] + "\n" + given["time_zone"]
    yield "@daily\nEurope"  # a folder of time zones


def recording():
    for _, text in texts("record/recorded/*.gz"):
        lines = text.splitlines()
        for count in (2, 4, 6, 8, len(lines)):
            yield "\n".join(lines[:count]) + "\n"


def deep(*parts):
    """Inputs that nest deeper than any parser allows."""
    def inputs():
        for part in parts:
            yield part * (BYTES_DEEP // len(part))
    return inputs


def jobs():
    """Bodies that register a job."""
    for _, text in texts("golden/registration/*.json.gz"):
        for case in json.loads(text):
            for step in case["steps"]:
                body = step.get("request", {}).get("body")
                if isinstance(body, dict) and "Job" in body:
                    yield json.dumps(body, separators=(",", ":"))
    for _, text in texts("golden/hcl/files/*.json"):
        yield text
    yield from deep("[", '{"a":')()


def job_files():
    for _, text in texts("golden/hcl/files/*.hcl"):
        yield text
    for _, text in texts("golden/hcl/job_files.jsonl.gz"):
        for line in text.splitlines():
            yield json.loads(line)["source"]
    yield from deep("a {", "a=[", "a=(", 'a="${')()


def clusters():
    for pattern in ("dryrun/cases/*/cluster.json", "serve/replay/cluster.json", "dryrun/recorded/*.json.gz"):
        for _, text in texts(pattern):
            yield text
            yield text.replace('"TaskGroup": "', '"TaskGroup": "no-', 1)  # an allocation of a group that its job lacks


def snapshots():
    """The records of snapshots."""
    for path in sorted(glob.glob(str(tests / "d*/recorded/*.snap"))):
        with tarfile.open(path) as archive:
            yield archive.extractfile("state.bin").read()


def archives():
    for pattern in ("d*/recorded/*.snap", "dryrun/recorded/*.json.gz"):
        for path in sorted(glob.glob(str(tests / pattern))):
            yield pathlib.Path(path).read_bytes()


def workloads():
    for pattern in ("*/*.toml", "*/*/*.toml", "../bench/macro/*.toml"):
        for _, text in texts(pattern):
            yield text


def traces():
    yield "submit_s,run_s,count,cpu_mhz,memory_mb,disk_mb,type,priority,failed\n0,10,2,100,64,300,batch,50,0\n1.5,,3,200,128,,service,70,\n"
    yield "submit_s,count,cpu_mhz,memory_mb\n9,1000000,1000000000,1000000000\n"


def results():
    for _, text in texts("gate/reports/*.json"):
        yield text


targets = {
    "job_json": jobs, "job_hcl": job_files, "cluster": clusters, "snapshot": snapshots, "archive": archives,
    "workload": workloads,
    "trace": traces, "periodic": periodic, "requests": requests, "vectors": vectors, "recording": recording,
    "gate": results,
    "report": results, "filter": deep("(", "not ", "any a as b {"), "formula": deep("(", "-", "abs("),
    "policy": deep("[", "{", "a {")}
if len(sys.argv) != 3:
    sys.exit(__doc__)
folder = pathlib.Path(sys.argv[2])
folder.mkdir(parents=True, exist_ok=True)
for text in targets.get(sys.argv[1], lambda: ())():
    data = text.encode() if isinstance(text, str) else text
    if len(data) <= BYTES_MOST:
        (folder / hashlib.sha1(data).hexdigest()).write_bytes(data)
