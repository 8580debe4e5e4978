"""Speed of the flexible dynamics: against the rigid recursion of Pinocchio, dense solves, its own size and Exudyn."""

from __future__ import annotations

import importlib.util
import tempfile
import time
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
import pinocchio
from chain import CHAIN_ANGLE, CHAIN_GRAVITY, arm_urdf, chain_time_per_ms, chain_tip_trajectory, chain_urdf
from table import costs, versus

from flexarm_core.flexible_dynamics import integration, recursion
from flexarm_core.flexible_dynamics.control.controller import FlexibleController, FlexibleControllerConfig
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.flexible_dynamics.tree import view_workspace
from flexarm_core.flexible_dynamics.vibration_damping import VibrationDampingConfig
from flexarm_core.types import ArmState, Array, FlexibleState, JointReference
from flexarm_tools.metrics.figures import Figure, parse_goal


def state_of(model: FlexibleModel) -> tuple[Array, Array, Array]:
    """A random state and efforts."""
    rng = np.random.default_rng(0)
    x, v = rng.uniform(-1.0, 1.0, (2, model.size))
    x[model.modal] *= 0.02
    return x, v, rng.uniform(-1.0, 1.0, len(model.hinge_names))


def recursion_call(model: FlexibleModel) -> Callable[[], None]:
    """The compiled recursion alone, at a random state."""
    x, v, effort = state_of(model)
    return lambda: recursion.forward_dynamics(*model.arrays, x, v, effort)


def aba_ratios() -> list[Figure]:
    """7 links with 0, 1, 3 and 6 modes each against ``pinocchio.aba`` of the rigid arm."""
    text, figures = arm_urdf(7, 0), []
    rigid = pinocchio.buildModelFromXML(text)
    data = rigid.createData()
    x, v, effort = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 7))
    models = [FlexibleModel(arm_urdf(7, modes), rigid=modes == 0) for modes in (0, 1, 3, 6)]
    calls = {f"{len(model.modal) // 7} modes": recursion_call(model) for model in models}
    found = costs({"pinocchio.aba, rigid": lambda: pinocchio.aba(rigid, data, x, v, effort), **calls})
    for modes in (0, 1, 3, 6):
        meaning = f"time of a call, 7 links of {modes} modes, over pinocchio.aba of the rigid arm"
        goal, ours = "<= 3.0" if modes == 3 else "", f"{modes} modes"
        figures.append(versus(f"aba_ratio_7x{modes}", meaning, found, ours, "pinocchio.aba, rigid", goal, part=True))
    return figures


def dense_ratios() -> list[Figure]:
    """64 links of 3 and 6 modes: mass matrix, bias and ``numpy.linalg.solve`` over the recursion."""
    figures = []
    for modes in (3, 6):
        model = FlexibleModel(arm_urdf(64, modes))
        x, v, effort = state_of(model)
        still = np.zeros(model.size)

        def dense(
            model: FlexibleModel = model, x: Array = x, v: Array = v, effort: Array = effort, still: Array = still
        ) -> Array:
            forces = -model.inverse_dynamics(x, v, still)
            forces[: len(effort)] += effort
            return np.asarray(np.linalg.solve(model.mass_matrix(x), forces))

        found = costs({"recursion": recursion_call(model), "numpy.linalg.solve": dense}, rounds=31)
        meaning, goal = f"dense solve over recursion, 64 links of {modes} modes", ">= 50" if modes == 6 else ""
        name = f"dense_speed_ratio_64x{modes}"
        figures.append(versus(name, meaning, found, "recursion", "numpy.linalg.solve", goal))
    return figures


