r"""Softness: how quickly a stop may act on an arm that bends, from the softest mode of what bends.

A force that steps makes a mode of period ``T`` swing to twice its static deflection. One that rises linearly within a
time ``t`` overshoots by ``|sin(pi t / T) / (pi t / T)|`` of the static deflection, by nothing where ``t = T``. So the
deceleration of a stop rises within the period of the softest mode, of the elastic base and of flexible links with their
loads. If a joint stops from its velocity limit sooner than that, the stop acts on the mode as an impulse of any shape:
a rise would only make the stop longer, so there is none. Links that bend are stopped in no less than a period.

A link that bends, on a light hub, takes more: the rigid model counts on the inertia ``H`` of all that a joint carries,
but its motor moves only ``D`` at once, before the link bends. A damper ``k_d H`` is unstable beyond ``2 D / t`` if
sampled with period ``t``, so the bandwidth of the braking servo is at most ``D / (2 t H)``, with ``D`` of a model that
has more modes than described. The stiffness that this leaves may be less than that of the weight, below which an error
of the weight moves a joint far: it is kept.

A servo much stiffer than the link clamps it: the joint does not move, and the link swings on. With a light hub, a servo
of bandwidth ``w`` and a link of frequency ``f`` with its joint held,

    (2 w s + w^2) (s^2 + f^2) + f^2 s^2 = 0.

The slowest motion decays fastest, with ``exp(-0.37 f t)``, at ``w = f / 2``; at ``w = 3 f`` with ``exp(-0.02 f t)``. So
the bandwidth is at most ``f / 2``. A servo on measured accelerations adds an integral, which would excite the link, so
a stop of links that bend relies on the model and on the effort that has supported the arm for a long time. Position
limits are approached with the deceleration of such a stop.

Where nothing is measured, the motion of links that bend cannot be predicted by the rigid model, and a stop takes longer
than the arm may go unmeasured. So efforts only fade, to those that keep the velocity, within half a period: the links
do not release their elastic energy at once, and the arm hardly becomes faster meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexarm_core.entrance import number, numbers
from flexarm_core.flexible_dynamics.control.sampled_loop import richer_model
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array

DRAWN = 8  # random postures within the joint limits, beside the middle
MARGIN = 0.5  # share of the stable damping that a sampled servo uses
SOFT = 0.5  # bandwidth of a servo that damps a link fastest, relative to the frequency of the link
SLOPE = 1e-3  # [rad | m] over which the weight is differentiated


@dataclass(frozen=True, slots=True)
class Softness:
    """Bounds of a stop, for each joint.

    Attributes:
        rise: (n,) shortest time in which the deceleration may rise to its limit [s].
        acceleration: (n,) deceleration from the velocity limit that takes a period of the softest link [rad/s^2].
        bandwidth: (n,) largest bandwidth of the servo that brakes and holds [rad/s].
        stiffness: (n,) least stiffness of that servo, per inertia [1/s^2].
        fading: time in which efforts fade where nothing is measured [s]; 0: no link bends.
        slowest: least time constant of a servo on measured accelerations [s]; 0: no link bends.
    """

    rise: Array
    acceleration: Array
    bandwidth: Array
    stiffness: Array
    fading: float = 0.0
    slowest: float = 0.0

    def stopping_time(self, speed: Array, acceleration: Array) -> float:
        """Return how long a stop takes longest, from speeds (n,) at decelerations (n,) [s]."""
        n = self.rise.size
        speed, acceleration = numbers("speed", speed, n), numbers("acceleration", acceleration, n)
        slow = np.minimum(acceleration, self.acceleration)
        return float((np.abs(speed) / slow + self.rise + 2.0 / self.bandwidth).max())

    def deceleration(self, most: Array, needed: Array, elapsed: float) -> Array:
        """Return the largest deceleration (n,) at a time in a stop.

        Args:
            most: (n,) limits.
            needed: (n,) what keeps a joint within its limits of position and velocity; it is never denied.
            elapsed: time since the stop began [s].
        """
        share = np.minimum(elapsed / np.maximum(self.rise, 1e-9), 1.0)
        allowed: Array = np.minimum(most, np.maximum(share * np.minimum(most, self.acceleration), needed))
        return allowed


def softness(model: ArmModel, velocity: Array, acceleration: Array, period: float) -> Softness:
    """Return the softness of an arm.

    Args:
        model: arm model.
        velocity: (n,) velocity limits [rad/s | m/s].
        acceleration: (n,) decelerations of a stop [rad/s^2 | m/s^2].
        period: time between two commands [s].
    """
    n, period = model.n, number("period", period, 1e-9)
    velocity, acceleration = numbers("velocity", velocity, n), numbers("acceleration", acceleration, n)
    everything, links = softest_period(model)
    least, stiffness = np.full(n, np.inf), np.zeros(n)
    slow = np.minimum(acceleration, velocity / links) if links else acceleration
    rise = np.where(everything <= (1.0 + 1e-9) * velocity / slow, everything, links)
    if not links:
        return Softness(rise, slow, least, stiffness)
    flexible = richer_model(FlexibleModel(model.description, model.tool_frame))
    for posture in _postures(model):
        x = np.zeros(flexible.size)
        x[flexible.actuated] = posture
        M = flexible.mass_matrix(x)
        own = np.diag(M)[flexible.actuated]
        at_once = 1.0 / np.diag(np.linalg.inv(M))[flexible.actuated]
        least = np.minimum(least, MARGIN * at_once / (period * own))
        stiffness = np.maximum(stiffness, _weight_stiffness(model, posture) / own)
    bandwidth = np.minimum(least, SOFT * 2.0 * np.pi / links)
    return Softness(rise, slow, bandwidth, stiffness, 0.5 * links, float(1.0 / least.min()))


def softest_period(model: ArmModel) -> tuple[float, float]:
    """Return the longest period of the modes with joints held, of all that bends and of flexible links alone; 0: none.

    The frequencies are the lowest ones in the middle of the joint limits and at random postures within them [s].
    """
    description, periods = model.description, [[0.0], [0.0]]
    flexible = FlexibleModel(description, model.tool_frame) if description.flexible_links else None
    for posture in _postures(model):
        if model.m:
            state = ArmState(0, posture, 0.0 * posture, *np.zeros((2, model.m)))
            periods[0].append(model.longest_period(state))
        if flexible is not None:
            x = np.zeros(flexible.size)
            x[flexible.actuated] = posture
            modes = np.ix_(flexible.modal, flexible.modal)
            M, K = flexible.mass_matrix(x)[modes], flexible.stiffness_matrix()[modes]
            periods[0].append(2.0 * np.pi / flexible.natural_frequencies(x)[0])
            periods[1].append(2.0 * np.pi / np.sqrt(np.linalg.eigvals(np.linalg.solve(M, K)).real.min()))
    return max(periods[0]), max(periods[1])


def needed_deceleration(state: ArmState, lower: Array, upper: Array, velocity: Array, most: Array) -> Array:
    """Return the decelerations (n,) without which joints would leave their limits of position or velocity."""
    speed = np.abs(state.velocity)
    room = np.where(state.velocity > 0.0, upper - state.position, state.position - lower)
    stopping = np.where(np.isfinite(room), speed**2 / (2.0 * np.maximum(room, 1e-9)), 0.0)
    needed: Array = np.minimum(np.where(speed > velocity, most, stopping), most)
    return needed


def _postures(model: ArmModel) -> Array:
    lower, upper = np.clip(model.lower, -np.pi, np.pi), np.clip(model.upper, -np.pi, np.pi)
    drawn = np.random.default_rng(0).uniform(lower, upper, (DRAWN, model.n))
    return np.vstack((0.5 * (lower + upper), drawn))


def _weight_stiffness(model: ArmModel, posture: Array) -> Array:
    """Return ``hypot(w, dw/dq)`` (n,) of the weight's effort: a pendulum's stiffness, whatever its angle."""
    none = np.zeros(model.m)

    def weight(position: Array) -> Array:
        return model.gravity_effort(ArmState(0, position, 0.0 * position, none, none))

    slopes = [(weight(posture + one) - weight(posture - one))[i] for i, one in enumerate(SLOPE * np.eye(model.n))]
    stiffness: Array = np.hypot(weight(posture), np.array(slopes) / (2.0 * SLOPE))
    return stiffness
