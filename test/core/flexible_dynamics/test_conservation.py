"""What a motion over time must keep: energy, momentum, the choice of axes; and how it is stepped."""

from __future__ import annotations

import numpy as np
import pytest
from random_trees import random_case

from flexarm_core.flexible_dynamics import integration
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.flexible_dynamics.tree import view_workspace

BEAM = 'length="1" EIy="60" EIz="40" GJ="30" rho_A="1" rho_Ip="1e-3" modes_y="2" modes_z="1" modes_torsion="1"'


def link(name: str) -> str:
    return (
        f'<link name="{name}"><inertial><origin xyz="0.3 0 0"/><mass value="2"/>'
        '<inertia ixx="0.05" ixy="0" ixz="0" iyy="0.4" iyz="0" izz="0.4"/></inertial></link>'
    )


def joint(name: str, kind: str, parent: str, child: str, axis: str, origin: str = 'xyz="0 0 0"') -> str:
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/><origin {origin}/>'
        f'<axis xyz="{axis}"/><limit lower="-9" upper="9" effort="9" velocity="9"/></joint>'
    )


def spatial_arm(root: str = 'xyz="0 0 0"', slides: bool = False) -> str:
    """Yaw, then two flexible links that pitch and roll; with ``slides`` on a cart that slides along all three axes."""
    parts, base = [], "world"
    for axis, name in (("1 0 0", "x"), ("0 1 0", "y"), ("0 0 1", "z")) if slides else ():
        parts += [joint(f"slide_{name}", "prismatic", base, f"cart_{name}", axis), link(f"cart_{name}")]
        base = f"cart_{name}"
    parts += [joint("yaw", "continuous", base, "turret", "0 0 1", root), link("turret")]
    parts += [joint("pitch", "continuous", "turret", "inner", "0 1 0"), link("inner")]
    wrist = 'xyz="1 0 0" rpy="0.2 0.1 0.4"'
    parts += [joint("roll", "continuous", "inner", "outer", "0.6 0.8 0", wrist), link("outer")]
    parts += [joint("tool", "fixed", "outer", "tool0", "1 0 0", 'xyz="1 0 0.05"'), '<link name="tool0"/>']
    bends = "".join(f'<flexible_link name="{name}"><beam {BEAM}/></flexible_link>' for name in ("inner", "outer"))
    return f'<robot name="arm"><link name="world"/>{"".join(parts)}<flexibility>{bends}</flexibility></robot>'


def moving(model: FlexibleModel, seed: int):
    rng = np.random.default_rng(seed)
    x, v = rng.uniform(-0.5, 0.5, (2, model.size))
    x[model.modal] *= 0.05
    return x, v


def advance(model, x, v, effort, h, steps):
    x, v = x.copy(), v.copy()
    model.integrate(x, v, effort, h, steps)
    return x, v


def energy_drift(model, h):
    """Largest change of energy over 1 s, as a part of the largest kinetic energy."""
    x, v = moving(model, 1)
    start, kinetic, drift = model.energy(x, v), 0.0, 0.0
    for _ in range(20):
        x, v = advance(model, x, v, np.zeros(len(model.hinge_names)), h, round(0.05 / h))
        drift = max(drift, abs(model.energy(x, v) - start))
        kinetic = max(kinetic, 0.5 * v @ model.mass_matrix(x) @ v)
    return drift / kinetic


def test_energy_is_kept_and_the_drift_falls_with_the_fifth_power_of_the_step(without_losses):
    model = without_losses(FlexibleModel(spatial_arm()))
    coarse, fine, finest = (energy_drift(model, h) for h in (2.5e-4, 1.25e-4, 6.25e-5))
    assert fine <= 1e-6
    assert coarse / fine == pytest.approx(32.0, rel=0.4)
    assert finest < fine / 20.0


def test_energy_of_flexible_3r_is_kept_under_gravity(flexible_3r_text, without_losses):
    assert energy_drift(without_losses(FlexibleModel(flexible_3r_text)), 1.25e-4) <= 1e-6


