"""base_odometry: a base whose pose and twist somebody else measures, in the place of elastic joints in joint states."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from geometry_msgs.msg import TransformStamped
from pipeline_run import sample_of
from planar_messages import joint_state
from scenario_pipeline import built_pipeline, built_plant
from sensor_msgs.msg import JointState

from flexarm.msg import FlexibleState, JointReference
from flexarm_core.errors import ConfigError, InputError
from flexarm_core.pipeline.base_odometry_stage import BaseOdometryConfig, BaseOdometryStage
from flexarm_core.pipeline.tick import Tick
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.kinematic_chain import kinematic_chain
from flexarm_core.types import FlexibleSample
from flexarm_core.types import FlexibleState as FlexibleStateRecord
from flexarm_nodes.messages.conversions import quaternion_of
from flexarm_nodes.messages.flexible import flexible_state_from_message, measured_base_form
from flexarm_nodes.node import topics
from flexarm_tools.scenario.file import load_scenario

CONFIG = Path(__file__).resolve().parents[2] / "config"
MS = 1_000_000


class Watcher:
    """Somebody who measures the pose and twist of a link that the base carries."""

    def __init__(self, model: ArmModel, link: str = "") -> None:
        self.chain = kinematic_chain(model.description, link or model.base_frame, model.elastic_joint_names)

    def __call__(self, x, rate):
        """Position, rotation and twist in its own axes."""
        position, rotation, _, jacobian, _ = self.chain.motion(np.asarray(x, dtype=float), np.zeros(len(x)))
        twist = jacobian @ rate
        return position, rotation, np.concatenate((rotation.T @ twist[:3], rotation.T @ twist[3:]))


def sample(model: ArmModel, stamp: int) -> FlexibleSample:
    still = np.zeros(model.n)
    return FlexibleSample(stamp, still, still, still)


def given(stage: BaseOdometryStage, model: ArmModel, stamp: int):
    tick = Tick(sample(model, stamp), model.m)
    stage.update(tick)
    return tick.flexible


@pytest.fixture(scope="module")
def boom() -> ArmModel:
    robot = load_scenario(CONFIG / "boom_7r" / "scenarios" / "push_damped.yaml").robot
    return ArmModel(robot.description, robot.tool_frame)


@pytest.mark.parametrize("seed", range(4))
def test_a_pose_and_a_twist_give_every_elastic_joint_and_move_on_with_their_rates(boom, seed):
    rng, stage, watch = np.random.default_rng(seed), BaseOdometryStage(boom, BaseOdometryConfig()), Watcher(boom)
    for stamp in range(0, 1000, 20):
        x, rate = rng.uniform(-0.3, 0.3, boom.m), rng.normal(size=boom.m)
        stage.take(stamp * MS, *watch(x, rate))
        state = given(stage, boom, (stamp + 7) * MS)
        assert state.stamp == (stamp + 7) * MS
        assert np.allclose(state.deflection_rate, rate) and np.allclose(state.deflection, x + 0.007 * rate)


def test_the_twist_is_the_derivative_of_the_pose(boom):
    watch, x, rate, step = Watcher(boom), np.full(boom.m, 0.1), np.linspace(-1.0, 1.0, boom.m), 1e-6
    position, rotation, twist = watch(x, rate)
    later, turned, _ = watch(x + step * rate, rate)
    spin = (turned @ rotation.T - np.eye(3)) / step
    assert np.allclose(rotation @ twist[:3], (later - position) / step, atol=1e-5)
    assert np.allclose(rotation @ twist[3:], [spin[2, 1], spin[0, 2], spin[1, 0]], atol=1e-5)


def test_what_is_no_pose_of_this_base_or_too_old_is_refused(boom, planar_3r_text):
    stage, watch = BaseOdometryStage(boom, BaseOdometryConfig()), Watcher(boom)
    none = np.zeros(boom.m)
    with pytest.raises(InputError, match="no pose"):
        given(stage, boom, 0)
    position, rotation, twist = watch(none, none)
    stage.take(1200 * MS, position, rotation, twist)
    assert np.allclose(given(stage, boom, 1290 * MS).deflection, 0.0)
    for stamp, said in ((1301, "older"), (1090, "newer")):
        with pytest.raises(InputError, match=f"s {said} than the joint state"):
            given(stage, boom, stamp * MS)
    with pytest.raises(InputError, match="not finite"):
        stage.take(1300 * MS, position, rotation, twist * np.nan)
    stage.take(1190 * MS, position + 9.0, rotation, twist)  # out of order: not looked at
    stage.take(5 * MS, *watch(none + 0.01, none))  # its clock was set back by a second
    assert np.allclose(given(stage, boom, 10 * MS).deflection, 0.01)
    stage.reset()
    assert np.allclose(given(stage, boom, 10 * MS).deflection, 0.01)
    planar = ArmModel(planar_3r_text)
    slider = BaseOdometryStage(planar, BaseOdometryConfig())
    position, rotation, twist = Watcher(planar)([0.1], np.ones(1))
    slider.take(0, position, rotation, twist)
    assert np.allclose(given(slider, planar, 0).deflection, 0.1)
    with pytest.raises(InputError, match=r"is 0.5 m and 0 rad from what the elastic joints can do"):
        slider.take(1, position + [0.0, 0.5, 0.0], rotation, twist)
    for link, said in (("no", "unknown"), (planar.tool_frame, "is moved by joint1"), ("world", "does not tell")):
        if link == "world":
            link = planar.world_frame
        with pytest.raises(ConfigError, match=said):
            BaseOdometryStage(planar, BaseOdometryConfig(link=link))


@pytest.mark.parametrize("rate", [20.0, 100.0, 500.0])
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))])
def test_twists_that_are_not_those_of_the_poses_are_refused_soon_and_right_ones_never(boom, rate, seed):
    """A base that swings, its pose with noise of 0.2 mm; the twist is right, with noise, or wrong in some way."""
    rng, watch = np.random.default_rng(seed), Watcher(boom)
    omega, phase = rng.uniform(2.0, 8.0, boom.m), rng.uniform(-np.pi, np.pi, boom.m)
    size, late = rng.uniform(5e-3, 2e-2, boom.m), 0.1 / omega.max()
    ways = {
        "right": lambda x, v, old: v + rng.normal(0.0, 5e-3, boom.m),
        "a little late": lambda x, v, old: old,
        "zero": lambda x, v, old: 0.0 * v,
        "sign": lambda x, v, old: -v,
        "degrees": lambda x, v, old: v / np.pi * 180.0,
        "one is zero": lambda x, v, old: v * (np.arange(boom.m) > 0),
    }
    for way, change in ways.items():
        stage, refused = BaseOdometryStage(boom, BaseOdometryConfig()), []
        for number in range(round(4.0 * rate)):
            t = number / rate
            x = size * np.sin(omega * t + phase)
            speed, before = (size * omega * np.cos(omega * at + phase) for at in (t, t - late))
            noisy = x + rng.normal(0.0, 2e-4, boom.m)
            try:
                stage.take(round(t * 1e9), *watch(noisy, change(x, speed, before)))
            except InputError as error:
                assert "unexplained" in str(error)
                refused.append(t)
        if way in ("right", "a little late"):
            assert not refused, way
        else:
            assert refused and refused[0] < 1.6 and refused[-1] > 3.0, way
        stage.reset()
        stage.take(4_000_000_000, *watch(x, speed))  # what was wrong is forgotten


def test_twists_are_not_judged_by_noise_nor_by_a_base_that_rests(boom):
    rng, watch = np.random.default_rng(1), Watcher(boom)
    for noise in (1e-6, 3e-3):
        stage = BaseOdometryStage(boom, BaseOdometryConfig())
        for number in range(3000):
            stage.take(number * 10 * MS, *watch(rng.normal(0.0, noise, boom.m), np.zeros(boom.m)))


@pytest.mark.parametrize("window", [0.02, 0.1])
def test_poses_alone_give_the_rate_of_half_a_window_ago(boom, window):
    watch, none = Watcher(boom), np.zeros(6)
    stage = BaseOdometryStage(boom, BaseOdometryConfig(twist_window=window))
    motion = np.linspace(0.01, 0.02, boom.m)
    for number in range(200):
        t = number * 0.01
        twist = None if number % 2 else none  # that of a message is not used
        stage.take(number * 10 * MS, *watch(motion * np.sin(5.0 * t), np.zeros(boom.m))[:2], twist)
        if number == 0:
            with pytest.raises(InputError, match="no pose"):
                given(stage, boom, 0)
        if t > window:
            state = given(stage, boom, number * 10 * MS)
            middle = 5.0 * motion * np.cos(5.0 * (t - 0.5 * window))
            assert np.allclose(state.deflection, motion * np.sin(5.0 * t), atol=1e-9)
            assert np.allclose(state.deflection_rate, middle, atol=0.03 * 5.0 * 0.02)
    stage.take(10_000 * MS, *watch(motion, np.zeros(boom.m)))  # a window begins anew: the pose before is too old
    with pytest.raises(InputError, match="older than the joint state"):
        given(stage, boom, 10_000 * MS)


def test_the_age_of_differentiated_rates_is_half_of_the_window_or_of_the_period_of_the_poses(boom):
    watch, none = Watcher(boom), np.zeros(boom.m)
    for window, period, expected in ((0.0, 10, 0.0), (0.1, 10, 0.05), (0.02, 100, 0.05)):
        stage = BaseOdometryStage(boom, BaseOdometryConfig(twist_window=window))
        assert stage.base_delay == 0.5 * window  # before any pose, so that gains are checked before the arm moves
        for number in range(4):
            stage.take(number * period * MS, *watch(none, none))
        stage.reset()
        assert stage.base_delay == pytest.approx(expected)


def test_gains_are_checked_for_the_age_of_the_rates_of_the_base_that_they_use():
    """Only those of stages that take the base from a flexible state; the joints are not late."""
    scenario = load_scenario(CONFIG / "planar_3r" / "scenarios" / "push_damped.yaml")
    law = built_pipeline(replace(scenario, rate=200.0))[0].stages[0]
    still = np.full(3, 0.5)
    for source, base in (("joint_states", 0.2), ("flexible_state", 0.01)):
        law.source = source
        law.lag(0.0, base)
        law.prepare(still)
    law.lag(0.0, 0.2)
    assert law.sampling.joint_samples == 0 and law.sampling.base_samples == 40
    with pytest.raises(ConfigError, match=r"delay of 0 ms \(base 200 ms\)"):
        law.prepare(still)
    law.lag(0.015, 0.01)  # what estimates the base from the joints is as late as these
    assert (law.sampling.joint_samples, law.sampling.base_samples) == (3, 3)
    law.lag(0.0)
    law.prepare(still)
    reactionless = built_pipeline(load_scenario(CONFIG / "trep" / "scenarios" / "fig12_paper.yaml"))[0].stages[0]
    tick = Tick(FlexibleSample(0, still[:2], still[:2], still[:2], np.zeros(1), np.zeros(1)), 1)
    for source, refused in (("joint_states", False), ("flexible_state", True)):
        reactionless.source = source
        reactionless.lag(0.0, 0.05)
        try:
            reactionless.update(tick)
            said = ""
        except InputError as error:
            said = str(error)
        assert ("with a delay of 0.05 s" in said) == refused


def test_odometry_at_100_hz_damps_a_pushed_base_as_a_sensor_at_every_sample_does():
    scenario = load_scenario(CONFIG / "planar_3r" / "scenarios" / "push_damped.yaml")
    pushes = tuple(replace(push, start=0.05) for push in scenario.pushes)
    law, gate = scenario.nodes
    law = replace(law, parameters={**law.parameters, "vibration_damping": True})
    scenario = replace(scenario, mode="lockstep", pushes=pushes, events=(), nodes=(law, gate))
    swings = []
    for every in (0, 10):
        pipeline, _, model = built_pipeline(scenario)
        plant = built_plant(scenario, model.description)
        stage, watch = BaseOdometryStage(model, BaseOdometryConfig()), Watcher(model)
        if every:
            pipeline.stages = (stage, *pipeline.stages)
            for one in (*pipeline.stages, pipeline.gate):
                if one.source:
                    one.source = "flexible_state"
        swing = []
        for number in range(4000):
            measured = plant.measure()
            true = plant.state()
            if every and number % every == 0:
                stage.take(measured.stamp, *watch(true.deflection, true.deflection_rate))
            read = sample_of(measured)
            if every:
                read = replace(read, deflection=None, deflection_rate=None)
            command = pipeline.tick(read).command
            plant.advance(command)
            swing.append(true.deflection[0])
        swings.append(np.array(swing))
    rest = [np.sqrt(np.mean(one[3000:] ** 2)) for one in swings]
    assert rest[0] < 0.2 * np.abs(swings[0]).max()
    assert np.abs(swings[1]).max() < 1.1 * np.abs(swings[0]).max() and rest[1] < 2.0 * rest[0]


nav = pytest.importorskip("nav_msgs.msg", reason="nav_msgs is not installed")


def odometry(model: ArmModel, tick: int, x: float, rate: float):
    message = nav.Odometry(child_frame_id=model.base_frame)
    message.header.frame_id, message.header.stamp = model.world_frame, joint_state(tick).header.stamp
    position, rotation, twist = Watcher(model)([x], np.array([rate]))
    pose, speed = message.pose.pose, message.twist.twist
    pose.position.x, pose.position.y, pose.position.z = position
    q = pose.orientation
    q.x, q.y, q.z, q.w = quaternion_of(rotation)
    speed.linear.x, speed.linear.y, speed.linear.z = twist[:3]
    return message


def test_each_joint_state_is_answered_with_the_motion_of_the_base_until_odometry_ends(live, shared):
    model = ArmModel(shared["robot_description"])
    live.start("base_odometry", shared)
    live.listen(topics.FLEXIBLE_STATE, FlexibleState)
    states, poses = live.publisher(topics.JOINT_STATES, JointState), live.publisher(topics.ODOMETRY, nav.Odometry)
    live.settle()
    received = live.received[topics.FLEXIBLE_STATE]

    def state(tick: int) -> None:
        message = joint_state(tick, names=["joint3", "joint1", "joint2"])
        states.publish(message)

    state(1)
    live.wait_for_diagnostic("base_odometry", "no pose of the base has come yet")
    poses.publish(odometry(model, 10, 0.02, 0.5))
    live.handled("base_odometry")
    state(14)
    live.until(lambda: len(received) == 1, "an answer")
    assert received[0].header.stamp == joint_state(14).header.stamp and list(received[0].elastic_joints) == ["base_x"]
    assert received[0].deflection[0] == pytest.approx(0.022) and received[0].deflection_rate[0] == pytest.approx(0.5)
    assert not received[0].deflection_acceleration
    wrong = odometry(model, 20, 0.0, 0.0)
    wrong.header.frame_id = "map"
    poses.publish(wrong)
    live.wait_for_diagnostic(
        "base_odometry", "it gives 'base_link' in 'map'" if model.base_frame == "base_link" else "in 'map'"
    )
    state(150)
    live.wait_for_diagnostic("base_odometry", "s older than the joint state")
    assert len(received) == 1


def test_transforms_give_the_motion_of_the_base_and_others_are_not_asked(live, shared):
    tf = pytest.importorskip("tf2_msgs.msg", reason="tf2_msgs is not installed")
    model = ArmModel(shared["robot_description"])
    live.start("base_odometry", shared | {"source": "tf", "twist_window": 0.05})
    live.listen(topics.FLEXIBLE_STATE, FlexibleState)
    states, frames = live.publisher(topics.JOINT_STATES, JointState), live.publisher(topics.TF, tf.TFMessage)
    live.settle()
    received = live.received[topics.FLEXIBLE_STATE]
    for tick in range(0, 101, 10):
        message = odometry(model, tick, 0.2e-3 * tick, 0.0)
        here, other = TransformStamped(), TransformStamped()
        here.header, here.child_frame_id = message.header, message.child_frame_id
        here.transform.translation.x = message.pose.pose.position.x
        here.transform.translation.y = message.pose.pose.position.y
        here.transform.translation.z = message.pose.pose.position.z
        here.transform.rotation = message.pose.pose.orientation
        other.header.frame_id, other.child_frame_id = "map", "odom"
        frames.publish(tf.TFMessage(transforms=[other, here]))
    live.handled("base_odometry")
    states.publish(joint_state(104, names=["joint3", "joint1", "joint2"]))
    live.until(lambda: len(received) == 1, "an answer")
    assert received[0].deflection_rate[0] == pytest.approx(0.2) and received[0].deflection[0] == pytest.approx(0.0208)


def test_a_chain_of_transforms_of_several_nodes_gives_the_motion_of_the_base_until_it_is_broken(live, shared):
    """Map in odom is told slowly, vehicle in odom fast, mast in vehicle once; mast in map is asked."""
    tf = pytest.importorskip("tf2_msgs.msg", reason="tf2_msgs is not installed")
    model = ArmModel(shared["robot_description"])
    given = shared | {"source": "tf", "twist_window": 0.1, "world_frame": "map", "child_frame": "mast"}
    fixed = live.node.create_publisher(tf.TFMessage, topics.TF_STATIC, topics.FRAMES)

    def told(parent: str, child: str, tick: int, x: float) -> TransformStamped:
        one = TransformStamped(child_frame_id=child)
        one.header.frame_id, one.header.stamp = parent, joint_state(tick).header.stamp
        one.transform.translation.x, one.transform.rotation.w = x, 1.0
        return one

    fixed.publish(tf.TFMessage(transforms=[told("vehicle", "mast", 0, 0.3)]))
    live.start("base_odometry", given)
    live.listen(topics.FLEXIBLE_STATE, FlexibleState)
    states = live.publisher(topics.JOINT_STATES, JointState)
    slow, fast = (live.publisher(topics.TF, tf.TFMessage) for _ in range(2))
    live.settle()
    received, home = live.received[topics.FLEXIBLE_STATE], Watcher(model)([0.0], np.zeros(1))[0][0]
    names = ["joint3", "joint1", "joint2"]
    states.publish(joint_state(1, names=names))
    live.wait_for_diagnostic("base_odometry", "no transforms connect 'mast' with 'map'")
    for tick in range(0, 201, 10):
        x = home + 0.2e-3 * tick
        if tick % 50 == 0:
            slow.publish(tf.TFMessage(transforms=[told("odom", "map", tick, -0.5 - 0.1e-3 * tick)]))
        fast.publish(tf.TFMessage(transforms=[told("odom", "vehicle", tick, x - 0.8 - 0.1e-3 * tick)]))
    live.handled("base_odometry")
    states.publish(joint_state(204, names=names))
    live.until(lambda: len(received) == 1, "an answer")
    assert received[0].deflection_rate[0] == pytest.approx(0.2, abs=1e-6)
    assert received[0].deflection[0] == pytest.approx(0.0408, abs=1e-6)
    fast.publish(tf.TFMessage(transforms=[told("elsewhere", "vehicle", 210, 0.0)]))
    live.wait_for_diagnostic("base_odometry", "'vehicle' from 'odom' to 'elsewhere' was moved")
    states.publish(joint_state(400, names=names))
    live.wait_for_diagnostic("base_odometry", "s older than the joint state, allowed is max_age: no transforms connect")
    assert len(received) == 1


def test_a_control_loop_counts_the_age_of_differentiated_poses_in_the_gains_of_its_law(live, shared):
    law, gate = "rns_vibration_controller", "hardware_gate"
    parameters = {f"{law}.task": "hold", f"{law}.base_state_source": "flexible_state", f"{gate}.lockstep": True}
    parameters |= {f"{name}.rate": 200.0 for name in (law, gate)}
    parameters |= {"stages": ["base_odometry", law, gate], f"{gate}.base_state_source": "flexible_state"}
    live.start("control_loop", shared | parameters | {"base_odometry.twist_window": 0.4, "use_sim_time": True})
    states, poses = live.publisher(topics.JOINT_STATES, JointState), live.publisher(topics.ODOMETRY, nav.Odometry)
    live.settle()
    names = ["joint3", "joint1", "joint2"]
    for tick in range(0, 100, 20):
        poses.publish(odometry(ArmModel(shared["robot_description"]), tick, 0.0, 0.0))
    live.handled("control_loop")
    states.publish(joint_state(100, names=names))
    live.wait_for_diagnostic("control_loop", "a delay of 0 ms (base 200 ms) at 200 Hz")


@pytest.mark.parametrize(("window", "refused"), [(0.4, True), (0.02, False)])
def test_a_law_in_another_node_refuses_gains_that_do_not_bear_the_delay_that_the_messages_tell(
    live, shared, window, refused
):
    law = "rns_vibration_controller"
    live.start("base_odometry", shared | {"twist_window": window})
    live.start(law, shared | {"task": "hold", "base_state_source": "flexible_state", "rate": 200.0})
    live.listen(topics.FLEXIBLE_STATE, FlexibleState)
    live.listen(topics.JOINT_REFERENCE, JointReference)
    states, poses = live.publisher(topics.JOINT_STATES, JointState), live.publisher(topics.ODOMETRY, nav.Odometry)
    live.settle()
    model, told = ArmModel(shared["robot_description"]), live.received[topics.FLEXIBLE_STATE]
    said = "a delay of 0 ms (base 200 ms) at 200 Hz"
    for number, tick in enumerate(range(0, 20_000, 5)):  # at most: the two nodes may find each other late
        poses.publish(odometry(model, tick, 0.0, 0.0))
        live.handled("base_odometry")
        states.publish(joint_state(tick, names=["joint3", "joint1", "joint2"]))
        if number:
            live.until(lambda tick=tick: told and told[-1].header.stamp == joint_state(tick).header.stamp, "an answer")
        refusals = [message for _, message in live.said(law) if said in message]
        if refusals or live.received[topics.JOINT_REFERENCE]:
            break
    assert {one.rate_delay for one in told} == {0.5 * window}
    assert bool(refusals) == refused and bool(live.received[topics.JOINT_REFERENCE]) == (not refused)


def test_a_delay_that_a_message_cannot_mean_is_refused(boom):
    stage = BaseOdometryStage(boom, BaseOdometryConfig(twist_window=0.1))
    message = measured_base_form(
        FlexibleStateRecord(0, *[np.zeros(boom.m)] * 3, *[np.zeros(0)] * 3, rate_delay=stage.base_delay),
        boom.elastic_joint_names,
    ).message()
    assert flexible_state_from_message(message, boom.elastic_joint_names, ()).rate_delay == 0.05
    for wrong in (-0.1, np.nan, np.inf, 9.0):
        message.rate_delay = wrong
        with pytest.raises(InputError, match="rate_delay is"):
            flexible_state_from_message(message, boom.elastic_joint_names, ())


def test_transforms_without_a_window_are_refused(live, shared):
    live.start("base_odometry", shared, transitions=())
    live.refuses("base_odometry", shared | {"source": "tf"}, "transforms have no twist: twist_window must be > 0")
