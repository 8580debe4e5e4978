"""Signals of a running graph for the plots: selection and current values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from flexarm_core.flexible_dynamics.arm_sample import ArmSample
from flexarm_core.flexible_dynamics.deflected_arm import DeflectedArm
from flexarm_core.types import Array
from flexarm_nodes.markers.arm_samples import arm_sample, finite_by_name
from flexarm_nodes.node import topics
from flexarm_tools.view.live_inputs import LiveInputs
from flexarm_tools.view.plots import PlotSpec

MILLI = 1e3
SILENT_AFTER = 2.0  # [s] wall time
KEPT = {topics.JOINT_STATES: math.inf}


def live_sample(inputs: LiveInputs, arm: DeflectedArm) -> ArmSample | None:
    """Return the arm's state from the latest messages, without non-finite values; None before the joints are known.

    If joint states are silent, the last ones are kept; all other data is dropped after a timeout.
    """
    sample = arm_sample(lambda topic: inputs.newest(topic, KEPT.get(topic, SILENT_AFTER)), arm)
    contact = inputs.newest(topics.TRUE_CONTACT_WRENCH)
    if sample is None or contact is None or contact.header.frame_id.rpartition("/")[2] != arm.description.root:
        return sample
    return replace(sample, contact_force=_vector(contact.wrench.force))


class LiveSignals:
    """Plots for a robot, and their latest values."""

    def __init__(self, arm: DeflectedArm, inputs: LiveInputs) -> None:
        """Choose the plots that fit the robot."""
        self._arm, self._inputs = arm, inputs
        self._description = description = arm.description
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

    def changed(self, sample: ArmSample) -> bool:
        """Check which messages are available; return whether more plots are needed."""
        self._modes = tuple(sample.modes) or self._modes
        titles = {spec.title for spec in self.specs}
        # existing plots are kept: the last curve of an ended node remains visible
        added = tuple(spec for spec in self._choose() if spec.title not in titles)
        self.specs = (*self.specs, *added)
        return bool(added)

    def values(self, sample: ArmSample) -> dict[str, Array]:
        """Return the current values by title of the plot, NaN where unknown."""
        newest, names = self._inputs.newest, self._joints
        state, friction = newest(topics.JOINT_STATES), newest(topics.TRUE_JOINT_FRICTION)
        estimate, reaction = newest(topics.BASE_WRENCH_ESTIMATE), newest(topics.BASE_REACTION)
        reference = newest(topics.JOINT_REFERENCE)
        wanted = _row(names, finite_by_name(reference.names, reference.position) if reference is not None else {})
        distance = np.linalg.norm(self._arm.tool(sample, 1.0) - self._arm.reference(sample, 1.0))
        found = {
            "Base deflection": MILLI * _row(self._shifts, sample.deflection),
            "Base rotation": MILLI * _row(self._turns, sample.deflection),
            "Modes of the links": MILLI * _row(self._modes, sample.modes),
            "Joint effort": _row(names, finite_by_name(state.name, state.effort) if state else {}),
            "Joint error": MILLI * (wanted - _row(names, sample.position)),
            "True joint friction": _row(names, finite_by_name(friction.name, friction.effort) if friction else {}),
            "Estimated joint friction": _row(
                names, finite_by_name(estimate.names, estimate.friction) if estimate else {}
            ),
            "Commanded reaction on the base": _vector(reaction.wrench.force) if reaction else np.full(3, np.nan),
            "Tool error": np.array([MILLI * distance]),
        }
        for topic in self._inputs.wrenches:
            wrench = newest(topic)
            found[_force_title(topic)] = _vector(wrench.wrench.force) if wrench is not None else np.full(3, np.nan)
        return {spec.title: found[spec.title] for spec in self.specs}


def _force_title(topic: str) -> str:
    return f"Force, {topic}"


def _row(names: Sequence[str], values: dict[str, float]) -> Array:
    return np.array([values.get(name, math.nan) for name in names])


def _vector(vector: Any) -> Array:
    return np.array([vector.x, vector.y, vector.z])
