"""FrameTree: poses of frames relative to each other, from /tf and /tf_static.

A chain of transforms is read as tf2 reads it: at its latest common time, up to which each moving part of it is known;
in between, positions are interpolated linearly and orientations along the shortest turn. Nothing is extrapolated. Fixed
parts count at any time. Each frame has the parent of its newest transform; frames in a ring have no pose.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from flexarm_core.errors import InputError
from flexarm_core.types import Array
from flexarm_nodes.messages.conversions import LARGEST_VALUE, quaternion_to_rotation, stamp_to_nanoseconds
from flexarm_nodes.node.frames import own_frame

MOST = 10_000  # frames that are kept
KEPT = 1000  # transforms that are kept of each moving part of a chain that is read; of all others the newest
SET_BACK = 1_000_000_000  # [ns] a transform that is older by more shows that its clock was set back
NORM = 1e-3  # largest error of the norm of a quaternion
NO_TURN = 1e-6  # sine of half a turn below which its axis is not known


class Turn(NamedTuple):
    """Unit quaternion."""

    x: float
    y: float
    z: float
    w: float


class Placed(NamedTuple):
    """Pose of a frame in its parent at a stamp [ns]."""

    stamp: int
    point: tuple[float, float, float]
    turn: Turn

    def matrix(self) -> Array:
        """Return it as a matrix (4, 4)."""
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = quaternion_to_rotation(self.turn), self.point
        return pose


@dataclass(slots=True)
class _Part:
    """One frame in its parent.

    Attributes:
        parent: the parent.
        fixed: whether it is told on /tf_static.
        told: poses by their stamps; only the newest unless a chain with this part is read.
    """

    parent: str
    fixed: bool
    told: deque[Placed] = field(default_factory=lambda: deque(maxlen=1))


class Chain(NamedTuple):
    """Frames from one frame up to, and without, the nearest common parent, and the same from another frame."""

    up: tuple[str, ...]
    down: tuple[str, ...]


class FrameTree:
    """Frames of the received transforms.

    Attributes:
        changes: how often so far a frame was new, got another parent, or became fixed or moving.
    """

    def __init__(self, prefix: str = "") -> None:
        """Know no frames; ``prefix`` is taken from their names."""
        self.changes = 0
        self._prefix = prefix
        self._parts: dict[str, _Part] = {}
        self._children: dict[str, set[str]] = {}

    def take(self, message: Any, *, fixed: bool) -> None:
        """Take transforms (tf2_msgs/TFMessage) of /tf_static (``fixed``) or /tf.

        Raises:
            InputError: some are no poses, or have moved a frame of a chain that is read to another parent; all that
                are poses are taken.
        """
        wrong, moved = [], []
        for one in message.transforms:
            parent, child = self._own(one.header.frame_id), self._own(one.child_frame_id)
            shift, turn = one.transform.translation, one.transform.rotation
            point, turn = (shift.x, shift.y, shift.z), Turn(turn.x, turn.y, turn.z, turn.w)
            placed = all(abs(one) <= LARGEST_VALUE for one in point)  # false where one is NaN
            if not (placed and abs(math.hypot(*turn) - 1.0) < NORM):
                wrong.append(f"'{child}' in '{parent}'")
                continue
            part = self._parts.get(child)
            if part is None or (part.parent, part.fixed) != (parent, fixed):
                if part is None and len(self._parts) >= MOST:
                    continue
                if part is not None and part.parent != parent and part.told.maxlen == KEPT:
                    moved.append(f"'{child}' from '{part.parent}' to '{parent}'")
                part = self._begin(child, parent, fixed)
            _add(part, Placed(0 if fixed else stamp_to_nanoseconds(one.header.stamp), point, turn))
        said = [f"{', '.join(wrong)} is no pose: ignored"] if wrong else []
        said += [f"{', '.join(moved)} was moved; a frame has one parent: is it told twice?"] if moved else []
        if said:
            raise InputError(f"{'/tf_static' if fixed else '/tf'}: {'; '.join(said)}")

    def nearest(self, frame: str, among: Collection[str]) -> str | None:
        """Return the one of these frames that is nearest to a frame, over fixed parts if possible; None: none."""
        for moving in (False, True):
            seen, waiting = {frame}, deque([frame])
            while waiting:
                at = waiting.popleft()
                if at in among:
                    return at
                part = self._parts.get(at)
                near = [one for one in self._children.get(at, ()) if moving or self._parts[one].fixed]
                near += [part.parent] if part is not None and (moving or part.fixed) else []
                waiting.extend(one for one in near if one not in seen)
                seen.update(near)
        return None

    def chain(self, home: str, frame: str) -> Chain:
        """Return the frames between two.

        Raises:
            InputError: no transforms connect them.
        """
        up, down = self._line(home), self._line(frame)
        if up[-1] != down[-1]:
            raise InputError(
                f"no transforms connect '{frame}' with '{home}': they lead from '{frame}' to '{down[-1]}', and from"
                f" '{home}' to '{up[-1]}'"
            )
        while up and down and up[-1] == down[-1]:
            up.pop()
            down.pop()
        return Chain(tuple(up), tuple(down))

    def moving(self, chain: Chain) -> list[str]:
        """Return the frames of a chain that move in their parents."""
        return [one for one in (*chain.up, *chain.down) if not self._parts[one].fixed]

    def slowest(self, chain: Chain) -> str:
        """Return the moving part of a chain whose newest transform is the oldest, in words; empty: none moves."""
        oldest = min(self.moving(chain), key=lambda one: self._parts[one].told[-1].stamp, default="")
        return f"'{oldest}' in '{self._parts[oldest].parent}'" if oldest else ""

    def common(self, chain: Chain, stamp: int | None = None) -> int:
        """Return the latest common time of a chain [ns], or what is nearest to a stamp; all fixed: the stamp, or 0.

        Raises:
            InputError: there is none.
        """
        parts = [self._parts[one] for one in self.moving(chain)]
        if not parts:
            return stamp or 0
        for part in parts:
            if part.told.maxlen != KEPT:
                part.told = deque(part.told, maxlen=KEPT)
        begin, end = max(part.told[0].stamp for part in parts), min(part.told[-1].stamp for part in parts)
        if begin > end:
            raise InputError(
                f"transforms have no common time: {self.slowest(chain)} ends {(begin - end) * 1e-9:.3f} s before"
                " the others begin"
            )
        return end if stamp is None else min(max(stamp, begin), end)

    def pose(self, chain: Chain, stamp: int) -> Array:
        """Return the pose (4, 4) of the second frame of a chain in the first at a common time [ns]."""
        home, frame = (self._above(line, stamp) for line in chain)
        rotation = home[:3, :3].T
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = rotation @ frame[:3, :3], rotation @ (frame[:3, 3] - home[:3, 3])
        return pose

    def _above(self, line: tuple[str, ...], stamp: int) -> Array:
        """Return the pose (4, 4) of the first frame of a line in the parent of the last."""
        pose = np.eye(4)
        for frame in line:
            pose = _at(self._parts[frame].told, stamp).matrix() @ pose
        return pose

    def _line(self, frame: str) -> list[str]:
        """Return a frame, its parent, and so on, to the one without a parent."""
        line, seen = [frame], {frame}
        while (part := self._parts.get(line[-1])) is not None:
            if part.parent in seen:
                ring = line[line.index(part.parent) :]
                raise InputError(f"transforms make a ring: {' in '.join(repr(one) for one in (*ring, ring[0]))}")
            line.append(part.parent)
            seen.add(part.parent)
        return line

    def _own(self, name: str) -> str:
        return own_frame(name, self._prefix)

    def _begin(self, child: str, parent: str, fixed: bool) -> _Part:
        """Return the part of a frame in a parent, which is new, or was not fixed or moving before."""
        before = self._parts.get(child)
        if before is not None:
            self._children[before.parent].discard(child)
        part = self._parts[child] = _Part(parent, fixed)
        self._children.setdefault(parent, set()).add(child)
        self.changes += 1
        return part


def _add(part: _Part, placed: Placed) -> None:
    """Add a pose to those of a part; one that is out of order is left out."""
    told = part.told
    if part.fixed or (told and told[-1].stamp - placed.stamp > SET_BACK):
        told.clear()
    if not told or placed.stamp > told[-1].stamp:
        told.append(placed)


def _at(told: deque[Placed], stamp: int) -> Placed:
    """Return the pose at a stamp [ns] between the first and the last of some; of a fixed part there is one."""
    after = told[-1]
    for before in reversed(told):
        if before.stamp <= stamp:
            break
        after = before
    else:
        return after
    if before.stamp == stamp or after.stamp <= before.stamp:
        return before
    share = (stamp - before.stamp) / (after.stamp - before.stamp)
    x, y, z = (a + share * (b - a) for a, b in zip(before.point, after.point, strict=True))
    return Placed(stamp, (x, y, z), _between(before.turn, after.turn, share))


def _between(before: Turn, after: Turn, share: float) -> Turn:
    """Return the orientation at a share of the shortest turn between two."""
    cosine = sum(a * b for a, b in zip(before, after, strict=True))
    sign, half = math.copysign(1.0, cosine), math.acos(min(1.0, abs(cosine)))
    sine = math.sin(half)
    first, second = (1.0 - share, share) if sine < NO_TURN else (math.sin((1.0 - share) * half), math.sin(share * half))
    mixed = [first * a + sign * second * b for a, b in zip(before, after, strict=True)]
    norm = math.hypot(*mixed)
    return Turn(*(one / norm for one in mixed))
