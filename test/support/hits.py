"""What becomes of an arm under the vibration controller after its base is hit: simulated on MuJoCo, and judged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from stability_cases import StabilityCase
from vibration_loop import References, control, make_plant

from flexarm_core.reaction_null_space.coupling.base_modes import BaseModes, base_modes
from flexarm_core.reaction_null_space.stability.linear_plant import LinearPlant, linear_plant
from flexarm_core.types import ArmState, Array, CartesianReference, JointReference
from flexarm_sim.backend import PlantState

LIMIT_CYCLE = 20.0  # times what the hit gave
TAP = 1e-10  # [J] of a hit that moves the arm nowhere
NEAR = 0.1  # [rad] from a posture within which the growth about it is measured


@dataclass(frozen=True, slots=True)
class HitRun:
    """What became of a hit, a row a sample.

    Attributes:
        time: (T,) [s].
        energy: (T, m + 1) energies of the base's modes, with joints locked at the posture, and the kinetic one of all
            joints; inf from where they left all bounds [J].
        given: what the hit gave a mode [J].
    """

    time: Array
    energy: Array
    given: float

    @property
    def diverged(self) -> bool:
        """Whether it left all bounds."""
        return not np.isfinite(self.energy).all()

    def growth(self) -> Array:
        """Rates (m + 1,) at which amplitudes grow, by the energies' peaks in the second and the last quarter [1/s]."""
        if self.diverged:
            return np.full(self.energy.shape[1], np.inf)
        quarter = len(self.time) // 4
        early, late = self.energy[quarter : 2 * quarter].max(axis=0), self.energy[3 * quarter :].max(axis=0)
        return np.asarray(0.5 * np.log(late / np.maximum(early, 1e-300)) / (self.time[2 * quarter] - self.time[0]))

    def grows(self, least: float = 0.05) -> bool:
        """Whether something that is not small grows by a rate [1/s], or has grown, into a limit cycle perhaps."""
        late = self.energy[3 * len(self.time) // 4 :].max(axis=0)
        if late.max() > LIMIT_CYCLE * self.given:
            return True
        return bool((self.growth()[late > 1e-2 * self.given] > least).any())


def is_unstable(case: StabilityCase, plant_text: str | None = None, duration: float = 2.0) -> bool:
    """Whether the arm goes unstable after a hit: what seems to grow is looked at for a longer time.

    Args:
        case: what is simulated.
        plant_text: URDF of the arm that is really there; None: the controller's model is exact.
        duration: of the first look [s].
    """
    run = hit(case, plant_text, duration)
    return run.diverged or (run.grows() and hit(case, plant_text, 4.0 * duration).grows())


def hit(
    case: StabilityCase, plant_text: str | None = None, duration: float = 2.0, energy: float = 1e-3, seed: int = 0
) -> HitRun:
    """Simulate the controller on the plant after a hit that gives every mode of the base the same energy.

    Args:
        case: what to simulate; effort drives.
        plant_text: URDF of the arm that is really there; None: the controller's model is exact.
        duration: [s].
        energy: of each mode after the hit [J].
        seed: of the hit's signs.
    """
    real = case.real(plant_text)
    linear = linear_plant(real, case.posture, case.sampling)
    modes = base_modes(linear.blocks.H_b, real.K_b)
    signs = np.random.default_rng(seed).choice((-1.0, 1.0), real.m)
    rate = modes.shapes @ (signs * np.sqrt(2.0 * energy))
    plant = make_plant(case, real, linear.rest, float(modes.frequencies[-1]), rate)

    def within(state: PlantState) -> bool:
        return 0.5 * float(np.sum((modes.momenta @ state.deflection_rate) ** 2)) < 1e3 * real.m * energy

    motion = control(case, plant, held_references(case, linear.rest), duration, within)
    end = len(motion.deflection)
    middle = motion.deflection[end // 2 :].mean(axis=0) if end > 1 else 0.0
    energies = base_energies(linear, modes, motion.deflection - middle, motion.rate, motion.velocity)
    return hit_run(case.sampling.period, energies, duration, energy)


def leaves(case: StabilityCase, growth: float) -> bool:
    """Whether the arm of an exact model leaves a posture that the analysis calls unstable, as far as it is there.

    The base gets the tap that best excites what grows fastest. What is looked at is how a run with it departs from one
    without, as long as both are near the posture: a real hit may throw the arm out of a small unstable region, and
    under gravity the servos let it sink out of one.

    Args:
        case: what is simulated.
        growth: that is predicted [1/s].
    """
    linear = linear_plant(case.model, case.posture, case.sampling)
    modes = base_modes(linear.blocks.H_b, case.model.K_b)
    rate = np.sqrt(2.0 * TAP) * modes.shapes @ _strongest_tap(case, modes)
    duration = min(max(1.0, 8.0 / growth), 16.0)

    def within(state: PlantState) -> bool:
        return bool(np.abs(state.position - case.posture).max() <= NEAR)

    motions = []
    for scale in (1.0, 0.0):
        plant = make_plant(case, case.model, linear.rest, float(modes.frequencies[-1]), scale * rate)
        motions.append(control(case, plant, held_references(case, linear.rest), duration, within))
        duration = len(motions[0].position) * case.sampling.period
    end = len(motions[1].position)
    departures = [
        getattr(motions[0], name)[:end] - getattr(motions[1], name) for name in ("deflection", "rate", "velocity")
    ]
    energies = base_energies(linear, modes, *departures)
    return hit_run(case.sampling.period, energies, end * case.sampling.period, TAP).grows()


def _strongest_tap(case: StabilityCase, modes: BaseModes) -> Array:
    """Modal velocities (m,), of length 1, that excite the fastest growing motion most."""
    loop = case.loop()
    phi, plant = loop.matrix + loop.feedback, loop.plant
    values, left = np.linalg.eig(phi.T)
    fastest = left[:, np.argmax(np.abs(values))][: len(plant.A)]
    outputs = np.vstack((plant.position, plant.velocity, plant.deflection, plant.rate))
    states = np.linalg.solve(outputs, np.eye(len(outputs)))[:, -len(modes.shapes) :]
    felt = fastest @ states @ modes.shapes
    return np.linalg.svd(np.vstack((felt.real, felt.imag)))[2][0]


def base_energies(linear: LinearPlant, modes: BaseModes, deflection: Array, rate: Array, velocity: Array) -> Array:
    """Energies (T, m + 1) of the base's modes and of all joints, as of :class:`HitRun` [J].

    Args:
        linear: at the posture.
        modes: of the base there.
        deflection: (T, m) from where it comes to rest [m | rad].
        rate: (T, m) of it [m/s | rad/s].
        velocity: (T, n) of the joints [rad/s].
    """
    modal = 0.5 * (rate @ modes.momenta.T) ** 2 + 0.5 * (deflection @ modes.momenta.T * modes.frequencies) ** 2
    return np.column_stack((modal, 0.5 * np.einsum("ki,ij,kj->k", velocity, linear.blocks.H_m, velocity)))


def hit_run(period: float, energies: Array, duration: float, given: float) -> HitRun:
    """A run of which energies may be missing at the end of its duration [s]: it then left all bounds."""
    whole = np.full((round(duration / period), energies.shape[1]), np.inf)
    whole[: len(energies)] = energies
    return HitRun(np.arange(len(whole)) * period, whole, given)


def held_references(case: StabilityCase, rest: Array) -> References:
    """References of a posture that is held over a base at rest (m,)."""
    model, tool, joints = case.model, None, None
    if case.config.task == "joint_path":
        joints = JointReference(0, case.posture, np.zeros(model.n))
    elif case.config.task == "tool_path":
        frame = case.tool.frame or model.base_frame
        still = ArmState(0, case.posture, np.zeros(model.n), rest, np.zeros(model.m))
        at, zero = model.tool_kinematics(still, frame), np.zeros(6)
        tool = CartesianReference(0, frame, at.position, at.rotation, zero, zero, np.array(case.tool.axes))
    return lambda _: (tool, joints)
