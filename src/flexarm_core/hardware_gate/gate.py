r"""HardwareGate: what reaches the hardware is within limits, and stops safely when the input is not usable.

State machine::

    WAITING --good reference--> RUNNING --no usable input--> STOPPING --good input again, recovery_samples--> RUNNING
       \------no reference within reference_timeout--------->/

In effort mode a command is turned into the acceleration it causes (the arm's model), the acceleration is held within
what the limits allow, and only where it had to change is the effort computed anew. What the reference says that joint
friction takes, ``f``, never reaches the links: ``qdd = FD(q, qd, effort - f)`` and ``effort = ID(q, qd, qdd) + f``.
A stop decelerates every joint at its limit and then holds it; without fresh measurements the effort goes to the last
known gravity effort at the rate limit. A stop keeps nothing of ``f``: friction then only adds to the deceleration.

Where commands reach nobody, or the drives are to take commands of another kind, :meth:`HardwareGate.interrupt` begins
a stop that good input does not end; :meth:`HardwareGate.resume` goes on from where the arm is by then.

In lockstep every state is answered by exactly one command, made from the reference that carries the state's own stamp.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.hardware_gate.braking import Braking
from flexarm_core.hardware_gate.limits import (
    JointLimits,
    acceleration_bounds,
    believe_friction,
    bound_effort,
    is_allowed,
)
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array, JointReference, all_finite

COMMAND_MODES = ("effort", "velocity", "position")
FIELDS = ("position", "velocity", "acceleration", "effort", "friction")  # of a joint reference
NOTHING = np.zeros(0)
RUN_AWAY = 0.05  # share by which a joint is too fast for its friction to be made up for


class GateState(Enum):
    """What the gate is doing."""

    WAITING = "waiting for the first reference"
    RUNNING = "running"
    STOPPING = "controlled stop"


@dataclass(frozen=True, slots=True)
class HardwareGateConfig:
    """Settings of the gate.

    Attributes:
        command_mode: ``effort``, ``velocity`` or ``position``.
        period: nominal time between two commands [s].
        reference_timeout: age of the newest reference, against the newest state, at which a stop begins [s].
        state_timeout: age of the newest usable state at which a stop without measurements begins [s].
        recovery_samples: consecutive good references that end a stop.
        hold_frequency: bandwidth of the servo that brakes and holds during a stop in effort mode [rad/s].
        lockstep: whether each state is answered by exactly one command, from the reference with the same stamp.
    """

    command_mode: str = "effort"
    period: float = 0.001
    reference_timeout: float = 0.08
    state_timeout: float = 0.08
    recovery_samples: int = 5
    hold_frequency: float = 20.0
    lockstep: bool = False

    def __post_init__(self) -> None:
        """Raise ConfigError for values that have no meaning."""
        if self.command_mode not in COMMAND_MODES:
            raise ConfigError(f"command_mode '{self.command_mode}' is unknown; valid: {', '.join(COMMAND_MODES)}")
        for name in ("period", "reference_timeout", "state_timeout", "hold_frequency"):
            if not (np.isfinite(getattr(self, name)) and getattr(self, name) > 0.0):
                raise ConfigError(f"{name} must be > 0, got {getattr(self, name)}")
        if self.recovery_samples < 1:
            raise ConfigError(f"recovery_samples must be >= 1, got {self.recovery_samples}")


@dataclass(frozen=True, slots=True)
class GateStatus:
    """What the gate reports.

    Attributes:
        state: of the state machine.
        reason: why it stops, or empty.
        limited: names of joints whose command had to change, with the limit that did it.
        stops: controlled stops begun since the reset.
    """

    state: GateState
    reason: str
    limited: tuple[str, ...]
    stops: int


class HardwareGate:
    """Turns joint references into commands that respect every limit, or into a controlled stop."""

    def __init__(self, model: ArmModel, limits: JointLimits, config: HardwareGateConfig) -> None:
        """Bind the gate to an arm."""
        self.model, self.limits, self.config = model, limits, config
        self._braking = Braking(limits.acceleration, config.hold_frequency, config.period)
        self._no_friction = np.zeros(model.n)
        self._load_compiled()
        self.reset()

    def _load_compiled(self) -> None:
        """Call once what judges an effort, so that the first that counts is not late."""
        none, base, table = np.zeros(self.model.n), np.zeros(self.model.m), self.limits.table
        self.model.forward_dynamics(ArmState(0, none, none, base, base), none)
        is_allowed(self.limits, none, none, none, self.config.period)
        believe_friction(table, RUN_AWAY, none, none, none, np.empty_like(none))
        bound_effort(table, none, none, self.config.period, np.empty_like(none))

    def reset(self) -> None:
        """Forget everything but the settings."""
        self._state = GateState.WAITING
        self._reason = ""
        self._interrupted = self._silent = False
        self._limited: tuple[str, ...] = ()
        self._stops = 0
        self._good = 0
        self._measured: ArmState | None = None
        self._first_stamp: int | None = None
        self._reference_stamp: int | None = None
        self._answered: int | None = None
        self._early: JointReference | None = None
        self._sound: JointReference | None = None  # the newest that was found usable
        self._command: Array | None = None
        self._rate = np.zeros(self.model.n)
        self._braking.reset()

    @property
    def status(self) -> GateStatus:
        """What the gate is doing, for diagnostics."""
        return GateStatus(self._state, self._reason, self._limited, self._stops)

    def on_state(self, state: ArmState) -> Array | None:
        """Take a measured state; return the command (n,) that answers it, or None to wait for a reference.

        Raises:
            InputError: the state is not usable; call :meth:`on_unusable_state` with the message.
        """
        self.model.check_state(state)
        if self._measured is not None and state.stamp <= self._measured.stamp:
            back = (self._measured.stamp - state.stamp) * 1e-9
            if back > 1.0:
                raise InputError(f"time went back by {back:.3f} s: activate the gate anew after a reset of the clock")
            return None  # repeated or overtaken on its way: the newer one has been answered
        gap = 0.0 if self._measured is None else (state.stamp - self._measured.stamp) * 1e-9
        self._measured = state
        if self._first_stamp is None:
            self._first_stamp = state.stamp
        if self._interrupted:
            brakes = self._state is GateState.STOPPING and not self._silent
            return self._answer(state.stamp, self._braking_command(state)) if brakes else None
        if gap > self.config.state_timeout:
            self._stop(f"no joint state for {gap:.3f} s")
        newest = self._reference_stamp if self._reference_stamp is not None else self._first_stamp
        age = (state.stamp - newest) * 1e-9
        if age > self.config.reference_timeout:
            self._stop(f"no joint reference for {age:.3f} s")
        early, self._early = self._early, None
        if early is not None and early.stamp > state.stamp:
            self._early = early
        elif early is not None and (state.stamp - early.stamp) * 1e-9 <= self.config.reference_timeout:
            return self._use(early, state)
        if self._state is GateState.STOPPING and self._good == 0:
            return self._answer(state.stamp, self._braking_command(state))
        return None

    def on_unusable_state(self, stamp: int, reason: str) -> Array | None:
        """A state came that cannot be used: stop without measurements; return the command that answers it."""
        self._stop(reason)
        if self._measured is None:
            return None  # nothing has been commanded yet and nothing is known: the drives keep what they have
        return self._answer(stamp, self._blind_command(self.config.period))

    def on_silence(self, age: float, dt: float) -> Array | None:
        """No state has come for ``age`` [s], asked every ``dt`` [s]: stop without measurements once it is too long."""
        if self._measured is None or self._silent or age <= self.config.state_timeout:
            return None
        self._stop(f"no joint state for {age:.3f} s")
        return self._remember(self._blind_command(dt))

    def on_reference(self, reference: JointReference) -> Array | None:
        """Take a reference; return the command (n,), or None if there is none to give for it.

        Raises:
            InputError: the reference is not usable; call :meth:`on_unusable_reference` with the message.
        """
        if not self._interrupted:  # else it may be meant for the commands that were, or for those that will be
            self._check(reference)
        self._reference_stamp = reference.stamp
        if self._measured is None or reference.stamp > self._measured.stamp:
            self._early = reference  # topics are not ordered among each other: its state is still on the way
            return None
        return self._use(reference, self._measured)

    def _use(self, reference: JointReference, state: ArmState) -> Array | None:
        if self._interrupted:
            return None
        age = (state.stamp - reference.stamp) * 1e-9
        if age > self.config.reference_timeout:
            raise InputError(f"joint reference is {age:.3f} s older than the newest joint state")
        if self._state is GateState.STOPPING:
            self._good += 1
        if self.config.lockstep and (reference.stamp != state.stamp or self._answered == state.stamp):
            return None
        if self._state is GateState.STOPPING and self._good < self.config.recovery_samples:
            return self._answer(state.stamp, self._braking_command(state))
        if self._state is not GateState.RUNNING:
            self._state, self._reason, self._good = GateState.RUNNING, "", 0
        if reference is not self._sound:
            self._check(reference)
        wanted = getattr(reference, self.config.command_mode)
        return self._answer(state.stamp, self._limited_command(wanted, reference.friction, state))

    def on_unusable_reference(self, reason: str) -> Array | None:
        """A reference came that cannot be used: brake; return the command that answers the newest state."""
        self._stop(reason)
        if self._measured is None:
            return None
        return self._answer(self._measured.stamp, self._braking_command(self._measured))

    def interrupt(self, reason: str, *, silent: bool) -> None:
        """Begin a stop that good input does not end; a gate that still waits for a first reference goes on waiting.

        Args:
            reason: for the status.
            silent: whether nothing is commanded meanwhile, as nobody takes it; else the arm is braked and held.
        """
        if self._state is not GateState.WAITING:
            self._stop(reason)
        self._reason = reason
        self._interrupted, self._silent = True, silent

    def resume(self, command_mode: str = "") -> Array | None:
        """End an interruption; the stop itself ends as every other, by good references.

        What was commanded before is forgotten: set points go on from the measured position and velocity, efforts from
        what brakes the arm and bears its weight. So nothing jumps, wherever the arm was moved meanwhile.

        Args:
            command_mode: of the commands from now on, empty: as before.

        Returns:
            The command (n,) that brakes and holds the arm, or None where nothing has been measured yet.

        Raises:
            ConfigError: the mode is unknown.
        """
        self.config = replace(self.config, command_mode=command_mode or self.config.command_mode)
        self._interrupted = self._silent = False
        self._command = self._early = self._sound = self._answered = self._first_stamp = None
        self._good = 0
        if self._measured is None:
            return None
        self._rate = self._measured.velocity.copy()
        self._braking.reset()
        return self._remember(self._braking_command(self._measured))

    def rest_command(self) -> Array | None:
        """What to send when control ends: gravity effort of the last known posture, zero velocity, or nothing."""
        if self._measured is None or self._silent or self.config.command_mode == "position":
            return None
        if self.config.command_mode == "velocity":
            return np.zeros(self.model.n)
        return self.model.gravity_effort(self._measured)

    def _check(self, reference: JointReference) -> None:
        """Raise InputError unless a reference has what the mode commands, in this arm's shape and finite numbers."""
        given = [name for name in FIELDS if getattr(reference, name) is not None]
        mode = self.config.command_mode
        if mode not in given:
            raise InputError(
                f"command mode '{mode}' needs {mode} in the joint reference; given: {', '.join(given) or 'nothing'}"
            )
        for name in given:
            value = getattr(reference, name)
            if value.shape != (self.model.n,):
                raise InputError(f"joint reference {name} has shape {value.shape}, expected ({self.model.n},)")
            if not all_finite(value):
                raise InputError(f"joint reference {name} is not finite: {value}")
        self._sound = reference

    def _stop(self, reason: str) -> None:
        if self._state is not GateState.STOPPING:
            self._stops += 1
            self._state = GateState.STOPPING
            self._reason = reason
            self._braking.reset()
        self._good = 0

    def _answer(self, stamp: int, command: Array) -> Array | None:
        if self._silent:
            return None
        if self.config.lockstep and self._answered is not None and stamp <= self._answered:
            return None
        self._answered = stamp
        return self._remember(command)

    def _remember(self, command: Array) -> Array:
        if self.config.command_mode == "position" and self._command is not None:
            self._rate = (command - self._command) / self.config.period
        elif self.config.command_mode == "velocity":
            self._rate = command
        self._command = command
        return command

    # Commands ---------------------------------------------------------------------------------------------------------

    def _limited_command(self, command: Array, friction: Array | None, state: ArmState) -> Array:
        mode, dt = self.config.command_mode, self.config.period
        if mode == "effort":
            return self._limited_effort(command, self._no_friction if friction is None else friction, state)
        start = self._command if self._command is not None else state.position
        if mode == "velocity":
            wanted = (command - self._rate) / dt
            position = state.position
        else:
            wanted = (command - start - self._rate * dt) / dt**2
            position = start
        acceleration = self._bounded(wanted, position, self._rate, tolerance=1e-9 + 1e-12 / dt**2)
        rate = self._rate + acceleration * dt
        limited = rate if mode == "velocity" else start + rate * dt
        return np.where(acceleration == wanted, command, limited)

    def _limited_effort(self, effort: Array, friction: Array, state: ArmState) -> Array:
        taken = np.empty(self.model.n)
        doubted = believe_friction(self.limits.table, RUN_AWAY, friction, state.position, state.velocity, taken)
        wanted = self.model.forward_dynamics(state, effort - taken)
        acceleration = self._bounded(wanted, state.position, state.velocity, tolerance=1e-9)
        if acceleration is not wanted and not np.array_equal(acceleration, wanted):
            effort = self.model.inverse_dynamics(self.model.blocks(state), state, acceleration) + taken
        if doubted:
            self._report_limited(taken != friction, "friction")
        return self._bounded_effort(effort, self.config.period)

    def _bounded(self, wanted: Array, position: Array, velocity: Array, tolerance: float) -> Array:
        if is_allowed(self.limits, position, velocity, wanted, self.config.period):
            self._limited = ()
            return wanted
        lowest, highest = acceleration_bounds(self.limits, position, velocity, self.config.period)
        outside = (wanted < lowest - tolerance) | (wanted > highest + tolerance)
        self._limited = ()
        self._report_limited(outside, "position, velocity or acceleration")
        return np.where(outside, np.clip(wanted, lowest, highest), wanted)

    def _bounded_effort(self, effort: Array, dt: float) -> Array:
        bounded, before = np.empty(self.model.n), NOTHING if self._command is None else self._command
        if bound_effort(self.limits.table, effort, before, dt, bounded):
            self._report_limited(bounded != effort, "effort")
        return bounded

    def _report_limited(self, beyond: NDArray[np.bool_], limit: str) -> None:
        if beyond.any():
            names = (f"{name}: {limit}" for name, b in zip(self.model.joint_names, beyond, strict=True) if b)
            self._limited = (*self._limited, *names)

    def _braking_command(self, state: ArmState) -> Array:
        """Decelerate at the limit, then hold where the joints came to rest."""
        mode, dt = self.config.command_mode, self.config.period
        self._limited = ()
        if mode == "velocity":
            return np.clip(self._braking.rate(self._rate), -self.limits.velocity, self.limits.velocity)
        if mode == "position":
            start = self._command if self._command is not None else state.position
            return start + self._braking.rate(self._rate) * dt
        acceleration = self._braking.acceleration(state)
        return self._bounded_effort(self.model.inverse_dynamics(self.model.blocks(state), state, acceleration), dt)

    def _blind_command(self, dt: float) -> Array:
        """Without measurements: effort to the last known gravity effort, velocity to zero, position to its stop."""
        assert self._measured is not None
        mode = self.config.command_mode
        self._limited = ()
        if mode == "effort":
            return self._bounded_effort(self.model.gravity_effort(self._measured), dt)
        if mode == "velocity":
            return self._braking.rate(self._rate)
        return self._braking_command(self._measured)
