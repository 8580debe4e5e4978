"""Force correction and the controller: wanted accelerations happen, and what swings is damped."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.flexible_dynamics.control.controller import LAWS, FlexibleController, FlexibleControllerConfig
from flexarm_core.flexible_dynamics.control.force_correction import correct_forces
from flexarm_core.flexible_dynamics.control.gain_check import LoopConditions
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.flexible_dynamics.vibration_damping import (
    VibrationDampingConfig,
    damping_gains,
    flexible_reference,
    static_deflection,
)
from flexarm_core.path.joint_move import JointMove, JointMoveConfig
from flexarm_core.robot.load import load_robot_description
from flexarm_core.types import ArmState, FlexibleState, JointReference

URDF = Path(__file__).resolve().parents[3] / "urdf"
STILL = (0.0, 0.0, 0.0)
NEEDED = ("position", "velocity", "acceleration")  # of a reference


def planar_arm(**arguments: str) -> FlexibleModel:
    """The planar arm of two flexible links, without gravity."""
    return FlexibleModel(load_robot_description(URDF / "flexible_2r.urdf.xacro", arguments), gravity=STILL)


def spatial_arm() -> FlexibleModel:
    """The spatial arm on its mast, under gravity."""
    return FlexibleModel(load_robot_description(URDF / "flexible_3r.urdf.xacro"))


def set_up(law: str) -> FlexibleControllerConfig:
    """Default settings; no gains of exact accelerations pass the check on links that bend."""
    if law == "accelerations":
        return FlexibleControllerConfig(law=law, motion=VibrationDampingConfig(400.0, 40.0), check_gains=False)
    return FlexibleControllerConfig(law=law)


def random_state(model: FlexibleModel, seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    x, v = 0.5 * random.normal(size=model.size), random.normal(size=model.size)
    x[model.unmeasured] *= 0.02
    return x, v


@pytest.mark.parametrize("step", [0.0, 0.001])
@pytest.mark.parametrize(("influence", "most"), [("exact", 2), ("diagonal", 300)])
def test_corrected_forces_cause_the_wanted_accelerations(influence, most, step):
    model = spatial_arm()
    for seed in range(5):
        x, v = random_state(model, seed)
        wanted = 5.0 * np.random.default_rng(seed + 100).normal(size=3)
        model.articulate(x, v, step=step)
        result = correct_forces(model, np.zeros(3), wanted, influence=influence, iterations=most, tolerance=1e-8)
        assert result.iterations <= most and result.discrepancy <= 1e-7
        efforts = np.zeros(len(model.hinge_names))
        efforts[model.actuated] = result.effort
        model.articulate(x, v, step=step)
        assert model.accelerate(efforts)[model.actuated] == pytest.approx(wanted, abs=1e-6)


def test_corrected_forces_are_the_inverse_dynamics_of_a_free_deformation():
    model = spatial_arm()
    x, v = random_state(model, 3)
    efforts = np.zeros(len(model.hinge_names))
    efforts[model.actuated] = 10.0, -5.0, 3.0
    acceleration = model.forward_dynamics(x, v, efforts)
    model.articulate(x, v)
    result = correct_forces(model, np.zeros(3), acceleration[model.actuated])
    assert result.effort == pytest.approx(efforts[model.actuated], rel=1e-8)
    with pytest.raises(ConfigError, match="influence 'none' is unknown"):
        correct_forces(model, np.zeros(3), np.zeros(3), influence="none")


def simulate(controller, model, seconds, reference, start, push=None):
    """Tool positions of an arm under a controller that knows its modes; 1 kHz, effort held."""
    x, v = np.zeros(model.size), np.zeros(model.size)
    x[model.actuated] = start
    x[model.unmeasured] = static_deflection(model, np.asarray(start))
    tool = []
    for tick in range(round(seconds * 1000)):
        stamp = tick * 1_000_000
        flexible = FlexibleState(
            stamp, x[model.elastic], v[model.elastic], 0 * x[model.elastic],
            x[model.modal], v[model.modal], 0 * x[model.modal],
        )  # fmt: skip
        none = np.zeros(len(model.elastic))
        joints = ArmState(stamp, x[model.actuated], v[model.actuated], none, none)
        answer = controller.update(joints, flexible, reference(stamp))
        tool.append(model.frame_motion("tool0", x, v).position)
        efforts = np.zeros(len(model.hinge_names))
        efforts[model.actuated] = answer.effort
        model.set_wrenches(x, v, {"tool0": push} if push is not None and 100 <= tick < 150 else None)
        model.integrate(x, v, efforts, 2.5e-4, 4)
    return np.array(tool)


def residual(tool: np.ndarray) -> float:
    return float(np.linalg.norm(tool - tool.mean(axis=0), axis=1).max())


def slew(law: str, believed: FlexibleModel) -> float:
    """What is left of the tool's swing in the second after a move of one second."""
    move = JointMove(JointMoveConfig((0.6, -0.4), duration=1.0, time_law="seventh_order"))
    move.begin(0, np.array([0.0, 0.8]))
    controller = FlexibleController(believed, FlexibleControllerConfig(law=law))
    return residual(simulate(controller, planar_arm(), 2.0, move.update, [0.0, 0.8])[1000:])


