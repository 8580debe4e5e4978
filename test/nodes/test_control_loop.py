"""control_loop as a real node: what it says where nothing comes in that it could answer."""

from __future__ import annotations

import time

import numpy as np
import pytest
from impedance_arm import behavior, change
from other_package import install_package
from planar_messages import joint_state
from rclpy.duration import Duration
from rclpy.qos import ReliabilityPolicy, qos_profile_sensor_data
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from visualization_msgs.msg import MarkerArray

from flexarm.msg import BehaviorSet, BehaviorStatus
from flexarm.srv import SetBehaviors
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_nodes.node import topics

COMMANDS = topics.command_topic("effort")
STATE_TIMEOUT, BLIND_TIME = 0.5, 2.0  # [s] longer than as shipped: a busy machine must not stop the arm before the test
SLEEPS = 0.6  # [s] in the first tick: as code that is loaded
EARLY = 0.1  # [s] by which something may be told too early: the last joint states are sent while others are processed


SLEEPER = f"""
import time
from flexarm_core.pipeline.stage import Stage
from flexarm_nodes.node.built_stage import BuiltStage
from flexarm_nodes.node.stage.kind import StageKind

class Sleeper(Stage):
    name, needs, slept = "sleeper", frozenset(), False

    def reset(self):
        pass

    def update(self, tick):
        if not self.slept:
            time.sleep({SLEEPS})
        self.slept = True

SLEEPER = StageKind("sleeper", "sleeper", (), lambda values, model: BuiltStage(Sleeper(), None, (), sensors=SENSORS))
"""
MOODY = """
from flexarm_core.errors import InputError
from flexarm_core.pipeline.stage import Stage
from flexarm_nodes.node.built_stage import BuiltStage
from flexarm_nodes.node.diagnostics import ERROR, OK, WARN
from flexarm_nodes.node.stage.kind import StageKind

STATES = [(OK, "well"), (WARN, "uneasy"), (ERROR, "gave up"), (ERROR, "refuses")]

class Moody(Stage):
    name, needs, ticks = "moody", frozenset(), 0

    def reset(self):
        pass

    def update(self, tick):
        self.ticks += 1
        self.state = STATES[min(self.ticks // 30, 3)]
        if self.state[1] == "refuses":
            raise InputError("refuses")

def build(values, model):
    stage = Moody()
    return BuiltStage(stage, None, (), status=lambda tick: (*stage.state, {"ticks": str(stage.ticks)}))

MOODY = StageKind("moody", "moody", (), build)
"""
HOLDS = {
    "stages": ["reference_generator", "flexible_dynamics_controller", "hardware_gate"],
    "reference_generator.space": "joints",
    "reference_generator.joint_displacement": [0.0, 0.0, 0.0],
    "flexible_dynamics_controller.law": "joint_pd",
    "flexible_dynamics_controller.reference": "desired_joint_reference",
    "flexible_dynamics_controller.rate": 200.0,
    "hardware_gate.rate": 200.0,
}
PATIENT = {
    "hardware_gate.state_timeout": STATE_TIMEOUT,
    "hardware_gate.reference_timeout": STATE_TIMEOUT,
    "hardware_gate.blind_time": BLIND_TIME,
}


@pytest.fixture
def loop(live, shared):
    """A control loop that holds the arm by efforts, in real time, and the joint states of an arm at rest."""
    live.start("control_loop", {**shared, **HOLDS, **PATIENT})
    live.listen(COMMANDS, Float64MultiArray)
    live.states = live.publisher(topics.JOINT_STATES, JointState)
    live.until(lambda: live.node.count_publishers(COMMANDS) > 0, "commands")
    live.settle()
    send_states(live)
    live.wait_for_diagnostic("control_loop", "running")
    send_states(live)
    return live


def send_states(live) -> None:
    """Joint states of half a second, the last of them now."""
    for _ in range(100):
        message = joint_state(0)
        message.header.stamp = live.node.get_clock().now().to_msg()
        live.states.publish(message)
        live.spin(0.005)


