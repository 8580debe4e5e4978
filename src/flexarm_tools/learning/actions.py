"""Actions: the inputs of the suite through which an agent commands the arm, each scaled to -1 to 1."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from flexarm_core.behavior_impedance.behavior import ActiveBehavior
from flexarm_core.behavior_impedance.behaviors.teleoperation import Teleoperation
from flexarm_core.errors import ConfigError
from flexarm_core.path.velocity_commands import JointVelocityMotion, TwistMotion
from flexarm_core.pipeline.behavior_stage import BehaviorStage
from flexarm_core.pipeline.reference_stage import ReferenceStage
from flexarm_core.types import Array
from flexarm_tools.run.in_process import ProcessRun
from flexarm_tools.scenario.scenario import Scenario
from flexarm_tools.yaml_file.document import nearest

TOOL_TWIST, JOINT_VELOCITY, PARAMETERS = ACTIONS = ("tool_twist", "joint_velocity", "parameters")
GENERATOR = "reference_generator"
SPACES = {TOOL_TWIST: "twist", JOINT_VELOCITY: "joint_velocity"}
TWIST = ("vx", "vy", "vz", "wx", "wy", "wz")
_ITEM = re.compile(r"(.+)\[(\d+)\]")

Bounds = Mapping[str, tuple[float, float]]


class Action(ABC):
    """An input through which an agent commands the arm.

    Attributes:
        names: (a) names of the components.
    """

    names: tuple[str, ...]

    @abstractmethod
    def apply(self, run: ProcessRun, stamp: int, action: Array) -> None:
        """Give an action (a,) of -1 to 1 to a run, from the sample with this stamp [ns] on."""


class ToolTwist(Action):
    """Twist of the tool, as on the topic twist_command: of the reference generator or of behaviors that follow it."""

    def __init__(self, run: ProcessRun) -> None:
        """Take the axes and limits of who follows twists.

        Raises:
            ConfigError: nobody does.
        """
        stage = run.stages.get(GENERATOR)
        if isinstance(stage, ReferenceStage) and isinstance(motion := stage.motion, TwistMotion):
            axes, limits = motion.config.axes, motion.config.limits
            fastest = limits.linear_velocity, limits.angular_velocity
        else:
            found = [one for one in _behaviors(run) if isinstance(one.behavior, Teleoperation)]
            if not found:
                raise ConfigError(
                    f"nobody follows twists: give the scenario a {GENERATOR}, or a behavior of kind teleoperation"
                )
            settings = found[0].spec.settings
            axes = settings.get("axes", (True,) * 6)
            fastest = tuple(
                settings.get(row.name, row.default)
                for row in Teleoperation.SETTINGS
                if row.name in ("max_linear_velocity", "max_angular_velocity")
            )
        self._axes = np.flatnonzero(axes)
        self._scale = np.repeat(fastest, 3)[self._axes]
        self.names = tuple(TWIST[axis] for axis in self._axes)

    def apply(self, run: ProcessRun, stamp: int, action: Array) -> None:
        """Give a twist."""
        twist = np.zeros(6)
        twist[self._axes] = self._scale * action
        stage = run.stages.get(GENERATOR)
        if isinstance(stage, ReferenceStage) and isinstance(stage.motion, TwistMotion):
            stage.motion.give(stamp, twist)
            return
        for one in _behaviors(run):
            if isinstance(one.behavior, Teleoperation):
                one.behavior.give(stamp, twist)


class JointVelocity(Action):
    """Velocities of the joints, as on the topic joint_velocity_command of the reference generator."""

    def __init__(self, run: ProcessRun) -> None:
        """Take the joints and limits of the reference generator."""
        self.names, self._limit = run.model.joint_names, _joint_motion(run).limit

    def apply(self, run: ProcessRun, stamp: int, action: Array) -> None:
        """Give velocities."""
        _joint_motion(run).give(stamp, self._limit * action)


class LiveParameters(Action):
    """Live parameters of stages, such as the force of a behavior: ``behavior_impedance_controller.press.wrench[0]``."""

    def __init__(self, run: ProcessRun, bounds: Bounds) -> None:
        """Take names with their lowest and highest values.

        Raises:
            ConfigError: there is no such number, it is not live, or its bounds are not in order.
        """
        present, self._items = run.parameters, []
        if not bounds:
            raise ConfigError("action 'parameters' needs parameters={'STAGE.NAME': (lowest, highest)}")
        for name, given in bounds.items():
            low, high = _pair(name, given)
            item = _ITEM.fullmatch(str(name))
            key, index = (item[1], int(item[2])) if item else (name, None)
            value = present.get(key)
            if key not in present:
                raise ConfigError(f"there is no parameter '{key}'; {nearest(key, present)}see docs/parameters.md")
            if isinstance(value, list) and (index is None or index >= len(value)):
                raise ConfigError(f"'{key}' is a list of {len(value)}: name an item, as {key}[0]")
            number = value[index] if isinstance(value, list) and index is not None else value
            if type(number) is not float or (index is not None and not isinstance(value, list)):
                raise ConfigError(f"'{name}' is {number!r}, and no number that an action could be")
            if not -np.inf < low < high < np.inf:
                raise ConfigError(f"'{name}': the lowest value must be below the highest, got {low:g} and {high:g}")
            self._items.append((key, index, low, high))
        run.change({key: present[key] for key, *_ in self._items})  # refuses what is not live
        self.names = tuple(bounds)

    def apply(self, run: ProcessRun, stamp: int, action: Array) -> None:
        """Set the parameters.

        Raises:
            ConfigError: a stage rejects them.
        """
        present, given = run.parameters, {}
        for (key, index, low, high), part in zip(self._items, action.tolist(), strict=True):
            value = low + 0.5 * (part + 1.0) * (high - low)
            if index is None:
                given[key] = value
            else:
                given[key] = list(given.get(key, present[key]))
                given[key][index] = value
        run.change(given)


def is_number(value: object) -> bool:
    """Return whether a value is a number, and no truth value."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def by_name(argument: str, value: object, expected: str) -> dict[str, Any]:
    """Return values by name, none for None.

    Raises:
        ConfigError: it is no mapping.
    """
    if value is not None and not isinstance(value, Mapping):
        raise ConfigError(f"{argument}: expected {expected}, got {value!r}")
    return dict(value or {})


