"""Scenarios under a whole Gazebo or in the simulated plant, each started by its launch file.

Both are seen from outside, by the same topics: joint states, references, behavior status, diagnostics.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from launched import Launched
from live import own_domain
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from flexarm.msg import BehaviorStatus, CartesianReference, JointReference
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array
from flexarm_nodes.messages.conversions import stamp_to_nanoseconds
from flexarm_nodes.node import topics
from flexarm_tools.graph.quiet_node import quiet_node
from flexarm_tools.graph.tapped_topic import TappedTopic
from flexarm_tools.scenario.file import load_scenario

CONFIG = Path(__file__).resolve().parents[2] / "config"
STARTED = 240.0  # [s] wall time within which a run begins to move
REFERENCES = (topics.CARTESIAN_REFERENCE, topics.DESIRED_JOINT_REFERENCE, topics.BEHAVIOR_STATUS)
TOPICS: dict[str, Any] = {
    topics.JOINT_STATES: JointState,
    topics.CARTESIAN_REFERENCE: CartesianReference,
    topics.DESIRED_JOINT_REFERENCE: JointReference,
    topics.BEHAVIOR_STATUS: BehaviorStatus,
    topics.DIAGNOSTICS: DiagnosticArray,
} | {topics.command_topic(mode): Float64MultiArray for mode in ("effort", "velocity", "position")}


@dataclass(frozen=True, slots=True)
class Case:
    """A scenario, as it is or changed, and what is judged of it."""

    name: str
    scenario: str
    duration: float  # [s] from the first reference on
    judge: Callable[[Seen], dict[str, float]]
    goals: dict[str, float]  # largest values in Gazebo
    changes: tuple[tuple[str, str], ...] = ()  # of the scenario's text


@dataclass(slots=True)
class Seen:
    """What was seen of a run: messages by topic in their order, and what its launch said."""

    model: ArmModel
    duration: float
    messages: dict[str, list[Any]] = field(default_factory=dict)
    said: str = ""

    def rows(self) -> Iterator[tuple[float, ArmState]]:
        """Time since the first reference [s] and state, of each joint state."""
        names = (*self.model.joint_names, *self.model.elastic_joint_names)
        began = self.began
        for message in self.messages[topics.JOINT_STATES]:
            time = (stamp_to_nanoseconds(message.header.stamp) - began) * 1e-9
            if 0.0 <= time <= self.duration:
                place = {name: i for i, name in enumerate(message.name)}
                q, v = (
                    np.array([values[place[name]] if name in place else 0.0 for name in names])
                    for values in (message.position, message.velocity)
                )
                n = self.model.n
                yield time, ArmState(stamp_to_nanoseconds(message.header.stamp), q[:n], v[:n], q[n:], v[n:])

    @property
    def began(self) -> int:
        """Stamp of the first reference [ns]."""
        firsts = [
            stamp_to_nanoseconds(found[0].header.stamp) for topic in REFERENCES if (found := self.messages.get(topic))
        ]
        return min(firsts)

    def stops(self) -> float:
        """Times that the gate stopped the arm between the first reference and the end."""
        states = [
            one.message.startswith(("controlled stop", "tripped"))
            for array in self.messages[topics.DIAGNOSTICS]
            if 0 <= stamp_to_nanoseconds(array.header.stamp) - self.began <= self.duration * 1e9
            for one in array.status
            if one.name.endswith("hardware_gate") and one.level != DiagnosticStatus.OK
        ]
        return float(sum(now and not before for before, now in zip([False, *states], states, strict=False)))


def tool_error(seen: Seen) -> Array:
    """Distance of the tool from its reference of the same stamp [m], each tick."""
    wanted = {stamp_to_nanoseconds(one.header.stamp): one for one in seen.messages[topics.CARTESIAN_REFERENCE]}
    errors = []
    for _, state in seen.rows():
        if (reference := wanted.get(state.stamp)) is not None:
            axes = np.array(reference.axes[:3], dtype=bool)
            p = reference.pose.position
            at = seen.model.tool_kinematics(state, reference.header.frame_id).position
            errors.append(float(np.linalg.norm((at - [p.x, p.y, p.z])[axes])))
    return np.array(errors)


def path(seen: Seen) -> dict[str, float]:
    """Tool path over an elastic base."""
    K = np.array([joint.stiffness for joint in seen.model.description.elastic])
    energy = [0.5 * float(K @ state.deflection**2) for _, state in seen.rows()]
    return {"tool_error": float(tool_error(seen).max()), "base_energy_root": float(np.sqrt(max(energy)))}


def wipe(seen: Seen) -> dict[str, float]:
    """Force of the tool on the wall from the second second on: pressed with 20 N along the path."""
    force = np.array(
        [
            one.wrench.force.x
            for one in seen.messages[topics.BEHAVIOR_STATUS]
            if 2.0 <= (stamp_to_nanoseconds(one.header.stamp) - seen.began) * 1e-9 <= seen.duration
        ]
    )
    return {"force_error": float(abs(abs(force.mean()) / 20.0 - 1.0)), "peak_force": float(np.abs(force).max())}


def slew(seen: Seen) -> dict[str, float]:
    """Joints on their way, and what swings after it."""
    wanted = {
        stamp_to_nanoseconds(one.header.stamp): one.position for one in seen.messages[topics.DESIRED_JOINT_REFERENCE]
    }
    errors = [state.position - wanted[state.stamp] for _, state in seen.rows() if state.stamp in wanted]
    after = [state.velocity for time, state in seen.rows() if time > 1.3]
    return {
        "joint_error": float(np.sqrt(np.mean(np.square(errors)))),
        "swing_after": float(np.sqrt(np.mean(np.square(after)))),
    }


BY_POSITION = (
    ("command_mode: effort", "command_mode: position"),
    ("  backend: mujoco\n", "  backend: mujoco\n  command_mode: position\n  drive_bandwidth: 200.0\n"),
)
SOFTER = (("position_gain: 625.0", "position_gain: 250.0"), ("velocity_gain: 50.0", "velocity_gain: 31.0"))
CASES = (
    Case("planar_3r", "planar_3r/scenarios/reactionless.yaml", 5.0, path,
        {"tool_error": 1e-3, "base_energy_root": 1e-2}),
    Case("boom_7r_effort", "boom_7r/scenarios/reactionless.yaml", 6.0, path,
        {"tool_error": 5e-3, "base_energy_root": 0.5}),
    Case("boom_7r_position", "boom_7r/scenarios/reactionless.yaml", 6.0, path,
        {"tool_error": 5e-3, "base_energy_root": 0.5}, changes=BY_POSITION),
    Case("arm_7r_wipe", "arm_7r/scenarios/behaviors.yaml", 11.0, wipe, {"force_error": 0.02, "peak_force": 60.0}),
    Case("flexible_2r_slew", "flexible_2r/scenarios/pd.yaml", 3.0, slew, {"joint_error": 0.025, "swing_after": 0.2},
        changes=SOFTER),  # the usual ones hold in lockstep only, where nothing is late
)  # fmt: skip


def scenario_of(case: Case, folder: Path) -> Path:
    """The case's scenario as a file."""
    path = folder / "scenario.yaml"
    text = (CONFIG / case.scenario).read_text()
    for old, new in case.changes:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)
    return path


