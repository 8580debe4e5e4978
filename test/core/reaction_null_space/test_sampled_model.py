"""The linear sampled loop, against the controller itself, against the simulated plant and against closed forms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from driven_arms import with_drives
from elastic_base_arms import elastic_base_model
from elastic_robots import WEIGHTLESS, on_elastic_base
from robots import find
from stability_cases import POSITION_AXES

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.reaction_null_space.stability.linear_law import ToolTask, linear_law
from flexarm_core.reaction_null_space.stability.linear_plant import linear_plant
from flexarm_core.reaction_null_space.stability.sampled_model import DRIFT, SampledModel
from flexarm_core.reaction_null_space.vibration.base_selection import BaseSelection
from flexarm_core.reaction_null_space.vibration.config import LAWS, REALIZATIONS, TASKS, VibrationControllerConfig
from flexarm_core.reaction_null_space.vibration.controller import VibrationController
from flexarm_core.reaction_null_space.vibration.sampling import Sampling
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, CartesianReference, JointReference
from flexarm_sim.backends import make_backend
from flexarm_sim.drives import DriveConfig
from flexarm_sim.plant import Plant, PlantConfig
from flexarm_sim.sensors import SensorConfig, SensorSuiteConfig

EARTH = (0.0, 0.0, -9.81)
POSTURE = np.array([0.3, -0.5, 0.2, -2.0, 0.4, 1.6, 0.6])
SOFT = ("elastic_x", "elastic_y", "elastic_rx")
STIFFNESS = (3e3, 4e3, 1e6, 2e3, 1e5, 1e5)
DAMPING = (5.0, 5.0, 200.0, 2.0, 50.0, 50.0)


ARMS = {"weightless": (WEIGHTLESS, False), "on_earth": (EARTH, False), "elastic_drives": (EARTH, True)}
SELDOM = {"weightless": pytest.mark.long}  # the plainest: what the others show is more


@pytest.fixture(
    scope="module", params=[pytest.param(arm, marks=SELDOM.get(name, ())) for name, arm in ARMS.items()], ids=ARMS
)
def arm(request):
    gravity, driven = request.param
    text = on_elastic_base(find("arm_7r")[0], STIFFNESS, DAMPING, 40.0, 2.0)
    if driven:
        joints = ArmModel(text).joint_names
        text = with_drives(text, {name: (2e3 * (8 - i), 2.0, 1.5 - 0.2 * i) for i, name in enumerate(joints)})
    return ArmModel(text, gravity=gravity)


def references(model, rest, frame):
    """Those of a posture that is held."""
    zero = np.zeros(6)
    at = model.tool_kinematics(ArmState(0, POSTURE, np.zeros(7), rest, zero), frame or model.base_frame)
    tool = CartesianReference(
        0, frame or model.base_frame, at.position, at.rotation, zero, zero, np.array(POSITION_AXES)
    )
    return tool, JointReference(0, POSTURE, np.zeros(7))


@pytest.mark.parametrize(("task", "posture_gain"), [*((task, 0.0) for task in TASKS), ("tool_path", 9.0)])
@pytest.mark.parametrize(
    ("law", "realization"),
    [(law, realization) for law in LAWS for realization in REALIZATIONS],
)
def test_the_linear_law_is_the_derivative_of_a_sample_of_the_controller(arm, law, realization, task, posture_gain):
    n, m, led = arm.n, arm.m, realization == "joint_servo"
    config = VibrationControllerConfig(law, task, realization, 100.0, 20.0, posture_gain, damping_ratio=0.3)
    selection = BaseSelection(arm, SOFT)
    for frame in (arm.base_frame, arm.world_frame) if task == "tool_path" else ("",):
        plant = linear_plant(arm, POSTURE, Sampling(0.002))
        linear = linear_law(arm, plant, config, selection, ToolTask(frame, POSITION_AXES))
        tool, joints = references(arm, plant.rest, frame)

        def sample(change, config=config, rest=plant.rest, tool=tool, joints=joints):
            controller = VibrationController(arm, config, selection)
            controller.update(ArmState(0, POSTURE, np.zeros(n), rest, np.zeros(m)), tool, joints)
            led_q, led_v, q, v, x, xd = np.split(change, (n, 2 * n, 3 * n, 4 * n, 4 * n + m))
            if led:
                kept = controller._kept
                kept.led_position[:], kept.led_velocity[:] = POSTURE + led_q, led_v
                kept.led_acceleration[:], kept.led_rate[:] = 0.0, 0.0
            command, _ = controller.update(ArmState(0, POSTURE + q, v, rest + x, xd), tool, joints)
            return np.concatenate((command.acceleration, command.effort))

        step = 1e-6
        derivative = np.array(
            [(sample(each) - sample(-each)) / (2.0 * step) for each in step * np.eye(4 * n + 2 * m)]
        ).T
        own = np.zeros((2 * n, 4 * n + 2 * m))
        whole = np.vstack((linear.acceleration + linear.acceleration_feedback, linear.effort + linear.effort_feedback))
        own[:, 4 * n :] = whole[:, 2 * n : 2 * n + 2 * m]
        first = 0 if led else 2 * n  # which joints the law looks at
        own[:, first : first + 2 * n] += whole[:, : 2 * n]
        own[n:, 2 * n : 4 * n] += linear.servo
        own[:, 4 * n + m :] += whole[:, n : 2 * n] @ linear.gives
        # without servos the torque law says the accelerations of an arm that gives way: they command nothing
        for rows in (slice(n, None),) if law == "torque" and not led else (slice(0, n), slice(n, None)):
            size = np.abs(derivative[rows]).max()
            # seen from the world, what the deflection under gravity leaves over in the base's row turns with J
            near = 5e-3 if led and frame == arm.world_frame and plant.rest.any() else 1e-6
            np.testing.assert_allclose(own[rows], derivative[rows], rtol=0.0, atol=near * size)


@pytest.mark.parametrize(
    ("law", "realization", "task", "sampling"),
    [
        ("reactionless", "joint_servo", "hold", Sampling(0.002, 0.004)),
        ("reactionless", "joint_servo", "tool_path", Sampling(0.004, 0.004, 0.008)),
        ("reactionless", "joint_servo", "none", Sampling(0.004, 0.004, 0.0)),
        ("reactionless", "computed_torque", "joint_path", Sampling(0.001)),
        ("reactionless", "joint_servo", "none", Sampling(0.002, 0.004, drive="velocity", drive_bandwidth=60.0)),
        ("reactionless", "joint_servo", "hold", Sampling(0.002, 0.002, drive="position", drive_bandwidth=60.0)),
        ("torque", "joint_servo", "hold", Sampling(0.002, 0.004)),
        ("torque", "joint_servo", "none", Sampling(0.002, 0.0, drive="velocity", drive_bandwidth=200.0)),
    ],
)
def test_a_small_hit_runs_as_the_linear_loop_says(arm, law, realization, task, sampling):
    """MuJoCo's plant under the real controller, sample by sample, against powers of the matrix."""
    soft = 0.1 if arm.description.elastic_drives else 1.0  # a motor feels its rotor first
    config = VibrationControllerConfig(
        law, task, realization, position_gain=100.0 * soft, velocity_gain=20.0 * soft, damping_ratio=0.2 * soft,
        servo_position_gain=400.0 * soft, servo_velocity_gain=40.0 * soft,
    )  # fmt: skip
    selection, tool_task = BaseSelection(arm, SOFT), ToolTask(arm.base_frame, POSITION_AXES)
    loop = SampledModel(arm, POSTURE, config, selection, sampling, tool_task)
    assert loop.is_stable() or (soft < 1.0 and realization == "computed_torque")  # which shakes elastic drives
    rest = loop.plant.rest
    gravity = EARTH if rest.any() else WEIGHTLESS
    backend = make_backend("mujoco", arm.description, gravity=gravity, max_step=1e-4)
    joints, base = (SensorConfig(delay=k * sampling.period) for k in (sampling.joint_samples, sampling.base_samples))
    suite = SensorSuiteConfig(joint_position=joints, joint_velocity=joints, deflection=base, deflection_rate=base)
    drive = DriveConfig(sampling.drive, sampling.drive_bandwidth, period=0.00025)
    runs = []
    for size in (0.0, 1e-4):  # without the hit: what gravity does to the servos is not in the linear loop
        hit = size * np.array([1.0, -2.0, 0.5, 1.0, 0.3, -0.4])
        plant = Plant(
            arm.description, backend,
            PlantConfig(
                round(sampling.period * 1e9), tuple(POSTURE), initial_deflection=tuple(rest),
                initial_deflection_rate=tuple(hit), drive=drive, sensors=suite,
            ),
        )  # fmt: skip
        controller = VibrationController(arm, config, selection)
        references_ = references(arm, rest, "")
        rows, sample = [], plant.measure()
        for _ in range(round(0.3 / sampling.period)):
            state = plant.state()
            rows.append(np.concatenate((state.deflection, state.position)))
            measured = ArmState(
                sample.stamp, sample.joints.position, sample.joints.velocity, sample.elastic.position,
                sample.elastic.velocity,
            )  # fmt: skip
            command, _ = controller.update(measured, *references_)
            commands = {"effort": command.effort, "velocity": command.velocity, "position": command.position}
            sample = plant.advance(commands[sampling.drive])
        runs.append(np.array(rows))
    moved = runs[1] - runs[0]

    p = loop.plant.A.shape[0]
    outputs = np.vstack((loop.plant.deflection, loop.plant.position))
    wanted = np.zeros(2 * arm.m + 2 * arm.n + len(loop.plant.modes))
    wanted[arm.m + arm.n : 2 * arm.m + arm.n] = hit
    rows = np.vstack((outputs, loop.plant.rate, loop.plant.velocity, loop.plant.modes))
    state = np.zeros(len(loop.matrix))
    state[:p] = np.linalg.lstsq(rows, wanted, rcond=None)[0]
    phi, late = loop.matrix + loop.feedback, min(sampling.joint_samples, sampling.base_samples)
    late = late if sampling.drive == "effort" else sampling.base_samples
    if realization == "joint_servo":  # the reference is at rest at first, however the base moves
        gives = linear_law(arm, loop.plant, config, selection, tool_task).gives
        state[p + arm.n : p + 2 * arm.n] = -gives @ hit
    # at first the sensors repeat their first reading: lines of late signals hold it before the reference moves
    for _ in range(abs(sampling.joint_samples - sampling.base_samples)):
        lines = (phi @ state)[p + 2 * arm.n :]
        state[p + 2 * arm.n :] = lines
    state[p + 2 * arm.n : p + 2 * arm.n + late * arm.n] = 0.0
    for _ in range(late):
        state[p:] = (phi @ state)[p:]
    observed = realization == "computed_torque"
    if observed:
        state[-arm.m :] = hit
    predicted = []
    for sample in range(len(moved)):
        predicted.append(outputs @ state[:p])
        state = phi @ state
        if observed and sample == 0:  # the law observes the base from its second sample on
            state[-2 * arm.m :] = np.vstack((loop.plant.deflection, loop.plant.rate)) @ state[:p]
    scale = np.abs(moved).max(axis=0)
    error = np.abs(np.array(predicted) - moved).max(axis=0)
    assert scale.min() > 0.0
    np.testing.assert_array_less(error, 0.02 * scale.max())


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("realization", ["computed_torque", "joint_servo"])
@pytest.mark.parametrize("joint_damping", [0.0, 1.0])
@pytest.mark.parametrize("late", [(0.0, 0.0), (0.004, 0.004), (0.002, 0.006), (0.006, 0.002)])
def test_states_of_rest_rest_and_are_all_that_is_divided_out(arm, task, realization, joint_damping, late):
    config = VibrationControllerConfig(
        task=task, realization=realization, joint_damping=joint_damping, position_gain=100.0, velocity_gain=20.0
    )
    sampling = Sampling(0.002, *late, rate_from_differences=True)
    loop = SampledModel(arm, POSTURE, config, BaseSelection(arm, SOFT), sampling, ToolTask("", POSITION_AXES))
    np.testing.assert_allclose(loop.matrix @ loop.rest, loop.rest, atol=1e-9)
    np.testing.assert_allclose(loop.feedback @ loop.rest, 0.0, atol=1e-9)
    # of the 7 joints the task holds: what 3 selected motions leave, 3 axes of the tool, or nothing
    # computed torque bears the weight that the links would have at the positions of their motors: the rest drifts
    drifts = bool(arm.description.elastic_drives) and realization == "computed_torque"
    rests = {"none": 7, "hold": 3, "joint_path": 3, "tool_path": 4}[task]
    assert drifts or loop.rest.shape[1] == rests or (task == "joint_path" and realization == "computed_torque")
    assert not drifts or loop.rest.shape[1] < rests
    everything = np.linalg.eigvals(loop.matrix + loop.feedback)
    assert len(loop.poles()) == len(everything) - loop.rest.shape[1]


