"""ToolWrench: computes the external wrench on the tool from the readings of a force/torque sensor."""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from flexarm_core.behavior_impedance.wrench.tool_calibration import ToolCalibration
from flexarm_core.compiled import allocate, allocating_kernel, kernel, views
from flexarm_core.entrance import finite, number
from flexarm_core.errors import ConfigError, InputError, RobotDescriptionError
from flexarm_core.ik_redundancy.chain import Chain, tool_kinematics
from flexarm_core.robot.description import RobotDescription
from flexarm_core.types import Array

CONVENTIONS = ("outboard_on_inboard", "inboard_on_outboard")


class ToolWrench:
    """Removes bias and weight from a reading and shifts it to the tool origin.

    ``w_external = X (s (w_measured - bias) - w_weight)``. The sensor measures the wrench that its outboard side exerts
    on its inboard side (``s = 1``) or the reverse (``s = -1``). At rest the outboard side transmits the loads that act
    on it: its weight and the external wrench. The inertial forces of the tool's mass are not removed.

    Attributes:
        frame: link in whose axes and at whose origin the sensor measures.
        sign: ``s`` of the convention.
    """

    def __init__(
        self,
        description: RobotDescription,
        chain: Chain,
        sensor: str,
        convention: str = "outboard_on_inboard",
        mass: float | None = None,
        center_of_mass: Array | None = None,
    ) -> None:
        """Compute mass and center of mass of all links outboard of the sensor, with joints off the chain at zero.

        Args:
            description: robot description.
            chain: kinematic chain to the tool.
            sensor: name of a force/torque sensor in the description.
            convention: one of :data:`CONVENTIONS`.
            mass: mass outboard of the sensor, which overrides the description [kg].
            center_of_mass: (3,) center of mass in the sensor frame, which overrides the description [m].

        Raises:
            RobotDescriptionError: there is no such sensor, or it is not rigidly fixed to the tool.
            ConfigError: the convention is unknown, the mass is negative, or the center of mass is not three finite
                numbers.
            InputError: the mass is not a finite number.
        """
        if sensor not in description.force_torque_sensors:
            known = ", ".join(description.force_torque_sensors) or "none"
            raise RobotDescriptionError(
                f"robot '{description.name}' has no force/torque sensor '{sensor}'; it has: {known}"
            )
        self.frame = description.force_torque_sensors[sensor].frame
        placed = _fixed_pose(description, self.frame, chain.tool_frame)
        if placed is None:
            raise RobotDescriptionError(
                f"force/torque sensor '{sensor}' in link '{self.frame}' is not rigidly fixed to the tool"
                f" '{chain.tool_frame}'"
            )
        if convention not in CONVENTIONS:
            raise ConfigError(f"wrench convention '{convention}' is unknown; valid: {', '.join(CONVENTIONS)}")
        self.sign = 1.0 if convention == CONVENTIONS[0] else -1.0
        self._memory: Array
        self._sensor: Sensor
        self._memory, self._sensor = allocate(view_sensor)
        self._rotation, self._sensor.sign[0] = self._sensor.mounted, self.sign
        self._rotation[:], self._sensor.offset[:] = placed[:3, :3], placed[:3, 3]
        self._chain = chain
        self.mass, self.center_of_mass = _load_outboard(description, self.frame)
        if mass is not None:
            if not 0.0 <= number("mass", mass) < math.inf:
                raise ConfigError(f"the mass of the tool must be >= 0 kg and finite, got {mass}")
            self.mass = mass
        if center_of_mass is not None:
            try:
                self.center_of_mass = finite("center_of_mass", center_of_mass, 3).copy()
            except InputError as error:
                raise ConfigError(
                    f"center_of_mass of the tool must be three finite numbers [m], got {center_of_mass!r}"
                ) from error
        self.external(np.zeros(chain.n), np.zeros(6), np.zeros(3))  # load the compiled code now

    @property
    def bias(self) -> Array:
        """Reading (6,) without load and without external wrench, in sensor axes [N, N*m]."""
        return self._sensor.bias.copy()

    @bias.setter
    def bias(self, bias: Array) -> None:
        self._sensor.bias[:] = bias

    @property
    def mass(self) -> float:
        """Mass outboard of the sensor [kg]."""
        return self._sensor.mass.item()

    @mass.setter
    def mass(self, mass: float) -> None:
        self._sensor.mass[0] = mass

    @property
    def center_of_mass(self) -> Array:
        """Center (3,) of that mass in the sensor frame [m]."""
        return self._sensor.center.copy()

    @center_of_mass.setter
    def center_of_mass(self, center: Array) -> None:
        self._sensor.center[:] = center

    def external(self, position: Array, wrench_in_sensor: Array, gravity_in_base: Array) -> Array:
        """Return the external wrench (6,) ``[f; n]`` on the tool at the tool origin, in base link axes [N, N*m].

        Args:
            position: (n,) measured joint positions of the chain [rad | m].
            wrench_in_sensor: (6,) reading, in sensor axes at the sensor origin [N, N*m].
            gravity_in_base: (3,) gravity in base link axes [m/s^2].

        Raises:
            InputError: the reading or gravity has the wrong shape or is not finite.
        """
        reading = finite("a wrench", wrench_in_sensor, 6)
        gravity_in_base = finite("gravity_in_base", gravity_in_base, 3)
        position, on_tool = finite("position", position, self._chain.n), np.empty(6)
        _carry_to_tool(self._chain.links, position, self._memory, gravity_in_base, reading, on_tool)
        return on_tool

    def bias_at_rest(self, position: Array, wrench_in_sensor: Array, gravity_in_base: Array) -> Array:
        """Return the bias (6,) for which this reading gives zero external wrench; arguments as in :meth:`external`."""
        _, R = self._chain.pose(position)
        reading = finite("a wrench", wrench_in_sensor, 6)
        gravity_in_base = finite("gravity_in_base", gravity_in_base, 3)
        return reading - self.sign * self._weight(R, gravity_in_base)

    def gravity_in_sensor(self, position: Array, gravity_in_base: Array) -> Array:
        """Return gravity (3,) in sensor axes [m/s^2]; arguments as in :meth:`external`."""
        _, R = self._chain.pose(position)
        seen: Array = (R @ self._rotation).T @ finite("gravity_in_base", gravity_in_base, 3)
        return seen

    def take_calibration(self, found: ToolCalibration) -> None:
        """Use bias and load of a calibration from now on."""
        self.bias, self.mass, self.center_of_mass = found.bias.copy(), found.mass, found.center_of_mass.copy()

    def _weight(self, R: Array, gravity_in_base: Array) -> Array:
        """Return the weight (6,) of the mass outboard, in sensor axes at the sensor origin [N, N*m]."""
        wrench = np.empty(6)
        _weigh(R, self._rotation, self.mass, self.center_of_mass, gravity_in_base, wrench)
        return wrench


