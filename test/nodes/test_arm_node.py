"""What every node does alike: it stays within reach where joint states come faster than it answers them."""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import yaml
from lifecycle_msgs.msg import State
from lifecycle_msgs.srv import GetState
from live import LiveGraph, own_domain
from mutations import mutate_record
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from slow_node import DEFECT, TAKES

from flexarm_core.robot.load import load_robot_description
from flexarm_nodes.messages.conversions import nanoseconds_to_stamp
from flexarm_nodes.node import topics

ROOT = Path(__file__).resolve().parents[2]
NODE, LOG = "slow_node", "slow_node.log"
FLOOD = 3.0  # [s]


@pytest.fixture
def slow(tmp_path) -> Iterator[LiveGraph]:
    """A graph with a node that needs TAKES for each joint state."""
    text = load_robot_description(ROOT / "urdf" / "planar_3r.urdf.xacro", {})
    file = tmp_path / "slow_node.yaml"
    file.write_text(yaml.safe_dump({NODE: {"ros__parameters": {"robot_description": text}}}, width=1000))
    with own_domain():
        graph = LiveGraph(tmp_path)
        script = str(ROOT / "test" / "support" / "slow_node.py")
        command = [sys.executable, script, "--ros-args", "--params-file", str(file)]
        with (tmp_path / LOG).open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            graph.graph.wait_for_node(NODE, 60.0)
            for transition in ("configure", "activate"):
                graph.graph.transition(NODE, transition)
            yield graph
        finally:
            process.terminate()
            process.wait()
            graph.close()


def test_a_node_that_cannot_keep_up_answers_what_it_can_and_its_services_at_once(slow):
    slow.listen(topics.JOINT_COMMANDS, JointState)
    states = slow.publisher(topics.JOINT_STATES, JointState)
    client = slow.node.create_client(GetState, f"/{NODE}/get_state")
    slow.until(client.service_is_ready, "the service")
    slow.settle()
    ticks = itertools.count(1)
    message, begun, future = JointState(), time.monotonic(), None
    while future is None or not future.done():
        message.header.stamp = nanoseconds_to_stamp(tick := next(ticks))
        states.publish(message)
        time.sleep(0.2 * TAKES)
        if future is None and time.monotonic() - begun > FLOOD:
            asked, future = time.monotonic(), client.call_async(GetState.Request())
        elif future is not None:
            slow.graph._executor.spin_once(timeout_sec=0.001)
            assert time.monotonic() - asked < 0.5 * tick * TAKES  # all states, one by one, take twice that
    assert future.result().current_state.id == State.PRIMARY_STATE_ACTIVE
    slow.settle()
    assert len(slow.received[topics.JOINT_COMMANDS]) > 0.3 * FLOOD / TAKES
    message.header.stamp = nanoseconds_to_stamp(tick + 1)
    states.publish(message)
    slow.until(lambda: slow.received[topics.JOINT_COMMANDS][-1].header == message.header, "the newest answer")


def test_damaged_messages_and_defects_fill_no_log(slow, tmp_path):
    slow.listen(topics.JOINT_COMMANDS, JointState)
    states, rng = slow.publisher(topics.JOINT_STATES, JointState), np.random.default_rng(5)
    slow.settle()
    message = JointState(name=["joint1", "joint2"], position=[0.1, 0.2], velocity=[0.0, 0.0])
    message.header.frame_id = DEFECT
    good = bytes(serialize_message(message))
    begun = time.monotonic()
    for tick in range(400):
        raw = mutate_record(rng, good) if tick % 2 else good
        states.publish(raw if len(raw) > 3 else good)
        time.sleep(0.002)
    spent = time.monotonic() - begun
    message.header.frame_id, message.header.stamp = "", nanoseconds_to_stamp(7)
    states.publish(message)
    slow.until(lambda: slow.received[topics.JOINT_COMMANDS][-1:] == [message], "the answer")
    said = (tmp_path / LOG).read_text(errors="replace")
    assert 1 <= said.count("Traceback") <= 2.0 + spent and "ZeroDivisionError" in said
    assert len(said.splitlines()) < 100
