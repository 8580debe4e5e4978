"""FlexibleEstimator: closed forms, a plant of another engine, and sensors that fail."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.flexible_dynamics.estimation.config import EstimatorConfig
from flexarm_core.flexible_dynamics.estimation.estimator import FlexibleEstimator
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.robot.description import RobotDescription
from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import FlexibleSample, FlexibleState
from flexarm_sim.backend import PlantState
from flexarm_sim.mujoco.backend import MujocoBackend

URDF = Path(__file__).resolve().parents[3] / "urdf"
GRAVITY = {"flexible_2r": (0.0, 0.0, 0.0), "flexible_3r": (0.0, 0.0, -9.81)}
TICK = 1_000_000  # [ns]
CART = """
<robot name="cart">
  <link name="ground"/>
  <joint name="spring" type="prismatic">
    <parent link="ground"/><child link="cart"/><axis xyz="1 0 0"/><limit lower="-1" upper="1" effort="9" velocity="9"/>
  </joint>
  <link name="cart">
    <inertial><mass value="2"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
  </link>
  <joint name="turn" type="continuous"><parent link="cart"/><child link="table"/><axis xyz="0 0 1"/></joint>
  <link name="table">
    <inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
  </link>
  <flexibility><elastic_joint name="spring" stiffness="300" damping="DAMPING"/></flexibility>
</robot>"""
OPEN = EstimatorConfig(correct=False)
SILENT = {"effort_noise": 0.0, "modal_noise": 0.0, "base_noise": 0.0}
SILENT |= {"push_force": 0.0, "push_torque": 0.0, "drift_force": 0.0, "drift_torque": 0.0}  # no loads


@cache
def robot(name: str, **arguments: str) -> RobotDescription:
    return parse_robot_description(load_robot_description(URDF / f"{name}.urdf.xacro", arguments))


def model_of(name: str = "flexible_2r", **arguments: str) -> FlexibleModel:
    return FlexibleModel(robot(name, **arguments), gravity=GRAVITY[name])


def still(stamp: int, n: int, **sensors: Any) -> FlexibleSample:
    return FlexibleSample(stamp, np.zeros(n), np.zeros(n), np.zeros(n), **sensors)


@cache
def recording(name: str, ticks: int, bent: bool = False) -> tuple[tuple[PlantState, np.ndarray], ...]:
    """A chain of segments under joint PD and a torque pulse: truth at each millisecond and the effort until then."""
    step = {"flexible_2r": 3e-4, "flexible_3r": 1e-4}[name]
    plant = MujocoBackend(robot(name), segments=8 if name == "flexible_2r" else 5, max_step=step, gravity=GRAVITY[name])
    n = len(plant.joint_names)
    start = np.array([0.3, 0.8, 0.9])[:n]
    first = [0.03 * (bent and mode.endswith("y_1")) for mode in plant.modes]
    plant.reset(start, modal_position=first, deflection=[0.005] * len(plant.elastic_joint_names) if bent else None)
    states, effort = [], np.zeros(n)
    for tick in range(ticks):
        state = plant.state()
        states.append((state, effort))
        effort = -np.array([60.0, 40.0, 25.0])[-n:] * (state.position - start)
        effort -= np.array([25.0, 12.0, 8.0])[-n:] * state.velocity
        if 100 <= tick < 200:
            effort += np.array([25.0, -10.0, 8.0])[:n]
        plant.step(effort, 1e-3)
    return tuple(states)


def measured(name: str, states: Any, seed: int = 1) -> list[FlexibleSample]:
    """Readings with noise: encoders 1e-5 rad and 1e-3 rad/s, strain 1e-6, and what else there is."""
    draw, samples = np.random.default_rng(seed), []
    wrench, imu = np.repeat((0.5, 0.2), 3), np.repeat((0.1, 0.01), 3)
    for tick, (state, effort) in enumerate(states):
        n, m = len(state.position), len(state.deflection)
        strain = state.strain + 1e-6 * draw.normal(size=len(state.strain))
        samples.append(
            FlexibleSample(
                tick * TICK,
                state.position + 1e-5 * draw.normal(size=n),
                state.velocity + 1e-3 * draw.normal(size=n),
                effort,
                state.deflection + 1e-5 * draw.normal(size=m),
                state.deflection_rate + 1e-3 * draw.normal(size=m),
                dict(zip(robot(name).strain_gauges, strain, strict=True)),
                {sensor: reading + wrench * draw.normal(size=6) for sensor, reading in state.wrenches.items()},
                {sensor: reading + imu * draw.normal(size=6) for sensor, reading in state.imus.items()},
            )
        )
    return samples


def run(model: FlexibleModel, config: EstimatorConfig, samples: Any) -> list[FlexibleState]:
    estimator = FlexibleEstimator(model, config)
    return [estimator.update(sample) for sample in samples]


def modal_rms_error(estimates: list[FlexibleState], states: Any, first: int = 0) -> float:
    """RMS of the modal error over RMS of the modes."""
    error = [e.modal_position - s.modal_position for e, (s, _) in zip(estimates[first:], states[first:], strict=True)]
    return float(np.linalg.norm(error) / np.linalg.norm([s.modal_position for s, _ in states[first:]]))


class Twin:
    """A plant that steps by the estimator's own trapezoidal rule: no model error at all."""

    def __init__(self, model: FlexibleModel) -> None:
        self.model, self.x, self.v, self.tick = model, np.zeros(model.size), np.zeros(model.size), 0
        self.x[model.actuated] = (0.3, 0.8)

    def sample(self, effort: np.ndarray, noise: np.ndarray | float = 0.0) -> FlexibleSample:
        strain = self.model.strain_map @ self.x[self.model.modal] + noise
        at = self.model.actuated
        gauges = dict(zip(self.model.description.strain_gauges, strain, strict=True))
        return FlexibleSample(self.tick * TICK, self.x[at].copy(), self.v[at].copy(), effort, strain=gauges)

    def step(self, effort: np.ndarray, dt: float = 1e-3) -> None:
        self.model.articulate(self.x, self.v, step=dt)
        a = self.model.accelerate(effort)
        self.x, self.v = self.x + dt * self.v + 0.5 * dt**2 * a, self.v + dt * a
        self.tick += 1


