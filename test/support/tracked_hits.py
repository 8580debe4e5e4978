"""Tool paths during which the base is hit, simulated on MuJoCo, and judged."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from hits import HitRun, base_energies, hit_run
from tracking_cases import HIT_ENERGY, TrackingCase
from vibration_loop import control, make_plant

from flexarm_core.reaction_null_space.coupling.base_modes import BaseModes, base_modes
from flexarm_core.reaction_null_space.stability.linear_plant import LinearPlant, linear_plant
from flexarm_core.robot.arm_model import DynamicsBlocks
from flexarm_core.types import Array
from flexarm_sim.pushes import Push

PUSH_TIME = 0.02  # [s] that a hit lasts
LEVER = 0.1  # [m] of a hit's force
AT_REST = 0.1  # of the energy after the hit that may be left at the end
BACK = 0.1  # of the largest distance from the path that may be left at the end, or
CLOSE = 1e-4  # [m] in any case
FASTEST = 50.0  # [rad/s] of a joint that is still within bounds


@dataclass(frozen=True, slots=True)
class TrackedHit:
    """What became of a tool path and a hit, a row a sample.

    Attributes:
        time: (T,) [s].
        error: (T,) distance of the tool from its reference, tracked axes, as far as it went; under gravity from where
            it stands at the end: servos sag by what they do not know of the weight and the base's deflection [m].
        sag: (3,) at the end under gravity, else zero [m].
        energy: (T,) of the base [J].
        selected: (T,) of those of its motions that are kept quiet [J].
        given: the base's largest energy from the hit on [J].
        rest: what follows path and hit.
        is_damped: whether an inverse of the law was ever damped.
    """

    time: Array
    error: Array
    sag: Array
    energy: Array
    selected: Array
    given: float
    rest: HitRun
    is_damped: bool

    @property
    def diverged(self) -> bool:
        """Whether it left all bounds."""
        return self.rest.diverged

    @property
    def is_at_rest(self) -> bool:
        """Whether the selected motions of the base have come to rest and the tool back to its path."""
        last = self.time > self.time[-1] - 0.1 * (self.time[-1] - self.time[0])
        is_back = self.error[last].max() < max(BACK * self.error.max(), CLOSE)
        return bool(self.selected[last].max() < AT_REST * self.selected.max() and is_back)

    def lifetime(self, since: float) -> float:
        """Mean time for which the selected motions keep their energy after a hit, ``int E dt / max E`` [s]."""
        after = self.selected[self.time >= since]
        return float(after.sum() * (self.time[1] - self.time[0]) / after.max())


def follow(tracking: TrackingCase, seed: int, plant_text: str | None = None, settling: float = 2.5) -> TrackedHit:
    """Simulate a path, the hit during it, and some periods of the base's softest mode after both.

    Args:
        tracking: the path.
        seed: of the hit's direction.
        plant_text: URDF of the arm that is really there; None: the controller's model is exact.
        settling: of those periods; the last of them show what grows.
    """
    case = tracking.case
    real, axes = case.real(plant_text), np.array(case.tool.axes)
    linear = linear_plant(real, case.posture, case.sampling)
    modes = base_modes(linear.blocks.H_b, real.K_b)
    began = max(tracking.duration, tracking.hit_at + PUSH_TIME)
    duration = began + max(1.5, settling * 2.0 * np.pi / modes.frequencies[0])
    plant = make_plant(
        case, real, linear.rest, float(modes.frequencies[-1]), pushes=(_hit(tracking, linear.blocks, seed),)
    )
    reference = tracking.path(linear.rest)
    motion = control(
        case, plant, lambda stamp: (reference(stamp), None), duration,
        lambda state: bool(np.abs(state.velocity).max() < FASTEST),
    )  # fmt: skip
    period, count = case.sampling.period, len(motion.position)
    time, first = np.arange(count) * period, round(began / period)
    wanted = np.array([reference(round(k * period * 1e9)).position for k in range(count)])
    tool = motion.tool_in_world if case.tool.frame == real.world_frame else motion.tool_in_base
    away = np.where(axes[:3], tool - wanted, 0.0)
    sag = away[-max(1, count // 20) :].mean(axis=0) if any(case.gravity) else np.zeros(3)
    error = np.linalg.norm(away - sag, axis=1)
    last = motion.deflection[-max(1, count // 10) :].mean(axis=0)
    energies = base_energies(linear, modes, motion.deflection - last, motion.rate, motion.velocity)
    base = energies[:, :-1].sum(axis=1)
    given = float(base[time >= tracking.hit_at].max(initial=1e-12))
    quieted = _selected_energy(tracking, linear, modes, motion.deflection - last, motion.rate)
    rest = hit_run(period, energies[first:], duration - first * period, given)
    return TrackedHit(time, error, sag, base, quieted, given, rest, bool(motion.damping.max() > 0.0))


def is_unstable(tracking: TrackingCase, run: TrackedHit, seed: int, plant_text: str | None = None) -> bool:
    """Whether something grows, or does not come to rest; looked at for four times as long where it seems so."""
    if run.diverged:
        return True
    if not run.rest.grows() and run.is_at_rest:
        return False
    longer = follow(tracking, seed, plant_text, 10.0)
    return longer.diverged or longer.rest.grows() or not longer.is_at_rest


def undamped(tracking: TrackingCase) -> TrackingCase:
    """The same path without base feedback."""
    return replace(tracking, case=replace(tracking.case, config=replace(tracking.case.config, vibration_damping=False)))


def _selected_energy(
    tracking: TrackingCase, linear: LinearPlant, modes: BaseModes, deflection: Array, rate: Array
) -> Array:
    """Energy (T,) of the selected motions alone [J]."""
    selection, model = tracking.case.selection, tracking.case.model
    if selection.names[0] not in model.elastic_joint_names:  # modes
        momenta, w = modes.momenta[: selection.count], modes.frequencies[: selection.count]
        return 0.5 * ((rate @ momenta.T) ** 2 + (deflection @ momenta.T * w) ** 2).sum(axis=1)
    chosen = [model.elastic_joint_names.index(name) for name in selection.names]
    H, K = (matrix[np.ix_(chosen, chosen)] for matrix in (linear.blocks.H_b, model.K_b))
    xd, x = rate[:, chosen], deflection[:, chosen]
    return 0.5 * (np.einsum("ki,ij,kj->k", xd, H, xd) + np.einsum("ki,ij,kj->k", x, K, x))


def _hit(tracking: TrackingCase, blocks: DynamicsBlocks, seed: int) -> Push:
    """A half sine in a random direction that would give ``HIT_ENERGY`` if it were sudden."""
    rng = np.random.default_rng(seed)
    model = tracking.case.model
    force, torque = rng.standard_normal(3), LEVER * rng.standard_normal(3)
    joints = [model.description.joints[name] for name in model.elastic_joint_names]  # with one origin, next to parallel
    impulse = np.array([joint.axis @ (force if joint.kind == "prismatic" else torque) for joint in joints])
    moved = blocks.H_b - blocks.H_bm @ np.linalg.solve(blocks.H_m, blocks.H_bm.T)  # joints give way to what is sudden
    size = np.sqrt(2.0 * HIT_ENERGY / (impulse @ np.linalg.solve(moved, impulse))) * 0.5 * np.pi / PUSH_TIME
    x, y, z, a, b, c = (float(size * value) for value in (*force, *torque))
    return Push(model.base_frame, tracking.hit_at, PUSH_TIME, (x, y, z), (a, b, c), "half_sine")