def test_without_damped_joints_gravity_makes_a_drift_a_slow_instability_and_weightlessness_does_not():
    """Seconds to minutes to double: it must not be taken for the drift that stands still."""
    growths = []
    for gravity in (WEIGHTLESS, EARTH):
        model = ArmModel(on_elastic_base(find("arm_7r")[0], STIFFNESS, DAMPING), gravity=gravity)
        config = VibrationControllerConfig(task="none", realization="joint_servo", joint_damping=0.0, damping_ratio=0.1)
        loop = SampledModel(model, POSTURE, config, BaseSelection(model, SOFT), Sampling(0.002))
        damped = SampledModel(
            model, POSTURE, replace(config, joint_damping=1.0), BaseSelection(model, SOFT), Sampling(0.002)
        )
        assert damped.is_stable()
        growths.append(loop.growth())
    assert growths[0] < -0.1
    assert DRIFT < growths[1] < 1.0


def test_one_direction_and_two_joints_have_the_poles_of_the_acceleration_law():
    """With L = H_bm qd: dL/dt = M g xd - G_m L,  M xdd + D xd + K x = -dL/dt; the free joint brakes at G_m."""
    model = elastic_base_model(["x"], 2)
    posture, zeta, G_m, period = np.array([0.4, 1.1]), 0.25, 2.0, 1e-5
    config = VibrationControllerConfig(task="none", damping_ratio=zeta, joint_damping=G_m)
    loop = SampledModel(model, posture, config, BaseSelection(model), Sampling(period))
    blocks = model.blocks(ArmState(0, posture, np.zeros(2), np.zeros(1), np.zeros(1)))
    M, K, D = blocks.H_b[0, 0], model.K_b[0, 0], model.D_b[0, 0]
    g = 2.0 * zeta * np.sqrt(K / M)
    base = np.polymul([1.0, G_m], [M, D, K]) + np.array([0.0, M * g, 0.0, 0.0])
    expected = np.concatenate((np.roots(base), [-G_m]))
    s = np.sort_complex(np.log(loop.poles()) / period)
    np.testing.assert_allclose(s[:2], -config.base_bandwidth, atol=1.0)  # of the observer of the base
    np.testing.assert_allclose(s[2:], np.sort_complex(expected), atol=1e-2)


