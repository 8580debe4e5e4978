"""Prepared messages: numbers are where the layout says, and bytes with new numbers are those of the message itself."""

from __future__ import annotations

import contextlib
import re
from types import SimpleNamespace

import numpy as np
import pytest
from filled_messages import fill
from geometry_msgs.msg import WrenchStamped
from rclpy.serialization import deserialize_message, serialize_message
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Float64MultiArray

from flexarm.msg import (
    BaseReaction,
    BaseWrenchEstimate,
    BehaviorStatus,
    CartesianReference,
    FlexibleState,
    JointReference,
    RedundancyState,
    SimulationStatus,
    StrainState,
)
from flexarm_core.errors import InputError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import JointReference as JointReferenceRecord
from flexarm_nodes.messages.conversions import joint_reference_form, wrench_form
from flexarm_nodes.messages.flexible import imu_form
from flexarm_nodes.messages.form import Form, Template
from flexarm_nodes.messages.layout import FlatReader, layout_of
from flexarm_nodes.node.input.readings import Readings
from flexarm_nodes.node.output.sender import LOOK_AGAIN, Sender
from flexarm_nodes.node.topics import EVERY_SAMPLE

KINDS = (
    BaseReaction, BaseWrenchEstimate, BehaviorStatus, CartesianReference, Clock, FlexibleState, Float64MultiArray, Imu,
    JointReference, JointState, RedundancyState, SimulationStatus, StrainState, WrenchStamped,
)  # fmt: skip
STAMP = 12_345_678_901


def value_of(message, path: str):
    """The value of a field, as in ``behaviors[1].share``."""
    for name, place in re.findall(r"([a-z_0-9]*[a-z_][a-z_0-9]*)|\[(\d+)\]", path):
        message = getattr(message, name) if name else message[int(place)]
    return message


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_numbers_are_where_the_layout_says_and_messages_with_the_same_words_share_it(kind):
    rng = np.random.default_rng(3)
    for _ in range(30):
        message = kind()
        fill(message, rng)
        raw = serialize_message(message)
        layout = layout_of(kind, raw)
        for path, run in layout.numbers.items():
            given = value_of(message, path)
            if isinstance(given, bytes):
                given = given[0]
            assert np.array_equal(run.read(raw), np.atleast_1d(np.array(given, run.kind))), path
        assert layout.fits(raw) and layout.size <= len(raw)
        other = kind()
        fill(other, rng)
        again = serialize_message(other)
        if layout.fits(again):  # then it is read as its own layout would
            assert layout_of(kind, again).numbers == layout.numbers
        assert not layout.fits(raw[: layout.size - 1])


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_bytes_of_any_length_have_a_layout_or_are_refused(kind):
    rng, message = np.random.default_rng(4), kind()
    fill(message, rng)
    raw = serialize_message(message)
    for end in range(2, len(raw)):
        with contextlib.suppress(InputError):
            assert layout_of(kind, raw[:end]).size <= end
    with pytest.raises(InputError, match="little endian"):
        layout_of(kind, b"\x00\x00" + raw[2:])


FORMS = (
    lambda x: Form(Float64MultiArray, {"data": x[:7]}),
    lambda x: wrench_form(STAMP, "tool", x[:6]),
    lambda x: imu_form(STAMP, "arm/imu", x[:6]),
    lambda x: joint_reference_form(JointReferenceRecord(STAMP, x[:3], None, x[3:6]), ("a", "bc", "Gelenk für Öl")),
    lambda x: Form(
        CartesianReference,
        {"pose": tuple(x[:7]), "twist": x[7:13], "accel": x[1:7], "axes": x[:6] > 0.0},
        {"header.frame_id": "base", "tool_frame": "tool0"},
        STAMP,
    ),
    lambda x: Form(SimulationStatus, {"tick": (int(abs(x[0]) * 10),), "until": (x[1],), "diverged": (True,)}, {}, 7),
)


