"""Differentiated: joint states without velocities, as many drivers send them, get those of their positions.

The velocity is the slope of the least-squares line through the positions of the last ``window`` seconds, over their
stamps as they are. It is the velocity in the middle of the window, so it is late by half of it.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from flexarm_core.errors import InputError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.slope import Slope
from flexarm_nodes.messages.cdr import LITTLE_ENDIAN, message_reader, read_count, read_text, stamp_of

WORDS = 12  # offset of what is behind the stamp in the bytes of a message with a header
KEPT = 8  # lists of names that are remembered


@dataclass(slots=True)
class _Words:
    """What is known of joint states with the same names.

    Attributes:
        groups: places of the joints of the arm, and of its elastic base, as far as they are there.
        slopes: one for each group, made when it is needed.
        given: whether velocities have been there, or were found.
    """

    groups: tuple[tuple[int, ...], ...]
    slopes: dict[int, Slope] = field(default_factory=dict)
    given: bool = False


class Differentiated:
    """Gives velocities to joint states in which those of all joints of the arm, or of its elastic base, are missing.

    They are missing where the list is empty, or where all of them are NaN; a joint state with some of them is faulty.
    It is returned unchanged, as is one for which there is no velocity: its reader rejects it. Before the first velocity
    there is nothing to refuse.

    Attributes:
        delay: age of the velocities [s]; 0: they are measured.
        samples: number of samples in a window.
    """

    def __init__(self, model: ArmModel, window: float, tell: Callable[[Differentiated], None]) -> None:
        """Differentiate positions of an arm's joints.

        Args:
            model: the arm.
            window: window [s].
            tell: called when there is a delay, and when it has grown.
        """
        turns = dict(zip(model.joint_names, model.turns.endless, strict=True))
        self._speed = float(max(model.fastest[model.turns.endless], default=0.0))
        self._groups = tuple(tuple(group) for group in (model.joint_names, model.elastic_joint_names) if group)
        self._endless = {name: bool(turns.get(name, False)) for group in self._groups for name in group}
        self._window, self._tell = window, tell
        self._read = message_reader(JointState)
        self._seen: list[tuple[bytes, _Words]] = []  # by frame and names as in the bytes, whose gaps may hold anything
        self._known: dict[tuple[str, ...], _Words] = {}
        self.delay, self.samples = 0.0, 0

    def __call__(self, raw: bytes) -> bytes | None:
        """Return the bytes of a joint state with its velocities; None: it begins a window."""
        try:
            words, place = self._words(raw)
            missing = self._missing(raw, words, place)
            if not missing:
                words.given = True
                return raw
            message = self._read(raw)
        except (struct.error, ValueError, InputError):
            return raw
        count, stamp = len(message.name), stamp_of(raw)
        if len(message.position) != count or not all(
            math.isfinite(message.position[i]) for group in missing for i in words.groups[group]
        ):
            return raw
        velocity = np.array(message.velocity) if len(message.velocity) else np.full(count, np.nan)
        everywhere = np.array(message.position)
        found = begins = True
        for group in missing:
            places = list(words.groups[group])
            slope = words.slopes.get(group)
            if slope is None:
                endless = np.array([self._endless[message.name[i]] for i in places])
                slope = words.slopes[group] = Slope(self._window, endless, self._speed if endless.any() else 0.0)
            rates = slope.add(stamp, everywhere[places])
            if rates is None:
                found, begins = False, begins and slope.begins
            else:
                velocity[places] = rates
                self._note_delay(slope)
        if not found:
            return None if begins and not words.given else raw
        words.given = True
        message.velocity = velocity.tolist()
        return bytes(serialize_message(message))

    def _note_delay(self, slope: Slope) -> None:
        delay = slope.counted_delay(self.delay)
        if delay > self.delay:
            self.delay, self.samples = delay, 1 + max(1, round(self._window * 1e9) // slope.period)
            self._tell(self)

    def _words(self, raw: bytes) -> tuple[_Words, int]:
        """Return what is known of joint states with these names, and the offset behind the names."""
        for begin, words in self._seen:
            if raw.startswith(begin, WORDS):
                return words, WORDS + len(begin)
        if raw[:2] != LITTLE_ENDIAN:
            raise ValueError("another byte order")
        _, place = read_text(raw, WORDS)
        count, place = read_count(raw, place)
        listed = []
        for _ in range(count):
            name, place = read_text(raw, place)
            listed.append(name)
        names = tuple(listed)
        if names in self._known:
            words = self._known[names]
        else:
            words = _Words(tuple(self._places(names)))
            self._known = {names: words, **dict(list(self._known.items())[: KEPT - 1])}
        self._seen = [(raw[WORDS:place], words), *self._seen[: KEPT - 1]]
        return words, place

    def _places(self, names: Sequence[str]) -> Iterable[tuple[int, ...]]:
        if any(names.count(name) > 1 for group in self._groups for name in group):
            return  # faulty
        where = {name: i for i, name in enumerate(names)}
        for group in self._groups:
            yield tuple(where[name] for name in group if name in where)

    @staticmethod
    def _missing(raw: bytes, words: _Words, place: int) -> list[int]:
        """Return the groups of which all velocities are missing."""
        positions, place = read_count(raw, place)
        if positions:
            place += -(place - 4) % 8 + 8 * positions
        velocities, place = read_count(raw, place)
        every = [i for i, group in enumerate(words.groups) if group]
        if not velocities:
            return every
        place += -(place - 4) % 8

        def is_nan(i: int) -> bool:
            value = struct.unpack_from("<d", raw, place + 8 * i)[0] if i < velocities else 0.0
            return bool(value != value)

        return [i for i in every if all(is_nan(one) for one in words.groups[i])]
