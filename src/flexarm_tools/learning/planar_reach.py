"""PlanarReach: bring the tool to a target without shaking the base."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.types import Array
from flexarm_tools.learning.actions import is_number
from flexarm_tools.learning.environment import ScenarioEnv
from flexarm_tools.learning.observations import tool_position
from flexarm_tools.recording.recording import Recording
from flexarm_tools.run.in_process import ProcessRun
from flexarm_tools.scenario.scenario import Scenario

SCENARIO = "package://flexarm/config/planar_3r/scenarios/reach.yaml"
REWARD = {"distance": -1.0, "peak_base_deflection": -10.0}
MORE = ("to_target/x", "to_target/y")


class PlanarReach(ScenarioEnv):
    """A target in the plane of the base link's x and y axes, drawn in a square around where the tool begins.

    The agent also sees the way from the measured tool to the target. Metrics of its own: ``distance`` of the true tool
    to the target at the end of the step [m], and ``reached``, 1 within ``tolerance``.
    """

    def __init__(
        self,
        scenario: str | Path | Scenario = SCENARIO,
        *,
        spread: float = 0.25,
        tolerance: float = 0.01,
        reward: Mapping[str, float] | None = None,
        **others: Any,
    ) -> None:
        """Prepare a scenario; other arguments are those of :class:`ScenarioEnv`.

        Args:
            scenario: scenario in which the arm moves.
            spread: half the side of the square from which targets are drawn [m].
            tolerance: distance at which the target counts as reached [m].
            reward: weights of metrics by name; None: REWARD.
            others: see :class:`ScenarioEnv`.

        Raises:
            ConfigError: as for :class:`ScenarioEnv`.
        """
        if not all(is_number(one) and 0.0 < one < np.inf for one in (spread, tolerance)):
            raise ConfigError(f"spread and tolerance must be > 0 and finite, got {spread!r} and {tolerance!r}")
        self._spread, self._tolerance = spread, tolerance
        super().__init__(scenario, reward=REWARD if reward is None else reward, **others)

    @property
    def own_metrics(self) -> tuple[str, ...]:
        """``distance`` and ``reached``."""
        return "distance", "reached"

    def _more_names(self) -> tuple[str, ...]:
        return MORE

    def _begin(self, run: ProcessRun) -> None:
        self._model, self._place = run.model, _true_tool(run)
        self._target = self._place + self.np_random.uniform(-self._spread, self._spread, 2)

    def _more(self) -> Array:
        joints = self._said.joints
        if joints is not None and np.isfinite(joints.position).all():
            self._place = tool_position(self._model, self._said.stamp, joints.position)[:2]
        return self._target - self._place

    def _own_metrics(self, recording: Recording) -> dict[str, float]:
        distance = float(np.linalg.norm(recording.tool_position_in_base[-1, :2] - self._target))
        return {"distance": distance, "reached": float(distance <= self._tolerance)}


def _true_tool(run: ProcessRun) -> Array:
    """Return where the tool begins (2,), which the target does not depend on noise of."""
    return tool_position(run.model, 0, run.plant.state().position)[:2]
