"""Record of the reaction that an arm with known joint accelerations exerts on its base."""

from __future__ import annotations

from flexarm_core.reaction_null_space.coupling.null_space import DampedInverse
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array, BaseReaction


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
