"""Beside ros2_controllers' admittance law, on the same arm, drives and wall."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from admittance_peer import AdmittancePeer, AdmittanceSettings
from behavior_arms import DT, STEP_NS, make_arm, make_controller
from behavior_station import (
    ARM,
    BANDWIDTH,
    CONFIG,
    FORCE,
    GAP,
    NORMAL,
    SETTLING,
    START,
    STIFFNESS,
    Station,
    along_wall,
    begin_controller,
    eight_behaviors,
)
from scipy.linalg import expm

from flexarm_core.behavior_impedance.behavior import BehaviorSpec
from flexarm_core.behavior_impedance.config import ImpedanceConfig
from flexarm_core.behavior_impedance.measured_map import MAPS, MeasuredMap, MeasuredMapConfig
from flexarm_core.types import Array
from flexarm_tools.metrics.figures import Figure, parse_goal

NORMAL_STIFFNESS = 1000.0  # of the peer across the wall [N/m]: it presses by a reference inside the wall
NORMAL_DAMPING = 2500.0  # [N*s/m] as ours
FAST = {"max_linear_velocity": 0.6, "max_linear_acceleration": 2.0}
WALL_ERROR = 0.002  # [m] by which the wall is farther than was thought
PUSH = 60.0  # [N]
APPROACH = 0.008  # [m/s] as ours approaches a wall: force by damping
APPROACH_TIME = 5.0  # [s]
CONTACT_TIME, FAST_TIME, PUSH_TIME = 12.0, 4.0, 3.0  # [s]


def tracking() -> Iterator[Figure]:
    """A fast path in free space, by the real tool; a push in free space, by the commanded tool."""
    specs = [spec for spec in eight_behaviors(start=0.0) if spec.kind in ("path", "posture")]
    specs[0] = BehaviorSpec("path", "path", {**specs[0].settings, **FAST})
    references, poses = _references((FAST_TIME, specs))
    error, measured = (_our_tracking(references, poses, at) for at in MAPS)
    yield Figure(
        "measured_map_lag_mm", 1e3 * measured, "mm", parse_goal("<= 0.3"),
        "largest distance of the real tool from a path at 0.6 m/s, mapped at measured joints",
    )  # fmt: skip
    theirs = {jdot: _peer_tracking(references, poses, jdot) for jdot in (False, True)}
    yield Figure(
        "tracking_error_fast", error, "m", None, "largest distance of the real tool from a path at 0.6 m/s, free space",
        details={"peer_m": theirs[False], "peer_with_jdot_m": theirs[True]},
    )  # fmt: skip
    yield Figure(
        "push_error", _our_push(), "m", None,
        "free space, 60 N, 3 Hz, no limits: largest error of the commanded tool against the matrix exponential",
        details={"peer_m": _peer_push(False), "peer_with_jdot_m": _peer_push(True)},
    )  # fmt: skip


def contact() -> Iterator[Figure]:
    """Pressing and wiping with 20 N."""
    for name, gap in (("known", 0.0), ("misplaced", WALL_ERROR)):
        ours, theirs = _our_contact(gap), _peer_contact(gap)
        keys = ("force_error", "peak_N", "contact_losses", "path_error_m")
        details = dict(zip((f"ours_{key}" for key in keys), ours, strict=True))
        details |= dict(zip((f"peer_{key}" for key in keys), theirs, strict=True))
        yield Figure(
            f"force_error_wall_{name}", ours[0], "1", None,
            f"mean |force - 20 N| by 20 N, the wall {1e3 * gap:g} mm farther than thought", details=details,
        )  # fmt: skip


def limits() -> Iterator[Figure]:
    """A push towards the stretched arm, soft stiffness."""
    ours, theirs = _our_stretch(), _peer_stretch()
    keys = ("beyond_position_limit_rad", "velocity_by_its_limit", "acceleration_by_its_limit")
    yield Figure(
        "stretch_beyond_limits", ours[0], "rad", None, "pushed into the stretched arm by 60 N against 100 N/m",
        details=dict(zip((f"ours_{key}" for key in keys), ours, strict=True))
        | dict(zip((f"peer_{key}" for key in keys), theirs, strict=True)),
    )  # fmt: skip


def _references(*phases: tuple[float, list[BehaviorSpec]]) -> tuple[list[Array], list[tuple[Array, Array]]]:
    """Joint references and set-points of a motion in free space, by which the peer is led.

    Args:
        phases: duration [s] of each and what leads in it, the path first.
    """
    controller = begin_controller(phases[0][1])
    joints, poses = [], [ARM.chain.pose(START)]
    for duration, specs in phases:
        controller.set_behaviors(specs)
        for _ in range(round(duration / DT)):
            controller.update((len(joints) + 1) * STEP_NS, DT, np.zeros(6))
            lead = controller.behaviors[0].out
            joints.append(controller.solver.position)
            poses.append((lead.lead_position.copy(), lead.lead_rotation.copy()))
    return joints, poses[:-1]


def _our_tracking(references: list[Array], poses: list[tuple[Array, Array]], at: str) -> float:
    """Largest distance of the real tool from its path [m], mapped at measured or commanded joints."""
    station, error = Station(wall=False), 0.0
    config = MeasuredMapConfig(at, rate=1.0 / DT, drive_lag=2.0 / BANDWIDTH)
    measured, before = MeasuredMap(ARM.chain, ARM.limits, ARM.length_scale, config), START
    for reference, (p, _) in zip(references, poses, strict=True):
        error = max(error, float(np.linalg.norm(station.read().position - p)))
        if at == "measured":
            measured.update(station.backend.state().position, before, DT)
        before = reference
        station.advance(reference + measured.offset)
    return error


def _settings(jdot: bool = False, normal: float | None = None, damping: float | None = None) -> AdmittanceSettings:
    """As ours; across the wall as given [N/m], [N*s/m]."""
    stiffness, damped = np.array(CONFIG.stiffness), np.array(CONFIG.damping)
    stiffness[2] = stiffness[2] if normal is None else normal
    damped[2] = damped[2] if damping is None else damping
    ratio = damped / (2.0 * np.sqrt(np.array(CONFIG.inertia) * stiffness))
    return AdmittanceSettings(CONFIG.inertia, tuple(ratio), tuple(stiffness), jdot=jdot)


def _peer_tracking(references: list[Array], poses: list[tuple[Array, Array]], jdot: bool) -> float:
    station, peer, error = Station(wall=False), AdmittancePeer(ARM.chain, _settings(jdot)), 0.0
    for reference, (p, _) in zip(references, poses, strict=True):
        error = max(error, float(np.linalg.norm(station.read().position - p)))
        station.advance(peer.update(reference, station.backend.state().position, np.zeros(6), DT))
    return error


# A push in free space, without a plant ------------------------------------------------------------------------------


def _push(sample: int) -> Array:
    return np.array([0.0, 1.0, 0.5, 0.0, 0.0, 0.0]) * PUSH * np.sin(2.0 * np.pi * 3.0 * sample * DT)


SOFT = ImpedanceConfig(
    inertia=(2.0,) * 3 + (0.2,) * 3, damping=(40.0,) * 3 + (20.0,) * 3, stiffness=(200.0,) * 3 + (400.0,) * 3
)


def _expected() -> list[Array]:
    """Displacement (3,) of the ideal oscillator at the end of each sample."""
    m, b, k = SOFT.inertia[0], SOFT.damping[0], SOFT.stiffness[0]
    A = np.array([[0.0, 1.0], [-k / m, -b / m]])
    P = expm(A * DT)
    Q = np.linalg.solve(A, (P - np.eye(2)) @ np.array([0.0, 1.0 / m]))
    z, found = np.zeros((2, 3)), []
    for sample in range(round(PUSH_TIME / DT)):
        z = P @ z + np.outer(Q, _push(sample)[:3])
        found.append(z[0].copy())
    return found


def _our_push() -> float:
    controller, error = make_controller(make_arm("arm_7r", acceleration=1e4, velocity_scale=100.0), SOFT), 0.0
    controller.begin(START)
    controller.update(0, DT, np.zeros(6))
    start = ARM.chain.pose(START)[0]
    for sample, expected in enumerate(_expected()):
        output = controller.update((sample + 1) * STEP_NS, DT, _push(sample))
        error = max(error, float(np.linalg.norm(output.position - start - expected)))
    return error


def _peer_push(jdot: bool) -> float:
    ratio = np.array(SOFT.damping) / (2.0 * np.sqrt(np.array(SOFT.inertia) * np.array(SOFT.stiffness)))
    peer = AdmittancePeer(ARM.chain, AdmittanceSettings(SOFT.inertia, tuple(ratio), SOFT.stiffness, jdot=jdot))
    q, error, start = START, 0.0, ARM.chain.pose(START)[0]
    for sample, expected in enumerate(_expected()):
        q = peer.update(START, q, _push(sample), DT)
        error = max(error, float(np.linalg.norm(ARM.chain.pose(q)[0] - start - expected)))
    return error


# Contact --------------------------------------------------------------------------------------------------------------


def _contact_specs() -> list[BehaviorSpec]:
    return [spec for spec in eight_behaviors() if spec.kind in ("path", "force", "posture")]


def _our_contact(gap: float) -> tuple[float, ...]:
    station, controller = Station(gap=GAP + gap), begin_controller(_contact_specs())
    force, away = [], []
    for sample in range(round(CONTACT_TIME / DT)):
        reading = station.read()
        leading = controller.behaviors[0].out.lead_position.copy() if sample else reading.position
        controller.update((sample + 1) * STEP_NS, DT, reading.wrench)
        station.advance(controller.solver.position)
        force.append(reading.force)
        away.append(float(np.linalg.norm(along_wall(reading.position - leading))))
    touched = int(np.argmax(np.array(force) > 0.0))
    return _judged(force, away, touched + round(SETTLING / DT))


def _peer_contact(gap: float) -> tuple[float, ...]:
    """The reference lies inside the wall by the way on which its spring and the wall's carry 20 N."""
    specs = [spec for spec in _contact_specs() if spec.kind != "force"]
    depth = GAP + FORCE / NORMAL_STIFFNESS + FORCE / STIFFNESS
    inwards = [BehaviorSpec("path", "path", {
        "positions": (-NORMAL * depth).tolist(), "relative": True, "max_linear_velocity": APPROACH,
    }), *specs[1:]]  # fmt: skip
    references, poses = _references((APPROACH_TIME, inwards), (CONTACT_TIME, specs))
    station = Station(gap=GAP + gap)
    peer = AdmittancePeer(ARM.chain, _settings(normal=NORMAL_STIFFNESS, damping=NORMAL_DAMPING))
    force, away = [], []
    for reference, (p, _) in zip(references, poses, strict=True):
        reading = station.read()
        station.advance(peer.update(reference, station.backend.state().position, reading.wrench, DT))
        force.append(reading.force)
        away.append(float(np.linalg.norm(along_wall(reading.position - p))))
    return _judged(force, away, round(APPROACH_TIME / DT))


