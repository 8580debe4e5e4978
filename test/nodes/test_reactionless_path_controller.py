"""reactionless_path_controller as a real node: the core's law, gains that are refused, a start near the path."""

from __future__ import annotations

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from sensor_msgs.msg import JointState
from visualization_msgs.msg import MarkerArray

from flexarm.msg import BaseReaction, JointReference
from flexarm_core.reaction_null_space.reactionless.path_file import save_path
from flexarm_core.reaction_null_space.reactionless.path_motion import PathMotion, PathMotionConfig
from flexarm_core.reaction_null_space.reactionless.trace import trace
from flexarm_core.reaction_null_space.reactionless.velocity_law import VelocityLaw, VelocityLawConfig
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState
from flexarm_nodes.node import topics
from flexarm_nodes.node.diagnostics import REPEAT_AFTER
from flexarm_tools.graph.graph import GraphError

NODE = "reactionless_path_controller"
START = np.array([0.5 * np.pi, 0.0])
SPAN = (0.0, 1.0)


@pytest.fixture
def parameters(trep_text) -> dict:
    """Half a second along the path through the start posture."""
    return {
        "robot_description": trep_text,
        "gravity": [0.0, 0.0, 0.0],
        "task": "path",
        "posture": START.tolist(),
        "span": list(SPAN),
        "duration": 0.5,
        "drive_lag": 0.0055,
    }


