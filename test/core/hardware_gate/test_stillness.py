"""What identical readings hide: of joints that coast, that are commanded, and that come to rest by their friction."""

from __future__ import annotations

import numpy as np
import pytest

from flexarm_core.hardware_gate.limits import JointLimits
from flexarm_core.hardware_gate.stillness import Stillness
from flexarm_core.types import ArmState

ONE, NONE = np.ones(1), np.zeros(0)
DT, LONGEST = 0.004, 400  # [s], ticks
STICTION = 5.0  # [rad/s^2]


class Joint:
    """A joint of 2 rad/s and 20 rad/s^2, what it reads, and the acceleration that its command causes."""

    def __init__(self, *, coasts: bool = True) -> None:
        limits = JointLimits(
            lower=-3.0 * ONE, upper=3.0 * ONE, velocity=2.0 * ONE, acceleration=20.0 * ONE, effort=10.0 * ONE,
            effort_rate=np.inf * ONE,
        )  # fmt: skip
        self.stillness, self.coasts = Stillness(limits, STICTION * ONE), coasts
        self.before = ArmState(0, 0.0 * ONE, 0.0 * ONE, NONE, NONE)

    def read(self, position: float, velocity: float, asked: float = 0.0, rate: float = 0.0) -> bool:
        """Return whether a state with these readings shows that the joint should have moved."""
        state = ArmState(self.before.stamp + round(DT * 1e9), position * ONE, velocity * ONE, NONE, NONE)
        found = self.stillness.on_state(state, self.before, DT, lambda _: (rate * ONE, asked * ONE), coasts=self.coasts)
        self.before = state
        return found >= 0

    def stand(self, asked: float = 0.0, rate: float = 0.0) -> float:
        """Read the same until that is found to hide a motion; return after how long [s]."""
        position, velocity = self.before.position[0], self.before.velocity[0]
        return next((DT * k for k in range(1, LONGEST) if self.read(position, velocity, asked, rate)), np.inf)

    def stop(self, speed: float) -> float:
        """Move, and read a standstill from one sample to the next; return after how long that is found out [s]."""
        place = self.before.position[0]
        for k in range(1, 4):
            assert not self.read(place + k * speed * DT, speed * (1.0 + 1e-6 * k))
        assert not self.read(place + 4 * speed * DT, 0.0)
        return self.stand()

    def become_quiet(self) -> None:
        assert self.stand() == np.inf
        assert not self.read(self.before.position[0] + 1e-6, 0.0)


def test_a_joint_that_coasts_goes_on_as_before_whatever_it_reads():
    assert Joint().stop(0.4) == pytest.approx(0.02 / 0.4, abs=2 * DT)
    assert Joint().stop(-1.5) == pytest.approx(0.02 / 1.5, abs=2 * DT)
    assert Joint(coasts=False).stop(0.4) == np.inf  # where its drive stops it, it stands


def test_a_joint_moves_as_its_command_asks_whatever_it_reads():
    assert Joint(coasts=False).stand(rate=0.5) == pytest.approx(0.02 / 0.5, abs=2 * DT)
    assert Joint().stand(asked=10.0) == pytest.approx(0.1 * 2.0 / 10.0, abs=2 * DT)  # a tenth of the velocity limit
    assert Joint().stand() == np.inf


def test_a_joint_whose_readings_have_stood_before_may_come_to_rest_within_a_sample_unless_it_was_fast():
    joint = Joint()
    joint.become_quiet()
    assert joint.stop(0.4) == np.inf  # friction and five times its acceleration limit: 0.46 rad/s in 4 ms
    assert Joint().stop(0.4) < 0.1
    joint = Joint()
    joint.become_quiet()
    assert joint.stop(1.0) == pytest.approx(0.02 / (1.0 - 0.46), abs=3 * DT)


def test_what_balances_a_payload_at_rest_hides_nothing_but_more_than_friction_beyond_it_does():
    for more, found in ((0.0, False), (0.8 * STICTION, False), (4.0 * STICTION, True)):
        joint = Joint()
        joint.become_quiet()
        assert not any(joint.read(joint.before.position[0], 0.0, 10.0) for _ in range(50))
        assert (joint.stand(asked=10.0 + more) < np.inf) == found


def test_it_is_known_that_a_joint_is_quiet_after_all_readings_are_forgotten_and_where_nothing_was_commanded():
    joint = Joint()
    joint.become_quiet()
    joint.stillness.forget()
    assert joint.stop(0.4) == np.inf
    joint.stillness.reset()
    assert joint.stop(0.4) < 0.1
    joint = Joint()
    joint.stillness.learn(joint.before, joint.before)
    assert joint.stop(0.4) == np.inf
