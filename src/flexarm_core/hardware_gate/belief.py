"""StateBelief: checks whether a joint state is plausible, given the last believed state and the command."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from flexarm_core.compiled import inlined_kernel, kernel
from flexarm_core.entrance import ANY, numbers
from flexarm_core.errors import InputError
from flexarm_core.hardware_gate.limits import ACCELERATION, LOWER, UPPER, VELOCITY, JointLimits
from flexarm_core.hardware_gate.stillness import Stillness
from flexarm_core.hardware_gate.velocities.velocity_check import LONG, STEPPED
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array

FAST = 2.0  # multiple of the velocity limit beyond which a single reading is rejected, unless it follows from the last
CONFIRMED = 3  # consecutive states that must agree with each other, where one alone is not believed
LONGEST = 0.08  # [s] time after which a single state cannot be compared with the one before
RESOLUTION = 0.005  # [rad | m] tolerance between the position change and the integrated velocity of two states
SUDDEN = 0.004  # [s] for which a joint may move otherwise: an impact, or drives that brake
SHOWN = 0.25  # fraction of a jump of the velocity that the positions may leave open
MIRRORED, BESIDE, EVENT = 0.2, 0.05, 3.0  # a velocity that reverses within a sample: see _mirrored
REACH = 1.5  # multiple of the velocity limit at which a joint may have moved while no state was believed
CONTRADICTED = 0.04  # [s] for which states agree with each other, but not with where the arm can be, until they count
BLANK = 1.0  # [s] for which positions that are all zero, to the last bit, are not taken for a first measurement
STICTION = 0.05  # fraction of the effort limit that friction may balance in a joint that nobody mentioned
ANYTHING = 1e9  # [rad/s^2 | m/s^2] for joints whose friction or effort has no limit
RESTING, AGAIN = 0.01, 1.0  # fraction of the velocity limit of a joint at rest; [s] until a frozen state is rechecked
ROUNDING = 2.0**-52  # relative rounding error of a number: if it exceeds RESOLUTION, motion cannot be resolved
SAG = 0.1  # fraction of the range of an elastic joint by which its deflection may jump
ROUGH, PUSH = 0.05, 100.0  # [m/s | rad/s] and [m/s^2 | rad/s^2] by which the rate of a deflection may jump
FARTHEST, FASTEST = 100.0, 1e3  # [m | rad] and [m/s | rad/s] beyond which no elastic joint without limits can be
PLAUSIBLE, TOO_FAST, NOT_THE_MOTION, JUMPED, NOWHERE, BENT, REVERSED = range(7)  # results of comparing two states
WAITS = "joint states have yet to agree with each other"


class StateBelief:
    """Check the plausibility of each joint state against the last believed one.

    Position and velocity must agree, ``q - q' = (v + v') dt / 2``, except that drives may step to each set point within
    a long sample, and move farther. The velocity must stay near its limit and must not jump, unless the positions
    confirm the jump: efforts may accelerate a joint that is lighter than its model abruptly. Nor may
    the deflection of an elastic base jump. Where there is nothing to compare with (the first state, a new time base, a
    gap of more than LONGEST), CONFIRMED consecutive states must agree with each other. The same holds for what
    looks impossible (a collision, a joint that was pushed), and then the joints must be where the arm can have moved
    since it was last believed. Otherwise the states contradict the earlier accepted ones: an encoder has jumped, or
    joints were swapped. That lasts until it is allowed (``free``).

    A position is never accepted if it is farther beyond a limit than the two limits are apart. Readings of a joint that
    are bitwise identical although the command, or their own velocity, moves it are frozen (:class:`Stillness`). The
    same applies to readings of a joint that always had noise, if they stop changing after an implausible state while
    those of other joints continue. Frozen states of joints at rest are accepted again after AGAIN, if no command moves
    the joints.

    Attributes:
        contradiction: how the states contradict the earlier accepted ones, empty if they do not.
        torn: time for which positions and velocities have contradicted each other in every new state [s].
        changed: whether the newest accepted state agrees with states that seemed impossible: an impact, or a sensor;
            not while anything may have moved the arm.
    """

    def __init__(
        self,
        limits: JointLimits,
        names: Sequence[str],
        *,
        stiction: Array | None = None,
        base: Array | None = None,
        reaction: Callable[[ArmState, Array], Array] | None = None,
        first: int = CONFIRMED,
    ) -> None:
        """Check joints.

        Args:
            limits: joint limits.
            names: names of the joints, and of the elastic joints of the base after them.
            stiction: (n,) see :class:`Stillness`; None: 0.
            base: (m + 1,) ranges of the elastic joints and the square of their largest angular frequency; None: m = 0.
            reaction: function of a state and of a jump (n,) of the joint velocities that returns how much faster (m,)
                an elastic base is after it; None: no faster.
            first: number of states that must agree with each other before the first one is believed.
        """
        self._table, self._names, self._first, self._reaction = limits.table, tuple(names), first, reaction
        self._base = np.zeros(1) if base is None else numbers("base", base, ANY)
        if not self._base.size:
            raise InputError("base needs m + 1 numbers, got none")
        n, m = self._table.shape[1], self._base.size - 1
        self._still = Stillness(limits, np.zeros(n) if stiction is None else stiction)
        self.reset()
        nothing = ArmState(0, np.zeros(n), np.zeros(n), np.zeros(m), np.zeros(m))  # compiles or loads
        self._compare(nothing, nothing, 0.0)
        _unreachable(self._table, nothing.position, nothing.velocity, nothing.position, nothing.velocity, 0.0)
        _unmoved(nothing.position, nothing.velocity, nothing.position, nothing.velocity, 0.0)
        _mirrored(self._table, nothing.velocity, nothing.velocity, nothing.velocity, nothing.position, 0.0)

    def reset(self) -> None:
        """Forget all states."""
        self._still.reset()
        self.unsettle()

    def unsettle(self) -> None:
        """Believe no single state: there is nothing to compare it with."""
        self._settled = False
        self._suspect: ArmState | None = None  # newest state that was not believed
        self._chain: ArmState | None = None  # first state of those that agree with each other up to it
        self._agreeing = 0
        self._earlier: Array | None = None  # velocity before that of the newest believed state
        self._stuck = ""  # reason why unchanged states are rejected
        self._stuck_joint, self._stuck_at = -1, (0.0, 0.0)
        self.contradiction, self.torn, self.changed = "", 0.0, False
        self._still.forget()

    @property
    def frozen(self) -> int:
        """Joint whose readings are frozen while those of others are not, -1 if there is none."""
        return self._stuck_joint if self._stuck and self.contradiction else -1

    @property
    def sure(self) -> bool:
        """Whether the newest state was believed."""
        return self._settled and self._suspect is None

    @property
    def hidden(self) -> Array | None:
        """(n,) velocities with those that frozen readings hide [rad/s | m/s]; None if no readings are frozen."""
        return self._still.hidden.copy() if self._stuck else None

    def doubt(
        self,
        state: ArmState,
        before: ArmState | None,
        dt: float,
        caused: Callable[[ArmState], tuple[Array, Array]],
        *,
        idle: bool = False,
        coasts: bool = False,
        free: bool = False,
    ) -> str:
        """Return why a state is rejected; empty string if it is accepted.

        Args:
            state: received state.
            before: newest accepted state, None if there is none.
            dt: time between the two [s].
            caused: function of a state that returns the joint velocity (n,) and acceleration (n,) that the command in
                force causes; called only if readings do not change.
            idle: whether no command moves the arm.
            coasts: whether joints move on by themselves between commands, as under efforts.
            free: whether the arm may have been moved by anything since.
        """
        self.changed = False
        code, joint, same = self._compare(state, state if before is None else before, dt)
        if code == NOWHERE:
            self._suspect = self._chain = None
            n = state.position.size
            value = state.position[joint] if joint < n else state.deflection[joint - n]
            return f"joint state is not believable: {self._names[joint]} at {value:.3g}"
        if self._stuck and before is not None:
            if self._is_stuck(state, dt, idle=idle):
                return self._stuck  # even if many frozen states agree with each other
            self._stuck = ""
            self._still.forget()
            if same:
                return ""
        if before is None or dt > LONGEST:
            self._settled = False
        agrees = self._agrees(state, free=free)
        if self._settled and code == PLAUSIBLE and before is not None and not agrees:
            joint = self._reversed(state, before, dt)
            code = REVERSED if joint >= 0 else PLAUSIBLE
        if self._settled and code == PLAUSIBLE and not agrees:  # with what was not believed a moment ago
            assert before is not None
            self._suspect, self.contradiction, self.torn, self._earlier = None, "", 0.0, before.velocity
            if free:
                self._still.learn(state, before)
            joint = self._still.on_state(state, before, dt, caused, coasts=coasts)
            return self._freeze(state, joint, partial=self._still.partial) if joint >= 0 else ""
        return self._confirm(state, before, dt, code, joint, agrees=agrees, free=free)

    def _compare(self, state: ArmState, before: ArmState, dt: float) -> tuple[int, int, bool]:
        """Return what is implausible about a state, for which joint, and whether it is the same as the one before."""
        code, joint, same = _compare_joints(
            self._table, before.position, before.velocity, state.position, state.velocity, dt
        )  # fmt: skip
        if state.deflection.size:
            base = self._base, before.deflection, state.deflection, state.deflection_rate, dt
            found = _compare_base(*base, before.deflection_rate)
            allowed = code in (PLAUSIBLE, TOO_FAST)
            if allowed and found[0] == BENT and self._reaction is not None:  # drives may jerk the joints, they the base
                thrown = self._reaction(state, state.velocity - before.velocity)
                found = _compare_base(*base, before.deflection_rate + thrown)
            if found[0] == NOWHERE or (found[0] == BENT and allowed):
                code, joint = found[0], self._table.shape[1] + found[1]
            same = same and found[2]
        return code, joint, same and state is not before

    def _reversed(self, state: ArmState, before: ArmState, dt: float) -> int:
        """Return the first joint that seems to have reversed its velocity since the state before, or -1."""
        if self._earlier is None:
            return -1
        moved = state.position - before.position
        return int(_mirrored(self._table, self._earlier, before.velocity, state.velocity, moved, dt))

    def _agrees(self, state: ArmState, *, free: bool) -> bool:
        """Return whether a state can follow from the one before that was not believed; False if there is none."""
        if self._suspect is None:
            return False
        apart = (state.stamp - self._suspect.stamp) * 1e-9
        if not 0.0 < apart <= LONGEST:
            return False
        found, _, same = self._compare(state, self._suspect, apart)
        if free:
            self._still.learn(state, self._suspect)
        rests = bool((np.abs(state.velocity) <= RESTING * self._table[VELOCITY]).all())
        return found in (PLAUSIBLE, TOO_FAST) and (rests or not same)

    def _confirm(
        self,
        state: ArmState,
        before: ArmState | None,
        dt: float,
        code: int,
        joint: int,
        *,
        agrees: bool,
        free: bool,
    ) -> str:
        """Return why a state is rejected that is not believed alone; it is accepted if enough states agree."""
        reason = self._say(state, code, joint, dt)
        suspect, self._suspect = self._suspect, state
        apart = 0.0 if suspect is None else (state.stamp - suspect.stamp) * 1e-9
        torn = self.torn + apart if 0.0 < apart <= LONGEST else 0.0
        self.torn = torn if code == NOT_THE_MOTION and not agrees else 0.0
        if not agrees or self._chain is None:
            self._chain, self._agreeing, self.contradiction = state, 0, ""
        self._agreeing += 1
        chain, lasts = self._chain, (state.stamp - self._chain.stamp) * 1e-9
        if self._agreeing < (self._first if before is None and code == PLAUSIBLE else CONFIRMED):
            broken = suspect is not None and not agrees
            return reason if before is not None or broken else WAITS
        if before is None and self._first > 1 and lasts < BLANK and not (state.position.any() or chain.position.any()):
            return WAITS
        joint = _unmoved(chain.position, chain.velocity, state.position, state.velocity, lasts)
        if joint >= 0:
            self.torn = torn
            return self._say(state, NOT_THE_MOTION, joint, lasts)
        if before is not None and not free:
            since = dt - lasts
            joint = _unreachable(
                self._table, before.position, before.velocity, chain.position, chain.velocity, since
            )  # fmt: skip
            if joint >= 0:
                jump = chain.position[joint] - before.position[joint]
                reason = f"the position of {self._names[joint]} jumped by {jump:.3g} and stays there"
            elif (joint := self._reversed(chain, before, since)) >= 0:
                reason = f"the velocity of {self._names[joint]} reversed at once: its sensor counts backward"
            if joint >= 0:
                self.contradiction = reason if lasts >= CONTRADICTED else ""
                return f"joint state is not believable: {reason}"
            if (joint := self._still.stopped(state, chain)) >= 0:
                return self._freeze(state, joint, partial=True)
        self.changed = self._settled and before is not None and not free
        self._settled, self._suspect, self._chain, self._earlier = True, None, None, None
        self.contradiction, self.torn = "", 0.0
        self._still.forget()
        return ""

    def _say(self, state: ArmState, code: int, joint: int, dt: float) -> str:
        """Return what is implausible about a state, in words."""
        if code == PLAUSIBLE:
            return WAITS
        name = self._names[joint]
        if code == BENT:
            x = state.deflection[joint - self._table.shape[1]]
            return f"joint state is not believable: the deflection of {name} jumped to {x:.3g}"
        velocity = state.velocity[joint]
        if code == TOO_FAST:
            limit = self._table[VELOCITY, joint]
            return f"joint state is not believable: {name} at {velocity:.3g}, velocity limit {limit:.3g}"
        if code in (JUMPED, REVERSED):
            return f"joint state is not believable: the velocity of {name} jumped to {velocity:.3g}"
        said = f"its velocity {velocity:.3g} says for the {dt:.3f} s between the stamps"
        return f"joint state is not believable: {name} moved otherwise than {said}"

    def _is_stuck(self, state: ArmState, dt: float, *, idle: bool) -> bool:
        """Return whether the joint whose readings are frozen still reads the same."""
        i, (position, velocity) = self._stuck_joint, self._stuck_at
        if state.position[i] != position or state.velocity[i] != velocity:
            return False
        rests = (np.abs(state.velocity) <= RESTING * self._table[VELOCITY]).all()
        return not (idle and rests and dt >= AGAIN)

    def _freeze(self, state: ArmState, joint: int, *, partial: bool) -> str:
        self._stuck_joint, self._stuck_at = joint, (state.position[joint], state.velocity[joint])
        if partial:
            name = self._names[joint]
            self.contradiction = f"the readings of {name} are frozen, those of others are not"
        self._stuck = (
            f"joint states do not change though the command moves {self._names[joint]}: frozen readings, brakes that"
            " are on, or friction beyond max_friction"
        )
        return self._stuck


def believe(model: ArmModel, limits: JointLimits, *, lockstep: bool) -> StateBelief:
    """Return the belief in the states of an arm; a lockstep simulation waits for the answer to its first state."""
    none, base = np.zeros(model.n), np.zeros(model.m)
    blocks = model.blocks(ArmState(0, none, none, base, base))
    with np.errstate(divide="ignore"):
        friction = np.maximum(limits.friction, STICTION * limits.effort)
        stiction = np.minimum(np.broadcast_to(friction / np.diag(blocks.H_m), (model.n,)), ANYTHING)
    joints = [model.description.joints[name] for name in model.elastic_joint_names]
    elastic = np.zeros(model.m + 1)
    elastic[:-1] = [joint.upper - joint.lower for joint in joints]
    if model.m:
        elastic[-1] = float(np.abs(np.linalg.eigvals(np.linalg.solve(blocks.H_b, model.K_b))).max())
    names = (*model.joint_names, *model.elastic_joint_names)

    def reaction(state: ArmState, jump: Array) -> Array:
        at = model.blocks(state)
        return np.asarray(-np.linalg.solve(at.H_b, at.H_bm @ jump), dtype=float)

    return StateBelief(
        limits, names, stiction=stiction, base=elastic, reaction=reaction, first=1 if lockstep else CONFIRMED
    )


@kernel
def _compare_joints(
    table: Array, position_before: Array, velocity_before: Array, position: Array, velocity: Array, dt: float
) -> tuple[int, int, bool]:
    """Return what is implausible about joints given the previous state, for which one, and whether all are equal."""
    same = True
    for i in range(position.shape[0]):
        same = same and position[i] == position_before[i] and velocity[i] == velocity_before[i]
    code, joint = _implausible(table, position_before, velocity_before, position, velocity, dt)
    return code, joint, same


@kernel
def _compare_base(
    base: Array, deflection_before: Array, deflection: Array, rate: Array, dt: float, rate_before: Array
) -> tuple[int, int, bool]:
    """Return what is implausible about an elastic base, for which joint, and whether all deflections are equal."""
    same = True
    for i in range(deflection.shape[0]):
        same = same and deflection[i] == deflection_before[i]
    for i in range(deflection.shape[0]):
        if not (abs(deflection[i]) <= min(2.0 * base[i], FARTHEST) and abs(rate[i]) <= FASTEST):
            return NOWHERE, i, same
    bent = _bent(base, deflection_before, rate_before, deflection, rate, dt)
    return (BENT, bent, same) if bent >= 0 else (PLAUSIBLE, 0, same)


@inlined_kernel
def _implausible(
    table: Array, position_before: Array, velocity_before: Array, position: Array, velocity: Array, dt: float
) -> tuple[int, int]:
    for i in range(position.shape[0]):
        apart = table[UPPER, i] - table[LOWER, i]
        if not abs(position[i]) * ROUNDING <= RESOLUTION:
            return NOWHERE, i
        if position[i] < table[LOWER, i] - apart or position[i] > table[UPPER, i] + apart:
            return NOWHERE, i
    fast = -1
    for i in range(position.shape[0]):
        limit, change = table[VELOCITY, i], table[ACCELERATION, i] * dt
        expected = 0.5 * (velocity_before[i] + velocity[i]) * dt
        moved = position[i] - position_before[i]
        apart = abs(moved - expected)
        stepped = STEPPED / (1.0 - STEPPED) * min(dt / LONG, 1.0) ** 2 * abs(expected)
        if abs(moved) < abs(expected):
            stepped = 0.0
        if not apart <= stepped + RESOLUTION + 0.25 * limit * min(dt, SUDDEN) + 0.5 * change * dt:
            return NOT_THE_MOTION, i
        jump, speed = abs(velocity[i] - velocity_before[i]), abs(velocity[i])
        if apart <= SHOWN * jump * dt:  # a velocity that is wrong adds half of its jump
            continue
        sudden = 10.0 * min(dt, SUDDEN) + 1.5 * max(dt - SUDDEN, 0.0)
        if not jump <= 0.5 * limit + sudden * table[ACCELERATION, i]:
            return JUMPED, i
        if fast < 0 and not speed <= max(FAST * limit, abs(velocity_before[i]) + 0.5 * limit):
            fast = i
    if fast >= 0:
        return TOO_FAST, fast
    return PLAUSIBLE, 0


@inlined_kernel
def _bent(base: Array, deflection_before: Array, rate_before: Array, deflection: Array, rate: Array, dt: float) -> int:
    """Return the first elastic joint whose deflection or rate cannot follow from those before, or -1.

    Springs may be fast beside the sampling period, so a rate may reverse; but it can only grow by as much as the
    springs, as they were deflected, and a push accelerate the base.
    """
    m, most, fast = deflection.shape[0], 0.0, 0.0
    for i in range(m):
        most, fast = max(most, abs(deflection_before[i])), max(fast, abs(rate_before[i]))
    faster = ROUGH + 2.0 * fast + (base[m] * (most + fast * dt) + PUSH) * dt
    for i in range(m):
        jump = SAG * base[i] + 2.0 * most + (fast + faster) * dt
        if not abs(deflection[i] - deflection_before[i]) <= jump:
            return i
        if not abs(rate[i] - rate_before[i]) <= faster:
            return i
    return -1


@kernel
def _mirrored(table: Array, earlier: Array, before: Array, velocity: Array, moved: Array, dt: float) -> int:
    """Return the first joint whose velocity reversed at once, or -1: not even an impact returns a joint as fast.

    It changes by more than BESIDE times its limit and EVENT times the acceleration limit, its size stays the same but
    for MIRRORED of it, it hardly changed in the sample before, and the positions ``moved`` (n,) otherwise.
    """
    for i in range(velocity.shape[0]):
        jump = abs(velocity[i] - before[i])
        at_once = jump > BESIDE * table[VELOCITY, i] + EVENT * table[ACCELERATION, i] * dt
        same = abs(velocity[i] + before[i]) <= MIRRORED * abs(before[i])
        shown = abs(moved[i] - 0.5 * (before[i] + velocity[i]) * dt) <= SHOWN * jump * dt
        if at_once and same and not shown and abs(before[i] - earlier[i]) <= 0.25 * jump:
            return i
    return -1


@kernel
def _unmoved(position_before: Array, velocity_before: Array, position: Array, velocity: Array, dt: float) -> int:
    """Return the first joint that did not move as its velocities say, over several samples, or -1."""
    for i in range(position.shape[0]):
        expected = 0.5 * (velocity_before[i] + velocity[i]) * dt
        apart = abs(position[i] - position_before[i] - expected)
        if not apart <= 0.5 * RESOLUTION + SHOWN * (abs(expected) + abs(velocity[i] - velocity_before[i]) * dt):
            return i
    return -1


@kernel
def _unreachable(
    table: Array, position_before: Array, velocity_before: Array, position: Array, velocity: Array, dt: float
) -> int:
    """Return the first joint that cannot have moved so far in this time [s], or -1."""
    for i in range(position.shape[0]):
        fast = max(max(abs(velocity_before[i]), abs(velocity[i])), REACH * table[VELOCITY, i])
        if not abs(position[i] - position_before[i]) <= 2.0 * RESOLUTION + fast * dt:
            return i
    return -1
