"""An evolutionary search over formulas: tournaments, crossover and mutation of expression trees."""

import argparse
import random

import berth

COLUMNS = [f"{kind}_{dimension}" for kind in ("left", "total", "ask", "mean")
           for dimension in ("cpu", "memory", "gpu")] + ["tasks", "device_free"]
FUNCTIONS = {"+": 2, "-": 2, "*": 2, "/": 2, "min": 2, "max": 2, "abs": 1, "if": 3}


def grow(draw: random.Random, depth: int):
    """A tree: a text, or a tuple of a function and its arguments."""
    if depth == 0 or draw.random() < 0.2:
        return draw.choice(COLUMNS) if draw.random() < 0.8 else f"{draw.uniform(0, 2):.2f}"
    name = draw.choice(list(FUNCTIONS))
    return (name, *(grow(draw, depth - 1) for _ in range(FUNCTIONS[name])))


def text(tree) -> str:
    if isinstance(tree, str):
        return tree
    name, *parts = tree
    return f"({text(parts[0])}{name}{text(parts[1])})" if name in "+-*/" else f"{name}({','.join(map(text, parts))})"


def size(tree) -> int:
    return 1 if isinstance(tree, str) else 1 + sum(map(size, tree[1:]))


def changed(draw: random.Random, tree, new):
    """`tree` with a random part of it replaced by `new`."""
    if isinstance(tree, str) or draw.random() < 0.3:
        return new
    at = draw.randrange(1, len(tree))
    return (*tree[:at], changed(draw, tree[at], new), *tree[at + 1:])


def part(draw: random.Random, tree):
    while not isinstance(tree, str) and draw.random() < 0.6:
        tree = draw.choice(tree[1:])
    return tree


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workload", default="openb-like")
    parser.add_argument("--label", default="smoke")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--population", type=int, default=12)
    parser.add_argument("--generations", type=int, default=4)
    parser.add_argument("--nodes", type=int, default=30, help="largest formula, in numbers, columns and functions")
    parser.add_argument("--score", default="-fragmentation_percent",
                        help="metric of berth compare; -NAME where less is better")
    parser.add_argument("--seed", type=int, default=1, help="of the search")
    arguments = parser.parse_args()
    how = {"workloads": arguments.workload, "seeds": arguments.seeds, "label": arguments.label,
           "score": arguments.score}
    draw = random.Random(arguments.seed)
    known: dict[str, float] = {}

    def score(tree) -> float:
        formula = "expr:" + text(tree)
        if formula not in known:
            known[formula] = berth.evaluate(formula, **how).score
        return known[formula]

    population = [grow(draw, 3) for _ in range(arguments.population)]
    for generation in range(arguments.generations):
        population.sort(key=score, reverse=True)
        print(f"generation {generation}: {score(population[0]):.3f}  {text(population[0])}")
        children = population[:2]  # the best stay
        while len(children) < arguments.population:
            one, other = (max(draw.sample(population, 3), key=score) for _ in range(2))
            child = changed(draw, one, part(draw, other) if draw.random() < 0.7 else grow(draw, 2))
            if size(child) <= arguments.nodes:
                children.append(child)
        population = children
    best = "expr:" + text(max(population, key=score))
    print(f"{len(known)} formulas were tried")
    for policy in (best, "best-fit"):
        test = berth.evaluate(policy, split="test", **how)
        print(f"{policy}\n  {arguments.score}: {berth.evaluate(policy, **how).score:.3f}, test split {test.score:.3f}, digest {test.digest}")


if __name__ == "__main__":
    main()