def test_where_a_common_delay_lies_does_not_matter_but_its_length_does(arm):
    config = VibrationControllerConfig(task="hold", realization="joint_servo", position_gain=100.0, velocity_gain=20.0)
    selection = BaseSelection(arm, SOFT)
    growth = [
        SampledModel(arm, POSTURE, config, selection, sampling).growth()
        for sampling in (Sampling(0.002, 0.0031), Sampling(0.002, 0.004, 0.004), Sampling(0.002, 0.02))
    ]
    assert growth[0] == pytest.approx(growth[1], abs=1e-9)  # delays are whole periods
    assert growth[2] > growth[0] + 1.0


def test_what_has_no_meaning_is_refused(arm):
    selection = BaseSelection(arm, SOFT)
    with pytest.raises(ConfigError, match="velocity drives do not take"):
        SampledModel(arm, POSTURE, VibrationControllerConfig(), selection, Sampling(0.002, drive="velocity"))
    with pytest.raises(InputError, match="position has shape"):
        SampledModel(arm, POSTURE[:3], VibrationControllerConfig(), selection, Sampling(0.002))
    for wrong, message in (
        ({"period": 0.0}, "period must lie"),
        ({"period": 0.001, "delay": -1.0}, r"delay must lie in \[0.0, 1.0\]"),
        ({"period": 0.001, "base_delay": np.nan}, "base_delay must be"),
        ({"period": 0.001, "drive": "hydraulic"}, "one of effort, velocity, position"),
        ({"period": 0.001, "drive_bandwidth": 0.0}, "drive_bandwidth must lie"),
    ):
        with pytest.raises(ConfigError, match=message):
            Sampling(**wrong)


def test_springs_that_gravity_overcomes_are_refused():
    model = ArmModel(on_elastic_base(find("arm_7r")[0], (5e3, 5e3, 5e3, 20.0, 20.0, 5e3)), gravity=EARTH)
    with pytest.raises(InputError, match="give way under gravity"):
        SampledModel(model, POSTURE, VibrationControllerConfig(), BaseSelection(model, SOFT), Sampling(0.002))
