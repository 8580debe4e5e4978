"""An arm in front of joint_trajectory_follower, and a client that sends what MoveIt does.

The arm is at each sample where the last reference put it, but for what a test adds.
"""

from __future__ import annotations

import numpy as np
import robots
from builtin_interfaces.msg import Duration, Time
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance
from rclpy.action import ActionClient
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from flexarm.msg import JointReference
from flexarm_nodes.messages.conversions import doubles
from flexarm_nodes.node import topics

NODE = "joint_trajectory_follower"
PERIOD = 10_000_000  # [ns] between two joint states
BENT = np.array([0.0, 0.3, 1.2, 0.0, 0.8, 0.0])


def time_of(kind, nanoseconds: int):
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return kind(sec=seconds, nanosec=rest)


def point(time: float, position=(), velocity=(), acceleration=(), effort=()) -> JointTrajectoryPoint:
    lists = {"positions": position, "velocities": velocity, "accelerations": acceleration, "effort": effort}
    made = JointTrajectoryPoint(**{name: [float(x) for x in given] for name, given in lists.items()})
    made.time_from_start = time_of(Duration, round(time * 1e9))
    return made


def tolerance(name: str, position=0.0, velocity=0.0, acceleration=0.0) -> JointTolerance:
    return JointTolerance(name=name, position=position, velocity=velocity, acceleration=acceleration)


def planned(start, goal, duration: float = 1.0, every: float = 0.1) -> list[JointTrajectoryPoint]:
    """What MoveIt sends: points with velocities and accelerations, here of a trapezoidal speed on a straight line."""
    start, goal = np.array(start, dtype=float), np.array(goal, dtype=float)
    blend = 0.25 * duration
    peak = 1.0 / (duration - blend)
    points = []
    for time in np.linspace(0.0, duration, max(2, round(duration / every) + 1)):
        left = duration - time
        if time < blend:
            s, v, a = 0.5 * peak / blend * time**2, peak / blend * time, peak / blend
        elif left < blend:
            s, v, a = 1.0 - 0.5 * peak / blend * left**2, peak / blend * left, -peak / blend
        else:
            s, v, a = peak * (time - 0.5 * blend), peak, 0.0
        way = goal - start
        points.append(point(time, start + s * way, v * way, a * way))
    return points


class TrajectoryArm:
    """An arm, and the node that leads it."""

    def __init__(self, live, robot: str = "arm_6r", position=BENT, *, loop: bool = False, **parameters) -> None:
        self.live, self.chain, self.tick = live, robots.chain(robot), 0
        self.names = list(self.chain.joint_names)
        self.position = np.array(position, dtype=float)
        self.off = np.zeros(len(self.position))  # measured minus reference
        text, tool = robots.find(robot)
        shared = {"robot_description": text, "tool_frame": tool}
        own = {"state_timeout": 60.0} | parameters
        self.topic = topics.DESIRED_JOINT_REFERENCE
        if loop:  # the stage in one process with the gate
            gate = {"lockstep": True, "command_mode": "position"}
            stages = {NODE: own, "hardware_gate": gate}
            inner = {f"{stage}.{name}": value for stage, given in stages.items() for name, value in given.items()}
            live.start("control_loop", {**shared, "stages": list(stages), "sensor_wait": 0.5, **inner})
        else:
            live.start(NODE, {**shared, **own})
        live.listen(self.topic, JointReference)
        live.until(lambda: live.node.count_publishers(self.topic) > 0, self.topic)
        self.states = live.publisher(topics.JOINT_STATES, JointState)
        self.trajectories = live.publisher(topics.FOLLOWED_TRAJECTORY, JointTrajectory)
        self.client = ActionClient(live.node, FollowJointTrajectory, topics.FOLLOW_JOINT_TRAJECTORY)
        live.until(self.client.server_is_ready, "the action")
        self.feedback: list[FollowJointTrajectory.Feedback] = []
        live.settle()

    @property
    def answers(self) -> list[JointReference]:
        return self.live.received[self.topic]

    @property
    def now(self) -> int:
        return self.tick * PERIOD

    def hold(self, ticks: int = 1) -> None:
        """Let ticks pass."""
        for _ in range(ticks):
            self.tick += 1
            message = JointState(name=self.names, position=doubles(self.position + self.off))
            message.velocity = doubles(np.zeros(len(self.names)) if not self.answers else self.velocity)
            message.header.stamp = time_of(Time, self.now)
            self.states.publish(message)
            self.live.until(lambda s=message.header.stamp: self._answered(s), f"an answer to tick {self.tick}")
            self.position = np.array(self.answers[-1].position)

    def _answered(self, stamp: Time) -> bool:
        return bool(self.answers) and self.answers[-1].header.stamp == stamp

    @property
    def velocity(self):
        return np.array(self.answers[-1].velocity)

    def goal(self, points, names=None, stamp: int = 0, **more) -> FollowJointTrajectory.Goal:
        trajectory = JointTrajectory(joint_names=list(self.names if names is None else names), points=list(points))
        trajectory.header.stamp = time_of(Time, stamp)
        if "goal_time_tolerance" in more:
            more["goal_time_tolerance"] = time_of(Duration, round(more["goal_time_tolerance"] * 1e9))
        return FollowJointTrajectory.Goal(trajectory=trajectory, **more)

    def ask(self, points, names=None, **more):
        """Send a goal; returns the handle, accepted or not."""
        goal = self.goal(points, names, **more)
        future = self.client.send_goal_async(goal, lambda m: self.feedback.append(m.feedback))
        self.live.until(future.done, "an answer to the goal")
        return future.result()

    def result_of(self, handle, until=lambda: False):
        """Let ticks pass until the goal has ended, or until something holds; returns the result or its future."""
        future = handle.get_result_async()
        while not future.done() and not until():
            self.hold()
            self.live.spin(0.0005)
        return future.result() if future.done() else future

    def motion(self, first: int = 0):
        """Positions, velocities and accelerations (k, n) of the answers from one on."""
        chosen = self.answers[first:]
        return tuple(np.array([getattr(a, name) for a in chosen]) for name in ("position", "velocity", "acceleration"))