# Prediction ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dt", [1e-3, 0.02, 0.09])
def test_open_loop_is_the_trapezoidal_solution_of_an_oscillator(dt: float) -> None:
    """Seen once, bent by ``Y``, then ``y = Y cos w t``; the rule turns by ``2 atan(w t/2)`` a tick, not ``w t``."""
    samples = [still(round(k * dt * 1e9), 1) for k in range(60)]
    samples[0] = replace(samples[0], deflection=np.array([0.02]), deflection_rate=np.zeros(1))
    config = EstimatorConfig(deflection_noise=1e-9, deflection_rate_noise=1e-9)
    deflection = [e.deflection[0] for e in run(FlexibleModel(CART.replace("DAMPING", "0")), config, samples)]
    w = np.sqrt(300.0 / 3.0)
    turned = 2.0 * np.arctan(0.5 * w * dt) * np.arange(60)
    assert np.allclose(deflection, 0.02 * np.cos(turned), atol=1e-10)
    if dt == 1e-3:
        assert np.allclose(deflection, 0.02 * np.cos(w * dt * np.arange(60)), atol=1e-6)


def test_at_first_the_arm_is_bent_by_its_weight() -> None:
    model = FlexibleModel(CART.replace("DAMPING", "0"), gravity=(2.0, 0.0, 0.0))
    deflection = [e.deflection[0] for e in run(model, OPEN, [still(k * TICK, 1) for k in range(60)])]
    assert np.allclose(deflection, 6.0 / 300.0, atol=1e-12)


