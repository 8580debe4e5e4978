"""Creates a backend by name; the physics engine is imported only if it is used."""

from __future__ import annotations

from collections.abc import Sequence

from flexarm_core.errors import ConfigError
from flexarm_core.robot.description import RobotDescription
from flexarm_sim.backend import Backend
from flexarm_sim.friction.friction import JointFriction
from flexarm_sim.surfaces import Surface

BACKENDS = ("mujoco", "flexible_dynamics")


def make_backend(
    name: str,
    description: RobotDescription,
    *,
    tool_frame: str = "",
    gravity: Sequence[float] = (0.0, 0.0, -9.81),
    max_step: float = 0.00025,
    hard_stops: bool = False,
    segments: int = 20,
    surfaces: Sequence[Surface] = (),
    tip_radius: float = 0.015,
    friction: JointFriction | None = None,
) -> Backend:
    """Create a backend.

    Args:
        name: ``mujoco`` (flexible links are chains of rigid segments) or ``flexible_dynamics`` (they have modes).
        description: the robot.
        tool_frame: link of the tool, empty for ``tool0`` or the only tip.
        gravity: (3,) gravity in axes of the root link [m/s^2].
        max_step: longest integration step [s].
        hard_stops: whether joints stop at their position limits; ``mujoco`` only.
        segments: number of segments of each flexible link; ``mujoco`` only.
        surfaces: surfaces that the tool tip can touch; ``mujoco`` only.
        tip_radius: radius of the sphere around the tool frame's origin that touches them [m].
        friction: friction of the actuated joints, in addition to that of the description; None for none.

    Raises:
        ConfigError: unknown name, settings out of bounds, or hard stops or surfaces with a backend that has none.
        RobotDescriptionError: the robot cannot be simulated.
    """
    if name == "mujoco":
        from flexarm_sim.mujoco.backend import MujocoBackend

        return MujocoBackend(
            description,
            tool_frame=tool_frame,
            gravity=gravity,
            max_step=max_step,
            hard_stops=hard_stops,
            segments=segments,
            surfaces=surfaces,
            tip_radius=tip_radius,
            friction=friction,
        )
    if name == "flexible_dynamics":
        from flexarm_sim.flexible_backend import FlexibleBackend

        if hard_stops:
            raise ConfigError("the backend flexible_dynamics has no hard stops: turn hard_stops off, or take mujoco")
        if surfaces:
            names = ", ".join(surface.name for surface in surfaces)
            raise ConfigError(
                f"the backend flexible_dynamics has no contact: remove the surfaces {names}, or take mujoco"
            )
        return FlexibleBackend(
            description, tool_frame=tool_frame, gravity=gravity, max_step=max_step, friction=friction
        )
    raise ConfigError(f"backend '{name}' is unknown; backends: {', '.join(BACKENDS)}")
