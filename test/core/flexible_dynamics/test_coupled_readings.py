"""Predicted readings beyond what follows an elastic drive: values and derivatives are Pinocchio's."""

from __future__ import annotations

import re

import numpy as np
import pinocchio
import pytest
from driven_arms import driven_arm
from filter_probe import FilterProbe

from flexarm_core.flexible_dynamics.estimation.config import EstimatorConfig
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.types import FlexibleSample

GRAVITY = (0.3, -0.5, -9.81)
IMU = (
    '<sensor name="tool_imu"><state_interface name="angular_velocity.x"/><param name="frame_id">tool0</param></sensor>'
)


class DrivenArmOfPinocchio:
    """An arm whose last joint follows the link of an elastic drive, and its readings by Pinocchio's free joints.

    With the angles ``L = A z + ...`` of the links, ``z`` of motors and deflections, ``H``, ``c`` of the links alone::

        (A^T H A + diag(J)) zdd + A^T c = [T; -k delta - d delta']
    """

    def __init__(self, seed: int) -> None:
        arm, rng = driven_arm(seed), np.random.default_rng(seed)
        follower, ratio = f"j{arm.n - 1}", float(rng.uniform(0.3, 1.0) * rng.choice((-1, 1)))
        leader = f"j{arm.driven[int(rng.integers(len(arm.driven)))]}"
        motor = re.compile(rf'<joint name="{follower}"><command_interface name="effort"/>.*?</joint>')
        end = arm.text.index("</joint>", arm.text.index(f'<joint name="{follower}" type='))
        mimic = f'<mimic joint="{leader}" multiplier="{ratio!r}"/>'
        text = motor.sub("", arm.text[:end] + mimic + arm.text[end:])
        self.text = text.replace("</ros2_control>", f"{IMU}</ros2_control>")
        self.model = FlexibleModel(self.text, gravity=GRAVITY)
        self.free = pinocchio.buildModelFromXML(arm.rigid)
        self.free.gravity.linear = np.array(GRAVITY)
        self.data = self.free.createData()
        self.names = (*self.model.hinge_names, *self.model.mode_names)
        self.A = np.zeros((self.free.nv, len(self.names)))
        self.J, self.k, self.d = np.zeros((3, len(self.names)))
        for i, name in enumerate(self.names):
            joint = name.removesuffix("_drive/deflection")
            self.A[self.free.joints[self.free.getJointId(joint)].idx_v, i] = 1.0
            if joint == name:
                control = re.search(rf'<joint name="{joint}"><comm.*?</joint>', self.text).group()
                self.J[i] = float(re.search('armature">([^<]+)', control).group(1))
            else:
                drive = re.search(f'<elastic_drive joint="{joint}" stiffness="([^"]+)" damping="([^"]+)"', self.text)
                self.k[i], self.d[i] = (float(value) for value in drive.groups())
        at = {name: self.free.joints[self.free.getJointId(name)].idx_v for name in (leader, follower)}
        self.A[at[follower]] = ratio * self.A[at[leader]]
        self.last = self.free.getJointId(follower)
        self.tool = self.free.getFrameId("tool0")

    def accelerations(self, x, v, effort) -> np.ndarray:
        """Accelerations (size,) under efforts of the motors."""
        q, rate = self.A @ x, self.A @ v
        H = pinocchio.crba(self.free, self.data, q)
        H = np.triu(H) + np.triu(H, 1).T
        c = pinocchio.rnea(self.free, self.data, q, rate, np.zeros(self.free.nv))
        forces = -self.k * x - self.d * v
        forces[: len(effort)] += effort
        return np.linalg.solve(self.A.T @ H @ self.A + np.diag(self.J), forces - self.A.T @ c)

    def readings(self, x, v, effort) -> np.ndarray:
        """Readings (12,) of ``wrist``, then of ``tool_imu``, under efforts of the motors."""
        q, rate, a = self.A @ x, self.A @ v, self.accelerations(x, v, effort)
        pinocchio.rnea(self.free, self.data, q, rate, self.A @ a)
        wrench = -self.data.f[self.last].vector  # what the outboard side exerts
        pinocchio.forwardKinematics(self.free, self.data, q, rate, self.A @ a)
        pinocchio.updateFramePlacements(self.free, self.data)
        local = pinocchio.ReferenceFrame.LOCAL
        moved = pinocchio.getFrameClassicalAcceleration(self.free, self.data, self.tool, local).linear
        force = moved - self.data.oMf[self.tool].rotation.T @ np.array(GRAVITY)
        turned = pinocchio.getFrameVelocity(self.free, self.data, self.tool, local).angular
        return np.concatenate((wrench, force, turned))


SEEDS = [seed for seed in range(60) if (arm := driven_arm(seed)).driven and arm.n - 1 not in arm.driven]


