"""Runs of the whole graph: separate processes, real DDS, lockstep."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
import rclpy
from live import own_domain
from pipeline_run import drive, gate_stage
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from flexarm_core.flexible_dynamics.flexible_links import load_flexible_links
from flexarm_core.path.line import LinePath, LinePathConfig
from flexarm_core.pipeline.pipeline import Pipeline
from flexarm_core.pipeline.reference_stage import ReferenceStage
from flexarm_core.pipeline.vibration_stage import VibrationStage
from flexarm_core.reaction_null_space.vibration.config import VibrationControllerConfig
from flexarm_core.reaction_null_space.vibration.controller import VibrationController
from flexarm_core.robot.arm_model import ArmModel
from flexarm_nodes.node import topics
from flexarm_sim.mujoco.backend import MujocoBackend
from flexarm_sim.plant import Plant, PlantConfig
from flexarm_sim.pushes import Push
from flexarm_tools.metrics.all import METRICS, MetricOptions
from flexarm_tools.process.progress import Progress
from flexarm_tools.recording.recording import Recording
from flexarm_tools.run.composition import compose_simulation
from flexarm_tools.run.runner import Runner, run_scenario
from flexarm_tools.scenario.file import load_scenario

START = np.radians([60.0, -60.0, -60.0])

SCENARIO = """
title: test
robot: {{description: "package://flexarm/urdf/planar_3r.urdf.xacro"}}
gravity: [0.0, 0.0, 0.0]
rate: {rate}
duration: {duration}
mode: {mode}
plant:
  initial_position: !degrees [60.0, -60.0, -60.0]
{plant}
nodes:
  - executable: reference_generator
    parameters:
      displacement: [-0.3, 0.0, 0.0]
      duration: {move}
      axes: [true, true, false, false, false, false]
  - executable: rns_vibration_controller
    parameters: {{joint_damping: 1.0}}
  - executable: hardware_gate
    parameters: {{max_acceleration: [20.0]}}
pushes:
  - {{link: base_link, start: 0.02, duration: 0.05, force: [5.0, 0.0, 0.0]}}
{events}
"""


@pytest.fixture(autouse=True)
def domain() -> Iterator[None]:
    """A ROS domain of its own."""
    with own_domain():
        yield


def run(
    tmp_path: Path,
    duration: float = 0.3,
    plant: str = "",
    events: str = "",
    mode: str = "lockstep",
    rate: float = 1000.0,
    move: float = 2.0,
) -> Recording:
    """Run the planar arm."""
    tmp_path.mkdir(exist_ok=True)
    path = tmp_path / "scenario.yaml"
    plant = "\n".join(f"  {line}" for line in plant.splitlines())
    text = SCENARIO.format(duration=duration, plant=plant, events=events, mode=mode, rate=rate, move=move)
    path.write_text(text)
    return run_scenario(load_scenario(path), Progress("test"), tmp_path / "logs")


def in_one_process(text: str, ticks: int) -> np.ndarray:
    """The same run without ROS: rows of joint positions and base deflection."""
    model = ArmModel(text, gravity=(0.0, 0.0, 0.0))
    backend = MujocoBackend(model.description, gravity=(0.0, 0.0, 0.0))
    push = Push("base_link", 0.02, 0.05, (5.0, 0.0, 0.0))
    plant = Plant(model.description, backend, PlantConfig(initial_position=tuple(START), pushes=(push,)))
    axes = (True, True, False, False, False, False)
    line = LinePath(LinePathConfig(model.base_frame, (-0.3, 0.0, 0.0), duration=2.0, axes=axes))
    stages = [ReferenceStage(model, line), VibrationStage(VibrationController(model, VibrationControllerConfig()))]
    run = drive(Pipeline(stages, gate_stage(model)), plant, ticks)
    return np.column_stack((run.position, run.deflection))


SHUFFLED = "joint_list_fault: {names: [joint3, base_x, joint1, joint2], interval: [0.1, 0.2]}"


def test_separate_processes_do_what_the_pipeline_does_in_one_and_do_it_twice_whatever_the_order_of_joints(
    tmp_path, planar_3r_text
):
    first = run(tmp_path / "1")
    graph = np.column_stack((first.position, first.deflection))
    assert np.array_equal(graph, in_one_process(planar_3r_text, 300))
    assert (first.lost_samples, first.lockstep_timeouts, first.watchdog_stops) == (0, 0, 0)
    assert np.abs(graph[-1] - graph[0]).max() > 1e-3  # it did move
    second = run(tmp_path / "2", plant=SHUFFLED)
    assert second.watchdog_stops == 0
    for name in ("position", "velocity", "effort", "deflection", "base_wrench", "reference_position", "damping"):
        assert np.array_equal(getattr(first, name), getattr(second, name), equal_nan=True), name


def test_the_plant_alone_is_told_of_its_own_robot(tmp_path, planar_3r_text):
    path = tmp_path / "scenario.yaml"
    text = SCENARIO.format(duration=0.1, plant="", events="", mode="lockstep", rate=1000.0, move=2.0)
    (tmp_path / "soft.urdf").write_text(planar_3r_text.replace('stiffness="100.0"', 'stiffness="25.0"'))
    path.write_text(text + "plant_robot: {description: soft.urdf}\n")
    scenario = load_scenario(path)
    runner = Runner(scenario, tmp_path, Progress("test"))
    plant, _, node, _ = (node.parameters for node in compose_simulation(scenario).nodes)
    assert 'stiffness="25.0"' in plant["plant_description"] and 'stiffness="100.0"' in plant["robot_description"]
    assert 'stiffness="100.0"' in node["robot_description"] and "plant_description" not in node
    # the natural period by which settling is counted is that of what moves: 31 kg on 25 N/m
    assert runner._outcome(1).natural_period == pytest.approx(2.0 * np.pi * np.sqrt(31.0 / 25.0), rel=1e-3)
    path.write_text(text)
    assert "plant_description" not in compose_simulation(load_scenario(path)).nodes[0].parameters


BENDING = """
title: test
robot: {description: "package://flexarm/urdf/flexible_2r.urdf.xacro"}
plant_robot: {arguments: {payload: 2.0}}
gravity: [0.0, 0.0, 0.0]
rate: 500.0
duration: 0.6
plant: {backend: mujoco, segments: 6, max_step: 2e-4, command_mode: velocity}
nodes:
  - executable: reference_generator
    parameters: {space: joints, joint_displacement: [0.2, -0.1], duration: 0.5, shaper: zv, shaper_frequency: [1.4]}
  - executable: hardware_gate
    parameters: {command_mode: velocity}
    remappings: {joint_reference: desired_joint_reference}
