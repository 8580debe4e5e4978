"""SensorTrust: decides which measured states are believed, and keeps the newest of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from flexarm_core.errors import InputError
from flexarm_core.hardware_gate.belief import CONTRADICTED, REACH, RESOLUTION, WAITS, believe
from flexarm_core.hardware_gate.command_law import CommandLaw
from flexarm_core.hardware_gate.limits import JointLimits
from flexarm_core.hardware_gate.probation import Probation
from flexarm_core.hardware_gate.velocities.velocity_check import VelocityCheck
from flexarm_core.hardware_gate.velocities.velocity_delay import VelocityDelay
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState

PATIENCE = 1.5  # [s] for which no state may be believed before the user is told
REMEMBERED = 50  # states after a change of readings in which it is held against those that are frozen


class SensorTrust:
    """Accepts plausible states, until they contradict earlier ones, each other, or the commands.

    Then a sensor is wrong, and no state is accepted until a user has checked it (:meth:`trust_again`).

    Attributes:
        state: newest believed state, None if there is none.
        distrusted: why a sensor is not trusted any more, empty if all are.
        unbelieved: why no state has been believed for PATIENCE, empty if one was.
        belief: plausibility of single states.
        rates: by how much measured velocities are late.
        probation: whether joints move as commanded after a sensor was wrong.
    """

    def __init__(self, model: ArmModel, limits: JointLimits, *, lockstep: bool) -> None:
        """Judge the states of an arm; ``lockstep``: see :func:`believe`."""
        self._limits, self._names = limits, model.joint_names
        own = np.where(np.isfinite(model.fastest), model.fastest, limits.velocity)
        believed = replace(limits, velocity=np.maximum(limits.velocity, own))
        self.belief = believe(model, believed, lockstep=lockstep)
        self._velocity, self.rates = VelocityCheck(believed), VelocityDelay(believed)
        self.probation = Probation(limits.velocity)
        self.reset()

    def reset(self) -> None:
        """Trust all sensors."""
        self.distrusted = ""
        self._jumped = np.zeros(self._limits.velocity.size)  # (n,) by how far readings jumped when they were distrusted
        self._alone = 0  # states for which it counts that readings of other joints change meanwhile
        self._frozen = -1  # joint whose readings must change before they are trusted again, -1: none
        self.belief.reset()
        self.rates.reset()
        self.probation.end()
        self.forget()

    def forget(self) -> None:
        """Forget the newest state."""
        self.state: ArmState | None = None
        self._measured: ArmState | None = None  # the same as it was measured
        self.unbelieved, self._waits = "", -1  # stamp of the first one of those that are not believed [ns], -1: none
        self._forget_motion()

    def unsettle(self) -> None:
        """Believe states again once they agree with each other."""
        self.belief.unsettle()
        self._forget_motion()

    def _forget_motion(self) -> None:
        self._velocity.reset()
        self._received: ArmState | None = None  # newest state, believed or not
        self._offered: tuple[ArmState, float] | None = None  # newest state that agrees with others, and its arrival [s]

    def believes(
        self, state: ArmState, measured: ArmState, law: CommandLaw, now: float, *, idle: bool, silent: bool
    ) -> bool:
        """Return whether a state is believed; False: not yet, while nothing is commanded.

        If velocities turn out to be wrong, the newest believed state gets those that the arm must be braked from.

        Args:
            state: received state; of late velocities, with better ones.
            measured: received state as it is.
            law: law of the commands in force.
            now: current time [s].
            idle: whether no command moves the arm.
            silent: whether the drives get no commands: others may move the arm.

        Raises:
            InputError: the state is not believable; see also :attr:`distrusted`.
        """
        if self.distrusted:
            self._consider(state, law, now)
            raise InputError(self.distrusted)
        before, effort, uncommanded = self.state, law.mode == "effort", law.command is None
        earlier, self._received = self._received, measured
        known, free, dt = self.belief.sure, silent or uncommanded, _time_between(before, state)
        doubt = self.belief.doubt(state, before, dt, law.caused, idle=idle, coasts=effort, free=free)
        if not doubt and known and before is not None:
            known_as = self._measured if self._measured and self._measured.stamp == before.stamp else before
            lie = self._lie(before, state, law, dt, known_as, measured)
            if lie and not silent:
                self.state = replace(before, velocity=self._velocity.velocity(measured))
                self._distrust(lie, before, state, dt)
                raise InputError(lie)
            self._take(state, measured)
            return True
        if doubt and self.belief.torn and effort and not free and earlier is not None:
            lie = self._contradiction(earlier, measured, _time_between(earlier, measured))
            if lie and self.belief.torn >= CONTRADICTED:
                self.state = replace(state, velocity=self._velocity.velocity(measured))
                self._distrust(lie, before, state, dt)
                raise InputError(lie)
        else:
            self._velocity.reset()
        if not doubt:
            self._take(state, measured)
            return True
        if effort and known and before is not None and (hidden := self.belief.hidden) is not None:
            self.state = replace(before, velocity=hidden)
        if self.belief.contradiction and not free:
            self._frozen, self._alone = self.belief.frozen, 0
            self._distrust(self.belief.contradiction, before, state, dt)
        if not 0 <= self._waits <= state.stamp:
            self._waits = state.stamp
        self.unbelieved = doubt if (state.stamp - self._waits) * 1e-9 > PATIENCE else ""
        if not (silent or (doubt is WAITS and uncommanded)):
            raise InputError(doubt)
        return False

    def _take(self, state: ArmState, measured: ArmState) -> None:
        if self.belief.changed and not self.probation.active:
            self.probation.begin()  # what seemed impossible may be a sensor that has been wrong since then
        self.state, self._measured = state, measured
        self.unbelieved, self._waits = "", -1
        self.rates.on_state(measured)

    @property
    def bearing(self) -> ArmState | None:
        """State at which gravity is compensated after a sensor was found wrong again; None: this did not happen.

        It is the newest believed one, without the jump of the readings for which the sensor was distrusted at first: if
        the motion contradicts an acknowledged jump, the arm itself did not jump.
        """
        if self.state is None or not (self.distrusted and self.probation.active):
            return None
        return replace(self.state, position=self.state.position - self._jumped)

    def _distrust(self, lie: str, before: ArmState | None, state: ArmState, dt: float) -> None:
        self.distrusted = lie
        if before is not None and not self.probation.active:
            jump = state.position - before.position
            reach = 2.0 * RESOLUTION + REACH * self._limits.velocity * dt
            self._jumped = np.where(np.abs(jump) > reach, jump, 0.0)
        self.unsettle()

    def _lie(
        self, before: ArmState, state: ArmState, law: CommandLaw, dt: float, earlier: ArmState, measured: ArmState
    ) -> str:
        """Return how a joint contradicts itself or its command over many states, empty if none does."""
        lie = self._contradiction(earlier, measured, dt)
        if lie:
            return lie
        if self.probation.active and law.mode == "effort" and law.command is not None:
            joint = self.probation.on_motion(law.caused(state)[1], state.velocity - before.velocity, dt)
            if joint >= 0:
                return f"{self._names[joint]} does not move as commanded since readings were in doubt"
        return ""

    def _contradiction(self, before: ArmState, state: ArmState, dt: float) -> str:
        """Return which joint's position and velocity contradict each other over many states, empty if none's."""
        joint = self._velocity.on_state(before, state, dt)
        return f"position and velocity of {self._names[joint]} contradict each other" if joint >= 0 else ""

    def _consider(self, state: ArmState, law: CommandLaw, now: float) -> None:
        """Look whether states agree with each other again, so that somebody may acknowledge them."""
        before = None if self._offered is None else self._offered[0]
        dt = _time_between(before, state)
        self._look_at_frozen(before, state)
        doubt = self.belief.doubt(state, before, dt, law.caused, idle=True, free=True)
        if doubt or (before is not None and self._velocity.on_state(before, state, dt) >= 0):
            self._forget_motion()
        else:
            self._offered = state, now

    def _look_at_frozen(self, before: ArmState | None, state: ArmState) -> None:
        """Look whether frozen readings change, or those of other joints do while they do not."""
        if self._frozen < 0 or before is None:
            return
        same = (state.position == before.position) & (state.velocity == before.velocity)
        if not same[self._frozen]:
            self._frozen = -1
        else:  # an arm at rest whose readings have no noise shows nothing
            self._alone = max(self._alone - 1, 0) if same.all() else REMEMBERED

    def trust_again(self, law: CommandLaw, now: float, timeout: float) -> ArmState:
        """Accept the newest state again, because a user has checked the sensor; return it.

        Raises:
            InputError: states do not agree with each other, or with the commanded position, or none arrived for
                ``timeout`` [s].
        """
        if self._offered is None or now - self._offered[1] > timeout:
            raise InputError(f"joint states do not agree with each other: {self.distrusted}")
        state = self._offered[0]
        if self._frozen >= 0 and self._alone:
            raise InputError(f"{self.distrusted}, and still are: let the joint move, or activate the gate again")
        if law.mode == "position" and law.command is not None:
            off = np.abs(law.command - state.position) > self._limits.following_error
            if off.any():
                name = self._names[int(np.argmax(off))]
                raise InputError(f"{name} is not where it is commanded to be; activate the gate again to begin there")
        self.distrusted, self.state, self._offered, self._frozen = "", state, None, -1
        self.probation.begin()
        return state


def _time_between(before: ArmState | None, state: ArmState) -> float:
    return 0.0 if before is None else (state.stamp - before.stamp) * 1e-9
