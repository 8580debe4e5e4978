"""flexible_dynamics_controller as a real node: the core's efforts, a trajectory of its own, safe input."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from builtin_interfaces.msg import Duration, Time
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from flexarm.msg import FlexibleState, JointReference
from flexarm_core.flexible_dynamics.control.controller import FlexibleController, FlexibleControllerConfig
from flexarm_core.flexible_dynamics.control.gain_check import LoopConditions
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.flexible_dynamics.vibration_damping import VibrationDampingConfig
from flexarm_core.robot.load import load_robot_description
from flexarm_core.types import ArmState
from flexarm_core.types import FlexibleState as FlexibleStateRecord
from flexarm_core.types import JointReference as JointReferenceRecord
from flexarm_nodes.messages.conversions import joint_reference_form
from flexarm_nodes.node import topics

NODE = "flexible_dynamics_controller"
TEXT = load_robot_description(Path(__file__).resolve().parents[2] / "urdf" / "flexible_2r.urdf.xacro")
JOINTS = ["shoulder", "elbow"]
MODEL = FlexibleModel(TEXT, gravity=(0.0, 0.0, 0.0))
ETA, RATE = 1e-3 * np.arange(1.0, 7.0), 1e-2 * np.ones(6)


def stamp(tick: int) -> Time:
    return Time(sec=tick // 1000, nanosec=(tick % 1000) * 1_000_000)


def joint_state(tick: int, position=(0.1, 0.8), velocity=(0.2, -0.1)) -> JointState:
    message = JointState(name=JOINTS, position=[float(p) for p in position], velocity=[float(v) for v in velocity])
    message.header.stamp = stamp(tick)
    return message


def flexible_state(tick: int, modal=ETA, modes=MODEL.mode_names) -> FlexibleState:
    order = [MODEL.mode_names.index(mode) for mode in modes]
    message = FlexibleState(modes=list(modes), modal_position=modal[order].tolist(), modal_rate=RATE[order].tolist())
    message.header.stamp = stamp(tick)
    return message


@pytest.fixture
def controller(live):
    """Starts the node with parameters and gives the graph."""

    def start(**parameters):
        live.start(NODE, {"robot_description": TEXT, "gravity": [0.0, 0.0, 0.0], **parameters})
        live.listen(topics.JOINT_REFERENCE, JointReference)
        live.states = live.publisher(topics.JOINT_STATES, JointState)
        live.flexible = live.publisher(topics.FLEXIBLE_STATE, FlexibleState)
        live.desired = live.publisher(topics.DESIRED_JOINT_REFERENCE, JointReference)
        live.trajectories = live.publisher(topics.JOINT_TRAJECTORY, JointTrajectory)
        live.until(lambda: live.node.count_subscribers(topics.JOINT_TRAJECTORY) > 0, "its subscriptions")
        live.until(lambda: live.node.count_publishers(topics.JOINT_REFERENCE) > 0, "joint_reference")
        live.settle()
        return live

    return start


def ask(live, *messages) -> JointReference:
    """Publish messages; return the answer."""
    count = len(live.received[topics.JOINT_REFERENCE])
    for publisher, message in messages:
        publisher.publish(message)
    live.until(lambda: len(live.received[topics.JOINT_REFERENCE]) > count, "a joint reference")
    return live.received[topics.JOINT_REFERENCE][-1]


@pytest.mark.parametrize("law", ["vibration_damping", "accelerations", "joint_pd"])
def test_the_node_gives_the_cores_efforts_whatever_comes_first(controller, law):
    delay = 0.0 if law == "accelerations" else 0.001  # the node's default, which exact accelerations do not bear
    given = law == "accelerations"  # no gains of exact accelerations pass the check on links that bend
    gains = {"position_gain": 400.0, "velocity_gain": 40.0} if given else {}
    live = controller(law=law, delay=delay, check_gains=not given, **gains)
    config = FlexibleControllerConfig(
        law=law,
        motion=VibrationDampingConfig(**gains),
        conditions=LoopConditions(delay=delay),
        check_gains=not given,
    )
    core = FlexibleController(FlexibleModel(TEXT, gravity=(0.0, 0.0, 0.0)), config)
    none = np.zeros(0)
    for tick in (1, 2, 3):
        moment = tick * 1_000_000
        wanted = JointReferenceRecord(moment, np.array([0.11, 0.79]), np.array([0.2, -0.1]), np.array([1.0, 2.0]))
        joints = ArmState(moment, np.array([0.1, 0.8]), np.array([0.2, -0.1]), none, none)
        bent = FlexibleStateRecord(moment, none, none, none, ETA, RATE, 0 * RATE)
        expected = core.update(joints, bent, wanted)
        shuffled = MODEL.mode_names if tick == 1 else tuple(reversed(MODEL.mode_names))
        messages = [
            (live.states, joint_state(tick)),
            (live.flexible, flexible_state(tick, modes=shuffled)),
            (live.desired, joint_reference_form(wanted, JOINTS).message()),
        ]
        answer = ask(live, *messages[tick % 3 :], *messages[: tick % 3])
        assert list(answer.names) == JOINTS and answer.header.stamp == stamp(tick)
        assert np.allclose(answer.effort, expected.effort, rtol=1e-9, atol=1e-9)
        assert np.array_equal(answer.position, wanted.position)


def test_a_trajectory_makes_it_a_controller_of_its_own(controller):
    live = controller(reference="joint_trajectory")

    def sample(tick):
        return ask(live, (live.states, joint_state(tick, velocity=(0.0, 0.0))), (live.flexible, flexible_state(tick)))

    assert np.allclose(sample(1).position, [0.1, 0.8])  # nothing asked for: it stays
    message = JointTrajectory(joint_names=list(reversed(JOINTS)))
    point = JointTrajectoryPoint(positions=[0.3, 0.6], velocities=[0.0, 0.0], time_from_start=Duration(sec=1))
    message.points = [point]
    live.trajectories.publish(message)
    live.handled(NODE)
    assert np.allclose(sample(501).position, [0.35, 0.55], atol=1e-9)
    assert np.allclose(sample(2000).position, [0.6, 0.3], atol=1e-9)
    message.joint_names = ["shoulder", "wrist"]
    live.trajectories.publish(message)
    live.wait_for_diagnostic(NODE, "trajectory names shoulder, wrist")
    assert np.allclose(sample(2001).position, [0.6, 0.3], atol=1e-9)  # the old one goes on


def test_bad_input_is_refused_and_the_next_good_sample_is_answered(controller):
    live = controller()
    zero = np.zeros(2)

    def desired(tick, **change):
        values = {"position": zero, "velocity": zero, "acceleration": zero} | change
        return live.desired, joint_reference_form(JointReferenceRecord(tick * 1_000_000, **values), JOINTS).message()

    def good(tick):
        return ask(live, (live.states, joint_state(tick)), (live.flexible, flexible_state(tick)), desired(tick))

    assert np.isfinite(good(1).effort).all()
    for tick, bad, said in (
        (2, (live.states, joint_state(2, position=(np.nan, 0.0))), "position of shoulder is not finite"),
        (3, (live.flexible, flexible_state(3, modal=ETA * np.nan)), "modal_position is"),
        (4, (live.flexible, flexible_state(4, modes=MODEL.mode_names[:3])), "flexible state lacks"),
    ):
        bad[0].publish(bad[1])
        live.wait_for_diagnostic(NODE, said)
        assert len(live.received[topics.JOINT_REFERENCE]) == tick - 1
        assert np.isfinite(good(tick).effort).all()
    for publisher, message in (
        (live.states, joint_state(9)),
        (live.flexible, flexible_state(9)),
        desired(9, velocity=None),
    ):
        publisher.publish(message)
    live.wait_for_diagnostic(NODE, "joint reference has no velocity")
    assert np.isfinite(good(10).effort).all()
