"""What static poses tell of masses and centers: the wrench is linear in them, the rest is left to the bias."""

from __future__ import annotations

import numpy as np
import pytest
import weighed_robots

from flexarm_core.base_wrench.gravity_parameters import IdentifiableGravity
from flexarm_core.base_wrench.gravity_regressor import GravityRegressor
from flexarm_core.base_wrench.sensor_dynamics import SensorDynamics
from flexarm_core.errors import ConfigError

TILTS = (np.array([-0.1]), np.array([0.1]))


def bodies_of(name):
    try:
        return weighed_robots.bodies(name)
    except FileNotFoundError as missing:
        pytest.skip(str(missing))


def changed(bodies, seed):
    rng = np.random.default_rng(seed)
    return bodies.gravity_parameters() + rng.normal(size=(len(bodies.weighing), 4)) * (0.3, 0.05, 0.05, 0.05)


@pytest.mark.parametrize("name", ["arm_7r", "panda", "vertical_3r", "slider", "tilting_3r"])
def test_the_gravity_wrench_is_the_regressor_times_the_parameters(name):
    bodies, gravity = bodies_of(name), (1.0, -2.0, -9.0)
    phi = changed(bodies, 1)
    dynamics = SensorDynamics(bodies.with_gravity_parameters(phi), gravity)
    positions = np.random.default_rng(2).uniform(-3.0, 3.0, (30, len(bodies.coordinates)))
    Y = GravityRegressor(bodies, gravity).matrices(positions)
    assert Y.shape == (30, 6, 4 * len(bodies.weighing))
    assert Y @ phi.ravel() == pytest.approx(np.array([dynamics.gravity_wrench(q) for q in positions]), abs=1e-11)


@pytest.mark.parametrize("name", ["arm_7r", "vertical_3r", "slider", "tilting_3r"])
def test_any_change_differs_from_what_is_identifiable_of_it_by_a_constant_wrench(name):
    bodies = bodies_of(name)
    identifiable = IdentifiableGravity(bodies, deflection=TILTS if name == "tilting_3r" else None, limit=1e6)
    Y = identifiable.regressor.matrices(identifiable.positions)
    change = (changed(bodies, 3) - bodies.gravity_parameters()).ravel()
    rows, said = Y @ identifiable.directions, Y @ change
    y = np.linalg.lstsq((rows - rows.mean(0)).reshape(-1, identifiable.rank), (said - said.mean(0)).ravel())[0]
    rest = said - rows @ y
    assert np.abs(said - said.mean(0)).max() > 0.1
    assert rest - rest.mean(0) == pytest.approx(np.zeros_like(rest), abs=1e-8)


def test_a_vertical_planar_arm_has_two_parameters_a_link():
    """Sum over links of R(q_1 + ... + q_i) r_i, r_i in the plane: nothing else moves."""
    identifiable = IdentifiableGravity(bodies_of("vertical_3r"))
    assert identifiable.rank == 6
    assert identifiable.components == 1


def test_a_sliding_joint_tells_the_mass_that_it_carries():
    identifiable = IdentifiableGravity(bodies_of("slider"))
    assert identifiable.rank == 1 + 2 * 2


def test_on_a_level_base_the_total_mass_is_kept_and_what_does_not_move_is_left_alone():
    bodies = bodies_of("arm_7r")
    directions = IdentifiableGravity(bodies).directions
    assert directions[0::4].sum(axis=0) == pytest.approx(np.zeros(directions.shape[1]), abs=1e-9)
    assert bodies.weighing[0] == bodies.sensor_body
    assert directions[:4] == pytest.approx(np.zeros((4, directions.shape[1])), abs=1e-5)


def test_a_base_that_tilts_tells_the_total_mass():
    still = IdentifiableGravity(bodies_of("tilting_3r"))
    tilting = IdentifiableGravity(bodies_of("tilting_3r"), deflection=TILTS, limit=1e6)
    assert np.abs(still.directions[0::4].sum(axis=0)).max() < 1e-9
    assert np.abs(tilting.directions[0::4].sum(axis=0)).max() > 0.1
    assert tilting.rank > still.rank


def test_without_gravity_nothing_is_identifiable():
    identifiable = IdentifiableGravity(bodies_of("vertical_3r"), (0.0, 0.0, 0.0))
    assert identifiable.rank == 0
    assert identifiable.information(np.zeros((3, 3))).condition_number == 1.0


def test_what_poses_tell_too_little_of_is_named():
    identifiable = IdentifiableGravity(bodies_of("vertical_3r"))
    positions = np.random.default_rng(5).uniform(-2.0, 2.0, (20, 3))
    positions[:, 2] = 0.3  # the last link never turns against the one before it
    information = identifiable.information(positions)
    assert information.rank < identifiable.rank and np.isinf(information.condition_number)
    assert "link2" in information.weakest or "link3" in information.weakest


def test_settings_without_meaning_are_refused():
    bodies = bodies_of("vertical_3r")
    with pytest.raises(ConfigError, match="position limits must be 3 numbers"):
        IdentifiableGravity(bodies, lower=np.zeros(3), upper=np.zeros(3))
    with pytest.raises(ConfigError, match="noise must be > 0"):
        IdentifiableGravity(bodies, noise=(0.0, 0.01))
