"""The one interface behind which every simulated world stands, and the ground truth it gives.

A backend knows the rigid and elastic dynamics of one robot and nothing of sensors, drives, clocks or ROS. Notation:
``n`` actuated joints, ``m`` elastic joints of the base, ``k`` deformation modes of all flexible links one after the
other, ``g`` strain gauges; all in the order of the robot description.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from flexarm_core.errors import FlexarmError
from flexarm_core.types import Array
from flexarm_sim.friction.friction import JointFriction
from flexarm_sim.surfaces import Surface


class PlantDivergedError(FlexarmError):
    """The simulated state is no longer finite: the step is too long for the stiffness or the effort is absurd."""


@dataclass(frozen=True, slots=True)
class PlantState:
    """Ground truth at one instant: accelerations and wrenches belong to this state under the effort held now.

    Attributes:
        time: since the last reset [s].
        position: (n,) actuated joints [rad | m].
        velocity: (n,) [rad/s | m/s].
        acceleration: (n,) [rad/s^2 | m/s^2].
        effort: (n,) motor effort held now [N*m | N].
        deflection: (m,) elastic joints, x_b [m | rad].
        deflection_rate: (m,) xd_b [m/s | rad/s].
        deflection_acceleration: (m,) xdd_b [m/s^2 | rad/s^2].
        wrenches: by force/torque sensor, (6,) ``[f; n]`` exerted by the child side on the parent side, at the origin
            and in the axes of the sensor frame [N, N*m].
        tool_position_in_world: (3,) origin of the tool frame in the root link [m].
        tool_rotation_in_world: (3, 3) orientation of the tool frame in the root link.
        tool_position_in_base: (3,) the same in the link that carries the arm [m].
        tool_rotation_in_base: (3, 3).
        tool_twist_in_world: (6,) ``[v; w]`` of the tool frame's origin, axes of the root link [m/s, rad/s].
        modal_position: (k,) modes of the flexible links [sqrt(kg)*m].
        modal_rate: (k,) [sqrt(kg)*m/s].
        strain: (g,) at the strain gauges, tension positive [1].
        imus: by IMU, (6,) ``[specific force; angular velocity]`` at the origin and in the axes of its frame
            [m/s^2, rad/s]; at rest the force points up.
        contacts: by surface, (6,) ``[f; n]`` that it exerts on the tool, at the tool frame's origin in axes of the root
            link [N, N*m]; zeros where it is not touched.
        friction: (n,) effort that ``JointFriction`` takes from each joint, along its motion or what would move it:
            ``effort - friction`` is what is left for the links [N*m | N]; zeros where there is none.
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


@dataclass(frozen=True, slots=True)
class SensedState:
    """What sensors feel of a ``PlantState``, under the same names: it is read in every tick, the rest on demand.

    Attributes:
        position: (n,) actuated joints [rad | m].
        velocity: (n,) [rad/s | m/s].
        effort: (n,) motor effort held now [N*m | N].
        deflection: (m,) elastic joints, x_b [m | rad].
        deflection_rate: (m,) xd_b [m/s | rad/s].
        wrenches: by force/torque sensor, (6,) ``[f; n]`` [N, N*m].
        strain: (g,) at the strain gauges [1].
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
    """A simulated robot on its elastic base, with links that may bend."""

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
        """Set the state, the time to 0 and every external wrench to zero; what is not given is zero.

        Args:
            position: (n,) [rad | m].
            velocity: (n,) [rad/s | m/s].
            deflection: (m,) [m | rad].
            deflection_rate: (m,) [m/s | rad/s].
            effort: (n,) motor effort to which the first accelerations and wrenches belong [N*m | N].
            modal_position: (k,) [sqrt(kg)*m].
            modal_rate: (k,) [sqrt(kg)*m/s].
            at_rest: a deflection and modal positions that are not given are those of the static equilibrium under
                gravity, with the joints held.

        Raises:
            InputError: wrong shape or not finite; the backend is then unchanged.
            RobotDescriptionError: there is no static equilibrium.
        """
        ...

    def set_external_wrench(self, link: str, wrench_in_world: ArrayLike) -> None:
        """Let a wrench act on a link from now on, until it is set anew or the backend is reset.

        Args:
            link: link it acts on.
            wrench_in_world: (6,) ``[f; n]`` at the origin of the link, axes of the root link [N, N*m].

        Raises:
            InputError: no such link, wrong shape or not finite.
        """
        ...

    def change_surfaces(self, surfaces: Sequence[Surface]) -> None:
        """Take the stiffness, damping and friction of all surfaces, from the next step on.

        Args:
            surfaces: those that the backend was made with, in the same places.

        Raises:
            ConfigError: other surfaces, or one too stiff for the step; the backend is then unchanged.
        """
        ...

    def change_friction(self, friction: JointFriction) -> None:
        """Take other friction of the joints, from the next step on.

        Args:
            friction: of the actuated joints.

        Raises:
            ConfigError: values that do not fit, or a backend that was made without friction; it is then unchanged.
        """
        ...

    def step(self, effort: ArrayLike, duration: float) -> None:
        """Hold the effort and the external wrenches for a time and integrate the equations of motion over it.

        Args:
            effort: (n,) motor effort [N*m | N].
            duration: [s], positive.

        Raises:
            InputError: wrong shape, not finite, or duration not positive; the backend is then unchanged.
            PlantDivergedError: the state after the step is not finite; reset before going on.
        """
        ...

    def state(self) -> PlantState:
        """Ground truth now, with the accelerations and wrenches that the held effort causes at this very state."""
        ...

    def sensed(self) -> SensedState | PlantState:
        """Of the same ground truth, what sensors feel."""
        ...

    def joint_dynamics(self) -> tuple[Array, Array]:
        """What a model-based joint servo needs: inertia and bias of the actuated joints on the free elastic base.

        With the elastic coordinates, those of flexible links too, eliminated from the equations of motion,
        ``effort = Lambda qdd + b``, ``Lambda = H_m - H_bm^T H_b^-1 H_bm``; ``b`` holds gravity, gyroscopic forces,
        viscous damping of the description and what the base springs pass on; dry friction, all of ``JointFriction``,
        external wrenches and contacts are left out.

        Returns:
            ``Lambda`` (n, n) [kg*m^2 | kg*m | kg] and ``b`` (n,) [N*m | N].
        """
        ...

    def gravity_effort(self) -> Array:
        """Efforts (n,) that hold the weight at the present positions, everything elastic included [N*m | N]."""
        ...

    def base_frequency(self) -> float:
        """Frequency of the fastest swing of the elastic base while the joints give way, here; 0 without one [rad/s]."""
        ...
