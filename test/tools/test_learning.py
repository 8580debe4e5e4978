"""Environments for learning: the run of the scenario, seen by an agent, with the gate between it and the arm."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from live import LiveGraph, own_domain
from sweeps import write_sweep

import flexarm_tools.learning  # noqa: F401 - registers the environments
from flexarm_core.errors import ConfigError, InputError
from flexarm_tools.learning.environment import ScenarioEnv
from flexarm_tools.learning.planar_reach import PlanarReach
from flexarm_tools.process.progress import Progress
from flexarm_tools.recording.recording import Recording, load_recording
from flexarm_tools.run.in_process import run_in_process
from flexarm_tools.run.session import run_file
from flexarm_tools.scenario.file import load_scenario
from flexarm_tools.scenario.scenario import Scenario

ROOT = Path(__file__).resolve().parents[2]
CONFIG = ROOT / "config"
REACH = "planar_3r/scenarios/reach"
DAMPING = "rns_vibration_controller.damping_ratio"
WRENCH = "behavior_impedance_controller.press.wrench[0]"


def scenario(name: str = REACH, **changes: Any) -> Scenario:
    return replace(load_scenario(CONFIG / f"{name}.yaml"), **changes)


def short(name: str = REACH, duration: float = 0.8, **plant: Any) -> Scenario:
    given = scenario(name)
    events = tuple(event for event in given.events if event.at < duration)
    return replace(given, duration=duration, events=events, figures=(), plant=given.plant | plant)


def episode(env: gymnasium.Env, seed: int, policy) -> tuple[np.ndarray, list[float], dict[str, Any]]:
    """Observations, rewards and the last info of an episode."""
    seen, rewards = [env.reset(seed=seed)[0]], []
    terminated = truncated = False
    while not (terminated or truncated):
        observation, reward, terminated, truncated, info = env.step(policy(seen[-1], len(rewards)))
        seen.append(observation)
        rewards.append(reward)
    return np.array(seen), rewards, info | {"terminated": terminated}


def swings(size: int = 2):
    return lambda _, step: np.sin(0.7 * step + np.arange(size))


def fields_that_differ(first: Recording, second: Recording, but: tuple[str, ...] = ()) -> list[str]:
    found = []
    for one in fields(first):
        a, b = getattr(first, one.name), getattr(second, one.name)
        same = np.array_equal(a, b, equal_nan=a.dtype.kind == "f") if isinstance(a, np.ndarray) else repr(a) == repr(b)
        if not same and one.name not in but:
            found.append(one.name)
    return found


@pytest.mark.parametrize("name", ["flexarm/PlanarReach-v0", "flexarm/Scenario-v0"])
def test_the_environments_pass_gymnasiums_own_check(name):
    env = gymnasium.make(name, scenario=short())
    check_env(env.unwrapped)
    assert gymnasium.spec(name).entry_point.startswith("flexarm_tools.learning.")


def test_equal_seeds_and_actions_give_equal_trajectories_to_the_bit_and_others_do_not():
    env = PlanarReach(short())
    first, rewards, _ = episode(env, 3, swings())
    other, _, _ = episode(env, 4, swings())
    again, same, _ = episode(env, 3, swings())
    fresh, new, _ = episode(PlanarReach(short()), 3, swings())
    assert first.tobytes() == again.tobytes() == fresh.tobytes() and rewards == same == new
    assert (first != other).any(axis=0).sum() >= 10
    assert len(rewards) == 8 and np.ptp(first, axis=0).max() > 0.01
    env.reset(seed=3)
    followed = env.reset()[0]  # the next episode of the same stream
    assert not np.array_equal(followed, first[0])
    env.reset(seed=3)
    assert env.reset()[0].tobytes() == followed.tobytes()


def test_an_agent_that_does_nothing_gives_the_run_of_the_scenario_bit_for_bit():
    env = ScenarioEnv(short())
    episode(env, 5, lambda *_: np.zeros(2))
    seed = env._run._scenario.plant["seed"]
    run = run_in_process(short(seed=seed), Progress(""))
    assert not fields_that_differ(env.recording(), run)
    assert env.recording().ticks == 200 and np.isfinite(run.reference_position).all()


def test_the_agent_sees_what_the_sensors_read_and_not_the_state_of_the_plant():
    noise = {"sensors.joint_position.noise": [1e-3], "sensors.joint_position.dropout_intervals": [0.3, 0.45]}
    env = ScenarioEnv(short(**noise), observation=("position", "base_ft_sensor", "tool_position"))
    assert env.observation_names[:4] == ("position/joint1", "position/joint2", "position/joint3", "base_ft_sensor/fx")
    seen, _, info = episode(env, 1, swings())
    true = env.recording().position[::25]
    error = seen[:8, :3] - true
    at = np.array([0, 1, 2, 5, 6, 7])  # steps at whose begin the encoders work
    assert 3e-4 < error[at].std() < 3e-3 and error.any(axis=0).all()
    np.testing.assert_array_equal(seen[3, :3], seen[4, :3])  # lost: the last one
    assert not np.array_equal(seen[5, :3], seen[4, :3])
    assert np.isfinite(seen).all() and info["gate"] in ("running", "stopping")
    place = env.recording().tool_position_in_base[::25]
    assert 1e-5 < np.abs(seen[:8, 9:] - place)[at].max() < 2e-2


def test_the_reward_is_the_weighted_sum_of_the_metrics_of_the_step():
    env = PlanarReach(short(), reward={"distance": -2.0, "peak_base_deflection": -10.0, "settling_periods": 5.0})
    env.reset(seed=2)
    _, reward, _, _, info = env.step(np.ones(2))
    found = info["metrics"]
    assert set(found) == {"distance", "peak_base_deflection", "settling_periods"}
    last = env.recording()
    assert found["peak_base_deflection"] == np.abs(last.deflection).max()
    assert found["distance"] == pytest.approx(np.linalg.norm(last.tool_position_in_base[-1, :2] - env._target))
    known = sum(w * found[n] for n, w in env._weights.items() if np.isfinite(found[n]))
    assert reward == pytest.approx(known) and reward < 0.0
    env.step(np.ones(2))
    _, _, _, _, later = env.step(-np.ones(2))
    whole, step = env.recording(), env.recording().time >= 0.2 - 1e-9
    assert later["metrics"]["peak_base_deflection"] == np.abs(whole.deflection[step]).max()


def test_a_policy_that_goes_to_the_target_reaches_it_and_the_base_rests():
    env = PlanarReach(short(duration=4.0))
    for seed in range(3):
        seen, _, info = episode(env, seed, lambda o, _: np.clip(o[-2:] / 0.15, -1.0, 1.0))
        assert np.linalg.norm(seen[0, -2:]) > 0.05
        assert info["metrics"]["distance"] < 2e-3 and not info["terminated"]
        assert np.abs(env.recording().deflection).max() < 1e-3


def test_a_trip_of_the_gate_ends_the_episode_and_says_why():
    env = ScenarioEnv(short(**{"sensors.joint_position.frozen_intervals": [0.2, 9.0]}))
    seen, _, info = episode(env, 1, lambda *_: np.array([1.0, 0.5]))
    assert info["terminated"] and info["gate"] == "tripped" and len(seen) < 8
    assert "position" in info["why"]
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(np.zeros(2))
    env.reset(seed=1)
    assert not env.step(np.zeros(2))[2]


@pytest.mark.long
def test_parameters_of_behaviors_are_actions():
    name = "arm_7r/scenarios/behaviors"
    env = ScenarioEnv(short(name, 1.6), action="parameters", parameters={WRENCH: (10.0, 30.0)}, observation=("effort",))
    assert env.action_names == (WRENCH,)
    pressed = {}
    for action in (-1.0, 1.0):
        episode(env, 0, lambda *_, action=action: np.array([action]))
        pressed[action] = -env.recording().contact_wrench[-100:, 0].mean()
    assert pressed[-1.0] == pytest.approx(10.0, rel=0.05) and pressed[1.0] == pytest.approx(30.0, rel=0.05)


def test_behaviors_that_follow_an_operator_follow_an_agent():
    env = ScenarioEnv(short("arm_7r/scenarios/behaviors", 0.5))
    assert env.action_names == ("vx", "vy", "vz", "wx", "wy", "wz")
    episode(env, 0, lambda *_: np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0]))
    assert np.ptp(env.recording().tool_position[:, 2]) > 0.02


def test_a_study_gives_each_episode_another_arm(tmp_path):
    env = ScenarioEnv(write_sweep(tmp_path), action="parameters", parameters={DAMPING: (0.3, 0.9)}, rate=50.0)
    drawn = [env.reset(seed=seed)[1]["run"] for seed in range(6)]
    assert len(set(drawn)) > 2 and set(drawn) <= set(range(6))
    _, _, info = episode(env, 0, lambda *_: np.zeros(1))
    masses = {env._sweep.inputs(number)["masses"] for number in drawn}
    assert len(masses) > 2 and info["gate"] == "running"


def test_a_study_may_vary_rate_and_limits(tmp_path):
    text = f"scenario: {CONFIG / REACH}.yaml\nvary:\n  rate: {{key: rate, grid: [250.0, 500.0]}}\n"
    text += "  fastest: {key: nodes.reference_generator.parameters.max_linear_velocity, grid: [0.1, 0.3]}\n"
    (tmp_path / "rates.yaml").write_text(text, encoding="utf-8")
    env = ScenarioEnv(tmp_path / "rates.yaml")
    reached = {}
    for seed in range(20):
        number = env.reset(seed=seed)[1]["run"]
        for _ in range(5):
            env.step(np.array([0.5, 0.0]))
        recording = env.recording()
        assert recording.time[-1] == pytest.approx(0.5, abs=0.005)
        reached[number] = recording.reference_position[-1, 0] - recording.tool_position[0, 0]
        if len(reached) == 4:
            break
    assert [reached[number] for number in (0, 2)] == pytest.approx([0.0238] * 2, abs=0.001)
    assert [reached[number] for number in (1, 3)] == pytest.approx([0.0638] * 2, abs=0.001)


def test_several_environments_run_in_processes_and_are_what_one_alone_is():
    envs = gymnasium.make_vec("flexarm/PlanarReach-v0", 2, vectorization_mode="async", scenario=short(duration=0.3))
    try:
        seen, _ = envs.reset(seed=[7, 8])
        both = [seen]
        for step in range(3):
            seen, rewards, _, truncated, _ = envs.step(np.tile(swings()(None, step), (2, 1)))
            both.append(seen)
        assert truncated.all() and rewards.shape == (2,)
    finally:
        envs.close()
    for place, seed in enumerate((7, 8)):
        alone, _, _ = episode(PlanarReach(short(duration=0.3)), seed, swings())
        assert np.array(both)[:, place].tobytes() == alone.tobytes()


def thrown(env: ScenarioEnv, steps: int, seed: int) -> tuple[float, float]:
    """Largest velocity of a joint over its limit, and the largest way of a joint, of an agent that acts at random."""
    rng = np.random.default_rng(seed)
    fastest = way = 0.0
    done, action, held = True, np.zeros(len(env.action_names)), 0
    for _ in range(steps):
        if done:
            env.reset(seed=seed)
        if held == 0:  # at times at full speed for long, at times another one in every step
            bang = rng.random() < 0.5
            action = rng.choice([-1.0, 1.0], action.shape) if bang else rng.uniform(-1.0, 1.0, action.shape)
            held = int(rng.integers(1, 25))
        held -= 1
        *_, terminated, truncated, _ = env.step(action)
        done = terminated or truncated
        if done:
            run = env.recording()
            fastest = max(fastest, np.nanmax(np.abs(run.velocity) / env.velocity_limit))
            way = max(way, np.ptp(run.position, axis=0).max())
            seed += 1
    return fastest, way


ARMS = {
    "reach": (REACH, "tool_twist"),
    "arm_7r": ("arm_7r/scenarios/position", "tool_twist"),
    "arm_6r": ("arm_6r/scenarios/damped_least_squares", "tool_twist"),
    "behaviors": ("arm_7r/scenarios/behaviors", "tool_twist"),
    "flexible_2r": ("flexible_2r/scenarios/damped", "joint_velocity"),
}


def test_an_agent_that_acts_at_random_does_not_throw_the_arm():
    fastest, way = thrown(ScenarioEnv(CONFIG / f"{REACH}.yaml"), 160, 5)
    assert fastest <= 1.1 and way > 0.5


@pytest.mark.long
@pytest.mark.parametrize("arm", ARMS)
def test_an_agent_that_acts_at_random_for_long_does_not_throw_an_arm(arm):
    name, action = ARMS[arm]
    fastest, way = thrown(ScenarioEnv(CONFIG / f"{name}.yaml", action=action), 2000, 11)
    assert fastest <= 1.1 and way > 0.5


BAD = (("a", "b"), (None, 1.0), 1.0, (1.0, 2.0, 3.0), (True, 2.0), ("0.1", 1.0), [[0.1], [1.0]], "ab")  # bounds


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"action": "tool_twits"}, "there is no action 'tool_twits'; .*tool_twist.*valid: tool_twist, joint_velocity"),
        ({"observation": ("effort", "effort")}, "a signal is named twice: effort, effort"),
        ({"reward": {"peak_base_deflection": np.nan}}, "of 'peak_base_deflection' must be a finite number, got nan"),
        ({"reward": {"peak_base_deflection": "1"}}, "must be a finite number, got '1'"),
        ({"reward": ["peak_base_deflection"]}, "expected weights of metrics by name"),
        ({"rate": "10"}, "rate: expected steps a second, got '10'"),
        ({"observation": "position"}, "expected a list of signals, got 'position'"),
        ({"action": 5}, "there is no action '5'"),
        ({"action": "parameters", "parameters": [DAMPING]}, "parameters: expected {'STAGE.NAME'"),
        ({"action": "parameters", "parameters": {5: (0.0, 1.0)}}, "there is no parameter '5'"),
        *(({"action": "parameters", "parameters": {DAMPING: bad}}, "expected .lowest, highest., two") for bad in BAD),
        ({"action": "parameters", "parameters": {DAMPING: (-0.5, 1.0)}}, "damping_ratio must lie in .*got -0.5"),
        ({"observation": ("positoin",)}, "there is no signal 'positoin'; .*'position'.*valid: position, velocity"),
        ({"reward": {"peak_base_deflect": 1.0}}, "no metric 'peak_base_deflect'; .*'peak_base_deflection'"),
        ({"rate": 70.0}, "70 steps a second are no whole number of ticks"),
        ({"rate": 250.0}, "2 or more, of 250 Hz"),
        ({"rate": 0.0}, "0 steps a second"),
        ({"action": "parameters"}, r"needs parameters=\{'STAGE.NAME'"),
        ({"action": "parameters", "parameters": {"hardware_gate.rat": (0.0, 1.0)}}, "there is no parameter 'hardware_"),
        ({"action": "parameters", "parameters": {DAMPING: (1.0, 0.3)}}, "lowest value must be below the highest"),
        ({"action": "parameters", "parameters": {"rns_vibration_controller.law": (0.0, 1.0)}}, "no number that an act"),
        ({"action": "parameters", "parameters": {"reference_generator.start": (0.0, 1.0)}}, "start can only change wh"),
        ({"parameters": {DAMPING: (0.3, 1.0)}}, "parameters are for action 'parameters', not for 'tool_twist'"),
        ({"render_mode": "human"}, "render_mode 'human' is unknown"),
    ],
)
def test_what_is_wrong_is_said(arguments, said):
    with pytest.raises(ConfigError, match=said):
        ScenarioEnv(CONFIG / f"{REACH}.yaml", **arguments)


def test_a_scenario_that_nobody_can_lead_is_refused():
    with pytest.raises(ConfigError, match="nobody follows twists"):
        ScenarioEnv(CONFIG / "planar_3r/scenarios/push_damped.yaml")
    with pytest.raises(ConfigError, match="nobody follows joint velocities"):
        ScenarioEnv(CONFIG / "planar_3r/scenarios/push_damped.yaml", action="joint_velocity")
    with pytest.raises(ConfigError, match="task .tool_path.*, which nobody writes"):
        ScenarioEnv(CONFIG / f"{REACH}.yaml", action="joint_velocity")
    with pytest.raises(ConfigError, match="compares several scenarios"):
        ScenarioEnv(CONFIG / "planar_3r/demo_planar.yaml")


@pytest.mark.parametrize("bad", [np.zeros(3), np.array([np.nan, 0.0]), "left", None])
def test_a_bad_action_is_refused_and_the_episode_goes_on(bad):
    env = ScenarioEnv(short())
    env.reset(seed=0)
    with pytest.raises(InputError, match="action"):
        env.step(bad)
    assert not env.step(np.full(2, 99.0))[2]  # cut off
    with pytest.raises(gymnasium.error.ResetNeeded):
        ScenarioEnv(short()).step(np.zeros(2))


def page_file(name: str) -> str:
    text = (ROOT / "docs" / "learning.md").read_text(encoding="utf-8")
    (found,) = re.findall(rf"```python\n(# {re.escape(name)}\n.*?)```", text, re.DOTALL)
    return found


@pytest.mark.long
def test_the_program_of_the_page_learns(tmp_path, monkeypatch):
    text = page_file("train.py")
    for long, brief in (("range(8)", "range(2)"), ("steps=40", "steps=12"), ("(12, 4)", "(8, 4)"), ("[-4:]", "[-2:]")):
        assert text.count(long) == 1
        text = text.replace(long, brief)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(text.replace('PlanarReach-v0")', 'PlanarReach-v0", spread=0.15)'), names)
    found = np.load("gains.npy")
    assert found.shape == (4,) and names["episode"](found, 1) > names["episode"](np.zeros(4), 1)


@pytest.mark.long
def test_the_policy_of_the_page_leads_the_arm_on_the_graph(tmp_path):
    (tmp_path / "policy_node.py").write_text(page_file("policy_node.py"), encoding="utf-8")
    np.save(tmp_path / "gains.npy", np.diag([6.0, 6.0]).ravel())
    (tmp_path / "reach.yaml").write_text(f"base: {CONFIG / REACH}.yaml\ntitle: led\nduration: 8.0\n", encoding="utf-8")
    target = np.array([1.85, 0.1])
    with own_domain():
        policy = subprocess.Popen([sys.executable, "policy_node.py", "1.85", "0.1"], cwd=tmp_path)
        graph = LiveGraph(tmp_path)
        try:
            graph.until(lambda: graph.node.count_publishers("/twist_command") > 0, "the policy", 60.0)
            status = run_file(tmp_path / "reach.yaml", "", tmp_path / "report")  # nodes of this process are forked
        finally:
            graph.close()
            policy.kill()
            policy.wait()
    assert status == 0
    found = load_recording(tmp_path / "report/recordings/reach.npz")
    begin, end = (np.linalg.norm(found.tool_position_in_base[tick, :2] - target) for tick in (0, -1))
    assert begin > 0.15 and end < 0.01
    steps = np.abs(np.diff(np.gradient(found.reference_position[:, 0], found.time))) / np.diff(found.time)
    assert steps.max() < 1.1  # [m/s^2] no steps of velocity are left of the ten a second
