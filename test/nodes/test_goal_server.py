"""GoalServer: a defect at a goal ends the goal, not the process."""

from __future__ import annotations

import os
import subprocess
import sys

from action_msgs.msg import GoalStatus
from live import own_domain

ASK = """
import sys, time
import rclpy
from rclpy.action import ActionClient
from rclpy.experimental import EventsExecutor
from flexarm.action import FollowCartesianPath
from flexarm_nodes.node.goal_server import GoalServer

def fail(*_):
    raise TypeError("a defect")

rclpy.init()
node, executor = rclpy.create_node("asker"), EventsExecutor()
executor.add_node(node)
answer = fail if sys.argv[1] == "answer" else lambda goal: None
server = GoalServer(node, FollowCartesianPath, "follow", answer, print, fail)
client = ActionClient(node, FollowCartesianPath, "follow")
while not client.server_is_ready():
    executor.spin_once(timeout_sec=0.01)
asked = client.send_goal_async(FollowCartesianPath.Goal())
executor.spin_until_future_complete(asked, timeout_sec=20.0)
if asked.result().accepted:
    ended = asked.result().get_result_async()
    executor.spin_until_future_complete(ended, timeout_sec=20.0)
    print(ended.result().status)
else:
    print("rejected")
"""


def ask(failing: str) -> str:
    """What a client is told where a callback of the server fails."""
    with own_domain():
        command = [sys.executable, "-c", ASK, failing]
        run = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60, env=dict(os.environ))
    return run.stdout.strip()


def test_a_goal_whose_check_fails_is_rejected():
    assert ask("answer") == "rejected"


def test_a_goal_that_cannot_begin_is_aborted():
    assert ask("begin") == str(GoalStatus.STATUS_ABORTED)