def test_power_of_the_motors_is_the_rate_of_the_energy(flexible_3r_text, without_losses):
    model = without_losses(FlexibleModel(flexible_3r_text))
    x, v = moving(model, 2)
    effort = np.array([0.0, 0.0, 5.0, -20.0, 8.0])
    h = 1e-5
    ahead, behind = advance(model, x, v, effort, h, 1), advance(model, x, v, effort, -h, 1)
    rate = (model.energy(*ahead) - model.energy(*behind)) / (2.0 * h)
    assert rate == pytest.approx(effort @ v[:5], rel=1e-6)


@pytest.mark.parametrize("kind", ["modal", "viscous", "friction"])
def test_every_kind_of_damping_takes_energy(without_losses, kind):
    model = without_losses(FlexibleModel(spatial_arm()))
    losses = {"modal": model.tree.C, "viscous": model.tree.damping, "friction": model.tree.friction}[kind]
    if kind == "modal":
        for i, k in enumerate(model.tree.modes):
            losses[i, :k, :k] = 0.5 * np.eye(k)
    else:
        losses[:] = 0.05
    x, v = moving(model, 3)
    energies = [model.energy(x, v)]
    for _ in range(20):
        x, v = advance(model, x, v, np.zeros(3), 2e-4, 100)
        energies.append(model.energy(x, v))
    assert (np.diff(energies) < 0.0).all()


def points_of(model, x, v):
    """Mass, position, velocity and spin of every piece, from the motion of the links' frames."""
    for name, body in model.description.links.items():
        if body.mass == 0.0:
            continue
        frame = model.frame_motion(name, x, v)
        R, w = frame.rotation, frame.velocity[3:]
        data = model.modal_data.get(name)
        pieces = [(body.mass, body.center_of_mass, np.zeros(3), body.inertia, np.zeros(3))]
        if data is not None:
            modes = [model.mode_names.index(f"{name}/{mode}") + len(model.hinge_names) for mode in data.modes]
            eta, rate = x[modes], v[modes]
            for m, r, J, Pt, Pr in zip(
                data.mass, data.position, data.inertia, data.translation, data.rotation, strict=True
            ):
                pieces += [(-m, r, np.zeros(3), -J, np.zeros(3)), (m, r + Pt @ eta, Pt @ rate, J, Pr @ rate)]
        for m, r, rd, J, spin in pieces:
            arm = R @ r
            yield m, frame.position + arm, frame.velocity[:3] + np.cross(w, arm) + R @ rd, R @ J @ (R.T @ w + spin)


def momentum_of(model, x, v):
    """Linear and angular momentum about the world's origin, piece by piece."""
    linear, angular = np.zeros(3), np.zeros(3)
    for m, position, velocity, spin in points_of(model, x, v):
        linear += m * velocity
        angular += m * np.cross(position, velocity) + spin
    return linear, angular


def test_linear_momentum_of_an_arm_on_a_sliding_cart_is_kept(without_losses):
    model = without_losses(FlexibleModel(spatial_arm(slides=True), gravity=(0.0, 0.0, 0.0)))
    x, v = moving(model, 4)
    before, _ = momentum_of(model, x, v)
    assert before == pytest.approx((model.mass_matrix(x) @ v)[:3], rel=1e-9)
    x, v = advance(model, x, v, np.array([0.0, 0.0, 0.0, 1.0, -2.0, 1.0]), 1e-4, 3000)
    after, _ = momentum_of(model, x, v)
    assert after == pytest.approx(before, abs=1e-8)


def test_angular_momentum_about_a_free_axis_is_kept_under_gravity_along_it(without_losses):
    model = without_losses(FlexibleModel(spatial_arm()))
    x, v = moving(model, 5)
    _, before = momentum_of(model, x, v)
    x, v = advance(model, x, v, np.array([0.0, 3.0, -1.0]), 1e-4, 3000)
    _, after = momentum_of(model, x, v)
    assert after[2] == pytest.approx(before[2], rel=1e-8)
    assert abs(after[0] - before[0]) > 1e-2  # gravity and the hinges' bearing change the others


