"""behavior_impedance_controller under inputs that are wrong, missing or late: it holds, says why, and goes on."""

from __future__ import annotations

import numpy as np
import pytest
import yaml
from impedance_arm import (  # noqa: F401
    BENT,
    CENTER,
    DT,
    MASS,
    NODE,
    PERIOD,
    SENSOR_LINK,
    ImpedanceArm,
    behavior,
    change,
    impedance_arm_made_active,
    impedance_arm_of_a_module,
    replace,
    stamp_of,
)
from rclpy.action import ActionClient
from visualization_msgs.msg import Marker, MarkerArray

from flexarm.action import CalibrateToolWrench
from flexarm_core.types import CartesianReference
from flexarm_nodes.messages.conversions import cartesian_reference_form
from flexarm_nodes.node import topics

LIFT = behavior("lift", "force", wrench=[0.0, 0.0, 10.0, 0.0, 0.0, 0.0], damping=[200.0, 50.0])


def test_a_wrench_in_another_frame_or_not_finite_holds_the_arm_where_a_behavior_needs_it_until_a_good_one_comes(arm):
    arm.step()
    arm.set(change(LIFT))
    arm.steps(100)
    for bad, reason in (
        ({"frame": "elsewhere"}, f"is in frame 'elsewhere', sensor 'tool_ft_sensor' measures in '{SENSOR_LINK}'"),
        ({"external": (np.nan, 0.0, 0.0, 0.0, 0.0, 0.0)}, "wrench of 'tool_ft_sensor' is not finite"),
    ):
        assert arm.steps(100).velocity and np.abs(arm.answers[-1].velocity).max() > 0.01
        for _ in range(60):
            arm.step(**bad)
        arm.live.wait_for_diagnostic(NODE, reason)
        assert arm.statuses[-1].held == "no tool wrench for lift" and not arm.statuses[-1].wrench_valid
        assert not np.array(arm.answers[-1].velocity).any()
        arm.step()
        assert not arm.statuses[-1].held and arm.statuses[-1].wrench_valid
        arm.live.spin(0.6)  # the diagnostics say no more than so often
    arm.check_limits()
    arm.set(replace())
    arm.step(frame="elsewhere")
    assert not arm.statuses[-1].held  # nobody needs it


def test_a_wrench_that_grows_old_holds_the_arm_and_a_fresh_one_lets_it_go_on(live):
    arm = ImpedanceArm(live, sensor_wait=0.01, wrench_timeout=0.1)
    arm.step()
    arm.set(change(LIFT))
    arm.steps(50)
    last = arm.tick
    for _ in range(50):
        arm.send_state()
        arm.wait_for_answer()
        assert bool(arm.statuses[-1].held) == ((arm.tick - last) * DT > 0.1 + 1e-9), (arm.tick, last)
    assert not np.array(arm.answers[-1].velocity).any()
    live.wait_for_diagnostic(NODE, "held: no tool wrench for lift")
    for _ in range(3):  # once lost it is not waited for, until it has come with the stamp of a joint state
        arm.send_state()
        arm.send_wrench()
        arm.wait_for_answer()
        live.handled(NODE)
    assert not arm.statuses[-1].held
    arm.steps(50)
    assert np.abs(arm.answers[-1].velocity).max() > 0.01
    assert [answer.header.stamp for answer in arm.answers] == [stamp_of(tick) for tick in range(1, arm.tick + 1)]
    arm.check_limits()


def test_without_a_wait_a_state_is_answered_at_once_and_the_newest_reading_counts_while_it_is_young_enough(live):
    arm = ImpedanceArm(live, sensor_wait=0.0, wrench_timeout=0.1)
    arm.tick = 9
    arm.send_wrench((0.0, 5.0, 0.0, 0.0, 0.0, 0.0), tick=10)
    live.handled(NODE)
    for _ in range(40):
        arm.send_state()
        arm.wait_for_answer()
        assert arm.statuses[-1].wrench_valid == ((arm.tick - 10) * DT <= 0.1 + 1e-9)
        assert not arm.statuses[-1].wrench_valid or arm.statuses[-1].wrench.force.y == pytest.approx(5.0, abs=0.1)