def send_states_until_it_runs(live) -> None:
    """Joint states until the loop runs with the last of them: a stop of a busy machine would keep its own reason."""
    for _ in range(40):
        send_states(live)
        if live.said("control_loop")[-1][1] == "running":
            return
    raise AssertionError(f"it does not run: {live.said('control_loop')[-5:]}")


def heard(live, words: str, **values: str) -> float:
    """When the control loop says this, on a monotonic clock [s]."""
    live.until(lambda: any(words in text for text in said(live, **values)), f"'{words}' and {values}")
    return time.monotonic()


def said(live, **values: str) -> list[str]:
    """What the control loop says beside these values."""
    statuses = [one for array in live.received[topics.DIAGNOSTICS] for one in array.status]
    return [one.message for one in statuses if values.items() <= {pair.key: pair.value for pair in one.values}.items()]


def test_every_status_of_a_stage_is_said_under_its_own_name_with_its_level(live, shared, tmp_path, monkeypatch):
    install_package(tmp_path, monkeypatch, MOODY, "flexarm.stages", "moody = other:MOODY")
    live.start("control_loop", {**shared, **HOLDS, "stages": ["moody", *HOLDS["stages"]]})
    live.listen(COMMANDS, Float64MultiArray)
    live.states = live.publisher(topics.JOINT_STATES, JointState)
    live.settle()
    for _ in range(3):
        send_states(live)
    for words in ("well", "uneasy", "gave up", "refuses"):
        live.wait_for_diagnostic("moody", words)
    said = live.said("moody")
    assert {(0, "well"), (1, "uneasy"), (2, "gave up"), (2, "refuses")} <= set(said)
    statuses = [one for array in live.received[topics.DIAGNOSTICS] for one in array.status if one.name == "moody"]
    assert any(pair.key == "ticks" for one in statuses for pair in one.values)
    assert not any(level == 2 and "moody" in text for level, text in live.said("control_loop"))


def test_a_stop_is_said_where_no_joint_state_comes_any_more_and_then_the_wish_for_the_fallback(loop):
    for _ in range(5):  # a busy machine may stop the arm for a reason of its own, which the stop keeps
        send_states_until_it_runs(loop)
        for received in loop.received.values():
            received.clear()
        last = time.monotonic()
        stopped = heard(loop, "", state="controlled stop", fallback="no")
        if "controlled stop: no joint state for" in said(loop, state="controlled stop", fallback="no")[0]:
            break
    fallen = heard(loop, "no usable joint state for", fallback="yes")
    heard(loop, "tripped: no usable joint state for", state="tripped", fallback="yes")  # later on a busy machine
    reasons = said(loop, state="controlled stop", fallback="no")
    assert "controlled stop: no joint state for" in reasons[0], reasons
    assert STATE_TIMEOUT - EARLY < stopped - last < fallen - last
    assert fallen - last > BLIND_TIME - EARLY
    assert len(loop.received[COMMANDS]) > 10  # it braked all the while


def test_a_state_out_of_order_does_not_hide_that_the_gate_has_tripped(loop):
    heard(loop, "tripped", state="tripped")
    newest, older = joint_state(0), joint_state(0)
    now = loop.node.get_clock().now()
    newest.header.stamp, older.header.stamp = now.to_msg(), (now - Duration(seconds=0.02)).to_msg()
    loop.states.publish(newest)
    loop.spin(0.1)
    loop.received[topics.DIAGNOSTICS].clear()
    for _ in range(25):  # longer than the period of repeated statuses
        loop.states.publish(older)
        loop.spin(0.1)
    said = loop.said("control_loop")
    assert said and all(level == 2 and "tripped" in text for level, text in said)


def test_a_state_that_is_old_when_it_arrives_is_not_answered(loop):
    """The newest of a loop's states may be as old as the gate bears, however regularly they come."""
    send_states_until_it_runs(loop)
    for _ in range(20):
        message = joint_state(0)
        message.header.stamp = (loop.node.get_clock().now() - Duration(seconds=2.0 * BLIND_TIME)).to_msg()
        loop.states.publish(message)
        loop.spin(0.005)
    heard(loop, "s old when it arrives")