def _judged(force: list[float], away: list[float], since: int) -> tuple[float, ...]:
    """Mean force error, peak [N], losses of contact, largest path error [m]; all but the peak from a sample on."""
    F = np.array(force)
    late = F[since:]
    losses = float(np.sum((late[:-1] > 0.0) & (late[1:] <= 0.0)))
    return float(np.abs(late - FORCE).mean() / FORCE), float(F.max()), losses, max(away[since:])


# Limits ---------------------------------------------------------------------------------------------------------------

WEAK = ImpedanceConfig(
    inertia=(5.0,) * 3 + (0.2,) * 3, damping=(45.0,) * 3 + (20.0,) * 3, stiffness=(100.0,) * 3 + (400.0,) * 3
)
OUTWARD = np.array([PUSH, 0.0, 0.0, 0.0, 0.0, 0.0])


def _our_stretch() -> tuple[float, ...]:
    controller, joints = make_controller(ARM, WEAK), [START]
    controller.begin(START)
    controller.set_behaviors([BehaviorSpec("joint_limits", "joint_limits"), BehaviorSpec("singularity", "singularity")])
    for sample in range(round(PUSH_TIME / DT)):
        controller.update((sample + 1) * STEP_NS, DT, OUTWARD)
        joints.append(controller.solver.position)
    return _against_limits(joints)


def _peer_stretch() -> tuple[float, ...]:
    ratio = np.array(WEAK.damping) / (2.0 * np.sqrt(np.array(WEAK.inertia) * np.array(WEAK.stiffness)))
    settings = AdmittanceSettings(WEAK.inertia, tuple(ratio), WEAK.stiffness, alpha=0.01)  # the documented default
    peer, joints = AdmittancePeer(ARM.chain, settings), [START]
    for _ in range(round(PUSH_TIME / DT)):
        joints.append(peer.update(START, joints[-1], OUTWARD, DT))
    return _against_limits(joints)


def _against_limits(joints: list[Array]) -> tuple[float, ...]:
    q, limits = np.array(joints), ARM.limits
    velocity = np.diff(q, axis=0) / DT
    acceleration = np.diff(np.vstack((0.0 * START, velocity)), axis=0) / DT
    beyond = np.maximum(q - limits.upper, limits.lower - q).max()
    return (
        max(float(beyond), 0.0),
        float((np.abs(velocity) / limits.velocity).max()),
        float((np.abs(acceleration) / limits.acceleration).max()),
    )
