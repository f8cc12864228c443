"""Packing as an environment of Gymnasium: one step places one task. `pip install 'berth[gym]'` brings Gymnasium."""

from __future__ import annotations

from typing import Any

import numpy as np

try:
    import gymnasium
    from gymnasium.vector.utils import batch_space
except ImportError as error:
    raise ImportError("berth.Env needs gymnasium: pip install 'berth[gym]'") from error

from ._berth import PackingWorlds
from .search import _trial


def _space(arrays: dict[str, np.ndarray]) -> gymnasium.spaces.Dict:
    """The observation space of one world, bounded by the types. Free amounts are negative only in some imported
    clusters."""
    spaces = {}
    for name, array in arrays.items():
        low, high = (0, 1) if name == "mask" else (np.iinfo(array.dtype).min, np.iinfo(array.dtype).max)
        spaces[name] = gymnasium.spaces.Box(low, high, array.shape[1:], array.dtype)
    return gymnasium.spaces.Dict(spaces)


class Env(gymnasium.Env):
    """One workload, task by task, in the order of its arrival; tasks leave when their run time is over.

    action: the row of the node for the current task; the engine chooses the GPU that is fullest. A row outside the mask
        misses the task.
    observation: a dict of read-only NumPy views of the engine's memory, which change with the next step (copy them to
        keep them):
        free, capacity  (nodes, 4) int32: MHz, MiB, MiB of disk, thousandths of a GPU
        tasks, gpu_tasks  (nodes,) int32: tasks on the node, of these with GPUs
        devices  (nodes, most GPUs of a node) int16: free thousandths of each
        mask  (nodes,) uint8: 1 where the engine finds the current task feasible
        ask  (4,) int32, as free; gpus, gpu_milli, priority  () int32: the current task
    reward: minus the number of tasks missed by this step; tasks that fit nowhere are missed without a step. All rewards
    of an episode sum to
        minus all tasks missed after its first step.
    info: action_mask, the mask; when the episode ends also asked, placed and digest, that of `berth.evaluate` for the
    same placements.

    With copy=True observations are copies, for learners that keep them.
    `reset(seed=s)` uses the workload's inputs of seed s (0 or greater); without a seed, the same inputs again."""

    metadata = {"render_modes": []}
    render_mode = None

    def __init__(self, workload: str = "quickstart", *, label: str = "full", seed: int = 1, copy: bool = False) -> None:
        self._workload, self._label, self._seed, self._copy = workload, label, seed, copy
        self._worlds, self._arrays = None, {}
        self._load(seed)
        self.observation_space = _space(self._arrays)
        self.action_space = gymnasium.spaces.Discrete(self._worlds.nodes)

    def _load(self, seed: int) -> None:
        worlds = PackingWorlds(_trial(self._workload, self._label, seed), 1)
        arrays = worlds.arrays()
        if self._worlds is not None and any(arrays[name].shape != array.shape for name, array in self._arrays.items()):
            raise ValueError(
                f"seed {seed} of {self._workload} has another number of nodes or GPUs; make a new Env for it")
        self._seed, self._worlds, self._arrays = seed, worlds, arrays
        self._observation = {name: array[0, ...] for name, array in arrays.items()}

    def _seen(self) -> tuple[dict, dict[str, Any]]:
        """Observation and info."""
        mask = self._observation["mask"]
        info = {"action_mask": mask.copy() if self._copy else mask}
        if self._worlds.ended(0):
            info.update(self._worlds.outcome(0))
        return {name: array.copy() if self._copy else array for name, array in self._observation.items()}, info

    def reset(self, *, seed: int | None = None, options: dict | None = None):
        super().reset(seed=seed)
        if seed is not None and seed != self._seed:
            self._load(seed)
        else:
            self._worlds.restart(0)
        return self._seen()

    def step(self, action):
        missed = self._worlds.step(np.array([action], np.int64))
        observation, info = self._seen()
        return observation, -float(missed[0]), self._worlds.ended(0), False, info

    def action_masks(self) -> np.ndarray:
        """The mask as bool, in the form that MaskablePPO of sb3-contrib expects."""
        return self._observation["mask"].astype(bool)


class VectorEnv(gymnasium.vector.VectorEnv):
    """`num_envs` worlds of one workload and seed, each like `Env`; they share nodes, classes and arrivals. The first
    dimension of arrays is the world. A world that has ended starts again with the next step (Gymnasium's NEXT_STEP),
    which ignores its action."""

    metadata = {"render_modes": [],
                "autoreset_mode": getattr(getattr(gymnasium.vector, "AutoresetMode", None), "NEXT_STEP", None)}

    def __init__(self, workload: str = "quickstart", num_envs: int = 64, *, label: str = "full", seed: int = 1) -> None:
        self.num_envs = num_envs
        self._worlds = PackingWorlds(_trial(workload, label, seed), num_envs)
        self._arrays = self._worlds.arrays()
        self.single_observation_space = _space(self._arrays)
        self.single_action_space = gymnasium.spaces.Discrete(self._worlds.nodes)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._ended = np.zeros(num_envs, bool)

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self._arrays["mask"]}

    def reset(self, *, seed: int | None = None, options: dict | None = None):
        """All worlds begin again. The workload's seed is the one of the constructor."""
        for world in range(self.num_envs):
            self._worlds.restart(world)
        self._ended[:] = False
        return dict(self._arrays), self._info()

    def step(self, actions):
        again = np.flatnonzero(self._ended)
        missed = self._worlds.step(actions)
        for world in again:
            self._worlds.restart(int(world))
        self._ended = np.fromiter((self._worlds.ended(world) for world in range(self.num_envs)), bool, self.num_envs)
        info = self._info()
        for world in np.flatnonzero(self._ended):
            for name, value in self._worlds.outcome(int(world)).items():
                info.setdefault(name, [None] * self.num_envs)[world] = value
        return dict(self._arrays), -missed.astype(np.float64), self._ended.copy(), np.zeros(self.num_envs, bool), info
