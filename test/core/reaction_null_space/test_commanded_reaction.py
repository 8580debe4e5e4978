"""What an arm does to its base, against TREP's coupling in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from flexarm_core.reaction_null_space.coupling.null_space import damped_inverse
from flexarm_core.reaction_null_space.reactionless.velocity_law import commanded_reaction
from flexarm_core.types import ArmState

FIRST, SECOND = 0.310 * 0.096 + 0.120 * 0.1, 0.120 * 0.090  # [kg*m] of TREP, tables I and II


def momentum(position, velocity):
    """The paper's h_bm qd."""
    turned = position.sum()
    return -FIRST * np.sin(position[0]) * velocity[0] - SECOND * np.sin(turned) * velocity.sum()


@pytest.mark.parametrize("seed", range(5))
def test_momentum_and_its_rate_are_those_of_the_paper(trep, seed):
    rng = np.random.default_rng(seed)
    q, qd, qdd = rng.uniform(-2.0, 2.0, (3, 2))
    state = ArmState(7, q, qd, np.array([0.003]), np.array([-0.02]))
    coupling = damped_inverse(trep.blocks(state).H_bm, 1e-9, 1e-9)
    found = commanded_reaction(trep, state, qdd, coupling, True)
    assert found.coupling_momentum == pytest.approx([momentum(q, qd)], abs=1e-12)
    h = 1e-5
    before, after = (momentum(q + t * qd + 0.5 * t * t * qdd, qd + t * qdd) for t in (-h, h))
    assert found.reaction == pytest.approx([-(after - before) / (2.0 * h)], abs=1e-8)
    assert found.stamp == 7 and found.vibration_damping and found.rank == 1 and found.damping == 0.0
    assert found.coupling_singular_values == pytest.approx(coupling.singular_values)


def test_the_force_on_the_base_is_that_of_newton_on_the_links(trep):
    """The base moves as its spring and the reaction make it; the links' momentum changes by the force on them."""
    q, qd, qdd = np.array([1.1, -0.6]), np.array([2.0, -1.0]), np.array([5.0, 3.0])
    x, xd = 0.004, 0.03
    state = ArmState(0, q, qd, np.array([x]), np.array([xd]))
    coupling = damped_inverse(trep.blocks(state).H_bm, 1e-9, 1e-9)
    found = commanded_reaction(trep, state, qdd, coupling, False)
    xdd = (found.reaction[0] - 77.9218 * x - 0.05 * xd) / (0.795 + 0.310 + 0.120)
    assert found.wrench_on_base_in_base[0] == pytest.approx(found.reaction[0] - (0.310 + 0.120) * xdd, rel=1e-9)
    assert not found.vibration_damping
