"""ReactionPlan: a joint motion from rest to rest and its predicted effect on the base."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import BSpline

from flexarm_core.path.joint_trajectory import JointTrajectory
from flexarm_core.path.line import fifth_order
from flexarm_core.reaction_null_space.reactionless.motions import ReactionlessMotions
from flexarm_core.robot.arm_model import ArmModel, DynamicsBlocks
from flexarm_core.types import ArmState, Array, JointReference

INTERVAL = 0.01  # [s] largest time between two samples of a plan
AFTER = 1.0  # [s] time after the end of the motion for which the base response is predicted


@dataclass(frozen=True, slots=True)
class ReactionPlan:
    """A joint motion, sampled at equally spaced times; quintics with continuous acceleration between the samples.

    Reactions are those on the selected base motions, weighted such that a constant reaction r would store the energy
    ``1/2 |r|^2``; see :class:`~flexarm_core.reaction_null_space.reactionless.motions.ReactionlessMotions`.

    Attributes:
        kind: ``line``: the tool moves straight, ``free``: the tool may leave the line between start and goal.
        joint_names: (n,) joint names.
        times: (t,) starting at 0 [s].
        positions, velocities, accelerations: (t, n) joint positions [rad | m] and their time derivatives.
        tool_positions: (t, 3) in the base link frame [m].
        reactions: (t, k) weighted reactions [sqrt(J)].
        tool_sigma: (t,) smallest singular value of ``Jbar`` [m].
        coupling_conditioning: (t,) smallest over largest singular value of the coupling.
        peak_energy: predicted largest elastic energy of the base during the motion and for 1 s after it [J]; under
            gravity, of the deflection relative to the equilibrium at the start.
        straight_energy: ``peak_energy`` of a straight tool motion by resolved acceleration from the same posture [J].
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
        """Duration of the motion [s]."""
        return float(self.times[-1])

    @property
    def peak_reaction(self) -> float:
        """Largest norm of the reaction [sqrt(J)]."""
        return float(np.linalg.norm(self.reactions, axis=1).max())

    @property
    def deflection_ratio(self) -> float:
        """Square root of the predicted peak elastic energy, relative to resolved acceleration."""
        return float(np.sqrt(self.peak_energy / self.straight_energy)) if self.straight_energy > 0.0 else np.inf

    def trajectory(self) -> JointTrajectory:
        """Return the motion as a function of time."""
        return JointTrajectory(
            self.positions[0], self.times.tolist(), self.positions, self.velocities, self.accelerations
        )

    def sample(self, stamp: int, time: float) -> JointReference:
        """Return the joint reference at a time [s] since the start, with a stamp [ns]; at rest before and after.

        If many samples are needed, call :meth:`trajectory` once and sample the result.
        """
        return self.trajectory().sample(stamp, time)


@dataclass(frozen=True, slots=True)
class MotionLoads:
    """Loads on joints and base during a motion along a joint path, at equally spaced times.

    Attributes:
        times: (t,) [s].
        positions, velocities, accelerations: (t, n) joint motion.
        blocks: terms of the equation of motion, one entry per time.
        loads: (t, m) reactions on the base ``-(H_bm qdd + dH_bm qd)``, plus the change of the gravity load since the
            start [N | N*m].
        peak_energy: largest elastic energy of the base during the motion and for 1 s after it [J].
    """

    times: Array
    positions: Array
    velocities: Array
    accelerations: Array
    blocks: list[DynamicsBlocks]
    loads: Array
    peak_energy: float


def base_response(model: ArmModel, inertias: Array, loads: Array, interval: float, substeps: int = 4) -> Array:
    """Return the deflections of an elastic base that starts at rest, under a given joint motion.

    ``H_b(q) xdd_b + D_b xd_b + K_b x_b = -(H_bm qdd + dH_bm qd)`` at the joint positions of each time: linearized for
    small deflections, without gravity. Newmark's average acceleration method adds no numerical damping and is
    unconditionally stable for stiff directions.

    Args:
        model: arm model; provides the stiffness and damping of the base.
        inertias: (t, m, m) H_b at equally spaced times.
        loads: (t, m) reactions ``-(H_bm qdd + dH_bm qd)`` [N | N*m].
        interval: time between two rows [s].
        substeps: integration steps per interval.

    Returns:
        (t, m) deflections at those times [m | rad].
    """
    h, m, t = interval / substeps, model.m, len(loads)
    share = np.arange(1, substeps + 1)[:, None] / substeps
    between = (loads[:-1, None] + share * np.diff(loads, axis=0)[:, None]).reshape(-1, m)
    effective = inertias[:-1, None] + share[..., None] * np.diff(inertias, axis=0)[:, None]
    effective = effective.reshape(-1, m, m) + 0.5 * h * model.D_b + 0.25 * h**2 * model.K_b
    inverses, D, K = np.linalg.inv(effective), model.D_b, model.K_b
    x, v, a = np.zeros(m), np.zeros(m), np.linalg.solve(inertias[0], loads[0])
    rows = np.zeros((len(between) + 1, m))
    for i, (load, inverse) in enumerate(zip(between, inverses, strict=True)):
        v_half, x_whole = v + 0.5 * h * a, x + h * v + 0.25 * h**2 * a
        a = inverse @ (load - D @ v_half - K @ x_whole)
        x, v = x_whole + 0.25 * h**2 * a, v_half + 0.5 * h * a
        rows[i + 1] = x
    return rows[::substeps][:t]