"""


def test_an_arm_that_bends_follows_a_shaped_move_and_its_modes_are_recorded(tmp_path):
    (tmp_path / "bending.yaml").write_text(BENDING)
    scenario = load_scenario(tmp_path / "bending.yaml")
    recording = run_scenario(scenario, Progress("test"), tmp_path / "logs")
    assert (recording.lost_samples, recording.lockstep_timeouts, recording.node_deaths) == (0, 0, ())
    assert recording.has_desired.all() and np.isfinite(recording.modal_position).all()
    assert np.allclose(recording.desired_position[-1], [0.2, -0.1], atol=1e-12)
    assert METRICS["joint_tracking_error"].measure(recording, MetricOptions()).value < 0.02
    assert METRICS["peak_modal_position"].measure(recording, MetricOptions()).value > 0.01
    # the gauges say what the modes of the plant's robot say, to within those that the chain of segments has beyond them
    links = load_flexible_links(scenario.true_robot.description)
    expected = np.column_stack([links["upper_arm"].strain["upper_arm_root"], links["forearm"].strain["forearm_root"]])
    by_modes = [recording.modal_position[:, 3 * i : 3 * i + 3] @ expected[:, i] for i in range(2)]
    for gauge, strain in (("upper_arm_root", by_modes[0]), ("forearm_root", by_modes[1])):
        measured = recording.strain[:, recording.strain_gauges.index(gauge)]
        assert np.corrcoef(measured, strain)[0, 1] > 0.95
        assert np.linalg.norm(measured - strain) < 0.3 * np.linalg.norm(strain)


def test_an_event_takes_effect_exactly_between_two_ticks(tmp_path):
    events = "events:\n  - {at: 0.1, node: rns_vibration_controller, set: {vibration_damping: false}}"
    recording = run(tmp_path, 0.2, events=events)
    assert recording.vibration_damping[:100].all() and not recording.vibration_damping[100:].any()
    assert any(event.source == "rns_vibration_controller" and event.time == 0.1 for event in recording.events)


FAULTS = """
sensors:
  joint_position: {nan_intervals: [0.3, 0.35], dropout_intervals: [1.0, 1.1]}
  deflection: {dropout_intervals: [1.0, 1.1, 2.4, 2.44]}
