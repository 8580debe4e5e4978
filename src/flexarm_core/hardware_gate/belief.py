"""StateBelief: checks whether a joint state is plausible, given the previous state and the command."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from flexarm_core.compiled import kernel
from flexarm_core.hardware_gate.limits import ACCELERATION, LOWER, UPPER, VELOCITY, JointLimits
from flexarm_core.types import ArmState, Array

FAST = 2.0  # multiple of the velocity limit beyond which a single reading is rejected
CONFIRMED = 3  # consecutive consistent states that are accepted, however implausible the first of them was
RESOLUTION = 0.005  # [rad | m] tolerance between the position change and the integrated velocity of two states
STILL = 3  # identical consecutive states after which to check whether the arm should have moved
FROZEN_MOTION, FROZEN_CHANGE = 0.02, 0.1  # [rad | m] and fraction of the velocity limit: largest hidden motion
RESTING, AGAIN = 0.01, 1.0  # fraction of the velocity limit of a joint at rest; [s] until a frozen state is rechecked
ROUNDING = 2.0**-52  # relative rounding error of a number: if it exceeds RESOLUTION, motion cannot be resolved
PLAUSIBLE, TOO_FAST, NOT_THE_MOTION, JUMPED, NOWHERE = range(5)  # results of comparing two states


class StateBelief:
    """Check the plausibility of each joint state against the previous one.

    Position and velocity must agree, ``q - q' = (v + v') dt / 2``, the velocity must stay near its limit and must not
    jump. A real event that looks impossible (a collision, a joint that was pushed) is accepted once CONFIRMED
    consecutive states agree with each other. A position is never accepted if it is farther beyond a limit than the two
    limits are apart. States that are bitwise identical although the command, or their own velocity, moves the arm
    are frozen. Frozen states of joints at rest are accepted again after AGAIN, if no command moves the joints.
    """

    def __init__(self, limits: JointLimits, names: Sequence[str]) -> None:
        """Check joints with these limits; the error messages use these names."""
        self._table, self._names = limits.table, tuple(names)
        self.reset()
        self._compare(ArmState(0, *(np.zeros(len(self._names)) for _ in range(4))), None, 0.0)  # compiles or loads

    def reset(self) -> None:
        """Accept the next state without comparison, unless it is too fast."""
        self._suspect: ArmState | None = None
        self._agreeing = 0
        self._identical = 0
        self._stuck = ""  # reason why unchanged states are rejected
        self._change = np.zeros(len(self._names))  # velocity change due to the command since the freeze
        self._motion = np.zeros(len(self._names))
        self._still_for = 0.0  # [s]

    def doubt(
        self,
        state: ArmState,
        before: ArmState | None,
        dt: float,
        caused: Callable[[ArmState], tuple[Array, Array]],
        *,
        idle: bool = False,
    ) -> str:
        """Return why a state is rejected; empty string if it is accepted.

        Args:
            state: received state.
            before: newest accepted state, None if there is none.
            dt: time between the two [s].
            caused: function of a state that returns the joint velocity (n,) and acceleration (n,) that the command in
                force causes; called only if states do not change.
            idle: whether no command moves the arm.
        """
        code, joint, same = self._compare(state, before, dt)
        if self._stuck and same:
            rests = (np.abs(state.velocity) <= RESTING * self._table[VELOCITY]).all()
            if not (idle and rests and dt >= AGAIN):
                return self._stuck  # even if many frozen states agree with each other
            self._stuck = ""
            self._forget_still()
        if code == NOWHERE:
            self._suspect = None
            return f"joint state is not believable: {self._names[joint]} at {state.position[joint]:.3g}"
        if code != PLAUSIBLE:
            reason = self._suspected(state, code, joint, dt)
            if reason and same:
                self._stuck = reason  # with time an arm could have moved and returned, but not to the last bit
            return reason
        self._suspect, self._stuck = None, ""
        return "" if before is None else self._frozen(state, dt, caused, same=same)

    def _compare(self, state: ArmState, before: ArmState | None, dt: float) -> tuple[int, int, bool]:
        """Return what is implausible about a state, for which joint, and whether it is the same as the one before."""
        last = state if before is None else before
        code, joint, same = _compare(
            self._table, last.position, last.velocity, last.deflection, state.position, state.velocity,
            state.deflection, dt,
        )  # fmt: skip
        return code, joint, same and before is not None

    def _suspected(self, state: ArmState, code: int, joint: int, dt: float) -> str:
        suspect, self._suspect = self._suspect, state
        agrees = False
        if suspect is not None and suspect.stamp < state.stamp:
            found, _, same = self._compare(state, suspect, (state.stamp - suspect.stamp) * 1e-9)
            agrees = found in (PLAUSIBLE, TOO_FAST) and not same
        self._agreeing = self._agreeing + 1 if agrees else 1
        if self._agreeing >= CONFIRMED:
            self._suspect, self._stuck, self._agreeing, self._identical = None, "", 0, 0
            return ""
        name, velocity = self._names[joint], state.velocity[joint]
        if code == TOO_FAST:
            limit = self._table[VELOCITY, joint]
            return f"joint state is not believable: {name} at {velocity:.3g}, velocity limit {limit:.3g}"
        if code == JUMPED:
            return f"joint state is not believable: the velocity of {name} jumped to {velocity:.3g}"
        said = f"its velocity {velocity:.3g} says for the {dt:.3f} s between the stamps"
        return f"joint state is not believable: {name} moved otherwise than {said}"

    def _frozen(
        self, state: ArmState, dt: float, caused: Callable[[ArmState], tuple[Array, Array]], *, same: bool
    ) -> str:
        if not same:
            if self._identical:
                self._forget_still()
            return ""
        self._identical += 1
        self._still_for += dt
        if self._identical < STILL:
            self._motion += state.velocity * dt
            return ""
        velocity, acceleration = caused(state)
        self._change += acceleration * dt
        self._motion += (velocity + self._change) * dt
        hidden = np.abs(self._motion) > FROZEN_MOTION
        hidden |= np.abs(self._change) > FROZEN_CHANGE * self._table[VELOCITY]
        hidden |= np.abs(state.velocity) * self._still_for > RESOLUTION
        if not hidden.any():
            return ""
        name = self._names[int(np.argmax(hidden))]
        self._stuck = (
            f"joint states do not change though the command moves {name}: frozen readings, brakes that are on, or"
            " friction beyond max_friction"
        )
        return self._stuck

    def _forget_still(self) -> None:
        self._identical, self._still_for = 0, 0.0
        self._change[:], self._motion[:] = 0.0, 0.0


@kernel
def _compare(
    table: Array, position_before: Array, velocity_before: Array, deflection_before: Array, position: Array,
    velocity: Array, deflection: Array, dt: float,
) -> tuple[int, int, bool]:  # fmt: skip
    """Return what is implausible about a state given the previous one, for which joint, and whether both are equal."""
    same = True
    for i in range(position.shape[0]):
        same = same and position[i] == position_before[i] and velocity[i] == velocity_before[i]
    for i in range(deflection.shape[0]):
        same = same and deflection[i] == deflection_before[i]
    code, joint = _implausible(table, position_before, velocity_before, position, velocity, dt)
    return code, joint, same


@kernel
def _implausible(
    table: Array, position_before: Array, velocity_before: Array, position: Array, velocity: Array, dt: float
) -> tuple[int, int]:
    for i in range(position.shape[0]):
        apart = table[UPPER, i] - table[LOWER, i]
        if not abs(position[i]) * ROUNDING <= RESOLUTION:
            return NOWHERE, i
        if position[i] < table[LOWER, i] - apart or position[i] > table[UPPER, i] + apart:
            return NOWHERE, i
    for i in range(position.shape[0]):
        limit, change = table[VELOCITY, i], table[ACCELERATION, i] * dt
        moved = position[i] - position_before[i]
        expected = 0.5 * (velocity_before[i] + velocity[i]) * dt
        if not abs(moved - expected) <= RESOLUTION + 0.25 * limit * dt + 0.5 * change * dt:
            return NOT_THE_MOTION, i
        if not abs(velocity[i] - velocity_before[i]) <= 0.5 * limit + 10.0 * change:
            return JUMPED, i
    for i in range(position.shape[0]):
        if not abs(velocity[i]) <= FAST * table[VELOCITY, i]:
            return TOO_FAST, i
    return PLAUSIBLE, 0
