"""Joint states of several publishers that each know a part of the arm."""

from __future__ import annotations

from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

from flexarm_nodes.messages.joint_state_parts import JointStateParts

ARM = ("a", "b", "c")
MS = 1_000_000


def part(stamp: int, **joints: tuple[float, ...]) -> bytes:
    """A joint state: position, velocity and perhaps effort of joints."""
    message = JointState(name=list(joints), position=[x[0] for x in joints.values()])
    message.velocity = [x[1] for x in joints.values()]
    message.effort = [x[2] for x in joints.values() if len(x) > 2]
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 1_000_000_000)
    return bytes(serialize_message(message))


def read(raw: bytes | None) -> tuple[int, dict[str, tuple[float, float]], list[float]]:
    assert raw is not None
    message = deserialize_message(raw, JointState)
    stamp = message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec
    rows = zip(message.name, message.position, message.velocity, strict=True)
    return stamp, {name: (q, v) for name, q, v in rows}, list(message.effort)


def test_parts_make_one_joint_state_as_soon_as_every_joint_has_come_anew():
    join = JointStateParts(ARM, ("mast",))
    assert join(part(10 * MS, a=(1.0, 0.5, 7.0), finger=(9.0, 9.0, 9.0))) is None
    stamp, joints, efforts = read(join(part(12 * MS, c=(3.0, 0.0, 9.0), b=(2.0, -1.0, 8.0))))
    assert stamp == 12 * MS and joints == {"a": (1.001, 0.5), "b": (2.0, -1.0), "c": (3.0, 0.0)}
    assert sorted(efforts) == [7.0, 8.0, 9.0]
    for fast in range(3):  # the slowest publisher gives the rate
        assert join(part((20 + fast) * MS, b=(2.0, 0.0), c=(3.0, 0.0))) is None
    stamp, joints, efforts = read(join(part(21 * MS, a=(1.1, 0.0), mast=(0.1, 0.0))))
    assert stamp == 22 * MS and joints["a"][0] == 1.1 and joints["mast"] == (0.1, 0.0) and not efforts


def test_parts_that_are_too_far_apart_do_not_belong_together():
    join = JointStateParts(ARM)
    assert join(part(10 * MS, a=(1.0, 0.0))) is None
    assert join(part(40 * MS, b=(2.0, 0.0), c=(3.0, 0.0))) is None
    assert read(join(part(45 * MS, a=(1.0, 0.0))))[0] == 45 * MS
    assert join(part(10_000 * MS, a=(1.0, 0.0))) is None
    assert join(part(5 * MS, b=(2.0, 0.0), c=(3.0, 0.0))) is None  # the clock was set back
    assert read(join(part(6 * MS, a=(1.0, 0.0))))[0] == 6 * MS


def test_what_is_no_part_is_left_to_its_reader():
    join = JointStateParts(ARM)
    whole = part(10, a=(1.0, 0.0), b=(2.0, 0.0), c=(3.0, 0.0))
    torn = JointState(name=["a"], position=[1.0])
    for raw in (whole, bytes(serialize_message(torn)), bytes(serialize_message(JointState())), b"\x00\x01\x00\x00"):
        assert join(raw) == raw
    assert join(part(10, finger=(1.0, 0.0))) is None
    fingers = JointState(name=["f", "a", "f"], position=[9.0, 1.0, 8.0], velocity=[0.0] * 3)  # others' names may repeat
    assert join(bytes(serialize_message(fingers))) is None
