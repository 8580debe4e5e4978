"""Environments for learning: steps a second of one, of two in processes of their own, and that none throws the arm."""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the nodes have it

import sys
import time
from collections.abc import Iterator

import gymnasium
import numpy as np
import table

import flexarm_tools.learning  # noqa: F401 - registers the environments
from flexarm_tools.learning.planar_reach import PlanarReach
from flexarm_tools.metrics.figures import Figure, parse_goal

NAME = "flexarm/PlanarReach-v0"
STEPS, TIMES = 80, 5  # of an episode, and episodes of which the best counts
LONG = 2000  # steps of an agent that acts at random


def one() -> Iterator[Figure]:
    """Steps of one environment, and what its resets cost."""
    env, rng, best, resets = PlanarReach(), np.random.default_rng(1), np.inf, np.inf
    for episode in range(TIMES):
        begin = time.process_time()
        env.reset(seed=episode)
        middle = time.process_time()
        for _ in range(STEPS):
            env.step(rng.uniform(-1.0, 1.0, 2))
        resets, best = min(resets, middle - begin), min(best, time.process_time() - middle)
    meaning = "steps of 0.1 s (25 ticks) of PlanarReach a second of CPU time, one core"
    details = {"realtime_factor": 0.1 * STEPS / best, "reset_ms": 1e3 * resets}
    yield Figure("env_steps_per_second", STEPS / best, "1/s", None, meaning, details=details)


def two() -> Iterator[Figure]:
    """Two environments in processes of their own."""
    envs = gymnasium.make_vec(NAME, 2, vectorization_mode="async")
    try:
        envs.reset(seed=1)
        begin = time.perf_counter()
        for _ in range(STEPS - 1):
            envs.step(envs.action_space.sample())
        took = time.perf_counter() - begin
    finally:
        envs.close()
    yield Figure(
        "env_steps_per_second_2", 2.0 * (STEPS - 1) / took, "1/s", None, "the same of two, a second of wall time"
    )


def thrown() -> Iterator[Figure]:
    """An agent that acts at random, at times at full speed for long."""
    env, rng, done, worst, ends = PlanarReach(), np.random.default_rng(2), True, 0.0, 0
    held, action = 0, np.zeros(2)
    for step in range(LONG):
        if done:
            env.reset(seed=step)
        if held == 0:
            held = int(rng.integers(1, 25))
            action = rng.choice([-1.0, 1.0], 2) if rng.random() < 0.5 else rng.uniform(-1.0, 1.0, 2)
        held -= 1
        _, _, terminated, truncated, _ = env.step(action)
        done, ends = terminated or truncated, ends + terminated
        if done:
            run = env.recording()
            worst = max(worst, float((np.abs(run.velocity).max(axis=0) / env.velocity_limit).max()))
    meaning = f"fastest joint over its limit in {LONG} steps of an agent that acts at random"
    yield Figure("env_random_fastest", worst, "1", parse_goal("<= 1.1"), meaning, details={"terminated": float(ends)})


if __name__ == "__main__":
    sys.exit(table.run("environments", [one, two, thrown]))
