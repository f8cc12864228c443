"""Bins that best fit and the rules found by FunSearch (Nature 2024) need for items that arrive one by one. `berth.Env`
takes rules that see all bins at once, as the one for the Weibull instances does."""

import argparse

import numpy as np

import berth


def best_fit(item, bins):
    return -bins


def funsearch_or3(item, bins):
    """The rule published for OR3: a score by the room that is left."""
    limits = [2, 3, 5, 7, 9, 12, 15, 21]
    return np.array([4, 3, 2, 1, 0.9, 0.95, 0.97, 0.98, 0.99])[np.searchsorted(limits, bins - item)]


def funsearch_weibull(item, bins):
    """The rule published for the Weibull instances (Apache-2.0): the score of a bin depends on the bin before it."""
    score = (bins - bins.max()) ** 2 / item + bins**2 / item**2 + bins**2 / item**3
    score[bins > item] *= -1
    score[1:] -= score[:-1].copy()
    return score


def pack(env, seed, rule):
    """Bins used, the sum of all items over the size of a bin, and the digest of the placements."""
    observation, info = env.reset(seed=seed)
    unit, items, ended = 10, 0, False  # an item of 1 is 10 MiB of memory
    while not ended:
        item = observation["ask"][1] / unit
        fitting = np.flatnonzero(observation["mask"])
        row = fitting[np.argmax(rule(item, observation["free"][fitting, 1] / unit))]
        items += item
        observation, _, ended, _, info = env.step(row)
    return np.count_nonzero(observation["tasks"]), items * unit / observation["capacity"][0, 1], info["digest"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--label", default="smoke", help="smoke, or3, or full: Weibull, 5,000 items")
    parser.add_argument("--seeds", type=int, default=2)
    arguments = parser.parse_args()
    env = berth.Env("bin-packing", label=arguments.label)
    for rule in (best_fit, funsearch_or3, funsearch_weibull):
        packed = [pack(env, seed, rule) for seed in range(1, arguments.seeds + 1)]
        bins, least = (np.mean([one[i] for one in packed]) for i in (0, 1))
        excess = 100 * (bins / least - 1)
        print(f"{rule.__name__:<18} {bins:8.2f} bins, {excess:5.2f} % above {least:.2f}, the sum of all sizes")
        if rule is best_fit:  # the same rule as a formula makes the same placements
            runs = berth.evaluate("expr:-left_memory", "bin-packing", arguments.seeds, label=arguments.label).runs
            assert [run["digest"] for run in runs] == [one[2] for one in packed]


if __name__ == "__main__":
    main()