def test_the_covariance_is_carried_on_by_the_cayley_transform() -> None:
    model, t = FlexibleModel(CART.replace("DAMPING", "6")), 0.03
    config = EstimatorConfig(correct=False, initial_energy=0.06, **SILENT)
    estimates = run(model, config, [still(round(k * t * 1e9), 1) for k in range(4)])
    A = np.array([[0.0, 1.0], [-100.0, -2.0]])
    F = np.linalg.solve(np.eye(2) - 0.5 * t * A, np.eye(2) + 0.5 * t * A)
    P = np.diag([0.12 / 300.0, 0.12 / 3.0])
    for estimate in estimates:
        assert np.allclose(estimate.covariance_diagonal, np.diag(P), rtol=1e-10)
        P = F @ P @ F.T


def test_stiff_modes_stay_bounded_at_a_tick_far_longer_than_their_period() -> None:
    """0.05 s holds many periods of the torsion modes; an explicit rule would be at infinity after some ticks."""
    model = model_of("flexible_3r")
    assert model.natural_frequencies(np.zeros(model.size))[-1] * 0.05 > 10.0
    estimates = run(model, OPEN, [still(k * 50 * TICK, 3) for k in range(200)])
    size = np.array([np.abs(e.modal_position).max() for e in estimates])
    assert 0.0 < size[100:].max() <= 1.05 * size[:100].max() < 1.0


def test_acceleration_is_that_of_forward_dynamics_at_the_estimate() -> None:
    model, other = model_of(), model_of()
    sample = FlexibleSample(0, np.array([0.1, 0.5]), np.array([1.0, -2.0]), np.array([3.0, -1.0]))
    estimate = run(model, OPEN, [sample])[0]
    x, v = np.zeros(other.size), np.zeros(other.size)
    x[other.actuated], v[other.actuated] = sample.position, sample.velocity
    expected = other.forward_dynamics(x, v, sample.effort)
    assert np.allclose(estimate.modal_acceleration, expected[other.modal], rtol=1e-9)
    again = FlexibleEstimator(model, OPEN)
    again.update(sample)
    little = again.update(replace(sample, stamp=10_000))  # 10 us on: the rates have grown by the accelerations
    assert np.allclose(little.modal_rate, 1e-5 * expected[other.modal], rtol=0.05)


# Correction ----------------------------------------------------------------------------------------------------------


def test_without_noise_a_wrong_start_is_forgotten() -> None:
    twin, estimator = Twin(model_of()), FlexibleEstimator(model_of(), EstimatorConfig(initial_energy=1.0, **SILENT))
    twin.x[twin.model.modal] = (0.03, -0.002, 1e-4, 0.02, 0.001, -1e-4)
    twin.v[twin.model.modal] = (0.1, 0.2, 0.01, -0.1, 0.1, 0.01)
    errors = []
    for _ in range(600):
        effort = np.array([2.0 * np.sin(0.01 * twin.tick), 1.0])
        twin.step(effort)
        estimate, free = estimator.update(twin.sample(effort)), twin.model.modal
        state = np.concatenate((estimate.modal_position - twin.x[free], estimate.modal_rate - twin.v[free]))
        errors.append(np.abs(state).max())
    assert errors[0] > 0.05
    assert errors[-1] < 1e-4 * errors[0]


