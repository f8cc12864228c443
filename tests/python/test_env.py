"""`berth.Env` and `berth.VectorEnv`: Gymnasium's own checks, views without copies, masks, and the digests of berth's
strategies."""

import numpy as np
import pytest

import berth

gymnasium = pytest.importorskip("gymnasium")


def play(env, choose):
    """An episode; the sum of the rewards and the last info."""
    observation, info = env.reset()
    total, ended = 0.0, False
    while not ended:
        observation, reward, ended, truncated, info = env.step(choose(observation))
        assert not truncated
        total += reward
    return total, info


@pytest.mark.parametrize("workload", ["openb-like", "quickstart"])  # without departures, and with
def test_the_first_feasible_node_is_first_fit(workload):
    env = berth.Env(workload, label="smoke")
    run = berth.evaluate("first-fit", workload, [1], label="smoke").runs[0]
    for _ in range(2):  # an episode leaves nothing behind
        total, info = play(env, lambda observation: int(np.argmax(observation["mask"])))
        assert info["digest"] == run["digest"]
        assert 100 * info["placed"] / info["asked"] == pytest.approx(run["placed_percent"])
        assert total == info["placed"] - info["asked"]


def test_a_formula_over_the_arrays_decides_as_the_engine():
    def tight(observation):
        left = (observation["free"][:, :2] - observation["ask"][:2]) / observation["capacity"][:, :2]
        score = -(left[:, 0] + left[:, 1])
        return int(np.argmax(np.where(observation["mask"], score, -np.inf)))

    _, info = play(berth.Env("openb-like", label="smoke", seed=2), tight)
    assert info["digest"] == berth.evaluate("expr:-(left_cpu/total_cpu+left_memory/total_memory)", "openb-like", [2],
                                            label="smoke").runs[0]["digest"]


def test_gymnasium_finds_nothing_to_object_to():
    from gymnasium.utils.env_checker import check_env

    check_env(berth.Env("openb-like", label="smoke", copy=True), skip_render_check=True)


def test_copies_stay_as_they_were():
    env = berth.Env("openb-like", label="smoke", copy=True)
    first, info = env.reset()
    row = int(np.argmax(first["mask"]))
    second, *_ = env.step(row)
    assert not np.shares_memory(first["free"], second["free"]) and not np.shares_memory(first["mask"],
                                                                                        info["action_mask"])
    assert (first["free"][row] != second["free"][row]).any()


def test_observations_are_views_that_follow_the_engine():
    env = berth.Env("openb-like", label="smoke")
    first, _ = env.reset()
    row, before = int(np.argmax(first["mask"])), first["free"].copy()
    ask = first["ask"].copy()
    second, _, _, _, info = env.step(row)
    assert np.shares_memory(first["free"], second["free"]) and np.may_share_memory(first["free"], first["capacity"])
    assert (before[row] - second["free"][row] == ask).all(), "the placement is seen"
    assert (np.delete(before, row, axis=0) == np.delete(first["free"], row, axis=0)).all()
    assert (info["action_mask"] == second["mask"]).all() and env.action_masks().dtype == bool
    assert (second["free"][second["mask"] != 0] >= second["ask"]).all(), "feasible nodes have room"
    with pytest.raises(ValueError, match="read-only"):
        second["free"][0, 0] = 1


def test_a_row_outside_the_mask_misses_the_task():
    env = berth.Env("openb-like", label="smoke")
    env.reset()
    free = env.step(-1)[0]["free"].copy()
    _, reward, *_ = env.step(10**9)
    assert reward <= -1 and (env.step(-1)[0]["free"] == free).all()


def test_another_seed_has_other_inputs():
    env = berth.Env("openb-like", label="smoke")
    one, _ = env.reset(seed=3)
    one = one["capacity"].copy()
    other, _ = env.reset(seed=4)
    assert (one != other["capacity"]).any()
    assert (env.reset(seed=3)[0]["capacity"] == one).all()


def test_worlds_are_independent_and_begin_again():
    env = berth.VectorEnv("openb-like", 5, label="smoke")
    observation, info = env.reset()
    assert observation["free"].shape == (5, 200, 4) and info["action_mask"].shape == (5, 200)
    expected = berth.evaluate("first-fit", "openb-like", [1], label="smoke").runs[0]["digest"]
    random, ends = np.random.default_rng(1), np.zeros(5, int)
    digests = [[] for _ in range(5)]
    for _ in range(5000):
        mask = observation["mask"].astype(bool)
        drawn = np.where(mask, random.random(mask.shape), -1).argmax(axis=1)
        actions = np.where(np.arange(5) < 3, mask.argmax(axis=1), drawn)  # three worlds first-fit, two at random
        observation, rewards, ended, truncated, info = env.step(actions)
        assert rewards.shape == (5,) and not truncated.any()
        for world in np.flatnonzero(ended):
            digests[world].append(info["digest"][world])
        ends += ended
        if (ends >= 2).all():
            break
    assert (ends >= 2).all(), "every world ended twice"
    assert set(digests[0] + digests[1] + digests[2]) == {expected}
    assert expected not in digests[3] + digests[4] and digests[3][0] != digests[4][0]


def test_bad_arguments_are_told():
    with pytest.raises(ValueError, match="wants 3 rows"):
        berth.VectorEnv("openb-like", 3, label="smoke").step([1, 2])
    with pytest.raises(ValueError, match="1 to 65536"):
        berth.VectorEnv("openb-like", 0, label="smoke")
    with pytest.raises(berth.Error, match="there is no such file"):
        berth.Env("no-such")
