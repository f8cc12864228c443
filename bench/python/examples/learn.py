"""A learning baseline: a softmax over weighted features of the nodes, trained by policy gradient in berth.VectorEnv."""

import argparse

import numpy as np

import berth

NAMES = ("left_cpu/max(total_cpu,1)", "left_memory/max(total_memory,1)", "if(total_gpu>0,left_gpu/max(total_gpu,1),0)",
         "tasks/100")


def features(observation) -> np.ndarray:
    """(worlds, nodes, 4): what NAMES says, from the arrays."""
    free, capacity, ask = observation["free"], observation["capacity"], observation["ask"][:, None, :]
    left = (free - ask)[:, :, [0, 1, 3]] / np.maximum(capacity[:, :, [0, 1, 3]], 1)
    left[:, :, 2] = np.where(capacity[:, :, 3] > 0, left[:, :, 2], 0)
    return np.concatenate([left, observation["tasks"][:, :, None] / 100], axis=2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workload", default="openb-like")
    parser.add_argument("--label", default="smoke")
    parser.add_argument("--worlds", type=int, default=8)
    parser.add_argument("--steps", type=int, default=300, help="per update")
    parser.add_argument("--updates", type=int, default=3)
    parser.add_argument("--rate", type=float, default=0.5)
    arguments = parser.parse_args()
    env = berth.VectorEnv(arguments.workload, arguments.worlds, label=arguments.label)
    draw, weights = np.random.default_rng(1), np.zeros(len(NAMES))
    observation, _ = env.reset(seed=1)
    for update in range(arguments.updates):
        gradients, rewards = [], []
        for _ in range(arguments.steps):
            x, mask = features(observation), observation["mask"] != 0
            mask[~mask.any(axis=1)] = True  # a world that has ended: its action does not count
            logits = np.where(mask, x @ weights, -np.inf)
            chances = np.exp(logits - logits.max(axis=1, keepdims=True))
            chances /= chances.sum(axis=1, keepdims=True)
            actions = np.array([draw.choice(env.single_action_space.n, p=row) for row in chances])
            chosen = x[np.arange(arguments.worlds), actions]
            gradients.append(chosen - np.einsum("wn,wnf->wf", chances, x))
            observation, reward, _, _, _ = env.step(actions)
            rewards.append(reward)
        returns = np.cumsum(np.array(rewards)[::-1], axis=0)[::-1]
        advantage = returns - returns.mean(axis=1, keepdims=True)
        weights += arguments.rate * np.einsum("tw,twf->f", advantage,
                                              np.array(gradients)) / (arguments.steps * arguments.worlds)
        print(f"update {update}: {-np.sum(rewards) / arguments.worlds:.2f} tasks missed per world, weights {np.round(weights, 3)}")
    # What was learned is a formula.
    policy = "expr:" + "+".join(f"{weight:.4f}*({name})" for weight, name in zip(weights, NAMES)).replace("+-", "-")
    for judged in (policy, "best-fit"):
        result = berth.evaluate(judged, arguments.workload, 2, label=arguments.label, split="test")
        print(f"{judged}\n  placed {result.score:.3f} % on the test split, digest {result.digest}")


if __name__ == "__main__":
    main()