def test_after_a_slew_the_tool_stands_still_where_joint_servos_leave_it_swinging():
    servo = slew("joint_pd", planar_arm())
    assert servo > 0.1
    assert slew("vibration_damping", planar_arm()) < servo / 100.0
    assert slew("vibration_damping", planar_arm(stiffness_scale="1.1")) < servo / 20.0


def test_a_push_dies_out_on_the_spatial_arm_under_gravity():
    model, start = spatial_arm(), np.array([0.3, -0.6, 0.9])
    hold = lambda stamp: JointReference(stamp, start, np.zeros(3), np.zeros(3))  # noqa: E731
    push = np.array([0.0, 15.0, 15.0, 0.0, 0.0, 0.0])
    motion = VibrationDampingConfig(position_gain=100.0, velocity_gain=20.0, tool_stiffness=2e3, effort_weight=0.01)
    left = {}
    for law in ("joint_pd", "vibration_damping"):  # gains that only the true state and the true model bear
        config = FlexibleControllerConfig(law=law, motion=motion, check_gains=False)
        controller = FlexibleController(model, config)
        tool = simulate(controller, spatial_arm(), 2.2, hold, start, push)
        left[law] = residual(tool[1600:]) / residual(tool)
    assert left["vibration_damping"] < 0.5 * left["joint_pd"]
    assert left["vibration_damping"] < 0.05


def test_exact_joint_accelerations_follow_a_move_while_the_links_swing():
    move = JointMove(JointMoveConfig((0.4, -0.3), duration=0.5))
    move.begin(0, np.array([0.0, 0.8]))
    model, plant = planar_arm(), planar_arm()
    controller = FlexibleController(model, set_up("accelerations"))
    x, v = np.zeros(plant.size), np.zeros(plant.size)
    x[plant.actuated] = 0.0, 0.8
    worst, limited = 0.0, 1.0
    for tick in range(500):
        stamp = tick * 1_000_000
        reference = move.update(stamp)
        worst = max(worst, float(np.abs(x[plant.actuated] - reference.position).max()))
        flexible = FlexibleState(stamp, *(np.zeros(0),) * 3, x[plant.modal], v[plant.modal], v[plant.modal])
        joints = ArmState(stamp, x[plant.actuated], v[plant.actuated], np.zeros(0), np.zeros(0))
        effort = controller.update(joints, flexible, reference).effort
        limited = min(limited, controller.limited)
        plant.integrate(x, v, effort, 2.5e-4, 4)
    assert limited == 1.0
    assert worst < 2e-3 and controller.iterations <= 2
    assert np.abs(v[plant.modal]).max() > 0.01


def test_the_reference_of_a_resting_arm_is_its_static_deflection():
    model = spatial_arm()
    position = np.array([0.2, -0.5, 1.0])
    x = flexible_reference(model, position, np.zeros(3), np.zeros(3))
    assert np.allclose(x[model.actuated], position, atol=1e-12)
    rest = model.inverse_dynamics(x, np.zeros(model.size), np.zeros(model.size))
    sag = model.inverse_dynamics(0 * x, np.zeros(model.size), np.zeros(model.size))
    assert np.abs(rest[model.unmeasured]).max() < 0.05 * np.abs(sag[model.unmeasured]).max()