def test_turning_the_whole_robot_with_gravity_changes_nothing():
    upright = FlexibleModel(spatial_arm(), gravity=(1.0, 2.0, -9.0))
    turned_text = spatial_arm('xyz="0.3 -1 2" rpy="0.7 -0.4 1.1"')
    root = FlexibleModel(turned_text).frame_motion("turret", np.zeros(upright.size), np.zeros(upright.size)).rotation
    turned = FlexibleModel(turned_text, gravity=tuple(root @ [1.0, 2.0, -9.0]))
    x, v = moving(upright, 6)
    effort = np.array([1.0, 2.0, 3.0])
    expected = upright.forward_dynamics(x, v, effort)
    assert turned.forward_dynamics(x, v, effort) == pytest.approx(expected, rel=1e-11, abs=1e-11)
    assert turned.mass_matrix(x) == pytest.approx(upright.mass_matrix(x), abs=1e-12)


def test_velocity_and_acceleration_of_frames_are_derivatives_of_their_pose(tmp_path):
    rng, h = np.random.default_rng(7), 1e-4
    for _ in range(10):
        case = random_case(rng, tmp_path, links=6)
        model, x, v = case.model, case.x, case.v
        a = rng.standard_normal(model.size)
        for name in ("link_2", "link_5"):
            now = model.frame_motion(name, x, v, a)
            ahead, behind = (
                model.frame_motion(name, x + s * v + 0.5 * h * h * a, v + s * a) for s in (h, -h)
            )  # one parabola of coordinates
            assert (ahead.position - behind.position) / (2 * h) == pytest.approx(now.velocity[:3], abs=1e-5)
            assert (ahead.velocity - behind.velocity) / (2 * h) == pytest.approx(now.acceleration, abs=1e-4)
            spin = (ahead.rotation - behind.rotation) / (2 * h) @ now.rotation.T
            assert [spin[2, 1], spin[0, 2], spin[1, 0]] == pytest.approx(now.velocity[3:], abs=1e-5)


def test_steps_from_tick_to_tick_equal_one_batch_bit_for_bit(flexible_3r_text):
    effort = np.array([0.0, 0.0, 5.0, -20.0, 8.0])
    batch, ticks = FlexibleModel(flexible_3r_text), FlexibleModel(flexible_3r_text)
    x, v = moving(batch, 8)
    expected = advance(batch, x, v, effort, 1e-4, 100)
    for _ in range(100):
        x, v = advance(ticks, x, v, effort, 1e-4, 1)
    assert np.array_equal(x, expected[0])
    assert np.array_equal(v, expected[1])


def midpoint(model, x, v, h, steps):
    state = view_workspace(model.arrays[2])
    state.x[:], state.v[:] = x, v
    integration.implicit_midpoint(*model.arrays, np.zeros(len(model.hinge_names)), h, steps)
    return state.x.copy(), state.v.copy()


def test_the_midpoint_step_stays_bounded_where_the_explicit_one_does_not(flexible_2r_text, without_losses):
    model = without_losses(FlexibleModel(flexible_2r_text, gravity=(0.0, 0.0, 0.0)))
    x, v = np.zeros(model.size), np.zeros(model.size)
    x[model.modal] = 1e-3
    start, h = model.energy(x, v), 0.1  # 20 rad of the highest mode in a step
    assert model.energy(*midpoint(model, x, v, h, 1000)) < 1.5 * start
    with np.errstate(all="ignore"):
        explicit = advance(model, x, v, np.zeros(2), h, 1000)
    assert not np.isfinite(explicit[0]).all() or np.abs(explicit[0]).max() > 1e6


def test_the_midpoint_step_tends_to_the_explicit_one_with_the_square_of_its_length(flexible_3r_text):
    model = FlexibleModel(flexible_3r_text)
    x, v = moving(model, 9)
    exact = advance(model, x, v, np.zeros(5), 1e-4, 500)[0]
    errors = [np.abs(midpoint(model, x, v, 0.05 / n, n)[0] - exact).max() for n in (200, 400, 800)]
    assert errors[0] < 1e-3
    assert errors[1] == pytest.approx(errors[0] / 4.0, rel=0.2)
    assert errors[2] == pytest.approx(errors[1] / 4.0, rel=0.2)


def test_a_step_leaves_the_model_to_accelerations_of_the_moment(flexible_2r_text):
    model = FlexibleModel(flexible_2r_text)
    x, v = moving(model, 10)
    before = model.forward_dynamics(x, v, np.zeros(2))
    midpoint(model, x, v, 0.01, 3)
    assert np.array_equal(model.forward_dynamics(x, v, np.zeros(2)), before)
