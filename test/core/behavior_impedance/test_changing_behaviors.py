"""Sets of behaviors: taken whole or not at all; what does not change goes on, and a new begin begins anew."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from behaviors import MILLISECOND, READY, Driven, arm_of
from odd_behaviors import odd, odd_kinds_known  # noqa: F401 (a fixture)
from scipy.spatial.transform import Rotation

from flexarm_core.behavior_impedance.behavior import BehaviorSpec
from flexarm_core.behavior_impedance.config import ImpedanceConfig
from flexarm_core.behavior_impedance.controller import BehaviorImpedanceController
from flexarm_core.errors import ConfigError
from flexarm_core.ik_redundancy.config import RedundancyConfig

DT = 2e-3
LINE = BehaviorSpec("path", "path", {"positions": [0.1, 0.0, 0.0], "relative": True})
PULL = BehaviorSpec("pull", "spring", {"stiffness": [500.0] * 3 + [10.0] * 3})

pytestmark = pytest.mark.usefixtures("odd_kinds")


@pytest.mark.parametrize(
    ("wrong", "why"),
    (
        ([BehaviorSpec("x", "nothing")], "kind 'nothing' is unknown"),
        ([BehaviorSpec("x", "dither", {"frequency": "fast"})], "behavior 'x': frequency"),
        ([LINE, dataclasses.replace(LINE, name="other")], "one behavior at most can lead the tool, got path, other"),
        ([PULL, PULL], "needs a name of its own"),
        ([BehaviorSpec("", "dither")], "needs a name of its own"),
        ([odd("take_over")], "behavior 'odd' cannot take over: no heir"),
        ([BehaviorSpec("path", "path", {"positions": [0.4, 0.0, 0.6], "rpys": [0.0, 0.0, 0.0]})], "half a turn"),
    ),
)
def test_a_set_of_which_one_cannot_be_had_changes_nothing(wrong, why):
    start = np.array([0.0, 0.3, 0.0, -1.8, 0.0, 2.1, np.pi / 4.0])
    driven, twin = Driven("panda", start), Driven("panda", start)
    if why == "half a turn":
        # the tool points down, exactly: no shortest way to pointing up
        at = driven.controller.output.rotation
        up = Rotation.from_matrix(Rotation.from_rotvec(np.pi * at[:, 0]).as_matrix() @ at).as_euler("xyz").tolist()
        wrong = [BehaviorSpec("path", "path", {"positions": [0.4, 0.0, 0.6], "rpys": up})]
    before = [LINE, odd(), BehaviorSpec("t", "teleoperation")]
    for one in (driven, twin):
        one.ask(*before)
        one.behavior("t").give(0, np.array([0.0, 0.02, 0.0, 0.0, 0.0, 0.0]))
        one.run(60)
    with pytest.raises(ConfigError, match=why):
        driven.ask(BehaviorSpec("t", "teleoperation", {"timeout": 1.0}), *wrong)
    assert [active.spec for active in driven.controller.behaviors] == [
        active.spec for active in twin.controller.behaviors
    ]
    assert (driven.run(100).joints == twin.run(100).joints).all()


def test_those_that_do_not_change_keep_their_state_when_others_do():
    driven = Driven("panda")
    driven.ask(odd(), LINE)
    driven.run(100)
    kept, path = driven.behavior("odd"), driven.behavior("path")
    driven.ask(PULL, odd(), LINE)
    assert driven.behavior("odd") is kept and driven.behavior("path") is path
    driven.run(10)
    assert kept.count == 110 and kept.begins == 1
    driven.ask(odd("nothing", 7), LINE)
    assert driven.behavior("odd") is not kept and driven.behavior("path") is path
    driven.run(10)
    assert driven.behavior("odd").count == 120 and driven.behavior("odd").begins == 1


def test_asking_for_the_same_again_changes_nothing_even_with_arrays_as_settings():
    driven, twin = Driven("panda"), Driven("panda")
    spec = BehaviorSpec("d", "dither", {"amplitude": np.array([1e-3, 0.0, 0.0, 0.0, 0.0, 0.0])})
    for one in (driven, twin):
        one.ask(spec, LINE)
        one.run(100)
    kept = driven.behavior("d")
    driven.ask(BehaviorSpec("d", "dither", {"amplitude": [1e-3] + [0.0] * 5}), LINE)
    assert driven.behavior("d") is kept
    assert (driven.run(100).joints == twin.run(100).joints).all()


def test_settings_that_the_caller_changes_afterwards_count_when_they_are_sent_again_and_not_before():
    driven, amplitude = Driven("panda"), [1e-3, 0.0, 0.0, 0.0, 0.0, 0.0]
    given = {"amplitude": amplitude}
    driven.ask(BehaviorSpec("d", "dither", given))
    driven.run(10)
    kept = driven.behavior("d")
    amplitude[0], given["frequency"] = 2e-3, 3.0
    assert driven.controller.behaviors[0].spec.settings == {"amplitude": [1e-3] + [0.0] * 5}
    driven.ask(BehaviorSpec("d", "dither", given))
    assert driven.behavior("d") is not kept
    assert driven.controller.behaviors[0].spec.settings == {"amplitude": [2e-3] + [0.0] * 5, "frequency": 3.0}


def test_the_order_of_behaviors_makes_no_difference():
    driven, twin = Driven("panda"), Driven("panda")
    specs = [LINE, PULL, BehaviorSpec("po", "posture", {"position": [0.1] * 7})]
    driven.ask(*specs)
    twin.ask(*reversed(specs))
    assert driven.run(300).joints == pytest.approx(twin.run(300).joints, abs=1e-9)


def test_behaviors_may_be_asked_for_before_the_motion_begins():
    controller = BehaviorImpedanceController(
        arm_of("panda"), ImpedanceConfig(), RedundancyConfig(objective_time_constant=0.0)
    )
    controller.set_behaviors([LINE])
    controller.begin(np.array(READY["panda"]))
    start = controller.output.position
    for k in range(1500):
        controller.update(k * 2 * MILLISECOND, DT, np.zeros(6))
    assert controller.output.position == pytest.approx(start + [0.1, 0.0, 0.0], abs=1e-6)


def test_begun_anew_elsewhere_every_behavior_begins_anew_there():
    driven, fresh = Driven("panda"), Driven("panda")
    specs = (
        BehaviorSpec("p", "path", {"positions": [0.1, 0.0, 0.0], "relative": True}), PULL,
        BehaviorSpec("t", "teleoperation"), BehaviorSpec("d", "dither", {"amplitude": [2e-3] * 6}),
        BehaviorSpec("po", "posture"), odd("raise", 250),
    )  # fmt: skip
    driven.ask(*specs)
    for _ in range(400):
        driven.behavior("t").give(driven.stamp, np.array([0.0, 0.05, 0.0, 0.0, 0.0, 0.1]))
        driven.step()
    assert driven.failure("odd")
    fresh.ask(*specs)
    elsewhere = np.array([0.4, 0.1, -0.2, -1.5, 0.3, 1.9, 0.2])
    for one in (driven, fresh):
        one.controller.begin(elsewhere)
        one.stamp = 10**10
    assert not driven.failure("odd")
    assert (driven.run(400).joints == fresh.run(400).joints).all()
