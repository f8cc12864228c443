"""`evaluate`: scores a candidate policy, for programs that search for a better one."""

from __future__ import annotations

import functools
import hashlib
import math
import os
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Iterable, Sequence, Union

from ._berth import PackingTrial


Policy = Union[str, Callable[..., Any]]
Score = Union[str, Callable[[dict], float]]
_PUBLIC_KEY = "berth test split 1"


@functools.lru_cache(maxsize=64)
def _trial(workload: str, label: str, seed: int) -> PackingTrial:
    return PackingTrial(workload, label, seed)


def _digest(parts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _hidden_seeds(workload: str, label: str, count: int) -> list[int]:
    """Seeds above 2^40, which no search uses by accident; another BERTH_TEST_KEY gives other seeds."""
    key = os.environ.get("BERTH_TEST_KEY", _PUBLIC_KEY)
    texts = (f"{key}\n{workload}\n{label}\n{number}" for number in range(count))
    return [2**40 + int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big") for text in texts]


class Evaluation:
    """Result of `evaluate`.

    score: mean of the chosen measure over all runs; greater is better
    digest: 16 hex digits over workload, seed and placements of every run; evaluating the policy again gives the same
    runs: one dict per workload and seed with its metrics and `digest`; empty for the test split, which returns only the
    score and the digest
    seconds: time taken, without reading the workloads"""

    def __init__(self, score: float, digest: str, runs: list[dict], split: str, seconds: float) -> None:
        self.score, self.digest, self.runs, self.split, self.seconds = score, digest, runs, split, seconds

    def __repr__(self) -> str:
        return f"<berth.Evaluation of {self.split}: score {self.score:.4f}, digest {self.digest}>"

    def frame(self):
        """The runs as a pandas.DataFrame, indexed by workload and seed."""
        import pandas

        return pandas.DataFrame(self.runs).set_index(["workload", "seed"])


def evaluate(policy: Policy, workloads: Union[str, Sequence[str]] = "quickstart", seeds: Union[int, Iterable[int]] = 3,
             *, label: str = "full",
             split: str = "train", score: Score = "placed_percent", workers: int = 1) -> Evaluation:
    """Packs every workload with `policy`, once per seed, as `berth compare` does.

    policy: "expr:FORMULA", the name of a strategy, or a function of (nodes, task) over arrays as for `Cluster.score_by`
    seeds: a number n for 1..n, or the seeds; a seed determines cluster, jobs and visiting order, the same for every
    policy
    score: name of a metric, "-name" where less is better, or a function of a run's metrics that returns a number
    workers: threads; functions in Python take turns anyway
    split: "test" takes as many hidden seeds in place of `seeds`, and returns only the mean of a metric and a digest.
    They derive from the environment variable BERTH_TEST_KEY, else from a public key: that keeps a search from fitting
    to them by accident. To judge the searches of others, set a key that they do not know, and evaluate in a process of
    your own: nothing in one process is hidden from its code.

    Workloads are read once per process (the 64 used last are kept). Raises berth.Error with the engine's line, such as
    the place of a mistake in a formula, and what a function raises."""
    names = [workloads] if isinstance(workloads, str) else list(workloads)
    wanted = list(range(1, seeds + 1)) if isinstance(seeds, int) else list(seeds)
    if not names or not wanted:
        raise ValueError("evaluate: name at least one workload and one seed")
    if split not in ("train", "test"):
        raise ValueError(f"evaluate: there is no split {split!r}; use train or test")
    if not isinstance(policy, str) and not callable(policy):
        raise TypeError(f"evaluate: {policy!r} is no name, formula or function of (nodes, task)")
    hidden = split == "test"
    if hidden and callable(score):
        raise ValueError(
            "evaluate: in the test split the score is a metric: a function would see the runs that are hidden")
    pairs = [(name, seed) for name in names for seed in (_hidden_seeds(name, label, len(wanted)) if hidden else wanted)]
    with ThreadPoolExecutor(max(1, min(workers, len(pairs)))) as pool:
        trials = list(pool.map(lambda pair: _trial(pair[0], label, pair[1]), pairs))
        begin = time.perf_counter()
        packed = list(pool.map(lambda trial: trial.pack(policy), trials))
        seconds = time.perf_counter() - begin
    runs, scores = [], []
    for (workload, seed), (metrics, digest) in zip(pairs, packed):
        runs.append({"workload": workload, "seed": seed, **metrics, "digest": digest})
        scores.append(_score_of(score, metrics))
    digest = _digest(f"{run['workload']} {label} {run['seed']} {run['digest']}" for run in runs)
    return Evaluation(math.fsum(scores) / len(scores), digest, [] if hidden else runs, split, seconds)


def _score_of(score: Score, metrics: dict) -> float:
    if callable(score):
        value = score(dict(metrics))
        if not isinstance(value, (int, float)):
            raise TypeError(f"evaluate: the score has to be a number, got {value!r}")
        return float(value)
    name = score[1:] if score.startswith("-") else score
    if name not in metrics:
        raise ValueError(f"evaluate: there is no metric {name!r}; valid: {', '.join(metrics)}")
    return -metrics[name] if score.startswith("-") else metrics[name]
