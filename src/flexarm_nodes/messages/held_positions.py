"""HeldPositions: compares the positions of held joints, such as a lift, with joint states."""

from __future__ import annotations

import math
import struct
import time
from collections.abc import Callable, Sequence

import numpy as np
from sensor_msgs.msg import JointState

from flexarm_core.errors import InputError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.kinematic_chain import joints_inboard
from flexarm_core.turns import Turns
from flexarm_nodes.messages.cdr import message_reader
from flexarm_nodes.messages.foreign_joints import names_of

WORDS = 12  # offset of what is behind the stamp in the bytes of a message with a header
TOLERANCE = 0.005  # [rad | m]
PERIOD = 0.05  # [s] between two looks at the same publisher
KEPT = 8  # beginnings of messages of which it is remembered whether they name a held joint
LATELY = 2.0  # [s] age up to which a position that is read counts
EARLY = 1.0  # [s] after the first joint state of the arm, in which a held joint may first be reported


class HeldPositions:
    """Says which held joints are elsewhere, and whether the arm must not start.

    It must not if a joint that carries the arm, or lies between arm and tool, is elsewhere when it is first reported.
    Later the arm may be in motion, which is no time to leave it without joint states. Joints of ``read_joints`` keep
    the position that was read: a later motion is reported, and never rejected. Of these, joints that turn without end
    beside the arm (wheels) may turn.

    Attributes:
        reads: names of the joints whose position is read.
    """

    def __init__(self, model: ArmModel, reads: Sequence[str] = (), clock: Callable[[], float] = time.monotonic) -> None:
        """Compare with the positions of a model's description; ``clock``: time [s]."""
        self.reads, self._clock = tuple(reads), clock
        self._found: dict[str, tuple[float, float]] = {}  # position that was read [rad | m], and when [s]
        self.take(model)

    def take(self, model: ArmModel) -> None:
        """Compare with the positions of another model of the same arm."""
        description = model.description
        self._told = {name: one for name, one in description.held.items() if one.named or name in self.reads}
        ends = [description.joints[name].child for name in model.joint_names]
        inboard = [joint.name for end in (*ends, model.tool_frame) for joint in joints_inboard(description, end, "")]
        self._path = frozenset(inboard)
        self._read = message_reader(JointState)
        self.reset()

    def reset(self) -> None:
        """Forget what was reported."""
        self._looked: dict[bytes, float] = {}  # by frame and names as in the bytes; inf: no held joint is named
        self._off: dict[str, str] = {}
        self._seen: set[str] = set()
        self._refused: set[str] = set()
        self._led_at = math.inf

    def positions(self) -> dict[str, float]:
        """Return the recently reported positions of the joints to be read [rad | m], by name."""
        now = self._clock()
        return {name: position for name, (position, when) in self._found.items() if now - when <= LATELY}

    def look(self, raw: bytes) -> None:
        """Look at the bytes of a joint state, whosever it is; what cannot be read is left to others."""
        if not self._told:
            return
        now = self._clock()
        words = next((words for words in self._looked if raw.startswith(words, WORDS)), None)
        if words is not None and now - self._looked[words] < PERIOD:
            return
        try:
            message = self._read(raw)
            end = WORDS if words is not None else names_of(raw)[1]
        except (InputError, struct.error, ValueError):
            return
        told = {name: q for name, q in zip(message.name, message.position, strict=False) if name in self._told}
        if words is None:
            words = raw[WORDS:end]
            if len(self._looked) >= KEPT:
                self._looked.pop(next(iter(self._looked)))
        self._looked[words] = math.inf if self._told.keys().isdisjoint(message.name) else now
        for name, position in told.items():
            if math.isfinite(position):
                self._compare(name, position, now)

    def _compare(self, name: str, position: float, now: float) -> None:
        told, read = self._told[name], name in self.reads
        if read:
            self._found[name] = position, now
        off = float(Turns([told.endless]).difference(np.array([position]), np.array([told.position]))[0])
        if read and told.endless and name not in self._path:  # it rolls, as a wheel does, and the arm stays as it is
            return
        first, self._seen = name not in self._seen, self._seen | {name}
        if abs(off) <= TOLERANCE:
            self._off.pop(name, None)
            self._refused.discard(name)
            return
        self._off[name] = f"joint '{name}' is at {position:.4g}, and the description holds it at {told.position:.4g}"
        if read:
            self._off[name] = (
                f"joint '{name}' has moved from {told.position:.4g} to {position:.4g}, and the model has not: it takes"
                " the new position when the node is deactivated and activated"
            )
        elif first and name in self._path and not now - self._led_at > EARLY:
            self._refused.add(name)

    def lead(self) -> None:
        """Let a joint state of the arm pass.

        Raises:
            InputError: the arm must not start.
        """
        self._led_at = min(self._led_at, self._clock())
        if self._refused:
            said = "; ".join(self._off[name] for name in sorted(self._refused))
            raise InputError(f"{said}: the tool is not where it is computed; move it there, or hold it where it is")

    @property
    def doubt(self) -> str:
        """Joints with another position than held; empty: none is known."""
        return "; ".join(self._off.values())
