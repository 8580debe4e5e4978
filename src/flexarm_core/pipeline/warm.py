"""Compile all kernels of the core ahead of use; ``python -m flexarm_sim.warm`` compiles those of the plant too."""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from flexarm_core import compilation
from flexarm_core.base_wrench.controller import BaseWrenchController, BaseWrenchControllerConfig
from flexarm_core.base_wrench.estimator import BaseWrenchEstimator, BaseWrenchEstimatorConfig
from flexarm_core.base_wrench.gravity_regressor import GravityRegressor
from flexarm_core.base_wrench.gravity_table import GravityTable
from flexarm_core.base_wrench.link_heights import LinkHeights
from flexarm_core.base_wrench.motion_filter import MotionFilter
from flexarm_core.base_wrench.sensed_bodies import build_sensed_bodies
from flexarm_core.base_wrench.sensor_dynamics import SensorDynamics
from flexarm_core.base_wrench.torque_loop import TorqueLoop, TorqueLoopConfig
from flexarm_core.behavior_impedance.avoidance.arm_shape import build_arm_shape
from flexarm_core.behavior_impedance.avoidance.obstacle_guard import ObstacleGuard
from flexarm_core.behavior_impedance.avoidance.obstacles import Obstacle
from flexarm_core.behavior_impedance.behavior import Arm
from flexarm_core.behavior_impedance.warm_up import load_compiled
from flexarm_core.behavior_impedance.wrench.tool_wrench import ToolWrench
from flexarm_core.flexible_dynamics import integration, recursion
from flexarm_core.flexible_dynamics.bent_tool import BentTool
from flexarm_core.flexible_dynamics.control.controller import FlexibleController, FlexibleControllerConfig
from flexarm_core.flexible_dynamics.estimation.config import EstimatorConfig
from flexarm_core.flexible_dynamics.estimation.estimator import FlexibleEstimator
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.flexible_dynamics.vibration_damping import VibrationDampingConfig
from flexarm_core.hardware_gate.config import HardwareGateConfig
from flexarm_core.hardware_gate.gate import HardwareGate
from flexarm_core.hardware_gate.limits import JointLimits, fastest
from flexarm_core.ik_redundancy.chain import build_chain
from flexarm_core.ik_redundancy.config import RedundancyConfig
from flexarm_core.ik_redundancy.inverse_kinematics import InverseKinematics
from flexarm_core.ik_redundancy.joint_paths import reach_all
from flexarm_core.ik_redundancy.limits import MotionLimits
from flexarm_core.ik_redundancy.solver import RedundancySolver
from flexarm_core.ik_redundancy.solver_memory import solver_memory
from flexarm_core.ik_redundancy.step import RedundancyStep
from flexarm_core.ik_redundancy.tracking import pose_errors, reach
from flexarm_core.path import velocity_commands
from flexarm_core.path.joint_move import JointMove, JointMoveConfig
from flexarm_core.pipeline import whole_reference
from flexarm_core.pipeline.behavior_stage import JointDeviation
from flexarm_core.pipeline.flexible_stages import FlexibleControlStage, FlexibleEstimatorStage
from flexarm_core.pipeline.reference_stage import ReferenceStage
from flexarm_core.pipeline.stage import Stage, advance, finish
from flexarm_core.pipeline.tick import Tick
from flexarm_core.reaction_null_space.coupling.null_space import damped_inverse
from flexarm_core.reaction_null_space.vibration.base_selection import BaseSelection, servo_inertia
from flexarm_core.reaction_null_space.vibration.config import LAWS, REALIZATIONS, VibrationControllerConfig
from flexarm_core.reaction_null_space.vibration.controller import VibrationController
from flexarm_core.reaction_null_space.vibration.gain import vibration_gain
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import ArmState, BaseWrenchSample, CartesianReference, FlexibleSample, JointReference

