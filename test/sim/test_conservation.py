"""The integrated motion keeps closed forms, energy, work and momentum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio
import pytest

from flexarm_sim.mujoco.backend import MujocoBackend


def damped(time: float, mass: float, stiffness: float, damping: float, start: float) -> tuple[float, float]:
    """Position and velocity of a damped oscillator released at rest."""
    decay = damping / (2 * mass)
    w = np.sqrt(stiffness / mass - decay**2)
    position = start * np.exp(-decay * time) * (np.cos(w * time) + decay / w * np.sin(w * time))
    velocity = -start * np.exp(-decay * time) * stiffness / (mass * w) * np.sin(w * time)
    return position, velocity


def test_a_mass_on_a_spring_follows_the_closed_form(slider: Any) -> None:
    backend = MujocoBackend(slider(mass=2.0, stiffness=50.0, damping=0.3))
    backend.reset(deflection=[0.1])
    for tick in range(1, 5001):
        backend.step([0.0], 0.001)
        if tick % 500 == 0:
            state = backend.state()
            position, velocity = damped(tick * 0.001, 3.0, 50.0, 0.3, 0.1)
            assert state.deflection[0] == pytest.approx(position, abs=1e-13)
            assert state.deflection_rate[0] == pytest.approx(velocity, abs=1e-12)


def test_base_of_the_stretched_planar_arm_swings_as_31_kg_on_its_spring(repository_robot: Any) -> None:
    """Stretched along the rail the arm feels no torque, so base and links move as one mass: 10 s to 1e-9 relative."""
    backend = MujocoBackend(repository_robot("planar_3r"))
    backend.reset(deflection=[0.1])
    for _ in range(10_000):
        backend.step(np.zeros(3), 0.001)
    assert backend.state().deflection[0] == pytest.approx(damped(10.0, 31.0, 100.0, 0.1, 0.1)[0], rel=1e-9)


def test_viscous_friction_of_the_description_slows_an_actuated_joint(one_joint: Any) -> None:
    backend = MujocoBackend(one_joint(kind="prismatic", dynamics='<dynamics damping="1.5"/>'))
    backend.reset(velocity=[2.0])
    for _ in range(1000):
        backend.step([0.0], 0.001)
    assert backend.state().velocity[0] == pytest.approx(2.0 * np.exp(-1.5 / 3.0), rel=1e-12)


@pytest.mark.parametrize(
    ("name", "without_damping", "speed", "bound"),
    [("planar_3r", {'damping="0.1"': 'damping="0"'}, 1.0, 1e-10), ("trep", {'"0.05"': '"0"'}, 5.0, 1e-10)],
)
def test_an_undamped_robot_keeps_its_energy(
    repository_robot: Any, newton_euler: Any, name: str, without_damping: Any, speed: float, bound: float
) -> None:
    robot = repository_robot(name, without_damping)
    backend, reference = MujocoBackend(robot), newton_euler(robot)
    n = len(robot.actuated)
    backend.reset(np.linspace(0.5, -1, n), speed * np.linspace(1, -1, n), [0.05])
    start = reference.energy(backend.state())
    for _ in range(200):
        backend.step(np.zeros(n), 0.01)
        assert reference.energy(backend.state()) == pytest.approx(start, rel=bound)


def test_damping_takes_exactly_the_energy_it_should(slider: Any, newton_euler: Any) -> None:
    robot = slider(damping=2.0)
    backend, reference = MujocoBackend(robot), newton_euler(robot)
    backend.reset(deflection=[0.1])
    start, rates = reference.energy(backend.state()), []
    for _ in range(1000):
        rates.append(backend.state().deflection_rate[0])
        backend.step([0.0], 0.001)
    rates.append(backend.state().deflection_rate[0])
    squares = np.array(rates) ** 2
    lost = 2.0 * 0.001 / 3.0 * (squares[0] + 4 * squares[1:-1:2].sum() + 2 * squares[2:-1:2].sum() + squares[-1])
    assert start - reference.energy(backend.state()) == pytest.approx(lost, rel=1e-9)


def test_impulse_of_a_push_becomes_momentum_while_the_arm_flails(repository_robot: Any, newton_euler: Any) -> None:
    """Along the free rail only the push counts: total x momentum = force x time, wherever it acts."""
    robot = repository_robot("planar_3r", {'stiffness="100.0"': 'stiffness="1e-12"', 'damping="0.1"': 'damping="0"'})
    backend, reference = MujocoBackend(robot), newton_euler(robot)
    backend.reset([0.4, 1.0, -2.0], [1.0, -2.0, 3.0])

    def momentum() -> float:
        pinocchio.computeCentroidalMomentum(reference.model, reference.data, *reference.coordinates(backend.state()))
        return float(reference.data.hg.linear[0])

    before = momentum()
    backend.set_external_wrench("link2", [7.0, -3.0, 0.0, 0.0, 0.0, 5.0])
    for _ in range(250):
        backend.step([1.0, -2.0, 0.5], 0.001)
    assert momentum() - before == pytest.approx(7.0 * 0.25, rel=1e-9)


def test_a_push_does_the_work_of_its_force_along_the_path_of_the_link_origin(
    repository_robot: Any, newton_euler: Any
) -> None:
    """It stays at the link's origin while the link turns: with a constant force the work is force . displacement."""
    robot = repository_robot("planar_3r", {'damping="0.1"': 'damping="0"'})
    backend, reference = MujocoBackend(robot, tool_frame="link3"), newton_euler(robot)
    backend.reset([0.4, 1.0, -2.0], [1.0, -1.0, 1.0])
    force = np.array([20.0, -30.0, 0.0])
    begin, energy = backend.state().tool_position_in_world, reference.energy(backend.state())
    backend.set_external_wrench("link3", [*force, 0, 0, 0])
    for _ in range(500):
        backend.step(np.zeros(3), 0.001)
    work = force @ (backend.state().tool_position_in_world - begin)
    assert abs(work) > 1.0
    assert reference.energy(backend.state()) - energy == pytest.approx(work, rel=1e-9)


def test_constant_effort_on_a_free_slide_gives_a_parabola(one_joint: Any) -> None:
    backend = MujocoBackend(one_joint(kind="prismatic"))
    for _ in range(100):
        backend.step([6.0], 0.001)
    assert backend.state().position[0] == pytest.approx(0.5 * 6.0 / 3.0 * 0.1**2, rel=1e-12)
    assert backend.state().velocity[0] == pytest.approx(6.0 / 3.0 * 0.1, rel=1e-12)