def test_a_reference_is_waited_for_no_longer_than_a_reading_and_one_of_a_late_clock_ends_all_the_same(live):
    arm = ImpedanceArm(live, sensor_wait=0.3)
    arm.set(change(behavior("stream", "path", source="stream", timeout=0.02)))
    arm.step()  # without a reference
    position, rotation = arm.chain.pose(BENT)
    still, axes = np.zeros(6), np.ones(6, dtype=bool)
    ahead = CartesianReference((arm.tick + 10) * PERIOD, arm.chain.base_frame, position, rotation, still, still,
                               axes)  # fmt: skip
    arm.references.publish(cartesian_reference_form(ahead, arm.chain.tool_frame).message())
    live.handled(NODE)
    notes = []
    for _ in range(10):
        arm.step()
        notes.append(arm.of("stream").note)
    assert notes == 6 * ["following references"] + 4 * ["no references"]  # 5 samples of 4 ms behind the first


def test_zeroing_takes_the_present_reading_for_that_of_a_free_tool_but_only_at_rest(live):
    arm, bias = ImpedanceArm(live), (1.0, -2.0, 3.0, 0.1, 0.2, -0.3)
    answer = arm.zero()
    assert not answer.success and answer.message == "no joint state has come yet"
    arm.step(frame="elsewhere")
    answer = arm.zero()
    assert not answer.success and answer.message == "there is no valid reading of 'tool_ft_sensor'"
    arm.step(bias=bias)
    felt = arm.statuses[-1].wrench.force
    assert np.linalg.norm([felt.x, felt.y, felt.z]) == pytest.approx(np.sqrt(14.0), abs=1e-9)
    arm.send_state(velocity=np.full(7, 0.1))
    arm.send_wrench(bias=bias)
    arm.wait_for_answer()
    answer = arm.zero()
    assert not answer.success and "the arm moves at 0.1" in answer.message
    for _ in range(50):  # what was felt has pushed it
        for _ in range(20):
            arm.step(bias=bias)
        answer = arm.zero()
        if answer.success:
            break
        assert "the arm moves at" in answer.message
    assert answer.success and answer.message == f"wrench_bias: {list(bias)}"
    arm.step((0.0, 5.0, 0.0, 0.0, 0.0, 0.0), bias=bias)
    felt = arm.statuses[-1].wrench
    assert np.allclose([felt.force.x, felt.force.y, felt.force.z], [0.0, 5.0, 0.0], atol=1e-9)
    assert np.allclose([felt.torque.x, felt.torque.y, felt.torque.z], 0.0, atol=1e-9)


def test_the_tool_is_weighed_in_poses_that_others_move_the_arm_to_and_the_result_is_used(live):
    arm, bias = ImpedanceArm(live, tool_mass=0.0), (1.0, -2.0, 3.0, 0.1, 0.2, -0.3)
    client = ActionClient(live.node, CalibrateToolWrench, f"{NODE}/calibrate_tool_wrench")
    live.until(client.server_is_ready, "the action")
    fed = []

    def goal(**how):
        sent = client.send_goal_async(CalibrateToolWrench.Goal(**how), lambda got: fed.append(got.feedback))
        live.until(sent.done, "an answer")
        return sent.result()

    def rest(position, samples=8):
        for _ in range(samples):
            arm.position = np.array(position)
            arm.send_state()
            arm.send_wrench(bias=bias)
            arm.wait_for_answer()

    rest(BENT)
    future = goal(pose_count=2).get_result_async()
    live.until(future.done, "the result")
    assert future.result().result.error_code == CalibrateToolWrench.Result.INVALID_GOAL
    assert "pose_count" in future.result().result.message
    handle = goal(pose_count=5, samples=3, settle_time=0.01, apply=True)
    assert handle.accepted and not goal().accepted  # one at a time
    future = handle.get_result_async()
    for wrist in ([1.0, 0.3], [0.2, 0.3], [-0.6, 0.3], [1.0, 1.5], [0.2, 2.5], [-0.6, 1.5]):
        arm.tick += 1_000_000  # it sets out anew, where the arm was moved to
        rest([*BENT[:5], *wrist])
    live.until(future.done, "the result")
    found = future.result().result
    assert found.error_code == found.SUCCESSFUL, found.message
    assert np.allclose(found.wrench_bias, bias, atol=1e-9) and abs(found.tool_mass - MASS) < 1e-9
    assert np.allclose(found.tool_center_of_mass, CENTER, atol=1e-9) and "5 poses" in found.message
    values = yaml.safe_load(found.parameters)
    assert values["tool_mass"] == MASS and np.allclose(values["wrench_bias"], bias)
    assert fed[0].pose_count == 5 and {one.phase for one in fed} >= {"move"}
    arm.tick += 1_000_000
    arm.position = BENT
    for _ in range(2):
        arm.step((0.0, 5.0, 0.0, 0.0, 0.0, 0.0), bias=bias)
    felt = arm.statuses[-1].wrench
    assert np.allclose([felt.force.x, felt.force.y, felt.force.z], [0.0, 5.0, 0.0], atol=1e-6)
    canceled = goal(timeout=100.0)
    live.until(canceled.cancel_goal_async().done, "the cancel")
    future = canceled.get_result_async()
    live.until(future.done, "the result")
    assert future.result().result.message == "canceled after 0 poses"


