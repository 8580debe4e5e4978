"""The controller: it holds, says truly what the tool does, refuses what is no input, and comes to rest when told."""

from __future__ import annotations

import numpy as np
import pytest
from behaviors import READY, Driven, arm_of, assert_within_limits
from scipy.spatial.transform import Rotation

from flexarm_core.behavior_impedance.behavior import BehaviorSpec
from flexarm_core.behavior_impedance.config import ImpedanceConfig
from flexarm_core.behavior_impedance.controller import BehaviorImpedanceController
from flexarm_core.errors import ConfigError, InputError
from flexarm_core.ik_redundancy.config import RedundancyConfig

DT = 2e-3
NAMES = ("panda", "arm_6r", "planar_4r")
LINE = BehaviorSpec("path", "path", {"positions": [0.1, 0.0, 0.0], "relative": True})
PULL = BehaviorSpec("pull", "spring", {"stiffness": [500.0] * 3 + [10.0] * 3})


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("variant", ("acceleration", "velocity"))
def test_without_behaviors_and_wrench_it_holds_the_arm_where_it_began(name, variant):
    driven = Driven(name, variant=variant)
    run = driven.run(500)
    assert run.joints == pytest.approx(np.tile(READY[name], (500, 1)), abs=1e-12)
    assert not any(output.held or output.stalled for output in run.outputs)


def test_it_begins_at_the_velocity_of_the_arm_and_comes_to_rest_where_it_began():
    arm = arm_of("panda")
    driven, velocity = Driven("panda"), np.full(7, 0.1)
    driven.controller.begin(np.array(READY["panda"]), velocity)
    start = driven.controller.output
    assert start.twist == pytest.approx(arm.chain.kinematics(np.array(READY["panda"]))[2] @ velocity)
    run = driven.run(2000)
    first = (run.joints[0] - np.array(READY["panda"])) / DT
    assert np.abs(first - velocity).max() <= 20.0 * DT + 1e-9
    assert run.outputs[-1].position == pytest.approx(start.position, abs=1e-6)
    assert np.abs(run.outputs[-1].twist).max() < 1e-6


@pytest.mark.parametrize("name", NAMES)
def test_what_is_said_of_the_tool_is_what_its_joints_do(name):
    driven = Driven(name)
    driven.ask(LINE, BehaviorSpec("po", "posture", {"position": [0.1] * driven.arm.chain.n}))
    run = driven.run(1500, np.array([3.0, -2.0, 0.0, 0.0, 0.0, 0.5]))
    chain = driven.arm.chain
    for k in range(0, 1500, 50):
        p, R, J = chain.kinematics(run.joints[k])
        output = run.outputs[k]
        assert output.position == pytest.approx(p, abs=1e-12) and output.rotation == pytest.approx(R, abs=1e-12)
        if k:
            qd = (run.joints[k + 1] - run.joints[k - 1]) / (2.0 * DT)
            assert output.twist == pytest.approx(J @ qd, abs=2e-3)


def test_axes_that_are_free_are_for_the_joints_and_what_is_said_of_them_is_true():
    driven = Driven("panda", axes=(True, True, True, False, False, False))
    start = driven.controller.output
    wanted = (np.array(READY["panda"]) + np.array([0.2, -0.1, 0.3, 0.1, -0.2, 0.2, 0.3])).tolist()
    driven.ask(BehaviorSpec("po", "posture", {"position": wanted, "stiffness": [30.0]}))
    run = driven.run(600)
    assert np.abs(run.of("position") - start.position).max() < 1e-9
    turned = Rotation.from_matrix(run.outputs[-1].rotation @ start.rotation.T).magnitude()
    assert turned > 0.05
    rates = Rotation.from_matrix(run.of("rotation")[1:] @ run.of("rotation")[:-1].transpose(0, 2, 1)).as_rotvec() / DT
    assert run.of("twist")[1:, 3:] == pytest.approx(rates, abs=5e-3) and np.abs(rates).max() > 0.05


