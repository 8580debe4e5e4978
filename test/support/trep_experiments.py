"""The experiments of Nenchev et al. 1999, section VII, on a simulated TREP with velocity drives: figures 10 to 12."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline
from scipy.optimize import brentq
from velocity_driven import VelocityRun, run_velocity_law

from flexarm_core.path.line import fifth_order
from flexarm_core.reaction_null_space.reactionless.path import ReactionlessPath
from flexarm_core.reaction_null_space.reactionless.trace import trace
from flexarm_core.reaction_null_space.reactionless.velocity_law import Along, VelocityLaw, VelocityLawConfig
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import Array
from flexarm_sim.drives import DriveConfig
from flexarm_sim.mujoco.backend import MujocoBackend
from flexarm_sim.plant import Plant, PlantConfig
from flexarm_sim.pushes import Push

WEIGHTLESS = (0.0, 0.0, 0.0)
START = np.array([0.5 * np.pi, 0.0])
HIT = (5.0, 0.05)  # [N], [s]: a half sine on the beams' tip
# 1 / 200 rad/s and half a sample of 1 ms
DRIVE_LAG = 0.0055
PAPER_PATH = VelocityLawConfig(24.0, 50.0, 50.0, feed_forward=False)
OURS_PATH = VelocityLawConfig(24.0, 5.0, 50.0, drive_lag=DRIVE_LAG)


@cache
def trep_text() -> str:
    """URDF of TREP."""
    return load_robot_description(Path(__file__).resolve().parents[2] / "urdf" / "trep.urdf.xacro")


def trep_model() -> ArmModel:
    """Its model: the arm moves in a horizontal plane."""
    return ArmModel(trep_text(), gravity=WEIGHTLESS)


def trep_with_wrong_mass(factor: float) -> ArmModel:
    """A model that takes the second link to be so many times as heavy as it is."""
    right = '<mass value="0.12"/>'
    assert right in trep_text()
    return ArmModel(trep_text().replace(right, f'<mass value="{0.12 * factor}"/>'), gravity=WEIGHTLESS)


def trep_plant(*pushes: Push, **options: object) -> Plant:
    """TREP at its start posture, velocity drives of the default bandwidth, 1 kHz."""
    robot = parse_robot_description(trep_text())
    config = {"initial_position": tuple(START), "drive": DriveConfig("velocity"), "pushes": pushes, **options}
    return Plant(robot, MujocoBackend(robot, gravity=WEIGHTLESS), PlantConfig(**config))  # type: ignore[arg-type]


def hit(time: float) -> Push:
    """A hit on the tip of the beams."""
    return Push("base_link", time, HIT[1], (HIT[0], 0.0, 0.0), shape="half_sine")


def figure_10(config: VelocityLawConfig, duration: float = 4.0) -> VelocityRun:
    """Hold the start posture; a hit after 0.1 s."""
    law = VelocityLaw(trep_model(), config)
    law.hold(START)
    return run_velocity_law(trep_plant(hit(0.1)), law, duration)


def half_way(path: ReactionlessPath) -> float:
    """The s at which joint 1 of the paper's path is back at its start and joint 2 has made half a turn."""
    return float(brentq(lambda s: path.position(s)[0] - START[0], 0.4 * path.length, 0.6 * path.length, xtol=1e-13))


def figure_11(
    config: VelocityLawConfig, duration: float, rest: float = 1.0, model: ArmModel | None = None
) -> VelocityRun:
    """Half of the path, fifth-order ubar, and a rest; path and law by the given model, None for the right one."""
    model = model or trep_model()
    path, law = trace(model, START), VelocityLaw(model, config)
    law.follow(path)
    s = half_way(path)
    return run_velocity_law(
        trep_plant(), law, duration + rest, lambda time: Along(*(s * np.array(fifth_order(time, duration))))
    )


def link_2_alone(duration: float, rest: float = 1.0) -> Array:
    """Deflections (T,) while joint 2 alone goes from the same start to the same end by the same time law [m]."""
    path, plant, rows = trace(trep_model(), START), trep_plant(), []
    turn = path.position(half_way(path))[1] - START[1]
    while plant.stamp < round((duration + rest) * 1e9):
        _, rate, acceleration = fifth_order(plant.stamp * 1e-9, duration)
        rows.append(plant.state().deflection[0])
        plant.advance([0.0, turn * (rate + DRIVE_LAG * acceleration)])
    return np.array(rows)


@dataclass(frozen=True, slots=True)
class Cyclic:
    """Round and round at the paper's speed ``qd = n ubar``, ``n = (h2, -h1)``, after a smooth start.

    Attributes:
        path: a closed one.
        along: where on it the reference is, at a time [s].
    """

    path: ReactionlessPath
    along: Callable[[float], Along]


def cyclic_motion(speed: float, duration: float, ramp: float = 1.0) -> Cyclic:
    """The paper's path at ``ubar = speed`` [1/(kg m s)], reached within ``ramp`` [s]."""
    path = trace(trep_model(), START)
    norm = CubicSpline(path.knots.s, path.knots.sigma_min)  # the length of n

    def rate(time: float, s: Array) -> Array:
        return speed * fifth_order(time, ramp)[0] * norm(s % path.length)

    solved = solve_ivp(rate, (0.0, duration), [0.0], rtol=1e-10, atol=1e-12, dense_output=True).sol

    def along(time: float) -> Along:
        s = float(solved(time)[0])
        ubar, dubar, _ = speed * np.array(fifth_order(time, ramp))
        size, slope = float(norm(s % path.length)), float(norm(s % path.length, 1))
        return Along(s, ubar * size, dubar * size + ubar * slope * ubar * size)

    return Cyclic(path, along)


def figure_12(config: VelocityLawConfig, duration: float = 7.0, speed: float = 30.0) -> tuple[VelocityRun, Cyclic]:
    """Round and round; a hit after 2 s."""
    motion = cyclic_motion(speed, duration + 0.1)
    law = VelocityLaw(motion.path.field.model, config)
    law.follow(motion.path)
    return run_velocity_law(trep_plant(hit(2.0)), law, duration, motion.along), motion
