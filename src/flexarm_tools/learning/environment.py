"""ScenarioEnv: a scenario as an environment of Gymnasium, over the run in one process.

Plant, stages and gate are those of the run; the agent takes the place of a node: it observes the sensor readings, and
commands the arm through an input of the suite. Each command goes through the gate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from flexarm_core.entrance import finite
from flexarm_core.errors import ConfigError, FlexarmError
from flexarm_core.hardware_gate.state_machine import GateState
from flexarm_core.types import Array
from flexarm_core.uri import resolve_uri
from flexarm_tools.learning.actions import TOOL_TWIST, Bounds, by_name, is_number, led_by, make_action
from flexarm_tools.learning.observations import USUAL, Observations
from flexarm_tools.metrics.all import METRICS, MetricOptions
from flexarm_tools.recording.recording import Recording
from flexarm_tools.run.in_process import ProcessRun
from flexarm_tools.scenario.file import load_scenario
from flexarm_tools.scenario.scenario import Scenario
from flexarm_tools.scenario.study import is_study, is_sweep
from flexarm_tools.sweep.sweep import Sweep
from flexarm_tools.sweep.sweep_file import load_sweep
from flexarm_tools.yaml_file.document import nearest

LARGEST_SEED = 2**31


class ScenarioEnv(gymnasium.Env[Array, Array]):
    """A run of a scenario that an agent controls step by step.

    Terminated: the gate has tripped, or the run cannot go on; ``info["why"]`` says why. Truncated: the scenario's
    duration is over. Equal seeds and actions give equal observations and rewards, to the last bit.

    Attributes:
        observation_names: (o) names of the numbers of an observation.
        action_names: (a) names of the components of an action.
        velocity_limit: (n,) velocity limits of the joints, infinite where there are none [rad/s | m/s].
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - Gymnasium's own

    def __init__(
        self,
        scenario: str | Path | Scenario,
        *,
        action: str = TOOL_TWIST,
        parameters: Bounds | None = None,
        rate: float = 10.0,
        observation: Sequence[str] = USUAL,
        reward: Mapping[str, float] | None = None,
        render_mode: str | None = None,
    ) -> None:
        """Prepare a scenario.

        Args:
            scenario: scenario file, its URI, or a scenario; of a sweep, every episode is a run that is drawn from it.
            action: where the agent leads: ``tool_twist``, ``joint_velocity`` or ``parameters``.
            parameters: lowest and highest value of each live parameter that is part of the action, by STAGE.NAME.
            rate: steps a second of simulation time [Hz]; a whole number of ticks each, at least 2.
            observation: signals that the agent sees.
            reward: weights of metrics, by name, over the ticks of the step; None: no reward.
            render_mode: none is known.

        Raises:
            ConfigError: a file is wrong, a name unknown, or the scenario needs nodes.
        """
        if render_mode is not None:
            raise ConfigError(f"render_mode '{render_mode}' is unknown: save recording(), and flexarm view shows it")
        if not is_number(rate):
            raise ConfigError(f"rate: expected steps a second, got {rate!r}")
        if isinstance(observation, str):
            raise ConfigError(f"observation: expected a list of signals, got {observation!r}")
        self._sweep, given = _read(scenario)
        self._action_name = action
        self._bounds = by_name("parameters", parameters, "{'STAGE.NAME': (lowest, highest)}")
        self._scenario = led_by(replace(given, mode="lockstep"), action)
        self._rate = float(rate)
        self._every = self._ticks_of_a_step(given)
        self._weights = by_name("reward", reward, "weights of metrics by name")
        for name, weight in self._weights.items():
            if name not in (known := [*METRICS, *self.own_metrics]):
                raise ConfigError(f"there is no metric '{name}'; {nearest(name, known)}see docs/scenario.md")
            if not is_number(weight) or not math.isfinite(weight):
                raise ConfigError(f"the weight of '{name}' must be a finite number, got {weight!r}")
        run = ProcessRun(self._scenario)
        self._chosen = tuple(observation)
        self._enter(run)
        self.action_names = self._action.names
        for end in (-1.0, 1.0):  # the outermost values are refused here, not in the middle of an episode
            self._action.apply(run, 0, np.full(len(self.action_names), end))
        self.observation_names = (*self._signals.names, *self._more_names())
        count, actions = len(self.observation_names), len(self.action_names)
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (count,), np.float64)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (actions,), np.float64)
        self._run: ProcessRun | None = None

    @property
    def own_metrics(self) -> tuple[str, ...]:
        """Names of metrics that only this environment has."""
        return ()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Begin an episode; return the first sensor readings, and info.

        Args:
            seed: of this episode and those after it; None: go on with the one before.
            options: not used.
        """
        super().reset(seed=seed)
        info: dict[str, Any] = {}
        scenario, noise = self._scenario, int(self.np_random.integers(LARGEST_SEED))
        if self._sweep is None:
            scenario = replace(scenario, plant=scenario.plant | {"seed": noise})
        else:
            info["run"] = number = int(self.np_random.integers(self._sweep.count))
            scenario = led_by(self._sweep.scenario(number), self._action_name)
            self._every = self._ticks_of_a_step(scenario)
        self._run, self._row, self._ended = ProcessRun(scenario), 0, False
        self._ticks = scenario.ticks
        self._enter(self._run)
        self._begin(self._run)
        self._said = self._run.measure(0)
        return self._observe(), info

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Command the arm for one step.

        Args:
            action: (a,) -1 to 1; more is cut off.

        Returns:
            Observation, reward, whether the run cannot go on, whether its time is over, and info: ``metrics`` by name,
            the state of the ``gate``, and ``why`` it stops or trips.

        Raises:
            InputError: the action is not a finite numbers.
        """
        if self._run is None or self._ended:
            raise gymnasium.error.ResetNeeded("the episode is over: call reset()")
        run, first, why = self._run, self._row, ""
        given = finite("action", action, len(self.action_names))
        try:
            self._action.apply(run, self._said.stamp, np.clip(given, -1.0, 1.0))
            while self._row < min(first + self._every, self._ticks):
                command = run.answer(self._row)
                run.record(self._row)
                self._row += 1
                if run.gate.status.state is GateState.TRIPPED:
                    break
                run.plant.advance(command)
                self._said = run.measure(self._row)
        except FlexarmError as error:
            why = str(error)
        status = run.gate.status
        terminated = bool(why) or status.state is GateState.TRIPPED
        truncated = not terminated and self._row >= self._ticks
        self._ended = terminated or truncated
        found = self._metrics(min(first, self._row - 2)) if self._row >= 2 and not why else {}
        known = {name: value for name, value in found.items() if math.isfinite(value)}
        reward = sum(self._weights[name] * value for name, value in known.items())
        info = {"metrics": found, "gate": status.state.name.lower(), "why": why or status.reason}
        return self._observe(), float(reward), terminated, truncated, info

    def recording(self) -> Recording:
        """Return the recording of the episode so far, in the form of any run.

        Raises:
            ConfigError: the episode has not begun.
        """
        if self._run is None or self._row < 2:
            raise ConfigError("there is no recording before the first step")
        return self._run.recording(0, self._row)

    def _ticks_of_a_step(self, scenario: Scenario) -> int:
        ticks = scenario.rate / self._rate if self._rate > 0.0 else 0.0
        if round(ticks) < 2 or abs(ticks - round(ticks)) > 1e-9 * ticks:
            raise ConfigError(
                f"{self._rate:g} steps a second are no whole number of ticks, 2 or more, of {scenario.rate:g} Hz"
            )
        return round(ticks)

    def _enter(self, run: ProcessRun) -> None:
        """Take the entry and the signals of a run; those of a sweep may differ in robot and limits."""
        self._action = make_action(run, self._action_name, self._bounds)
        self._signals = Observations(run, self._chosen)
        self.velocity_limit = run.model.velocity_limit

    def _metrics(self, first: int) -> dict[str, float]:
        """Return the metrics of the reward over the ticks since the first one; NaN: it cannot be measured there."""
        if not self._weights:
            return {}
        assert self._run is not None
        recording = self._run.recording(first, self._row)
        own = self._own_metrics(recording)
        return {
            name: own[name] if name in own else METRICS[name].measure(recording, MetricOptions()).value
            for name in self._weights
        }

    def _observe(self) -> Array:
        return np.concatenate([self._signals.read(self._said), self._more()])

    # For environments with a task of their own ------------------------------------------------------------------------

    def _more_names(self) -> tuple[str, ...]:
        """Return the names of what the agent sees beside the sensors."""
        return ()

    def _begin(self, run: ProcessRun) -> None:
        """Begin an episode."""

    def _more(self) -> Array:
        """Return what the agent sees beside the sensors."""
        return np.zeros(0)

    def _own_metrics(self, recording: Recording) -> dict[str, float]:
        """Return the metrics that only this environment has, over the ticks of a step."""
        return {}


def _read(scenario: str | Path | Scenario) -> tuple[Sweep | None, Scenario]:
    if isinstance(scenario, Scenario):
        return None, scenario
    path = resolve_uri(scenario) if isinstance(scenario, str) and "://" in scenario else Path(scenario)
    if is_study(path):
        raise ConfigError(f"'{path}' compares several scenarios: an environment is one of those that it names")
    if is_sweep(path):
        sweep = load_sweep(path)
        return sweep, sweep.scenario(0)
    return None, load_scenario(path)
