"""Arms, samples and controllers for the tests of behaviors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from robots import chain_or_skip, find
from scipy.spatial.transform import Rotation

from flexarm_core.behavior_impedance.avoidance.arm_shape import build_arm_shape
from flexarm_core.behavior_impedance.behavior import Arm, Behavior, BehaviorSpec, Contribution, MotionSample
from flexarm_core.behavior_impedance.config import ImpedanceConfig
from flexarm_core.behavior_impedance.controller import BehaviorImpedanceController, ImpedanceOutput
from flexarm_core.behavior_impedance.layout import view_parts
from flexarm_core.behavior_impedance.motion_space import arm_kinematics
from flexarm_core.behavior_impedance.registry import make_behavior
from flexarm_core.compiled import allocate
from flexarm_core.ik_redundancy.chain import build_chain
from flexarm_core.ik_redundancy.config import RedundancyConfig
from flexarm_core.ik_redundancy.limits import MotionLimits
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import Array

READY = {
    "panda": (0.0, 0.3, 0.0, -1.8, 0.0, 2.1, 0.5),
    "iiwa": (0.1, 0.5, 0.2, -1.2, 0.3, 0.9, 0.1),
    "ur5": (0.2, -1.2, 1.4, -0.6, 1.2, 0.3),
    "arm_6r": (0.2, 0.3, 1.2, 0.1, 0.5, 0.0),
    "planar_4r": (0.3, 0.6, 0.5, 0.4),
    "gantry": (0.1, 0.4, -0.3, 0.2, 0.5),
}
PLANAR = (True, True, False, False, False, True)
MILLISECOND = 1_000_000  # [ns]
# Two rails, two turns and a boom: every pair of kinds of joints, each before and behind the other.
GANTRY = """<robot name="gantry"><link name="base"/>
  <joint name="rail" type="prismatic"><parent link="base"/><child link="cart"/><axis xyz="1 0.2 0"/>
    <limit lower="-2" upper="2" effort="1" velocity="1"/></joint><link name="cart"/>
  <joint name="turn" type="revolute"><parent link="cart"/><child link="arm"/><origin xyz="0 0.1 0.4" rpy="0.2 0.1 0"/>
    <axis xyz="0 0.3 1"/><limit lower="-3" upper="3" effort="1" velocity="1"/></joint>
  <link name="arm"><visual><origin xyz="0.2 0 0"/><geometry><box size="0.4 0.05 0.05"/></geometry></visual></link>
  <joint name="boom" type="prismatic"><parent link="arm"/><child link="tip"/><origin xyz="0.4 0 0"/>
    <axis xyz="1 0 0.4"/><limit lower="-0.5" upper="1.5" effort="1" velocity="1"/></joint><link name="tip"/>
  <joint name="bend" type="revolute"><parent link="tip"/><child link="wrist"/><origin xyz="0.1 0 0" rpy="0 0.5 0"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="1" velocity="1"/></joint><link name="wrist"/>
  <joint name="lift" type="prismatic"><parent link="wrist"/><child link="last"/><axis xyz="0.1 0 1"/>
    <limit lower="-0.4" upper="0.8" effort="1" velocity="1"/></joint>
  <link name="last"><visual><geometry><sphere radius="0.05"/></geometry></visual></link>
  <joint name="end" type="fixed"><parent link="last"/><child link="tool0"/><origin xyz="0.2 0 0"/></joint>
  <link name="tool0"/></robot>"""


@cache
def arm_of(name: str, acceleration: float = 20.0) -> Arm:
    """What behaviors know of a robot; joints as fast as their description says [rad/s^2 | m/s^2]."""
    if name == "gantry":
        text, tool = GANTRY, "tool0"
    else:
        chain_or_skip(name)
        text, tool = find(name)
    description = parse_robot_description(text, massless=True)
    chain = build_chain(description, tool)
    limits = MotionLimits(chain.lower, chain.upper, chain.velocity_limit, np.full(chain.n, acceleration))
    return Arm(chain, build_arm_shape(description, chain), limits)


def random_position(arm: Arm, rng: np.random.Generator) -> Array:
    """Joints (n,) within their ranges, and within 2.5 [rad | m]."""
    return rng.uniform(np.maximum(arm.chain.lower, -2.5), np.minimum(arm.chain.upper, 2.5))


def sample_at(arm: Arm, position: Sequence[float] | Array, **changes: Any) -> MotionSample:
    """A sample of an arm at rest at joint positions (n,), the wrench measured and zero; changed as is said."""
    q = np.array(position, dtype=float)
    frames, J = np.empty((arm.chain.n + 1, 12)), np.empty((6, arm.chain.n))
    arm_kinematics(arm.chain.links, q, frames, J)
    values: dict[str, Any] = {
        "stamp": 0, "dt": 2e-3, "position": q, "velocity": np.zeros(arm.chain.n), "tool_position": frames[-1, 9:],
        "tool_rotation": frames[-1, :9].reshape(3, 3), "tool_twist": np.zeros(6), "J": J, "frames": frames,
        "wrench": np.zeros(6), "error": np.zeros(6), "wrench_valid": True,
    }  # fmt: skip
    values.update(changes)
    if "velocity" in changes:
        values["tool_twist"] = J @ values["velocity"]
    return MotionSample(**values)


def tool_sample(arm: Arm, translation: Array, turn: Array, at: MotionSample, **changes: Any) -> MotionSample:
    """A sample whose tool is moved by a translation (3,) [m] and a rotation vector (3,) [rad] from that of another."""
    rotation = Rotation.from_rotvec(turn).as_matrix() @ at.tool_rotation
    return sample_at(arm, at.position, tool_position=at.tool_position + translation, tool_rotation=rotation, **changes)


def contribution(arm: Arm) -> Contribution:
    """An empty one."""
    return Contribution(allocate(view_parts, arm.chain.n)[0], arm.chain.n)


def made(arm: Arm, kind: str, **settings: Any) -> Behavior:
    """A behavior that has not begun."""
    return make_behavior(BehaviorSpec("it", kind, settings), arm)


def begun(arm: Arm, kind: str, sample: MotionSample, **settings: Any) -> Behavior:
    """A behavior that began with a sample."""
    behavior = made(arm, kind, **settings)
    behavior.begin(sample)
    return behavior


def asked(arm: Arm, behavior: Behavior, sample: MotionSample) -> Contribution:
    """What it contributes at a sample."""
    out = contribution(arm)
    behavior.update(sample, out)
    return out


@dataclass(slots=True)
class Run:
    """What a controller commanded, a row a sample."""

    outputs: list[ImpedanceOutput]
    joints: Array

    def of(self, name: str) -> Array:
        """One quantity of the outputs over time."""
        return np.array([getattr(output, name) for output in self.outputs])


class Driven:
    """A controller with a clock."""

    def __init__(
        self, name: str, position: Sequence[float] | Array | None = None, redundancy: RedundancyConfig | None = None,
        arm: Arm | None = None, **config: Any,
    ) -> None:  # fmt: skip
        """A controller that has begun at rest; planar arms hold x y rz."""
        if name == "planar_4r":
            config.setdefault("axes", PLANAR)
        self.arm, self.stamp = arm or arm_of(name), 0
        self.controller = BehaviorImpedanceController(
            self.arm, ImpedanceConfig(**config), redundancy or RedundancyConfig(objective_time_constant=0.0)
        )
        self.controller.begin(np.array(READY[name] if position is None else position, dtype=float))

    @property
    def joints(self) -> Array:
        """Commanded (n,)."""
        return self.controller.solver.position

    def ask(self, *specs: BehaviorSpec) -> None:
        """These behaviors from now on."""
        self.controller.set_behaviors(specs)

    def behavior(self, name: str) -> Any:
        """One that takes part."""
        return next(active.behavior for active in self.controller.behaviors if active.spec.name == name)

    def failure(self, name: str) -> str:
        """Why one is left out."""
        return next(active.failure for active in self.controller.behaviors if active.spec.name == name)

    def step(self, wrench: Array | None = None, dt: float = 2e-3, hold: str = "") -> ImpedanceOutput:
        """One sample; without a wrench given, one that is zero is measured."""
        self.stamp += round(dt * 1e9)
        return self.controller.update(self.stamp, dt, np.zeros(6) if wrench is None else wrench, hold)

    def blind(self, dt: float = 2e-3) -> ImpedanceOutput:
        """One sample without a wrench."""
        self.stamp += round(dt * 1e9)
        return self.controller.update(self.stamp, dt, None)

    def run(
        self, samples: int, wrench: Array | Callable[[ImpedanceOutput], Array] | None = None, dt: float = 2e-3
    ) -> Run:
        """Many samples."""
        outputs, joints = [], []
        for _ in range(samples):
            outputs.append(self.step(wrench(self.controller.output) if callable(wrench) else wrench, dt))
            joints.append(self.joints)
        return Run(outputs, np.array(joints))


def assert_within_limits(arm: Arm, start: Array, joints: Array, dt: float) -> None:
    """Positions (k, n) from rest, and velocities and accelerations differenced from them."""
    q = np.vstack((start, start, joints))
    v = np.diff(q, axis=0) / dt
    rounding = 4.0 * np.spacing(np.abs(q).max()) / dt
    assert np.all(q >= arm.limits.lower) and np.all(q <= arm.limits.upper)
    assert np.all(np.abs(v) <= arm.limits.velocity + rounding)
    assert np.all(np.abs(np.diff(v, axis=0)) / dt <= arm.limits.acceleration + 2.0 * rounding / dt)
