"""The plant begins in static equilibrium: nothing moves until the first command."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from flexarm_core.errors import RobotDescriptionError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.static_equilibrium import static_equilibrium
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_sim.backends import make_backend
from flexarm_sim.drives import DriveConfig
from flexarm_sim.plant import Plant, PlantConfig

BOOM = (0.476, 1.311, -1.378, -1.555, -0.054, -1.214, 0.716)
START = {"boom_7r": BOOM, "flexible_3r": (0.4, -0.7, 0.5)}


def plant_of(robot: Any, name: str, engine: str, mode: str = "effort", **options: Any) -> Plant:
    backend = make_backend(engine, robot, max_step=0.0001, segments=8)
    return Plant(robot, backend, PlantConfig(initial_position=START[name], drive=DriveConfig(mode), **options))


def still(plant: Plant, ticks: int = 50) -> float:
    """Largest motion of anything elastic in so many ticks without a command [mm | mrad | sqrt(g)*m]."""
    first, largest = plant.state(), 0.0
    for _ in range(ticks):
        plant.advance()
        now = plant.state()
        moved = np.concatenate((now.deflection - first.deflection, now.modal_position - first.modal_position))
        largest = max(largest, 1e3 * float(np.abs(moved).max()))
    return largest


@pytest.mark.parametrize("engine", ["mujoco", "flexible_dynamics"])
@pytest.mark.parametrize("name", ["boom_7r", "flexible_3r"])
def test_nothing_moves_before_the_first_command(repository_robot: Any, name: str, engine: str) -> None:
    plant = plant_of(repository_robot(name), name, engine)
    state = plant.state()
    assert max(np.abs(state.deflection).max(initial=0.0), np.abs(state.modal_position).max(initial=0.0)) > 1e-3
    assert np.abs(state.acceleration).max() < 1e-6
    assert still(plant) < 1e-6


def test_the_base_rests_where_the_model_says_in_either_engine(repository_robot: Any) -> None:
    robot = repository_robot("boom_7r")
    expected = static_equilibrium(ArmModel(robot, "tool0"), np.array(BOOM))
    for engine in ("mujoco", "flexible_dynamics"):
        for mode in ("effort", "position"):
            plant = plant_of(robot, "boom_7r", engine, mode)
            assert np.allclose(plant.state().deflection, expected, atol=1e-9)
            assert np.array_equal(plant.measure().joints.effort, plant.state().effort)  # type: ignore[union-attr]


def test_the_engines_agree_on_links_that_bend_under_their_weight(repository_robot: Any) -> None:
    robot = repository_robot("flexible_3r")
    chain, modes = (
        plant_of(robot, "flexible_3r", engine).state().modal_position for engine in ("mujoco", "flexible_dynamics")
    )
    assert np.allclose(chain, modes, rtol=0.05, atol=0.02 * np.abs(modes).max())


def test_undeflected_it_drops_and_an_explicit_deflection_wins(repository_robot: Any) -> None:
    robot = repository_robot("boom_7r")
    undeflected = plant_of(robot, "boom_7r", "mujoco", start_in_equilibrium=False)
    assert not undeflected.state().deflection.any()
    assert still(undeflected) > 1.0
    given = (0.0, 0.01, 0.0, 0.0, 0.0, 0.0)
    explicit = plant_of(robot, "boom_7r", "mujoco", initial_deflection=given)
    assert tuple(explicit.state().deflection) == given


def test_a_reset_goes_back_to_the_same_equilibrium(repository_robot: Any) -> None:
    plant = plant_of(repository_robot("boom_7r"), "boom_7r", "mujoco")
    first = plant.state().deflection
    for _ in range(20):
        plant.advance(np.zeros(7))
    plant.reset()
    assert np.array_equal(plant.state().deflection, first)


def test_a_base_that_cannot_carry_the_arm_is_refused(slider: Any) -> None:
    """An upright mast of 3 kg at 0.5 m (14.7 N*m/rad) on a spring of 10 N*m/rad tips over."""
    upright = {'type="prismatic"': 'type="revolute"', 'axis xyz="1 0 0"': 'axis xyz="0 1 0"'}
    text = slider(mass=3.0, stiffness=10.0, damping=0.3).text
    for old, new in upright.items():
        text = text.replace(old, new)
    robot = parse_robot_description(text.replace("<inertial><mass", '<inertial><origin xyz="0 0 0.5"/><mass'))
    for engine in ("mujoco", "flexible_dynamics"):
        with pytest.raises(RobotDescriptionError, match="no static equilibrium: the springs give way under"):
            Plant(robot, make_backend(engine, robot))