def growth_exponent() -> list[Figure]:
    """Slope of log time over log N, 2 to 64 links: ours with 3 modes and rigid, peers rigid, a dense solve."""
    sizes, calls = (2, 4, 8, 16, 32, 64), {}
    for n in sizes:
        calls |= {f"{name} {n}": call for name, call in rigid_calls(n).items()}
        flexible = FlexibleModel(arm_urdf(n, 3))
        calls |= {f"3_modes {n}": recursion_call(flexible), f"rigid {n}": recursion_call(FlexibleModel(arm_urdf(n, 0)))}
    found, figures = costs(calls, rounds=31), []
    for name in dict.fromkeys(each.split()[0] for each in calls):
        took = [found[f"{name} {n}"].least for n in sizes]
        slope = float(np.polyfit(np.log(sizes), np.log(took), 1)[0])
        details: dict[str, bool | float | str] = {f"links_{n}_us": each for n, each in zip(sizes, took, strict=True)}
        meaning = f"exponent of time over number of links, 2 to 64: forward dynamics, {name.replace('_', ' ')}"
        figure, goal = ("growth_exponent", "<= 1.1") if name == "3_modes" else (f"growth_{name}", "")
        figures.append(Figure(figure, slope, "1", parse_goal(goal) if goal else None, meaning, details=details))
    for peer in dict.fromkeys(each.split()[0] for each in calls):
        if peer not in ("3_modes", "rigid"):
            meaning = f"{peer} over ours, both rigid, 64 links"
            figures.append(versus(f"rigid_64_{peer}", meaning, found, "rigid 64", f"{peer} 64"))
    return figures


def rigid_calls(links: int) -> dict[str, Callable[[], Any]]:
    """Forward dynamics of the rigid arm by peers that are installed, each checked against Pinocchio."""
    text, (x, v, effort) = arm_urdf(links, 0), np.random.default_rng(0).uniform(-1.0, 1.0, (3, links))
    rigid = pinocchio.buildModelFromXML(text)
    data, physics, out = rigid.createData(), mujoco.MjModel.from_xml_string(text), np.empty(links)
    state = mujoco.MjData(physics)
    state.qpos[:], state.qvel[:], state.qfrc_applied[:] = x, v, effort
    calls = {
        "pinocchio": lambda: pinocchio.aba(rigid, data, x, v, effort),
        "mujoco": lambda: mujoco.mj_forward(physics, state),
    }
    mujoco.mj_forward(physics, state)
    found = {"mujoco": state.qacc.copy()}
    if importlib.util.find_spec("dynibo"):
        import dynibo

        with tempfile.NamedTemporaryFile("w", suffix=".urdf") as file:
            file.write(text)
            file.flush()
            robot = dynibo.Robot.from_urdf(file.name)
        calls["dynibo"] = lambda: robot.forward_dynamics(x, v, effort, out=out)
        robot.forward_dynamics(x, v, effort, out=out)
        found["dynibo"] = out
    expected = pinocchio.aba(rigid, data, x, v, effort)
    for name, acceleration in found.items():  # dynibo's gravity is 9.80665 m/s^2
        error = np.abs(acceleration - expected).max() / np.abs(expected).max()
        assert error < 2e-3, f"{name} computes something else: {error}"
    return calls


def carried_over() -> list[Figure]:
    """Law accelerations at 1 kHz on 20 bodies of 3 modes: all computed at each sample, or carried over for 10 ms."""
    model = FlexibleModel(arm_urdf(20, 3))
    n, modes, rng = len(model.actuated), len(model.modal), np.random.default_rng(0)
    phase, amplitude, none = rng.uniform(0.0, 6.0, n), rng.uniform(0.3, 1.0, n), np.zeros(0)
    motion, w = VibrationDampingConfig(100.0, 20.0), 0.1 / amplitude  # joints at up to 0.1 rad/s
    fresh, carrying = (
        FlexibleController(
            model,
            FlexibleControllerConfig("accelerations", motion, carry_over=t, tolerance=1e-6, check_gains=False),
        )
        for t in (0.0, 0.01)
    )
    error = bound = 0.0
    took: dict[FlexibleController, list[int]] = {fresh: [], carrying: []}
    for k in range(1100):
        t, stamp = k * 1e-3, k * 1_000_000
        q, v, a = amplitude * np.sin(w * t + phase), 0.1 * np.cos(w * t + phase), -0.1 * w * np.sin(w * t + phase)
        swing = 30.0 * t + np.arange(modes)
        eta, rate = 1e-3 * np.sin(swing), 0.03 * np.cos(swing)
        joints, bent = ArmState(stamp, q, v, none, none), FlexibleState(stamp, none, none, none, eta, rate, none)
        reference, efforts = JointReference(stamp, q + 1e-3, v, a), {}
        for controller in (fresh, carrying) if k % 2 else (carrying, fresh):  # interleaved
            began = time.thread_time_ns()
            found = controller.update(joints, bent, reference).effort
            took[controller].append(time.thread_time_ns() - began)
            efforts[controller] = np.zeros(n) if found is None else found
        model.articulate(np.append(q, eta), np.append(v, rate), step=1e-3)
        expected, other = (model.accelerate(efforts[controller]) for controller in (fresh, carrying))
        scale = max(1.0, float(np.abs(expected).max()))
        error = max(error, float(np.abs(other - expected).max()) / scale)
        bound = max(bound, carrying.carried_over_error / scale)
    theirs, ours = (float(np.mean(took[controller][100:])) * 1e-3 for controller in (fresh, carrying))
    details: dict[str, bool | float | str] = {"bound": bound, "fresh_us": theirs, "carried_over_us": ours}
    meaning = "largest difference of accelerations from those computed anew, over the largest one, 20 bodies"
    return [
        Figure("carried_over_error", error, "1", parse_goal("<= 1e-6"), meaning),
        Figure(
            "carried_over_time_ratio", ours / theirs, "1", parse_goal("< 1"), "CPU time of a sample", details=details
        ),
    ]


