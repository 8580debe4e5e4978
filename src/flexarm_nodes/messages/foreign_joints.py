"""ForeignJoints: detects joint states of other devices on the topic of an arm, such as a gripper or a mobile base."""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable

from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from flexarm_nodes.messages.cdr import LITTLE_ENDIAN, read_count, read_text

WORDS = 12  # offset of what is behind the stamp in the bytes of a message with a header
KEPT = 8  # beginnings of messages of which it is remembered whose they are


def are_foreign(names: Collection[str], arm: Iterable[str]) -> bool:
    """Return whether a joint state with these names is of others than the arm: it names joints, and none of the arm's.

    One that names some joints of the arm, or nothing, is a faulty one of the arm.
    """
    return bool(names) and not set(names) & set(arm)


class ForeignJoints:
    """Decides from the bytes of joint states whether they are foreign; fast if the names are known."""

    def __init__(self, arm: Iterable[str]) -> None:
        """Take the names of the arm's joints, those of its elastic base included."""
        self._arm = frozenset(arm)
        self._known: list[tuple[bytes, bool]] = []  # frame and names as in the bytes, and the answer

    def __call__(self, raw: bytes) -> bool:
        """Return whether a joint state is foreign; False for one that cannot be read."""
        for words, foreign in self._known:
            if raw.startswith(words, WORDS):
                return foreign
        if raw[:2] != LITTLE_ENDIAN:  # another machine may send another byte order
            try:
                return are_foreign(deserialize_message(raw, JointState).name, self._arm)
            except Exception:  # the middleware raises its own types
                return False
        try:
            names, end = names_of(raw)
        except (struct.error, ValueError):
            return False
        foreign = are_foreign(names, self._arm)
        self._known = [(raw[WORDS:end], foreign), *self._known[: KEPT - 1]]
        return foreign


def names_of(raw: bytes) -> tuple[list[str], int]:
    """Return the names in a joint state, and the offset behind them."""
    _, place = read_text(raw, WORDS)
    count, place = read_count(raw, place)
    names = []
    for _ in range(count):
        name, place = read_text(raw, place)
        names.append(name)
    return names, place