@pytest.mark.parametrize("form", FORMS)
def test_bytes_with_other_numbers_are_those_of_the_message(form):
    rng = np.random.default_rng(5)
    template = Template(form(rng.normal(size=13)))
    for special in (0.0, np.nan, np.inf):
        numbers = rng.normal(size=13)
        if special:
            numbers[2:6] = special if form is not FORMS[-1] else 0.0
        one = form(numbers)
        assert template.fits(one)
        assert repr(deserialize_message(template.write(one), one.kind)) == repr(one.message())


def test_a_template_is_only_for_its_words_fields_and_sizes():
    names = ("a", "b")
    template = Template(Form(JointState, {"position": (1.0, 2.0), "velocity": ()}, {"name": names}, 1))
    for position, velocity, name in (((1.0,), (), names), ((1.0, 2.0), (3.0,), names), ((1.0, 2.0), (), ("a", "c"))):
        assert not template.fits(Form(JointState, {"position": position, "velocity": velocity}, {"name": name}, 1))
    assert not template.fits(Form(JointState, {"position": (1.0, 2.0), "effort": ()}, {"name": names}, 1))
    with pytest.raises(InputError, match="exactly if it has a header"):
        Template(Form(JointState, {"position": (1.0,)}, {"name": ("a",)}))
    with pytest.raises(InputError, match="no numbers are in 'header.frame_id'"):
        Template(Form(JointState, {"header.frame_id": "base"}, {}, 1))


class Publisher:
    """Keeps what is published and how often subscribers are counted."""

    def __init__(self) -> None:
        self.sent: list = []
        self.subscribers, self.asked = 1, 0

    def publish(self, message) -> None:
        self.sent.append(message)

    def get_subscription_count(self) -> int:
        self.asked += 1
        return self.subscribers


def sender(kind) -> tuple[Sender, Publisher]:
    publisher = Publisher()
    log = SimpleNamespace(debug=lambda text: None)
    node = SimpleNamespace(create_publisher=lambda *_, **__: publisher, get_logger=lambda: log)
    return Sender(node, kind, "topic", EVERY_SAMPLE), publisher  # type: ignore[arg-type]


def test_what_is_sent_is_prepared_once_its_words_stay():
    output, publisher = sender(JointState)
    names = (("a",), ("a",), ("a",), ("b",), ("a",), ("a",), ("a",))
    for tick, name in enumerate(names):
        output.publish(Form(JointState, {"position": (float(tick),)}, {"name": name}, tick))
    assert [isinstance(one, bytes) for one in publisher.sent] == [False, False, True, False, True, True, True]
    for tick, (one, name) in enumerate(zip(publisher.sent, names, strict=True)):
        message = deserialize_message(one, JointState) if isinstance(one, bytes) else one
        assert (message.header.stamp.nanosec, tuple(message.name), list(message.position)) == (tick, name, [tick])