def test_joints_that_are_not_where_they_were_sent_hold_the_arm_until_they_are(arm):
    arm.step()
    arm.set(change(behavior("way", "path", positions=[0.0, 0.1, 0.0], relative=True)))
    arm.steps(100)
    sent, moving = arm.position.copy(), arm.answers[-1]
    assert np.abs(moving.velocity).max() > 0.01
    for _ in range(100):
        arm.send_state(sent + 0.2 * np.eye(7)[3])
        arm.send_wrench()
        arm.wait_for_answer()
    assert "joint 'elbow' is 0.1" in arm.statuses[-1].held or "joint 'elbow' is 0.2" in arm.statuses[-1].held
    arm.live.wait_for_diagnostic(NODE, "from where it should be, tolerance 0.1")
    assert not np.array(arm.answers[-1].velocity).any()
    assert np.abs(arm.position - sent).max() < 0.05  # the arm is called back, not followed
    held = arm.position.copy()
    arm.send_state(held + 0.08 * np.eye(7)[3])  # not near enough to go on
    arm.send_wrench()
    arm.wait_for_answer()
    assert arm.statuses[-1].held
    arm.position = held
    arm.steps(500)
    assert not arm.statuses[-1].held and arm.of("way").note == "at its end"
    arm.check_limits()


def test_joint_states_that_cannot_be_used_are_refused_with_their_reason_and_the_next_good_one_is_answered(arm):
    arm.steps(2)
    for how, reason in (
        ({"names": ["elbow", *arm.names[1:]]}, "joint state names 'elbow' twice"),
        ({"names": [f"other_{arm.names[0]}", *arm.names[1:]]}, "joint state lacks shoulder_yaw"),
        ({"position": np.full(7, np.nan)}, "joint state position of shoulder_yaw"),
        ({"velocity": np.zeros(3)}, "7 names and 3 velocity values"),
    ):
        arm.send_state(**how)
        arm.live.wait_for_diagnostic(NODE, reason)
        arm.live.spin(0.6)  # the diagnostics say no more than so often
        arm.tick -= 1
    arm.steps(2)
    assert len(arm.answers) == 4 and np.allclose(arm.position, BENT)
    arm.tick += 1_000_000
    arm.step()
    arm.live.wait_for_diagnostic(NODE, "set out anew from where the arm is")
    arm.set(change(behavior("way", "path", positions=[0.0, 0.1, 0.0], relative=True)))
    arm.live.spin(0.6)
    arm.tick, arm.position = 9, BENT + 0.3  # the clock was set back: a new run, from where the arm is
    arm.step()
    arm.live.wait_for_diagnostic(NODE, "time went back by 3999.980 s: restarted")
    assert np.allclose(arm.answers[-1].position, BENT + 0.3) and arm.active == ["way"]
    assert len(arm.answers) == 6


def test_a_gap_of_joint_states_makes_it_set_out_anew_from_where_the_arm_is(live):
    arm = ImpedanceArm(live, state_timeout=0.05)
    arm.step()
    arm.set(change(behavior("way", "path", positions=[0.0, 0.1, 0.0], relative=True)))
    arm.set(change(behavior("hand", "teleoperation")))
    arm.steps(100)
    arm.tick += round(0.06 / DT)
    arm.position = BENT + 0.3
    arm.step()
    live.wait_for_diagnostic(NODE, "no joint state for 0.064 s: set out anew")
    assert np.allclose(arm.answers[-1].position, BENT + 0.3) and not arm.statuses[-1].held
    begin = arm.tool
    arm.steps(2)
    assert np.allclose(arm.tool, begin, atol=1e-4)  # no step
    arm.steps(700)
    assert np.allclose(arm.tool, begin + [0.0, 0.1, 0.0], atol=1e-5)


