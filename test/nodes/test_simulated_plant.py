"""simulated_plant as a real node: lockstep, faults, and the topics that ros2_control would offer."""

from __future__ import annotations

import signal
import time

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, Vector3, WrenchStamped
from planar_messages import START
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from flexarm.msg import SimulationStatus
from flexarm.srv import ApplyPush
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_nodes.messages.conversions import stamp_to_nanoseconds
from flexarm_nodes.node import topics
from flexarm_sim.mujoco.backend import MujocoBackend
from flexarm_tools.graph.graph import GraphError
from flexarm_tools.process.processes import NodeDiedError

COMMANDS = topics.command_topic("effort")


def start(live, shared, **parameters) -> None:
    """Start the plant and listen to it."""
    live.start("simulated_plant", {**shared, "initial_position": [float(q) for q in START], **parameters})
    for topic, message_type in (
        (topics.JOINT_STATES, JointState),
        (topics.SIMULATION_STATUS, SimulationStatus),
        (topics.TRUE_JOINT_STATES, JointState),
        (topics.TRUE_TOOL_POSE, PoseStamped),
        (topics.CLOCK, Clock),
        ("base_wrench", WrenchStamped),
    ):
        live.listen(topic, message_type)
    live.commands = live.publisher(COMMANDS, Float64MultiArray)
    live.until(lambda: live.node.count_publishers("base_wrench") > 0, "base_wrench")
    live.settle()


def each(messages) -> list:
    """Messages of a topic, one of each stamp: the plant repeats a state that is not answered for a while."""
    return list({stamp_to_nanoseconds(message.header.stamp): message for message in messages}.values())


def answer_every_state(live, ticks: int, effort=(0.0, 0.0, 0.0)) -> None:
    """Run the plant by answering each state with an effort, once, however often the state is repeated."""
    states = live.received[topics.JOINT_STATES]
    first = len(live.received[topics.SIMULATION_STATUS])
    now = live.received[topics.SIMULATION_STATUS][-1].until if first else 0.0
    begin = round(now * 1e3)
    live.graph.advance("simulated_plant", now + ticks * 1e-3)
    for tick in range(ticks):
        live.until(
            lambda tick=tick: states and stamp_to_nanoseconds(states[-1].header.stamp) >= (begin + tick) * 1_000_000,
            "a state",
        )
        live.commands.publish(Float64MultiArray(data=[float(value) for value in effort]))
    live.until(lambda: len(live.received[topics.SIMULATION_STATUS]) >= first + ticks, "the last tick")


def test_in_lockstep_time_moves_with_the_commands_only(live, shared):
    start(live, shared)
    live.graph.advance("simulated_plant", 0.1)
    live.spin(0.3)
    stamps = {stamp_to_nanoseconds(message.header.stamp) for message in live.received[topics.JOINT_STATES]}
    assert stamps == {0}  # repeated for peers that were late, but time stands still
    live.commands.publish(Float64MultiArray(data=[0.0, 0.0, 0.0]))
    live.until(lambda: stamp_to_nanoseconds(live.received[topics.JOINT_STATES][-1].header.stamp) == 1_000_000, "a tick")
    live.spin(0.1)
    assert stamp_to_nanoseconds(live.received[topics.JOINT_STATES][-1].header.stamp) == 1_000_000


def test_the_plant_pauses_at_the_wanted_time_and_goes_on(live, shared):
    start(live, shared)
    answer_every_state(live, 20)
    live.spin(0.2)
    assert len(each(live.received[topics.JOINT_STATES])) == 20
    answer_every_state(live, 5)
    last = live.received[topics.JOINT_STATES][-1]
    assert stamp_to_nanoseconds(last.header.stamp) == 24_000_000
    assert list(last.name) == ["joint1", "joint2", "joint3", "base_x"]
    status = live.received[topics.SIMULATION_STATUS][-1]
    assert (status.tick, status.lockstep_timeouts, status.missed_commands) == (24, 0, 0)


def test_without_noise_the_sensors_say_the_truth(live, shared):
    start(live, shared, **{"pushes.links": ["base_link"], "pushes.starts": [0.0], "pushes.durations": [0.01],
                           "pushes.forces": [50.0, 0.0, 0.0], "pushes.torques": [0.0, 0.0, 0.0],
                           "pushes.shapes": ["rectangle"]})  # fmt: skip
    answer_every_state(live, 15, effort=(0.1, 0.0, 0.0))
    live.until(lambda: len(live.received[topics.TRUE_JOINT_STATES]) >= 15, "the truth")
    for said, true in zip(
        each(live.received[topics.JOINT_STATES]), each(live.received[topics.TRUE_JOINT_STATES]), strict=True
    ):
        assert said.position == true.position and said.velocity == true.velocity
    assert live.received[topics.JOINT_STATES][-1].position[3] > 0.0  # the base was pushed along x
    assert live.received["base_wrench"][-1].header.frame_id == "base_ft"