def test_subscribers_are_counted_when_one_comes_and_now_and_then(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("flexarm_nodes.node.output.sender.time", SimpleNamespace(monotonic=lambda: now[0]))
    output, publisher = sender(JointState)
    assert [output.heard for _ in range(5)] == [True] * 5 and publisher.asked == 1
    publisher.subscribers = 0
    output._on_matched(None)
    assert not output.heard and not output.heard and publisher.asked == 2
    publisher.subscribers = 1
    now[0] += 1.01 * LOOK_AGAIN
    assert output.heard


SENSOR = ("wrench", "base_ft_sensor")


@pytest.fixture
def readings(planar_3r: ArmModel) -> Readings:
    return Readings(planar_3r, [SENSOR])


def test_readings_taken_from_bytes_are_those_of_the_messages_whatever_comes_between(readings, planar_3r):
    plain, rng = Readings(planar_3r, [SENSOR]), np.random.default_rng(6)

    def read(raw: bytes) -> WrenchStamped:
        return deserialize_message(raw, WrenchStamped)

    frames = ["base_ft", "base_ft", "base_ft", "else", "base_ft", "base_fu", "base_ft", "base_ft"]
    for stamp, frame in enumerate(frames, 1):
        raw = serialize_message(wrench_form(stamp, frame, rng.normal(size=6)).message())
        errors = []
        for take in (lambda: readings.take_raw(SENSOR, raw, read), lambda: plain.take(SENSOR, read(raw))):  # noqa: B023
            try:
                take()
                errors.append("")
            except InputError as error:
                errors.append(str(error))
        assert errors[0] == errors[1] and bool(errors[0]) == (frame != "base_ft")
    kept, expected = readings._readings[SENSOR], plain._readings[SENSOR]
    assert list(kept) == list(expected)
    for stamp, reading in kept.items():
        assert np.array_equal(reading, expected[stamp])
        assert isinstance(reading, str) or (reading.flags.writeable and reading.flags.aligned)


def state(stamp: int, names, position, velocity=None, effort=()) -> bytes:
    message = JointState(name=list(names), position=position, effort=effort)
    message.velocity = [0.5] * len(names) if velocity is None else velocity
    message.header.stamp.nanosec = stamp
    return serialize_message(message)


def test_joint_states_from_bytes_are_checked_like_messages(readings):
    names, other = ("base_x", "joint1", "joint2", "joint3"), ("joint2", "joint1", "joint3")
    for stamp in (1, 2):
        sample = readings.joints(state(stamp, names, [0.0, 1.0, 2.0, 3.0], effort=[np.nan, 4.0, 5.0, 6.0]))
        assert (sample.stamp, sample.position.tolist(), sample.effort.tolist()) == (stamp, [1, 2, 3], [4, 5, 6])
        assert (sample.deflection.tolist(), sample.deflection_rate.tolist()) == ([0.0], [0.5])
    with pytest.raises(InputError, match="joint state position of joint2 is not finite"):
        readings.joints(state(3, names, [0.0, 1.0, np.nan, 3.0], effort=[np.nan, 4.0, 5.0, 6.0]))
    for huge in (1e100, -1e300):  # the squares of the first are finite
        said = f"^joint state position of joint2 is {huge:.3g}: no joint has that; is it a number never set"
        with pytest.raises(InputError, match=said.replace("+", "\\+")):
            readings.joints(state(3, names, [0.0, 1.0, huge, 3.0], effort=[np.nan, 4.0, 5.0, 6.0]))
    with pytest.raises(InputError, match="joint state velocity of joint1 is 1e\\+12, joint3 is -2e\\+09: no joint"):
        readings.joints(state(3, names, [0.0, 1.0, 2.0, 3.0], [0.0, 1e12, 0.0, -2e9]))
    with pytest.raises(InputError, match="lacks joint3"):
        readings.joints(state(4, names[:3], [0.0, 1.0, 2.0]))
    with pytest.raises(InputError, match="4 names and 3 velocity values"):
        readings.joints(state(4, names, [0.0] * 4, [0.0] * 3))
    for stamp in (5, 6):
        sample = readings.joints(state(stamp, names, [np.nan, 1.0, 2.0, 3.0], effort=[np.nan, 4.0, 5.0, 6.0]))
        assert np.isnan(sample.deflection).all() and sample.position.tolist() == [1, 2, 3]
    sample = readings.joints(state(7, other, [2.0, 1.0, 3.0]))
    assert sample.position.tolist() == [1, 2, 3] and sample.deflection is None and np.isnan(sample.effort).all()
    assert readings.joints(state(8, names, [9.0, 1.0, 2.0, 3.0])).deflection.tolist() == [9.0]


def test_a_reader_of_numbers_knows_nothing_before_it_has_learnt():
    read, raw = FlatReader(JointState, "position"), state(1, ("a",), [2.0])
    assert read.read(raw) is None
    read.learn(raw)
    assert [one.tolist() for one in read.read(raw)] == [[2.0]]
    assert read.read(state(1, ("b",), [2.0])) is None
    read.forget()
    assert read.read(raw) is None