@pytest.mark.parametrize(
    ("dt", "wrench"),
    (
        (0.0, None), (-1e-3, None), (np.nan, None), (np.inf, None), (DT, np.full(6, np.nan)),
        (DT, np.array([0.0, 0.0, np.inf, 0.0, 0.0, 0.0])), (DT, np.zeros(5)), (DT, np.zeros((6, 1))), (DT, 0.0),
        (DT, "push"), (DT, [None] * 6), (DT, [[1.0]] * 6),
    ),
)  # fmt: skip
def test_input_that_is_none_is_refused_and_changes_nothing(dt, wrench):
    driven, twin = Driven("panda"), Driven("panda")
    for one in (driven, twin):
        one.ask(LINE, BehaviorSpec("d", "dither", {"amplitude": [1e-3] * 6}))
        one.run(200)
    for _ in range(3):
        with pytest.raises(InputError):
            driven.controller.update(driven.stamp, dt, wrench)
    assert (driven.run(50).joints == twin.run(50).joints).all()


def test_a_wrench_may_be_a_list_or_whole_numbers_and_is_not_kept():
    driven, twin = Driven("panda"), Driven("panda")
    wrench = np.array([3.0, 0.0, -2.0, 0.0, 0.0, 1.0])
    for form in (wrench.tolist(), wrench.astype(int), np.repeat(wrench, 2)[::2], tuple(wrench)):
        driven.step(form)
        twin.step(wrench)
        assert (driven.joints == twin.joints).all()


def test_nothing_is_commanded_before_it_has_begun():
    controller = BehaviorImpedanceController(
        arm_of("panda"), ImpedanceConfig(), RedundancyConfig(objective_time_constant=0.0)
    )
    for _ in range(2):
        with pytest.raises(InputError, match="has not begun"):
            controller.update(0, DT, np.zeros(6))
        for wrong in ([np.nan] * 7, [0.0] * 6):
            with pytest.raises(InputError):
                controller.begin(np.array(wrong))
        controller.begin(np.array(READY["panda"]))
        assert not controller.update(0, DT, np.zeros(6)).held
        controller.reset()


def test_settings_that_do_not_fit_the_arm_are_refused_and_those_in_force_stay():
    for wrong in ({"objective": "manipulability", "objective_time_constant": 0.0}, {"objective_time_constant": 0.3}):
        with pytest.raises(ConfigError, match="led by behaviors"):
            BehaviorImpedanceController(arm_of("panda"), ImpedanceConfig(), RedundancyConfig(**wrong))
    driven = Driven("panda")
    before = driven.controller.config
    with pytest.raises(ConfigError, match="joint_damping"):
        driven.controller.set_config(ImpedanceConfig(joint_damping=(1.0, 2.0)))
    assert driven.controller.config is before
    assert np.abs(driven.run(50).joints - READY["panda"]).max() < 1e-12


def test_a_sample_ten_times_as_long_and_ones_of_changing_length_keep_the_limits():
    driven, rng = Driven("panda"), np.random.default_rng(1)
    driven.ask(LINE, PULL)
    q, v = np.array(READY["panda"]), np.zeros(7)
    for _ in range(600):
        dt = float(rng.choice([5e-4, 2e-3, 8e-3, 2e-2]))
        driven.step(dt=dt)
        now = (driven.joints - q) / dt
        assert np.all(np.abs(now - v) / dt <= driven.arm.limits.acceleration + 1e-6)
        q, v = driven.joints, now
    assert np.linalg.norm(driven.controller.output.error[:3]) < 0.05


def test_held_the_arm_brakes_within_its_limits_stays_and_goes_on_gently():
    driven = Driven("panda")
    driven.ask(LINE)
    run = driven.run(300)
    assert np.linalg.norm(run.outputs[-1].twist) > 0.05
    held, joints = [], list(run.joints)
    for _ in range(100):
        held.append(driven.step(hold="the operator said so"))
        joints.append(driven.joints)
    assert {output.held for output in held} == {"the operator said so"}
    assert (joints[-1] == joints[-50]).all() and not held[-1].twist.any()
    p, *_ = driven.controller.set_point()
    assert held[-1].error[:3] == pytest.approx(held[-1].position - p, abs=1e-12)
    again = driven.run(2000)
    joints.extend(again.joints)
    assert_within_limits(driven.arm, np.array(READY["panda"]), np.array(joints), DT)
    accelerations = np.vstack((np.zeros(6), again.of("acceleration")))
    assert np.linalg.norm(np.diff(accelerations, axis=0)[:, :3], axis=1).max() <= 0.5
    assert again.outputs[-1].error == pytest.approx(np.zeros(6), abs=1e-6)
