"""What is never believed, however often it is said."""

from __future__ import annotations

import numpy as np
import pytest

from flexarm_core.hardware_gate.belief import StateBelief
from flexarm_core.hardware_gate.limits import JointLimits
from flexarm_core.types import ArmState


def state(tick: int, position: float) -> ArmState:
    return ArmState(tick * 4_000_000, np.array([position]), np.array([0.1 + 1e-4 * tick]), np.zeros(0), np.zeros(0))


@pytest.mark.parametrize(
    ("lower", "upper", "position", "believed"),
    [(-1.0, 1.0, 0.9, True), (-1.0, 1.0, 1.2, True), (-1.0, 1.0, -1.6e79, False), (-1.0, 1.0, 3.5, False),
     (-np.inf, np.inf, 40.0, True), (-np.inf, np.inf, 1e79, False)],
)  # fmt: skip
def test_a_joint_that_is_said_to_be_where_none_can_be_is_not_believed_though_states_agree(
    lower, upper, position, believed
):
    one = np.ones(1)
    limits = JointLimits(
        lower=lower * one, upper=upper * one, velocity=2.0 * one, acceleration=20.0 * one, effort=10.0 * one,
        effort_rate=np.inf * one,
    )  # fmt: skip
    belief = StateBelief(limits, ["joint1"])
    before = state(0, 0.0)
    assert belief.doubt(before, None, 0.0, lambda _: (one, one)) == ""
    doubts = [belief.doubt(state(k, position), before, 0.004 * k, lambda _: (one, one)) for k in range(1, 8)]
    assert doubts[0] and ("" in doubts) == believed
