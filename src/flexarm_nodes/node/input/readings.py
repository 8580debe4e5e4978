"""Readings: combines joint states and sensor readings into samples, each with one stamp."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from numpy.typing import NDArray
from sensor_msgs.msg import Imu, JointState

from flexarm.msg import FlexibleState, StrainState
from flexarm_core.errors import InputError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.drive_terms import effort_lack
from flexarm_core.turns import TurnCount
from flexarm_core.types import Array, FlexibleSample, JointReference
from flexarm_core.types import FlexibleState as FlexibleStateRecord
from flexarm_nodes.messages.cdr import message_reader, stamp_of
from flexarm_nodes.messages.conversions import LARGEST_VALUE, JointStateSelector, check_values, stamp_to_nanoseconds
from flexarm_nodes.messages.flexible import (
    imu_from_message,
    moving_base_from_message,
    strain_from_message,
    wrench_from_message,
)
from flexarm_nodes.messages.layout import FlatReader
from flexarm_nodes.node import topics
from flexarm_nodes.node.input.companions import STRAY, Companions
from flexarm_nodes.node.input.wrench_frames import WrenchElsewhere, WrenchFrames

KEPT = 8  # readings kept per sensor, and joint references: some may arrive before the joint state of the same stamp
INTERVALS = 8  # between joint states, of which the second shortest is their period: some may be lost, one may be early
KNOWN_AFTER = 3  # intervals
BEFORE = "joint reference of the sample before"
read_joint_state = message_reader(JointState)
FLEXIBLE = "flexible", topics.FLEXIBLE_STATE  # the motion of the base, awaited like a sensor's reading


@dataclass(frozen=True, slots=True)
class SensorReader:
    """How the messages of a kind of sensor are read.

    Attributes:
        kind: message type.
        topic: returns the topic of a sensor by its name.
        read: returns the reading of a message; raises InputError if it is not usable.
        fields: fields of the message that are read directly from its bytes if its constant fields are those of the
            previous message; none: the message is always deserialized.
        flat: returns the reading from the message before and the numbers of these fields.
    """

    kind: Any
    topic: Callable[[str], str]
    read: Callable[[Any, ArmModel], Any]
    fields: tuple[str, ...] = ()
    flat: Callable[[Any, list[Array]], Any] = lambda before, numbers: numbers


READERS = {
    "wrench": SensorReader(
        WrenchStamped,
        topics.wrench_topic,
        lambda message, model: wrench_from_message(message),
        ("wrench",),
        lambda before, numbers: numbers[0],
    ),
    "imu": SensorReader(
        Imu,
        topics.imu_topic,
        lambda message, model: imu_from_message(message),
        ("linear_acceleration", "angular_velocity"),
        lambda before, numbers: np.concatenate(numbers),
    ),
    "strain": SensorReader(
        StrainState,
        lambda name: topics.STRAIN,
        lambda message, model: strain_from_message(message),
        ("strain",),
        lambda before, numbers: dict(zip(before.names, numbers[0].tolist(), strict=True)),
    ),
    "flexible": SensorReader(
        FlexibleState,
        lambda name: topics.FLEXIBLE_STATE,
        lambda message, model: moving_base_from_message(message, model.elastic_joint_names),
    ),
}


class SampleReader:
    """Converts joint states to samples; selects the joints of one arm, by name and in any order."""

    def __init__(self, model: ArmModel, required: Container[str] = ()) -> None:
        """Read the joints of an arm, and reject joint states without what is required of ``base`` and ``effort``."""
        self._elastic_names = tuple(model.elastic_joint_names)
        self._select = JointStateSelector((*model.joint_names, *(self._elastic_names if "base" in required else ())))
        self._needs_effort = "effort" in required
        self._joint_names = model.joint_names
        self._lack = effort_lack(model)
        self._flat = FlatReader(JointState, "position", "velocity", "effort")

    def read(self, raw: bytes) -> FlexibleSample:
        """Convert a joint state to a sample without other sensors; an effort that is not reported is NaN.

        Raises:
            InputError: a joint is missing, or its position or velocity, or its required effort, is missing or not
                finite.
        """
        numbers = self._flat.read(raw)
        if numbers is not None and (found := self.sample(stamp_of(raw), numbers)) is not None:
            return found
        message = read_joint_state(raw)
        everywhere, rates, efforts = (np.array(one) for one in (message.position, message.velocity, message.effort))
        self._select.select(message.name, everywhere, rates)
        if numbers is None:
            self._flat.forget()
            self._learn(message.name)
        sample = self._sample(stamp_of(raw), everywhere, rates, efforts)
        if self._needs_effort:
            if not self._reported(efforts):
                raise InputError(
                    f"joint state has {len(message.name)} names and {len(efforts)} effort values; the effort"
                    " that acted is needed: let the joint state broadcaster report effort"
                )
            check_values("effort", sample.effort, self._joint_names)
        if numbers is None:
            self._flat.learn(raw)
        return sample

    def sample(self, stamp: int, numbers: list[Array]) -> FlexibleSample | None:
        """Return the sample of a joint state like the last one; None: it must be read completely.

        Args:
            stamp: its stamp [ns].
            numbers: its positions, velocities and efforts.
        """
        sample = self._sample(stamp, *numbers)
        given = (*numbers[:2], sample.effort) if self._needs_effort else numbers[:2]
        return sample if sum(one.dot(one) for one in given) <= LARGEST_VALUE**2 else None  # nor if it is NaN

    def _learn(self, names: list[str]) -> None:
        """Find the joints in the list of a joint state; the elastic ones need not be there."""
        place = {name: i for i, name in enumerate(names)}
        self._count = len(names)
        self._actuated = _in_row([place[name] for name in self._joint_names])
        self._elastic = _in_row([place.get(name, len(place)) for name in self._elastic_names])  # past the end: none
        self._deflects = any(name in place for name in self._elastic_names)
        self._partly = any(name not in place for name in self._elastic_names)

    def _reported(self, efforts: Array) -> bool:
        return len(efforts) == self._count

    def _sample(self, stamp: int, everywhere: Array, rates: Array, efforts: Array) -> FlexibleSample:
        """Return the sample of all positions, velocities and efforts of a joint state."""
        arm = self._actuated
        effort = efforts[arm] if self._reported(efforts) else np.full(len(self._joint_names), np.nan)
        position, velocity, deflection, rate = everywhere[arm], rates[arm], None, None
        if self._lack is not None and math.isfinite(position.dot(position) + velocity.dot(velocity)):
            effort = effort + self._lack.added(position, velocity)
        if self._deflects:
            if self._partly:
                everywhere, rates = np.append(everywhere, np.nan), np.append(rates, np.nan)
            deflection, rate = everywhere[self._elastic], rates[self._elastic]
        return FlexibleSample(stamp, position, velocity, effort, deflection, rate)


class Readings:
    """Keeps the newest readings. A rejected reading counts as received but is not used; the sample says why.

    A reading belongs to the joint state of its stamp. Where there is none of this stamp, the nearest one counts if its
    stamp is less than half a period of the joint states away.

    With ``before``, a joint state also waits for the joint reference that answered the sample before it.
    """

    def __init__(
        self,
        model: ArmModel,
        sensors: Iterable[tuple[str, str]],
        required: Container[str] = (),
        *,
        before: bool = False,
        frames: Sequence[str] = (),
        prefix: str = "",
    ) -> None:
        """Read the joints of an arm and these sensors, given as (kind, name).

        ``required``: as of SampleReader; ``frames``, ``prefix``: frames of wrenches that are no links, as of
        WrenchFrames.
        """
        self.sensors = tuple(dict.fromkeys(sensors))
        self._model, self._joints, self._before = model, SampleReader(model, required), before
        self._count = TurnCount(model.turns, model.fastest)
        self._frames = WrenchFrames(model, frames, prefix)
        self._topics = {sensor: topic for topic, _, sensor in self.subscriptions()}
        self._flat = {
            sensor: FlatReader(READERS[sensor[0]].kind, *READERS[sensor[0]].fields) for sensor in self.sensors
        }
        self._learnt: dict[tuple[str, str], Any] = {}  # messages whose words are known to be usable
        self._companions = Companions(self._awaited)
        self.reset()

    def _awaited(self) -> tuple[str, ...]:
        """Return what the next sample waits for; no reference has answered anything before the first."""
        before = (BEFORE,) if self._before and self._answered is not None else ()
        return (*self._topics.values(), *before)

    @property
    def tolerance(self) -> int:
        """Largest difference of stamps between a joint state and what belongs to it [ns]."""
        return self._companions.tolerance

    def reset(self) -> None:
        """Discard all received readings, and begin in the turns of the next joint state."""
        self._count.reset()
        self._companions.reset()
        self._companions.wait_once(BEFORE)  # until the first has arrived: perhaps nobody sends any
        self._readings: dict[tuple[str, str], dict[int, Any]] = {sensor: {} for sensor in self.sensors}
        self._references: deque[JointReference] = deque(maxlen=KEPT)
        self._answered: int | None = None  # stamp of the newest sample [ns]
        self._intervals: deque[int] = deque(maxlen=INTERVALS)

    def subscriptions(self) -> Iterable[tuple[str, Any, tuple[str, str]]]:
        """Yield topic, message type and sensor of each reading."""
        for kind, name in self.sensors:
            yield READERS[kind].topic(name), READERS[kind].kind, (kind, name)

    @property
    def wants_frames(self) -> bool:
        """Whether frames from /tf_static are of use."""
        return any(kind == "wrench" for kind, _ in self.sensors)

    @property
    def wants_moving_frames(self) -> bool:
        """Whether frames from /tf are of use."""
        return self._frames.wants_moving

    def take_frames(self, message: Any, *, fixed: bool) -> None:
        """Take frames from /tf_static or /tf, as :meth:`WrenchFrames.take_frames`."""
        self._frames.take_frames(message, fixed=fixed)

    def take(self, sensor: tuple[str, str], message: Any) -> None:
        """Take a sensor's message.

        Raises:
            InputError: the frame is not known, or the message is not usable.
        """
        stamp = stamp_to_nanoseconds(message.header.stamp)
        kept = self._keep(sensor, stamp, "not usable")
        self._put(sensor, kept, stamp, READERS[sensor[0]].read(message, self._model), message)

    def take_raw(self, sensor: tuple[str, str], raw: bytes, read: Callable[[bytes], Any]) -> None:
        """Take a sensor's message from its bytes; ``read`` deserializes one whose constant fields have changed.

        Raises:
            InputError: as of :meth:`take`.
        """
        flat = self._flat[sensor]
        numbers = flat.read(raw)
        if numbers is not None:
            self.take_numbers(sensor, stamp_of(raw), numbers)
            return
        message = read(raw)
        self.take(sensor, message)
        if READERS[sensor[0]].fields:
            flat.learn(raw)
            self._learnt[sensor] = message

    def take_numbers(self, sensor: tuple[str, str], stamp: int, numbers: list[Array]) -> None:
        """Take a sensor's message like the last one from its stamp [ns] and the numbers of the fields that are read.

        Raises:
            InputError: as of :meth:`take`.
        """
        before = self._learnt[sensor]
        kept = self._keep(sensor, stamp, "not usable")
        self._put(sensor, kept, stamp, READERS[sensor[0]].flat(before, numbers), before)

    def _put(self, sensor: tuple[str, str], kept: dict[int, Any], stamp: int, reading: Any, message: Any) -> None:
        """Keep the reading of a stamp [ns] from a message, or one of the same words, instead of why it is rejected."""
        kind, name = sensor
        if isinstance(reading, np.ndarray) and LARGEST_VALUE < (largest := np.abs(reading).max()) < math.inf:
            raise InputError(
                f"{self._topics[sensor]}: {largest:.3g} is more than a sensor measures: is it a number never set?"
            )
        if kind == "wrench":
            frame = message.header.frame_id
            kept[stamp] = f"in frame '{frame}'"
            reading = self._frames.seen(name, frame, stamp, reading)
        kept[stamp] = reading

    def _keep(self, sensor: tuple[str, str], stamp: int, reading: Any) -> dict[int, Any]:
        """Keep a reading, or the reason why it is rejected; return those of the sensor that are kept, by stamp.

        Those of stamps far ahead of it are discarded: they were wrong, or the clock was set back.
        """
        self._companions.came(self._topics[sensor], stamp)
        kept = self._readings[sensor]
        for ahead in [one for one in kept if one - stamp > STRAY]:
            del kept[ahead]
        kept[stamp] = reading
        while len(kept) > KEPT:
            del kept[min(kept)]
        return kept

    def take_reference(self, reference: JointReference) -> None:
        """Take a joint reference that may have answered the newest sample."""
        self._references.append(reference)

    def complete(self, stamp: int) -> bool:
        """Return whether a joint state of this stamp [ns] has to wait for nothing."""
        answered = self._answered
        if answered is not None and any(reference.stamp >= answered for reference in self._references):
            self._companions.came(BEFORE, stamp)
        return self._companions.complete(stamp)

    def before(self, stamp: int) -> JointReference | None:
        """Return the newest joint reference before a stamp [ns], which acted until then."""
        return next((reference for reference in reversed(self._references) if reference.stamp < stamp), None)

    def flexible(self, stamp: int) -> FlexibleStateRecord | None:
        """Return the flexible state of a stamp [ns]; None: it is not awaited here, has not come, or is not usable."""
        state = self._readings.get(FLEXIBLE, {}).get(stamp)
        return None if isinstance(state, str) else state

    def joints(self, raw: bytes) -> FlexibleSample:
        """Convert the bytes of a joint state to a sample without the other sensors, as SampleReader does.

        Positions of endless joints are continuous from sample to sample, however their encoders report them.
        """
        return self._in_turns(self._joints.read(raw))

    def joint_numbers(self, stamp: int, numbers: list[Array]) -> FlexibleSample | None:
        """Do the same with positions, velocities, efforts of a joint state like the last; None: look at its bytes."""
        sample = self._joints.sample(stamp, numbers)
        return None if sample is None else self._in_turns(sample)

    def _in_turns(self, joints: FlexibleSample) -> FlexibleSample:
        count = self._count
        position = count.measured(joints.stamp, joints.position)
        return joints if position is joints.position else replace(joints, position=position, turned=count.reported)

    def sample(self, joints: FlexibleSample) -> FlexibleSample:
        """Return the sample with the readings that belong to its stamp; called once per joint state."""
        stamp = joints.stamp
        if self._answered is not None and stamp > self._answered:
            self._intervals.append(stamp - self._answered)
        if len(self._intervals) >= KNOWN_AFTER:
            self._companions.tolerance = (sorted(self._intervals)[1] - 1) // 2
        tolerance = self._companions.tolerance
        self._companions.answer(stamp)
        self._answered = stamp
        there: dict[str, dict[str, Any]] = {kind: {} for kind in READERS}
        others, rejected = dict[str, tuple[int, Any]](), dict[str, str]()
        for (kind, name), kept in self._readings.items():
            came = None
            if stamp in kept:
                came = kept[stamp]
            elif kept and abs((nearest := min(kept, key=lambda one: abs(one - stamp))) - stamp) <= tolerance:
                came = kept[nearest]
            if isinstance(came, str):
                rejected[name] = came
            elif came is not None:
                there[kind][name] = _in_sensor(came, joints)
            if kind == "wrench" and kept and name not in there[kind]:
                others[name] = _nearest(kept, joints)
        return FlexibleSample(
            stamp,
            joints.position,
            joints.velocity,
            joints.effort,
            joints.deflection,
            joints.deflection_rate,
            there["strain"].get("", {}),
            there["wrench"],
            there["imu"],
            others,
            rejected,
            joints.turned,
        )


def _in_row(places: list[int]) -> slice | NDArray[np.intp]:
    """Return places as a slice, by which arrays are read in a third of the time, where one follows the other."""
    first = places[0] if places else 0
    follow = places == list(range(first, first + len(places)))
    return slice(first, first + len(places)) if follow else np.array(places, dtype=np.intp)


def _nearest(kept: Mapping[int, Any], joints: FlexibleSample) -> tuple[int, Any]:
    """Return stamp and value of the newest reading up to a joint state, else of the first one after it."""
    nearest = max((one for one in kept if one <= joints.stamp), default=min(kept))
    reading = kept[nearest]
    return nearest, None if isinstance(reading, str) else _in_sensor(reading, joints)


def _in_sensor(reading: Any, joints: FlexibleSample) -> Any:
    """Return a reading; a wrench in a frame that joints move relative to the sensor is brought to that one."""
    if isinstance(reading, WrenchElsewhere):
        return reading.in_sensor(joints.position, joints.deflection)
    return reading