def test_innovations_are_white_and_as_large_as_predicted() -> None:
    """Efforts and gauges as noisy as the filter is told: ``nu^T S^-1 nu`` is chi-square, mean 1 a channel."""
    config = EstimatorConfig(effort_noise=0.02, modal_noise=0.0, strain_error=0.0)
    twin, estimator, draw = Twin(model_of()), FlexibleEstimator(model_of(), config), np.random.default_rng(3)
    innovations, squares, errors = [], [], []
    for _ in range(800):
        known = np.array([2.0 * np.sin(0.01 * twin.tick), 1.0])
        twin.step(known + config.effort_noise / np.sqrt(1e-3) * draw.normal(size=2))
        estimate = estimator.update(twin.sample(known, config.strain_noise * draw.normal(size=4)))
        innovations.append(estimate.innovation / np.sqrt(estimate.innovation_variance))
        squares.append(innovations[-1] ** 2)
        error = np.concatenate((estimate.modal_position, estimate.modal_rate))
        error -= np.concatenate((twin.x[twin.model.modal], twin.v[twin.model.modal]))
        errors.append(error**2 / estimate.covariance_diagonal)
    assert estimate.innovation_names == tuple(twin.model.description.strain_gauges)
    normal = np.array(innovations[100:])
    assert np.mean(squares[100:]) == pytest.approx(1.0, abs=0.15)
    assert np.abs(np.mean(normal[1:] * normal[:-1], axis=0)).max() < 0.2
    assert 0.3 < np.mean(errors[100:]) < 3.0


@pytest.mark.parametrize("wrong", [{}, {"payload": "1.1"}, {"stiffness_scale": "0.9"}])
def test_strain_keeps_the_modes_of_another_engine_within_five_percent(wrong: dict[str, str]) -> None:
    states = recording("flexible_2r", 1200)
    samples = measured("flexible_2r", states)
    closed = modal_rms_error(run(model_of(**wrong), EstimatorConfig(), samples), states)
    opened = modal_rms_error(run(model_of(**wrong), OPEN, samples), states)
    assert closed < 0.05
    assert closed < 0.5 * opened


@pytest.mark.parametrize("sensor", ["use_wrench", "use_imu"])
def test_one_motion_sensor_alone_reduces_the_error(sensor: str) -> None:
    states = recording("flexible_2r", 600, bent=True)[::2]
    samples = [replace(s, stamp=2 * k * TICK) for k, s in enumerate(measured("flexible_2r", states))]
    config = EstimatorConfig(use_strain=False, **{sensor: True})
    estimates = run(model_of(), config, samples)
    assert not any(e.left_out for e in estimates)
    opened = modal_rms_error(run(model_of(), OPEN, samples), states, 150)
    assert modal_rms_error(estimates, states, 150) < 0.3 * opened


def test_deflection_of_the_mast_alone_reduces_the_error() -> None:
    states = recording("flexible_3r", 400, bent=True)
    samples = measured("flexible_3r", states)
    config = EstimatorConfig(use_strain=False, effort_noise=0.05)
    closed, opened = (run(model_of("flexible_3r"), c, samples) for c in (config, OPEN))
    names = {f"mast_{axis} {what}" for axis in "xy" for what in ("deflection", "deflection_rate")}
    assert set(closed[-1].innovation_names) == names
    true = np.array([s.deflection for s, _ in states])
    errors = [np.linalg.norm(np.array([e.deflection for e in estimates]) - true) for estimates in (closed, opened)]
    assert errors[0] < 0.05 * errors[1]
    assert modal_rms_error(closed, states, 100) < 0.7 * modal_rms_error(opened, states, 100)


# Faults --------------------------------------------------------------------------------------------------------------


def with_strain(samples: list[FlexibleSample], change: Callable[[int, dict[str, float]], None]) -> list[FlexibleSample]:
    changed = []
    for tick, sample in enumerate(samples):
        strain = dict(sample.strain)
        change(tick, strain)
        changed.append(replace(sample, strain=strain))
    return changed


def test_gauges_that_freeze_vanish_or_read_nan_are_left_out_and_come_back() -> None:
    states = recording("flexible_2r", 1200)
    good = measured("flexible_2r", states)

    def fail(tick: int, strain: dict[str, float]) -> None:
        if 300 <= tick < 400:
            strain["forearm_root"] = good[299].strain["forearm_root"]
        if 450 <= tick < 500:
            del strain["upper_arm_root"]
            strain["forearm_middle"] = np.nan

    estimates = run(model_of(), EstimatorConfig(), with_strain(good, fail))
    assert all("forearm_root: frozen" in e.left_out for e in estimates[330:400])
    assert not any("frozen" in reason for e in estimates[:300] + estimates[400:] for reason in e.left_out)
    missing = ("upper_arm_root: missing", "forearm_middle: not finite")
    assert all(set(missing) <= set(e.left_out) for e in estimates[450:500])
    assert all("upper_arm_root" not in e.innovation_names for e in estimates[450:500])
    assert estimates[600].innovation_names == tuple(robot("flexible_2r").strain_gauges)
    assert modal_rms_error(estimates, states) < 0.1


