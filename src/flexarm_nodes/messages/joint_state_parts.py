"""JointStateParts: joins joint states of several publishers, each of which knows some joints of the arm."""

from __future__ import annotations

from collections.abc import Iterable

from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from flexarm_core.errors import InputError
from flexarm_nodes.messages.cdr import message_reader
from flexarm_nodes.messages.conversions import nanoseconds_to_stamp, stamp_to_nanoseconds

WINDOW = 20_000_000  # [ns] largest difference of the stamps of parts that belong together


class JointStateParts:
    """Joins parts to joint states of the whole arm.

    A joint state is complete when every joint has been reported again; so it has the rate of the slowest publisher. Its
    stamp is that of the newest part; positions of older parts are moved on with their velocities.
    """

    def __init__(self, arm: Iterable[str], more: Iterable[str] = ()) -> None:
        """Join parts with the joints of an arm.

        Args:
            arm: names of the joints that must come.
            more: names of joints that may come, too.
        """
        self._arm, self._known = tuple(arm), frozenset((*arm, *more))
        self._read = message_reader(JointState)
        self._seen: dict[str, tuple[int, float, float, float | None]] = {}

    def __call__(self, raw: bytes) -> bytes | None:
        """Return the bytes of a joint state of the whole arm, if this part completes one; None: it does not.

        What is no part is returned as it is: one with all joints, and one that is faulty, which its reader refuses.
        """
        try:
            message = self._read(raw)
        except InputError:
            return raw
        names = list(message.name)
        mine = [name for name in names if name in self._known]
        if not mine:
            return raw if not names else None
        positions, velocities, efforts = message.position, message.velocity, message.effort
        whole = set(self._arm) <= set(names)
        if whole or len(set(mine)) < len(mine) or len(positions) != len(names) or len(velocities) != len(names):
            return raw
        stamp, reported = stamp_to_nanoseconds(message.header.stamp), len(efforts) == len(names)
        for i, name in enumerate(names):
            if name in self._known:
                self._seen[name] = stamp, positions[i], velocities[i], efforts[i] if reported else None
        newest = max(one[0] for one in self._seen.values())
        if stamp < newest - 10 * WINDOW:  # the clock was set back
            newest = stamp
            self._seen = {name: one for name, one in self._seen.items() if one[0] <= stamp}
        self._seen = {name: one for name, one in self._seen.items() if newest - one[0] <= WINDOW}
        return self._joined(newest) if set(self._arm) <= set(self._seen) else None

    def _joined(self, stamp: int) -> bytes:
        """Return the joint state of a stamp [ns], and wait for the next one."""
        seen, self._seen = self._seen, {}
        joined = JointState(name=list(seen))
        joined.header.stamp = nanoseconds_to_stamp(stamp)
        joined.position = [q + v * (stamp - at) * 1e-9 for at, q, v, _ in seen.values()]
        joined.velocity = [v for _, _, v, _ in seen.values()]
        efforts = [effort for _, _, _, effort in seen.values() if effort is not None]
        if len(efforts) == len(seen):
            joined.effort = efforts
        return bytes(serialize_message(joined))
