"""Signals of a running graph that the page plots: which there are, and their values now."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flexarm_core.robot.description import RobotDescription
from flexarm_core.types import Array
from flexarm_nodes import topics
from flexarm_tools.view.arm_shape import ArmShape
from flexarm_tools.view.live_inputs import LiveInputs
from flexarm_tools.view.plots import PlotSpec
from flexarm_tools.view.sample import ViewSample

Newest = Callable[[str], Any]
MILLI = 1e3


def live_sample(inputs: LiveInputs, description: RobotDescription) -> ViewSample | None:
    """The arm as the newest messages have it; None before its joints are known. What is not finite is left out.

    The deflection is that of the joint states, which sensors or the plant publish, else what an estimator says.
    """
    state = inputs.newest(topics.JOINT_STATES, at_most=math.inf)
    if state is None:
        return None
    elastic = {joint.name for joint in description.elastic}
    values = _named(state.name, state.position)
    position = {name: value for name, value in values.items() if name in description.joints and name not in elastic}
    bent = inputs.newest(topics.FLEXIBLE_STATE) or inputs.newest(topics.TRUE_FLEXIBLE_STATE)
    deflection = _named(bent.elastic_joints, bent.deflection) if bent is not None else {}
    deflection = {name: value for name, value in (deflection | values).items() if name in elastic}
    modes = _named(bent.modes, bent.modal_position) if bent is not None else {}
    wanted, in_base = np.full(3, np.nan), False
    reference = inputs.newest(topics.CARTESIAN_REFERENCE)
    if reference is not None and reference.header.frame_id in (description.root, description.base_frame):
        point = reference.pose.position
        tracked = np.array(reference.axes[:3])
        wanted = np.array([point.x, point.y, point.z]) if tracked.any() else wanted
        in_base = reference.header.frame_id != description.root
    force = np.full(3, np.nan)
    wrench = inputs.newest(inputs.wrenches[0]) if inputs.wrenches else None
    if wrench is not None:
        force = _vector(wrench.wrench.force)
    time = state.header.stamp.sec + 1e-9 * state.header.stamp.nanosec
    return ViewSample(time, position, deflection, modes, wanted, in_base, force)


class LiveSignals:
    """Plots for a robot, and their newest values."""

    def __init__(self, shape: ArmShape, inputs: LiveInputs) -> None:
        """Choose the plots by what the robot has."""
        self._shape, self._inputs = shape, inputs
        self._description = description = shape.description
        self._joints = description.actuated
        kinds = {joint.name: description.joints[joint.name].kind for joint in description.elastic}
        self._shifts = tuple(name for name, kind in kinds.items() if kind == "prismatic")
        self._turns = tuple(name for name, kind in kinds.items() if kind != "prismatic")
        self._modes: tuple[str, ...] = ()
        self.specs: tuple[PlotSpec, ...] = self._choose()

    def _choose(self) -> tuple[PlotSpec, ...]:
        specs = [PlotSpec("Base deflection", "mm", self._shifts), PlotSpec("Base rotation", "mrad", self._turns)]
        specs.append(PlotSpec("Modes of the links", "√kg·mm", self._modes))
        specs += [PlotSpec(_force_title(topic), "N", ("x", "y", "z")) for topic in self._inputs.wrenches]
        specs.append(PlotSpec("Joint effort", "N·m | N", self._joints))
        specs.append(PlotSpec("Joint error", "mrad | mm", self._joints))
        if self._inputs.newest(topics.TRUE_JOINT_FRICTION) is not None:
            specs.append(PlotSpec("True joint friction", "N·m | N", self._joints))
        if self._inputs.newest(topics.BASE_WRENCH_ESTIMATE) is not None:
            specs.append(PlotSpec("Estimated joint friction", "N·m | N", self._joints))
        if self._inputs.newest(topics.BASE_REACTION) is not None:
            specs.append(PlotSpec("Commanded reaction on the base", "N", ("x", "y", "z")))
        specs.append(PlotSpec("Tool error", "mm", ("distance",)))
        return tuple(spec for spec in specs if spec.labels)

    def changed(self, sample: ViewSample) -> bool:
        """Look at which messages there are; return whether that asks for other plots."""
        self._modes = tuple(sample.modes) or self._modes
        titles = {spec.title for spec in self.specs}
        # plots that are there stay: a node that died leaves its last curve
        added = tuple(spec for spec in self._choose() if spec.title not in titles)
        self.specs = (*self.specs, *added)
        return bool(added)

    def values(self, sample: ViewSample) -> dict[str, Array]:
        """Values now by title of the plot, NaN where not known."""
        newest, names = self._inputs.newest, self._joints
        state, friction = newest(topics.JOINT_STATES), newest(topics.TRUE_JOINT_FRICTION)
        estimate, reaction = newest(topics.BASE_WRENCH_ESTIMATE), newest(topics.BASE_REACTION)
        reference = newest(topics.JOINT_REFERENCE)
        wanted = _row(names, _named(reference.names, reference.position)) if reference is not None else _unknown(names)
        distance = np.linalg.norm(self._shape.tool(sample, 1.0) - self._shape.reference(sample, 1.0))
        found = {
            "Base deflection": MILLI * _row(self._shifts, sample.deflection),
            "Base rotation": MILLI * _row(self._turns, sample.deflection),
            "Modes of the links": MILLI * _row(self._modes, sample.modes),
            "Joint effort": _row(names, _named(state.name, state.effort)) if state is not None else _unknown(names),
            "Joint error": MILLI * (wanted - _row(names, sample.position)),
            "True joint friction": _row(names, _named(friction.name, friction.effort)) if friction else _unknown(names),
            "Estimated joint friction": _row(names, _named(estimate.names, estimate.friction))
            if estimate
            else _unknown(names),
            "Commanded reaction on the base": _vector(reaction.wrench.force) if reaction else np.full(3, np.nan),
            "Tool error": np.array([MILLI * distance]),
        }
        for topic in self._inputs.wrenches:
            wrench = newest(topic)
            found[_force_title(topic)] = _vector(wrench.wrench.force) if wrench is not None else np.full(3, np.nan)
        return {spec.title: found[spec.title] for spec in self.specs}


def _force_title(topic: str) -> str:
    return f"Force, {topic}"


def _named(names: Sequence[str], values: Sequence[float]) -> dict[str, float]:
    """Finite values by name; none where there are not as many as names."""
    if len(names) != len(values):
        return {}
    return {name: float(value) for name, value in zip(names, values, strict=True) if math.isfinite(value)}


def _row(names: Sequence[str], values: dict[str, float]) -> Array:
    return np.array([values.get(name, math.nan) for name in names])


def _unknown(names: Sequence[str]) -> Array:
    return np.full(len(names), math.nan)


def _vector(vector: Any) -> Array:
    return np.array([vector.x, vector.y, vector.z])
