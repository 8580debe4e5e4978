"""Joint drives: how an effort, velocity or position command acts on the motors, and the brakes without a command.

Velocity and position commands pass through one inner servo with the specified bandwidth ``w``. A set point ``q_r``
moves with the velocity ``v_r``, and the servo requests the acceleration

    qdd = 2 w (u - qd),    u = w/2 (q_r - q) + v_r/2

with the effort ``Lambda qdd + b`` from the joint dynamics of the plant itself (``Backend.joint_dynamics``), so that
every joint follows the set point as ``w / (s + w)``, and friction causes no steady-state velocity error. In velocity
mode ``v_r`` is the command. In position mode it is ``k (q_c - q_r)`` with the command ``q_c`` and ``k = w``: every
joint follows the command as ``w^2 / (s + w)^2``, with a lag of ``2 / w`` on a ramp.

The effort is held for a period. The effect of a light, soft base on the joints would be compensated half a period too
late, which excites the oscillation of the base. Therefore ``b`` is extrapolated by half a period from its last change,
and the plant updates the servo often enough to resolve that oscillation (``Backend.base_frequency``).

A single-joint law, scaled by the diagonal of the inertia only, would be closer to a real drive but would not have the
specified bandwidth: its poles scale with the eigenvalues of ``Lambda^-1 diag(Lambda)``, which range from 0.35 to 154
for the stretched planar 3R, so that one joint is unstable at 1 kHz while another is still slow. With decoupling, the
bandwidth is the same for every arm and pose.

**Limits.** Limiting single efforts breaks the decoupling: the other efforts then accelerate the joint whose effort is
limited, and the arm speeds up without bound. Therefore the request is limited in two places (``g``: gravity efforts):

1. The velocity of the set point allows the arm to stop on its straight path. Along ``e = q_c - q_r`` the arm can
   decelerate by ``A e``, where ``A`` is the minimum of ``(L - |g|) / |Lambda e|`` over the joints, and ``k`` is at most
   ``sqrt(A)``: half of that deceleration brakes. ``v_r`` also respects the velocity limits. Near the target ``A`` grows
   without bound, so that ``k`` is ``w`` again. Further, ``2 w (u - qd)`` does not lead beyond a velocity limit within
   the period for which it is held. To limit ``u`` itself would be too strict: the servo could not move a joint that
   sticks by friction. The request for a joint may exceed the limit by the velocity that the joint missed in the period
   before: otherwise a joint that friction holds, or that the efforts for another sticking joint push, would stay or
   creep away despite the largest allowed request.
2. Of all efforts within ``|tau| <= L`` the drives choose the one whose acceleration is nearest to the requested one
   ``a``: the minimum of ``(qdd - a)^T D (qdd - a)``, where ``D`` is the diagonal of ``1 / v^2`` with velocity limits
   ``v``.

Stability: where ``b`` is within the limits, ``qdd = 0`` is feasible, so the nearest acceleration has
``qdd^T D (a - qdd) >= 0``, hence ``(u - qd)^T D qdd >= qdd^T D qdd / (2 w) >= 0``: whichever efforts are saturated, the
velocity never moves away from ``u``, and ``u`` changes by no more than the arm can follow, because the set point then
only moves towards the arm. Where ``b`` exceeds the limits (gyroscopic forces beyond the motor efforts, a base that
moves the arm violently), only the share of ``b - g`` within the limits is compensated, ``u`` is scaled by the same
share, and ``D`` is ``Lambda``. With the remaining motor effort, ``t = tau - g - share (b - g)``, the same inequality
yields ``qd^T t <= w/2 u^T Lambda u``: where ``qd`` is large compared with ``u`` the motors brake. In discrete time the
same holds if ``2 w`` times the period is at most 1.

**Brakes.** Before the first command, and after ``command_timeout`` without commands, the velocity law with ``v_c = 0``
brings the arm to rest and holds it there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.robot.drive_terms import DriveTerms
from flexarm_core.types import Array
from flexarm_sim.backend import Backend
from flexarm_sim.box_minimum import least_in_box
from flexarm_sim.validation import is_number

MODES = ("effort", "velocity", "position")
FLOOR = 0.1  # fraction of the effort limit left for an overloaded joint to brake: it must not block the others


@dataclass(frozen=True, slots=True)
class DriveConfig:
    """Settings of the joint drives.

    Attributes:
        mode: ``effort`` [N*m | N], ``velocity`` [rad/s | m/s] or ``position`` [rad | m].
        bandwidth: bandwidth of the inner servo of the velocity and position modes and of the brakes [rad/s].
        clip_effort: whether the effort and velocity limits of the robot description apply.
        period: longest time between two updates of the servo; ticks are divided accordingly [s].
        command_timeout: time without a command after which the drives brake, in simulation time [s]; 0: never.
    """

    mode: str = "effort"
    bandwidth: float = 200.0
    clip_effort: bool = False
    period: float = 0.001
    command_timeout: float = 0.0

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ConfigError(f"drive mode '{self.mode}' is unknown; modes: {', '.join(MODES)}")
        for name, value in (("bandwidth", self.bandwidth), ("period", self.period)):
            if not (is_number(value) and value > 0.0):
                raise ConfigError(f"drive {name} is {value}, expected a positive number")
        if not (is_number(self.command_timeout) and self.command_timeout >= 0.0):
            raise ConfigError(f"drive command_timeout is {self.command_timeout}, expected a time [s], 0 for none")
        if self.mode != "effort" and self.bandwidth * self.period > 0.5:
            raise ConfigError(
                f"drive bandwidth {self.bandwidth} rad/s is too high for a servo period of {self.period} s: keep their"
                f" product at 0.5 or less, that is a bandwidth of at most {0.5 / self.period:g} rad/s"
            )


class Drives:
    """The drives of all actuated joints of a backend."""

    def __init__(
        self,
        config: DriveConfig,
        effort_limits: Array,
        velocity_limits: Array,
        period: float,
        terms: DriveTerms | None = None,
    ) -> None:
        """Prepare the drives.

        Args:
            config: settings of the drives.
            effort_limits: (n,) effort limits, inf for an unlimited joint [N*m | N].
            velocity_limits: (n,) velocity limits, inf for an unlimited joint [rad/s | m/s].
            period: longest time for which an effort is held [s]; it bounds the bandwidth of the brakes.
            terms: what the drives add to effort commands; None: nothing.
        """
        n = len(effort_limits)
        self._mode, self._terms = config.mode, terms if terms is not None and terms.adds else None
        self._bandwidth = min(config.bandwidth, 0.5 / period)
        self._change = min(1.0, 2.0 * self._bandwidth * period)  # fraction of a velocity error removed in a period
        none = np.full(n, np.inf)
        self._limits: Array = effort_limits if config.clip_effort else none
        self._fastest: Array = velocity_limits if config.clip_effort else none
        given = np.isfinite(velocity_limits) & (velocity_limits > 0.0)
        self._weights = 1.0 / np.where(given, velocity_limits, 1.0) ** 2
        self._work = np.zeros((n + 8, n))
        self.reset()
        least_in_box(np.eye(n), np.zeros(n), self._work, np.zeros(n))  # compiles it now

    def reset(self) -> None:
        """Forget the set point: the next servo starts at the position of the arm."""
        self._set_point: Array | None = None
        self._bias: Array | None = None  # joint bias of the previous step
        self._expected: Array | None = None  # velocity expected at the end of the previous step, without friction

    def effort(self, command: Array | None, backend: Backend, duration: float) -> Array:
        """Return the motor effort for the next time step, and advance the set point by it.

        Args:
            command: (n,) in the unit of the mode; None: the brakes hold.
            backend: driven plant, at its present state.
            duration: time for which the effort will be held [s].

        Returns:
            (n,) effort [N*m | N].
        """
        if command is not None and self._mode == "effort":
            self.reset()
            if self._terms is not None:
                arm = backend.sensed()
                command = command + self._terms.added(arm.position, arm.velocity)
            return np.minimum(np.maximum(command, -self._limits), self._limits)
        w, state = self._bandwidth, backend.sensed()
        inertia, sampled = backend.joint_dynamics()
        bias = sampled + 0.5 * (sampled - (sampled if self._bias is None else self._bias))
        self._bias = sampled
        weight = backend.gravity_effort()
        if self._set_point is None:
            self._set_point = state.position + state.velocity / w
        if command is None:
            rate = np.zeros(len(bias))
        elif self._mode == "position":
            rate = self._approach(command - self._set_point, inertia, weight)
        else:
            rate = np.clip(command, -self._fastest, self._fastest)
        wanted = 0.5 * (w * (self._set_point - state.position) + rate)
        # the request respects the velocity limits over the period for which it is held, if the velocity error of the
        # last period recurs
        slack, fastest = (1.0 - self._change) * state.velocity, self._fastest
        missed = np.zeros(len(bias)) if self._expected is None else state.velocity - self._expected
        low = (-fastest - slack - np.maximum(missed, 0.0)) / self._change
        high = (fastest - slack - np.minimum(missed, 0.0)) / self._change
        kept = np.clip(wanted, low, high)
        if (kept != wanted).any():
            wanted = kept
            self._set_point = state.position + (2.0 * wanted - rate) / w
        given = self._within_limits(wanted, state.velocity, inertia, bias, weight)
        acceleration: Array = 2.0 * w * (wanted - state.velocity)
        if (np.abs(given) >= self._limits).any():
            # the set point moves towards the arm, to where the law requests the limited effort: it does not run away
            # from the arm
            acceleration = np.asarray(np.linalg.solve(inertia, given - bias), dtype=np.float64)
            near = (acceleration + 2.0 * w * state.velocity - w * rate) / w**2
            ahead = self._set_point - state.position
            self._set_point = state.position + np.clip(near, np.minimum(ahead, 0.0), np.maximum(ahead, 0.0))
        self._expected = state.velocity + acceleration * duration
        self._set_point = self._set_point + rate * duration
        return given

    def _approach(self, way: Array, inertia: Array, weight: Array) -> Array:
        """Return the velocity (n,) of the set point towards a target position at which the arm can stop."""
        needed = np.abs(inertia @ way)
        room = np.maximum(self._limits - np.abs(weight), FLOOR * self._limits)
        with np.errstate(divide="ignore", invalid="ignore"):
            stops = np.sqrt(np.nanmin(room / needed, initial=np.inf))
            keeps = np.nanmin(self._fastest / np.abs(way), initial=np.inf)
        return min(self._bandwidth, stops, keeps) * way

    def _within_limits(self, wanted: Array, velocity: Array, inertia: Array, bias: Array, weight: Array) -> Array:
        """Return the effort (n,) within the limits whose acceleration is nearest to that for the wanted velocity."""
        gain, limits = 2.0 * self._bandwidth, self._limits
        effort: Array = inertia @ (gain * (wanted - velocity)) + bias
        if (np.abs(effort) <= limits).all():
            return effort
        share = _share(weight, bias - weight, limits)
        effort = inertia @ (gain * (share * wanted - velocity)) + weight + share * (bias - weight)
        mobility = np.linalg.inv(inertia)
        if share == 1.0:
            mobility = mobility @ (self._weights[:, None] * mobility)
        n = len(limits)
        self._work[n], self._work[n + 1] = -limits, limits
        nearest = np.clip(effort, -limits, limits)
        least_in_box(mobility, -mobility @ effort, self._work, nearest)
        return nearest


def _share(center: Array, way: Array, limits: Array) -> float:
    """Return the largest share in [0, 1] for which ``center + share way`` is within limits; 0 if none is."""
    with np.errstate(divide="ignore", invalid="ignore"):
        rooms = (limits - center * np.sign(way)) / np.abs(way)
    return float(np.clip(np.nanmin(rooms, initial=1.0), 0.0, 1.0)) if (np.abs(center) <= limits).all() else 0.0
