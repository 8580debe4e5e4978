"""The law alone: its free response against the matrix exponential, and its energy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np
from behavior_arms import DT, least_singular_value, make_arm, make_controller
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from flexarm_core.behavior_impedance.avoidance.obstacles import obstacles_from_lists
from flexarm_core.behavior_impedance.avoidance.proximity import Proximity
from flexarm_core.behavior_impedance.behavior import BehaviorSpec
from flexarm_core.behavior_impedance.config import ImpedanceConfig
from flexarm_core.behavior_impedance.controller import BehaviorImpedanceController
from flexarm_core.behavior_impedance.motion_space import arm_kinematics
from flexarm_core.types import Array
from flexarm_tools.metrics.figures import Figure, parse_goal

ROUNDING = 1e-9  # of the energy at the begin
AT_ONCE = (1e9, 1e9, 1e9)  # steps of acceleration, so that nothing fades
FREE = make_arm("panda", acceleration=1e5, velocity_scale=1e3)
POSE = np.array([0.0, 0.3, 0.0, -1.8, 0.0, 2.1, 0.5])
RESPONSES, RESPONSE_TIME = 20, 0.4  # [s]
STEPS = (0.008, 0.004, 0.002, 0.001)  # [s]
LAW, VELOCITY, SPRINGS, AVOIDANCE, YIELDING = 400, 100, 200, 200, 100  # cases of the passivity count
FOLLOWED = 1e-5  # [m, rad] within which the arm must have been able to follow: no law binds an arm at its limits
CASE_TIME = 0.4  # [s]
LEAST_SAMPLES = 20  # of a case that counts


# Free response --------------------------------------------------------------------------------------------------------


def oscillator() -> Iterator[Figure]:
    """Coupled translations, and small rotations coupled with each other, from a start velocity."""
    errors = {part: [_response_error(seed, DT, part) for seed in range(RESPONSES)] for part in ("linear", "angular")}
    worst = max(max(found) for found in errors.values())
    fall = {
        f"at_{1e3 * h:g}_ms": max(_response_error(seed, h, "linear", 4.0) for seed in range(RESPONSES)) for h in STEPS
    }
    yield Figure(
        "oscillator_error", worst, "1", parse_goal("<= 1e-6"),
        f"largest error of the free response by its amplitude, {RESPONSES} coupled oscillators, 500 Hz, against expm",
        details={"linear": max(errors["linear"]), "angular": max(errors["angular"])},
    )  # fmt: skip
    falls = [fall[a] / fall[b] for a, b in zip(list(fall)[:-1], list(fall)[1:], strict=True)]
    yield Figure(
        "oscillator_error_fall", min(falls), "1", parse_goal(">= 2"),
        "least ratio of the errors at a step and at half of it, oscillators four times as fast", details=fall,
    )  # fmt: skip


def _response_error(seed: int, h: float, part: str, speed: float = 1.0) -> float:
    """Error of e by the largest e of a free response, matrices of 2 to 8 Hz times ``speed``."""
    random = np.random.default_rng(seed)
    M, B, K = np.eye(6), np.eye(6), np.eye(6)
    at = slice(0, 3) if part == "linear" else slice(3, 6)
    rate = speed * 2.0 * np.pi * random.uniform(2.0, 8.0)
    m = 5.0 if part == "linear" else 0.3
    M[at, at] = _positive(random, 3, m)
    B[at, at], K[at, at] = _positive(random, 3, 0.4 * rate * m), _positive(random, 3, rate**2 * m)
    controller = _controller(M, B, K)
    J = FREE.chain.kinematics(POSE)[2]
    V = np.zeros(6)
    # rotations so small that they add up like vectors
    V[at] = random.normal(size=3) * (0.1 if part == "linear" else 1e-5)
    controller.begin(POSE, np.linalg.pinv(J) @ V)
    for sample in range(2):  # the acceleration does not jump when it begins
        output = controller.update(sample, h, np.zeros(6))
    z = np.concatenate((output.error[at], output.twist[at]))
    Mi = np.linalg.inv(M[at, at])
    A = np.block([[np.zeros((3, 3)), np.eye(3)], [-Mi @ K[at, at], -Mi @ B[at, at]]])
    P, error, amplitude = expm(A * h), 0.0, 0.0
    for sample in range(round(RESPONSE_TIME / h)):
        output, z = controller.update(sample, h, np.zeros(6)), P @ z
        error = max(error, float(np.abs(output.error[at] - z[:3]).max()))
        amplitude = max(amplitude, float(np.abs(z[:3]).max()))
    return error / amplitude


def _positive(random: np.random.Generator, k: int, size: float) -> Array:
    """Symmetric matrix (k, k) with eigenvalues about ``size``."""
    A = random.normal(size=(k, k))
    return size * (A @ A.T / k + 0.3 * np.eye(k))


def _coupled(random: np.random.Generator, linear: float, angular: float) -> Array:
    """Positive matrix (6, 6) in which translations and rotations are coupled."""
    M = np.zeros((6, 6))
    M[:3, :3], M[3:, 3:] = _positive(random, 3, linear), _positive(random, 3, angular)
    L, A = np.linalg.cholesky(M), random.normal(size=(6, 6))
    S = A + A.T
    return L @ (np.eye(6) + 0.5 * S / np.abs(np.linalg.eigvalsh(S)).max()) @ L.T


def _controller(
    M: Array, B: Array, K: Array, variant: str = "acceleration", **more: object
) -> BehaviorImpedanceController:
    config = ImpedanceConfig(
        tuple(M.ravel()), tuple(B.ravel()), tuple(K.ravel()), variant=variant, transition_acceleration=AT_ONCE, **more
    )  # fmt: skip
    return make_controller(FREE, config)


# Energy ---------------------------------------------------------------------------------------------------------------


def passivity() -> Iterator[Figure]:
    """Energy at every sample of 1,000 cases with constant set-points."""
    kinds: dict[str, tuple[Callable[[int], float], int]] = {
        "law": (lambda seed: _law_growth(seed, "acceleration"), LAW),
        "velocity_variant": (lambda seed: _law_growth(seed, "velocity"), VELOCITY),
        "with_springs": (_spring_growth, SPRINGS),
        "with_avoidance": (_avoidance_growth, AVOIDANCE),
        "with_yielding_tool": (_yielding_growth, YIELDING),
    }
    growth = {name: _enough(measure, count) for name, (measure, count) in kinds.items()}
    violations = {name: sum(value > ROUNDING for value in found) for name, found in growth.items()}
    yield Figure(
        "passivity_violations", float(sum(violations.values())), "1", parse_goal("== 0"),
        f"of {sum(len(found) for found in growth.values())} cases: the energy rises by more than 1e-9 of the first",
        details={"drawn_anew": float(_drawn_anew.total())}
        | {f"violations_{name}": float(count) for name, count in violations.items()}
        | {f"largest_rise_{name}": max(found) for name, found in growth.items()},
    )  # fmt: skip


_drawn_anew: Counter[str] = Counter()


def _enough(measure: Callable[[int], float], count: int) -> list[float]:
    """Rises of as many cases, those drawn anew in which the arm could not follow from the begin."""
    found: list[float] = []
    seed = 0
    while len(found) < count:
        rise = measure(seed)
        seed += 1
        if np.isnan(rise):
            _drawn_anew["cases"] += 1
        else:
            found.append(rise)
    return found


def _follows(controller: BehaviorImpedanceController) -> bool:
    """Whether the joints did what the law asked for; where limits or a singularity forbid it, the case ends."""
    return float(np.abs(controller.solver.error).max()) < FOLLOWED and not controller.output.held


def _rise(energies: list[float]) -> float:
    """Largest rise in a sample, by the energy at the begin; NaN of a case that ended at once."""
    E = np.array(energies)
    return float(np.diff(E).max() / max(E[0], 1e-300)) if len(E) >= LEAST_SAMPLES else np.nan


def _displace(controller: BehaviorImpedanceController, random: np.random.Generator, size: tuple[float, float]) -> None:
    """Move the set-point away from the tool, which no user could do so suddenly."""
    state = controller._state
    away, turn = random.normal(size=3) * size[0], Rotation.from_rotvec(random.normal(size=3) * size[1]).as_matrix()
    for position, rotation in (
        (state.anchor_position, state.anchor_rotation),
        (state.set_position, state.set_rotation),
    ):
        position += away
        rotation[:] = turn @ rotation


def _law_growth(seed: int, variant: str) -> float:
    """Of ``V M V / 2 + e K e / 2``: coupled matrices over four decades of stiffness, finite rotations."""
    random = np.random.default_rng(seed)
    m, k, d = random.uniform(0.5, 20.0), 10.0 ** random.uniform(2.0, 6.0), random.uniform(0.0, 1.5)
    b = 2.0 * d * np.sqrt(k * m)
    M, K = _coupled(random, m, 0.04 * m), _coupled(random, k, 0.04 * k)
    B = _coupled(random, max(b, 1e-6), 0.04 * max(b, 1e-6))
    controller = _controller(M, B, K, variant)
    V = np.zeros(6) if variant == "velocity" else random.normal(size=6) * np.repeat((0.1, 0.5), 3)
    controller.begin(POSE, np.linalg.pinv(FREE.chain.kinematics(POSE)[2]) @ V)
    _displace(controller, random, (0.02, 0.2))
    energies = []
    for sample in range(round(CASE_TIME / DT)):
        output = controller.update(sample, DT, np.zeros(6))
        if not _follows(controller):
            break
        if sample > 0:
            kinetic = 0.0 if variant == "velocity" else 0.5 * output.twist @ M @ output.twist
            energies.append(float(kinetic + 0.5 * output.error @ K @ output.error))
    return _rise(energies)


def _spring_growth(seed: int) -> float:
    """The same beside a spring to another pose, as stiff in all directions, and its energy."""
    random = np.random.default_rng(10_000 + seed)
    m, k = random.uniform(0.5, 20.0), 10.0 ** random.uniform(2.0, 5.0)
    M, K = _coupled(random, m, 0.04 * m), _coupled(random, k, 0.04 * k)
    B = _coupled(random, 0.2 * np.sqrt(k * m), 0.008 * np.sqrt(k * m))
    own = 10.0 ** random.uniform(2.0, 5.0)
    controller = _controller(M, B, K)
    V = random.normal(size=6) * np.repeat((0.1, 0.0), 3)
    controller.begin(POSE, np.linalg.pinv(FREE.chain.kinematics(POSE)[2]) @ V)
    center = FREE.chain.pose(POSE)[0] + random.normal(size=3) * 0.03
    spring = {
        "position": center.tolist(), "stiffness": [own, own, own, 0.0, 0.0, 0.0], "max_force": 1e9,
        "damping": [random.uniform(0.0, 50.0)] * 3 + [0.0] * 3,
    }  # fmt: skip
    controller.set_behaviors([BehaviorSpec("spring", "spring", spring)])
    energies = []
    for sample in range(round(CASE_TIME / DT)):
        output = controller.update(sample, DT, np.zeros(6))
        if not _follows(controller):
            break
        if sample > 0:
            away = output.position - center
            tool = 0.5 * output.twist @ M @ output.twist + 0.5 * output.error @ K @ output.error
            energies.append(float(tool + 0.5 * own * away @ away))
    return _rise(energies)


def _avoidance_growth(seed: int) -> float:
    """Of the redundant joints while the tool rests: ``rho M rho / 2`` and the potentials of four behaviors."""
    random = np.random.default_rng(20_000 + seed)
    mass, q = random.uniform(0.2, 3.0), _good_pose(random)
    controller = _controller(
        np.eye(6), 100.0 * np.eye(6), 1e4 * np.eye(6), joint_inertia=(mass,), joint_damping=(random.uniform(0.0, 20.0),)
    )
    null = np.linalg.svd(FREE.chain.kinematics(q)[2])[2][-1]
    return _arm_growth(controller, random, q, null * random.uniform(-1.0, 1.0), mass, np.eye(6), np.zeros((6, 6)), True)


def _yielding_growth(seed: int) -> float:
    """Of tool and redundant joints, both of which yield to the same efforts."""
    random = np.random.default_rng(30_000 + seed)
    mass, q = random.uniform(0.2, 3.0), _good_pose(random)
    m, k = random.uniform(0.5, 20.0), 10.0 ** random.uniform(2.0, 5.0)
    M, K = _coupled(random, m, 0.04 * m), _coupled(random, k, 0.04 * k)
    B = _coupled(random, np.sqrt(k * m), 0.04 * np.sqrt(k * m))
    controller = _controller(
        M, B, K, joint_inertia=(mass,), joint_damping=(random.uniform(1.0, 20.0),), mapping_damping=1e-6
    )
    velocity = np.linalg.pinv(FREE.chain.kinematics(q)[2]) @ (random.normal(size=6) * np.repeat((0.1, 0.3), 3))
    return _arm_growth(controller, random, q, velocity, mass, M, K, False)


def _good_pose(random: np.random.Generator) -> Array:
    """Joints away from their limits and from singularities."""
    while True:
        q = POSE + random.normal(size=7) * 0.3
        near = np.minimum(q - FREE.limits.lower, FREE.limits.upper - q).min() > 0.05
        if near and least_singular_value(FREE, q) > 0.05:
            return q


def _arm_growth(
    controller: BehaviorImpedanceController, random: np.random.Generator, q: Array, velocity: Array, mass: float,
    M: Array, K: Array, redundant: bool,
) -> float:  # fmt: skip
    """Rise of the energy of tool, redundant joints and avoidance behaviors from joints (n,) and velocities (n,) on."""
    controller.begin(q, velocity)
    potential, specs = _potentials(random, controller, q, redundant)
    controller.set_behaviors(specs)
    energies = []
    for sample in range(round(CASE_TIME / DT)):
        output = controller.update(sample, DT, np.zeros(6))
        if not _follows(controller):
            break
        if sample > 0:
            position, rates = controller.solver.position, controller.solver.velocity
            J = FREE.chain.kinematics(position)[2]
            rho = rates - np.linalg.pinv(J) @ (J @ rates)
            tool = 0.5 * output.twist @ M @ output.twist + 0.5 * output.error @ K @ output.error
            energies.append(float(tool + 0.5 * mass * rho @ rho) + potential(position))
    return _rise(energies)


def _potentials(
    random: np.random.Generator, controller: BehaviorImpedanceController, q: Array, redundant: bool
) -> tuple[Callable[[Array], float], list[BehaviorSpec]]:
    """Potential energy over joint positions (n,) [J] and the behaviors it belongs to, near enough to act.

    Args:
        random: source.
        controller: has begun.
        q: (n,) [rad].
        redundant: whether they act on the redundant joints alone, or on the tool and on these.
    """
    arm, frames, J = controller.arm, np.zeros((8, 12)), np.zeros((6, 7))
    arm_kinematics(arm.chain.links, q, frames, J)
    stiffness, origin = 10.0 ** random.uniform(0.0, 3.0) * redundant, q + random.normal(size=7) * 0.2
    size, way, force = random.uniform(0.05, 0.15), random.normal(size=3), 10.0 ** random.uniform(0.0, 2.0)
    place = frames[3, 9:] + way / np.linalg.norm(way) * (size + random.uniform(0.15, 0.3))  # from the elbow
    sphere = {"names": ["s"], "kinds": ["sphere"], "positions": place.tolist(), "sizes": [size, 0.0, 0.0]}
    profiles = {"obstacles": (0.25, 0.01), "joint_limits": (0.5, 0.01), "singularity": (0.15, 0.01)}
    amounts = {"obstacles": "force", "joint_limits": "effort", "singularity": "force"}
    damping = {
        "obstacles": {"damping": random.uniform(0.0, 50.0)},
        "joint_limits": {"damping": random.uniform(0.0, 20.0)},
    }
    obstacles = obstacles_from_lists(sphere["names"], sphere["kinds"], sphere["positions"], [], sphere["sizes"])
    proximity = Proximity(arm.shape, arm.chain, obstacles, *profiles["obstacles"])

    def energy(position: Array) -> float:
        arm_kinematics(arm.chain.links, position, frames, J)
        proximity.update(frames)
        total = 0.5 * stiffness * float((position - origin) @ (position - origin))
        total += sum(_avoidance_energy(d, *profiles["obstacles"], force) for d in proximity.contacts[:, 2])
        for d in np.concatenate((position - arm.limits.lower, arm.limits.upper - position)):
            total += _avoidance_energy(d, *profiles["joint_limits"], force)
        return total + _avoidance_energy(least_singular_value(arm, position), *profiles["singularity"], force)

    specs = [BehaviorSpec("posture", "posture", {"position": origin.tolist(), "stiffness": [stiffness]})]
    for kind, (influence, margin) in profiles.items():
        # the other range is so short that nothing comes into it
        ranges = (influence, 0.0) if redundant else (margin + 1e-6, influence)
        given = {"range": ranges[0], "tool_range": ranges[1], "margin": margin, amounts[kind]: force}
        specs.append(BehaviorSpec(kind, kind, given | damping.get(kind, {}) | (sphere if kind == "obstacles" else {})))
    return energy, specs


def _avoidance_energy(distance: float, influence: float, margin: float, force: float) -> float:
    """Integral of the avoidance force from the range to a distance [J]: ``2 F s^2 / (1 - s)``, even from 0.98 on."""
    s = max((influence - distance) / (influence - margin), 0.0)
    inside, beyond = min(s, 0.98), max(s - 0.98, 0.0)
    work = -0.5 * inside**2 - inside - np.log(1.0 - inside) + beyond * 0.98**2 / 0.02
    return float(2.0 * force * (influence - margin) * work)
