"""BaseWrenchInputs: combines joint states, sensor readings and base motion into samples, each with one stamp."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState

from flexarm.msg import FlexibleState
from flexarm_core.base_wrench.motion_filter import MotionFilter
from flexarm_core.base_wrench.sensed_bodies import SensedBodies
from flexarm_core.errors import InputError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import Array, BaseWrenchSample
from flexarm_nodes.messages.conversions import JointStateSelector, stamp_to_nanoseconds
from flexarm_nodes.messages.flexible import flexible_state_from_message, wrench_from_message
from flexarm_nodes.node.companions import Companions
from flexarm_nodes.node.topics import FLEXIBLE_STATE

BASE_MOTIONS = ("none", "joint_states", "flexible_state")
EFFORT_SOURCES = ("joint_states", "command")
KEPT = 8  # number of readings kept: some may arrive before the joint state of the same stamp


@dataclass(frozen=True, slots=True)
class StampedSample:
    """A sample, and why a part of it could not be used.

    Attributes:
        sample: measured values.
        left_out: ``name: reason`` of each missing part; empty if complete.
    """

    sample: BaseWrenchSample
    left_out: tuple[str, ...]


class BaseWrenchInputs:
    """Keeps the newest readings. A rejected reading counts as received; the reason is kept with its stamp."""

    def __init__(self, model: ArmModel, bodies: SensedBodies, values: dict[str, Any]) -> None:
        """Read an arm and its sensor as configured by the parameters."""
        self.sensor, self.frame = bodies.sensor, bodies.sensor_frame
        self._model, self._motion = model, values["base_motion"]
        self._measured_effort = values["effort_source"] == EFFORT_SOURCES[0]
        elastic = model.elastic_joint_names if self._motion == "joint_states" else ()
        self._select = JointStateSelector((*model.joint_names, *elastic))
        self._base = MotionFilter([False] * model.m, 0.0, values["acceleration_bandwidth"])
        sources = (self.sensor, FLEXIBLE_STATE) if self._motion == "flexible_state" else (self.sensor,)
        self._companions = Companions(lambda: sources)
        self.reset()

    def reset(self) -> None:
        """Discard all received readings."""
        self._companions.reset()
        self._base.reset()
        self._wrenches: deque[tuple[int, Array | str]] = deque(maxlen=KEPT)
        self._bases: deque[tuple[int, tuple[Array, Array, Array] | str]] = deque(maxlen=KEPT)
        none = np.zeros(self._model.m)
        self._last_base = none, none, none
        self._commanded: tuple[int, Array] | None = None

    def take_wrench(self, message: WrenchStamped) -> None:
        """Take a reading of the sensor.

        Raises:
            InputError: the frame is not the sensor's; the sample of this stamp then has no wrench.
        """
        stamp, frame = stamp_to_nanoseconds(message.header.stamp), message.header.frame_id
        self._companions.came(self.sensor, stamp)
        if frame != self.frame:
            self._wrenches.append((stamp, f"in frame '{frame}'"))
            raise InputError(f"wrench is in frame '{frame}', sensor '{self.sensor}' measures in '{self.frame}'")
        self._wrenches.append((stamp, wrench_from_message(message)))

    def take_base(self, message: FlexibleState) -> None:
        """Take the motion of the base.

        Raises:
            InputError: the message is not usable; the base motion at its stamp is then unknown.
        """
        stamp = stamp_to_nanoseconds(message.header.stamp)
        self._companions.came(FLEXIBLE_STATE, stamp)
        try:
            if not len(message.deflection_acceleration):
                raise InputError(
                    f"{FLEXIBLE_STATE} has no deflection_acceleration, which base_motion 'flexible_state' needs: let"
                    " flexible_dynamics_estimator publish it, or set base_motion to 'joint_states'"
                )
            state = flexible_state_from_message(message, self._model.elastic_joint_names, ())
        except InputError:
            self._bases.append((stamp, "not usable"))
            raise
        self._bases.append((stamp, (state.deflection, state.deflection_rate, state.deflection_acceleration)))

    def commanded(self, stamp: int, effort: Array) -> None:
        """Store the motor effort (n,) that was commanded in answer to a stamp [ns], [N*m | N]."""
        limit = self._model.effort_limit
        self._commanded = stamp, np.clip(effort, -limit, limit)

    def joints(self, message: JointState, last: int | None) -> BaseWrenchSample:
        """Convert a joint state to a sample without its wrench.

        Args:
            message: joint state.
            last: stamp of the previous sample [ns], None for the first.

        Raises:
            InputError: a joint is missing, or its position or velocity is missing or not finite.
        """
        position, velocity = self._select(message)
        stamp, n = stamp_to_nanoseconds(message.header.stamp), self._model.n
        base = self._last_base
        if self._motion == "joint_states":
            base = position[n:], *self._base.update(stamp, position[n:], velocity[n:])
        return BaseWrenchSample(stamp, position[:n], velocity[:n], self._effort(message, last), None, *base)

    def _effort(self, message: JointState, last: int | None) -> Array | None:
        """Return the effort (n,) that acted until this joint state, or None if that of a joint is unknown."""
        effort = np.full(self._model.n, np.nan)
        if self._measured_effort and len(message.effort) == len(message.name):
            effort = np.array([message.effort[message.name.index(name)] for name in self._model.joint_names])
        if self._commanded is not None and self._commanded[0] == last:
            effort = np.where(np.isfinite(effort), effort, self._commanded[1])
        return effort if np.isfinite(effort).all() else None

    def complete(self, stamp: int) -> bool:
        """Return whether a joint state of this stamp [ns] has to wait for no reading."""
        return self._companions.complete(stamp)

    def complete_sample(self, joints: BaseWrenchSample) -> StampedSample:
        """Return the sample with the readings that arrived for its stamp; called once per joint state."""
        stamp = joints.stamp
        self._companions.answer(stamp)
        wrench = _of(self._wrenches, stamp)
        left_out = [] if isinstance(wrench, np.ndarray) else [f"{self.sensor}: {wrench}"]
        motion = joints.deflection, joints.deflection_rate, joints.deflection_acceleration
        if self._motion == "flexible_state":
            found = _of(self._bases, stamp)
            if isinstance(found, str):
                left_out.append(f"{FLEXIBLE_STATE}: {found}")
            else:
                motion = self._last_base = found
        sample = BaseWrenchSample(
            stamp, joints.position, joints.velocity, joints.effort, None if left_out else wrench, *motion
        )
        return StampedSample(sample, tuple(left_out))


def _of(kept: deque[tuple[int, Any]], stamp: int) -> Any:
    """Return the reading of a stamp [ns], or why there is none."""
    return next((reading for taken, reading in reversed(kept) if taken == stamp), "missing")
