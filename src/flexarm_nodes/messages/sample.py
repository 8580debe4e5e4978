"""SampleReader: converts joint states to samples."""

from __future__ import annotations

from collections.abc import Container

import numpy as np
from sensor_msgs.msg import JointState

from flexarm_core.errors import InputError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import FlexibleSample
from flexarm_nodes.messages.conversions import JointStateSelector, check_finite, stamp_to_nanoseconds


class SampleReader:
    """Selects the joints of one arm, by name and in any order."""

    def __init__(self, model: ArmModel, required: Container[str] = ()) -> None:
        """Read the joints of an arm, and reject joint states without what is required of ``base`` and ``effort``."""
        self._elastic_names, self._n = tuple(model.elastic_joint_names), model.n
        self._select = JointStateSelector((*model.joint_names, *(self._elastic_names if "base" in required else ())))
        self._needs_effort = "effort" in required
        self._joint_names = model.joint_names
        self._named: list[str] | None = None  # names of the newest joint state

    def read(self, message: JointState) -> FlexibleSample:
        """Convert a joint state to a sample without other sensors; an effort that is not reported is NaN.

        Raises:
            InputError: a joint is missing, or its position or velocity, or its required effort, is missing or not
                finite.
        """
        everywhere, rates = np.array(message.position), np.array(message.velocity)
        position, velocity = self._select.select(message.name, everywhere, rates)
        if message.name != self._named:
            self._named = message.name
            place = {name: i for i, name in enumerate(message.name)}
            self._actuated = np.array([place[name] for name in self._joint_names])
            self._elastic = np.array(
                [place.get(name, len(place)) for name in self._elastic_names]
            )  # past the end: none
            self._deflects = any(name in place for name in self._elastic_names)
        reported = len(message.effort) == len(message.name)
        effort = np.array(message.effort)[self._actuated] if reported else np.full(self._n, np.nan)
        if self._needs_effort:
            if not reported:
                raise InputError(
                    f"joint state has {len(message.name)} names and {len(message.effort)} effort values; the effort"
                    " that acted is needed: let the joint state broadcaster report effort"
                )
            check_finite("effort", effort, self._joint_names)
        deflection, rate = None, None
        if self._deflects:
            deflection, rate = (np.append(one, np.nan)[self._elastic] for one in (everywhere, rates))
        stamp = stamp_to_nanoseconds(message.header.stamp)
        return FlexibleSample(stamp, position[: self._n], velocity[: self._n], effort, deflection, rate)