def _pair(name: str, given: object) -> tuple[float, float]:
    """Return the bounds of a parameter.

    Raises:
        ConfigError: they are not two numbers.
    """
    if isinstance(given, Sequence | np.ndarray) and len(given) == 2:
        low, high = given
        if is_number(low) and is_number(high):
            return float(low), float(high)
    raise ConfigError(f"'{name}': expected (lowest, highest), two numbers, got {given!r}")


def led_by(scenario: Scenario, action: str) -> Scenario:
    """Return a scenario whose reference generator follows the actions of an agent.

    Raises:
        ConfigError: there is no such action, or no stage that follows it.
    """
    if action not in ACTIONS:
        raise ConfigError(f"there is no action '{action}'; {nearest(action, ACTIONS)}valid: {', '.join(ACTIONS)}")
    if action == PARAMETERS:
        return scenario
    if action == JOINT_VELOCITY and all(node.executable != GENERATOR for node in scenario.nodes):
        raise ConfigError(f"nobody follows joint velocities: give the scenario a {GENERATOR}")
    nodes = tuple(
        replace(node, parameters=node.parameters | {"space": SPACES[action]}) if node.executable == GENERATOR else node
        for node in scenario.nodes
    )
    return replace(scenario, nodes=nodes)


def make_action(run: ProcessRun, action: str, bounds: Bounds | None) -> Action:
    """Return an action for a run of a scenario that :func:`led_by` has given.

    Raises:
        ConfigError: the run has no such entry.
    """
    if action == PARAMETERS:
        return LiveParameters(run, bounds or {})
    if bounds:
        raise ConfigError(f"parameters are for action '{PARAMETERS}', not for '{action}'")
    return ToolTwist(run) if action == TOOL_TWIST else JointVelocity(run)


def _behaviors(run: ProcessRun) -> list[ActiveBehavior]:
    stage = run.stages.get(BehaviorStage.name)
    return list(stage.controller.behaviors) if isinstance(stage, BehaviorStage) else []


def _joint_motion(run: ProcessRun) -> JointVelocityMotion:
    stage = run.stages[GENERATOR]
    assert isinstance(stage, ReferenceStage) and isinstance(stage.motion, JointVelocityMotion)  # by led_by()
    return stage.motion
