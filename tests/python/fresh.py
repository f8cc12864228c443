"""What a user does first after `pip install` of the wheel: nothing but the wheel and its requirements are there."""
import hashlib  # noqa: F401  loads the system's libcrypto before the list of loaded libraries: Python uses it
import os
import subprocess
import sys


def in_memory():
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return {line.split()[-1] for line in maps}


before = in_memory()
import berth  # noqa: E402

cluster = berth.Cluster.from_workload("quickstart", "smoke")  # data of the package
job = cluster.register(berth.job("web", count=3, cpu=500, memory=256))
plan = cluster.schedule(job)
assert plan.complete and len(plan.placements["node_name"]) == 3
cluster.commit(plan)

package = os.path.dirname(berth.__file__)
assert berth.program().startswith(package), berth.program()
loaded = subprocess.run([berth.program()], env={"LD_TRACE_LOADED_OBJECTS": "1"}, capture_output=True, text=True).stdout
words = set(loaded.split()) | (in_memory() - before)
for library in ("libtbb", "libre2", "libcrypto"):
    paths = {word for word in words if word.startswith("/") and os.path.basename(word).startswith(library)}
    assert paths and all(os.path.realpath(path).startswith(os.path.dirname(package)) for path in paths), (library,
                                                                                                          paths)
print("python", sys.version.split()[0], "berth", berth.__version__)