def fall(model: FlexibleModel, integrate: Any, step: float, per_sample: int) -> tuple[Array, float]:
    """Tip (T, 2) of the falling chain over 1 s, a sample every ``per_sample`` steps, and CPU time for a ms [s]."""
    x, v, effort = np.zeros(model.size), np.zeros(model.size), np.zeros(len(model.hinge_names))
    x[: len(effort)] = CHAIN_ANGLE
    took, tip, state = 0.0, [model.frame_motion("tool0", x, v).position[:2]], view_workspace(model.arrays[2])
    for _ in range(round(1.0 / (step * per_sample))):
        began = time.thread_time()
        integrate(*model.arrays, effort, step, per_sample)
        took += time.thread_time() - began
        x, v = state.x.copy(), state.v.copy()
        tip.append(model.frame_motion("tool0", x, v).position[:2])
    return np.array(tip), took / 1e3


def exudyn_speed_ratio() -> list[Figure]:
    """Falling planar chain of 7 links of 4 modes: Exudyn's time at 1 ms over ours at the same tip error."""
    _, theirs = chain_tip_trajectory(step=1e-3)
    _, fine = chain_tip_trajectory(step=1.25e-4, tolerance=1e-6)
    error = float(np.abs(theirs[::10] - fine[::80]).max())
    model = FlexibleModel(chain_urdf(7, 4), gravity=CHAIN_GRAVITY)
    exact = fall(model, integration.runge_kutta, 5e-5, 200)[0]
    details: dict[str, bool | float | str] = {"peer": "Exudyn, 1 ms", "tip_error_m": error}
    details["difference_of_the_engines_m"] = float(np.abs(exact - fine[::80]).max())
    chosen = {}
    for name, integrate, counts in (
        ("runge_kutta", integration.runge_kutta, (56, 60, 80)),
        ("implicit_midpoint", integration.implicit_midpoint, (8, 10, 11, 12, 13, 14, 15, 16, 20, 32, 80)),
    ):
        for count in counts:  # steps in 10 ms, until the tip is as good
            found, _ = fall(model, integrate, 0.01 / count, count)
            ours = float(np.abs(found - exact).max())
            if ours <= error:
                break
        chosen[name] = integrate, count
        details |= {f"{name}_step_ms": 10.0 / count, f"{name}_tip_error_m": ours}
    rows = [
        [chain_time_per_ms(), *(fall(model, step, 0.01 / count, count)[1] for step, count in chosen.values())]
        for _ in range(7)
    ]
    exudyn, *ours_all = np.min(rows, axis=0).tolist()
    details |= {"ours_us": min(ours_all) * 1e6, "peer_us": exudyn * 1e6}  # a ms of the motion
    for name, took in zip(chosen, ours_all, strict=True):
        details |= {f"{name}_us_per_ms": took * 1e6, f"{name}_ratio": exudyn / took}
    meaning = "Exudyn's time over ours at the same tip error, 7 links of 4 modes"
    value = exudyn / min(ours_all)
    return [Figure("exudyn_speed_ratio", value, "1", parse_goal(">= 10"), meaning, details=details)]