TWO_LINKS = """<robot name="two_links"><link name="world"/><link name="base">
    <inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <joint name="under" type="fixed"><parent link="world"/><child link="base"/></joint>
  <joint name="first" type="continuous"><parent link="base"/><child link="inner"/><axis xyz="0 0 1"/></joint>
  <link name="inner"><inertial><origin xyz="0.5 0 0"/><mass value="1"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <joint name="second" type="continuous">
    <parent link="inner"/><child link="outer"/><origin xyz="1 0 0"/><axis xyz="0 0 1"/>
  </joint>
  <link name="outer"><inertial><origin xyz="0.5 0 0"/><mass value="1"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>
    <collision><origin xyz="0.5 0 0"/><geometry><sphere radius="0.1"/></geometry></collision></link>
  <ros2_control name="two_links" type="system">
    <joint name="first"><command_interface name="effort"/></joint>
    <joint name="second"><command_interface name="effort"/></joint>
    <sensor name="tool_ft_sensor"><state_interface name="force.x"/><param name="frame_id">outer</param></sensor>
    <sensor name="base_ft_sensor"><state_interface name="force.x"/><param name="frame_id">base</param></sensor>
  </ros2_control>
  <flexibility>
    <flexible_link name="inner"><beam length="1" EIz="100" rho_A="1" modes_y="1"/></flexible_link>
    <flexible_link name="outer"><beam length="1" EIz="100" rho_A="1" modes_y="1"/></flexible_link>
  </flexibility>
</robot>"""

ON_A_SPRING = TWO_LINKS.replace(
    'under" type="fixed"><parent link="world"/><child link="base"/>',
    'under" type="prismatic"><parent link="world"/><child link="base"/><axis xyz="1 0 0"/>'
    '<limit lower="-1" upper="1" effort="1" velocity="1"/>',
).replace("<flexibility>", '<flexibility><elastic_joint name="under" stiffness="100" damping="1"/>')

SENSED = ON_A_SPRING.replace(
    "</ros2_control>",
    '<sensor name="imu"><state_interface name="linear_acceleration.x"/><param name="frame_id">base</param></sensor>'
    "</ros2_control>",
).replace(
    'modes_y="1"/></flexible_link>', 'modes_y="1"/><strain_gauge name="gauge" x="0.1" y="0.01"/></flexible_link>', 1
)


def compile_dynamics() -> None:
    """Call every compiled function of the flexible dynamics once, with the argument types that the model uses."""
    model = FlexibleModel(TWO_LINKS)
    x, v, effort = np.zeros(model.size), np.zeros(model.size), np.zeros(len(model.hinge_names))
    acceleration = model.forward_dynamics(x, v, effort, {("outer", 1): np.zeros(6)})
    model.response(model.actuated)
    model.inverse_dynamics(x, v, acceleration)
    model.mass_matrix(x)
    model.energy(x, v)
    model.frame_motion("outer", x, v, acceleration)
    recursion.forward_dynamics(*model.arrays, x, v, effort)
    for steps in (integration.runge_kutta, integration.implicit_midpoint):
        steps(*model.arrays, effort, 1e-4, 1)
    BentTool(parse_robot_description(TWO_LINKS)).shift(np.zeros(2), np.zeros(2))


def compile_redundancy() -> None:
    """Call every compiled function of the redundancy resolution once."""
    chain = build_chain(parse_robot_description(TWO_LINKS))
    n = chain.n
    limits = MotionLimits(np.full(n, -1.0), np.full(n, 1.0), np.full(n, 1.0), np.full(n, 1.0))
    p, R = chain.pose(np.full(n, 0.5))
    for method in ("orthogonalization", "damped_least_squares"):
        solver = RedundancySolver(chain, limits, RedundancyConfig(method=method))
        solver.begin(np.full(n, 0.5))
        solver.update(p, R)
        solver.stop(1e-3)
    step, one = RedundancyStep(np.ones(n), [[0]]), np.ones(n)
    step.solve(np.ones((6, n)), np.ones(6), one)
    step.solve_many(np.ones((1, 6, n)), np.ones((1, 6)), one[None])
    plan, q = RedundancyConfig().plan(n), np.full(n, 0.4)
    memory, parts = solver_memory(chain.links, limits.table())
    parts.request.position[:], parts.request.rotation[:], parts.request.origin[:] = p, R, q
    reach(memory, plan, q)
    pose_errors(chain.links, q[None], p[None], R[None], np.empty((1, 6)))
    reach_all(memory, plan, q[None].copy(), q[None].copy(), np.ones((1, 6)), np.ones((1, 6, n)))
    InverseKinematics(chain, limits.lower, limits.upper).solve(p, R, q)