@pytest.mark.parametrize("sensors", ["()", '(("wrench", "base_ft_sensor"),)'], ids=["", "where the first waits"])
def test_a_state_that_waited_while_the_first_tick_took_its_time_is_not_answered(
    live, shared, tmp_path, monkeypatch, sensors
):
    """The first state is processed at once, or, as it waits for a reading, when the second comes."""
    code = f"SENSORS = {sensors}\n{SLEEPER}"
    install_package(tmp_path, monkeypatch, code, "flexarm.stages", "sleeper = other:SLEEPER")
    patient = {f"hardware_gate.{what}": 0.5 * SLEEPS for what in ("state_timeout", "reference_timeout")}
    given = (
        HOLDS
        | patient
        | {
            "hardware_gate.blind_time": 2.0 * SLEEPS,
            "stages": ["sleeper", *HOLDS["stages"]],
            "use_sim_time": True,
            "sensor_wait": 1.0,
        }
    )
    live.start("control_loop", shared | given)
    live.listen(COMMANDS, Float64MultiArray)
    states, clock = live.publisher(topics.JOINT_STATES, JointState), live.publisher(topics.CLOCK, Clock)
    live.settle()

    def send(tick: int) -> None:
        message = joint_state(tick)
        clock.publish(Clock(clock=message.header.stamp))
        states.publish(message)

    send(1)
    live.spin(SLEEPS / 2)
    send(6)  # as one that the middleware delivers late
    live.spin(SLEEPS + 0.05)
    for tick in range(700, 12000, 5):
        send(tick)
        live.spin(0.005)
        if any(text == "running" for _, text in live.said("control_loop")):
            break
    assert live.received[COMMANDS]
    assert [text for _, text in live.said("control_loop") if "stop" in text] == []


def test_in_real_time_publishers_that_confirm_nothing_are_heard_as_sensors_drivers_are(loop):
    loop.node.destroy_publisher(loop.states)
    loop.states = loop.node.create_publisher(JointState, topics.JOINT_STATES, qos_profile_sensor_data)
    loop.until(lambda: loop.states.get_subscription_count() > 0, "the loop's subscription")
    loop.wait_for_diagnostic("control_loop", "tripped: no usable joint state for")
    client, reset = loop.node.create_client(Trigger, "control_loop/reset"), None
    loop.until(client.service_is_ready, "the service")
    count = len(loop.said("control_loop"))

    def runs() -> bool:
        nonlocal reset
        if reset is None or (reset.done() and not reset.result().success):
            reset = client.call_async(Trigger.Request())  # it is refused until states have come
        send_states(loop)
        return any("running" in text for _, text in loop.said("control_loop")[count:])

    loop.until(runs, "'running'")


def test_behaviors_are_changed_and_shown_as_by_a_node_of_their_own(live, shared):
    stage = "behavior_impedance_controller"
    live.start(
        "control_loop",
        {
            **shared,
            "stages": [stage, "flexible_dynamics_controller", "hardware_gate"],
            f"{stage}.axes": [True, True, False, False, False, False],
            f"{stage}.status_rate": 1e4,
            "flexible_dynamics_controller.law": "joint_pd",
            "hardware_gate.lockstep": True,
        },
    )
    live.listen(topics.BEHAVIOR_STATUS, BehaviorStatus)
    live.listen(f"{stage}/markers", MarkerArray)
    states, sets = live.publisher(topics.JOINT_STATES, JointState), live.publisher(topics.BEHAVIOR_SET, BehaviorSet)
    setter = live.node.create_client(SetBehaviors, f"control_loop/{stage}/set_behaviors")
    zeroer = live.node.create_client(Trigger, f"control_loop/{stage}/zero_wrench")
    live.until(lambda: setter.service_is_ready() and zeroer.service_is_ready(), "the services")
    live.settle()
    statuses, markers = live.received[topics.BEHAVIOR_STATUS], live.received[f"{stage}/markers"]

    def active(tick: int) -> list[str]:
        states.publish(joint_state(tick))
        live.until(lambda: statuses and statuses[-1].header.stamp == joint_state(tick).header.stamp, f"tick {tick}")
        return [one.name for one in statuses[-1].behaviors]

    def ask(client, request):
        future = client.call_async(request)
        live.until(future.done, "an answer")
        return future.result()

    assert active(1) == []
    assert ask(setter, SetBehaviors.Request(set=change(behavior("shake", "dither")))).success
    sets.publish(change(behavior("ends", "joint_limits")))
    live.handled("control_loop")
    assert active(2) == ["shake", "ends"]
    answer = ask(zeroer, Trigger.Request())
    assert not answer.success
    assert answer.message == "there is no force/torque sensor at the tool"
    sets.publish(change(removed=["nobody"]))
    live.wait_for_diagnostic(stage, "behavior set refused: behavior 'nobody' cannot be removed")
    assert len(markers) == 1  # at their rate