def test_a_gauge_that_repeats_itself_at_rest_is_not_frozen() -> None:
    gauges = dict.fromkeys(robot("flexible_2r").strain_gauges, 0.0)
    estimates = run(model_of(), EstimatorConfig(), [still(k * TICK, 2, strain=gauges) for k in range(100)])
    assert not any(e.left_out for e in estimates)


def test_without_any_gauge_the_loop_is_open_and_uncertainty_grows() -> None:
    good = measured("flexible_2r", recording("flexible_2r", 1200)[:400])
    lost = with_strain(good, lambda tick, strain: strain.clear() if tick >= 200 else None)
    estimates = run(model_of(), EstimatorConfig(), lost)
    assert len(estimates[300].left_out) == 4 and estimates[300].innovation.size == 0
    assert (estimates[399].covariance_diagonal > 3.0 * estimates[199].covariance_diagonal).all()


def test_an_outlier_is_left_out_and_a_lasting_one_believed_in_the_end() -> None:
    good = measured("flexible_2r", recording("flexible_2r", 1200)[:300])

    def spoil(tick: int, strain: dict[str, float]) -> None:
        if tick == 150 or tick >= 200:
            strain["forearm_root"] += 1e-3

    right = run(model_of(), EstimatorConfig(), good)
    seen = run(model_of(), EstimatorConfig(gate_patience=30), with_strain(good, spoil))
    assert seen[150].left_out == ("forearm_root: outlier",)
    assert np.allclose(seen[150].modal_position, right[150].modal_position, atol=1e-3)
    assert all("forearm_root: outlier" in e.left_out for e in seen[200:230])
    assert "forearm_root" in seen[230].innovation_names


def test_a_gap_starts_the_covariance_over_and_is_said() -> None:
    good = measured("flexible_2r", recording("flexible_2r", 1200)[:300])
    late = [replace(s, stamp=s.stamp + (200 * TICK if k >= 200 else 0)) for k, s in enumerate(good)]
    estimates = run(model_of(), EstimatorConfig(), late)
    first, before, after = (estimates[k].covariance_diagonal for k in (0, 199, 200))
    assert estimates[200].left_out == ("prediction: no sample for 0.201 s",)
    assert np.allclose(after, first, rtol=0.05)  # as uncertain as at the start, in every coordinate and rate
    assert (after > 3.0 * before).all() and np.median(after / before) > 30.0
    assert not estimates[250].left_out


def test_an_estimate_that_is_no_number_any_more_starts_over() -> None:
    absurd = replace(still(TICK, 2), velocity=np.array([1e200, 1e200]))
    with np.errstate(all="ignore"):
        samples = [still(0, 2), absurd, still(2 * TICK, 2), still(3 * TICK, 2)]
        estimates = run(model_of(), EstimatorConfig(use_strain=False), samples)
    assert estimates[2].left_out == ("estimate: diverged, starts over",)
    assert np.array_equal(estimates[2].covariance_diagonal, estimates[0].covariance_diagonal)
    assert not estimates[3].left_out and np.isfinite(estimates[3].modal_acceleration).all()


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"position": np.array([0.0, np.nan])}, "position of elbow is not finite"),
        ({"velocity": np.zeros(3)}, "velocity has shape .3,., expected .2,."),
        ({"effort": np.array([np.inf, 0.0])}, "effort of shoulder is not finite"),
        ({"stamp": 99 * TICK}, "sample at 0.099000 s is not later than the last one at 0.099000 s"),
        ({"wrenches": {"base_ft_sensor": np.zeros(3)}}, "reading of base_ft_sensor has shape .3,., expected .6,."),
        ({"deflection": np.zeros(1)}, "deflection has shape .1,., expected .0,."),
    ],
)
def test_a_bad_sample_is_refused_and_nothing_is_lost(bad: dict[str, Any], said: str) -> None:
    samples = measured("flexible_2r", recording("flexible_2r", 1200)[:101])
    expected = run(model_of(), EstimatorConfig(), samples)[-1]
    estimator = FlexibleEstimator(model_of())
    for sample in samples[:100]:
        estimator.update(sample)
    with pytest.raises(InputError, match=said):
        estimator.update(replace(samples[100], **bad))
    assert np.array_equal(estimator.update(samples[100]).modal_rate, expected.modal_rate)