def peak_energy(model: ArmModel, deflections: Array) -> float:
    """Return the largest elastic energy ``1/2 x_b^T K_b x_b`` of deflections (t, m) [J]."""
    return 0.5 * float(np.einsum("ti,ij,tj->t", deflections, model.K_b, deflections).max())


def loads_along(model: ArmModel, path: BSpline, duration: float) -> MotionLoads:
    """Move along a joint path with a fifth-order time law and predict the vibration of the base.

    Args:
        model: the arm.
        path: joint positions as a function of a path coordinate from 0 to 1.
        duration: duration of the motion [s].
    """
    none, (first, second) = np.zeros(model.m), (path.derivative(order) for order in (1, 2))
    times = np.linspace(0.0, duration, int(np.ceil(duration / INTERVAL)) + 1)
    law = np.array([fifth_order(time, duration) for time in times])
    s, rate, second_rate = law[:, 0], law[:, 1:2], law[:, 2:3]
    positions, along = path(s), first(s)
    velocities, accelerations = along * rate, along * second_rate + second(s) * rate**2
    blocks = [model.blocks(ArmState(0, q, qd, none, none)) for q, qd in zip(positions, velocities, strict=True)]
    weight = blocks[0].c_b  # at rest
    loads = np.array([weight - each.H_bm @ qdd - each.c_b for each, qdd in zip(blocks, accelerations, strict=True)])
    inertias, interval = np.array([each.H_b for each in blocks]), float(times[1])
    rest = int(np.ceil(AFTER / interval))
    deflections = base_response(
        model,
        np.concatenate((inertias, np.repeat(inertias[-1:], rest, axis=0))),
        np.concatenate((loads, np.repeat(loads[-1:], rest, axis=0))),  # at rest the weight remains
        interval,
    )
    energy = peak_energy(model, deflections)
    return MotionLoads(times, positions, velocities, accelerations, blocks, loads, energy)


def plan_along(
    motions: ReactionlessMotions, kind: str, path: BSpline, duration: float, straight_energy: float
) -> ReactionPlan:
    """Move along a joint path with a fifth-order time law and evaluate the motion.

    Args:
        motions: reactionless motions of the arm.
        kind: kind of the plan.
        path: joint positions as a function of a path coordinate from 0 to 1.
        duration: duration of the motion [s].
        straight_energy: peak energy of resolved acceleration, for comparison [J].
    """
    model, none = motions.model, np.zeros(motions.model.m)
    moved = loads_along(model, path, duration)
    tools, reactions, conditioning = [], [], []
    for q, qd, blocks, load in zip(moved.positions, moved.velocities, moved.blocks, moved.loads, strict=True):
        space = motions.at(q)
        rows = motions.weighed_rows(motions.selection.at(blocks, 0.0, 1.0).rows)
        reactions.append(rows @ load)
        conditioning.append((space.tool_sigma[-1], space.coupling_conditioning))
        tools.append(model.tool_kinematics(ArmState(0, q, qd, none, none), model.base_frame).position)
    sigma, coupling_conditioning = np.array(conditioning).T
    return ReactionPlan(
        kind=kind,
        joint_names=tuple(model.joint_names),
        times=moved.times,
        positions=moved.positions,
        velocities=moved.velocities,
        accelerations=moved.accelerations,
        tool_positions=np.array(tools),
        reactions=np.array(reactions),
        tool_sigma=sigma,
        coupling_conditioning=coupling_conditioning,
        peak_energy=moved.peak_energy,
        straight_energy=straight_energy,
    )