@pytest.mark.parametrize("seed", SEEDS[:8])
def test_readings_and_their_derivatives_beyond_a_follower_of_an_elastic_drive_are_those_of_pinocchio(seed):
    arm, rng = DrivenArmOfPinocchio(seed), np.random.default_rng(seed)
    model = arm.model
    config = EstimatorConfig(use_wrench=True, use_imu=True)
    probe = FilterProbe(FlexibleModel(arm.text, gravity=GRAVITY), config)
    x, v = rng.uniform(-0.6, 0.6, (2, model.size))
    x[model.modal] *= 0.02
    effort = rng.normal(size=len(model.actuated))
    expected = arm.readings(x, v, effort)
    state = probe.at(x, v, effort, wrenches={"wrist": expected[:6]}, imus={"tool_imu": expected[6:]})
    assert len(state.innovation) == 12  # nothing was left out
    assert state.innovation == pytest.approx(np.zeros(12), abs=1e-7 * np.abs(expected).max())
    N, step, shown = len(model.unmeasured), 1e-5, probe.ahead.shown[:, probe.linear :]
    largest = np.zeros(len(expected))
    for row, at in enumerate(model.unmeasured):
        change = step * np.eye(model.size)[at]
        by_x = (arm.readings(x + change, v, effort) - arm.readings(x - change, v, effort)) / (2.0 * step)
        by_v = (arm.readings(x, v + change, effort) - arm.readings(x, v - change, effort)) / (2.0 * step)
        for found, wanted in ((shown[row], by_x), (shown[N + row], by_v)):
            assert found == pytest.approx(wanted, rel=1e-3, abs=1e-4 * np.abs(wanted).max())
        largest = np.maximum(largest, np.abs(by_x))
    assert N > 0 and largest.max() > 1.0


@pytest.mark.parametrize("seed", SEEDS[:4])
def test_predicted_and_corrected_states_move_what_follows_an_elastic_drive_as_pinocchio_does(seed):
    """Readings are predicted at the state that was predicted, accelerations given at the one that was corrected."""
    arm, rng, step = DrivenArmOfPinocchio(seed), np.random.default_rng(seed), 200_000
    model, dt = arm.model, step * 1e-9
    config = EstimatorConfig(use_wrench=True, use_imu=True)
    probe = FilterProbe(FlexibleModel(arm.text, gravity=GRAVITY), config)
    x, v = rng.uniform(-0.6, 0.6, (2, model.size))
    x[model.modal] *= 0.02
    effort, joints = rng.normal(size=len(model.actuated)), model.actuated
    expected = arm.readings(x, v, effort)
    probe.at(x, v, effort, wrenches={"wrist": expected[:6]}, imus={"tool_imu": expected[6:]})
    # Accelerations change little in such a step.
    a = arm.accelerations(x, v, effort)
    a = arm.accelerations(x + 0.5 * dt * v, v + 0.5 * dt * a, effort)
    later, faster = x + dt * v + 0.5 * dt * dt * a, v + dt * a
    later[joints], faster[joints] = (x + dt * v)[joints], v[joints]  # as measured
    expected = arm.readings(later, faster, effort)
    probe.put(x, v)
    sample = FlexibleSample(
        probe._stamp + step, later[joints], faster[joints], effort,
        wrenches={"wrist": expected[:6]}, imus={"tool_imu": expected[6:]},
    )  # fmt: skip
    state = probe.estimator.update(sample)
    assert len(state.innovation) == 12
    assert state.innovation == pytest.approx(np.zeros(12), abs=1e-6 * np.abs(expected).max())
    later[model.modal], faster[model.modal] = state.modal_position, state.modal_rate
    moved = arm.accelerations(later, faster, effort)[model.modal]
    assert state.modal_acceleration == pytest.approx(moved, rel=1e-8, abs=1e-8 * np.abs(moved).max())


@pytest.mark.parametrize("seed", SEEDS[:4])
def test_an_arm_that_swings_is_expected_a_sample_ahead_with_what_follows_its_drives(seed):
    """Motion by Pinocchio's equations, 4 kHz; the estimator begins at the true state, its readings are exact."""
    arm, rng, step = DrivenArmOfPinocchio(seed), np.random.default_rng(seed), 250_000
    model, dt = arm.model, step * 1e-9
    probe = FilterProbe(FlexibleModel(arm.text, gravity=GRAVITY), EstimatorConfig(use_wrench=True, use_imu=True))
    x, v = rng.uniform(-0.6, 0.6, (2, model.size))
    x[model.modal] *= 0.02
    effort, joints = rng.normal(size=len(model.actuated)), model.actuated
    expected = arm.readings(x, v, effort)
    probe.at(x, v, effort, wrenches={"wrist": expected[:6]}, imus={"tool_imu": expected[6:]})
    probe.put(x, v)
    largest = 0.0
    for k in range(1, 9):
        for _ in range(4):  # Runge's and Kutta's method
            h = 0.25 * dt
            a1 = arm.accelerations(x, v, effort)
            v2 = v + 0.5 * h * a1
            a2 = arm.accelerations(x + 0.5 * h * v, v2, effort)
            v3 = v + 0.5 * h * a2
            a3 = arm.accelerations(x + 0.5 * h * v2, v3, effort)
            v4 = v + h * a3
            a4 = arm.accelerations(x + h * v3, v4, effort)
            x, v = x + h / 6.0 * (v + 2.0 * v2 + 2.0 * v3 + v4), v + h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
        expected = arm.readings(x, v, effort)
        sample = FlexibleSample(
            probe._stamp + k * step, x[joints], v[joints], effort,
            wrenches={"wrist": expected[:6]}, imus={"tool_imu": expected[6:]},
        )  # fmt: skip
        state = probe.estimator.update(sample)
        largest = max(largest, np.abs(state.innovation).max() / np.abs(expected).max()) if k > 3 else 0.0
    assert largest < 2e-5