def test_who_begins_to_listen_between_two_ticks_gets_every_sample_from_then_on(live, shared):
    """What nobody hears is not sent; in lockstep that costs no listener a sample."""
    start(live, shared)
    answer_every_state(live, 3)
    late = topics.TRUE_TOOL_POSE_IN_BASE
    live.listen(late, PoseStamped)
    live.settle()
    answer_every_state(live, 4)
    live.until(lambda: len(live.received[late]) >= 4, "the truth")
    stamps = [stamp_to_nanoseconds(message.header.stamp) for message in live.received[late]]
    assert stamps == [tick * 1_000_000 for tick in range(3, 7)]
    assert len(live.received[topics.TRUE_TOOL_POSE]) == 7
    assert {message.header.frame_id for message in live.received[late]} == {"base_ft"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_plant_that_waits_for_an_answer_ends_when_it_is_interrupted(live, shared, number):
    start(live, shared)
    live.graph.advance("simulated_plant", 0.1)
    live.until(lambda: bool(live.received[topics.JOINT_STATES]), "a state")
    process = live.processes["simulated_plant"]
    process.signal(number)  # whoever asks so kills a node that does not end within 3 s
    assert process.wait(time.monotonic() + 60.0) and process.exit_code == 0


def test_the_plant_waits_for_an_answer_until_it_is_told_that_none_will_come(live, shared):
    start(live, shared)
    with pytest.raises(GraphError, match="waits for no command"):
        live.graph.go_on("simulated_plant")
    live.graph.advance("simulated_plant", 0.05)
    live.wait_for_diagnostic("simulated_plant", "no command has answered the state at 0.000 s yet")
    live.spin(0.5)
    assert not live.received[topics.SIMULATION_STATUS]  # time stands still, however long nobody answers
    live.graph.go_on("simulated_plant")
    live.until(lambda: len(live.received[topics.SIMULATION_STATUS]) == 50, "the end")
    status = live.received[topics.SIMULATION_STATUS][-1]
    assert status.lockstep_timeouts == 1 and status.missed_commands == 50


def test_the_time_is_repeated_while_the_simulation_stands_still(live, shared):
    """Who joins then needs the time: a node with use_sim_time does nothing without one."""
    start(live, shared)
    live.graph.advance("simulated_plant", 0.05)
    live.until(lambda: live.received[topics.JOINT_STATES], "a state")
    live.listen(topics.CLOCK, Clock)
    live.until(lambda: len(live.received[topics.CLOCK]) >= 3, "the time")
    assert all(message.clock == Time() for message in live.received[topics.CLOCK])  # it waits for the first answer


def test_who_wants_to_goes_on_by_the_clock(live, shared):
    start(live, shared, lockstep_timeout=0.3)
    live.graph.advance("simulated_plant", 0.02)
    live.wait_for_diagnostic("simulated_plant", "the plant goes on by the wall clock")
    live.until(lambda: len(live.received[topics.SIMULATION_STATUS]) == 20, "the end")


def test_a_bad_command_is_refused_and_changes_nothing(live, shared):
    start(live, shared)
    refused = (
        ([0.0, float("nan"), 0.0], "command refused: [ 0. nan  0.]; expected 3 finite numbers"),
        ([1.0, 2.0], "command refused: [1. 2.]"),
        ([], "command refused: []"),
    )
    for tick, (bad, said) in enumerate(refused):
        live.graph.advance("simulated_plant", (tick + 1) * 1e-3)
        live.until(lambda tick=tick: len(each(live.received[topics.JOINT_STATES])) > tick, "a state")
        live.commands.publish(Float64MultiArray(data=bad))
        live.wait_for_diagnostic("simulated_plant", said)
        assert len(live.received[topics.SIMULATION_STATUS]) == tick
        live.commands.publish(Float64MultiArray(data=[0.0, 0.0, 0.0]))
        live.until(lambda tick=tick: len(live.received[topics.SIMULATION_STATUS]) > tick, "the tick")
        assert live.received[topics.SIMULATION_STATUS][-1].refused_commands == tick + 1


def test_sensor_faults_reach_the_topics(live, shared):
    start(live, shared, **{"sensors.joint_position.nan_intervals": [0.003, 0.005],
                           "sensors.joint_position.noise": [1e-4],
                           "sensors.deflection.dropout_intervals": [0.006, 0.008],
                           "joint_list_fault.names": ["base_x", "joint3", "joint1"],
                           "joint_list_fault.interval": [0.010, 0.012]})  # fmt: skip
    answer_every_state(live, 15)
    states = each(live.received[topics.JOINT_STATES])
    assert [tick for tick, state in enumerate(states) if np.isnan(state.position[0])] == [3, 4]
    assert [tick for tick, state in enumerate(states) if "base_x" not in state.name] == [6, 7]
    assert [tick for tick, state in enumerate(states) if "joint2" not in state.name] == [10, 11]
    noise = np.array([state.position[0] - START[0] for state in states[:3]])
    assert 0.0 < np.abs(noise).max() < 1e-3


WALL = {
    "surfaces.names": ["wall", "far"],
    "surfaces.kinds": ["plane", "box"],
    "surfaces.positions": [0.0, 0.0, 0.0, 9.0, 9.0, 9.0],  # of the wall: where the tool is
    "surfaces.rpys": [0.0, -np.pi / 2, 0.0, 0.0, 0.0, 0.3],
    "surfaces.half_extents": [0.0, 0.0, 0.0, 0.1, 0.2, 0.3],
    "surfaces.stiffnesses": [1e4, 1e4],
    "surfaces.dampings": [0.0, 0.0],
    "surfaces.frictions": [0.4, 0.0],
    "tip_radius": 0.02,
}


def test_surfaces_press_on_the_tool_and_the_truth_of_it_is_published(live, shared):
    """A wall 2 mm inside the tip, which then gets half as stiff."""
    place = MujocoBackend(parse_robot_description(shared["robot_description"]))
    place.reset(START)
    x, y, z = place.state().tool_position_in_world.tolist()
    start(live, shared, **(WALL | {"surfaces.positions": [x + 0.018, y, z, 9.0, 9.0, 9.0]}))
    live.listen(topics.TRUE_CONTACT_WRENCH, WrenchStamped)
    live.settle()
    answer_every_state(live, 3)
    live.until(lambda: len(live.received[topics.TRUE_CONTACT_WRENCH]) == 3, "the truth")
    live.graph.set_parameters("simulated_plant", {"surfaces.stiffnesses": [5e3, 1e4]})
    answer_every_state(live, 3)
    live.until(lambda: len(live.received[topics.TRUE_CONTACT_WRENCH]) == 6, "the truth")
    contacts, poses = live.received[topics.TRUE_CONTACT_WRENCH], live.received[topics.TRUE_TOOL_POSE]
    for tick, (contact, pose) in enumerate(zip(contacts, poses, strict=True)):
        assert contact.header == pose.header and contact.header.frame_id == "world"
        depth = 0.02 - (x + 0.018 - pose.pose.position.x)
        stiffness = 1e4 if tick < 4 else 5e3  # from the next step on
        assert contact.wrench.force.x == pytest.approx(-stiffness * depth, rel=5e-3)
    assert contacts[0].wrench.force.x == pytest.approx(-20.0, rel=5e-3)


def test_a_surface_too_hard_for_the_step_is_refused_while_the_plant_runs(live, shared):
    start(live, shared, **WALL)
    with pytest.raises(GraphError, match="too long for surface 'far'"):
        live.graph.set_parameters("simulated_plant", {"surfaces.stiffnesses": [1e4, 1e10]})
    with pytest.raises(GraphError, match=r"surfaces.positions can only change while the node is not configured"):
        live.graph.set_parameters("simulated_plant", {"surfaces.positions": [0.0] * 6})


def test_joint_friction_holds_the_arm_and_the_truth_of_it_is_published(live, shared):
    """It holds against a small effort, takes what is there, and lets go once it is changed."""
    rough = {"friction.coulomb": [3.0, 2.0, 1.0], "friction.stiction": [4.0], "friction.stribeck_velocity": [0.01]}
    start(live, shared, **rough)
    live.listen(topics.TRUE_JOINT_FRICTION, JointState)
    live.settle()
    answer_every_state(live, 5, effort=(2.5, 0.0, 0.0))
    live.graph.set_parameters("simulated_plant", {"friction.coulomb": [0.5], "friction.stiction": [1.0]})
    answer_every_state(live, 5, effort=(2.5, 0.0, 0.0))
    live.until(lambda: len(live.received[topics.TRUE_JOINT_FRICTION]) == 10, "the truth")
    truth, states = live.received[topics.TRUE_JOINT_FRICTION], live.received[topics.TRUE_JOINT_STATES]
    assert list(truth[0].name) == ["joint1", "joint2", "joint3"] and not truth[0].position
    assert [message.header for message in truth] == [message.header for message in states]
    held, gone = truth[4], truth[-1]
    assert held.effort[0] == pytest.approx(2.5, rel=1e-9) and states[4].position[0] == START[0]
    assert 0.5 <= gone.effort[0] <= 1.0 and states[-1].velocity[0] > 0.0


def test_without_surfaces_and_joint_friction_there_is_no_truth_of_them_and_it_cannot_come_later(live, shared):
    start(live, shared)
    assert live.node.count_publishers(topics.TRUE_CONTACT_WRENCH) == 0
    assert live.node.count_publishers(topics.TRUE_JOINT_FRICTION) == 0
    with pytest.raises(GraphError, match="only while the node is not configured"):
        live.graph.set_parameters("simulated_plant", {"friction.coulomb": [1.0]})


def test_the_past_and_an_inactive_plant_cannot_be_asked_for(live, shared):
    start(live, shared)
    answer_every_state(live, 5)
    with pytest.raises(GraphError, match="lies before the present"):
        live.graph.advance("simulated_plant", 0.001)
    live.graph.transition("simulated_plant", "deactivate")
    with pytest.raises(GraphError, match="the plant is not active"):
        live.graph.advance("simulated_plant", 1.0)


def test_the_plant_is_pushed_on_demand_from_its_present_stamp_on(live, shared):
    start(live, shared)
    client = live.node.create_client(ApplyPush, "/simulated_plant/push")
    live.until(client.service_is_ready, "service push")

    def push(link: str, force: float) -> ApplyPush.Response:
        request = ApplyPush.Request(link=link, force=Vector3(x=force), duration=0.01, shape="rectangle")
        future = client.call_async(request)
        live.until(future.done, "the answer")
        return future.result()

    answer_every_state(live, 5)
    answer = push("base_link", 100.0)
    assert answer.success and answer.start == pytest.approx(0.005)
    answer_every_state(live, 15)
    states = live.received[topics.TRUE_JOINT_STATES]
    base = list(states[-1].name).index("base_x")
    assert max(abs(message.velocity[base]) for message in states[:6]) < 1e-9
    assert states[-1].velocity[base] > 1e-3
    refused = push("nose", 1.0)
    assert not refused.success and "pushed link 'nose' does not exist" in refused.message
    live.graph.transition("simulated_plant", "deactivate")
    assert push("base_link", 1.0).message == "the plant is not active"


def test_a_bad_configuration_is_refused_with_its_reason(live, shared):
    live.start("simulated_plant", shared, transitions=())
    for parameters, said in (
        ({"initial_position": [0.0]}, "position"),
        ({"rate": 300.0}, "no whole number of nanoseconds"),
        ({"pushes.links": ["base_link"]}, "pushes.starts needs 1 values"),
        ({"surfaces.names": ["wall"]}, "surfaces.kinds needs 1 values for 1 names"),
        (WALL | {"surfaces.names": ["wall", "wall"]}, "names of their own; given more than once: wall"),
        (WALL | {"surfaces.stiffnesses": [0.0, 1e4]}, "surface 'wall': stiffness is 0.0"),
        ({k: v for k, v in WALL.items() if "extents" not in k}, "half_extents of a box"),
        (WALL | {"surfaces.kinds": ["plane", "ball"]}, "surfaces.kinds must be one of plane, box"),
        (WALL | {"backend": "flexible_dynamics"}, "flexible_dynamics has no contact"),
        ({"friction.coulomb": [1.0, 2.0]}, "friction coulomb has 2 values"),
        ({"friction.stiction": [1.0]}, "give a positive stribeck_velocity"),
        ({"backend": "bullet"}, "backend must be one of mujoco"),
        ({"sensors.deflection.dropout_intervals": [1.0]}, "needs pairs of times"),
        # who sends joint commands does not wait for states
        ({"command_source": "joint_commands"}, "lockstep is not possible with joint_commands"),
    ):
        live.refuses("simulated_plant", parameters, said)
    live.graph.transition("simulated_plant", "configure")


def test_behind_a_hardware_interface_time_runs_and_the_arm_stands_still_until_the_first_command(live, shared):
    parameters = {**shared, "initial_position": [float(q) for q in START], "gravity": [0.0, -9.81, 0.0]}
    parameters |= {"command_source": "joint_commands", "lockstep": False, "run_until": 1e9}
    live.start("simulated_plant", parameters)
    live.listen(topics.JOINT_STATES, JointState)
    live.listen(topics.SIMULATION_STATUS, SimulationStatus)
    commands = live.publisher(topics.JOINT_COMMANDS, JointState)
    states = live.received[topics.JOINT_STATES]
    live.until(lambda: len(states) > 50, "states")
    nan = float("nan")
    names = ["joint2", "base_x", "joint1", "joint3"]  # base_x is measured only: it has no value
    commands.publish(JointState(name=names, position=[nan] * 3, effort=[nan] * 3))
    live.handled("simulated_plant")
    count = len(states)
    live.until(lambda: len(states) > count + 50, "more states")
    stamps = [stamp_to_nanoseconds(state.header.stamp) for state in states]
    assert len(set(stamps)) == len(stamps) and stamps == sorted(stamps)
    assert all(list(state.position[:3]) == list(START) for state in states)
    assert live.received[topics.SIMULATION_STATUS][-1].missed_commands == 0
    commands.publish(JointState(name=names, position=[nan] * 3, effort=[2.0, 1.0, 3.0]))
    live.until(lambda: list(states[-1].effort[:3]) == [1.0, 2.0, 3.0], "the commanded effort")
    live.until(lambda: list(states[-1].position[:3]) != list(START), "a motion")
    commands.publish(JointState(name=names[:2], effort=[1.0]))
    live.wait_for_diagnostic("simulated_plant", "command refused: joint command names joint2 of")


def test_commands_that_stay_away_are_said_and_the_next_one_is_obeyed(live, shared):
    start(live, shared, lockstep=False, command_timeout=0.05)
    live.graph.advance("simulated_plant", 60.0)
    live.until(lambda: len(live.received[topics.SIMULATION_STATUS]) > 0, "a tick")
    live.commands.publish(Float64MultiArray(data=[0.1, 0.0, 0.0]))
    live.wait_for_diagnostic("simulated_plant", "no command for 0.05 s: the drives brake and hold")
    live.until(lambda: live.received[topics.SIMULATION_STATUS][-1].command_timeouts == 1, "the count")
    live.until(lambda: abs(live.received[topics.JOINT_STATES][-1].velocity[0]) < 1e-6, "rest")
    live.commands.publish(Float64MultiArray(data=[0.1, 0.0, 0.0]))
    live.wait_for_diagnostic("simulated_plant", "commands are back")


def test_a_simulation_that_diverges_says_so_and_ends_the_process_with_an_exit_code(live, shared):
    start(live, shared, clip_effort=False)
    live.graph.advance("simulated_plant", 1.0)
    states = live.received[topics.JOINT_STATES]
    with pytest.raises(NodeDiedError, match="The simulation ends here, with exit code 1"):  # its last words
        for tick in range(1000):
            live.until(lambda tick=tick: len(each(states)) > tick, "a state")
            live.commands.publish(Float64MultiArray(data=[1e5, 0.0, 0.0]))
    assert live.processes["simulated_plant"].exit_code == 1

    def told() -> bool:
        said = [text for level, text in live.said("simulated_plant") if level == 2]
        return any("the simulated plant diverged at" in text for text in said)

    deadline = time.monotonic() + 5.0
    while not told() and time.monotonic() < deadline:
        live.spin(0.05)  # live.until() would say again that the process is dead
    assert told()
    assert live.received[topics.SIMULATION_STATUS][-1].diverged


def test_a_plant_that_is_configured_again_hears_a_command_once(live, shared):
    start(live, shared, lockstep=False)
    for transition in ("deactivate", "cleanup", "configure", "activate"):
        live.graph.transition("simulated_plant", transition)
    live.settle()
    live.until(lambda: live.node.count_subscribers(COMMANDS) == 1, "one subscription to commands")
    live.commands.publish(Float64MultiArray(data=[0.0]))
    live.wait_for_diagnostic("simulated_plant", "command refused")
    live.graph.advance("simulated_plant", 0.05)
    statuses = live.received[topics.SIMULATION_STATUS]
    live.until(lambda: bool(statuses) and statuses[-1].tick > 10, "statuses")
    assert statuses[-1].refused_commands == 1
