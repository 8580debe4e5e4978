"""base_wrench_torque_estimator as a real node: the core's result whatever the order of messages, safe on bad ones."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sensed_arm import NODE, PERIOD, Core, SensedArm, sensed_arm_of_a_module  # noqa: F401
from std_srvs.srv import Trigger
from visualization_msgs.msg import MarkerArray

from flexarm.msg import FlexibleState
from flexarm_core.base_wrench.estimator import BaseWrenchEstimatorConfig
from flexarm_core.base_wrench.motion_filter import MotionFilter
from flexarm_core.base_wrench.position_loop import PositionLoopConfig
from flexarm_core.base_wrench.torque_loop import TorqueLoopConfig
from flexarm_core.types import BaseWrenchSample, JointReference
from flexarm_nodes.messages.base_wrench import base_wrench_estimate_from_message
from flexarm_nodes.messages.conversions import (
    doubles,
    joint_reference_from_message,
    nanoseconds_to_stamp,
    stamp_to_nanoseconds,
)
from flexarm_nodes.node import topics
from flexarm_tools.graph.graph import GraphError

BENT = np.array([0.0, 0.6, 0.2, 1.2, -0.3, 0.8, 0.1])
ERROR, WARN = 2, 1


@pytest.fixture(name="arm")
def configured_anew(sensed: SensedArm) -> SensedArm:
    sensed.configure()
    return sensed


def moving(tick: int, count: int = 7):
    """Position, velocity, effort and wrench of a tick, of no physical meaning."""
    phase = np.arange(count)
    position = BENT[:count] + 0.2 * np.sin(0.02 * tick + phase)
    velocity = 0.2 * 0.02 / (PERIOD * 1e-9) * np.cos(0.02 * tick + phase)
    return position, velocity, 5.0 * np.sin(0.1 * tick + phase), 20.0 * np.cos(0.05 * tick + np.arange(6))


def assert_same(message, expected, names) -> None:
    found = base_wrench_estimate_from_message(message, names)
    for field in ("stamp", "torque", "friction", "gravity", "model_torque", "wrench", "gravity_wrench"):
        assert np.array_equal(getattr(found, field), getattr(expected, field), equal_nan=True), field
    for field in ("residual_wrench", "bias", "contact", "left_out"):
        assert np.array_equal(getattr(found, field), getattr(expected, field)), field


def assert_same_reference(message, expected, names) -> None:
    found = joint_reference_from_message(message, names)
    for field in ("stamp", "position", "velocity", "acceleration", "effort", "friction"):
        assert np.array_equal(getattr(found, field), getattr(expected, field)), field


def test_the_node_gives_the_cores_estimates_and_efforts_whatever_comes_first(arm):
    core = Core("arm_7r")
    names = arm.names[::-1]
    for tick in range(1, 31):
        arm.tick = tick
        position, velocity, effort, wrench = moving(tick)
        wanted = {"position": position + 0.01, "velocity": velocity, "acceleration": np.full(7, 0.5)}
        if tick % 5 == 0:
            wanted["effort"] = 3.0 * effort  # of a stage before: it is made to arrive
        sends = [
            lambda p=position, v=velocity, e=effort: arm.send_state(p[::-1], v[::-1], e[::-1], names=names),
            lambda w=wrench: arm.send_wrench(w),
            lambda w=wanted: arm.send_desired(**w),
        ]
        for i in ((0, 1, 2), (1, 0, 2), (2, 1, 0), (2, 0, 1), (0, 2, 1), (1, 2, 0))[tick % 6]:
            sends[i]()
            if tick < 13:
                arm.live.spin(0.03)  # less than sensor_wait: the joint state must wait for the wrench
        expected = core.estimate(BaseWrenchSample(tick * PERIOD, position, velocity, effort, wrench))
        assert_same(arm.estimate(), expected, arm.names)
        answer = core.control(JointReference(tick * PERIOD, **wanted))
        assert_same_reference(arm.reference(), answer, arm.names)
        assert arm.estimates[-1].valid and arm.estimates[-1].header.frame_id == arm.frame
    assert len(arm.estimates) == len(arm.references) == 30
    assert arm.estimates[-1].correction_weight == pytest.approx(29 * PERIOD * 1e-9 / 0.2)
    arm.live.wait_for_diagnostic(NODE, "controlling")


def test_a_repeated_state_is_answered_again_and_by_the_same(arm):
    arm.step(BENT, effort=np.zeros(7), desired=BENT)
    arm.send_state(BENT + 1.0)  # whatever it says, its stamp has been answered
    arm.live.until(lambda: len(arm.estimates) == 2 and len(arm.references) == 2, "both answers again")
    assert arm.estimates[0] == arm.estimates[1] and arm.references[0] == arm.references[1]


def test_without_a_wrench_a_state_is_answered_after_the_wait_or_at_the_next_and_soon_not_waited_for(sensed):
    arm = sensed
    arm.configure(sensor_wait=0.8)
    core = Core("arm_7r")
    for _ in range(7):
        arm.step(BENT, desired=BENT, effort=np.zeros(7))
    arm.tick += 1
    arm.send_state(BENT, effort=np.zeros(7))
    arm.live.spin(0.1)
    assert len(arm.estimates) == 7
    late = arm.estimate()
    assert not late.valid and list(late.left_out) == ["base_ft_sensor: missing"] and np.isnan(late.torque).all()
    assert np.allclose(late.gravity, core.holding(BENT), atol=1e-9)
    arm.live.wait_for_diagnostic(NODE, "left out: base_ft_sensor: missing")
    assert arm.live.said(NODE)[-1][0] == WARN
    arm.send_wrench(np.zeros(6))  # too late
    arm.tick += 1
    arm.send_state(BENT)
    arm.live.spin(0.05)
    arm.tick += 1
    arm.send_state(BENT)  # the next state ends the wait of the one before
    arm.live.until(lambda: len(arm.estimates) >= 9, "the estimate of the state before")
    arm.send_wrench(np.ones(6))
    assert arm.estimate().valid
    for count in range(10, 21):
        arm.tick += 1
        arm.send_state(BENT)
        arm.live.until(lambda count=count: len(arm.estimates) >= count, "the estimate of the state before")
    arm.estimate()
    begun = len(arm.estimates)
    for _ in range(5):  # lost: nobody waits any more
        arm.tick += 1
        arm.send_state(BENT)
        arm.estimate()
    assert len(arm.estimates) == begun + 5
    arm.send_wrench(np.zeros(6))  # late, but of the stamp of a joint state: it is waited for again
    arm.live.handled(NODE)
    arm.tick += 1
    arm.send_state(BENT)
    arm.live.handled(NODE)
    arm.send_wrench(np.zeros(6))
    assert arm.estimate().valid


def test_the_correction_fades_out_while_there_is_no_wrench_and_in_again_without_a_bump(arm):
    core, friction = Core("arm_7r"), np.full(7, 4.0)
    gravity = core.gravity_wrench(BENT)
    # efforts beyond gravity's that move nothing: friction
    effort = core.holding(BENT) + friction
    for _ in range(150):
        arm.step(BENT, gravity, BENT, effort=effort)
    assert np.allclose(arm.references[-1].friction, friction, rtol=0.02)
    assert arm.estimates[-1].correction_weight == 1.0
    whole = np.array(arm.references[-1].friction)
    for bad in range(120):
        arm.step(BENT, np.full(6, np.nan), BENT, effort=effort)
        assert list(arm.estimates[-1].left_out) == ["base_ft_sensor: not finite"]
        weight = max(0.0, 1.0 - 0.01 * (bad + 1))
        assert np.allclose(arm.references[-1].friction, weight * whole, atol=1e-9)
    plain = np.array(arm.references[-1].effort)
    assert np.allclose(plain, core.holding(BENT), atol=1e-9)
    arm.live.wait_for_diagnostic(NODE, "left out: base_ft_sensor: not finite")
    for _ in range(120):
        before = np.array(arm.references[-1].effort)
        arm.step(BENT, gravity, BENT, effort=effort)
        assert np.abs(arm.references[-1].effort - before).max() < 0.05 * friction[0]
    # live: the loop goes out and comes back as smoothly
    for enabled in (False, True):
        arm.live.graph.set_parameters(NODE, {"torque_loop": enabled})
        for _ in range(120):
            before = np.array(arm.references[-1].effort)
            arm.step(BENT, gravity, BENT, effort=effort)
            assert np.abs(arm.references[-1].effort - before).max() < 0.05 * friction[0]
        assert arm.estimates[-1].correction_weight == float(enabled)
    assert np.allclose(arm.references[-1].friction, friction, rtol=0.02)


def test_a_frozen_sensor_and_a_wrong_frame_are_no_valid_wrench(sensed):
    arm = sensed
    arm.configure(frozen_samples=5)
    for tick in range(10):
        answer = arm.step(BENT, np.ones(6), effort=np.full(7, float(tick)))
        assert list(answer.left_out) == ([] if tick < 5 else ["base_ft_sensor: frozen"]), tick
    while not any("left out: base_ft_sensor: frozen" in said for _, said in arm.live.said(NODE)):
        tick += 1  # a status is published now and then; on a busy machine another may replace it
        assert tick < 500
        arm.step(BENT, np.ones(6), effort=np.full(7, float(tick)))
        arm.live.spin(0.02)
    arm.tick += 1
    arm.send_wrench(np.zeros(6), frame="elsewhere")
    arm.send_state(BENT)
    assert list(arm.estimate().left_out) == ["base_ft_sensor: in frame 'elsewhere'"]
    words = f"wrench is in frame 'elsewhere', sensor 'base_ft_sensor' measures in '{arm.frame}'"
    arm.live.wait_for_diagnostic(NODE, words)
    assert any(level == ERROR and said.startswith(words) for level, said in arm.live.said(NODE))
    assert arm.step(BENT, np.zeros(6)).valid


@pytest.mark.parametrize("what", ["state", "desired"])
def test_what_is_wrong_is_said_and_the_next_good_sample_is_answered(arm, what):
    arm.step(BENT, desired=BENT)
    if what == "state":
        bad = (
            (lambda: arm.send_state(BENT[:6], names=arm.names[:6]), f"joint state lacks {arm.names[6]}"),
            (lambda: arm.send_state([*BENT[:6], np.nan]), f"joint state position of {arm.names[6]} is not finite"),
        )
    else:
        message = {"position": BENT[:1]}
        names = arm.names

        def of_other_joints():
            arm.names = ("a",)
            arm.send_desired(**message)
            arm.names = names

        bad = (
            (of_other_joints, "joint reference names a; expected"),
            (lambda: arm.send_desired(velocity=BENT), "joint reference has neither effort nor position"),
            (lambda: arm.send_desired(position=np.full(7, np.nan)), "joint reference: position is"),
            (lambda: arm.send_desired(effort=np.full(7, np.nan)), "joint reference: effort is"),
        )
    for send, words in bad:
        count = len(arm.references)
        arm.tick += 1
        if what == "desired":
            arm.send_wrench(np.zeros(6))
            arm.send_state(BENT)
            arm.estimate()
        send()
        arm.live.wait_for_diagnostic(NODE, words)
        assert len(arm.references) == count
        arm.live.spin(0.55)  # the diagnostics say no more than so often
        arm.step(BENT, desired=BENT)


def test_a_state_without_a_reference_of_its_own_is_answered_by_the_last_with_its_own_stamp(arm):
    arm.step(BENT, effort=np.zeros(7), desired=BENT)
    for _ in range(2):  # the second ends the wait of the first
        arm.tick += 1
        arm.send_wrench(np.zeros(6))
        arm.send_state(BENT, effort=np.zeros(7))
        arm.estimate()
    arm.live.until(lambda: len(arm.references) == 2, "the answer to the state before")
    assert arm.references[1].header.stamp == arm.estimates[-2].header.stamp


def test_after_the_clock_was_set_back_a_new_run_begins(arm):
    for tick in range(100, 110):
        arm.tick = tick
        arm.step(BENT, desired=BENT, effort=np.zeros(7))
    assert arm.estimates[-1].correction_weight > 0.0
    arm.live.spin(1.1)  # the diagnostics say no more than so often
    arm.tick = 0
    again = arm.step(BENT, desired=BENT, effort=np.zeros(7))
    assert again.correction_weight == 0.0  # and what came before the joint state was discarded
    assert arm.step(BENT, desired=BENT, effort=np.zeros(7)).valid
    arm.live.wait_for_diagnostic(NODE, "time went back by 0.218 s: restarted")


def test_efforts_come_from_the_joint_states_where_they_are_numbers_and_else_from_what_was_commanded(sensed):
    arm = sensed
    for source in ("joint_states", "command"):
        arm.configure(effort_source=source, reference_timeout=0.5 * PERIOD * 1e-9)
        core = Core("arm_7r")
        wrench = core.gravity_wrench(BENT)
        answer = arm.step(BENT, wrench, BENT)  # neither measured nor commanded
        assert np.isnan(answer.friction).all() and answer.valid
        arm.live.wait_for_diagnostic(NODE, "motor efforts are not known")
        assert_same(answer, core.estimate(BaseWrenchSample(PERIOD, BENT, np.zeros(7), None, wrench)), arm.names)
        commanded = np.array(arm.references[-1].effort)
        measured = np.array([1.0, np.nan, 2.0, 3.0, np.nan, 4.0, 5.0])
        answer = arm.step(BENT, wrench, effort=measured)
        effort = commanded if source == "command" else np.where(np.isnan(measured), commanded, measured)
        assert_same(answer, core.estimate(BaseWrenchSample(2 * PERIOD, BENT, np.zeros(7), effort, wrench)), arm.names)
        answer = arm.step(BENT, wrench, effort=measured)  # the command before was not answered: it is not known
        assert np.isnan(answer.friction).all()


def test_an_observer_sends_no_reference(sensed):
    arm = sensed
    arm.configure(control=False)
    for _ in range(3):
        arm.tick += 1
        arm.send_desired(position=BENT)
        arm.send_wrench(np.zeros(6))
        arm.send_state(BENT, effort=np.zeros(7))
        assert np.isfinite(arm.estimate().friction).all()
    arm.live.handled(NODE)
    assert not arm.references
    node = arm.live.node  # and a gate does not take it for a second writer
    arm.live.until(lambda: node.count_publishers(topics.JOINT_REFERENCE) == 0, "nobody who could send one")
    arm.live.wait_for_diagnostic(NODE, "estimating")


def test_the_motion_of_an_elastic_base_comes_from_where_it_is_said_to_come_from(sensed):
    arm, rng = sensed, np.random.default_rng(2)
    for motion in ("none", "joint_states", "flexible_state"):
        arm.configure("flexible_3r", base_motion=motion)
        core, elastic = Core("flexible_3r"), arm.model.elastic_joint_names
        base = MotionFilter([False, False], 0.0, BaseWrenchEstimatorConfig().acceleration_bandwidth)
        if motion == "flexible_state":
            publisher = arm.live.publisher(topics.FLEXIBLE_STATE, FlexibleState)
        for tick in range(1, 11):
            arm.tick = tick
            position, velocity, effort, wrench = moving(tick, 3)
            bent, rate, acceleration = rng.normal(size=(3, 2)) * [[0.01], [0.1], [1.0]]
            names = arm.names
            if motion == "joint_states":
                arm.send_state(
                    [*bent, *position], [*rate, *velocity], [np.nan, np.nan, *effort], names=[*elastic, *names]
                )
                acceleration = base.update(tick * PERIOD, bent, rate)[1]
            else:
                arm.send_state(position, velocity, effort)
            if motion == "flexible_state":
                message = FlexibleState(elastic_joints=list(elastic[::-1]))
                message.header.stamp = nanoseconds_to_stamp(tick * PERIOD)
                message.deflection, message.deflection_rate = doubles(bent[::-1]), doubles(rate[::-1])
                message.deflection_acceleration = doubles(acceleration[::-1])
                publisher.publish(message)
            arm.send_wrench(wrench)
            moved = (np.zeros(2),) * 3 if motion == "none" else (bent, rate, acceleration)
            expected = core.estimate(BaseWrenchSample(tick * PERIOD, position, velocity, effort, wrench, *moved))
            assert_same(arm.estimate(), expected, names)
            if tick > 5:
                arm.send_desired(position=position, velocity=velocity)
                reference = JointReference(tick * PERIOD, position, velocity)
                core.control(reference) if tick == 6 else None
                arm.reference()
    arm.tick += 1  # of the last: flexible states without what is needed, and none
    arm.send_state(position)
    arm.send_wrench(wrench)
    message.deflection_acceleration = doubles(np.zeros(0))
    message.header.stamp = nanoseconds_to_stamp(arm.tick * PERIOD)
    publisher.publish(message)
    assert list(arm.estimate().left_out) == ["flexible_state: not usable"]
    arm.live.wait_for_diagnostic(NODE, "flexible_state has no deflection_acceleration, which base_motion")
    arm.tick += 1
    arm.send_state(position)
    arm.send_wrench(wrench)
    answer = arm.estimate()
    assert list(answer.left_out) == ["flexible_state: missing"] and np.isnan(answer.torque).all() and not answer.valid
    assert stamp_to_nanoseconds(answer.header.stamp) == arm.tick * PERIOD


def test_parameters_without_meaning_are_refused(sensed):
    arm = sensed
    for bad, words in (
        ({"base_motion": "joint_states"}, "has no elastic joint under its base: it must be 'none'"),
        ({"sensor": "no_sensor"}, "has no force/torque sensor 'no_sensor'"),
        ({"gravity_links": ["a"], "gravity_masses": [1.0], "gravity_first_moments": [0.0] * 3}, "gravity_links are a;"),
        ({"integral_gain": 1e9}, "integral_gain 1e+09 makes the loop unstable"),
        ({"calibration.velocity": [1.0, 2.0]}, "calibration.velocity has 2 values"),
    ):
        with pytest.raises(GraphError, match="refused to configure"):
            arm.configure(**bad)
        arm.live.wait_for_diagnostic(NODE, words)
        arm.live.spin(0.5)
    with pytest.raises(GraphError, match="gravity_table is set when the node starts"):
        arm.configure(gravity_table="/nowhere.npz")
    with pytest.raises(GraphError, match="wrench_convention must be one of robot_on_base, base_on_robot"):
        arm.configure(wrench_convention="upwards")
    with pytest.raises(GraphError, match="wrench_bias needs 6 values, got 1"):
        arm.configure(wrench_bias=[0.0])
    arm.configure()
    for bad, words in (
        ({"position_gain": -1.0}, "position_gain must lie in"),
        ({"wrench_bias": [np.nan] * 6}, "wrench_bias must be finite"),
        ({"rate": 100.0}, "rate can only change while the node is not configured"),
        ({"integral_gain": 1e9}, "makes the loop unstable"),
    ):
        with pytest.raises(GraphError, match=words):
            arm.live.graph.set_parameters(NODE, bad)
    assert arm.step(BENT).valid
    arm.live.graph.set_parameters(NODE, {"position_gain": 400.0, "velocity_gain": 40.0, "torque_loop": False})
    arm.step(BENT, desired=BENT + 0.1)
    core = Core(
        "arm_7r",
        position_loop=PositionLoopConfig(400.0, 40.0),
        torque_loop=TorqueLoopConfig(torque_loop=False),
    )
    core.estimate(BaseWrenchSample(2 * PERIOD, BENT, np.zeros(7), None, np.zeros(6)))
    wanted = core.control(JointReference(2 * PERIOD, BENT + 0.1))
    assert_same_reference(arm.references[-1], wanted, arm.names)


def test_the_present_wrench_of_a_free_arm_at_rest_becomes_the_bias_in_either_convention(sensed):
    arm, bias = sensed, np.array([1.0, -2.0, 3.0, 0.1, 0.2, -0.3])

    def zero():
        return arm.live.graph.call(Trigger, f"/{NODE}/zero_wrench", Trigger.Request())

    gravity = Core("arm_7r").gravity_wrench(BENT)
    for convention, sign in (("robot_on_base", 1.0), ("base_on_robot", -1.0)):
        arm.configure(wrench_convention=convention)
        answer = zero()
        assert not answer.success and answer.message == "no joint state has come yet"
        for _ in range(20):
            estimate = arm.step(BENT, sign * gravity + bias)
        assert np.allclose(base_wrench_estimate_from_message(estimate, arm.names).residual_wrench, sign * bias)
        answer = zero()
        assert answer.success and answer.message == f"wrench_bias: {bias.tolist()}"
        estimate = base_wrench_estimate_from_message(arm.step(BENT, sign * gravity + bias), arm.names)
        assert np.allclose(estimate.residual_wrench, 0.0, atol=1e-9) and np.allclose(estimate.bias, bias)
        for _ in range(100):
            estimate = arm.step(BENT, sign * gravity + bias + [0.0, 30.0, 0.0, 0.0, 0.0, 0.0])
        assert estimate.contact
        answer = zero()
        assert not answer.success and "something touches the arm" in answer.message
        for i in range(20):
            arm.step(BENT + 0.01 * i, sign * gravity + bias)
        answer = zero()
        assert not answer.success and "it must be at rest" in answer.message
    arm.live.graph.transition(NODE, "deactivate")
    assert zero().message == "the node is not active"


def test_markers_come_at_their_rate_to_who_looks(sensed):
    arm = sensed
    arm.configure(marker_rate=50.0)
    topic = f"/{NODE}/markers"
    arm.live.listen(topic, MarkerArray)
    arm.live.until(lambda: arm.live.node.count_publishers(topic) > 0, "markers")
    arm.live.settle()
    for _ in range(21):
        arm.step(BENT, np.full(6, 50.0), effort=np.full(7, 9.0))
    arm.live.until(lambda: len(arm.live.received[topic]) >= 3, "three messages with markers")
    stamps = [stamp_to_nanoseconds(m.markers[0].header.stamp) // PERIOD for m in arm.live.received[topic]]
    assert stamps == [1, 11, 21]
    drawn = {marker.ns for marker in arm.live.received[topic][-1].markers}
    assert {"contact", "torque/elbow", "friction/elbow"} <= drawn


def test_frames_have_the_prefix_of_tf_and_a_wrench_may_have_it(sensed):
    arm = sensed
    arm.configure(marker_rate=50.0, frame_prefix="left/")
    topic = f"/{NODE}/markers"
    seen = len(arm.live.received[topic])
    arm.live.listen(topic, MarkerArray)
    arm.live.until(lambda: arm.live.node.count_publishers(topic) > 0, "markers")
    arm.live.settle()
    assert arm.step(BENT, np.full(6, 50.0), effort=np.full(7, 9.0)).valid
    arm.tick += 1
    arm.send_wrench(np.full(6, 50.0), frame=f"left/{arm.frame}")
    arm.send_state(BENT)
    assert not list(arm.estimate().left_out)
    arm.live.until(lambda: len(arm.live.received[topic]) > seen, "markers")
    frames = {marker.header.frame_id for message in arm.live.received[topic][seen:] for marker in message.markers}
    assert f"left/{arm.frame}" in frames and all(re.fullmatch("left/[a-z0-9_]+", frame) for frame in frames)
