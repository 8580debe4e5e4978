"""The backend on modes against MuJoCo: rigid arms exactly, flexible ones as nearly as both discretize."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_sim.backend import PlantDivergedError
from flexarm_sim.backends import make_backend
from flexarm_sim.flexible_backend import FlexibleBackend
from flexarm_sim.mujoco.backend import MujocoBackend

URDF = Path(__file__).resolve().parents[2] / "urdf"
STILL = (0.0, 0.0, 0.0)


def robot(name: str, **arguments: str):
    """Description of a robot of the package."""
    return parse_robot_description(load_robot_description(URDF / f"{name}.urdf.xacro", arguments))


def test_a_rigid_arm_on_its_spring_moves_as_in_mujoco():
    description = robot("planar_3r")
    backends = [FlexibleBackend(description), MujocoBackend(description)]
    start = {"position": [0.5, -0.7, 0.4], "velocity": [0.3, 0.1, -0.4], "deflection": [0.01]}
    for backend in backends:
        backend.reset(**start, effort=[1.0, 2.0, -1.0])
        for tick in range(200):
            backend.set_external_wrench("link3", [3.0, -2.0, 0.0, 0.0, 0.0, 1.0] if tick < 50 else np.zeros(6))
            backend.step([1.0, 2.0, -1.0], 0.001)
    ours, theirs = (backend.state() for backend in backends)
    for name in ("position", "velocity", "deflection", "tool_position_in_world", "tool_twist_in_world"):
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name), abs=2e-5), name
    for name in ("acceleration", "deflection_acceleration", "tool_position_in_base", "tool_rotation_in_base"):
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name), abs=2e-3), name
    assert ours.wrenches["base_ft_sensor"] == pytest.approx(theirs.wrenches["base_ft_sensor"], abs=2e-2)
    for one, other in zip(backends[0].joint_dynamics(), backends[1].joint_dynamics(), strict=True):
        assert one == pytest.approx(other, rel=1e-3, abs=1e-3)


def test_a_bending_arm_falls_as_mujocos_chain_does():
    description = robot("flexible_3r")
    ours = FlexibleBackend(description, max_step=2e-4)
    theirs = MujocoBackend(description, max_step=9e-5, segments=10)
    hold = np.zeros(3)
    for backend in (ours, theirs):
        backend.reset(position=[0.2, -0.5, 0.8])
        for _ in range(100):
            backend.step(hold, 0.001)
    one, other = ours.state(), theirs.state()
    assert one.tool_position_in_world == pytest.approx(other.tool_position_in_world, abs=2e-3)
    assert one.imus["tool_imu"][3:] == pytest.approx(other.imus["tool_imu"][3:], abs=0.05)


def test_an_imu_at_rest_reads_the_weight_and_the_base_sensor_carries_it():
    description = robot("flexible_3r")
    backend = FlexibleBackend(description, max_step=2e-4)
    inertia, bias = backend.joint_dynamics()
    assert np.linalg.eigvalsh(inertia)[0] > 0.0
    backend.reset(effort=bias)
    state = backend.state()
    mass = sum(link.mass for name, link in description.links.items() if name not in ("mast", "base_link"))
    free = FlexibleBackend(description, gravity=STILL, max_step=2e-4)
    assert free.state().imus["tool_imu"] == pytest.approx(np.zeros(6), abs=1e-12)
    assert state.acceleration == pytest.approx(np.zeros(3), abs=1e-9)
    backend.reset(position=[0.0, -np.pi / 2, 0.0])  # upright: it holds itself, and its weight bends nothing
    assert backend.state().wrenches["base_ft_sensor"][2] == pytest.approx(-9.81 * mass, rel=1e-9)
    assert np.linalg.norm(backend.state().imus["tool_imu"][:3]) == pytest.approx(9.81, rel=1e-9)


def test_the_state_is_what_was_set_and_time_goes_on():
    backend = make_backend("flexible_dynamics", robot("flexible_2r"), gravity=STILL)
    modal = 1e-3 * np.arange(1.0, 7.0)
    backend.reset(position=[0.1, 0.2], modal_position=modal, modal_rate=-modal)
    state = backend.state()
    assert np.array_equal(state.modal_position, modal) and np.array_equal(state.modal_rate, -modal)
    assert state.strain.shape == (4,) and np.abs(state.strain).min() > 0.0
    backend.step([0.0, 0.0], 0.0015)
    assert backend.state().time == pytest.approx(0.0015)
    assert backend.joint_names == ("shoulder", "elbow") and not backend.elastic_joint_names
    assert backend.modes[0] == "upper_arm/bending_y_1" and backend.strain_gauges[0] == "upper_arm_root"


def test_what_cannot_be_simulated_is_refused():
    description = robot("flexible_2r")
    with pytest.raises(ConfigError, match="max_step 0.01 s is too long .* give at most"):
        FlexibleBackend(description, max_step=0.01)
    with pytest.raises(ConfigError, match="hard stops"):
        make_backend("flexible_dynamics", description, hard_stops=True)
    backend = FlexibleBackend(description)
    for call, said in (
        (lambda: backend.step([0.0], 0.001), "effort"),
        (lambda: backend.step([0.0, 0.0], 0.0), "duration"),
        (lambda: backend.set_external_wrench("nowhere", np.zeros(6)), "does not exist"),
        (lambda: backend.reset(modal_rate=[1.0]), "modal_rate"),
    ):
        with pytest.raises(InputError, match=said):
            call()
    with pytest.raises(PlantDivergedError, match="diverged"):
        for _ in range(200):
            backend.step([1e200, 0.0], 0.01)
