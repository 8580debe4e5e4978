"""ReactionPlan: a motion of the joints from rest to rest, and what it does to the base."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from flexarm_core.path.joint_trajectory import JointTrajectory
from flexarm_core.path.line import fifth_order
from flexarm_core.reaction_null_space.base_response import base_response, peak_energy
from flexarm_core.reaction_null_space.reactionless_motions import ReactionlessMotions
from flexarm_core.types import ArmState, Array, JointReference

INTERVAL = 0.01  # [s] at most, between two samples of a plan
AFTER = 1.0  # [s] for which the base is watched when the joints are at rest again

JointCurve = Callable[[float], tuple[Array, Array, Array]]  # path coordinate -> q, q', q''


@dataclass(frozen=True, slots=True)
class ReactionPlan:
    """A motion of the joints, sampled at even times; between the samples quintics with continuous acceleration.

    Reactions are those of the selected motions of the base, weighed so that one that were constant would store the
    energy ``1/2 |r|^2``; see :class:`~flexarm_core.reaction_null_space.reactionless_motions.ReactionlessMotions`.

    Attributes:
        kind: ``line``: the tool moves straight, ``free``: it leaves the line between start and goal.
        joint_names: (n,).
        times: (t,) from 0 on [s].
        positions, velocities, accelerations: (t, n) [rad | m] and their derivatives by time.
        tool_positions: (t, 3) in the base link's frame [m].
        reactions: (t, k) [sqrt(J)].
        tool_sigma: (t,) smallest singular value of ``Jbar`` [m].
        coupling_conditioning: (t,) smallest over largest singular value of the coupling.
        peak_energy: largest elastic energy of the base during the motion and for 1 s after it, as predicted [J].
        straight_energy: the same if the tool were led straight from the same posture by resolved acceleration [J].
    """

    kind: str
    joint_names: tuple[str, ...]
    times: Array
    positions: Array
    velocities: Array
    accelerations: Array
    tool_positions: Array
    reactions: Array
    tool_sigma: Array
    coupling_conditioning: Array
    peak_energy: float
    straight_energy: float

    @property
    def duration(self) -> float:
        """[s]."""
        return float(self.times[-1])

    @property
    def peak_reaction(self) -> float:
        """Largest norm of the reaction [sqrt(J)]."""
        return float(np.linalg.norm(self.reactions, axis=1).max())

    @property
    def rms_reaction(self) -> float:
        """Root of the mean square of the reaction over the motion [sqrt(J)]."""
        return float(np.sqrt((self.reactions**2).sum(axis=1).mean()))

    @property
    def deflection_ratio(self) -> float:
        """Root of the peak elastic energy relative to that of resolved acceleration, as predicted."""
        return float(np.sqrt(self.peak_energy / self.straight_energy)) if self.straight_energy > 0.0 else np.inf

    def trajectory(self) -> JointTrajectory:
        """The motion as a function of time."""
        return JointTrajectory(
            self.positions[0], self.times.tolist(), self.positions, self.velocities, self.accelerations
        )

    def sample(self, stamp: int, time: float) -> JointReference:
        """Joint reference at a time [s] since the start, with a stamp [ns]; at rest before and after.

        Where many are needed, take :meth:`trajectory` once.
        """
        return self.trajectory().sample(stamp, time)


def plan_along(
    motions: ReactionlessMotions, kind: str, curve: JointCurve, duration: float, straight_energy: float
) -> ReactionPlan:
    """Move along a joint path by the fifth-order law, and judge what that does.

    Args:
        motions: of the arm.
        kind: of the plan.
        curve: joint path, coordinate from 0 to 1.
        duration: of the motion [s].
        straight_energy: for comparison [J].
    """
    model, none = motions.model, np.zeros(motions.model.m)
    times = np.linspace(0.0, duration, int(np.ceil(duration / INTERVAL)) + 1)
    moved, judged, tools, inertias, loads = [], [], [], [], []
    for time in times:
        s, rate, second = fifth_order(time, duration)
        q, first, bend = curve(s)
        state = ArmState(0, q, first * rate, none, none)
        acceleration = first * second + bend * rate**2
        blocks, space = model.blocks(state), motions.at(q)
        load = -(blocks.H_bm @ acceleration + blocks.dH_bm_qd)
        rows = motions.weighed_rows(motions.selection.at(blocks, 0.0, 1.0).rows)
        moved.append((q, state.velocity, acceleration))
        judged.append(np.r_[rows @ load, space.tool_sigma[-1], space.coupling_conditioning])
        tools.append(model.tool_kinematics(state, model.base_frame).position)
        inertias.append(blocks.H_b)
        loads.append(load)
    interval = float(times[1])
    rest = int(np.ceil(AFTER / interval))
    deflections = base_response(
        model,
        np.concatenate((inertias, [inertias[-1]] * rest)),
        np.concatenate((loads, [np.zeros(model.m)] * rest)),
        interval,
    )
    positions, velocities, accelerations = (np.array([row[i] for row in moved]) for i in range(3))
    judgement = np.array(judged)
    return ReactionPlan(
        kind=kind,
        joint_names=tuple(model.joint_names),
        times=times,
        positions=positions,
        velocities=velocities,
        accelerations=accelerations,
        tool_positions=np.array(tools),
        reactions=judgement[:, :-2],
        tool_sigma=judgement[:, -2],
        coupling_conditioning=judgement[:, -1],
        peak_energy=peak_energy(model, deflections),
        straight_energy=straight_energy,
    )
