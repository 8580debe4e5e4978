"""Arms of the campaign: the model known to the gate, and a plant that differs from it."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from flexarm_core.hardware_gate.joint_dynamics import JointDynamics
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import ArmState, Array
from flexarm_sim.backends import make_backend
from flexarm_sim.friction.friction import JointFriction
from flexarm_tools.faults.random_arm import random_arm
from flexarm_tools.graph.packages import AmentPackages

WEIGHT, WEIGHTLESS = (0.0, 0.0, -9.81), (0.0, 0.0, 0.0)
OURS = {  # arms on an elastic base are weightless: with gravity they would first drop onto the springs
    "arm_7r": WEIGHT,
    "arm_6r": WEIGHT,
    "planar_3r": WEIGHTLESS,
    "boom_7r": WEIGHTLESS,
}
FLOATING = ("planar_3r", "boom_7r")
BENDING = ("flexible_2r", "flexible_3r")  # their links have modes that the gate does not know; weightless
RANDOM, LIGHT_WRIST = "random", "light_wrist"  # arms that are drawn
MASS_ERROR = 0.1  # largest relative error of each link's mass and inertia
FRICTION_SHARE = 0.02  # largest Coulomb friction relative to the effort limit
LEFT_BY_DRIVES = 0.1  # fraction of friction that the integrators of the drives do not compensate
RUBBING = 0.25  # largest effect of unknown friction relative to the gate's acceleration limits
POSTURES = 8  # number of postures for evaluating this effect


@dataclass(frozen=True, slots=True)
class Arm:
    """An arm under test."""

    name: str  # name of the robot
    text: str  # URDF given to the nodes
    gravity: tuple[float, float, float]  # (3,) in axes of the root link [m/s^2]
    model: ArmModel  # model of that URDF
    plant_text: str  # URDF of the plant, with different masses
    friction: JointFriction  # friction in the joints of the plant

    def backend(self, text: str, max_step: float = 0.001) -> Any:
        """Create the plant of a robot description, with a different dynamics engine than the gate's model."""
        plant = parse_robot_description(text)
        engine = "flexible_dynamics" if plant.flexible_links else "mujoco"  # a chain of segments takes much longer
        return make_backend(engine, plant, gravity=self.gravity, max_step=max_step, friction=self.friction)


def promised_acceleration(velocity_limit: Array) -> Array:
    """Return the default acceleration limits (n,) as documented; the oracle does not ask the gate."""
    return np.minimum(10.0 * velocity_limit, 20.0)


def draw_arm(rng: np.random.Generator, name: str, mode: str) -> Arm:
    """Draw an arm by name and a random plant for it; velocity and position drives compensate most of its friction."""
    if name in (RANDOM, LIGHT_WRIST):
        text, direction = random_arm(rng, light_wrist=name == LIGHT_WRIST)
        gravity = (float(direction[0]), float(direction[1]), float(direction[2]))
    else:
        text, gravity = _own_text(name), OURS.get(name, WEIGHTLESS)
    model = ArmModel(parse_robot_description(text), gravity=gravity)
    share = rng.uniform(0.0, 1.0) * (1.0 if mode == "effort" else LEFT_BY_DRIVES)
    rubbing = share * FRICTION_SHARE * model.effort_limit
    rubbing *= min(1.0, RUBBING / _most_slowed(rng, model, rubbing))
    friction = JointFriction(coulomb=tuple(rubbing), viscous=tuple(0.5 * rubbing))
    return Arm(name, text, gravity, model, _other_masses(rng, text), friction)


def _most_slowed(rng: np.random.Generator, model: ArmModel, rubbing: Array) -> float:
    """Return the largest change of acceleration by friction (n,), other joints free, relative to the gate's limit."""
    dynamics, most = JointDynamics(model), 1e-9
    none, base = np.zeros(model.n), np.zeros(model.m)
    for _ in range(POSTURES):
        inertia, _ = dynamics.terms(ArmState(0, middle_posture(rng, model)[0], none, base, base))
        slowed = np.abs(np.linalg.inv(inertia)) @ rubbing
        most = max(most, float((slowed / promised_acceleration(model.velocity_limit)).max()))
    return most


@cache
def _own_text(name: str) -> str:
    share = AmentPackages().share("flexarm")
    assert share is not None
    return load_robot_description(share / "urdf" / f"{name}.urdf.xacro")


def _other_masses(rng: np.random.Generator, text: str) -> str:
    tree = ElementTree.fromstring(text)
    for inertial in tree.iter("inertial"):
        factor = rng.uniform(1.0 - MASS_ERROR, 1.0 + MASS_ERROR)
        for one in (*inertial.iter("mass"), *inertial.iter("inertia")):
            for key, value in one.attrib.items():
                one.set(key, repr(float(value) * factor))
    return ElementTree.tostring(tree, encoding="unicode")


def middle_posture(rng: np.random.Generator, model: ArmModel) -> tuple[Array, Array]:
    """Return a posture (n,) well inside the joint limits, and how far (n,) each joint may move from it.

    The sign of the latter is that of the way to the middle.
    """
    lower, upper = np.maximum(model.lower, -2.0), np.minimum(model.upper, 2.0)
    middle, reach = 0.5 * (lower + upper), 0.5 * (upper - lower)
    offset = rng.uniform(-0.4, 0.4, model.n)
    return middle + offset * reach, np.copysign(0.5 * reach, -offset)