def test_an_inactive_node_is_silent_and_begins_anew_where_the_arm_is_with_the_behaviors_it_had(arm):
    arm.step()
    arm.set(change(behavior("way", "path", positions=[0.0, 0.1, 0.0], relative=True)))
    arm.set(change(behavior("never", "dither"), tick=1000))
    arm.steps(100)
    arm.live.graph.transition(NODE, "deactivate")
    answered = len(arm.answers)
    arm.send_state()
    arm.send_wrench()
    arm.live.handled(NODE)
    assert len(arm.answers) == answered and not arm.zero().success
    arm.live.graph.transition(NODE, "activate")
    arm.position, arm.tick = BENT - 0.2, 0
    arm.steps(3)
    begin = arm.chain.pose(BENT - 0.2)[0]
    assert np.allclose(arm.tool, begin, atol=1e-4) and arm.active == ["way"]
    arm.steps(1200)
    assert np.allclose(arm.tool, begin + [0.0, 0.1, 0.0], atol=1e-5) and arm.active == ["way"]


def test_settings_without_meaning_are_refused_when_the_node_is_configured(live):
    ImpedanceArm(live, start=False)
    for given, reason in (
        ({"wrench_sensor": "wrist"}, "has no force/torque sensor 'wrist'; it has: "),
        ({"tool_center_of_mass": [0.1]}, "center_of_mass of the tool must be three finite numbers"),
        ({"max_acceleration": [1.0, 2.0]}, "cannot configure: max_acceleration needs 1 or 7 numbers"),
        ({"stiffness": [1.0, 2.0]}, "cannot configure: stiffness needs 6 or 36 finite numbers"),
    ):
        live.refuses(NODE, given, reason)


def test_markers_show_obstacles_forces_and_the_set_point_at_their_rate(live):
    arm = ImpedanceArm(live, marker_rate=50.0, status_rate=1e4, marker_capsules=True)
    topic = f"{NODE}/markers"
    live.listen(topic, MarkerArray)
    live.until(lambda: live.node.count_publishers(topic) > 0, topic)
    live.settle()
    arm.step()
    kinds = {"names": ["ball", "box", "floor"], "kinds": ["sphere", "box", "half_space"]}
    where = {"positions": [0.6, 0.6, 0.5, 1.2, 0.0, 0.2, 0.0, 0.0, -0.5], "sizes": [0.1, 0, 0, 0.1, 0.2, 0.3, 0, 0, 0]}
    where["sizes"] = [float(size) for size in where["sizes"]]
    arm.set(change(behavior("cell", "obstacles", **kinds, **where), behavior("pull", "spring", position=[0.5, 0.0, 0.5],
                   stiffness=[100.0] * 3 + [0.0] * 3)))  # fmt: skip
    arm.steps(49, (0.0, 0.0, 7.0, 0.0, 0.0, 0.0))
    live.until(lambda: len(live.received[topic]) == 10, "a message every 5 samples")
    stamps = [m.markers[0].header.stamp for m in live.received[topic]]
    assert stamps == [stamp_of(tick) for tick in range(1, 51, 5)]
    markers = live.received[topic][-1].markers
    assert markers[0].action == Marker.DELETEALL and {m.header.frame_id for m in markers} == {arm.chain.base_frame}
    assert len({(m.ns, m.id) for m in markers[1:]}) == len(markers) - 1
    ball, box, floor = (m for m in markers if m.ns == "obstacles/cell")
    assert (ball.type, ball.scale.x, ball.pose.position.y) == (Marker.SPHERE, 0.2, 0.6)
    assert (box.type, box.scale.x, box.scale.z) == (Marker.CUBE, 0.2, 0.6)
    assert floor.pose.position.z + 0.5 * floor.scale.z == pytest.approx(-0.5)
    (measured,) = (m for m in markers if m.ns == "forces/measured")
    assert measured.points[1].z - measured.points[0].z == pytest.approx(0.07)
    assert any(m.ns == "forces/pull" for m in markers) and sum(m.ns == "set_point" for m in markers) == 3
    assert {m.ns for m in markers if m.ns.startswith("shape/")} >= {"shape/forearm", "shape/tool_sensor_link"}
    assert all(m.color.a > 0.0 for m in markers[1:]) and PERIOD == 4_000_000
    assert topics.MARKERS == "~/markers"