def test_after_a_reset_all_is_as_at_first() -> None:
    samples = measured("flexible_2r", recording("flexible_2r", 1200)[100:160])
    estimator = FlexibleEstimator(model_of())
    first, second = [], []
    for results in (first, second):
        results += [estimator.update(sample).modal_position for sample in samples]
        estimator.reset()
    assert np.array_equal(first, second)


@pytest.mark.parametrize("bad", [{"strain_noise": 0.0}, {"effort_noise": -1.0}, {"gate_patience": 0}, {"gate": np.nan}])
def test_a_senseless_configuration_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=f"{next(iter(bad))} must .*lie in .*, got"):
        EstimatorConfig(**bad)


def test_a_rigid_arm_is_refused() -> None:
    with pytest.raises(ConfigError, match="neither elastic joints nor flexible links"):
        FlexibleEstimator(FlexibleModel(robot("arm_7r"), gravity=GRAVITY["flexible_2r"]))


# Early and late preparation -------------------------------------------------------------------------------------------


def unsteady(samples: list[FlexibleSample], seed: int) -> list[FlexibleSample]:
    """Samples that come late or early, or after a gap, with sensors that say nothing, wild things or the same again."""
    draw, changed, stamp, last = np.random.default_rng(seed), [], 0, samples[0]
    for tick, sample in enumerate(samples):
        usual = draw.random() < 0.6
        stamp += TICK if usual else int(draw.integers(500_000, 6_000_000)) + (tick % 97 == 0) * 300 * TICK
        fields: dict[str, Any] = {"stamp": stamp}
        for kind in ("strain", "wrenches", "imus"):
            readings = dict(getattr(sample, kind))
            for name in list(readings):
                what = draw.random()
                if what < 0.03:
                    del readings[name]
                elif what < 0.06:
                    readings[name] = readings[name] * np.nan
                elif what < 0.09:
                    readings[name] = readings[name] + (1.0 if kind == "strain" else 1e3)
                elif what < 0.2 or 300 < tick < 350:
                    readings[name] = getattr(last, kind).get(name, readings[name])
            fields[kind] = readings
        if draw.random() < 0.05:
            fields["deflection"] = None
        last = replace(sample, **fields)
        changed.append(last)
    return changed


@pytest.mark.parametrize("name", ["flexible_2r", "flexible_3r"])
def test_it_does_not_matter_when_the_next_estimate_is_prepared(name: str) -> None:
    good = measured(name, recording(name, 1200 if name == "flexible_2r" else 400))[:400]
    samples, draw = unsteady(good, 4), np.random.default_rng(5)
    config = EstimatorConfig(use_wrench=True, use_imu=True, gate_patience=3)
    early, late, mixed = (FlexibleEstimator(model_of(name), config) for _ in range(3))
    reasons = set()
    for tick, sample in enumerate(samples):
        if tick == 250:
            for estimator in (early, late, mixed):
                estimator.reset()
        states = [estimator.update(sample) for estimator in (early, late, mixed)]
        early.prepare()
        early.prepare()
        if draw.random() < 0.5:
            mixed.prepare()
        one, *others = states
        reasons.update(reason.split(": ")[1].split(" ")[0] for reason in one.left_out)
        for other in others:
            for field in dataclasses.fields(FlexibleState):
                assert np.array_equal(getattr(one, field.name), getattr(other, field.name))
    assert {"missing", "not", "outlier", "frozen", "no"} <= reasons