def compile_impedance() -> None:
    """Run some samples of every kind of behavior, and one obstacle distance computation."""
    description = parse_robot_description(TWO_LINKS)
    chain = build_chain(description)
    limits = MotionLimits(np.full(2, -9.0), np.full(2, 9.0), np.full(2, 1.0), np.full(2, 9.0))
    shape = build_arm_shape(description, chain)
    far = Obstacle("far", "sphere", np.full(3, 9.0), np.eye(3), (1.0,))
    ObstacleGuard(shape, chain, limits, [far]).least_distance(np.zeros(2))
    load_compiled(Arm(chain, shape, limits))


def compile_base_wrench() -> None:
    """Call every compiled function of the base wrench once."""
    description, two = parse_robot_description(TWO_LINKS), np.zeros(2)
    bodies = build_sensed_bodies(description)
    LinkHeights(description, bodies, 0.0)
    dynamics, gravity = SensorDynamics(bodies), (0.0, 0.0, -9.81)
    GravityTable.from_model(dynamics).wrench(two)
    GravityRegressor(bodies, gravity).matrices(np.zeros((1, 2)))
    TorqueLoop(np.ones(2), TorqueLoopConfig()).update(two, 1e-3)
    MotionFilter([True, True], 1.0, 1.0).update(0, two, two)
    model, none = ArmModel(description), two[:0]
    estimate = BaseWrenchEstimator(model, dynamics, BaseWrenchEstimatorConfig()).update(
        BaseWrenchSample(0, two, two, two, np.zeros(6))
    )
    controller = BaseWrenchController(model, BaseWrenchControllerConfig())
    controller.update(ArmState(0, two, two, none, none), JointReference(0, two), estimate)


def compile_pipeline() -> None:
    """Construct the objects that compile their functions on construction: gate, tool wrench, whole references."""
    model = ArmModel(ON_A_SPRING)
    one = np.ones(model.n)
    HardwareGate(model, JointLimits(-one, one, one, one, one, one), HardwareGateConfig())
    still, none = np.zeros(model.n), np.zeros(model.m)
    model.wrench_on_base(ArmState(0, still, still, none, none), still, none)
    ToolWrench(model.description, build_chain(model.description), "tool_ft_sensor")
    JointDeviation(("first",)).check(*np.zeros((2, 1)))
    whole_reference.load_compiled()
    velocity_commands.load_compiled()
    deviation = JointDeviation(model.joint_names)
    deviation.tolerance = 1.0
    deviation.check(still, still)
    fastest(one, still)


def compile_flexible_control() -> None:
    """Run some samples of the flexible estimator with all of its sensors, some of them silent, and of every law."""
    description, three = parse_robot_description(SENSED), np.zeros(6)
    model = ArmModel(description)
    still, none = np.zeros(model.n), np.zeros(model.m)
    heard = FlexibleSample(
        0, still, still, still, none, none, {"gauge": 0.0}, {"base_ft_sensor": three, "tool_ft_sensor": three},
        {"imu": three},
    )  # fmt: skip
    silent = replace(heard, strain={}, wrenches={}, imus={}, deflection=None, deflection_rate=None)
    pushed = replace(heard, deflection=none + 1.0, imus={"imu": three + 99.0})
    for contact in ("", "tool_ft_sensor"):
        config = EstimatorConfig(use_wrench=True, use_imu=True, contact_sensor=contact)
        estimator = FlexibleEstimatorStage(FlexibleEstimator(FlexibleModel(description), config))
        reference = ReferenceStage(model, JointMove(JointMoveConfig((0.1,) * model.n, duration=1.0)))
        controls = [
            FlexibleControlStage(FlexibleController(FlexibleModel(description), _unchecked(law, carry_over)))
            for law, carry_over in (("vibration_damping", 0.0), ("accelerations", 0.0), ("accelerations", 0.01))
        ]
        stages: list[Stage] = [estimator, reference, *controls]
        # the clock of the last but one is ahead, and the filter begins anew
        for time_ms, sample in ((0, heard), (1, heard), (2, silent), (3, pushed), (9999, heard), (10000, heard)):
            tick = Tick(replace(sample, stamp=time_ms * 1_000_000), model.m)
            for stage in stages:
                advance(stage, tick)
            finish(stages)


