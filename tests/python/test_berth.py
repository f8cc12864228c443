"""The Python package as its users call it. `bash tests/python/run.sh BUILD` installs it into a virtual environment and
runs this."""

import json
import threading
import uuid

import numpy as np
import pytest

import berth
from berth.programs import _nanoseconds


def cluster_of(count=10, **config):
    cluster = berth.Cluster(**config)
    for node in berth.nodes(count, cpu=4000, memory=8192, datacenters=["dc1", "dc2"], racks=3):
        cluster.add_node(node)
    return cluster


# ---------------------------------------------------------------- planning

def test_plan_commit_and_look():
    cluster = cluster_of()
    job = cluster.register(berth.job("web", count=4, cpu=1000, memory=512))
    assert (job.id, job.namespace, job.type, job.count, job.priority) == ("web", "default", "service", 4, 50)
    plan = cluster.schedule(job)
    assert plan.complete and len(plan) == 4
    rows = plan.placements
    assert rows.dtype["score"] == np.float64 and rows.shape == (4,)
    assert sorted(rows["name"]) == [f"web.group[{i}]" for i in range(4)]
    assert all(uuid.UUID(text) for text in rows["alloc_id"])
    assert (rows["score"] > 0).all() and (rows["nodes_evaluated"] > 0).all()
    before = cluster.view()
    assert cluster.commit(plan) == {"index": pytest.approx(before.index + 1), "committed": 4, "refused": 0,
                                    "rejected": []}
    with pytest.raises(berth.Error, match="committed before"):
        cluster.commit(plan)

    after = cluster.view()
    assert before.nodes["cpu_used_mhz"].sum() == 0, "a view stays as it is"
    assert after.nodes["cpu_used_mhz"].sum() == 4000 and len(after.allocs) == 4
    used = np.bincount(after.allocs["node"], weights=after.allocs["cpu_mhz"], minlength=len(after.nodes))
    assert (used == after.nodes["cpu_used_mhz"]).all(), "allocations name nodes by position"
    assert set(after.allocs.text("client")) == {"pending"} and set(after.allocs.text("job")) == {"web"}
    assert set(after.nodes.text("datacenter")) == {"dc1", "dc2"} and set(after.nodes.text("status")) == {"ready"}
    assert json.loads(after.to_json())


def test_arrays_are_read_only_and_outlive_the_cluster():
    cluster = cluster_of(3)
    nodes = cluster.view().nodes
    del cluster
    assert nodes["memory_usable_mb"].tolist() == [8192] * 3
    with pytest.raises(ValueError, match="read-only"):
        nodes["allocs"][0] = 1
    with pytest.raises(KeyError, match="no column 'cpu'"):
        nodes["cpu"]


def test_tables_are_gathered_once_per_view():
    cluster = cluster_of(4)
    view = cluster.view()
    assert view.nodes is view.nodes and view.allocs is view.allocs and view.nodes is not cluster.view().nodes
    memory = view.nodes["cpu_used_mhz"]
    assert np.shares_memory(memory,
                            view.nodes["cpu_used_mhz"]) and not memory.flags.owndata and not memory.flags.writeable


def test_what_does_not_fit_says_why():
    cluster = cluster_of(5)
    cluster.register(berth.job("big", count=2, cpu=9000))
    plan = cluster.schedule("big")
    assert not plan.complete and len(plan) == 0
    failure, = plan.failures
    assert failure["task_group"] == "group" and failure["count"] == 2 and failure["exhausted_by"] == {"cpu": 5}


def test_dry_runs_and_advice_change_nothing():
    cluster = cluster_of(5)
    before = cluster.view().to_json()
    job = berth.job("big", count=2, cpu=9000)
    plan = cluster.dry_run(job)
    assert not plan.complete
    advice, = cluster.advise(job)
    assert (advice["task_group"], advice["failed"]) == ("group", 2)
    assert advice["nearest"][0]["cpu_mhz"] == 5000 and advice["nearest"][0]["reason"] == "cpu"
    patches = [json.loads(edit["patch"]) for edit in advice["edits"] if edit["text"].startswith("cpu of task")]
    assert patches and patches[0][0]["value"] <= 4000
    assert cluster.advise(berth.job("small", count=2, cpu=100)) == []
    assert cluster.view().to_json() == before
    cluster.remove_node(cluster.view().nodes.text("id")[0])
    assert len(cluster.view().nodes) == 4