def test_against_the_clock_samples_are_not_confirmed_and_requests_are(live, shared):
    stage = "behavior_impedance_controller"
    inner = {f"{stage}.axes": [True, True, False, False, False, False], "flexible_dynamics_controller.law": "joint_pd"}
    live.start("control_loop", {**shared, **inner, "stages": [stage, "flexible_dynamics_controller", "hardware_gate"]})

    def heard_as(topic: str) -> list[ReliabilityPolicy]:
        found = live.node.get_subscriptions_info_by_topic(topic)
        return [one.qos_profile.reliability for one in found if one.node_name == "control_loop"]

    def expected() -> bool:
        requests = heard_as(f"/{topics.BEHAVIOR_SET}") + heard_as(f"/{topics.TWIST_COMMAND}")
        samples = heard_as(f"/{topics.JOINT_STATES}")
        return samples == [ReliabilityPolicy.BEST_EFFORT] and requests == [ReliabilityPolicy.RELIABLE] * 2

    live.until(expected, "the subscriptions")
    for transition in ("deactivate", "cleanup", "configure", "activate"):
        live.graph.transition("control_loop", transition)
    live.until(expected, "the same subscriptions again")


def test_stages_know_where_a_joint_below_the_arm_was_read(live, shared):
    """In a control loop all stages and the gate are built anew; the law carries the arm where gravity acts now."""
    root = parse_robot_description(shared["robot_description"]).root
    more = (
        f'<link name="floor"/><joint name="tilt" type="revolute"><parent link="floor"/><child link="{root}"/>'
        '<axis xyz="1 0 0"/><limit lower="-2" upper="2" velocity="1" effort="100"/></joint>'
    )
    down = {"robot_description": shared["robot_description"].replace("</robot>", f"{more}</robot>")}
    down |= {
        "gravity": [0.0, -9.81, 0.0],
        "read_joints": ["tilt"],
        "hardware_gate.lockstep": True,
        "use_sim_time": True,
    }
    fast = {f"{name}.rate": 1000.0 for name in ("flexible_dynamics_controller", "hardware_gate")}
    live.start("control_loop", {**HOLDS, **down, **fast}, transitions=("configure",))
    live.listen(COMMANDS, Float64MultiArray)
    live.states = live.publisher(topics.JOINT_STATES, JointState)
    for tick, tilt in enumerate((0.5, -0.9), start=1):
        live.settle()
        live.states.publish(JointState(name=["tilt"], position=[tilt], velocity=[0.0]))
        time.sleep(0.1)
        live.graph.transition("control_loop", "activate")
        live.until(lambda: live.node.count_publishers(COMMANDS) > 0, "commands")
        live.settle()
        live.received[COMMANDS].clear()
        live.states.publish(joint_state(tick))
        live.until(lambda: bool(live.received[COMMANDS]), "a command")
        weight = np.cos(tilt) * np.array([294.3, 171.675, 24.525])  # by hand: 9.81 m/s^2, 10 kg at mid-link
        assert list(live.received[COMMANDS][0].data) == pytest.approx(weight, rel=1e-4)
        live.graph.transition("control_loop", "deactivate")
