"""Faults of single sensors: plausible readings of one or two joints, or of all velocities, that are wrong."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from flexarm_core.types import ArmState, Array
from flexarm_tools.faults.fault import FOREVER, Fault, State

JUMP = 0.1, 1.0  # [rad | m] size of a jump
SCALE = 0.0, 0.6  # range of the factor on velocities
LATE = 0.002, 0.01  # [s]
KEPT = 64  # velocities that are kept, more than are as old as LATE
READS = r"believ|position|velocity|readings|frozen|command|reset|late|track|limit|state|reference"


class SensorFault(Fault, ABC):
    """The readings of the joint that is fastest when the fault begins are wrong from then on."""

    cause = READS
    late = True  # no software knows at once how a joint moves whose sensor lies: the bar of blind cases applies
    moving = True
    pairs = False

    def draw(self) -> None:
        self.end, self.both = FOREVER, True  # a fault of the sensor, not of the network
        self.joint = -1
        self.first: ArmState | None = None

    def state(self, state: State, now: float) -> Sequence[tuple[float, State]]:
        if not self.on(now) or not isinstance(state, ArmState):
            return ((0.0, state),)
        if self.first is None:
            self.first = state
            self.joint = int(np.argmax(np.abs(state.velocity)))
        position, velocity = state.position.copy(), state.velocity.copy()
        self.spoil(position, velocity, self.first)
        return ((0.0, replace(state, position=position, velocity=velocity)),)

    @abstractmethod
    def spoil(self, position: Array, velocity: Array, first: ArmState) -> None:
        """Change the readings (n,), given the true state when the fault began."""


class EncoderStuck(SensorFault):
    """Position and velocity of a joint do not change."""

    name, what = "encoder_stuck", "one encoder stuck: its position holds, its velocity is 0"

    def spoil(self, position: Array, velocity: Array, first: ArmState) -> None:
        position[self.joint], velocity[self.joint] = first.position[self.joint], 0.0


class PositionStuck(SensorFault):
    """The position of a joint does not change; its velocity is right."""

    name, what = "position_stuck", "one position stuck, its velocity live"

    def spoil(self, position: Array, velocity: Array, first: ArmState) -> None:
        position[self.joint] = first.position[self.joint]


class EncoderBackward(SensorFault):
    """An encoder counts backward."""

    name, what = "encoder_backward", "one encoder counts backward"

    def spoil(self, position: Array, velocity: Array, first: ArmState) -> None:
        i = self.joint
        position[i], velocity[i] = 2.0 * first.position[i] - position[i], -velocity[i]


class JointsSwapped(SensorFault):
    """The readings of two joints are swapped."""

    name, what = "joints_swapped", "the readings of two joints swapped"
    must = True

    def draw(self) -> None:
        super().draw()
        self.size = float(self.rng.random())

    def spoil(self, position: Array, velocity: Array, first: ArmState) -> None:
        n = position.size
        one, other = self.joint, (self.joint + 1 + int(self.size * (n - 1))) % n
        position[[one, other]], velocity[[one, other]] = position[[other, one]], velocity[[other, one]]


class EncoderJumps(SensorFault):
    """The position of a joint jumps and stays there."""

    name, what = "encoder_jumps", "one encoder jumps by 0.1 to 1 and stays"
    must = displaced = True

    def draw(self) -> None:
        super().draw()
        self.size = float(self.rng.uniform(*JUMP) * self.rng.choice([-1, 1]))

    def spoil(self, position: Array, velocity: Array, first: ArmState) -> None:
        position[self.joint] += self.size


class VelocitiesScaled(SensorFault):
    """The velocities of one joint or of all read 0 to 0.6 times the true ones."""

    name, what = "velocities_scaled", "velocities of one joint or all read 0 to 0.6 times the true ones"

    def draw(self) -> None:
        super().draw()
        self.size = 0.0 if self.rng.random() < 0.4 else float(self.rng.uniform(*SCALE))
        self.every = self.rng.random() < 0.5

    def spoil(self, position: Array, velocity: Array, first: ArmState) -> None:
        velocity[slice(None) if self.every else self.joint] *= self.size


class VelocitiesHeld(SensorFault):
    """The velocities of one joint or of all do not change; the positions are right."""

    name, what = "velocities_held", "velocities of one joint or all do not change, positions do"

    def draw(self) -> None:
        super().draw()
        self.every = self.rng.random() < 0.5

    def spoil(self, position: Array, velocity: Array, first: ArmState) -> None:
        held = slice(None) if self.every else self.joint
        velocity[held] = first.velocity[held]


class VelocitiesLate(SensorFault):
    """The velocities of all joints are late, as those of a filter are; the positions are not."""

    name, what = "velocities_late", "velocities of all joints are 2 to 10 ms late, positions are not"

    def draw(self) -> None:
        super().draw()
        self.size = float(self.rng.uniform(*LATE))
        self._seen: deque[tuple[float, Array]] = deque(maxlen=KEPT)

    def state(self, state: State, now: float) -> Sequence[tuple[float, State]]:
        if isinstance(state, ArmState):
            self._seen.append((now, state.velocity))
        return super().state(state, now)

    def spoil(self, position: Array, velocity: Array, first: ArmState) -> None:
        times, seen = (np.array(part) for part in zip(*self._seen, strict=True))
        for i in range(velocity.size):
            velocity[i] = np.interp(times[-1] - self.size, times, seen[:, i])


class EncoderDrifts(SensorFault):
    """The position of a joint drifts, and its velocity with it."""

    name, what = "encoder_drifts", "one encoder drifts by up to 0.3 per second"

    def draw(self) -> None:
        super().draw()
        self.size = float(self.rng.uniform(-0.3, 0.3))
        self._since = 0.0

    def state(self, state: State, now: float) -> Sequence[tuple[float, State]]:
        self._since = now - self.start
        return super().state(state, now)

    def spoil(self, position: Array, velocity: Array, first: ArmState) -> None:
        position[self.joint] += self.size * self._since
        velocity[self.joint] += self.size


class SensorNoise(Fault):
    """The velocities are noisier than usual, as from differences of coarse encoders."""

    name, what = "sensor_noise", "velocities with noise of 5 mrad/s or mm/s"
    pairs = False

    @property
    def harmless(self) -> bool:
        return True

    def draw(self) -> None:
        self.both = True
        self.size = 0.005

    def state(self, state: State, now: float) -> Sequence[tuple[float, State]]:
        if not self.on(now) or not isinstance(state, ArmState):
            return ((0.0, state),)
        noise = self.size * self.rng.standard_normal(state.velocity.size)
        return ((0.0, replace(state, velocity=state.velocity + noise)),)


SENSOR_FAULTS = (
    EncoderStuck, PositionStuck, EncoderBackward, JointsSwapped, EncoderJumps, VelocitiesScaled, VelocitiesHeld,
    VelocitiesLate, EncoderDrifts, SensorNoise,
)  # fmt: skip