def test_same_seed_same_decisions():
    def names(**config):
        cluster = cluster_of(50, **config)
        cluster.register(berth.job("web", count=5))
        return cluster.schedule("web").placements["node_name"].tolist()

    assert names(seed=3) == names(seed=3)
    assert names(seed=3) != names(seed=4)
    assert names(order="identity", seed=3) == names(order="identity", seed=4)


def test_statuses_and_drains():
    cluster = cluster_of(2)
    first, second = cluster.view().nodes.text("id")
    cluster.set_node(first, draining=True)
    cluster.register(berth.job("web", count=2))
    assert set(cluster.schedule("web").placements["node_id"]) == {second}
    plan = cluster.schedule("web")
    cluster.commit(plan)
    cluster.set_alloc_status(plan.placements["alloc_id"][0], "failed")
    assert cluster.view().allocs.text("client").tolist().count("failed") == 1
    assert cluster.remove_job("web") == 1
    with pytest.raises(berth.UnknownObject, match="no job web"):
        cluster.schedule("web")


def test_frames():
    pandas = pytest.importorskip("pandas")
    cluster = berth.Cluster.from_workload("recover-lost")
    cluster.register(berth.job("web", count=2))
    cluster.commit(cluster.schedule("web"))
    view = cluster.view()
    frame = view.nodes.frame()
    assert isinstance(frame, pandas.DataFrame) and len(frame) == 4 and frame["name"].tolist()[0].startswith("node-")
    assert view.allocs.frame()["job"].tolist() == ["web", "web"]


