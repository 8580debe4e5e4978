"""Commands: answers to states, and commands while no state is believed."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from flexarm_core.hardware_gate.command_law import CommandLaw
from flexarm_core.hardware_gate.config import HardwareGateConfig
from flexarm_core.hardware_gate.lateness import AT_REST
from flexarm_core.hardware_gate.limits import JointLimits
from flexarm_core.hardware_gate.prediction import Prediction
from flexarm_core.hardware_gate.softness import Softness
from flexarm_core.hardware_gate.speed_watch import CREEPING
from flexarm_core.hardware_gate.timing import Timing
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.drive_terms import DriveTerms
from flexarm_core.types import ArmState, Array, JointReference

RELEASED, AGAIN = 0.1, 1.0  # [s] for which no effort is given, and until that may happen again
SAME = 0.9  # periods in which a set point takes the place of another, and none is overdue


class Commands:
    """Commands by the law of the command mode.

    Without a believable state, effort mode continues with the state that the model predicts from the last believable
    one: first it keeps the current velocity, because the states may only be late, then it brakes. A position command is
    in the turn in which the encoder reported the newest believed state. Efforts that the drives add are subtracted
    last.

    Attributes:
        drives: efforts that the drives add.
        law: law of the command mode.
        silent: whether no command is sent, as no drive accepts any.
        unobserved: whether the gate asked for the fallback controller while the effect of its commands was not known:
            until the drives have switched, the arm is braked by the model and the lasting load.
        blind: whether no believable state is available now.
        answered: stamp of the newest answered state [ns].
        sent: newest command (n,) as the drives get it, since the time base began.
        share: (n,) share of its effort that each joint is given; 0: nobody knows in which direction it would act.
        rebase: whether set points must restart from the measured position, as a joint did not follow them.
        rebased: whether they have done so in the present stop.
    """

    def __init__(
        self,
        model: ArmModel,
        limits: JointLimits,
        config: HardwareGateConfig,
        timing: Timing,
        soft: Softness | None,
        drives: DriveTerms,
        share: Array,
    ) -> None:
        """Command an arm.

        Args:
            model: its model.
            limits: joint limits.
            config: settings.
            timing: times of states and commands.
            soft: bounds of a stop of an arm that bends.
            drives: what the drives add.
            share: (n,) share of its effort that each joint is given.
        """
        self.drives = drives
        self._model, self._limits, self._config, self._timing, self._soft = model, limits, config, timing, soft
        self._prediction = Prediction(model, limits.velocity)
        self.share, self._none = share, np.zeros(model.n)
        self.set_mode(config.command_mode)
        self.reset()

    def set_mode(self, mode: str) -> None:
        """Forget earlier commands, and use the law of this mode."""
        config = self._config
        self.answered: int | None = None
        self.sent: Array | None = None
        self.law = CommandLaw(
            self._model, self._limits, mode, config.period, config.horizon(), config.hold_frequency, self._soft
        )
        self.law.share = self.share

    def reset(self) -> None:
        """Forget everything but the mode."""
        self.silent = self.unobserved = False
        self._given_at = self._timing.now()
        self.law.reset()
        self.forget()

    def forget(self) -> None:
        """Begin a new time base, without a state."""
        self.blind = False
        self._turned: Array | None = None
        self._seen: ArmState | None = None
        self._predicted: ArmState | None = None  # while none is seen
        self._bridges = False  # whether the newest command was given without a believed state
        self._filled = self._fills = False  # whether an overdue set point was replaced, and whether in this period
        self._prediction.reset()
        self.restart()

    def restart(self) -> None:
        """Begin a new time base."""
        self.answered, self.sent, self.rebase, self.rebased = None, None, False, False
        self._released, self._bears = -math.inf, False  # stamp until which the arm is let go [ns]; see release()
        self._looked_ahead = False  # whether it was checked that the motion can be predicted while states are missing

    def see(self, state: ArmState, turned: Array | None) -> None:
        """Continue from an accepted state that is reported in other turns, farther by ``turned`` (n,)."""
        self._turned, self._seen, self._predicted, self._looked_ahead = turned, state, None, False
        self._bridges = self._fills = False
        if self.blind:
            self.blind = False
            self.law.braking.see(state.position)
        self._prediction.reset()

    def is_at_rest(self, state: ArmState) -> bool:
        """Return whether the arm is known to be at rest, or nothing more can be done to stop it."""
        if self.silent or self.law.command is None:
            return True
        if self.law.mode != "effort":
            return not self.law.rate.any()
        if self.blind:
            return self._timing.silence > self._config.blind_time
        return self._is_slower(AT_REST, state.velocity)

    def is_slow(self, state: ArmState) -> bool:
        """Return whether a stop has slowed the arm and the set points."""
        set_points = self.law.mode == "effort" or self._is_slower(CREEPING, self.law.rate)
        return set_points and self._is_slower(CREEPING, state.velocity)

    def _is_slower(self, share: float, velocity: Array) -> bool:
        return bool((np.abs(velocity) <= share * self._limits.velocity).all())

    def is_predictable(self, state: ArmState, ahead: float) -> bool:
        """Return whether the motion after a state can be predicted for this time [s] with the present effort.

        Commands are likely to be as late as states, so the effort in force acts for twice the age of the newest state.
        """
        law = self.law
        return law.command is None or self._prediction.holds(state, law.command - law.friction - law.load(state), ahead)

    def is_lost(self, state: ArmState, silence: float) -> bool:
        """Return whether the motion cannot be predicted any more, ``silence`` [s] after the newest believed state."""
        if silence <= self._timing.arrivals.longest:
            return False
        lost, timeout = not self._prediction.is_believable, self._config.state_timeout
        if not self._looked_ahead and silence < timeout:
            self._looked_ahead = True
            lost = lost or not self.is_predictable(state, min(2.0 * silence, timeout))
        return lost

    def fill(self, state: ArmState, before: ArmState | None) -> Array | None:
        """Give the set point (n,) towards rest if the state before this one has not been answered; None: it has.

        A position drive halts a joint at its last set point, harder than the limits of acceleration allow. If the
        answer still comes in this period, it takes the place of this set point.
        """
        if self.law.mode != "position" or before is None or self.answered in (None, before.stamp) or self._is_recent:
            return None
        if not self._filled:
            self.law.braking.reset()
        self._filled = True
        command = self.give(self.law.fill(state, self._config.period), self._config.period)
        self._fills = command is not None
        return command

    def follow(self, reference: JointReference, state: ArmState) -> Array:
        """Return the command (n,) nearest to a reference that respects every limit."""
        self._take_back()
        return self.law.follow(getattr(reference, self.law.mode), reference.friction, state, self._timing.age)

    def brake(self, state: ArmState) -> Array:
        """Return the command (n,) that brakes the arm; restart set points there if the arm did not follow them."""
        self._take_back()
        law, timing = self.law, self._timing
        if self.rebase and law.mode == "position" and not law.rate.any() and self._is_slower(AT_REST, state.velocity):
            self.rebase, self.rebased = False, True
            law.restart(state)
            law.rate = np.zeros(self._model.n)
            return state.position.copy()
        suspected = timing.response.suspected
        seems_late = timing.response.seems_late and not law.observed.load.any()  # a load responds slowly, too
        late = seems_late or timing.too_late or suspected > 0.0 or not self.share.all()
        return law.brake(state, self._config.period, max(timing.age, suspected) + timing.lag, late=late)

    def bridge(self, state: ArmState, *, brakes: bool, bears: bool) -> Array | None:
        """Give the command (n,) while no state is believed.

        Args:
            state: newest believed state.
            brakes: whether efforts brake the arm, else they keep its velocity; set points always come to rest. Efforts
                of an arm whose links bend always fade to those that keep it.
            bears: whether efforts compensate gravity only.
        """
        law, dt = self.law, self._config.period
        goes_on, self._bridges = self._bridges, True
        if not self._config.lockstep and (goes_on or law.mode == "effort"):
            dt = min(max(self._timing.now() - self._given_at, 1e-4), self._config.state_timeout)
        if law.mode != "effort":
            return self.give(law.brake(state, dt), dt)
        load, before = law.load(state), law.command if law.command is not None else self._model.gravity_effort(state)
        fades = law.braking.bends
        if bears:
            self._predicted = self._prediction.rest() or state
            effort = law.bear(self._predicted, dt)
        else:
            self._predicted = self._prediction.advance(state, before - law.friction - load, dt)
            coasts = fades or not brakes
            effort = law.coast(self._predicted, dt) if coasts else law.brake(self._predicted, dt, predicted=True)
        if fades:
            effort = law.braking.fade(before, effort, self._timing.silence, dt)
        return self.give(effort, dt)

    def rest(self, state: ArmState) -> Array | None:
        """Return the last command before control ends: gravity effort at the last posture, zero velocity, or None."""
        if self.silent or self.law.mode == "position":
            return None
        if self.law.mode == "velocity":
            return np.zeros(self._model.n)
        rest = self._prediction.rest() or state
        return self._commanded(self._model.gravity_effort(rest) + self.law.load(state), rest, self._model.n * [0.0])

    @property
    def _is_recent(self) -> bool:
        """Whether the newest command was given in this period."""
        return self._timing.now() - self._given_at < SAME * self._config.period

    def _take_back(self) -> None:
        if self._fills and self._is_recent:
            self.law.take_back()
        self._fills = False

    def since(self, state: ArmState) -> float:
        """Return the time since the previously answered state [s], at most 1 s."""
        if self.answered is None:
            return self._config.period
        return min(max((state.stamp - self.answered) * 1e-9, 0.0), 1.0)

    def answer(self, state: ArmState, command: Array) -> Array | None:
        """Give the command (n,) for a state."""
        self.answered, self._filled = state.stamp, False
        return self.give(command, self._config.period)

    def give(self, command: Array, dt: float) -> Array | None:
        """Return a command (n,) as the drives get it, ``dt`` [s] after the last one: it is in force from now on."""
        self.sent = None
        if self.silent:
            return None
        self._given_at, state = self._timing.now(), self._predicted or self._seen
        if self.law.mode == "effort":
            if self._is_released and state is not None:
                command = self._bears * self.law.bear(state, dt, told=True)
            command = self.share * command
        command = self.law.remember(command, dt)
        if self.law.mode == "effort":
            command = self._commanded(command, state, self.law.friction)
        elif self.law.mode == "position" and self._turned is not None:
            command = command + self._turned
        self.sent = command
        return command

    def _commanded(self, effort: Array, state: ArmState | None, friction: ArrayLike) -> Array:
        """Return a whole effort (n,) without what the drives add in a state."""
        if self.drives.adds and state is not None:
            added = self.drives.commanded(state.position, state.velocity, np.asarray(friction, dtype=float))
            effort = effort - added
        if self._is_released and not self._bears:
            return self._none
        return effort if self.share.all() else np.ceil(self.share) * effort

    @property
    def _is_released(self) -> bool:
        """Whether the arm is let go."""
        silence = 0.0 if self._config.lockstep else self._timing.silence
        return self._seen is not None and self._seen.stamp + 1e9 * silence < self._released

    def release(self, stamp: int, *, bears: bool) -> None:
        """Let the arm go for RELEASED from a stamp [ns] on, at most once in AGAIN: meanwhile drives may take over.

        ``bears``: whether the model's gravity is borne as long as no call denies it; else there is no effort.
        """
        if stamp > self._released + AGAIN * 1e9:
            self._released, self._bears = stamp + RELEASED * 1e9, bears
        self._bears = self._bears and bears
