"""NullDirection: the single direction in joint space that causes no base reaction, and its rate of change.

Let ``A(q) = S H_bm(q)`` at zero base deflection, with ``S`` the rows of the selected elastic directions. If
``rank A = n - 1``, the null space is a line. Its unit vector n, and the change of n along itself, follow from ::

    A n = 0,   n^T n = 1            =>    dn/ds = -A^+ (dA/ds n),    dA/ds n = dH_bm/dt qd  at  qd = n

The last product is exact, from the recursion of the ArmModel (Nenchev et al. 1999, equation 27).
Revolute and prismatic joints have equal weight: one radian counts as much as one meter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.robot.arm_model import ArmModel, DynamicsBlocks
from flexarm_core.types import ArmState, Array

ALL = "all"
REDUNDANT_ROW = 1e-9  # relative singular value up to which a further row of the coupling counts as linearly dependent


@dataclass(frozen=True, slots=True)
class NullVector:
    """The null direction at one arm posture.

    Attributes:
        tangent: (n,) unit vector with ``A tangent = 0``, of either sign.
        inverse: (n, k) ``A^+`` of rank n - 1.
        sigma_min: (n - 1)-th singular value of A, 0 where the rank is not n - 1; unit of ``H_bm``.
        conditioning: ``sigma_min / sqrt(tr(S H_b S^T) tr H_m)``.
    """

    tangent: Array
    inverse: Array
    sigma_min: float
    conditioning: float


class NullDirection:
    """Null direction of an arm as a function of its joint positions.

    Attributes:
        model: the arm.
        selection: names of the selected elastic joints, in the order of the model.
        rows: (k,) indices of the selected elastic joints in ``H_bm``.
    """

    def __init__(self, model: ArmModel, selection: Sequence[str] = (ALL,)) -> None:
        """Bind to an arm.

        Args:
            model: the arm.
            selection: elastic joints that must not be excited, or ``("all",)``; the others are treated as rigid.

        Raises:
            ConfigError: no or unknown elastic joints, or too few for the null space to be a line.
        """
        names = model.elastic_joint_names
        if len(selection) > len(names) + 1:
            raise ConfigError(
                f"selection names {len(selection)} elastic joints; there are {', '.join(names) or 'none'}"
            )
        chosen = names if tuple(selection) == (ALL,) else tuple(str(name) for name in selection)
        unknown = [name for name in chosen if name not in names]
        if unknown or len(set(chosen)) != len(chosen):
            wrong = f"'{unknown[0]}' is none" if unknown else "a name stands twice"
            raise ConfigError(f"selection of elastic joints {chosen}: {wrong}; valid: {', '.join(names) or 'none'}")
        if len(chosen) < model.n - 1 or not chosen:
            raise ConfigError(
                f"a reactionless path needs n - rank(S H_bm) = 1: {model.n} joints need at least {max(model.n - 1, 1)}"
                f" elastic directions, selected are {len(chosen)} ({', '.join(chosen) or 'none'})"
            )
        self.model = model
        self.selection = tuple(name for name in names if name in chosen)
        self.rows = np.array([names.index(name) for name in self.selection])
        self._still = np.zeros(model.n)
        self._base = np.zeros(model.m)

    def coupling(self, position: Array) -> Array:
        """Return the (k, n) matrix ``A = S H_bm`` at joint positions (n,)."""
        return self._blocks(position, self._still).H_bm[self.rows]

    def at(self, position: Array) -> NullVector:
        """Return the null direction at joint positions (n,)."""
        blocks, n = self._blocks(position, self._still), self.model.n
        left, values, right = np.linalg.svd(blocks.H_bm[self.rows])
        scale = float(np.sqrt(blocks.H_b[self.rows, self.rows].sum() * blocks.H_m.trace()))
        sigma = float(values[n - 2]) if n > 1 else scale
        if len(values) == n and values[n - 1] > REDUNDANT_ROW * scale:
            sigma = 0.0  # rank n: the null space is empty
        used = values[: n - 1]
        gains = np.divide(1.0, used, out=np.zeros_like(used), where=used > 0.0)
        return NullVector(right[-1], (right[: n - 1].T * gains) @ left[:, : n - 1].T, sigma, sigma / scale)

    def turn(self, position: Array, vector: NullVector, tangent: Array) -> Array:
        """Return (n,) ``dn/ds`` along the tangent (n,), which is ``vector.tangent`` with either sign."""
        bias: Array = self._blocks(position, tangent).dH_bm_qd[self.rows]
        return -vector.inverse @ bias

    def tool_position(self, position: Array) -> Array:
        """Return the (3,) tool position in the base link frame at joint positions (n,) [m]."""
        return self.model.tool_kinematics(self._state(position, self._still), self.model.base_frame).position

    def difference(self, position: Array, other: Array) -> Array:
        """Return (..., n) ``position - other``, for endless joints the shortest way."""
        return self.model.turns.difference(position, other)

    def check_position(self, position: Array) -> Array:
        """Return joint positions (n,) as an array.

        Raises:
            InputError: wrong length or not finite.
        """
        checked = np.array(position, dtype=float)
        if checked.shape != (self.model.n,) or not np.isfinite(checked).all():
            raise InputError(f"position is {checked}, expected {self.model.n} finite numbers")
        return checked

    def _state(self, position: Array, velocity: Array) -> ArmState:
        return ArmState(0, position, velocity, self._base, self._base)

    def _blocks(self, position: Array, velocity: Array) -> DynamicsBlocks:
        return self.model.blocks(self._state(position, velocity))