def test_arrow(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    cluster = berth.Cluster.from_workload("quickstart", "smoke")
    cluster.register(berth.job("web", count=2))
    plan = cluster.schedule("web")
    placements = pyarrow.table(plan)
    assert placements.column_names == list(plan.placements.dtype.names)
    assert placements["node_name"].to_pylist() == plan.placements["node_name"].tolist()
    assert placements["score"].to_pylist() == plan.placements["score"].tolist()
    cluster.commit(plan)
    cluster.remove_job("web")
    view = cluster.view()
    for table in (view.nodes, view.allocs):
        read = pyarrow.table(table)  # by the PyCapsule interface
        assert read.column_names == list(table) and read.num_rows == len(table) > 0
        for name in table:
            texts = name in ("job", *table._texts, "datacenter", "pool", "node_class", "group")
            expected = [text or None for text in table.text(name)] if name == "job" else table.text(
                name).tolist() if texts else table[name].tolist()
            values = read[name].to_pylist()
            assert ([str(value) for value in values] ==
                    table.text("id").tolist()) if name == "id" else values == expected, name
        memory = read["id"].chunk(0).storage.buffers()[1].address
        assert memory == table["id"].ctypes.data, "IDs are not copied"
        parquet.write_table(table.arrow(), tmp_path / "table.parquet")
        assert parquet.read_table(tmp_path / "table.parquet").equals(table.arrow())
    node = pyarrow.table(view.nodes)["cpu_used_mhz"].chunk(0).buffers()[1].address
    assert node == view.nodes["cpu_used_mhz"].ctypes.data, "numbers are not copied"


def test_arrow_of_few_jobs():
    pytest.importorskip("pyarrow")
    pytest.importorskip("pandas")
    assert cluster_of(4).view().allocs.arrow()["job"].type.value_type == "string"  # without any job
    columns = {"id": np.zeros(4, dtype="V16"), "job": np.array([0, 1, -1, 2], dtype=np.int32)}
    table = berth.Table(columns, [], {}, [("default", "web"), ("team", "web"), ("team", "api")]).arrow()
    assert table["job"].to_pylist() == ["web", "web", None, "api"]
    assert list(table.to_pandas()["job"].dropna()) == ["web", "web", "api"]


def test_evaluations():
    pytest.importorskip("pyarrow")
    table = berth.evaluations("quickstart", label="smoke", seed=1)
    report = berth.run("quickstart", label="smoke", seeds=[1]).attrs["reports"][0]
    assert table.num_rows == 100 and sum(table["placed"].to_pylist()) == report["placed"]
    assert set(table["status"].to_pylist()) == {"complete"} and min(table["took_ns"].to_pylist()) > 0
    assert table["ended"].to_pylist() == sorted(table["ended"].to_pylist())
    with pytest.raises(berth.Error, match="no-such"):
        berth.evaluations("no-such")


def test_events():
    pytest.importorskip("pyarrow")
    table = berth.events("recover-lost")
    rows = table.to_pylist()
    assert sorted({row["message"] for row in rows}) == ["allocation changed", "allocation placed",
                                                        "evaluation processed", "node TTL expired"]
    down = next(row for row in rows if row["message"] == "node TTL expired")
    assert down["level"] == "warn" and down["status"] == "down" and down["job_id"] is None
    assert sum(row["message"] == "allocation placed"
               for row in rows) == sum(berth.evaluations("recover-lost")["placed"].to_pylist())
    assert table["time"].to_pylist() == sorted(table["time"].to_pylist())


@pytest.mark.parametrize("text, ns",
                         [("20ns", 20), ("161.681µs", 161681), ("1.5ms", 1_500_000), ("1m2.5s", 62_500_000_000)])
def test_durations_of_the_log(text, ns):
    assert _nanoseconds(text) == ns
    with pytest.raises(berth.Error, match="is no duration"):
        _nanoseconds(text + "x")


# ---------------------------------------------------------------- strategies

def test_a_function_decides_as_the_strategy_it_repeats():
    def binpack(nodes, task):
        used = 1 - (nodes.free - task.ask)[:, :2] / nodes.capacity[:, :2]
        return np.clip((20 - np.power(10.0, 1 - used).sum(axis=1)) / 18, 0, 1)

    def decide(strategy):
        cluster = cluster_of(40)
        for i in range(20):
            cluster.register(berth.job(f"job-{i}", count=3, cpu=300 + 50 * i, memory=200 + 30 * i))
        cluster.score_by(strategy)
        out = []
        for i in range(20):
            plan = cluster.schedule(f"job-{i}")
            cluster.commit(plan)
            out += plan.placements["node_name"].tolist()
        return out

    by_function = decide(binpack)
    assert len(by_function) == 60
    assert by_function == decide(binpack)
    assert by_function != decide(lambda nodes, task: nodes.free[:, 0] / nodes.capacity[:, 0])
    assert {one["name"] for one in berth.strategies()} >= {"best-fit", "nomad-binpack"}
    assert decide("nomad") == decide("nomad-binpack")


def test_blocks_are_what_they_say():
    seen = []

    def look(nodes, task):
        seen.append((nodes.free.copy(), nodes.capacity.copy(), nodes.tasks.copy(), task.ask.copy(), task.priority))
        return np.zeros(len(nodes.tasks))

    cluster = cluster_of(30)
    cluster.register(berth.job("web", count=2, cpu=700, memory=900, priority=70))
    cluster.score_by(look)
    cluster.commit(cluster.schedule("web"))
    assert seen
    for free, capacity, tasks, ask, priority in seen:
        assert free.shape == capacity.shape == (len(tasks), 4) and len(tasks) <= 64
        assert free.dtype == np.int32 and (capacity[:, 0] == 4000).all() and (capacity[:, 1] == 8192).all()
        assert ask.tolist()[:2] == [700, 900] and priority == 70
        assert ((capacity - free)[:, 0] == 700 * tasks).all()


@pytest.mark.parametrize("wrong, error, text", [
    (lambda nodes, task: None, TypeError, "scores: the strategy has to return"),
    (lambda nodes, task: ["a"] * len(nodes.tasks), TypeError, "scores: the strategy has to return"),
    (lambda nodes, task: np.zeros(len(nodes.tasks) + 1), ValueError, "scores: shape"),
    (lambda nodes, task: np.zeros((len(nodes.tasks), 1)), ValueError, "scores: shape"),
    (lambda nodes, task: np.full(len(nodes.tasks), np.nan), ValueError,
     r"strategy <lambda>: score nan of node 0 of its block .* is outside 0..1"),
    (lambda nodes, task: np.full(len(nodes.tasks), np.inf), ValueError,
     r"strategy <lambda>: score inf of node 0 of its block .* is outside 0..1"),
    (lambda nodes, task: np.full(len(nodes.tasks), 1.5), ValueError,
     r"strategy <lambda>: score 1.5 of node 0 of its block .*4000 MHz.* is outside 0..1"),
    (lambda nodes, task: np.full(len(nodes.tasks), -0.01), ValueError,
     r"score -0.01 of node 0 of its block .* is outside 0..1"),
    (lambda nodes, task: 1 / 0, ZeroDivisionError, "division by zero"),
    (lambda nodes: 1, TypeError, "positional argument"),
])
def test_a_strategy_that_goes_wrong_ends_the_decision(wrong, error, text):
    cluster = cluster_of(5)
    cluster.register(berth.job("web", count=2))
    cluster.score_by(wrong)
    with pytest.raises(error, match=text) as caught:
        cluster.schedule("web")
    if error is ZeroDivisionError:
        assert "<lambda>" in str(caught.traceback[-1]), "the traceback names the strategy"
    cluster.score_by("nomad")
    assert cluster.schedule("web").complete, "the cluster continues"


@pytest.mark.parametrize("call", [
    lambda cluster: cluster.schedule("web"),
    lambda cluster: cluster.dry_run(berth.job("other")),
    lambda cluster: cluster.advise(berth.job("other")),
    lambda cluster: cluster.register(berth.job("other")),
    lambda cluster: cluster.remove_job("web"),
    lambda cluster: cluster.add_node(berth.nodes(1, seed=2)[0]),
    lambda cluster: cluster.score_by("nomad"),
    lambda cluster: cluster.view(),
])
def test_a_strategy_may_not_call_its_cluster(call):
    cluster = cluster_of(5)
    cluster.register(berth.job("web", count=2))

    def reentrant(nodes, task):
        call(cluster)
        return np.zeros(len(nodes.tasks))

    cluster.score_by(reentrant)
    with pytest.raises(berth.Error, match="a strategy or preemption rule called the cluster|the cluster is deciding"):
        cluster.schedule("web")
    cluster.score_by("nomad")
    assert cluster.schedule("web").complete, "the cluster continues"


def test_a_cluster_belongs_to_one_thread_at_a_time():
    cluster = cluster_of(5)
    cluster.register(berth.job("web", count=2))
    inside, done = threading.Event(), threading.Event()

    def slow(nodes, task):
        inside.set()
        assert done.wait(60)
        return np.zeros(len(nodes.tasks))

    cluster.score_by(slow)
    plans = []
    thread = threading.Thread(target=lambda: plans.append(cluster.schedule("web")))
    thread.start()
    assert inside.wait(60)
    try:
        for call in (lambda: cluster.schedule("web"), lambda: cluster.register(berth.job("b")),
                     lambda: cluster.remove_job("web")):
            with pytest.raises(berth.Error, match="another thread is using this cluster"):
                call()
    finally:
        done.set()
        thread.join()
    assert len(plans) == 1 and plans[0].complete
    assert cluster.commit(plans[0])["committed"] == 2


def test_threads_on_one_cluster_get_exceptions():
    cluster = cluster_of(50)
    living = living_of(4)
    for i in range(20):
        cluster.register(berth.job(f"job-{i}", count=5))
    others = []

    def work(number):
        for i in range(20):
            for call in (lambda: cluster.commit(cluster.schedule(f"job-{(number + i) % 20}")),
                         lambda: living.advance(1), lambda: living.view()):
                try:
                    call()
                except berth.Error:
                    pass
                except BaseException as error:  # noqa: BLE001
                    others.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not others
    assert json.loads(cluster.view().to_json())


@pytest.mark.parametrize("keyword, near", [("cpus", "cpu"), ("mem", "memory"), ("Type", "type"),
                                           ("Constraint", "Constraints"), ("nodepool", "NodePool")])
def test_unknown_keywords_of_a_job_are_refused(keyword, near):
    with pytest.raises(TypeError, match=f"no keyword '{keyword}'; did you mean '{near}'"):
        berth.job("x", **{keyword: 500})


def test_fields_of_a_job_are_those_of_nomads_api():
    from berth.inputs import JOB_FIELDS
    assert berth.Job(berth.job("x", **{field: None for field in JOB_FIELDS})).warnings == []
    assert berth.Job(berth.job("x", Meta={"a": "b"}, NodePool="default")).id == "x"
    assert any("no job has this key" in text
               for text in berth.Job({"Job": {**berth.job("x")["Job"], "Nonsense": 1}}).warnings)


@pytest.mark.parametrize("strategy", [5, None, 1.5])
def test_what_is_no_strategy_is_refused(strategy):
    with pytest.raises(TypeError, match="strategy: has to be a name or a function"):
        cluster_of(1).score_by(strategy)


# ---------------------------------------------------------------- living

def living_of(count=4, **config):
    cluster = berth.LivingCluster(**config)
    for node in berth.nodes(count):
        cluster.add_node(node)
    return cluster


def running(cluster):
    allocs = cluster.view().allocs
    return int(((allocs.text("client") == "running") & (allocs.text("desired") == "run")).sum())


def test_a_cluster_lives():
    cluster = living_of()
    cluster.register(berth.job("web", count=3))
    assert running(cluster) == 0
    start = cluster.now_s
    cluster.advance(10)
    assert cluster.now_s == pytest.approx(start + 10) and running(cluster) == 3
    victim = cluster.view().nodes.text("id")[cluster.view().allocs["node"][0]]
    cluster.set_reachable(victim, False)
    cluster.advance(120)
    nodes = cluster.view().nodes
    assert nodes.text("status")[list(nodes.text("id")).index(victim)] == "down" and running(cluster) == 3
    cluster.set_reachable(victim, True)
    cluster.advance(60)
    assert set(cluster.view().nodes.text("status")) == {"ready"}
    cluster.drain(victim)
    cluster.advance(60)
    assert cluster.view().nodes["eligible"].sum() == 3
    cluster.end_drain(victim)
    cluster.scale_job("web", "group", 1)
    cluster.advance(30)
    assert running(cluster) == 1
    cluster.stop_job("web")
    cluster.advance(30)
    assert running(cluster) == 0 and cluster.heartbeats > 0


def test_deployments():
    def job(command):
        value = berth.job("web", count=3)
        value["Job"]["Update"] = {"Canary": 1, "MaxParallel": 1, "MinHealthyTime": 10**9, "HealthyDeadline": 60 * 10**9,
                                  "ProgressDeadline": 120 * 10**9}
        value["Job"]["TaskGroups"][0]["Tasks"][0]["Config"] = {"command": command}
        return value

    def last():
        return max(cluster.view().deployments(), key=lambda each: each["job_version"])

    cluster = living_of()
    cluster.register(job("/bin/one"))
    cluster.advance(60)
    assert last()["status"] == "successful"
    cluster.register(job("/bin/two"))
    cluster.advance(30)
    assert last()["status"] == "running" and last()["groups"][0]["desired_canaries"] == 1
    cluster.pause_deployment(last()["id"])
    assert last()["status"] == "paused"
    cluster.pause_deployment(last()["id"], False)
    cluster.promote(last()["id"], ["group"])
    cluster.advance(60)
    assert last()["status"] == "successful" and last()["groups"][0]["promoted"]
    with pytest.raises(berth.Error):
        cluster.fail_deployment(last()["id"])
    with pytest.raises(berth.UnknownObject, match="no deployment nope"):
        cluster.set_health("nope", [])


def test_lives_repeat():
    def digest(seed):
        cluster = living_of(seed=seed)
        cluster.register(berth.job("sums", type="batch", count=6))
        cluster.advance(300)
        return cluster.digest

    assert digest(1) == digest(1) != digest(2)


# ---------------------------------------------------------------- errors

@pytest.mark.parametrize("call, error, text", [
    (lambda: berth.Cluster(order="random"), ValueError, "order: no 'random'; one of nomad, mix, lazy, identity"),
    (lambda: berth.Cluster(algorithm="best"), ValueError, "algorithm: no 'best'"),
    (lambda: berth.Cluster.from_file("no-such-file.json"), berth.Error, "no-such-file.json: "),
    (lambda: berth.Cluster.from_json("{"), berth.Error, "-:"),
    (lambda: berth.Cluster.from_workload("no-such-workload"), berth.Error, "no-such-workload"),
    (lambda: berth.Job({"Job": {"ID": "x"}}), berth.Error, "Missing job task groups"),
    (lambda: berth.Job({"Job": {"ID": 5}}), berth.Error, "/ID|/Job/ID"),
    (lambda: cluster_of(1).add_node({"ID": "x"}), berth.Error, "node ID"),
    (lambda: cluster_of(1).set_node("00000000-0000-4000-8000-000000000000"), berth.UnknownObject, "no node"),
    (lambda: cluster_of(1).schedule("nope"), berth.UnknownObject, "no job nope"),
    (lambda: cluster_of(1).score_by("no-such-strategy"), berth.Error, "no-such-strategy"),
    (lambda: living_of(1).advance(-1), ValueError, "seconds: has to be"),
    (lambda: living_of(1).advance(float("nan")), ValueError, "seconds: has to be"),
    (lambda: living_of(1).drain("nope"), berth.UnknownObject, "no node nope"),
    (lambda: berth.nodes(-1), ValueError, "count: -1"),
    (lambda: berth.run("no-such-workload"), berth.Error, "no-such-workload"),
])
def test_errors_are_exceptions_with_the_engines_texts(call, error, text):
    if call.__code__.co_names[1:2] == ("run",):
        pytest.importorskip("pandas")
    with pytest.raises(error, match=text):
        call()


# ---------------------------------------------------------------- whole workloads

def test_run_and_compare_are_frames():
    pytest.importorskip("pandas")
    frame = berth.run("quickstart", label="smoke", seeds=[1, 2])
    assert frame.index.tolist() == [1, 2] and (frame["placed_share"] > 0.5).all() and frame["digest"].nunique() == 2
    assert frame.attrs["reports"][0]["format"] == "berth-run"
    again = berth.run("quickstart", label="smoke", seeds=[1])
    assert again["digest"][1] == frame["digest"][1]
    compared = berth.compare("quickstart", ["nomad-binpack", "first-fit"], label="smoke", seeds=2)
    assert compared.index.names == ["strategy",
                                    "seed"] and len(compared) == 4 and "fragmentation" in " ".join(compared.columns)


def test_queue_policies_pass_through():
    frame = berth.run("waiting", label="smoke", queue="shortest")
    assert frame.attrs["reports"][0]["settings"]["queue"] == "shortest"
    assert 0 < frame["wait_mean_s"][1] < frame["wait_p99_s"][1] and 0 < frame["fairness"][1] <= 1
    compared = berth.compare("waiting", ["nomad-binpack"], label="smoke", seeds=2, queue="fifo,shortest")
    assert list(compared.index.get_level_values("strategy").unique()) == ["fifo", "shortest"] and len(compared) == 4


def test_quotas_reclaim_what_others_borrowed():
    lost = {}
    for reclaim in ("yes", "no"):
        queue = "quota:analytics=0.4:dev=0.3:research=0.3:reclaim=" + reclaim
        frame = berth.run("waiting", label="smoke", queue=queue)
        lost[reclaim] = frame.attrs["reports"][0]["waiting"]["lost_s"]
    assert lost["yes"] > 0 and lost["no"] == 0  # evicted jobs start again from their beginning


def test_gangs_start_whole_or_are_given_up(tmp_path):
    path = tmp_path / "gangs.toml"
    path.write_text("""name = "gangs"
departures = true
[cluster]
nodes = 16
racks = 4
[[cluster.shapes]]
name = "std"
cores = 16
[jobs]
count = 60
[[jobs.mix]]
name = "train"
type = "batch"
count = [2, 4]
cpu_mhz = 24_000
memory_mb = 1000
run_time_s = [120, 900]
gang = true
gang_timeout = "5m"
gang_topology = "same:meta.rack"
[arrivals]
process = "poisson"
rate_per_s = 0.05
""")
    waiting = berth.run(str(path)).attrs["reports"][0]["waiting"]
    assert waiting["gangs"] == waiting["gangs_started"] + waiting["gangs_given_up"] == 60
    assert waiting["gangs_started"] > 0 and waiting["gangs_given_up"] > 0
    with pytest.raises(berth.Error, match="free"):
        berth.run("waiting", label="smoke", queue="fifo", order="free")


def test_scheduler_perf_is_a_workload():
    path = "tests/sim/kubernetes/performance-config.yaml"
    frame = berth.run(path, label="Basic/20Nodes")
    assert frame["placed"][1] == 80
    assert any("measured" in line for line in frame.attrs["reports"][0]["approximate"])


def test_functions_take_part_in_comparisons():
    pytest.importorskip("pandas")

    def fullest(nodes, task):
        return 1 - nodes.free[:, 1] / nodes.capacity[:, 1]

    def first(nodes, task):
        return np.zeros(len(nodes.tasks))

    frame = berth.compare("openb-like", ["nomad-binpack", first, "first-fit", fullest], label="smoke", seeds=2)
    assert frame.index.get_level_values("strategy").unique().tolist() == ["nomad-binpack", "first", "first-fit",
                                                                          "fullest"]
    assert frame.index.get_level_values("seed").tolist() == frame.loc["nomad-binpack"].index.tolist() * 4
    regret = {"regret_mean", "regret_p99", "not_best_percent"}  # only of strategies that compare a sample of the nodes
    assert set(frame.columns[frame.isna().any()]) == regret, "functions have every metric that the program has"
    # The same score everywhere takes the first feasible node, as first-fit does: the same placements, to every metric
    # that is no speed.
    digests, seeds = frame.attrs["digests"], frame.loc["first"].index
    assert [digests["first", seed] for seed in seeds] == [digests["first-fit", seed] for seed in seeds]
    same = [name for name in frame.columns if not name.startswith(("decisions", "latency")) and name not in regret]
    assert (frame.loc["first", same] == frame.loc["first-fit", same]).all().all()
    assert [digests["fullest", seed] for seed in seeds] != [digests["first", seed] for seed in seeds]

    def wrong(nodes, task):
        raise RuntimeError("not today")

    with pytest.raises(RuntimeError, match="not today"):
        berth.compare("openb-like", ["first-fit", wrong], label="smoke", seeds=1)
    with pytest.raises(ValueError, match="one of berth's own"):
        berth.compare("openb-like", [first], label="smoke")
    with pytest.raises(ValueError, match="two are called 'first'"):
        berth.compare("openb-like", ["first-fit", first, first], label="smoke")
    with pytest.raises(ValueError, match="with preemption only"):
        berth.compare("saturated", ["best-fit", first], label="smoke", preemption="nomad")
    with pytest.raises(TypeError, match="5 is no name"):
        berth.compare("openb-like", ["best-fit", 5], label="smoke")
    with pytest.raises(berth.Error, match="is not packed"):
        berth.compare("recover-lost", ["nomad-binpack", first], seeds=1)
