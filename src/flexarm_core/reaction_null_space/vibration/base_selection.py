r"""BaseSelection: which base motions must not be excited, and how they are damped (selective reaction null space).

With the rows ``S`` (k, m) of the selected motions, the arm leaves these motions at rest and damps them if it obeys

    S H_bm qdd = S H_b G_b xd_b - S dH_bm qd                                                        (12), (15)

``auto`` selects the soft modes of the base, ``S = V_soft^T`` with ``V^T H_b V = 1``; then ``S H_b G_b xd_b`` is
``diag(2 zeta w) xi'`` with the modal velocities ``xi' = V_soft^T H_b xd_b``. Names select rows of the identity matrix,
as in the paper; the other directions are then treated as rigid.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexarm_core.entrance import ANY, expect, finite, number
from flexarm_core.errors import ConfigError
from flexarm_core.reaction_null_space.coupling.base_modes import base_modes, soft_mode_count
from flexarm_core.reaction_null_space.vibration.posture_terms import select, yielding_inertia
from flexarm_core.robot.arm_model import ArmModel, DynamicsBlocks
from flexarm_core.types import ArmState, Array

ALL, AUTO = "all", "auto"


def servo_inertia(blocks: DynamicsBlocks, rows: Array) -> Array:
    """Return the joint inertia (n, n) if the selected base motions, rows (k, m), yield.

    ``H_m - (S H_bm)^T (S H_b S^T)^-1 S H_bm``: a small part of ``H_m`` if the base is light compared with the arm.
    """
    rows = finite("rows", rows, ANY, len(expect("blocks", blocks, DynamicsBlocks).H_b))
    inertia: Array = yielding_inertia(blocks.H_b, blocks.H_bm, blocks.H_m, rows)
    return inertia


@dataclass(frozen=True, slots=True)
class SelectedCoupling:
    """Selected base motions at one state.

    Attributes:
        rows: (k, m) S.
        coupling: (k, n) ``S H_bm``.
        bias: (k,) ``S dH_bm qd``.
        damping: (k, m) ``S H_b G_b``: maps the base rate (m,) to the value that ``S H_bm qdd`` must have.
    """

    rows: Array
    coupling: Array
    bias: Array
    damping: Array


class BaseSelection:
    """Selected rows of the coupling inertia.

    Attributes:
        count: number k of selected motions.
        rows: (k, m) S if selected by names, (0, m) for soft modes.
        soft: number of soft modes, 0 if S is given.
        names: names of the selected motions, for messages.
    """

    def __init__(self, model: ArmModel, selection: tuple[str, ...] = (ALL,), spare: int = 1) -> None:
        """Select the motions.

        Args:
            model: the arm.
            selection: names of elastic joints, or ``("all",)``, or ``("auto",)`` for the soft modes.
            spare: number of joints that the task needs in addition: at most ``n - spare`` motions can be selected.

        Raises:
            ConfigError: unknown or repeated names, or too many motions for the number of joints.
        """
        self._model = model
        known = model.elastic_joint_names
        if tuple(selection) == (AUTO,):
            middle = 0.5 * (np.maximum(model.lower, -np.pi) + np.minimum(model.upper, np.pi))
            still, none = np.zeros(model.n), np.zeros(model.m)
            blocks = model.blocks(ArmState(0, middle, still, none, none))
            frequencies = base_modes(blocks.H_b, model.K_b).frequencies
            self.count = self.soft = soft_mode_count(frequencies, model.n - spare)
            self.rows = np.zeros((0, model.m))
            self.names = tuple(f"mode {i + 1}" for i in range(self.count))
            return
        chosen = known if tuple(selection) == (ALL,) else tuple(selection)
        unknown = [name for name in chosen if name not in known]
        if unknown or not chosen or len(set(chosen)) != len(chosen):
            raise ConfigError(
                f"selection is {', '.join(selection) or 'empty'}: give 'all', 'auto', or different ones of"
                f" {', '.join(known) or 'no elastic joint at all'}"
            )
        if len(chosen) > model.n - spare:
            raise ConfigError(
                "the reaction null space needs more actuated joints than elastic directions;"
                f" n = {model.n}, m = {len(chosen)}"
            )
        self.rows, self.soft = np.eye(model.m)[[known.index(name) for name in chosen]], 0
        self.count, self.names = len(chosen), chosen

    def at(self, blocks: DynamicsBlocks, damping_ratio: float, literal_gain: float) -> SelectedCoupling:
        """Return the rows and their damping at one state.

        Args:
            blocks: terms of the equation of motion at this state.
            damping_ratio: zeta of every selected mode.
            literal_gain: g_b that replaces the damping ratio [1/s]; 0: not used.
        """
        expect("blocks", blocks, DynamicsBlocks)
        damping_ratio, literal_gain = number("damping_ratio", damping_ratio), number("literal_gain", literal_gain)
        S, damping = select(blocks.H_b, self._model.K_b, self.rows, self.soft, damping_ratio, literal_gain)
        return SelectedCoupling(S, S @ blocks.H_bm, S @ blocks.dH_bm_qd, damping)