def test_a_refused_sample_leaves_what_is_prepared_as_it_is() -> None:
    samples = measured("flexible_2r", recording("flexible_2r", 1200)[:60])
    config = EstimatorConfig(use_wrench=True, use_imu=True)
    plain, refusing = FlexibleEstimator(model_of(), config), FlexibleEstimator(model_of(), config)
    for sample in samples:
        bad = replace(sample, stamp=sample.stamp + 40 * TICK, velocity=np.full(2, np.nan))
        with pytest.raises(InputError, match="velocity of shoulder, elbow is not finite"):
            refusing.update(bad)
        expected, found = plain.update(sample), refusing.update(sample)
        refusing.prepare()
        assert np.array_equal(found.modal_rate, expected.modal_rate)
        assert np.array_equal(found.covariance_diagonal, expected.covariance_diagonal)


def gauges() -> tuple[str, ...]:
    return tuple(robot("flexible_2r").strain_gauges)


def test_a_gauge_that_read_raw_counts_is_believed_again_at_once() -> None:
    estimator = FlexibleEstimator(model_of(), EstimatorConfig(gate_patience=5))
    strain = dict.fromkeys(gauges(), 1e-7)
    for tick in range(60):
        railed = 8.4e6 + tick if 10 <= tick < 40 else 1e-7 * tick
        estimate = estimator.update(still(tick * TICK, 2, strain=strain | {gauges()[0]: railed}))
        estimator.prepare()
        assert np.isfinite(estimate.covariance_diagonal).all() and np.isfinite(estimate.modal_position).all()
        assert not any("diverged" in reason for reason in estimate.left_out)
    assert estimate.left_out == ()


@pytest.mark.parametrize("then", [None, np.nan, 1e-7])
def test_an_absurd_strain_is_not_readable_and_leaves_nothing_behind(then: float | None) -> None:
    estimator = FlexibleEstimator(model_of())
    for tick in range(20):
        strain = dict.fromkeys(gauges(), 1e-7 * tick)
        if tick == 5:
            strain[gauges()[0]] = 1e200
        elif tick > 5 and then is None:
            del strain[gauges()[0]]
        elif tick > 5:
            strain[gauges()[0]] = then * tick
        estimate = estimator.update(still(tick * TICK, 2, strain=strain))
        assert not any("diverged" in reason for reason in estimate.left_out)
        assert any(gauges()[0] in reason for reason in estimate.left_out) == (tick == 5 or (tick > 5 and then != 1e-7))


def test_an_absurd_velocity_is_forgotten_at_the_next_sample() -> None:
    sensors = robot("flexible_2r").force_torque_sensors
    estimator = FlexibleEstimator(model_of(), EstimatorConfig(use_wrench=True, contact_sensor=next(iter(sensors))))
    wrenches = {name: np.zeros(6) for name in sensors}
    for tick in range(10):
        sample = still(tick * TICK, 2, strain=dict.fromkeys(gauges(), 1e-7 * tick), wrenches=wrenches)
        if tick == 4:
            sample = replace(sample, velocity=np.full(2, 1e160))
        estimate = estimator.update(sample)
        assert np.isfinite(estimate.modal_acceleration).all()
        diverged = any("diverged" in reason for reason in estimate.left_out)
        assert diverged if tick == 4 else tick == 5 or not diverged
    assert estimate.left_out == ()


def test_sensors_of_other_robots_may_read_what_they_like() -> None:
    estimator = FlexibleEstimator(model_of())
    estimator.update(still(0, 2, wrenches={"wrist": np.zeros(3)}, imus={"other": None}))
