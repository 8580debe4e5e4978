"""Robots in Gazebo's physics beside the project's own models: modes, sag, wrenches, free fall, links that bend."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from gazebo_stepper import GazeboRun

from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.description import RobotDescription
from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.static_equilibrium import static_equilibrium
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import ArmState
from flexarm_sim.mujoco.backend import MujocoBackend
from flexarm_tools.gazebo.model import SEGMENTS, GazeboStart, bendable, gazebo_model
from flexarm_tools.gazebo.start import gazebo_start

URDF = Path(__file__).resolve().parents[2] / "urdf"
ROBOTS = sorted(path.name.removesuffix(".urdf.xacro") for path in URDF.glob("*.urdf.xacro"))
TOOLS = {"dual_arm_trep": "left_tool"}  # of robots with several tips
STEP, DOWN, WEIGHTLESS = 0.0005, (0.0, 0.0, -9.81), (0.0, 0.0, 0.0)
BOOM_START = (0.476, 1.311, -1.378, -1.555, -0.054, -1.214, 0.716)  # [rad] of the boom's scenarios
ARM_START = (0.0, 0.3, 0.0, -1.8, 0.0, 1.04, 0.0)  # [rad] of those of arm_7r
FINE = 2.5e-5  # [s] step of the plant beside it


@dataclass(frozen=True, slots=True)
class Mode:
    """A mode of the base, as the model has it and as it was measured."""

    frequency: float  # [rad/s]
    damping: float  # ratio
    measured_frequency: float
    measured_damping: float


def robot(name: str, **arguments: str) -> RobotDescription:
    """A robot as Gazebo gets it."""
    given = {"hardware": "gazebo", "controllers_file": "/controllers.yaml"} | arguments
    return parse_robot_description(load_robot_description(URDF / f"{name}.urdf.xacro", given))


def converted(name: str) -> tuple[RobotDescription, str, GazeboStart]:
    """A robot, its model for Gazebo, and where it begins."""
    description = robot(name)
    tool = TOOLS.get(name, "")
    start = gazebo_start(description, DOWN, {})
    return description, gazebo_model(description, STEP, start, tool_frame=tool), start


def moving(description: RobotDescription) -> list[str]:
    """Names of the joints that move."""
    return [joint.name for joint in description.joints.values() if joint.kind != "fixed"]


def boom_modes(compensated: bool = True) -> list[Mode]:
    """The modes of the boom with its arm held still, each excited alone by a tenth of a millimeter.

    Args:
        compensated: whether the damping is made less by what DART adds.
    """
    description = robot("boom_7r")
    model = ArmModel(description, gravity=WEIGHTLESS)
    position = np.array(BOOM_START)
    state = ArmState(0, position, np.zeros(model.n), np.zeros(model.m), np.zeros(model.m))
    inertia, stiffness = model.blocks(state).H_b, model.K_b
    damping = np.diag([elastic.damping for elastic in description.elastic])
    factor = np.linalg.inv(np.linalg.cholesky(inertia))
    squares, shapes = np.linalg.eigh(factor @ stiffness @ factor.T)
    shapes = factor.T @ shapes
    sdf = gazebo_model(description, STEP if compensated else 0.0)
    modes = []
    for square, shape in zip(squares, shapes.T, strict=True):
        frequency = float(np.sqrt(square))
        bent = 1e-4 / np.abs(shape).max() * shape
        with GazeboRun([sdf], STEP, WEIGHTLESS) as run:
            run.set(dict(zip(description.actuated, BOOM_START, strict=True)))
            run.set(dict(zip(model.elastic_joint_names, bent.tolist(), strict=True)))
            run.hold(description.actuated)
            every = max(1, round(2.0 * np.pi / frequency / 16.0 / STEP))
            positions, _, _ = run.run(40.0 * every * STEP, every)
            columns = [run.joints.index(name) for name in model.elastic_joint_names]
        signal = positions[:, columns] @ inertia @ shape
        ratio = float(shape @ damping @ shape) / (2.0 * frequency)
        modes.append(Mode(frequency, ratio, *_oscillation(signal, every * STEP)))
    return modes


def flexible_modes(name: str, position: Iterable[float], count: int) -> list[Mode]:
    """The lowest modes of base and beams with the joints held still, each excited alone, beside the flexible model."""
    description, given = robot(name), list(position)
    model = FlexibleModel(description.text, gravity=WEIGHTLESS)
    held = [model.hinge_names.index(joint) for joint in description.actuated]
    x = np.zeros(model.size)
    x[held] = given
    free = [i for i in range(model.size) if i not in held]
    inertia, stiffness, damping = (
        np.asarray(matrix)[np.ix_(free, free)]
        for matrix in (model.mass_matrix(x), model.stiffness_matrix(), model.damping_matrix())
    )
    factor = np.linalg.inv(np.linalg.cholesky(inertia))
    squares, shapes = np.linalg.eigh(factor @ stiffness @ factor.T)
    start = gazebo_start(description, WEIGHTLESS, {"initial_position": given})
    sdf, modes = gazebo_model(description, STEP, start), []
    for square, shape in zip(squares[:count], (factor.T @ shapes).T, strict=False):
        frequency = float(np.sqrt(square))
        whole = np.zeros(model.size)
        whole[free] = 1e-3 * shape
        elastic = {joint.name: float(whole[model.hinge_names.index(joint.name)]) for joint in description.elastic}
        hinges: dict[str, float] = {}
        at = len(model.hinge_names)
        for link, chain in bendable(description).items():
            values = chain.mode_map @ whole[at : at + len(chain.modes)]
            at += len(chain.modes)
            numbered = [f"{link}__{one.name}_{i}" for one in chain.directions for i in range(1, len(chain.pieces))]
            hinges |= dict(zip(numbered, values.tolist(), strict=True))
        with GazeboRun([sdf], STEP, WEIGHTLESS) as run:
            run.set(dict(start.joints) | elastic | hinges)
            run.hold(description.actuated)
            every = max(1, round(2.0 * np.pi / frequency / 16.0 / STEP))
            positions, _, _ = run.run(60.0 * every * STEP, every)
            signal = sum(positions[:, run.joints.index(hinge)] * value for hinge, value in hinges.items())
        ratio = float(shape @ damping @ shape) / (2.0 * frequency)
        modes.append(Mode(frequency, ratio, *_oscillation(signal, every * STEP)))
    return modes


def _oscillation(signal: np.ndarray, period: float) -> tuple[float, float]:
    """Frequency [rad/s] and damping ratio of a decaying oscillation that is sampled at a period [s]."""
    # it obeys y[i+1] + y[i-1] exp(-2 s T) = 2 exp(-s T) cos(w T) y[i]
    sums, *_ = np.linalg.lstsq(np.stack([signal[1:-1], signal[:-2]], axis=1), signal[2:], rcond=None)
    root = np.log(np.roots([1.0, -sums[0], -sums[1]])[0].astype(complex)) / period
    return float(abs(root)), float(-root.real / abs(root))


def boom_sag(times: int = 20) -> float:
    """Largest distance in 2 s [m] of the held tool from where the model's static equilibrium has it."""
    description = robot("boom_7r")
    model = ArmModel(description, gravity=DOWN)
    position = np.array(BOOM_START)
    state = ArmState(0, position, np.zeros(model.n), static_equilibrium(model, position), np.zeros(model.m))
    wanted = model.tool_kinematics(state, model.world_frame).position
    start = gazebo_start(description, DOWN, {"initial_position": list(BOOM_START)})
    return _largest_distance(description, start, wanted, times)


