"""`berth.evaluate`: what it returns, that it repeats, and what it refuses."""

import numpy as np
import pytest

import berth

SMALL = {"workloads": "openb-like", "seeds": 2, "label": "smoke"}
TIGHT = "expr:-(left_cpu/total_cpu+left_memory/total_memory)"


def test_formulas_strategies_and_functions_decide_alike():
    def tight(nodes, task):
        """As TIGHT, held to 0..1 by another order: halves and 1 less."""
        left = (nodes.free[:, :2] - task.ask[:2]) / nodes.capacity[:, :2]
        return 1 - left.sum(axis=1) / 2

    first = berth.evaluate("expr:0", **SMALL)
    assert first.digest == berth.evaluate("first-fit", **SMALL).digest
    assert first.digest == berth.evaluate(lambda nodes, task: np.zeros(len(nodes.tasks)), **SMALL).digest
    formula, function = berth.evaluate(TIGHT, **SMALL), berth.evaluate(tight, **SMALL)
    assert formula.digest != first.digest
    assert formula.score == pytest.approx(function.score, abs=0.5)


def test_runs_and_scores():
    one = berth.evaluate(TIGHT, ["openb-like", "quickstart"], [3, 5], label="smoke", score="-fragmentation_percent",
                         workers=2)
    assert [(run["workload"], run["seed"]) for run in one.runs] == [("openb-like", 3), ("openb-like", 5),
                                                                    ("quickstart", 3), ("quickstart", 5)]
    assert one.score == pytest.approx(-np.mean([run["fragmentation_percent"] for run in one.runs]))
    again = berth.evaluate(TIGHT, ["openb-like", "quickstart"], [3, 5], label="smoke",
                           score=lambda metrics: metrics["cpu_percent"])
    assert again.digest == one.digest and len(one.digest) == 16
    assert again.score == pytest.approx(np.mean([run["cpu_percent"] for run in one.runs]))
    # A run is one of `berth compare`.
    metrics, digest = berth._berth.PackingTrial("quickstart", "smoke", 5).pack(TIGHT)
    assert (digest, metrics["placed_percent"]) == (one.runs[3]["digest"], one.runs[3]["placed_percent"])


def test_power_is_a_metric_where_the_workload_gives_it():
    saving = berth.evaluate("expr:-power_added", score="-power_mean_kw", **SMALL)
    assert saving.digest == berth.evaluate("expr:-power_added*2", **SMALL).digest
    assert saving.score > berth.evaluate("worst-fit", score="-power_mean_kw", **SMALL).score
    assert all(run["energy_kwh"] > 0 for run in saving.runs)
    with pytest.raises(ValueError, match="no metric 'energy_kwh'"):
        berth.evaluate(TIGHT, "quickstart", seeds=1, label="smoke", score="energy_kwh")


def test_the_test_split_tells_one_number(monkeypatch):
    trained = berth.evaluate(TIGHT, **SMALL)
    hidden = berth.evaluate(TIGHT, split="test", **SMALL)
    assert hidden.runs == [] and hidden.split == "test" and hidden.digest != trained.digest
    assert berth.evaluate(TIGHT, split="test", **SMALL).digest == hidden.digest, "the same hidden runs for every policy"
    monkeypatch.setenv("BERTH_TEST_KEY", "of a judge")
    assert berth.evaluate(TIGHT, split="test", **SMALL).digest != hidden.digest
    with pytest.raises(ValueError, match="a function would see the runs"):
        berth.evaluate(TIGHT, split="test", score=len, **SMALL)


def test_a_function_scores_only_nodes_that_changed():
    scored = 0

    def count(nodes, task):
        nonlocal scored
        scored += len(nodes.tasks)
        return np.zeros(len(nodes.tasks))

    trial = berth._berth.PackingTrial("quickstart", "smoke", 1)
    metrics, digest = trial.pack(count)
    assert digest == trial.pack("first-fit")[1]
    nodes, tasks = 1000, 2000  # of the smoke size, about
    assert 0 < scored < nodes * tasks / 10, "not every node for every task"


@pytest.mark.parametrize("call, error, text", [
    (lambda: berth.evaluate("expr:2*fre_cpu", **SMALL), berth.Error,
     r"character 3: there is no such column: 2\*\{fre_cpu\}; did you mean 'free_cpu'"),
    (lambda: berth.evaluate("bestfit", **SMALL), berth.Error, "did you mean 'best-fit'"),
    (lambda: berth.evaluate(5, **SMALL), TypeError, "5 is no name, formula or function"),
    (lambda: berth.evaluate("expr:0", "no-such"), berth.Error, "there is no such file"),
    (lambda: berth.evaluate("expr:0", []), ValueError, "at least one workload"),
    (lambda: berth.evaluate("expr:0", seeds=0), ValueError, "at least one workload and one seed"),
    (lambda: berth.evaluate("expr:0", split="tests"), ValueError, "there is no split 'tests'"),
    (lambda: berth.evaluate("expr:0", score="placed", **SMALL), ValueError,
     "there is no metric 'placed'; valid: placed_percent"),
    (lambda: berth.evaluate("expr:0", score=lambda metrics: None, **SMALL), TypeError, "has to be a number"),
    (lambda: berth.evaluate(lambda nodes, task: np.full(len(nodes.tasks), 2.0), **SMALL), ValueError, "outside 0..1"),
    (lambda: berth.evaluate(lambda nodes, task: 1 // 0, **SMALL), ZeroDivisionError, "by zero"),
])
def test_mistakes_are_told(call, error, text):
    with pytest.raises(error, match=text):
        call()