@kernel
def _weigh(R: Array, mounted: Array, mass: float, center: Array, gravity: Array, wrench: Array) -> None:
    """Compute the weight (6,) ``[f; c x f]``, ``f = m (R R_s)^T g``; ``R_s``: orientation of the sensor in the tool."""
    for i in range(3):
        wrench[i] = 0.0
        for j in range(3):
            for k in range(3):
                wrench[i] += mass * R[k, j] * mounted[j, i] * gravity[k]
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        wrench[3 + i] = center[j] * wrench[k] - center[k] * wrench[j]


class Sensor(NamedTuple):
    """Force/torque sensor on a tool, and what it carries."""

    mounted: Annotated[Array, 3, 3]  # orientation of the sensor in the tool
    offset: Annotated[Array, 3]  # its position in the tool [m]
    sign: Annotated[Array, 1]  # 1 if it measures the wrench of the outboard on the inboard side, else -1
    bias: Annotated[Array, 6]  # reading without load [N, N*m]
    mass: Annotated[Array, 1]  # outboard of the sensor [kg]
    center: Annotated[Array, 3]  # of that mass, in the sensor frame [m]


view_sensor = views(Sensor)


@allocating_kernel
def _carry_to_tool(links: Array, q: Array, memory: Array, gravity: Array, reading: Array, on_tool: Array) -> None:
    """Compute :meth:`ToolWrench.external`; ``memory``: see :class:`Sensor`."""
    s = view_sensor(memory)
    mounted, offset, bias = s.mounted, s.offset, s.bias
    in_sensor, arm, p, R, J = np.empty(6), np.empty(3), np.empty(3), np.empty((3, 3)), np.empty((6, q.shape[0]))
    tool_kinematics(links, q, p, R, J)
    _weigh(R, mounted, s.mass[0], s.center, gravity, in_sensor)
    for i in range(6):
        in_sensor[i] = s.sign[0] * (reading[i] - bias[i]) - in_sensor[i]
    for i in range(3):
        arm[i] = on_tool[i] = on_tool[3 + i] = 0.0
        for j in range(3):
            arm[i] += R[i, j] * offset[j]
            for k in range(3):
                on_tool[i] += R[i, j] * mounted[j, k] * in_sensor[k]
                on_tool[3 + i] += R[i, j] * mounted[j, k] * in_sensor[3 + k]
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        on_tool[3 + i] += arm[j] * on_tool[k] - arm[k] * on_tool[j]


def tool_sensors(description: RobotDescription, chain: Chain) -> tuple[str, ...]:
    """Return the names of the force/torque sensors that are rigidly fixed to the tool."""
    return tuple(
        name
        for name, sensor in description.force_torque_sensors.items()
        if _fixed_pose(description, sensor.frame, chain.tool_frame) is not None
    )


def _fixed_pose(description: RobotDescription, link: str, seen_from: str) -> Array | None:
    """Return the pose (4, 4) of one link frame in another; None if a joint or a flexible link lies between them."""
    by_child = {joint.child: joint for joint in description.joints.values()}
    walked = []
    for begin in (link, seen_from):
        at, pose, passed = begin, np.eye(4), set()
        while at in by_child and by_child[at].kind == "fixed":
            pose = by_child[at].transform_child_to_parent @ pose
            at = by_child[at].parent
            passed.add(at)
        walked.append((at, pose, passed))
    (end, pose, passed), (other_end, other_pose, other_passed) = walked
    if end != other_end or (passed ^ other_passed) & set(description.flexible_links):
        return None
    seen: Array = np.array(np.linalg.solve(other_pose, pose), dtype=np.float64)
    return seen


def _load_outboard(description: RobotDescription, frame: str) -> tuple[float, Array]:
    """Return mass [kg] and center of mass (3,) [m] of a link and of all links that it carries, in the link frame."""
    mass, moment = 0.0, np.zeros(3)
    waiting = [(frame, np.eye(4))]
    while waiting:
        name, transform = waiting.pop()
        link = description.links[name]
        mass += link.mass
        moment += link.mass * (transform[:3, :3] @ link.center_of_mass + transform[:3, 3])
        waiting += [
            (joint.child, transform @ joint.transform_child_to_parent)
            for joint in description.joints.values()
            if joint.parent == name
        ]
    return mass, moment / mass if mass > 0.0 else moment
