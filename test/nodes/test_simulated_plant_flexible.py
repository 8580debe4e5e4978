"""simulated_plant with links that bend, as a real node: strain, IMU and modal truth on their topics."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Float64MultiArray

from flexarm.msg import FlexibleState, SimulationStatus, StrainState
from flexarm_core.flexible_dynamics.flexible_links import load_flexible_links
from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_nodes.messages.conversions import stamp_to_nanoseconds
from flexarm_nodes.node import topics

URDF = Path(__file__).resolve().parents[2] / "urdf" / "flexible_2r.urdf.xacro"
GAUGES = ["upper_arm_root", "upper_arm_middle", "forearm_root", "forearm_middle"]
MODES = ["upper_arm/bending_y_1", "upper_arm/bending_y_2", "forearm/bending_y_1", "forearm/bending_y_2"]
START = [1e-2, 0.0, 5e-3, 0.0]


@pytest.fixture
def flexible() -> dict:
    """Parameters of the flexible arm, bent at the beginning."""
    return {
        "robot_description": load_robot_description(URDF, {"modes": "2"}),
        "gravity": [0.0, 0.0, 0.0],
        "segments": 6,
        "initial_modal_position": START,
    }


def run(live, parameters, ticks: int) -> list[str]:
    """Answer every state with no effort; return the order in which strain (s) and joint states (j) came.

    Of what the plant repeats, as nobody answers for a while, the first is kept.
    """
    order: dict[tuple[str, int], str] = {}
    live.start("simulated_plant", parameters)
    for topic, message_type in (
        (topics.JOINT_STATES, JointState),
        (topics.STRAIN, StrainState),
        (topics.imu_topic("tool_imu"), Imu),
        (topics.TRUE_FLEXIBLE_STATE, FlexibleState),
        (topics.SIMULATION_STATUS, SimulationStatus),
    ):
        live.listen(topic, message_type)
    for topic, message_type in ((topics.STRAIN, StrainState), (topics.JOINT_STATES, JointState)):
        live.node.create_subscription(
            message_type, topic, lambda m, of=topic[0]: order.setdefault((of, *stamps([m])), of), topics.EVERY_SAMPLE
        )
    commands = live.publisher(topics.command_topic("effort"), Float64MultiArray)
    live.until(lambda: live.node.count_publishers("tool_imu") > 0, "tool_imu")
    live.settle()
    live.graph.advance("simulated_plant", ticks * 1e-3)
    for tick in range(ticks):
        live.until(lambda tick=tick: tick * 1_000_000 in stamps(live.received[topics.JOINT_STATES][-1:]), "a state")
        commands.publish(Float64MultiArray(data=[0.0, 0.0]))
    live.until(lambda: len(live.received[topics.SIMULATION_STATUS]) >= ticks, topics.SIMULATION_STATUS)
    last = (ticks - 1) * 1_000_000
    for topic in (topics.STRAIN, "tool_imu", topics.TRUE_FLEXIBLE_STATE):
        live.until(lambda topic=topic: last in stamps(live.received[topic][-1:]), topic)
    for topic in (topics.JOINT_STATES, topics.STRAIN, "tool_imu", topics.TRUE_FLEXIBLE_STATE):
        once = dict(zip(stamps(live.received[topic]), live.received[topic], strict=True))
        live.received[topic][:] = once.values()
    return list(order.values())


def stamps(messages) -> list[int]:
    return [stamp_to_nanoseconds(message.header.stamp) for message in messages]


def test_strain_imu_and_modal_truth_come_with_every_state(live, flexible):
    order = run(live, flexible, 20)
    wanted = [tick * 1_000_000 for tick in range(20)]
    for topic in (topics.JOINT_STATES, topics.STRAIN, "tool_imu", topics.TRUE_FLEXIBLE_STATE):
        assert stamps(live.received[topic]) == wanted
    for strain, truth in zip(live.received[topics.STRAIN], live.received[topics.TRUE_FLEXIBLE_STATE], strict=True):
        assert strain.names == GAUGES and list(truth.modes) == MODES and list(truth.elastic_joints) == []
        assert len(truth.modal_rate) == 4 and len(truth.modal_acceleration) == 0
    first = live.received[topics.TRUE_FLEXIBLE_STATE][0]
    assert np.allclose(first.modal_position, START, atol=1e-5)
    data = load_flexible_links(parse_robot_description(flexible["robot_description"]))
    expected = [data[link].strain[f"{link}_root"] @ first.modal_position[i : i + 2]
                for link, i in (("upper_arm", 0), ("forearm", 2))]  # fmt: skip
    assert np.allclose(np.array(live.received[topics.STRAIN][0].strain)[[0, 2]], expected, rtol=0.1)
    imu = live.received["tool_imu"][0]
    assert imu.header.frame_id == "tool0" and imu.orientation_covariance[0] == -1.0
    assert abs(imu.linear_acceleration.y) > 0.1
    # strain goes out first; what the network makes of it may differ now and then
    before = sum(order[: place + 1].count("s") > order[:place].count("j") for place in range(len(order))
                 if order[place] == "j")  # fmt: skip
    assert before >= 16


def test_gauges_fail_alone_and_sensors_are_noisy_as_asked(live, flexible):
    faults = {
        "strain_fault.names": ["forearm_root"], "strain_fault.kind": "missing", "strain_fault.interval": [0.002, 0.004],
        "sensors.imu.dropout_intervals": [0.001, 0.002], "sensors.strain.nan_intervals": [0.005, 0.006],
    }  # fmt: skip
    run(live, {**flexible, **faults}, 8)
    strains = live.received[topics.STRAIN]
    assert [len(message.names) for message in strains] == [4, 4, 3, 3, 4, 4, 4, 4]
    assert "forearm_root" not in strains[2].names
    assert [bool(np.isnan(message.strain).any()) for message in strains] == [tick == 5 for tick in range(8)]
    assert 1_000_000 not in stamps(live.received["tool_imu"])


def test_the_plant_may_bend_otherwise_than_its_controllers_know(live, flexible):
    """Another payload and stiffness: the modes' own shapes and so the strain of the same modal position differ."""
    other = load_robot_description(URDF, {"payload": "3.0", "stiffness_scale": "0.5", "modes": "2"})
    run(live, {**flexible, "plant_description": other}, 2)
    strain = live.received[topics.STRAIN][0].strain[2]
    by_known, by_real = (
        load_flexible_links(parse_robot_description(text))["forearm"].strain["forearm_root"] @ START[2:]
        for text in (flexible["robot_description"], other)
    )
    assert strain == pytest.approx(by_real, rel=0.05)
    assert abs(strain / by_known - 1.0) > 0.2


def test_a_bad_configuration_is_refused_with_its_reason(live, flexible, planar_3r_text):
    live.start("simulated_plant", flexible, transitions=())
    for parameters, said in (
        ({"plant_description": planar_3r_text}, "plant_description has the actuated joints joint1, joint2, joint3"),
        ({"segments": 20}, "max_step 0.00025 s is too long for flexible links of 20 segments"),
        ({"strain_fault.names": ["nose"]}, "strain gauge 'nose' does not exist"),
        ({"initial_modal_rate": [1.0]}, "modal_rate has shape (1,), expected (4,)"),
    ):
        live.refuses("simulated_plant", parameters, said)
