"""Tunes the weights of a formula with Optuna, then judges it on the test split."""

import argparse

import optuna

import berth

FORMULA = "expr:-({cpu}*left_cpu/total_cpu+{memory}*left_memory/total_memory+if(total_gpu>0,{gpu}*left_gpu/total_gpu,0))"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workload", default="openb-like")
    parser.add_argument("--label", default="smoke")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--score", default="-fragmentation_percent",
                        help="metric of berth compare; -NAME where less is better")
    arguments = parser.parse_args()
    how = {"workloads": arguments.workload, "seeds": arguments.seeds, "label": arguments.label,
           "score": arguments.score}

    def objective(trial: optuna.Trial) -> float:
        weights = {name: round(trial.suggest_float(name, -1, 1), 3) for name in ("cpu", "memory", "gpu")}
        return berth.evaluate(FORMULA.format(**weights), **how).score

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=1))
    study.optimize(objective, n_trials=arguments.trials)
    best = FORMULA.format(**{name: round(value, 3) for name, value in study.best_params.items()})
    for policy in (best, "best-fit"):
        test = berth.evaluate(policy, split="test", **how)
        print(f"{policy}\n  {arguments.score}: {berth.evaluate(policy, **how).score:.3f}, test split {test.score:.3f}, digest {test.digest}")


if __name__ == "__main__":
    main()
