"""Assembles the ArmState of one stamp from the topics that carry its parts."""

from __future__ import annotations

import numpy as np
from sensor_msgs.msg import JointState

from flexarm.msg import FlexibleState
from flexarm_core.errors import InputError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array
from flexarm_nodes.messages.conversions import JointStateSelector, stamp_to_nanoseconds

BASE_STATE_SOURCES = ("joint_states", "flexible_state")
NO_BASE_STATE = "none"


class ArmStateReader:
    """Combines the joint state and the base deflection of the same stamp.

    With source ``joint_states`` the elastic joints are state-only joints of /joint_states, as a deflection sensor
    behind ros2_control provides them. With ``flexible_state`` they are taken from the estimator's topic. With ``none``
    the base deflection and its rate are zero.
    """

    def __init__(self, model: ArmModel, source: str) -> None:
        """Read the joints of this model.

        Raises:
            InputError: the source is unknown.
        """
        known = (*BASE_STATE_SOURCES, NO_BASE_STATE)
        if source not in known:
            raise InputError(f"base_state_source '{source}' is unknown; valid: {', '.join(known)}")
        self._model = model
        self._joined = source == "joint_states"
        self._still = np.zeros(model.m) if source == NO_BASE_STATE else None
        names = (*model.joint_names, *model.elastic_joint_names) if self._joined else model.joint_names
        self._select, self._select_elastic = JointStateSelector(names), JointStateSelector(model.elastic_joint_names)
        self._joints: tuple[int, Array, Array] | None = None
        self._base: tuple[int, Array, Array] | None = None

    def joint_state(self, message: JointState) -> ArmState | None:
        """Take a joint state; return the ArmState if both of its parts are available for this stamp, else None.

        A joint state of other joints is ignored.

        Raises:
            InputError: the message is not usable.
        """
        selected = self._select(message)
        if selected is None:
            return None
        position, velocity = selected
        stamp, n = stamp_to_nanoseconds(message.header.stamp), self._model.n
        if self._joined:
            return ArmState(stamp, position[:n], velocity[:n], position[n:], velocity[n:])
        if self._still is not None:
            return ArmState(stamp, position, velocity, self._still, self._still)
        self._joints = (stamp, position, velocity)
        return self._match()

    def flexible_state(self, message: FlexibleState) -> ArmState | None:
        """Take a flexible state; return the ArmState if both of its parts are available for this stamp, else None.

        Raises:
            InputError: the message is not usable.
        """
        given = np.array(message.deflection), np.array(message.deflection_rate)
        position, velocity = self._select_elastic.select(message.elastic_joints, *given)
        self._base = (stamp_to_nanoseconds(message.header.stamp), position, velocity)
        return self._match()

    def _match(self) -> ArmState | None:
        if self._joints is None or self._base is None or self._joints[0] != self._base[0]:
            return None
        return ArmState(*self._joints, *self._base[1:])
