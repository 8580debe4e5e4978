"""The joint drives: what an effort, velocity or position command does to the motors, and what they do without one.

Velocity and position commands pass through one inner servo of stated bandwidth ``w``. A set-point ``q_r`` moves with
the velocity ``v_r``, and the servo asks for

    qdd = 2 w (u - qd),    u = w/2 (q_r - q) + v_r/2

by the effort ``Lambda qdd + b`` of the plant's own joint dynamics (``Backend.joint_dynamics``), so that every joint
follows the set-point as ``w / (s + w)``, and friction leaves no lasting error of velocity. In velocity mode ``v_r`` is
the command. In position mode it is ``k (q_c - q_r)``, ``q_c`` the command and ``k = w``: every joint follows that as
``w^2 / (s + w)^2``, ``2 / w`` late on a ramp.

The effort is held for a period. What a light, soft base passes on to the joints would be compensated half of that too
late, which drives the base's swing: so ``b`` is taken half a period ahead, along its last change, and the plant updates
the servo often enough to resolve that swing (``Backend.base_frequency``).

A single-joint law, scaled by the diagonal of the inertia alone, would be nearer to a real drive but not to its stated
bandwidth: its poles scale with the eigenvalues of ``Lambda^-1 diag(Lambda)``, which reach from 0.35 to 154 on the
stretched planar 3R, so that one is unstable at 1 kHz while another is still slow. Decoupled, the bandwidth means the
same on every arm and in every pose.

**Limits.** To cut single efforts breaks the decoupling: the others then accelerate the joint whose effort was cut, and
the arm speeds up without end. So what is demanded is limited, in two places (``g``: efforts that hold the weight):

1. The set-point has a velocity from which the arm can stop on its straight way. Along ``e = q_c - q_r`` it can
   decelerate by ``A e``, ``A`` the least of ``(L - |g|) / |Lambda e|`` over the joints, and ``k`` is at most
   ``sqrt(A)``: half of that brakes. ``v_r`` keeps the velocity limits too. Near the target ``A`` grows beyond all
   bounds, so that ``k`` is ``w`` again. Nor does ``2 w (u - qd)`` lead beyond a velocity limit within the period for
   which it is held. To limit ``u`` itself would be too much: the servo could not push a joint that friction holds. By
   what a joint missed of its velocity in the period before, more may be asked of it: else one that friction holds, or
   that the efforts for another that friction holds push, would stay or creep away with all that it may ask for.
2. Of all efforts within ``|tau| <= L`` the drives give the one whose acceleration is nearest to the wanted one ``a``:
   the least of ``(qdd - a)^T D (qdd - a)``, ``D`` the diagonal of ``1 / v^2``, ``v`` the velocity limits.

Why that is stable: where ``b`` is within the limits, ``qdd = 0`` is among what the drives can choose from, so that the
nearest one has ``qdd^T D (a - qdd) >= 0``, hence ``(u - qd)^T D qdd >= qdd^T D qdd / (2 w) >= 0``: whichever efforts
are at their limits, the arm never gets further from ``u``, which itself changes by no more than what the arm can do:
the set-point then only comes nearer to the arm. Where ``b`` is not (gyroscopic forces beyond the motors, a base that
throws the arm about), only the share of ``b - g`` that is within the limits is compensated, as much of ``u`` is wanted,
and ``D`` is ``Lambda``. With what the motors add beyond that, ``t = tau - g - share (b - g)``, the same inequality says
``qd^T t <= w/2 u^T Lambda u``: where ``qd`` is large beside ``u`` they brake. In discrete time the same holds while ``2
w`` times the period is at most 1.

**Brakes.** Before the first command, and when commands stay away for longer than ``command_timeout``, the velocity law
with ``v_c = 0`` brings the arm to rest from where it is and holds it there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.types import Array
from flexarm_sim.backend import Backend
from flexarm_sim.box_minimum import least_in_box
from flexarm_sim.validation import is_number

MODES = ("effort", "velocity", "position")
FLOOR = 0.1  # of an effort limit, with which an overloaded joint is taken to brake: it must not hold up the others


@dataclass(frozen=True, slots=True)
class DriveConfig:
    """How the motors take commands.

    Attributes:
        mode: ``effort`` [N*m | N], ``velocity`` [rad/s | m/s] or ``position`` [rad | m].
        bandwidth: of the inner servo of the velocity and position modes and of the brakes [rad/s].
        clip_effort: whether the effort and velocity limits of the robot description hold.
        period: longest time between two updates of the servo, ticks are divided accordingly [s].
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

    def __init__(self, config: DriveConfig, effort_limits: Array, velocity_limits: Array, period: float) -> None:
        """Prepare the drives.

        Args:
            config: how they take commands.
            effort_limits: (n,) largest effort, inf where there is none [N*m | N].
            velocity_limits: (n,) largest speed, inf where there is none [rad/s | m/s].
            period: longest time for which an effort is held [s]; it bounds the bandwidth of the brakes.
        """
        n = len(effort_limits)
        self._mode = config.mode
        self._bandwidth = min(config.bandwidth, 0.5 / period)
        self._change = min(1.0, 2.0 * self._bandwidth * period)  # share of a velocity error that a period takes away
        none = np.full(n, np.inf)
        self._limits: Array = effort_limits if config.clip_effort else none
        self._fastest: Array = velocity_limits if config.clip_effort else none
        given = np.isfinite(velocity_limits) & (velocity_limits > 0.0)
        self._weights = 1.0 / np.where(given, velocity_limits, 1.0) ** 2
        self._work = np.zeros((n + 8, n))
        self.reset()
        least_in_box(np.eye(n), np.zeros(n), self._work, np.zeros(n))  # compiled by now

    def reset(self) -> None:
        """Forget the past: the next servo begins where the arm is."""
        self._set_point: Array | None = None
        self._bias: Array | None = None  # of the step before
        self._expected: Array | None = None  # velocity at the end of the step before, without friction

    def effort(self, command: Array | None, backend: Backend, duration: float) -> Array:
        """Motor effort for the next time step; the integrator of the velocity mode advances by it.

        Args:
            command: (n,) in the unit of the mode; None: the brakes hold.
            backend: the plant that is driven, at its present state.
            duration: time for which the effort will be held [s].

        Returns:
            (n,) effort [N*m | N].
        """
        if command is not None and self._mode == "effort":
            self.reset()
            return np.clip(command, -self._limits, self._limits)
        w, state = self._bandwidth, backend.state()
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
        # a demand keeps the velocity limits over the period for which it is held, if as much is missing as in the last
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
            # the set-point comes nearer, to where the law asks for what is given: it does not run away from the arm
            acceleration = np.asarray(np.linalg.solve(inertia, given - bias), dtype=np.float64)
            near = (acceleration + 2.0 * w * state.velocity - w * rate) / w**2
            ahead = self._set_point - state.position
            self._set_point = state.position + np.clip(near, np.minimum(ahead, 0.0), np.maximum(ahead, 0.0))
        self._expected = state.velocity + acceleration * duration
        self._set_point = self._set_point + rate * duration
        return given

    def _approach(self, way: Array, inertia: Array, weight: Array) -> Array:
        """Velocity (n,) of the set-point on its way to a position, from which the arm can stop there."""
        needed = np.abs(inertia @ way)
        room = np.maximum(self._limits - np.abs(weight), FLOOR * self._limits)
        with np.errstate(divide="ignore", invalid="ignore"):
            stops = np.sqrt(np.nanmin(room / needed, initial=np.inf))
            keeps = np.nanmin(self._fastest / np.abs(way), initial=np.inf)
        return min(self._bandwidth, stops, keeps) * way

    def _within_limits(self, wanted: Array, velocity: Array, inertia: Array, bias: Array, weight: Array) -> Array:
        """Effort (n,) within the limits whose acceleration is nearest to what leads to a wanted velocity."""
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
    """Largest share, up to 1, of a way that one can go from a center within limits; 0 where that is beyond them."""
    with np.errstate(divide="ignore", invalid="ignore"):
        rooms = (limits - center * np.sign(way)) / np.abs(way)
    return float(np.clip(np.nanmin(rooms, initial=1.0), 0.0, 1.0)) if (np.abs(center) <= limits).all() else 0.0
