"""flexible_dynamics_estimator as a real node: the core's result whatever the order of messages, safe on bad ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import Imu, JointState

from flexarm.msg import FlexibleState, JointReference, StrainState
from flexarm_core.flexible_dynamics.estimation.config import EstimatorConfig
from flexarm_core.flexible_dynamics.estimation.estimator import FlexibleEstimator
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.robot.load import load_robot_description
from flexarm_core.types import FlexibleSample
from flexarm_nodes.messages.conversions import stamp_to_nanoseconds
from flexarm_nodes.node import topics
from flexarm_tools.graph.graph import GraphError

URDF = Path(__file__).resolve().parents[2] / "urdf"
NODE = "flexible_dynamics_estimator"
GAUGES = ["upper_arm_root", "upper_arm_middle", "forearm_root", "forearm_middle"]
TICK = 1_000_000  # [ns]


def parameters(robot: str = "flexible_2r", **more: Any) -> dict[str, Any]:
    text = load_robot_description(URDF / f"{robot}.urdf.xacro")
    return {"robot_description": text, "gravity": [0.0, 0.0, 0.0], "sensor_wait": 0.5, **more}


def start(live, values: dict[str, Any]) -> None:
    live.start(NODE, values)
    live.listen(topics.FLEXIBLE_STATE, FlexibleState)
    live.joints = live.publisher(topics.JOINT_STATES, JointState)
    if values.get("use_strain", True) and values.get("correct", True):
        live.strains = live.publisher(topics.STRAIN, StrainState)
    live.until(lambda: live.node.count_publishers(topics.FLEXIBLE_STATE) > 0, "flexible_state")
    live.settle()


def stamp(tick: int) -> Time:
    return Time(sec=tick // 1000, nanosec=(tick % 1000) * TICK)


def joints(tick: int, position=(0.1, 0.5), velocity=(0.2, -0.3), effort=(1.0, -0.5), names=("shoulder", "elbow"), **_):
    message = JointState(name=list(names), position=list(position), velocity=list(velocity), effort=list(effort))
    message.header.stamp = stamp(tick)
    return message


def strain(tick: int, values=None, names=GAUGES) -> StrainState:
    values = 1e-5 * np.sin(0.05 * tick + np.arange(4)) if values is None else values
    message = StrainState(names=list(names), strain=[float(value) for value in values])
    message.header.stamp = stamp(tick)
    return message


def answers(live, count: int) -> list[FlexibleState]:
    live.until(lambda: len(live.received[topics.FLEXIBLE_STATE]) >= count, f"{count} flexible states")
    return live.received[topics.FLEXIBLE_STATE]


def ask(live, tick: int, gauges: StrainState | None = None, **state: Any) -> FlexibleState:
    count = len(live.received[topics.FLEXIBLE_STATE])
    live.strains.publish(gauges or strain(tick))
    live.joints.publish(joints(tick, **state))
    return answers(live, count + 1)[-1]


def test_the_node_gives_the_cores_result_whatever_comes_first(live):
    values = parameters()
    start(live, values)
    model = FlexibleModel(values["robot_description"], gravity=(0.0, 0.0, 0.0))
    core = FlexibleEstimator(model, EstimatorConfig())
    for tick in range(1, 21):
        first, second = (live.joints, joints(tick)), (live.strains, strain(tick))
        for publisher, message in (first, second) if tick % 2 else (second, first):
            publisher.publish(message)
            if tick < 5:
                live.spin(0.05)  # less than sensor_wait: the joint state must wait for the strain
        answer = answers(live, tick)[-1]
        gauges = dict(zip(GAUGES, strain(tick).strain, strict=True))
        sample = (np.array(values) for values in ((0.1, 0.5), (0.2, -0.3), (1.0, -0.5)))
        expected = core.update(FlexibleSample(tick * TICK, *sample, strain=gauges))
        assert stamp_to_nanoseconds(answer.header.stamp) == tick * TICK
        assert list(answer.modes) == list(model.mode_names) and list(answer.elastic_joints) == []
        for field in ("modal_position", "modal_rate", "modal_acceleration", "innovation", "covariance_diagonal"):
            assert np.array_equal(getattr(answer, field), getattr(expected, field)), field
        assert len(answer.innovation) == 4
    assert len(live.received[topics.FLEXIBLE_STATE]) == 20


def test_friction_that_the_last_reference_names_is_taken_off_the_efforts(live):
    values = parameters(subtract_friction=True)
    start(live, values)
    references = live.publisher(topics.JOINT_REFERENCE, JointReference)
    live.settle()
    core = FlexibleEstimator(FlexibleModel(values["robot_description"], gravity=(0.0, 0.0, 0.0)), EstimatorConfig())
    for tick, friction in ((1, None), (2, [0.4, -0.2]), (3, [0.1, 0.3])):
        if friction is not None:
            reference = JointReference(names=["shoulder", "elbow"], effort=[1.0, -0.5], friction=friction)
            reference.header.stamp = strain(tick - 1).header.stamp
            references.publish(reference)
            live.handled(NODE)
        answer = ask(live, tick)
        gauges = dict(zip(GAUGES, strain(tick).strain, strict=True))
        effort = np.array((1.0, -0.5)) - (0.0 if friction is None else np.array(friction))
        sample = FlexibleSample(tick * TICK, np.array((0.1, 0.5)), np.array((0.2, -0.3)), effort, strain=gauges)
        assert np.array_equal(answer.modal_acceleration, core.update(sample).modal_acceleration)


def test_a_sample_waits_for_the_reference_of_the_one_before_whose_friction_acted(live):
    start(live, parameters(subtract_friction=True, sensor_wait=5.0))
    references = live.publisher(topics.JOINT_REFERENCE, JointReference)
    live.settle()

    def refer(tick):
        reference = JointReference(names=["shoulder", "elbow"], effort=[1.0, -0.5], friction=[0.4, -0.2])
        reference.header.stamp = strain(tick).header.stamp
        references.publish(reference)

    ask(live, 1)
    for tick in (2, 3):  # the first reference, too: without it, the second sample would depend on the machine's load
        count = len(live.received[topics.FLEXIBLE_STATE])
        live.strains.publish(strain(tick))
        live.joints.publish(joints(tick))
        live.spin(0.3)
        assert len(live.received[topics.FLEXIBLE_STATE]) == count
        refer(tick - 1)
        live.until(lambda count=count: len(live.received[topics.FLEXIBLE_STATE]) > count, "an estimate")


def test_a_frozen_gauge_is_named_in_the_diagnostics(live):
    start(live, parameters())
    still = {"velocity": (0.0, 0.0)}
    for tick in range(1, 80):
        values = 1e-4 * np.sin(0.05 * tick + np.arange(4))
        values[0] = 2e-5
        effort = (20.0, -5.0) if (tick // 10) % 2 else (-20.0, 5.0)
        ask(live, tick, strain(tick, values), effort=effort, **still)
    live.wait_for_diagnostic(NODE, "upper_arm_root: frozen")
    assert not any("forearm_root: frozen" in said for _, said in live.said(NODE))


def test_without_strain_a_joint_state_is_answered_after_the_wait_or_at_the_next_one(live):
    start(live, parameters(sensor_wait=0.1))
    live.joints.publish(joints(1))
    assert len(answers(live, 1)[0].innovation) == 0
    live.wait_for_diagnostic(NODE, "left out: upper_arm_root: missing")
    live.strains.publish(strain(1))  # too late
    live.joints.publish(joints(2))
    live.joints.publish(joints(2))  # a repeated state that is still waited for is one state
    live.strains.publish(strain(2))
    assert len(answers(live, 2)[1].innovation) == 4
    live.joints.publish(joints(2))  # a repeated state gets its answer again
    assert answers(live, 3)[2] == live.received[topics.FLEXIBLE_STATE][1]
    partial = strain(3, [1e-5, np.nan, 1e-5], GAUGES[:3])
    assert len(ask(live, 3, partial).innovation) == 2
    live.wait_for_diagnostic(NODE, "upper_arm_middle: not finite, forearm_middle: missing")


def test_a_bad_joint_state_is_reported_and_the_next_good_one_answered(live):
    start(live, parameters())
    ask(live, 1)
    for count, (bad, said) in enumerate(
        (
            ({"position": (np.nan, 0.0)}, "joint state position of shoulder is not finite"),
            ({"effort": (0.0, np.nan)}, "joint state effort of elbow is not finite"),
            ({"effort": ()}, "joint state has 2 names and 0 effort values"),
            ({"names": ("shoulder", "wrist")}, "joint state lacks elbow"),
        ),
        start=1,
    ):
        live.joints.publish(joints(2 * count, **bad))
        live.wait_for_diagnostic(NODE, said)
        assert len(live.received[topics.FLEXIBLE_STATE]) == count
        assert np.isfinite(ask(live, 2 * count + 1).modal_position).all()
    live.joints.publish(joints(1))
    live.wait_for_diagnostic(NODE, "joint state is 0.008 s older than the newest: ignored")


def test_elastic_joints_wrench_and_imu_correct_the_spatial_arm(live):
    start(live, parameters("flexible_3r", use_strain=False, use_wrench=True, use_imu=True))
    wrenches = live.publisher(topics.wrench_topic("base_ft_sensor"), WrenchStamped)
    imus = live.publisher(topics.imu_topic("tool_imu"), Imu)
    names = ("mast_y", "yaw", "shoulder", "elbow", "mast_x")
    for tick in range(1, 4):
        message = joints(tick, 5 * [0.0], 5 * [0.0], [np.nan, 0.0, 0.0, 0.0, np.nan], names)
        message.position[0] = 1e-4
        live.joints.publish(message)
        for publisher, reading in ((wrenches, WrenchStamped()), (imus, Imu())):
            reading.header.stamp = stamp(tick)
            reading.header.frame_id = "base_ft" if publisher is wrenches else "tool0"
            publisher.publish(reading)
        answer = answers(live, tick)[-1]
        assert list(answer.elastic_joints) == ["mast_x", "mast_y"] and len(answer.innovation) == 4 + 6 + 6
    assert answer.deflection[1] == pytest.approx(1e-4, rel=0.2) and abs(answer.deflection[0]) < 2e-5


def test_a_rejected_reading_is_not_used_and_no_longer_waited_for(live):
    start(live, parameters("flexible_3r", use_strain=False, use_wrench=True, sensor_wait=60.0))
    wrenches = live.publisher(topics.wrench_topic("base_ft_sensor"), WrenchStamped)
    live.settle()
    names = ("mast_y", "yaw", "shoulder", "elbow", "mast_x")
    for tick, frame, channels in ((1, "base_ft", 4 + 6), (2, "elsewhere", 4), (3, "base_ft", 4 + 6)):
        reading = WrenchStamped()
        reading.header.stamp, reading.header.frame_id = stamp(tick), frame
        wrenches.publish(reading)
        live.joints.publish(joints(tick, 5 * [0.0], 5 * [0.0], [np.nan, 0.0, 0.0, 0.0, np.nan], names))
        assert len(answers(live, tick)[-1].innovation) == channels
    live.wait_for_diagnostic(NODE, "wrench is in frame 'elsewhere', sensor 'base_ft_sensor' measures in 'base_ft'")


def test_a_joint_state_does_not_wait_for_gauges_whose_reading_was_rejected(live):
    start(live, parameters(sensor_wait=60.0))
    ask(live, 1)
    torn = strain(2)
    torn.names = GAUGES[:3]
    for first in (True, False):  # before the joint state and after it
        tick = 2 if first else 3
        torn.header.stamp = stamp(tick)
        if first:
            live.strains.publish(torn)
        live.joints.publish(joints(tick))
        if not first:
            live.strains.publish(torn)
        assert len(answers(live, tick)[-1].innovation) == 0
    live.wait_for_diagnostic(NODE, "strain state has 3 names and 4 strains")


def test_open_loop_waits_for_no_sensor(live):
    start(live, parameters(correct=False))
    live.joints.publish(joints(1))
    assert len(answers(live, 1)[0].innovation) == 0
    assert not any("left out" in said for _, said in live.said(NODE))


def test_a_senseless_parameter_is_refused(live):
    live.start(NODE, parameters(strain_noise=-1.0), transitions=())
    with pytest.raises(GraphError, match="refused to configure"):
        live.graph.transition(NODE, "configure")
    live.wait_for_diagnostic(NODE, "strain_noise must lie in")
