"""For how long a node is deaf while somebody asks it for too much: python benchmark/deafness.py [LARGE].

Another process sends each kind of request to a real node that has nothing else to do: once the largest that is taken,
and once with LARGE (20,000) poses, settings, names or numbers. Printed is the processor time that the thread took
which answers joint states, less what it takes idly: so long it heard nothing. Other work on the machine does not count.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rclpy
import yaml
from geometry_msgs.msg import Pose
from rcl_interfaces.msg import Parameter, ParameterValue
from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState

from flexarm.action import CalibrateBaseWrench, FollowCartesianPath
from flexarm.msg import Behavior, BehaviorSet, PathSegment
from flexarm.srv import SetBehaviors, SolveIk
from flexarm_core.robot.load import load_robot_description
from flexarm_nodes.messages.conversions import doubles
from flexarm_nodes.node.bounded_requests import MOST_NUMBERS, MOST_PARTS
from flexarm_nodes.node.transport import stay_on_this_machine
from flexarm_tools.graph.graph import Graph
from flexarm_tools.process.processes import NodeProcess, end_all

IK, BEHAVIORS, WRENCH = "ik_redundancy_solver", "behavior_impedance_controller", "base_wrench_torque_estimator"
WATCHED = 2.0  # [s]
ROOT = Path(__file__).resolve().parents[1]


def poses(n: int) -> FollowCartesianPath.Goal:
    """Return a goal of so many parts."""
    return FollowCartesianPath.Goal(segments=[PathSegment(kind=2, poses=[Pose() for _ in range(n - 1)])])


def settings(n: int) -> BehaviorSet:
    """Return a behavior set of so many parts."""
    return BehaviorSet(behaviors=[Behavior(name="a", kind="path", settings=[Parameter(name="x")] * (n - 1))])


def waypoints(n: int) -> BehaviorSet:
    """Return a behavior set with a path of so many numbers."""
    given = {"source": (4, "string_value", "waypoints"), "positions": (8, "double_array_value", [0.01] * (n // 3 * 3))}
    rows = [Parameter(name=k, value=ParameterValue(type=t, **{f: v})) for k, (t, f, v) in given.items()]
    return BehaviorSet(mode=BehaviorSet.UPDATE, behaviors=[Behavior(name="way", kind="path", settings=rows)])


def goal(kind: Any, name: str, make: Callable[[int], Any]) -> Callable[[Node, int], None]:
    """Return what sends a goal."""

    def send(node: Node, n: int) -> None:
        client = ActionClient(node, kind, name)
        client.wait_for_server()
        client.send_goal_async(make(n))

    return send


def request(kind: Any, name: str, make: Callable[[int], Any]) -> Callable[[Node, int], None]:
    """Return what calls a service."""

    def send(node: Node, n: int) -> None:
        client = node.create_client(kind, name)
        client.wait_for_service()
        client.call_async(make(n))

    return send


def message(kind: Any, name: str, make: Callable[[int], Any]) -> Callable[[Node, int], None]:
    """Return what publishes a message."""

    def send(node: Node, n: int) -> None:
        publisher = node.create_publisher(kind, name, 10)
        while not publisher.get_subscription_count():
            time.sleep(0.05)
        publisher.publish(make(n))

    return send


CASES = {
    "follow_cartesian_path, poses": (IK, MOST_PARTS, goal(FollowCartesianPath, "follow_cartesian_path", poses)),
    "solve_ik, names": (IK, MOST_PARTS, request(SolveIk, f"{IK}/solve_ik", lambda n: SolveIk.Request(names=["a"] * n))),
    "set_parameters, parameters": (IK, MOST_PARTS, request(SetParameters, f"{IK}/set_parameters",
        lambda n: SetParameters.Request(parameters=[Parameter(name="x")] * n))),
    "get_parameters, names": (IK, MOST_PARTS, request(GetParameters, f"{IK}/get_parameters",
        lambda n: GetParameters.Request(names=["rate"] * n))),
    "joint_states, names": (IK, 1000, message(JointState, "joint_states",
        lambda n: JointState(name=[f"j{k}" for k in range(n)]))),
    "set_behaviors, settings": (BEHAVIORS, MOST_PARTS, request(SetBehaviors, f"{BEHAVIORS}/set_behaviors",
        lambda n: SetBehaviors.Request(set=settings(n)))),
    "set_behaviors, numbers of waypoints": (BEHAVIORS, 300, request(SetBehaviors, f"{BEHAVIORS}/set_behaviors",
        lambda n: SetBehaviors.Request(set=waypoints(n)))),
    "behavior_set, settings": (BEHAVIORS, 500, message(BehaviorSet, "behavior_set", settings)),
    "calibrate, joint positions": (WRENCH, MOST_NUMBERS - 100, goal(CalibrateBaseWrench, f"{WRENCH}/calibrate",
        lambda n: CalibrateBaseWrench.Goal(poses=doubles([0.0] * n)))),
}  # fmt: skip


def used(pid: int, work: Callable[[], Any]) -> float:
    """Return the processor time that a process's first thread takes while something is done [s]."""

    def taken() -> float:
        return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text(encoding="utf-8").split()[0]) * 1e-9

    before = taken()
    work()
    return taken() - before


def main() -> None:
    """Print a line for each kind of request."""
    stay_on_this_machine()
    large = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    text = load_robot_description(ROOT / "urdf" / "arm_7r.urdf.xacro")
    processes: list[NodeProcess] = []
    rclpy.init()
    node, executor = rclpy.create_node("listener"), SingleThreadedExecutor()
    executor.add_node(node)
    graph = Graph(node, executor, lambda: None)
    try:
        for name in (IK, BEHAVIORS, WRENCH):
            with tempfile.NamedTemporaryFile("w", suffix=".yaml", delete=False) as file:
                yaml.safe_dump({name: {"ros__parameters": {"robot_description": text}}}, file)
            log = Path(file.name).with_suffix(".log")
            arguments = ["--ros-args", "--params-file", file.name]
            processes.append(NodeProcess(name, "flexarm", name, arguments, log))
            graph.wait_for_node(name, 60.0)
            for transition in ("configure", "activate"):
                graph.transition(name, transition)
        pids = {process.name: process.process_id for process in processes}
        for case, (name, most, _) in CASES.items():
            deaf = []
            for n in (most, large):
                idle = used(pids[name], lambda: time.sleep(WATCHED)) / WATCHED
                began, command = time.monotonic(), [sys.executable, __file__, "--send", case, str(n)]
                took = used(pids[name], lambda command=command: subprocess.run(command, check=True))
                deaf.append(took - idle * (time.monotonic() - began))
            within, beyond = (1e3 * seconds for seconds in deaf)
            print(f"{name}: {case}: {within:.0f} ms with {most}, {beyond:.0f} ms with {large}", flush=True)
    finally:
        end_all(processes)
        rclpy.try_shutdown()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--send"]:
        rclpy.init()
        sender = rclpy.create_node("sender")
        CASES[sys.argv[2]][2](sender, int(sys.argv[3]))
        end = time.monotonic() + 4.0
        while time.monotonic() < end:
            rclpy.spin_once(sender, timeout_sec=0.1)
    else:
        main()
