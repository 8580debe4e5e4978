"""VelocityLaw: base damping and reactionless motion for arms whose drives accept joint velocities.

Premultiplied by ``A = S H_bm``, the acceleration law (15) determines the coupling momentum ``L = A qd`` of the selected
directions with deflection ``x`` and inertia ``H``: ``dL/dt = H G_b xd - g_m L``. This is integrated once over time,
under the assumption that the inertia changes slowly compared with the vibration. The integral of L is replaced by the
joint error ``e = q_r - q`` relative to a reference path in the null space (there ``A e = -int L dt``)::

    A qd = H G_b x + g_m A e                                                                  (row space of A)
    qd   = A^+ H G_b x + [ g_m A^+ A + g_p (1 - A^+ A) ] e + (1 - A^+ A) qd_r + t_d qdd_r

With one direction, ``g_p = g_m`` and without the last two terms (``feed_forward`` off), this is the velocity law (30)
of the paper, in which the arm lags behind its reference by ``1 / g_m``. The two terms remove this lag; ``t_d`` is the
lag of the drives, which the acceleration feed-forward compensates. The effect on the base follows from the first
equation, ``L = s / (s + g_m) H G_b x``: only deflections that vibrate faster than ``g_m`` are damped. Therefore the
momentum gain is separate from the path gain here (see ``velocity_law_poles``).

Only the deflection is fed back, not its rate. The static deflection under gravity according to the model,
``-K_b^-1 c_b`` at rest, is subtracted.

=================  ==================================================================
symbol             meaning
=================  ==================================================================
G_b                gain of base feedback [1/s]
g_m, g_p           momentum gain, path gain [1/s]
q_r, qd_r, qdd_r   joint reference: a point that moves along a path, or a posture
=================  ==================================================================
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.reaction_null_space.coupling.null_direction import ALL
from flexarm_core.reaction_null_space.coupling.null_space import DampedInverse, damped_inverse
from flexarm_core.reaction_null_space.reactionless.path import JointMotion, ReactionlessPath
from flexarm_core.robot.arm_model import ArmModel, DynamicsBlocks
from flexarm_core.settings import Settings, setting
from flexarm_core.types import ArmState, Array, BaseReaction, JointReference


@dataclass(frozen=True, slots=True)
class VelocityLawConfig(Settings):
    """Settings of the law; all except the selection may change between two samples.

    In (30) of the paper the reference is not fed forward.
    """

    # fmt: off
    vibration_gain: float = setting(24.0,
        "gain g_b of the base feedback; 0: vibrations of the base are not damped", "1/s", 0.0)
    momentum_gain: float = setting(5.0,
        "gain g_m with which the arm gives back the momentum that it took from the base to damp vibrations", "1/s", 0.0)
    path_gain: float = setting(50.0,
        "gain g_p with which the joints return to the path or posture along the reaction null space", "1/s", 0.0)
    feed_forward: bool = setting(True,
        "feed the velocity and acceleration of the reference forward; false: feedback only")
    drive_lag: float = setting(0.0,
        "time by which drives lag, compensated by feedforward: 1 / bandwidth plus half a period; 0: not compensated",
        "s", 0.0, 1.0)
    selection: tuple[str, ...] = setting((ALL,),
        "elastic joints of the base that are considered, others count as rigid; all: every one; a path file has its"
        " own")
    coupling_threshold: float = setting(0.01,
        "relative singular value of the coupling inertia, sigma(H_bm) / sqrt(tr H_b tr H_m), below which its inverse"
        " is damped", "", 1e-6, 0.999)
    # fmt: on


@dataclass(frozen=True, slots=True)
class Along:
    """Position and motion of the reference on a path at one sample.

    Attributes:
        s: path coordinate [rad | m].
        rate: ds/dt [rad/s | m/s].
        acceleration: d2s/dt2 [rad/s^2 | m/s^2].
    """

    s: float
    rate: float = 0.0
    acceleration: float = 0.0


class VelocityLaw:
    """Joint velocities that damp the base and keep the arm on a reactionless path or at a posture.

    Attributes:
        coupling: rank, singular values and damping of A at the last sample, None before the first.
    """

    def __init__(self, model: ArmModel, config: VelocityLawConfig) -> None:
        """Bind the law to an arm; without a path it holds the posture of the first sample.

        Raises:
            ConfigError: no elastic joint, an unknown or repeated one, or more selected ones than joints.
        """
        chosen = model.elastic_joint_names if tuple(config.selection) == (ALL,) else config.selection
        unknown = [name for name in chosen if name not in model.elastic_joint_names]
        if unknown or not chosen or len(set(chosen)) != len(chosen) or len(chosen) > model.n:
            raise ConfigError(
                f"selection of elastic joints {tuple(chosen)}: name 1 to {model.n} different ones of:"
                f" {', '.join(model.elastic_joint_names) or 'none'}"
            )
        model.description.require_springs("the law of reactionless paths")
        self.model = model
        self.config = config
        self.coupling: DampedInverse | None = None
        self._rows = np.array(sorted(model.elastic_joint_names.index(name) for name in chosen))
        self._square = np.ix_(self._rows, self._rows)
        self._sag = -np.linalg.inv(model.K_b)
        self._still, self._base_still = np.zeros(model.n), np.zeros(model.m)
        self._path: ReactionlessPath | None = None
        self._posture: Array | None = None

    def reset(self) -> None:
        """Forget path and posture; the posture of the next sample is then held."""
        self._path, self._posture, self.coupling = None, None, None

    def follow(self, path: ReactionlessPath) -> None:
        """Follow a path from the next sample on.

        Raises:
            ConfigError: the path is for another arm.
        """
        other = path.field.model
        if (other.description.name, other.joint_names) != (self.model.description.name, self.model.joint_names):
            raise ConfigError(
                f"the path is of '{other.description.name}' {other.joint_names}, the law of"
                f" '{self.model.description.name}' {self.model.joint_names}"
            )
        self._path, self._posture = path, None

    def hold(self, position: Array) -> None:
        """Hold a posture from the next sample on.

        Args:
            position: (n,) joint positions [rad | m].

        Raises:
            InputError: wrong length or not finite.
        """
        posture = np.array(position, dtype=float)
        if posture.shape != (self.model.n,) or not np.isfinite(posture).all():
            raise InputError(f"posture is {posture}, expected {self.model.n} finite numbers")
        self._path, self._posture = None, posture

    def update(self, state: ArmState, along: Along | None = None) -> JointReference:
        """Compute one sample.

        Args:
            state: measured state; only the positions of base and arm are used.
            along: position of the reference on the path; None if a posture is held.

        Returns:
            Joint velocity to command, and the reference position on the path or the held posture.

        Raises:
            InputError: wrong shapes, non-finite numbers, ``along`` missing or given without a path, s beyond the path.
        """
        self.model.check_state(state)
        config, reference = self.config, self._reference(state, along)
        # Velocities are set to zero, so that c_b is the gravity load on the base.
        still = ArmState(state.stamp, state.position, self._still, state.deflection, self._base_still)
        blocks = self.model.blocks(still)
        H = blocks.H_b[self._square]
        self.coupling = coupling = self._inverse(blocks)
        vibration = (state.deflection - self._sag @ blocks.c_b)[self._rows]
        position = self.model.turns.near(reference.position, state.position)
        error = position - state.position
        free = config.path_gain * error
        if config.feed_forward:
            free = free + reference.velocity
        bound = config.momentum_gain * error - free
        velocity = free + coupling.row_space.T @ (coupling.row_space @ bound)
        velocity += coupling.inverse @ (H @ (config.vibration_gain * vibration))
        if config.feed_forward:
            velocity += config.drive_lag * reference.acceleration
        return JointReference(stamp=state.stamp, position=position, velocity=velocity)

    def feedback(self, blocks: DynamicsBlocks) -> tuple[Array, Array]:
        """Return the linear part of the law about a posture, for stability analysis.

        Args:
            blocks: terms of the equation of motion at this posture, at rest.

        Returns:
            Gains of the commanded velocity on the base deflection (n, m), and on the joint displacement from the
            posture (n, n) [1/s].
        """
        coupling = self._inverse(blocks)
        on_base = np.zeros((self.model.n, self.model.m))
        on_base[:, self._rows] = coupling.inverse @ blocks.H_b[self._square] * self.config.vibration_gain
        bound = coupling.row_space.T @ coupling.row_space
        free = np.eye(self.model.n) - bound
        return on_base, -self.config.momentum_gain * bound - self.config.path_gain * free

    def _inverse(self, blocks: DynamicsBlocks) -> DampedInverse:
        """Return the inverse of A, damped near singularities."""
        scale = float(np.sqrt(blocks.H_b[self._rows, self._rows].sum() * blocks.H_m.trace()))
        threshold = self.config.coupling_threshold * scale
        return damped_inverse(blocks.H_bm[self._rows], threshold, threshold)

    def _reference(self, state: ArmState, along: Along | None) -> JointMotion:
        if self._path is not None:
            if along is None:
                raise InputError("a path is followed: give where on it the reference is")
            return self._path.read(along.s, along.rate, along.acceleration)
        if along is not None:
            raise InputError("a posture is held: there is no path to be along; call follow(path) first")
        if self._posture is None:
            self._posture = state.position.copy()
        return JointMotion(self._posture, self._still, self._still)


def commanded_reaction(
    model: ArmModel, state: ArmState, acceleration: Array, coupling: DampedInverse, vibration_damping: bool
) -> BaseReaction:
    """Return reaction ``-(H_bm qdd + dH_bm/dt qd)``, coupling momentum ``H_bm qd`` and conditioning; no tool task.

    Args:
        model: the arm.
        state: state of arm and base.
        acceleration: (n,) commanded joint accelerations [rad/s^2 | m/s^2].
        coupling: damped inverse of the selected rows of ``H_bm`` that the law used.
        vibration_damping: whether the base feedback is active.
    """
    blocks = model.blocks(state)
    base = model.base_acceleration(blocks, state, acceleration)
    return BaseReaction(
        stamp=state.stamp,
        wrench_on_base_in_base=model.wrench_on_base(state, acceleration, base),
        reaction=-(blocks.H_bm @ acceleration + blocks.dH_bm_qd),
        coupling_momentum=blocks.H_bm @ state.velocity,
        rank=coupling.rank,
        coupling_singular_values=coupling.singular_values,
        smallest_restricted_singular_value=0.0,
        damping=coupling.damping,
        vibration_damping=vibration_damping,
    )
