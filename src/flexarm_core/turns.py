r"""Turns: positions of endless joints, of which any whole turn is the same place.

A joint that turns and has no position limits is *endless*. Its encoder may count turns, or report modulo a turn, and a
reference may be in any turn. Positions become comparable where they enter, and are subtracted plainly from there on:

* measured positions go through a :class:`TurnCount`, which makes them continuous;
* a given position (reference, setting, request, file) is brought to the turn of the measured one by :meth:`Turns.near`;
* a position command leaves in the turn in which the encoder reported a reading that was believed.

So a difference is at most half a turn: a position given in another turn is approached the short way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from flexarm_core.kernels.shortest_way import LARGEST, TURN
from flexarm_core.types import ArmState, Array, JointReference

SPEED, STEP = 2.0, 0.01  # multiple of the velocity limit, plus [rad], by which the count follows a reading


class Turns:
    """Differences of joint positions.

    Attributes:
        endless: (n,) bool, whether the joint turns without position limits.
        any: whether one does.
    """

    def __init__(self, endless: Sequence[bool]) -> None:
        """Compare positions of joints (n), of which these are endless: see ``Joint.endless``."""
        self.endless = np.array(endless, dtype=bool)
        self.any = bool(self.endless.any())

    def difference(self, position: Array, other: Array) -> Array:
        """Return ``position - other`` (..., n), for endless joints the shortest way from ``other`` [rad | m]."""
        way = np.asarray(position - other, dtype=float)
        if not self.any:
            return way
        turned = self.endless & (np.abs(way) > 0.5 * TURN) & (np.abs(way) < LARGEST)
        return np.where(turned, way - TURN * np.round(way / TURN), way) if turned.any() else way

    def near(self, position: Array, other: Array) -> Array:
        """Return positions (..., n) in the turns that are nearest to ``other``: itself, where they already are.

        Args:
            position: positions in any turn [rad | m].
            other: positions to be near to [rad | m].
        """
        if not self.any:
            return position
        way = position - other
        turns = np.where(self.endless & (np.abs(way) < LARGEST), np.round(way / TURN), 0.0)
        return position - TURN * turns if turns.any() else position

    def continuous(self, positions: Array) -> Array:
        """Return recorded positions (k, n) without the jumps by a turn of endless joints."""
        if not self.any:
            return positions
        found = positions.copy()
        found[:, self.endless] = np.unwrap(positions[:, self.endless], axis=0)
        return found

    def reference_near(self, reference: JointReference, other: Array) -> JointReference:
        """Return a joint reference with its position in the turns nearest to ``other`` (n,).

        It is the same reference where that changes nothing, or where the position is missing or of a wrong shape.
        """
        position = reference.position
        if position is None or not self.any or position.shape != self.endless.shape:
            return reference
        moved = self.near(position, other)
        return reference if moved is position else replace(reference, position=moved)


class TurnCount:
    """Makes the measured positions of endless joints continuous, in the turns of the first reading.

    Each reading is given in the turn that is nearest to a place which follows the readings no faster than SPEED times
    the velocity limit: a short wrong reading does not change the turn of the following ones.

    Attributes:
        turns: the joints.
        reported: (n,) reading of the encoders minus the newest position: whole turns; None: zero [rad | m].
    """

    def __init__(self, turns: Turns, velocity_limit: Array) -> None:
        """Count the turns of joints (n) with these velocity limits (n,), infinite if there are none [rad/s | m/s]."""
        self.turns, self._speed = turns, SPEED * velocity_limit
        self.reset()

    def reset(self) -> None:
        """Begin in the turns of the next reading."""
        self.reported: Array | None = None
        self._place: Array | None = None
        self._stamp = 0

    def measured(self, stamp: int, position: Array) -> Array:
        """Return a measured position (n,) in the turns of the readings before it; itself, if it is there already.

        Args:
            stamp: stamp of the reading [ns].
            position: (n,) finite positions as the encoders report them [rad | m].
        """
        turns = self.turns
        if not turns.any:
            return position
        if self._place is None:
            self._place, self._stamp = position.copy(), stamp
            return position
        found = turns.near(position, self._place)
        way, most = found - self._place, self._speed * max(abs(stamp - self._stamp) * 1e-9, 1e-9) + STEP
        self.reported = None if found is position else position - found
        self._place, self._stamp = self._place + np.clip(way, -most, most), stamp
        return found

    def state(self, state: ArmState) -> ArmState:
        """Return a measured state with continuous positions: see :meth:`measured`."""
        position = self.measured(state.stamp, state.position)
        return state if position is state.position else replace(state, position=position)
