"""Recordings as others read them: every message by three readers, and the frames that Foxglove and RViz draw from."""

from __future__ import annotations

import resource
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from live import own_domain
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from rclpy.serialization import deserialize_message, serialize_message
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from flexarm.msg import FlexibleState, JointReference
from flexarm_core.errors import ConfigError
from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_nodes.messages.form import Form, Template
from flexarm_nodes.messages.layout import layout_of
from flexarm_tools.bag.frames import RobotFrames
from flexarm_tools.bag.recorder import McapRecorder
from flexarm_tools.graph.heard_topic import HeardTopic
from flexarm_tools.graph.quiet_node import quiet_node
from flexarm_tools.graph.topic_choice import TopicChoice
from flexarm_tools.process.progress import Progress
from flexarm_tools.recording.recording import Recording
from flexarm_tools.run.runner import Runner
from flexarm_tools.scenario.file import load_scenario

rosbags = pytest.importorskip("rosbags.highlevel", reason="rosbags is not installed: setup/requirements-dev.txt")
TICKS = 200
EVERY_TICK = ("/joint_reference", "/flexible_state", "/joint_states")
URDF = Path(__file__).parents[2] / "urdf" / "flexible_2r.urdf.xacro"
SCENARIO = """
title: recorded
robot: {description: "package://flexarm/urdf/flexible_2r.urdf.xacro"}
gravity: [0.0, 0.0, 0.0]
rate: 1000.0
duration: 0.2
plant: {backend: flexible_dynamics, max_step: 0.0005, initial_position: !degrees [0.0, 45.0]}
nodes:
  - executable: reference_generator
    parameters: {space: joints, joint_displacement: [0.5, -0.3], duration: 1.0}
  - executable: flexible_dynamics_estimator
  - executable: flexible_dynamics_controller
  - executable: hardware_gate
    parameters: {command_mode: effort, max_acceleration: [500.0]}
"""


def record(folder: Path) -> Recording:
    """Run nodes, and record every topic to run.mcap."""
    (folder / "scenario.yaml").write_text(SCENARIO, encoding="utf-8")
    scenario = load_scenario(folder / "scenario.yaml")
    with own_domain():
        return Runner(scenario, folder / "logs", Progress(""), folder / "run.mcap").run()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recording of a run of nodes."""
    folder = tmp_path_factory.mktemp("recorded")
    run = record(folder)
    assert run.ticks == TICKS and not run.ended_early
    assert not [event for event in run.events if event.source == "mcap recorder"]
    return folder / "run.mcap"


def counted(path: Path) -> Counter[str]:
    """Number of messages by topic."""
    with path.open("rb") as stream:
        return Counter(channel.topic for _, channel, _ in make_reader(stream, validate_crcs=True).iter_messages())


def test_three_readers_read_every_message(recorded):
    said = counted(recorded)
    with recorded.open("rb") as stream:
        reader = make_reader(stream, decoder_factories=[DecoderFactory()])
        by_mcap_ros2 = Counter(channel.topic for _, channel, _, _ in reader.iter_decoded_messages())
    by_rosbags: Counter[str] = Counter()
    with rosbags.AnyReader([recorded]) as bag:
        for connection, _, raw in bag.messages():
            bag.deserialize(raw, connection.msgtype)
            by_rosbags[connection.topic] += 1
    assert by_mcap_ros2 == said and by_rosbags == said
    assert [said[topic] for topic in EVERY_TICK] == [TICKS] * len(EVERY_TICK)
    assert said["/robot_description"] == said["/tf_static"] == 1
    assert said["/tf"] == 1 + (TICKS - 1) // 17  # 60 Hz of the stamps


def test_a_run_whose_recording_cannot_be_written_any_further_ends_and_says_so(tmp_path):
    usual, highest = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, highest))  # [bytes] as if the disk were full
    try:
        run = record(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (usual, highest))
    assert "run.mcap' cannot be written any further: File too large" in run.ended_early
    assert 2 <= run.ticks < TICKS and (tmp_path / "run.mcap").stat().st_size <= 30_000


@pytest.mark.long
def test_a_recording_that_cannot_be_closed_loses_nothing_of_the_run(tmp_path, monkeypatch):
    def full(recorder: McapRecorder) -> None:
        raise ConfigError("no space left")

    monkeypatch.setattr(McapRecorder, "finish", full)
    run = record(tmp_path)
    assert run.ended_early == "no space left" and run.ticks == TICKS


def test_what_the_recording_lacks_is_counted(tmp_path):
    """A best-effort message that the middleware was not given leaves a gap in the sequence numbers."""
    with own_domain(), quiet_node("ear", None) as ear:
        recorder = McapRecorder(ear, tmp_path / "run.mcap", TopicChoice())
        said = HeardTopic(ear, "/said", "std_msgs/msg/String")
        for sequence in (3, 4, 7):
            said._number(sequence, numbered=True)
        recorder.topics["/said"] = recorder.topics["/rosout"] = said
        assert recorder.lost == {"/said": 4}  # two before the first, two between; how nodes are monitored is not asked
        recorder.finish()


def test_frames_lead_to_the_tool(recorded):
    """The product of the frames is the tool's pose that the plant publishes, as long as no link bends."""
    fixed: dict[str, Any] = {}
    moving: dict[int, dict[str, Any]] = {}
    truth = {}
    with rosbags.AnyReader([recorded]) as bag:
        chosen = [each for each in bag.connections if each.topic in ("/tf", "/tf_static", "/ground_truth/tool_pose")]
        for connection, _, raw in bag.messages(chosen):
            message = bag.deserialize(raw, connection.msgtype)
            if connection.topic == "/ground_truth/tool_pose":
                truth[stamp(message.header)] = message
            else:
                frames = {each.child_frame_id: (each.header.frame_id, pose(each)) for each in message.transforms}
                if connection.topic == "/tf_static":
                    fixed = frames
                else:
                    moving[stamp(message.transforms[0].header)] = frames
    tree, wanted = fixed | moving[0], truth[0]
    link, placed = "tool0", np.eye(4)
    while link in tree:
        link, step = tree[link]
        placed = step @ placed
    assert link == wanted.header.frame_id
    point = wanted.pose.position
    assert placed[:3, 3] == pytest.approx([point.x, point.y, point.z], abs=1e-9)
    assert len(moving) > 10
    assert not np.allclose(moving[0]["forearm"][1], moving[max(moving)]["forearm"][1], atol=1e-6)


