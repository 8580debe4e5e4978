"""Identities of the reaction null space on 1,000 random states of serial arms and trees; MuJoCo judges the inertias."""

from __future__ import annotations

import numpy as np
import pytest
from rns_cases import CASES, case
from rns_identities import (
    energy_error,
    inertia_error,
    momentum_drift,
    momentum_error,
    projector_error,
    reaction_residual,
)

STATES = 167  # of each of the six robots


@pytest.fixture(scope="module", params=CASES)
def robot(request):
    return case(request.param)


def test_the_projector_is_one_and_annihilates_the_coupling_inertia(robot):
    assert projector_error(robot, np.random.default_rng(0), STATES) < 1e-12


def test_accelerations_of_equation_9_leave_the_base_without_reaction(robot):
    assert reaction_residual(robot, np.random.default_rng(1), STATES) < 1e-10


def test_the_velocity_of_equation_10_has_the_wanted_momentum(robot):
    assert momentum_error(robot, np.random.default_rng(2), STATES) < 1e-12


def test_a_reactionless_motion_conserves_the_coupling_momentum(robot):
    assert momentum_drift(robot, np.random.default_rng(3), 3) < 1e-8


def test_inertia_coupling_and_base_inertia_are_those_of_mujoco(robot):
    assert inertia_error(robot, np.random.default_rng(4), STATES) < 1e-10


def test_what_the_motors_give_and_the_dampers_do_not_take_is_stored(robot):
    assert energy_error(robot, np.random.default_rng(5), STATES) < 1e-6


def test_soft_modes_as_selected_motions_obey_the_same_identities():
    boom = case("boom_7r", ("auto",))
    assert boom.selection.count == 3
    assert projector_error(boom, np.random.default_rng(6), STATES) < 1e-12
    assert reaction_residual(boom, np.random.default_rng(7), STATES) < 1e-10