joint_list_fault: {names: [joint1, joint3, base_x], interval: [1.7, 1.74]}
"""
SAID = {
    0.3: "joint state position of joint1, joint2, joint3 is not finite",
    1.0: "no joint state for|states are lost",  # whichever of the next state and its reference arrives first
    1.7: "joint state lacks joint2",
    2.4: "joint state lacks base_x",
}


def test_states_that_are_wrong_or_missing_lead_to_a_stop_each_time_and_back(tmp_path):
    recording = run(tmp_path, 4.4, plant=FAULTS, move=4.0)
    assert (recording.watchdog_stops, recording.trips, recording.lockstep_timeouts) == (4, 0, 0)
    assert np.isfinite(recording.effort).all() and np.abs(recording.effort).max() <= 500.0
    assert np.abs(recording.velocity).max() < 4.0
    heard = [(e.time, e.message) for e in recording.events if e.source == "hardware_gate"]
    early = 0.0015  # [s] what a reference says that overtakes its state has the stamp of the state before
    for begin, said in SAID.items():
        assert any(re.search(said, words) and begin - early <= time < begin + 0.15 for time, words in heard), (
            said,
            heard,
        )
        assert any(words == "running" and begin < time < begin + 0.6 for time, words in heard), (said, heard)
        assert recording.has_reference[round((begin + 0.6) * 1000) - 1]
    assert recording.has_reference[-1]
    # A stop answers states without references: the plant is ahead of the controllers, by how much is the machine's
    # affair, and so is the length of the stop and the error that it leaves. That the arm comes back to its path is not.
    errors = recording.tracking_error
    assert np.nanmax(errors[recording.has_reference]) < 0.1 and errors[-100:].max() < 0.002


def test_when_the_controller_is_killed_the_gate_stops_the_arm(tmp_path):
    killed = "events:\n  - {at: 0.4, node: rns_vibration_controller, kill: true}"
    recording = run(tmp_path, 1.6, events=killed)
    assert np.abs(recording.velocity[400]).max() > 0.05
    assert np.abs(recording.velocity[-1]).max() < 1e-2
    heard = [(event.time, event.source, event.message) for event in recording.events]
    assert (recording.watchdog_stops, recording.lockstep_timeouts) == (1, 1), heard
    assert recording.node_deaths == ()  # it was asked for
    assert any("rns_vibration_controller' has ended; the plant goes on" in event.message for event in recording.events)


def test_a_lifecycle_event_deactivates_a_node_and_the_arm_stops(tmp_path):
    events = "events:\n  - {at: 0.4, node: reference_generator, transition: deactivate}"
    # without an answer the plant goes by the wall clock: how soon the stop begins is the machine's affair
    recording = run(tmp_path, 1.6, events=events)
    assert recording.watchdog_stops == 1
    assert np.abs(recording.velocity[-1]).max() < 1e-2


def test_in_real_time_the_clock_goes_on_whether_or_not_commands_come(tmp_path):
    began = time.monotonic()
    recording = run(tmp_path, 3.0, mode="real_time", rate=250.0)
    assert recording.ticks == 750 and recording.lost_samples == 0 and recording.lockstep_timeouts == 0
    assert time.monotonic() - began > 3.0
    assert np.isfinite(recording.tick_latency).any()  # how long is the machine's affair: see the metric


def test_whoever_draws_the_robot_hears_where_its_links_are(tmp_path):
    """From description and frames alone, as RViz and Foxglove take them, the tool is where the plant has it."""
    heard: dict[str, list] = {"/tf": [], "/tf_static": [], "/robot_description": []}
    context, over = Context(), threading.Event()
    rclpy.init(context=context)
    node = rclpy.create_node("viewer", context=context)
    for topic, kind, quality in (
        ("/tf", TFMessage, 100),
        ("/tf_static", TFMessage, topics.LATCHED),
        ("/robot_description", String, topics.LATCHED),
    ):
        node.create_subscription(kind, topic, heard[topic].append, quality)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)

    def listen() -> None:
        while not over.is_set():
            executor.spin_once(timeout_sec=0.05)

    listening = threading.Thread(target=listen)
    listening.start()
    try:
        recording = run(tmp_path, duration=2.0, mode="real_time", rate=250.0)
    finally:
        over.set()
        listening.join()
        executor.shutdown()
        node.destroy_node()
        rclpy.try_shutdown(context=context)
    model = pin.buildModelFromXML(heard["/robot_description"][0].data)
    fixed = {one.child_frame_id: one for one in heard["/tf_static"][0].transforms}
    stamps, apart = [], []
    for message in heard["/tf"]:
        links, place, link = (
            fixed | {one.child_frame_id: one for one in message.transforms},
            pin.SE3.Identity(),
            "tool0",
        )
        while link in links:
            one = links[link].transform
            at, turn = one.translation, one.rotation
            place = pin.XYZQUATToSE3([at.x, at.y, at.z, turn.x, turn.y, turn.z, turn.w]) * place
            link = links[link].header.frame_id
        stamp = message.transforms[0].header.stamp
        stamps.append(stamp.sec + 1e-9 * stamp.nanosec)
        tick = int(np.argmin(np.abs(recording.time - stamps[-1])))
        apart.append(np.abs(place.translation - recording.tool_position[tick]).max())
        assert link == "world" and model.existFrame("tool0")
    assert len(stamps) > 20 and np.diff(stamps).min() > 1.0 / 61.0 and max(apart) < 1e-9
    assert np.ptp(recording.tool_position[:, 0]) > 0.2
