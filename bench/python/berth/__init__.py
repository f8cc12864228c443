"""Nomad's scheduling semantics as an in-process engine.

    import berth

    cluster = berth.Cluster.from_workload("quickstart", "smoke")
    job = cluster.register(berth.job("web", count=3, cpu=500, memory=256))
    plan = cluster.schedule(job)
    print(plan.placements["node_name"], plan.placements["score"])
    cluster.commit(plan)

Tables of a View are read-only NumPy arrays (`View.nodes`, `View.allocs`), data frames with `frame()`, and Arrow. The
clock of a `LivingCluster` is virtual. `run` and `compare` measure whole workloads, `evaluate` scores a policy. Errors
of the engine are raised as `berth.Error` with its text.
"""

from ._berth import Cluster, Error, Job, LivingCluster, Plan, UnknownObject, View, __version__, strategies
from .inputs import job, nodes
from .programs import compare, evaluations, events, find_data, program, run
from .search import Evaluation, evaluate
from .tables import Table, placements_stream

__all__ = [
    "Cluster", "Error", "Evaluation", "Job", "LivingCluster", "Plan", "Table", "UnknownObject", "View", "__version__",
    "compare", "evaluate",
    "evaluations", "events", "job", "nodes", "program", "run", "strategies",
]

View.nodes = property(Table.of_nodes,
                      doc="Table of the nodes, ascending by ID; gathered once, then read-only arrays without a copy.")
View.allocs = property(Table.of_allocs, doc="Table of the allocations, oldest first, ended ones included; as `nodes`.")
Plan.__arrow_c_stream__ = placements_stream


def __getattr__(name):
    """Env and VectorEnv are imported when they are first used, because Gymnasium is not required."""
    if name in ("Env", "VectorEnv"):
        from . import env

        return getattr(env, name)
    raise AttributeError(f"module 'berth' has no attribute {name!r}")


find_data()
del find_data, placements_stream