def flexible_sag(held_by_effort: bool = True, times: int = 20) -> float:
    """Largest distance in 2 s [m] of the tool of flexible_3r, held still, from where the plant's equilibrium has it."""
    description = robot("flexible_3r")
    plant = MujocoBackend(description, gravity=DOWN, max_step=FINE)
    plant.reset(at_rest=True)
    start = gazebo_start(description, DOWN, {})
    efforts = plant.gravity_effort() if held_by_effort else None
    return _largest_distance(description, start, plant.state().tool_position_in_world, times, efforts)


def _largest_distance(
    description: RobotDescription,
    start: GazeboStart,
    wanted: np.ndarray,
    times: int,
    efforts: np.ndarray | None = None,
) -> float:
    with GazeboRun([gazebo_model(description, STEP, start)], STEP, DOWN) as run:
        run.set(dict(start.joints))
        if efforts is None:
            run.hold(description.actuated)
        else:
            run.effort(dict(zip(description.actuated, efforts.tolist(), strict=True)))
        farthest = 0.0
        for _ in range(times):
            run.run(2.0 / times, round(2.0 / times / STEP))
            farthest = max(farthest, float(np.linalg.norm(run.where(description.tool_frame()) - wanted)))
    return farthest


def beside_the_plant(
    name: str,
    position: Iterable[float],
    efforts: Iterable[float],
    duration: float,
    gravity: tuple[float, float, float] = DOWN,
    segments: int = 20,
    rigid: bool = False,
    every: int = 10,
    pieces: int = SEGMENTS,
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """A robot under constant efforts from its equilibrium on, in Gazebo's physics and in the simulated plant.

    Both end where a joint reaches a limit.

    Returns:
        For each of them, time, positions and velocities of the actuated joints, and the wrench of each sensor. Gazebo's
        wrenches belong to the beginning of a step, and so are compared with those of a step before.
    """
    description, efforts = robot(name), list(efforts)
    start = gazebo_start(description, gravity, {"initial_position": list(position)}, pieces)
    above = {joint.child: joint.name for joint in description.joints.values()}
    sensors = {sensor: above[one.frame] for sensor, one in description.force_torque_sensors.items()}
    shown = _rigid(description) if rigid else description
    with GazeboRun([gazebo_model(shown, STEP, start, segments=pieces)], STEP, gravity) as run:
        run.set(dict(start.joints))
        run.effort(dict(zip(description.actuated, efforts, strict=True)))
        run.watch(*sensors.values())
        q, v, wrenches = run.run(duration, every)
        columns = [run.joints.index(joint) for joint in description.actuated]
    here = {"time": STEP * every * np.arange(1, len(q) + 1), "position": q[:, columns], "velocity": v[:, columns]}
    here |= {sensor: wrenches[:, i] for i, sensor in enumerate(sensors)}
    plant = MujocoBackend(description, gravity=gravity, max_step=FINE, segments=segments)
    plant.reset(list(position), at_rest=True)
    there: dict[str, list[np.ndarray]] = {key: [] for key in here if key != "time"}
    for _ in range(len(q)):
        plant.step(efforts, (every - 1) * STEP)
        for sensor in sensors:
            there[sensor].append(plant.state().wrenches[sensor])
        plant.step(efforts, STEP)
        there["position"].append(plant.state().position)
        there["velocity"].append(plant.state().velocity)
    other = {"time": here["time"]} | {key: np.array(value) for key, value in there.items()}
    beyond = _beyond(description, other["position"]) | _beyond(description, here["position"])
    end = int(np.argmax(beyond)) if beyond.any() else len(q)
    return {key: value[:end] for key, value in here.items()}, {key: value[:end] for key, value in other.items()}


def at_rest_wrench_error(name: str, position: Iterable[float]) -> dict[str, float]:
    """Error of each force/torque sensor of an arm that is held in equilibrium, beside the plant."""
    description, given = robot(name), list(position)
    start = gazebo_start(description, DOWN, {"initial_position": given})
    plant = MujocoBackend(description, gravity=DOWN, max_step=FINE)
    plant.reset(given, at_rest=True)
    plant.reset(given, deflection=plant.state().deflection, effort=plant.gravity_effort())
    wanted = plant.state().wrenches
    above = {joint.child: joint.name for joint in description.joints.values()}
    sensors = {sensor: above[one.frame] for sensor, one in description.force_torque_sensors.items()}
    with GazeboRun([gazebo_model(description, STEP, start)], STEP, DOWN) as run:
        run.set(dict(start.joints))
        run.hold(description.actuated)
        run.watch(*sensors.values())
        _, _, wrenches = run.run(0.5, 100)
    return {
        f"{name} at rest: {sensor}": error({sensor: wrenches[-1:, i]}, {sensor: wanted[sensor][None]}, sensor)
        for i, sensor in enumerate(sensors)
    }


def _beyond(description: RobotDescription, position: np.ndarray) -> np.ndarray:
    """Whether a joint has reached a limit (t,): there are stops in Gazebo, and none in the plant."""
    joints = [description.joints[name] for name in description.actuated]
    limits = np.array([(joint.lower, joint.upper) for joint in joints])
    return ((position <= limits[:, 0]) | (position >= limits[:, 1])).any(axis=1)


def _rigid(description: RobotDescription) -> RobotDescription:
    return replace(description, flexible_links={})


def error(here: dict[str, np.ndarray], there: dict[str, np.ndarray], key: str) -> float:
    """Largest difference as a fraction of the largest change or, of a wrench, of its largest value."""
    if key == "position":
        scale = np.abs(there[key] - there[key][0]).max()
        return float(np.abs(here[key] - there[key]).max() / scale)
    if key == "velocity":
        return float(np.abs(here[key] - there[key]).max() / np.abs(there[key]).max())
    parts = [
        np.linalg.norm(here[key][:, part] - there[key][:, part], axis=1).max()
        / max(1e-9, np.linalg.norm(there[key][:, part], axis=1).max())
        for part in (slice(0, 3), slice(3, 6))
    ]
    return float(max(parts))
