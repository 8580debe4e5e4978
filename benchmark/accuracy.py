"""Accuracy of the flexible dynamics against dense solves, closed forms and two independent engines."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import exudyn_peer  # before numba: it chooses its build at the import
import numpy as np
import pinocchio
import scipy.linalg
from chain import arm_urdf

from flexarm_core.flexible_dynamics.beam import Load, beam_modes
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import ArmState, Array
from flexarm_sim.mujoco.backend import MujocoBackend
from flexarm_tools.metrics.figures import Figure, parse_goal

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "test" / "support"))
import modal_slew  # noqa: E402
from random_trees import random_case  # noqa: E402

WEIGHTLESS = (0.0, 0.0, 0.0)
TICK, TICKS = 1e-3, 800  # of the slew
CLAMPED_FREE = np.array([1.87510, 4.69409, 7.85476])


def robot_text(name: str) -> str:
    """URDF text of a robot of the package."""
    return load_robot_description(ROOT / "urdf" / f"{name}.urdf.xacro")


def relative(a: Array, b: Array) -> float:
    """Largest difference as a part of the largest value."""
    return float(np.abs(a - b).max() / np.abs(b).max())


def dense_error() -> list[Figure]:
    """Random trees of up to 8 links, half of them flexible, under gravity and wrenches."""
    rng, worst = np.random.default_rng(0), 0.0
    with tempfile.TemporaryDirectory() as folder:
        for trial in range(500):
            case = random_case(rng, Path(folder), 1 + trial % 8)
            model = case.model
            forces = -model.inverse_dynamics(case.x, case.v, np.zeros(model.size), case.wrenches)
            forces[: len(case.effort)] += case.effort
            dense = np.linalg.solve(model.mass_matrix(case.x), forces)
            worst = max(worst, relative(model.forward_dynamics(case.x, case.v, case.effort, case.wrenches), dense))
    return [Figure("dense_error", worst, "1", parse_goal("<= 1e-9"), "recursion against dense solve, 500 random trees")]


def rigid_error() -> list[Figure]:
    """The recursion without modes against ``pinocchio.aba``."""
    rng, worst = np.random.default_rng(0), 0.0
    for links in (1, 3, 7, 20):
        text = arm_urdf(links, 0)
        ours, theirs = FlexibleModel(text, rigid=True), pinocchio.buildModelFromXML(text)
        data = theirs.createData()
        for _ in range(50):
            x, v, effort = rng.uniform(-1.5, 1.5, (3, links))
            expected = pinocchio.aba(theirs, data, x, v, effort)
            worst = max(worst, relative(ours.forward_dynamics(x, v, effort), expected))
    return [Figure("rigid_error", worst, "1", parse_goal("<= 1e-9"), "recursion without modes against pinocchio.aba")]


def energy_drift() -> list[Figure]:
    """A second of free motion of flexible_3r under gravity without losses."""
    model = FlexibleModel(robot_text("flexible_3r"))
    model.tree.C[:], model.tree.damping[:], model.tree.friction[:] = 0.0, 0.0, 0.0
    drifts = {}
    for h in (2.5e-4, 1.25e-4):
        x, v = np.zeros(model.size), np.zeros(model.size)
        v[model.actuated] = 0.5, 0.3, -0.6
        x[model.actuated[2]] = 0.5
        start, kinetic, drift = model.energy(x, v), 0.0, 0.0
        for _ in range(50):
            effort = np.zeros(len(model.hinge_names))
            model.integrate(x, v, effort, h, round(0.02 / h))
            kinetic = max(kinetic, 0.5 * v @ model.mass_matrix(x) @ v)
            drift = max(drift, abs(model.energy(x, v) - start))
        drifts[h] = drift / kinetic
    meaning = "change of energy in 1 s as part of the kinetic energy, steps of 0.25 ms"
    details: dict[str, bool | float | str] = {"with_half_the_step": float(drifts[1.25e-4])}
    return [Figure("energy_drift", float(drifts[2.5e-4]), "1", parse_goal("<= 1e-6"), meaning, details=details)]


def frequency_error() -> list[Figure]:
    """Three bending frequencies of a beam of 40 elements against Euler and Bernoulli."""
    text = robot_text("flexible_2r").replace('modes_y="2"', 'modes_y="3" tip_mass="0"')
    beam = parse_robot_description(text).flexible_links["upper_arm"].beam
    assert beam is not None
    found = np.sqrt(np.diag(beam_modes(beam).stiffness))
    expected = CLAMPED_FREE**2 * np.sqrt(beam.EIz / (beam.rho_A * beam.length**4))
    value = float(np.abs(found / expected - 1.0).max())
    return [Figure("frequency_error", value, "1", parse_goal("<= 2e-3"), "three clamped-free frequencies, 40 elements")]


def mounted_mode_error() -> list[Figure]:
    """First frequency of a beam of 1 m with a motor of 5 kg at several places and 0.2 kg at its tip.

    Against cubic elements with consistent masses; ours are lumped.
    """
    length, stiffness, per_length, motor, tip, n = 1.0, 300.0, 0.8, 5.0, 0.2, 100
    e, ratios, details = length / n, [], dict[str, bool | float | str]()
    beam = parse_robot_description(robot_text("flexible_2r")).flexible_links["upper_arm"].beam
    assert beam is not None
    beam = replace(beam, length=length, rho_A=per_length, EIz=stiffness, elements=n, modes_y=1, modes_z=0)
    a, b = np.array([[12.0, 6 * e], [6 * e, 4 * e * e]]), np.array([[-12.0, 6 * e], [-6 * e, 2 * e * e]])
    c, d = np.array([[156.0, 22 * e], [22 * e, 4 * e * e]]), np.array([[54.0, -13 * e], [13 * e, -3 * e * e]])
    flip = np.diag([1.0, -1.0])
    for place in (0.05, 0.3, 0.6, 0.9):
        K, M = np.zeros((2, 2 * n + 2, 2 * n + 2))
        for k in range(n):
            at = slice(2 * k, 2 * k + 4)
            K[at, at] += stiffness / e**3 * np.block([[a, b], [b.T, flip @ a @ flip]])
            M[at, at] += per_length * e / 420.0 * np.block([[c, d], [d.T, flip @ c @ flip]])
        M[2 * round(place / e), 2 * round(place / e)] += motor
        M[-2, -2] += tip
        expected = np.sqrt(scipy.linalg.eigh(K[2:, 2:], M[2:, 2:], eigvals_only=True)[0])
        found = np.sqrt(beam_modes(beam, [Load(motor, place=place), Load(tip)]).stiffness[0, 0])
        ratios.append(abs(found / expected - 1.0))
        details[f"at_{place}_m"] = float(found / expected - 1.0)
    meaning = "first frequency of a beam with a motor on it against finite elements, four places of the motor"
    return [Figure("mounted_mode_error", float(max(ratios)), "1", parse_goal("<= 0.01"), meaning, details=details)]


def gravity_frequency_error() -> list[Figure]:
    """40 kg at the end of 3 m on a spring: on top, hanging and lying; against ``sqrt((k +- m g L) / J)``."""
    mass, length, inertia, spring, worst = 40.0, 3.0, 1.0, 5000.0, 0.0
    tensor = f'<inertia ixx="{inertia}" ixy="0" ixz="0" iyy="{inertia}" iyz="0" izz="{inertia}"/>'
    light = '<mass value="1e-3"/><inertia ixx="1e-6" ixy="0" ixz="0" iyy="1e-6" iyz="0" izz="1e-6"/>'
    for stiffness, sign in ((spring, 1.0), (spring, -1.0), (50.0, -1.0)):
        text = f"""<robot name="g"><link name="w"/><link name="box"><inertial><origin xyz="0 0 {sign * length}"/>
          <mass value="{mass}"/>{tensor}</inertial></link><joint name="tilt" type="revolute"><parent link="w"/>
          <child link="box"/><axis xyz="0 1 0"/><limit lower="-0.5" upper="0.5" effort="0" velocity="2"/></joint>
          <link name="a"><inertial>{light}</inertial></link>
          <joint name="j1" type="revolute"><parent link="box"/><child link="a"/><axis xyz="0 0 1"/>
          <limit lower="-1" upper="1" velocity="1" effort="50"/></joint>
          <flexibility><elastic_joint name="tilt" stiffness="{stiffness}" damping="5"/></flexibility></robot>"""
        rest = np.zeros(1)
        found = ArmModel(text).natural_frequencies(ArmState(0, rest, rest, rest, rest))[0]
        expected = np.sqrt((stiffness - sign * mass * 9.81 * length) / (mass * length**2 + inertia))
        worst = max(worst, abs(float(found / expected) - 1.0))
    meaning = "frequency of a mast and of hanging arms under gravity against the closed form"
    return [Figure("gravity_frequency_error", worst, "1", parse_goal("<= 0.005"), meaning)]


def modal_discrepancy_ratio() -> list[Figure]:
    """Accelerations of modes that forces leave from the desired ones over a slew of flexible_3r, RMS."""
    (alone, swinging, _), (both, calm, yielded) = modal_slew.slew(0.3, 0.0), modal_slew.slew(0.3, 1.0)
    value = float(np.sqrt((both**2).mean() / (alone**2).mean()))
    details: dict[str, bool | float | str] = {
        "tool_swing_joints_alone_m": float(np.ptp(swinging[-500:], axis=0).max()),
        "tool_swing_m": float(np.ptp(calm[-500:], axis=0).max()),
        "largest_deviation_of_a_joint_rad": yielded,
    }
    meaning = "flexible_3r, slew: discrepancy of the modes, compared too, over that with joints compared alone"
    return [Figure("modal_discrepancy_ratio", value, "1", parse_goal("< 0.5"), meaning, details=details)]


def slew_torque(time: float) -> Array:
    """Torques (2,) of the slew: a smooth push and pull."""
    return np.array([12.0, 4.0]) * np.sin(2.0 * np.pi * time / (TICK * TICKS))


def slew(model: FlexibleModel, held: bool) -> tuple[Array, float]:
    """Tip positions (T, 2) of our slew, the start included, and its peak deflection from the rigid arm.

    With ``held`` torques are constant over each tick, as the simulated plant has them; else each step has its mean.
    """
    x, v = np.zeros(model.size), np.zeros(model.size)
    tip, deflection, parts = [model.frame_motion("tool0", x, v).position], 0.0, 1 if held else 8
    for tick in range(TICKS):
        for part in range(parts):
            effort, h = slew_torque((tick + (part + 0.5) / parts) * TICK), TICK / parts
            model.integrate(x, v, effort, h / (8 // parts), 8 // parts)
        rigid = x.copy()
        rigid[model.modal] = 0.0
        tip.append(model.frame_motion("tool0", x, v).position)
        straight = model.frame_motion("tool0", rigid, v).position
        deflection = max(deflection, float(np.linalg.norm(tip[-1] - straight)))
    return np.array(tip)[:, :2], deflection


def exudyn_tip_error() -> list[Figure]:
    """Two-link slew against Exudyn: cables (large deformation, no modes), and floating frames beside them."""
    description = parse_robot_description(robot_text("flexible_2r"))
    ours, deflection = slew(FlexibleModel(description, gravity=WEIGHTLESS), held=False)
    errors = {}
    for formulation in ("cable", "ffrf"):
        _, theirs = exudyn_peer.slew_tip_trajectory(
            description, lambda t: slew_torque(t).tolist(), TICK * TICKS, TICK, formulation
        )
        errors[formulation] = float(np.linalg.norm(theirs - ours, axis=1).max() / deflection)
    meaning = "tip difference over peak deflection, two-link slew, Exudyn's cables"
    details: dict[str, bool | float | str] = {"floating_frames": errors["ffrf"], "peak_deflection_m": deflection}
    return [Figure("exudyn_tip_error", errors["cable"], "1", parse_goal("<= 0.02"), meaning, details=details)]


def mujoco_tip_error() -> list[Figure]:
    """The same slew against chains of 20 rigid segments a link."""
    description = parse_robot_description(robot_text("flexible_2r"))
    ours, deflection = slew(FlexibleModel(description, gravity=WEIGHTLESS), held=True)
    chain, worst = MujocoBackend(description, gravity=WEIGHTLESS, max_step=4.6e-5, segments=20), 0.0
    for tick in range(TICKS):
        chain.step(slew_torque((tick + 0.5) * TICK), TICK)
        tip = chain.state().tool_position_in_world[:2]
        worst = max(worst, float(np.linalg.norm(tip - ours[tick + 1])))
    meaning = "tip difference over peak deflection, two-link slew, MuJoCo chains of 20 segments"
    return [Figure("mujoco_tip_error", worst / deflection, "1", parse_goal("<= 0.02"), meaning)]
