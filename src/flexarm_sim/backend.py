"""Backend: interface of all simulated dynamics, and the ground truth they return.

A backend models the rigid and elastic dynamics of one robot; sensors, drives, clocks and ROS are outside. Notation:
``n`` actuated joints, ``m`` elastic joints of the base, ``k`` deformation modes of all flexible links one after the
other, ``g`` strain gauges; all in the order of the robot description.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from flexarm_core.errors import FlexarmError
from flexarm_core.records import quick
from flexarm_core.types import Array
from flexarm_sim.friction.friction import JointFriction
from flexarm_sim.surfaces import Surface


class PlantDivergedError(FlexarmError):
    """The simulated state is no longer finite: the step is too long for the stiffness, or the effort is too large."""


@quick
@dataclass(frozen=True, slots=True)
class PlantState:
    """Ground truth at one instant: accelerations and wrenches belong to this state under the effort held now.

    Attributes:
        time: time since the last reset [s].
        position: (n,) positions of the actuated joints [rad | m].
        velocity: (n,) velocities of the actuated joints [rad/s | m/s].
        acceleration: (n,) accelerations of the actuated joints [rad/s^2 | m/s^2].
        effort: (n,) motor effort held now [N*m | N].
        deflection: (m,) positions of the elastic joints, x_b [m | rad].
        deflection_rate: (m,) velocities of the elastic joints, xd_b [m/s | rad/s].
        deflection_acceleration: (m,) accelerations of the elastic joints, xdd_b [m/s^2 | rad/s^2].
        wrenches: by force/torque sensor, (6,) ``[f; n]`` exerted by the child side on the parent side, at the origin
            and in the axes of the sensor frame [N, N*m].
        tool_position_in_world: (3,) origin of the tool frame in the root link [m].
        tool_rotation_in_world: (3, 3) orientation of the tool frame in the root link.
        tool_position_in_base: (3,) origin of the tool frame in the base frame, the link that carries the arm [m].
        tool_rotation_in_base: (3, 3) orientation of the tool frame in the base frame.
        tool_twist_in_world: (6,) ``[v; w]`` of the tool frame's origin, axes of the root link [m/s, rad/s].
        modal_position: (k,) modal positions of the flexible links [sqrt(kg)*m].
        modal_rate: (k,) modal rates of the flexible links [sqrt(kg)*m/s].
        strain: (g,) strain at the gauges, tension positive [1].
        imus: by IMU, (6,) ``[specific force; angular velocity]`` at the origin and in the axes of its frame
            [m/s^2, rad/s]; at rest the specific force points up.
        contacts: by surface, (6,) ``[f; n]`` that it exerts on the tool, at the tool frame's origin in axes of the root
            link [N, N*m]; zeros without contact.
        friction: (n,) ``JointFriction`` effort, positive along the motion, or along the motion that it prevents:
            ``effort - friction`` acts on the links [N*m | N]; zeros without friction.
    """

    time: float
    position: Array
    velocity: Array
    acceleration: Array
    effort: Array
    deflection: Array
    deflection_rate: Array
    deflection_acceleration: Array
    wrenches: dict[str, Array]
    tool_position_in_world: Array
    tool_rotation_in_world: Array
    tool_position_in_base: Array
    tool_rotation_in_base: Array
    tool_twist_in_world: Array
    modal_position: Array = field(default_factory=lambda: np.zeros(0))
    modal_rate: Array = field(default_factory=lambda: np.zeros(0))
    strain: Array = field(default_factory=lambda: np.zeros(0))
    imus: dict[str, Array] = field(default_factory=dict)
    contacts: dict[str, Array] = field(default_factory=dict)
    friction: Array = field(default_factory=lambda: np.zeros(0))


@quick
@dataclass(frozen=True, slots=True)
class SensedState:
    """The part of a ``PlantState`` that sensors measure, under the same names; it is read in every tick.

    Attributes:
        position: (n,) positions of the actuated joints [rad | m].
        velocity: (n,) velocities of the actuated joints [rad/s | m/s].
        effort: (n,) motor effort held now [N*m | N].
        deflection: (m,) positions of the elastic joints, x_b [m | rad].
        deflection_rate: (m,) velocities of the elastic joints, xd_b [m/s | rad/s].
        wrenches: by force/torque sensor, (6,) ``[f; n]`` [N, N*m].
        strain: (g,) strain at the gauges [1].
        imus: by IMU, (6,) ``[specific force; angular velocity]`` [m/s^2, rad/s].
    """

    position: Array
    velocity: Array
    effort: Array
    deflection: Array
    deflection_rate: Array
    wrenches: dict[str, Array]
    strain: Array
    imus: dict[str, Array]


class Backend(Protocol):
    """A simulated robot on its elastic base, with links that may be flexible."""

    @property
    def joint_names(self) -> tuple[str, ...]:
        """(n) actuated joints, in the order of every (n,) array."""
        ...

    @property
    def elastic_joint_names(self) -> tuple[str, ...]:
        """(m) elastic joints, in the order of every (m,) array."""
        ...

    @property
    def modes(self) -> tuple[str, ...]:
        """(k) deformation modes ``LINK/MODE``, in the order of every (k,) array."""
        ...

    @property
    def strain_gauges(self) -> tuple[str, ...]:
        """(g) strain gauges, in the order of every (g,) array."""
        ...

    def reset(
        self,
        position: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        deflection: ArrayLike | None = None,
        deflection_rate: ArrayLike | None = None,
        effort: ArrayLike | None = None,
        modal_position: ArrayLike | None = None,
        modal_rate: ArrayLike | None = None,
        at_rest: bool = False,
    ) -> None:
        """Set the state, and the time and all external wrenches to zero; values that are not given are zero.

        Args:
            position: (n,) joint positions [rad | m].
            velocity: (n,) joint velocities [rad/s | m/s].
            deflection: (m,) base deflection [m | rad].
            deflection_rate: (m,) base deflection rate [m/s | rad/s].
            effort: (n,) motor effort for the accelerations and wrenches of the initial state [N*m | N].
            modal_position: (k,) modal positions [sqrt(kg)*m].
            modal_rate: (k,) modal rates [sqrt(kg)*m/s].
            at_rest: whether a deflection and modal positions that are not given are those of the static equilibrium
                under gravity, with fixed joints.

        Raises:
            InputError: wrong shape or not finite; the backend is then unchanged.
            RobotDescriptionError: there is no static equilibrium.
        """
        ...

    def set_external_wrench(self, link: str, wrench_in_world: ArrayLike) -> None:
        """Apply a wrench to a link from now on, until it is set again or the backend is reset.

        Args:
            link: link on which the wrench acts.
            wrench_in_world: (6,) ``[f; n]`` at the origin of the link, axes of the root link [N, N*m].

        Raises:
            InputError: no such link, wrong shape or not finite.
        """
        ...

    def change_surfaces(self, surfaces: Sequence[Surface]) -> None:
        """Change the stiffness, damping and friction of all surfaces from the next step on.

        Args:
            surfaces: the surfaces that the backend was made with, in the same places.

        Raises:
            ConfigError: other surfaces, or a surface too stiff for the step; the backend is then unchanged.
        """
        ...

    def change_friction(self, friction: JointFriction) -> None:
        """Change the joint friction from the next step on.

        Args:
            friction: friction of the actuated joints.

        Raises:
            ConfigError: values that do not fit, or a backend that was made without friction; it is then unchanged.
        """
        ...

    def step(self, effort: ArrayLike, duration: float) -> None:
        """Integrate the equations of motion over a time, with constant effort and external wrenches.

        Args:
            effort: (n,) motor effort [N*m | N].
            duration: positive time [s].

        Raises:
            InputError: wrong shape, not finite, or duration not positive; the backend is then unchanged.
            PlantDivergedError: the state after the step is not finite; reset the backend before further steps.
        """
        ...

    def state(self) -> PlantState:
        """Return the ground truth now; accelerations and wrenches are those of this state and the held effort."""
        ...

    def trace(self) -> Any:
        """Return what :meth:`traced` needs of the ground truth now; this is cheaper than :meth:`state`."""
        ...

    def traced(self, traces: Sequence[Any]) -> PlantState:
        """Return the ground truth of many traces as one record, as :func:`.stacked` returns many records."""
        ...

    def sensed(self) -> SensedState | PlantState:
        """Return the part of the ground truth that sensors measure."""
        ...

    def joint_dynamics(self) -> tuple[Array, Array]:
        """Return inertia and bias of the actuated joints on the free elastic base, for a model-based joint servo.

        With the elastic coordinates, including those of flexible links, eliminated from the equations of motion,
        ``effort = Lambda qdd + b``, ``Lambda = H_m - H_bm^T H_b^-1 H_bm``; ``b`` contains gravity, gyroscopic forces,
        viscous damping of the description and the effect of the base springs; dry friction, all of ``JointFriction``,
        external wrenches and contacts are not included.

        Returns:
            ``Lambda`` (n, n) [kg*m^2 | kg*m | kg] and ``b`` (n,) [N*m | N].
        """
        ...

    def gravity_effort(self) -> Array:
        """Return the efforts (n,) that compensate gravity at the present positions, elastic ones included [N*m | N]."""
        ...

    def base_frequency(self) -> float:
        """Return the highest frequency of the elastic base with free joints at this state; 0 without a base [rad/s]."""
        ...
