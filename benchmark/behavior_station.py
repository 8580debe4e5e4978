"""The wiping station: arm_7r with position drives before a wall in MuJoCo, in lockstep with a controller."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from behavior_arms import STEP_NS, description, make_arm, make_controller
from scipy.spatial.transform import Rotation

from flexarm_core.behavior_impedance.behavior import BehaviorSpec
from flexarm_core.behavior_impedance.config import ImpedanceConfig
from flexarm_core.behavior_impedance.controller import BehaviorImpedanceController
from flexarm_core.behavior_impedance.wrench.tool_wrench import ToolWrench
from flexarm_core.types import Array
from flexarm_sim.backends import make_backend
from flexarm_sim.drives import DriveConfig
from flexarm_sim.plant import Plant, PlantConfig
from flexarm_sim.surfaces import Surface

START = np.array([0.3, 0.5, -0.3, -1.5, 0.0, -0.43, 0.0])  # [rad] the tool points forwards
TIP_RADIUS = 0.015  # [m]
GAP = 0.003  # [m] between tip and wall at the begin
STIFFNESS, DAMPING, FRICTION = 5e4, 100.0, 0.3  # of the wall [N/m], [N*s/m], [1]
BANDWIDTH = 200.0  # of the drives [rad/s]
SENSOR, GRAVITY = "tool_ft_sensor", np.array([0.0, 0.0, -9.81])  # [m/s^2]
FORCE = 20.0  # [N]
SETTLING = 0.3  # [s] after the first touch that does not count
ELBOW_OBSTACLE = {"names": ["post"], "kinds": ["sphere"], "positions": [0.19, 0.36, 0.7], "sizes": [0.1, 0.0, 0.0]}
OBSTACLES = {"range": 0.15, "tool_range": 0.04, "margin": 0.02}
PRESS = {"wrench": [0.0, 0.0, FORCE, 0.0, 0.0, 0.0], "damping": [2500.0, 50.0], "frame": "tool"}
DITHER = {"amplitude": [0.0, 0.0002, 0.0, 0.0, 0.0, 0.0], "frequency": 5.0, "frame": "tool"}
POSTURE = [0.79, 0.76, -1.14, -1.5, -0.38, -0.51, 0.89]  # [rad] the same tool pose, the elbow in the post
CONFIG = ImpedanceConfig(
    inertia=(5.0, 5.0, 5.0, 0.2, 0.2, 0.2),
    damping=(450.0, 450.0, 450.0, 20.0, 20.0, 20.0),
    stiffness=(1e4, 1e4, 1e4, 400.0, 400.0, 400.0),
)
ARM = make_arm("arm_7r")
TOOL, TURN = ARM.chain.pose(START)
NORMAL = -TURN[:, 2]  # [1] of the wall, towards the arm
_side = np.cross((0.0, 0.0, 1.0), NORMAL)
SIDE = _side / np.linalg.norm(_side)
UP = np.cross(NORMAL, SIDE)


def eight_behaviors(speed: float = 0.05, start: float = 1.0, repeats: bool = False) -> list[BehaviorSpec]:
    """Path, force, posture, joint limits, singularity, obstacles, dither, teleoperation.

    Args:
        speed: largest along the path [m/s].
        start: time to wait before it [s].
        repeats: whether the path goes on for ever.
    """
    corners = np.array([SIDE, SIDE + UP, UP, 0.0 * UP]) * 0.1
    return [
        BehaviorSpec(
            "path", "path",
            {
                "positions": corners.ravel().tolist(), "relative": True, "start": start, "repeats": repeats,
                "max_linear_velocity": speed,
            },
        ),
        BehaviorSpec("press", "force", PRESS),
        BehaviorSpec("posture", "posture", {"position": POSTURE}),
        BehaviorSpec("joint_limits", "joint_limits", {}),
        BehaviorSpec("singularity", "singularity", {}),
        BehaviorSpec("obstacles", "obstacles", ELBOW_OBSTACLE | OBSTACLES),
        BehaviorSpec("dither", "dither", DITHER),
        BehaviorSpec("teleoperation", "teleoperation", {}),
    ]  # fmt: skip


@dataclass(slots=True)
class Reading:
    """What the plant showed at the begin of a sample.

    Attributes:
        stamp: [ns].
        force: with which the tip really presses on the wall [N].
        wrench: (6,) on the tool as its sensor shows it, without its weight, axes of the base [N, N*m].
        position: (3,) of the tool in the base [m].
    """

    stamp: int
    force: float
    wrench: Array
    position: Array


class Station:
    """Plant with a wall."""

    def __init__(self, wall: bool = True, gap: float = GAP) -> None:
        """Set up the plant with the arm at rest, its tip before the wall by a gap [m], or with no wall."""
        rotation = np.column_stack((SIDE, UP, NORMAL))
        place = TOOL - NORMAL * (TIP_RADIUS + gap)
        rpy = tuple(float(x) for x in Rotation.from_matrix(rotation).as_euler("xyz"))
        surface = Surface("wall", "plane", tuple(float(x) for x in place), rpy, STIFFNESS, DAMPING, FRICTION)
        robot = description("arm_7r")
        self._tool_wrench = ToolWrench(robot, ARM.chain, SENSOR)
        surfaces = [surface] if wall else []
        self.backend = make_backend("mujoco", robot, tool_frame="tool0", surfaces=surfaces, tip_radius=TIP_RADIUS)
        config = PlantConfig(period_ns=STEP_NS, initial_position=tuple(START), drive=DriveConfig("position", BANDWIDTH))
        self._plant = Plant(robot, self.backend, config)

    def read(self) -> Reading:
        """Measure."""
        measured, state = self._plant.measure(), self.backend.state()
        wrench = self._tool_wrench.external(state.position, measured.wrenches[SENSOR], GRAVITY)
        force = sum((contact[:3] for contact in state.contacts.values()), np.zeros(3))
        return Reading(measured.stamp, float(force @ NORMAL), wrench, state.tool_position_in_base)

    def advance(self, position: Array) -> None:
        """Hold a position command (n,) for a sample."""
        self._plant.advance(position)


def begin_controller(specs: list[BehaviorSpec]) -> BehaviorImpedanceController:
    """Controller of the station, at its begin."""
    controller = make_controller(ARM, CONFIG)
    controller.begin(START)
    controller.set_behaviors(specs)
    return controller


def along_wall(vector: Array) -> Array:
    """Part of a vector (3,) in the plane of the wall."""
    return vector - NORMAL * float(NORMAL @ vector)
