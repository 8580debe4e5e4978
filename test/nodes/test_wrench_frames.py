"""Wrenches in other frames than the sensor's: transformed as Pinocchio does, refused where the frame is not known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio
import pytest
import robots
from coupled_arms import FreeJoints, coupled_arm
from geometry_msgs.msg import TransformStamped
from rclpy.serialization import serialize_message
from sensed_arm import NODE, Core, SensedArm, sensed_arm_of_a_module, wrench_message  # noqa: F401
from sensor_msgs.msg import JointState

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.transforms import roll_pitch_yaw_to_rotation
from flexarm_core.types import BaseWrenchSample
from flexarm_nodes.messages.cdr import message_reader
from flexarm_nodes.messages.conversions import doubles, nanoseconds_to_stamp
from flexarm_nodes.node import topics
from flexarm_nodes.node.input.readings import Readings

NONE = np.zeros(3)


@dataclass
class Told:
    """Transforms, as a message has them."""

    transforms: list[TransformStamped]


SENSORS = [("wrench", "base_ft_sensor"), ("wrench", "tool_ft_sensor")]
NAMED = ["tool0_controller=tool0 0.02 0 0.1 0.1 -0.2 1.5", "flange=l2"]
BENT = np.array([0.0, 0.6, 0.2, 1.2, -0.3, 0.8, 0.1])


def joint_state(stamp: int, names, position) -> bytes:
    message = JointState(name=list(names), position=doubles(position), velocity=doubles(0.0 * position))
    message.header.stamp = nanoseconds_to_stamp(stamp)
    return bytes(serialize_message(message))


def placed(free: FreeJoints, q, frame: str) -> pinocchio.SE3:
    """Pose of a frame in the root link, also of those in NAMED."""
    position, rotation = free.pose(q, {"tool0_controller": "tool0", "flange": "l2"}.get(frame, frame))
    found = pinocchio.SE3(rotation, position)
    if frame == "tool0_controller":
        found = found * pinocchio.SE3(roll_pitch_yaw_to_rotation(0.1, -0.2, 1.5), np.array([0.02, 0.0, 0.1]))
    return found


@pytest.mark.parametrize("seed", range(6))
def test_a_wrench_in_any_frame_is_what_pinocchio_sees_in_that_of_the_sensor(seed):
    arm = coupled_arm(seed)
    model, free, rng = ArmModel(arm.text), FreeJoints(arm, NONE), np.random.default_rng(seed)
    readings = Readings(model, SENSORS, frames=NAMED)
    names = (*model.joint_names, *model.elastic_joint_names)
    frames = [*model.description.links, "tool0_controller", "flange"]
    for stamp in range(1, 200):
        q, sensor = rng.uniform(-0.5, 0.5, len(names)), SENSORS[stamp % 2]
        frame, wrench = frames[stamp % len(frames)], rng.standard_normal(6)
        at_sensor = placed(free, q, model.description.force_torque_sensors[sensor[1]].frame)
        wanted = (at_sensor.inverse() * placed(free, q, frame)).act(pinocchio.Force(wrench)).vector
        message = wrench_message(stamp, frame, wrench)
        if stamp % 3:  # straight from the bytes, where only numbers have changed since the last one
            readings.take_raw(sensor, bytes(serialize_message(message)), message_reader(type(message)))
        else:
            readings.take(sensor, message)
        sample = readings.sample(readings.joints(joint_state(stamp, names, q)))
        assert np.allclose(sample.wrenches[sensor[1]], wanted, atol=1e-12), (frame, sensor)


def test_the_same_words_are_read_from_the_bytes_and_a_moving_frame_moves_with_every_sample():
    arm = coupled_arm(1)
    model, free, rng = ArmModel(arm.text), FreeJoints(arm, NONE), np.random.default_rng(2)
    readings, names = Readings(model, SENSORS[:1]), (*model.joint_names, *model.elastic_joint_names)
    for stamp in range(1, 20):
        q, wrench = rng.uniform(-0.5, 0.5, len(names)), rng.standard_normal(6)
        message = wrench_message(stamp, "tool0", wrench)
        readings.take_raw(SENSORS[0], bytes(serialize_message(message)), message_reader(type(message)))
        wanted = (placed(free, q, "foot").inverse() * placed(free, q, "tool0")).act(pinocchio.Force(wrench)).vector
        sample = readings.sample(readings.joints(joint_state(stamp, names, q)))
        assert np.allclose(sample.wrenches["base_ft_sensor"], wanted, atol=1e-12)


def test_an_older_reading_is_transformed_with_the_present_positions():
    arm = coupled_arm(1)
    model, free, rng = ArmModel(arm.text), FreeJoints(arm, NONE), np.random.default_rng(3)
    readings, names = Readings(model, SENSORS[:1]), (*model.joint_names, *model.elastic_joint_names)
    wrench, (q, now) = rng.standard_normal(6), rng.uniform(-0.5, 0.5, (2, len(names)))
    readings.take(SENSORS[0], wrench_message(10_000_000, "tool0", wrench))
    readings.sample(readings.joints(joint_state(10_000_000, names, q)))
    sample = readings.sample(readings.joints(joint_state(20_000_000, names, now)))
    stamp, found = sample.other_wrenches["base_ft_sensor"]
    wanted = (placed(free, now, "foot").inverse() * placed(free, now, "tool0")).act(pinocchio.Force(wrench)).vector
    assert stamp == 10_000_000 and not sample.wrenches and np.allclose(found, wanted, atol=1e-12)


def test_an_unknown_frame_is_refused_with_those_that_are_known_and_nothing_else_is_lost():
    arm = coupled_arm(1)
    model = ArmModel(arm.text)
    readings, names = Readings(model, SENSORS, frames=NAMED), (*model.joint_names, *model.elastic_joint_names)
    readings.take(SENSORS[1], wrench_message(5, "tool0", np.ones(6)))
    with pytest.raises(InputError, match="in frame 'nowhere', sensor 'base_ft_sensor' measures in 'foot'; known frames:"
                       " tool0_controller, flange, world, .* others are named in wrench_frames"):  # fmt: skip
        readings.take(SENSORS[0], wrench_message(5, "nowhere", np.ones(6)))
    sample = readings.sample(readings.joints(joint_state(5, names, np.zeros(len(names)))))
    assert sample.rejected == {"base_ft_sensor": "in frame 'nowhere'"} and [*sample.wrenches] == ["tool_ft_sensor"]
    readings.take(SENSORS[0], wrench_message(6, "foot", np.ones(6)))
    sample = readings.sample(readings.joints(joint_state(6, names, np.zeros(len(names)))))
    assert np.array_equal(sample.wrenches["base_ft_sensor"], np.ones(6))


def transform(parent: str, child: str, pose: pinocchio.SE3, norm: float = 1.0) -> TransformStamped:
    told = TransformStamped(child_frame_id=child)
    told.header.frame_id = parent
    shift, turn = told.transform.translation, told.transform.rotation
    shift.x, shift.y, shift.z = pose.translation
    turn.x, turn.y, turn.z, turn.w = norm * pinocchio.Quaternion(pose.rotation).coeffs()
    return told


@pytest.mark.parametrize("prefix", ["", "left/"])
def test_a_frame_that_static_transforms_fix_to_a_link_is_known_as_soon_as_they_have_come(prefix):
    arm = coupled_arm(3)
    model, free, rng = ArmModel(arm.text), FreeJoints(arm, NONE), np.random.default_rng(5)
    readings, names = Readings(model, SENSORS[:1], prefix=prefix), (*model.joint_names, *model.elastic_joint_names)
    near, far, other = (pinocchio.SE3.Random() for _ in range(3))
    with pytest.raises(InputError, match="fixed to a link on /tf_static"):
        readings.take(SENSORS[0], wrench_message(1, "tip", np.ones(6)))
    one, two = Told([transform(prefix + "tool0", "camera", near)]), Told([transform("camera", "tip", far)])
    above = Told([transform("stand_of_driver", prefix + "l2", other)])
    for message in (two, one, above):  # in any order, of several publishers
        readings.take_frames(message, fixed=True)
    placed_in = {"camera": near, "tip": near * far}
    for stamp, frame in enumerate(("camera", "tip", "stand_of_driver", "tip"), 2):
        q, wrench = rng.uniform(-0.5, 0.5, len(names)), rng.standard_normal(6)
        link = (
            placed(free, q, "l2") * other.inverse()
            if frame == "stand_of_driver"
            else placed(free, q, "tool0") * placed_in[frame]
        )
        readings.take(SENSORS[0], wrench_message(stamp, frame, wrench))
        sample = readings.sample(readings.joints(joint_state(stamp, names, q)))
        wanted = (placed(free, q, "foot").inverse() * link).act(pinocchio.Force(wrench)).vector
        assert np.allclose(sample.wrenches["base_ft_sensor"], wanted, atol=1e-9), frame
    readings.take_frames(Told([transform("camera", "tip", near)]), fixed=True)  # it was calibrated anew
    readings.take(SENSORS[0], wrench_message(9, "tip", wrench))
    sample = readings.sample(readings.joints(joint_state(9, names, q)))
    link = placed(free, q, "tool0") * near * near
    wanted = (placed(free, q, "foot").inverse() * link).act(pinocchio.Force(wrench)).vector
    assert np.allclose(sample.wrenches["base_ft_sensor"], wanted, atol=1e-9)


def test_a_frame_has_the_parent_that_was_told_last_and_in_a_ring_none():
    """As in tf2: a camera that was moved from the tool to the foot is no longer on the tool."""
    model, rng = ArmModel(coupled_arm(3).text), np.random.default_rng(6)
    readings, names = Readings(model, SENSORS[:1]), (*model.joint_names, *model.elastic_joint_names)
    first, second, tip = (pinocchio.SE3.Random() for _ in range(3))
    told = transform("tool0", "camera", first), transform("camera", "tip", tip), transform("foot", "camera", second)
    for one in told:
        readings.take_frames(Told([one]), fixed=True)
    wrench = rng.standard_normal(6)
    readings.take(SENSORS[0], wrench_message(1, "tip", wrench))
    sample = readings.sample(readings.joints(joint_state(1, names, rng.uniform(-0.5, 0.5, len(names)))))
    wanted = (second * tip).act(pinocchio.Force(wrench)).vector
    assert np.allclose(sample.wrenches["base_ft_sensor"], wanted, atol=1e-9)
    readings.take_frames(Told([transform("tip", "camera", first)]), fixed=True)
    with pytest.raises(InputError, match="in frame 'tip'"):
        readings.take(SENSORS[0], wrench_message(2, "tip", wrench))


def test_transforms_that_are_no_poses_are_named_and_the_others_taken():
    readings, still = Readings(ArmModel(coupled_arm(1).text), SENSORS[:1]), pinocchio.SE3.Identity()
    lost = transform("tool0", "lost", still)
    lost.transform.translation.x = np.nan
    far = transform("tool0", "far", still)
    far.transform.translation.y = 1e300
    told = [transform("tool0", "short", still, norm=0.5), lost, far, transform("tool0", "good", still)]
    with pytest.raises(InputError, match="'short' in 'tool0', 'lost' in 'tool0', 'far' in 'tool0' is no pose"):
        readings.take_frames(Told(told), fixed=True)
    readings.take(SENSORS[0], wrench_message(1, "good", np.ones(6)))
    for frame in ("lost", "short", "far", "", "/tool0"):
        with pytest.raises(InputError, match="in frame"):
            readings.take(SENSORS[0], wrench_message(2, frame, np.ones(6)))


@pytest.mark.parametrize(
    "named",
    ["tcp", "tcp=", "=tool0", "tcp=nowhere", "tcp=tool0 1 2", "tcp=tool0 0 0 0 0 0 x", "tcp=l1 0 0 0 0 0 nan", "l1=l2",
     "l1=l1 +++++", "tcp=tool0 +-+-+- 0 0 0 0 0 0"],
)  # fmt: skip
def test_frames_that_are_not_named_well_are_refused(named):
    with pytest.raises(ConfigError, match="wrench_frames: '"):
        Readings(ArmModel(coupled_arm(1).text), SENSORS, frames=[named])


def test_signs_of_a_frame_turn_components_of_its_wrenches():
    arm = coupled_arm(2)
    model = ArmModel(arm.text)
    names = (*model.joint_names, *model.elastic_joint_names)
    home = model.description.force_torque_sensors["tool_ft_sensor"].frame
    signed = Readings(model, SENSORS, frames=["left=tool0 0.1 0 0 0 0 1.0 ++-++-", f"{home}={home} ------"])
    plain = Readings(model, SENSORS, frames=["left=tool0 0.1 0 0 0 0 1.0"])
    signs, wrench = np.array([1.0, 1.0, -1.0, 1.0, 1.0, -1.0]), np.arange(1.0, 7.0)
    found = []
    for readings, given in ((signed, wrench), (plain, signs * wrench)):
        readings.take(SENSORS[0], wrench_message(5, "left", given))
        readings.take(SENSORS[1], wrench_message(5, home, wrench))
        found.append(readings.sample(readings.joints(joint_state(5, names, np.zeros(len(names))))).wrenches)
    assert np.allclose(found[0]["base_ft_sensor"], found[1]["base_ft_sensor"])
    assert np.array_equal(found[0]["tool_ft_sensor"], -wrench) and np.array_equal(found[1]["tool_ft_sensor"], wrench)


def test_a_frame_that_is_named_twice_is_refused():
    with pytest.raises(ConfigError, match="wrench_frames: 'tcp' is a link, or named twice"):
        Readings(ArmModel(coupled_arm(1).text), SENSORS, frames=["tcp=tool0", "tcp=l1"])


def test_between_a_sensor_and_a_frame_no_link_may_bend():
    text = load_robot_description(robots.URDF / "flexible_2r.urdf.xacro")
    first = next(iter(ArmModel(text).description.flexible_links))
    for home, frame, bends in ((None, "tool0", True), (None, first, False), (first, "tool0", True)):
        moved = text if home is None else text.replace(">base_link</param>", f">{home}</param>")
        readings = Readings(ArmModel(moved), SENSORS[:1])
        assert home is None or moved != text
        if bends:
            with pytest.raises(InputError, match="bends between them: give the wrench in"):
                readings.take(SENSORS[0], wrench_message(5, frame, np.ones(6)))
        else:
            readings.take(SENSORS[0], wrench_message(5, frame, np.ones(6)))


@pytest.fixture(name="arm")
def configured_anew(sensed: SensedArm) -> SensedArm:
    sensed.configure(wrench_frames=["tool0_controller=tool0 0 0 0.1 0 0 0"])
    return sensed


def test_the_node_takes_the_wrench_of_a_driver_in_a_frame_of_its_own(arm):
    core, rng = Core("arm_7r"), np.random.default_rng(4)
    model = pinocchio.buildModelFromXML(arm.text)
    data = model.createData()
    order = [model.joints[model.getJointId(name)].idx_q for name in arm.names]
    for tick, frame in enumerate(("tool0_controller", "tool0", arm.frame, "tool0_controller"), 1):
        position, wrench, full = BENT + 0.1 * tick, rng.standard_normal(6), np.zeros(model.nq)
        full[order] = position
        pinocchio.framesForwardKinematics(model, data, full)
        tool, sensor = (data.oMf[model.getFrameId(name)] for name in ("tool0", arm.frame))
        where = {arm.frame: sensor, "tool0": tool}.get(
            frame, tool * pinocchio.SE3(np.eye(3), np.array([0.0, 0.0, 0.1]))
        )
        seen = (sensor.inverse() * where).act(pinocchio.Force(wrench)).vector
        arm.tick = tick
        arm.send_wrench(wrench, frame=frame)
        arm.send_state(position, np.zeros(7), np.zeros(7))
        expected = core.estimate(BaseWrenchSample(tick * arm.period, position, np.zeros(7), np.zeros(7), seen))
        found = arm.estimate()
        assert found.valid and np.allclose(
            [getattr(found.wrench.force, axis) for axis in "xyz"], expected.wrench[:3], atol=1e-9
        )
        assert np.allclose(found.torque, expected.torque, atol=1e-9, equal_nan=True), frame
    arm.tick += 1
    arm.send_wrench(np.zeros(6), frame="tcp")
    arm.send_state(BENT)
    assert list(arm.estimate().left_out) == ["base_ft_sensor: in frame 'tcp'"]
    arm.live.wait_for_diagnostic(
        NODE, f"wrench is in frame 'tcp', sensor 'base_ft_sensor' measures in '{arm.frame}'; known"
    )
    arm.tick += 1
    arm.send_wrench(np.zeros(6), frame="tool0_controller")
    arm.send_state(BENT)
    assert arm.estimate().valid


def test_the_node_takes_a_wrench_in_a_frame_of_tf_static_and_says_where_it_is_not_known(sensed):
    tf = pytest.importorskip("tf2_msgs.msg", reason="tf2_msgs is not installed")
    frames = sensed.live.node.create_publisher(tf.TFMessage, "/tf_static", topics.FRAMES)
    pose = pinocchio.SE3(np.eye(3), np.array([0.0, 0.0, 0.1]))
    sensed.configure(wrench_frames=["like_it=tool0 0 0 0.1 0 0 0"])
    sensed.tick = 1
    sensed.send_wrench(np.ones(6), frame="driver_ft")
    sensed.send_state(BENT)
    assert list(sensed.estimate().left_out) == ["base_ft_sensor: in frame 'driver_ft'"]
    sensed.live.wait_for_diagnostic(NODE, "wrench is in frame 'driver_ft'")
    frames.publish(tf.TFMessage(transforms=[transform("tool0", "driver_ft", pose)]))
    found = []
    for anew in (False, True):  # transforms that came before the node was configured, too
        if anew:
            sensed.configure(wrench_frames=["like_it=tool0 0 0 0.1 0 0 0"])
        for frame in ("driver_ft", "like_it"):

            def is_known(frame=frame) -> bool:  # once the transforms have come
                sensed.tick += 1
                sensed.send_wrench(np.arange(1.0, 7.0), frame=frame)
                sensed.send_state(BENT)
                return sensed.estimate().valid

            sensed.live.until(is_known, f"a wrench in '{frame}'")
            found.append([getattr(sensed.estimates[-1].wrench.force, axis) for axis in "xyz"])
        assert np.allclose(found[-1], found[-2], atol=1e-9)
    sensed.live.node.destroy_publisher(frames)


def test_a_sensor_whose_clock_was_ahead_is_used_again_as_soon_as_it_is_right(sensed):
    sensed.configure()
    for tick in range(1, 21):
        sensed.tick = tick
        stamp = tick * sensed.period if tick in (1, 20) else 1_800_000_000_000_000_000 + tick
        sensed.wrenches.publish(wrench_message(stamp, sensed.frame, np.ones(6)))
        sensed.send_state(BENT)
        estimate = sensed.estimate()
        assert estimate.valid is (tick in (1, 20)), (tick, list(estimate.left_out))
    sensed.tick += 1
    sensed.send_state(BENT)
    assert list(sensed.estimate().left_out) == ["base_ft_sensor: missing"]
    sensed.live.wait_for_diagnostic(NODE, "missing; the nearest wrench is stamped 0.002 s before the joint state: does")


@pytest.mark.parametrize("prefix", ["left/", "/left/"])
def test_the_prefix_of_an_arm_is_read_with_a_slash_and_without(sensed, prefix):
    sensed.configure(frame_prefix=prefix)
    for frame in ("tool0", "left/tool0", "/left/tool0", "right/tool0"):
        sensed.tick += 1
        sensed.send_wrench(np.ones(6), frame=frame)
        sensed.send_state(BENT)
        assert sensed.estimate().valid is (frame != "right/tool0"), frame


def test_a_wrench_that_no_sensor_measures_is_refused(sensed):
    sensed.configure()
    for tick, force in ((1, 1.0), (2, 1e300), (3, 2.0), (4, np.inf), (5, 1.0)):  # from bytes of the same words, too
        sensed.tick = tick
        sensed.send_wrench(np.full(6, force))
        sensed.send_state(BENT)
        assert sensed.estimate().valid is (force < 10.0), force
    sensed.live.wait_for_diagnostic(NODE, "base_wrench: 1e+300 is more than a sensor measures")


def test_the_node_takes_a_wrench_in_a_frame_that_tf_moves_while_it_is_told(sensed):
    tf = pytest.importorskip("tf2_msgs.msg", reason="tf2_msgs is not installed")
    frames = sensed.live.node.create_publisher(tf.TFMessage, "/tf", 10)
    fixed = sensed.live.node.create_publisher(tf.TFMessage, "/tf_static", topics.FRAMES)
    sensed.configure(wrench_frames=["like_it=tool0 0 0.1 0.2 0 0 0"])
    fixed.publish(
        tf.TFMessage(transforms=[transform("finger", "pad", pinocchio.SE3(np.eye(3), np.array([0, 0, 0.2])))])
    )

    def force(frame: str, tick: int) -> list[float]:
        sensed.tick = tick
        sensed.send_wrench(np.arange(1.0, 7.0), frame=frame)
        sensed.send_state(BENT)
        estimate = sensed.estimate()
        assert estimate.valid, list(estimate.left_out)
        return [*(getattr(estimate.wrench.force, axis) for axis in "xyz"),
                *(getattr(estimate.wrench.torque, axis) for axis in "xyz")]  # fmt: skip

    sensed.tick = 1
    sensed.send_wrench(np.ones(6), frame="pad")
    sensed.send_state(BENT)
    assert list(sensed.estimate().left_out) == ["base_ft_sensor: in frame 'pad'"]
    sensed.live.settle()  # /tf is heard from now on
    for tick, y in ((2, 0.3), (4, 0.1)):
        told = transform("tool0", "finger", pinocchio.SE3(np.eye(3), np.array([0.0, y, 0.0])))
        told.header.stamp = nanoseconds_to_stamp(tick * sensed.period)
        frames.publish(tf.TFMessage(transforms=[told]))
    sensed.live.handled(NODE)
    assert np.allclose(force("pad", 5), force("like_it", 6), atol=1e-9)
    for tick in range(200, 215):
        sensed.tick = tick
        sensed.send_wrench(np.ones(6), frame="pad")
        sensed.send_state(BENT)
        assert list(sensed.estimate().left_out) == ["base_ft_sensor: in frame 'pad'"]
    sensed.live.wait_for_diagnostic(NODE, "s older, at most 0.1 s are accepted: publish it more often, with the clock")
    for tick, said in ((300, []), *((tick, ["base_ft_sensor: in frame 'pad'"]) for tick in range(400, 405))):
        sensed.tick = tick  # the words of the message are known from the first of these
        if not said:
            told = transform("tool0", "finger", pinocchio.SE3.Identity())
            told.header.stamp = nanoseconds_to_stamp(tick * sensed.period)
            frames.publish(tf.TFMessage(transforms=[told]))
            sensed.live.handled(NODE)
        sensed.send_wrench(np.ones(6), frame="pad")
        sensed.send_state(BENT)
        assert list(sensed.estimate().left_out) == said
    for publisher in (frames, fixed):
        sensed.live.node.destroy_publisher(publisher)