def _unchecked(law: str, carry_over: float = 0.0) -> FlexibleControllerConfig:
    """Return settings whose gains do not matter."""
    motion = VibrationDampingConfig(position_gain=1.0, velocity_gain=1.0, effort_weight=1.0)
    return FlexibleControllerConfig(law=law, motion=motion, carry_over=carry_over, check_gains=False)


def compile_reaction_null_space() -> None:
    """Run one sample of every law, with and without joint servos."""
    model = ArmModel(ON_A_SPRING, gravity=(0.0, 0.0, 0.0))
    one, none = np.ones(model.m), np.zeros(model.m)
    state = ArmState(0, np.full(model.n, 0.5), np.zeros(model.n), none, none)
    tool = model.tool_kinematics(state, model.base_frame)
    still = np.zeros(6)
    reference = CartesianReference(0, model.base_frame, tool.position, tool.rotation, still, still, np.arange(6) < 1)
    for chosen in (("all",), ("auto",)):
        selection = BaseSelection(model, chosen)
        for law in LAWS:
            for realization in REALIZATIONS:
                config = VibrationControllerConfig(law, realization=realization)
                VibrationController(model, config, selection).update(state, reference)
    vibration_gain(np.eye(1), np.eye(1), 0.5)
    damped_inverse(np.eye(2)[:1], 1e-3, 1e-3)
    servo_inertia(model.blocks(state), one[None])


PARTS: Mapping[str, Callable[[], None]] = {
    "flexible dynamics": compile_dynamics,
    "flexible estimator and control": compile_flexible_control,
    "redundancy": compile_redundancy,
    "impedance": compile_impedance,
    "base wrench": compile_base_wrench,
    "gate and references": compile_pipeline,
    "reaction null space": compile_reaction_null_space,
}


MANY = 20  # kernels that are worth more processes
MOST = 4  # processes: of about 1 GB each, and there are not many more parts


def is_kept(kernel: Any) -> bool:
    """Return whether the cache has machine code of a kernel, for any types."""
    return kernel.stats.cache_path is not None and kernel._cache.is_kept()  # type: ignore[no-any-return]


def main(parts: Mapping[str, Callable[[], None]] = PARTS) -> None:
    """Compile the kernels that are not in the cache, and print how long it took; progress is shown on stderr."""
    began, progress = time.perf_counter(), compilation.progress
    progress.total = sum(not is_kept(kernel) for kernel in progress.kernels)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    if progress.total > MANY and cores > 1 and compilation.where_kept(progress.kernels):
        progress.announce()
        progress.shared = True
        with ProcessPoolExecutor(min(cores, MOST), multiprocessing.get_context("fork")) as pool:
            for done in [pool.submit(part) for part in parts.values()]:
                done.result()
        print("flexarm: compiled; loading all of it once, to see that it is kept ...", file=sys.stderr, flush=True)
    for part in parts.values():  # loads what is kept
        part()
    print(f"{progress.count} functions compiled in {time.perf_counter() - began:.0f} s")
    if not compilation.where_kept(progress.kernels):
        sys.exit("flexarm: no folder for what was compiled can be written: set NUMBA_CACHE_DIR to one that can")


if __name__ == "__main__":
    main()