def test_robots_with_several_tips_have_frames():
    """Two arms, or fingers that are no joints of the arm: which of them is the tool does not matter to frames."""
    two_arms = load_robot_description(URDF.parent / "dual_arm_trep.urdf.xacro")
    assert len(parse_robot_description(two_arms).tip_links()) == 2
    finger = '<link name="{0}"/><joint name="of_{0}" type="fixed"><parent link="tool0"/><child link="{0}"/></joint>'
    fingers = "".join(finger.format(name) for name in ("left", "right")) + "</robot>"
    one_arm = load_robot_description(URDF).replace("</robot>", fingers).replace("tool0", "flange")
    for text in (two_arms, one_arm):
        frames, links = RobotFrames(text), parse_robot_description(text, massless=True).links
        moving = frames.moving(JointState())
        assert moving is not None
        told = [*deserialize_message(frames.static(), TFMessage).transforms]
        told += deserialize_message(moving, TFMessage).transforms
        assert len(told) == len(links) - 1
        assert len({one.child_frame_id for one in told} - set(links)) == 0


def test_clock_set_back_and_joints_that_are_not_known():
    frames = RobotFrames(load_robot_description(URDF))
    state = JointState(name=["shoulder", "stranger", "elbow"], position=[0.1, 9.0, float("nan")])
    counts = []
    for stamp in (5_000, 5_016, 5_017, 0, 16):  # [ms]
        state.header.stamp.sec, state.header.stamp.nanosec = stamp // 1000, stamp % 1000 * 1_000_000
        counts.append(frames.moving(state) is not None)
    assert counts == [True, False, True, True, False]


@pytest.mark.parametrize("kind", [JointReference, FlexibleState, JointState])
def test_prepared_bytes_end_with_the_last_field(kind):
    form = Form(kind, {}, {}, 3)
    template = Template(form)
    assert len(template.write(form)) == layout_of(kind, serialize_message(form.message())).size


def stamp(header: Any) -> int:
    return header.stamp.sec * 1_000_000_000 + header.stamp.nanosec


def pose(transform: Any) -> Any:
    found, at, turn = np.eye(4), transform.transform.translation, transform.transform.rotation
    found[:3, 3] = at.x, at.y, at.z
    found[:3, :3] = Rotation.from_quat([turn.x, turn.y, turn.z, turn.w]).as_matrix()
    return found