def test_gains_make_the_sampled_model_stable_and_better_damped_than_the_servo():
    model, period = planar_arm(), 0.001
    x = np.zeros(model.size)
    x[model.actuated] = 0.0, 0.8
    config = VibrationDampingConfig(400.0, 40.0, effort_weight=1e-3)
    damped = damping_gains(model, x, config, period)
    servo = damping_gains(model, x, replace(config, effort_weight=1e6), period)
    slowest = []
    for gains in (servo, damped):
        flow = []
        for unit in 1e-6 * np.eye(2 * model.size):
            position, rate = x + unit[: model.size], unit[model.size :].copy()
            effort = -gains @ unit
            model.integrate(position, rate, effort, period / 8, 8)
            flow.append(np.concatenate((position - x, rate)) / 1e-6)
        slowest.append(np.abs(np.linalg.eigvals(np.array(flow))).max())
    assert slowest[1] < slowest[0] < 1.0
    assert np.log(slowest[1]) < 3.0 * np.log(slowest[0])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"position": None}, "has no position"),
        ({"velocity": np.zeros(3)}, "velocity is .* expected 2 finite numbers"),
        ({"acceleration": np.array([0.0, np.nan])}, "acceleration is .* expected 2 finite numbers"),
    ],
)
def test_a_bad_reference_is_refused_with_its_reason(change, said):
    controller = FlexibleController(planar_arm(), FlexibleControllerConfig())
    zero, none, modes = np.zeros(2), np.zeros(0), np.zeros(6)
    values = {"position": zero, "velocity": zero, "acceleration": zero} | change
    flexible = FlexibleState(0, none, none, none, modes, modes, modes)
    with pytest.raises(InputError, match=said):
        controller.update(ArmState(0, zero, zero, none, none), flexible, JointReference(0, **values))


def test_bad_states_are_refused_with_their_reason():
    controller = FlexibleController(planar_arm(), FlexibleControllerConfig())
    zero, none, modes = np.zeros(2), np.zeros(0), np.zeros(6)
    reference, joints = JointReference(0, zero, zero, zero), ArmState(0, zero, zero, none, none)
    with pytest.raises(InputError, match="needs the flexible state"):
        controller.update(joints, None, reference)
    with pytest.raises(InputError, match="different stamps"):
        controller.update(joints, FlexibleState(1, none, none, none, modes, modes, modes), reference)
    with pytest.raises(InputError, match="not finite"):
        controller.update(joints, FlexibleState(0, none, none, none, modes + np.nan, modes, modes), reference)
    for position, rate, said in ((modes[:5], modes, "modal_position"), (modes, modes[:1], "modal_rate")):
        with pytest.raises(InputError, match=f"{said} has shape"):
            controller.update(joints, FlexibleState(0, none, none, none, position, rate, modes), reference)
    with pytest.raises(InputError, match="joint velocity has shape"):
        controller.update(replace(joints, velocity=zero[:1]), None, reference)


@pytest.mark.parametrize(
    ("law", "spoiled"),
    [
        *(("vibration_damping", {name: 1e200}) for name in NEEDED),
        ("accelerations", {"velocity": 1e200}),
        *((law, {name: np.nan}) for law in LAWS for name in ("position", "modes")),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_sample_that_is_refused_leaves_no_trace(law, spoiled):
    """A controller that refused a sample goes on as one that never saw it."""
    tried, spared = (FlexibleController(planar_arm(), set_up(law)) for _ in range(2))

    def given(tick: int, modes=1.0, **factors: float):
        time, none = 1e-3 * tick, np.zeros(0)
        wave = {name: np.sin(3.0 * time + np.array([shift, 1.0])) for shift, name in enumerate(NEEDED)}
        wanted = {name: value * factors.get(name, 1.0) for name, value in wave.items()}
        joints = ArmState(1_000_000 * tick, wave["position"] + 1e-4, wave["velocity"], none, none)
        bent = modes * 1e-4 * np.sin(20.0 * time + np.arange(6))
        return (
            joints,
            FlexibleState(joints.stamp, none, none, none, bent, bent, bent),
            JointReference(joints.stamp, **wanted),
        )

    for tick in range(20):
        tried.update(*given(tick))
        spared.update(*given(tick))
    before = tried.iterations, tried.discrepancy, tried.limited
    with pytest.raises(InputError):
        tried.update(*given(20, **spoiled))
    assert (tried.iterations, tried.discrepancy, tried.limited) == before
    for tick in range(21, 24):
        assert np.array_equal(tried.update(*given(tick)).effort, spared.update(*given(tick)).effort)


@pytest.mark.parametrize(
    "bad",
    [{"law": "none"}, {"influence": "none"}, {"tolerance": 0.0}, {"iterations": 0}],
)
def test_settings_without_a_meaning_are_refused(bad):
    with pytest.raises(ConfigError):
        FlexibleControllerConfig(**bad)
    with pytest.raises(ConfigError, match="effort_weight"):
        VibrationDampingConfig(effort_weight=-1.0)
    with pytest.raises(ConfigError, match="period"):
        LoopConditions(period=0.0)