def state_message(tick: int, position, deflection: float = 0.0) -> JointState:
    """Joint state of TREP at rest, at tick * 1 ms."""
    message = JointState(name=["joint1", "joint2", "base_x"], position=[*map(float, position), deflection])
    message.velocity = [0.0, 0.0, 0.0]
    message.header.stamp = Time(sec=tick // 1000, nanosec=(tick % 1000) * 1_000_000)
    return message


def started(live, parameters):
    """The node, listened to; gives a function that asks it."""
    live.start(NODE, parameters)
    for topic, kind in (
        (topics.JOINT_REFERENCE, JointReference),
        (topics.DESIRED_JOINT_REFERENCE, JointReference),
        (topics.BASE_REACTION, BaseReaction),
    ):
        live.listen(topic, kind)
    states = live.publisher(topics.JOINT_STATES, JointState)
    live.until(lambda: live.node.count_publishers(topics.BASE_REACTION) > 0, "base_reaction")
    live.settle()

    def ask(tick: int, position, deflection: float = 0.0) -> JointReference:
        count = len(live.received[topics.BASE_REACTION])
        states.publish(state_message(tick, position, deflection))
        live.until(lambda: len(live.received[topics.BASE_REACTION]) > count, "an answer")
        live.until(lambda: len(live.received[topics.JOINT_REFERENCE]) > count, "a joint reference")
        return live.received[topics.JOINT_REFERENCE][-1]

    return states, ask


def test_the_node_gives_the_cores_result_along_a_stored_path(live, parameters, trep_text, tmp_path):
    model = ArmModel(trep_text, gravity=(0.0, 0.0, 0.0))
    path = trace(model, START)
    save_path(path, tmp_path / "path.npz")
    parameters |= {"path_file": str(tmp_path / "path.npz"), "shown_postures": [1.0, 0.0]}
    del parameters["posture"]
    law = VelocityLaw(model, VelocityLawConfig(drive_lag=0.0055))
    law.follow(path)
    motion = PathMotion(path, PathMotionConfig(span=SPAN, duration=0.5))
    _, ask = started(live, parameters)
    for tick, position, deflection in ((1000, START, 0.0), (1200, START + [-0.1, 0.3], 0.002), (1700, START, -0.001)):
        answer = ask(tick, position, deflection)
        state = ArmState(tick * 1_000_000, position, np.zeros(2), np.array([deflection]), np.zeros(1))
        expected = law.update(state, motion.at((tick - 1000) * 1e-3))
        assert np.allclose(answer.velocity, expected.velocity, atol=1e-12)
        assert np.allclose(answer.position, expected.position, atol=1e-12)
        assert answer.header.stamp == state_message(tick, position).header.stamp
    live.until(lambda: len(live.received[topics.DESIRED_JOINT_REFERENCE]) == 3, "three desired references")
    rates = [np.array(message.velocity) for message in live.received[topics.DESIRED_JOINT_REFERENCE]]
    assert not rates[0].any() and np.linalg.norm(rates[1]) > 1.0 and not rates[2].any()
    live.wait_for_diagnostic(NODE, "at the end of the path")
    live.node.create_subscription(MarkerArray, f"/{NODE}/markers", live.received["markers"].append, topics.LATCHED)
    live.until(lambda: bool(live.received["markers"]), "markers")
    lines = [marker for marker in live.received["markers"][-1].markers if marker.points]
    assert [line.ns for line in lines] == ["followed", "others"]
    assert all(len(line.points) == len(line.colors) for line in lines) and lines[0].header.frame_id == "base_ft"
    radii = [np.hypot(point.x, point.y) for point in lines[0].points]
    assert max(radii) == pytest.approx(0.2, abs=1e-6)  # stretched out
    reaction = live.received[topics.BASE_REACTION][-1]
    assert reaction.rank == 1 and reaction.vibration_damping and list(reaction.elastic_joints) == ["base_x"]


def test_unstable_gains_are_refused_with_the_largest_stable_one_and_so_are_bad_settings(live, parameters):
    given = {"vibration_gain": 500.0, "rate": 250.0, "delay": 0.004, "path_file": "/nowhere.npz"}
    live.start(NODE, parameters | given, transitions=())
    live.graph.set_parameters(NODE, {"path_file": ""})
    with pytest.raises(GraphError, match="path_file is set when the node starts"):
        live.graph.set_parameters(NODE, {"path_file": "/elsewhere.npz"})
    for values, said in (
        ({}, "vibration_gain 500 1/s is unstable at 250 Hz with a delay of 0.004 s"),
        ({"vibration_gain": 24.0, "cyclic": True}, "a cyclic motion has a constant rate or ubar"),
        ({"cyclic": False, "posture": [1.0, 2.0, 3.0]}, "posture needs 2 finite numbers, for joint1, joint2"),
        ({"posture": [0.0, np.pi]}, "no reactionless path through"),
        ({"posture": START.tolist(), "selection": ["base_y"]}, "'base_y' is none; valid: base_x"),
        ({"selection": ["all"], "span": [0.0]}, "span needs two path coordinates"),
        ({"span": [0.0, 1.0], "path_file": "/nowhere.npz"}, "give one of them"),
        ({"path_file": "", "shown_postures": [1.0]}, "shown_postures needs 2 numbers a posture"),
    ):
        if values:
            live.graph.set_parameters(NODE, values)
        live.spin(REPEAT_AFTER)  # it says no more than one thing in that time
        with pytest.raises(GraphError, match="refused to configure"):
            live.graph.transition(NODE, "configure")
        live.wait_for_diagnostic(NODE, said)
    live.graph.set_parameters(NODE, {"shown_postures": [1.0, 0.0]})
    live.graph.transition(NODE, "configure")
    with pytest.raises(GraphError, match="the largest stable one is"):
        live.graph.set_parameters(NODE, {"vibration_gain": 500.0})
    live.graph.set_parameters(NODE, {"vibration_gain": 30.0})
    with pytest.raises(GraphError, match="can only change while the node is not configured"):
        live.graph.set_parameters(NODE, {"duration": 1.0})


def test_an_arm_that_is_far_from_the_path_is_not_moved(live, parameters):
    states, ask = started(live, parameters)
    states.publish(state_message(1, START + [0.2, 0.0]))
    live.wait_for_diagnostic(NODE, "at most 0.05 are accepted")
    assert not live.received[topics.JOINT_REFERENCE]
    assert np.isfinite(ask(2, START).velocity).all()


def test_a_held_arm_takes_its_first_posture_and_gives_way_to_the_base(live, parameters):
    for name in ("span", "posture"):
        del parameters[name]
    _, ask = started(live, parameters | {"task": "hold", "vibration_gain": 10.0})
    first = np.array([0.7, -0.4])
    assert not np.any(ask(1, first).velocity)
    answer = ask(2, first, 0.01)
    # H_bm qd = H_b g_b x
    moment = np.array([-0.04176 * np.sin(0.7) - 0.0108 * np.sin(0.3), -0.0108 * np.sin(0.3)])
    assert moment @ answer.velocity == pytest.approx(1.225 * 10.0 * 0.01, rel=1e-3)
    assert list(answer.position) == pytest.approx(first.tolist())

    # the same node along the path through the posture that it is in
    for transition in ("deactivate", "cleanup"):
        live.graph.transition(NODE, transition)
    live.graph.set_parameters(NODE, {"task": "path", "speed_law": "constant_rate", "speed": 0.5, "cyclic": True})
    for transition in ("configure", "activate"):
        live.graph.transition(NODE, transition)
    assert not np.any(ask(3, first).velocity)
    path = trace(ArmModel(parameters["robot_description"], gravity=(0.0, 0.0, 0.0)), first)
    along = PathMotion(path, PathMotionConfig("constant_rate", speed=0.5, cyclic=True)).at(2.0)
    answer = ask(2003, path.position(along.s))
    assert np.linalg.norm(answer.velocity) == pytest.approx(0.5, rel=1e-6)
    assert answer.position == pytest.approx(path.position(along.s).tolist(), abs=1e-9)
