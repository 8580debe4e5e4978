"""Behaviors that fail are left out and said so; the rest goes on, and the arm neither jumps nor falls."""

from __future__ import annotations

import numpy as np
import pytest
from behaviors import READY, Driven, assert_within_limits
from odd_behaviors import odd, odd_kinds_known, spiked, steps_of_acceleration  # noqa: F401 (a fixture)
from scipy.spatial.transform import Rotation

from flexarm_core.behavior_impedance.behavior import BehaviorSpec

DT = 2e-3
LINE = BehaviorSpec("path", "path", {"positions": [0.1, 0.0, 0.0], "relative": True})

pytestmark = pytest.mark.usefixtures("odd_kinds")


@pytest.mark.parametrize("name", ("panda", "planar_4r"))
@pytest.mark.parametrize("what", ("begin", "raise", "input", "force", "stiffness", "effort", "offset", "measure"))
def test_a_behavior_that_fails_is_left_out_and_said_so_while_the_rest_goes_on_without_a_jump(name, what):
    driven, twin = Driven(name), Driven(name)
    driven.ask(LINE, odd(what, 300))
    twin.ask(LINE)
    if what not in ("begin", "raise", "input"):
        spiked(driven, "odd", np.nan)
    run, wanted = driven.run(2500), twin.run(2500)
    assert driven.failure("odd") and not driven.failure("path")
    assert ("broken" in driven.failure("odd")) == (what == "raise")
    assert np.isfinite(run.joints).all()
    assert steps_of_acceleration(run).max() <= 0.5 + steps_of_acceleration(wanted).max()
    assert run.outputs[-1].position == pytest.approx(wanted.outputs[-1].position, abs=1e-5)
    assert not next(active.out.row.any() for active in driven.controller.behaviors if active.spec.name == "odd")


@pytest.mark.parametrize("what", ("raise", "nan"))
def test_where_what_leads_fails_the_tool_stays_where_it_was_led(what):
    driven = Driven("panda")
    driven.ask(odd(what, 800, kind="lead", name="lead"))
    run = driven.run(800)
    there = run.outputs[-1].position
    assert there[0] > run.outputs[0].position[0] + 0.1
    after = driven.run(1500)
    assert driven.failure("lead")
    assert np.abs(after.of("position") - there).max() < 5e-3
    assert steps_of_acceleration(after).max() <= 0.5


@pytest.mark.parametrize("what", ("raise", "nan"))
def test_a_failing_lead_leaves_what_lies_beside_it_where_it_is(what):
    driven = Driven("panda")
    driven.ask(BehaviorSpec("t", "teleoperation"), odd(what, 800, kind="lead", name="lead"))
    for _ in range(800):
        driven.behavior("t").give(driven.stamp, np.array([0.0, 0.1, 0.0, 0.0, 0.0, 0.3]))
        driven.step()
    there = driven.controller.output
    driven.run(1500)
    assert driven.failure("lead") and not driven.failure("t")
    assert np.abs(driven.controller.output.position - there.position).max() < 0.03
    turned = Rotation.from_matrix(driven.controller.output.rotation @ there.rotation.T).magnitude()
    assert turned < 0.08


@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize("what", ("force", "stiffness", "offset", "twist", "acceleration", "effort", "yielding"))
@pytest.mark.parametrize("size", (1e6, 1e30, 1e150, 1.7e308, -1e30))
def test_however_large_a_contribution_is_the_joints_stay_numbers_within_their_limits(what, size):
    driven = Driven("panda")
    driven.ask(odd(what, 20, size), LINE)
    run = driven.run(200)
    assert np.isfinite(run.joints).all()
    assert_within_limits(driven.arm, np.array(READY["panda"]), run.joints, DT)
    driven.ask(LINE)
    run = driven.run(200)
    assert np.isfinite(run.joints).all() and np.isfinite(run.of("position")).all()


def test_a_behavior_that_writes_a_lead_without_leading_is_left_out():
    driven = Driven("panda")
    driven.ask(LINE, odd("lead", 10))
    driven.run(2000)
    assert "lead" in driven.failure("odd") and not driven.failure("path")
    assert driven.controller.output.error == pytest.approx(np.zeros(6), abs=1e-6)


@pytest.mark.parametrize("what", ("admits", "raise"))
def test_a_guard_that_fails_lets_nothing_pass_any_more_and_says_why(what):
    driven = Driven("panda")
    driven.ask(LINE, odd(what, 100 if what == "raise" else 0, kind="gate", name="gate"))
    run = driven.run(400)
    assert np.isfinite(run.joints).all()
    assert run.outputs[-1].held.startswith("gate: ") and ("cannot tell" in run.outputs[-1].held) == (what == "admits")
    assert np.abs(run.joints[-1] - run.joints[-50]).max() < 1e-6
    assert_within_limits(driven.arm, np.array(READY["panda"]), run.joints, DT)
    driven.ask(LINE)
    driven.run(2000)
    assert driven.controller.output.error == pytest.approx(np.zeros(6), abs=1e-5)


def test_a_behavior_that_failed_takes_part_again_when_it_is_asked_for_again():
    driven = Driven("panda")
    spec = odd("raise", 5)
    driven.ask(spec)
    driven.run(20)
    assert driven.failure("odd")
    driven.ask(spec)
    assert not driven.failure("odd") and driven.behavior("odd").count == 0
    driven.run(3)
    assert not driven.failure("odd") and driven.behavior("odd").begins == 1