def observe(case: Case, gazebo: bool, speed: float) -> Seen:
    """Run a case in Gazebo or in the simulated plant, until its duration has passed."""
    with own_domain(), tempfile.TemporaryDirectory() as name, quiet_node("watch", None) as node:
        folder = Path(name)
        file = scenario_of(case, folder)
        scenario = load_scenario(file)
        seen = Seen(ArmModel(scenario.robot.description, scenario.robot.tool_frame, scenario.gravity), case.duration)
        seen.messages = {topic: [] for topic in TOPICS}
        taps = {topic: TappedTopic(node, kind, topic) for topic, kind in TOPICS.items()}
        for tap in taps.values():
            tap.listen()
        how = (
            ("gazebo.launch.py", "headless:=true", f"real_time_factor:={speed}")
            if gazebo
            else ("simulation.launch.py", "mode:=lockstep")
        )
        run = Launched(folder, how[0], f"scenario:={file}", *how[1:])
        try:
            deadline = time.monotonic() + STARTED
            while run.runs and not over(seen):
                for topic, tap in taps.items():
                    seen.messages[topic] += [deserialize_message(one.data, TOPICS[topic]) for one in tap.take()]
                assert time.monotonic() < deadline + case.duration / min(speed, 0.02), run.said
                time.sleep(0.02)
            assert over(seen), run.said
            run.interrupt()
        finally:
            run.end()
        seen.said = run.said
        return seen


def over(seen: Seen) -> bool:
    """Whether the run has reached its end, by the newest joint state."""
    states = seen.messages[topics.JOINT_STATES]
    if not states or not any(seen.messages[topic] for topic in REFERENCES):
        return False
    return (stamp_to_nanoseconds(states[-1].header.stamp) - seen.began) * 1e-9 > seen.duration
