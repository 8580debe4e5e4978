"""Messages, markers and parameters of base_wrench_torque_estimator, without a node."""

from __future__ import annotations

import numpy as np
import pytest
from calibration_text import calibration_of
from sensed_arm import GRAVITY, NODE, Core, description
from visualization_msgs.msg import Marker

from flexarm.action import CalibrateBaseWrench
from flexarm_core.base_wrench.gravity_table import GravityTable
from flexarm_core.base_wrench.sensed_bodies import build_sensed_bodies
from flexarm_core.base_wrench.sensor_dynamics import SensorDynamics
from flexarm_core.base_wrench.static_pose import StaticPose
from flexarm_core.base_wrench.zero import BaseWrenchZero
from flexarm_core.errors import ConfigError, InputError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import BaseWrenchEstimate, BaseWrenchSample
from flexarm_nodes.base_wrench.markers import BaseWrenchMarkers
from flexarm_nodes.base_wrench.parameters import (
    BASE_WRENCH_PARAMETERS,
    calibration_config,
    calibration_run_config,
    controller_config,
    estimator_config,
    gravity_table,
    sensed_bodies,
)
from flexarm_nodes.base_wrench.plan import build_plan
from flexarm_nodes.messages.base_wrench import base_wrench_estimate_form, base_wrench_estimate_from_message

BENT = np.array([0.0, 0.6, 0.2, -1.4, -0.3, 0.8, 0.1])
NAMES = ("a", "b", "c")
DEFAULTS = {row.name: row.default for row in BASE_WRENCH_PARAMETERS}


def estimate_of(**changed) -> BaseWrenchEstimate:
    rng = np.random.default_rng(1)
    fields = {name: rng.normal(size=3) for name in ("torque", "friction", "gravity", "model_torque")}
    fields |= {name: rng.normal(size=6) for name in ("wrench", "gravity_wrench", "residual_wrench", "bias")}
    return BaseWrenchEstimate(**{"stamp": 3_000_000_007, "contact": True, **fields, **changed})


def equal(a: BaseWrenchEstimate, b: BaseWrenchEstimate) -> bool:
    return all(
        np.array_equal(getattr(a, name), getattr(b, name), equal_nan=True)
        if isinstance(getattr(a, name), np.ndarray)
        else getattr(a, name) == getattr(b, name)
        for name in BaseWrenchEstimate.__dataclass_fields__
    )


def test_an_estimate_survives_the_way_into_a_message_and_back_whatever_the_order_of_joints():
    unknown = np.array([np.nan, 1.0, np.nan])
    for estimate in (estimate_of(), estimate_of(torque=unknown, left_out=("base_ft_sensor: missing",), contact=False)):
        message = base_wrench_estimate_form(estimate, NAMES, "base_link", 0.25).message()
        assert message.header.frame_id == "base_link" and message.correction_weight == 0.25
        assert message.header.stamp.sec == 3 and message.header.stamp.nanosec == 7
        assert message.valid == (not estimate.left_out)
        assert equal(base_wrench_estimate_from_message(message, NAMES), estimate)
        turned = base_wrench_estimate_from_message(message, ("c", "a", "b"))
        assert np.array_equal(turned.gravity, estimate.gravity[[2, 0, 1]])


def test_an_estimate_of_other_joints_or_of_another_number_of_values_is_refused():
    message = base_wrench_estimate_form(estimate_of(), NAMES, "base_link", 1.0).message()
    with pytest.raises(InputError, match="base wrench estimate names a, b, c; expected a, b"):
        base_wrench_estimate_from_message(message, ("a", "b"))
    message.friction = message.friction[:2]
    with pytest.raises(InputError, match="has 3 names and 2 friction values"):
        base_wrench_estimate_from_message(message, NAMES)


def test_a_contact_is_an_arrow_on_the_line_along_which_it_pushes_and_joints_have_arrows_along_their_axes():
    model = ArmModel(description("arm_7r"), "", GRAVITY)
    markers, at, force = BaseWrenchMarkers(model, "base_link"), np.array([0.3, -0.2, 0.5]), np.array([5.0, 20.0, -10.0])
    markers.scale = 0.02
    torque, friction = np.arange(7.0), np.full(7, np.nan)
    friction[2] = -3.0
    residual = np.concatenate((force, np.cross(at, force)))
    estimate = estimate_of(torque=torque, friction=friction, residual_wrench=residual)
    drawn = {marker.ns: marker for marker in markers.message(estimate).markers if marker.action == Marker.ADD}
    contact = drawn.pop("contact")
    begin, end = (np.array([point.x, point.y, point.z]) for point in contact.points)
    assert contact.header.frame_id == "base_link"
    assert np.allclose(end - begin, 0.02 * force) and np.allclose(np.cross(begin - at, force), 0.0, atol=1e-12)
    assert abs(begin @ force) < 1e-12  # nearest to the sensor
    # a torque of zero and frictions that are not known have no arrow
    assert set(drawn) == {*(f"torque/{name}" for name in model.joint_names[1:]), f"friction/{model.joint_names[2]}"}
    joint = model.description.joints[model.joint_names[2]]
    marker = drawn[f"friction/{joint.name}"]
    assert marker.header.frame_id == joint.child
    tip = marker.points[1]
    assert np.allclose((tip.x, tip.y, tip.z), -3.0 * 0.02 * joint.axis)
    free = markers.message(estimate_of(torque=torque, friction=friction, residual_wrench=residual, contact=False))
    assert all(marker.ns != "contact" for marker in free.markers)


def test_default_parameters_are_the_cores():
    core = Core("arm_7r")
    assert estimator_config(DEFAULTS) == core.estimator.config
    assert controller_config(DEFAULTS) == core.controller.config  # its period is that of 500 Hz
    changed = DEFAULTS | {"bias_tracking.max_force": 7.0, "contact.force": 3.0, "torque_bandwidth": 20.0, "rate": 100.0}
    assert estimator_config(changed).bias.max_force == 7.0 and estimator_config(changed).contact.force == 3.0
    loop = controller_config(changed).torque_loop
    assert loop.period == 0.01 and loop.resolved_bandwidth() == 20.0
    assert calibration_config(DEFAULTS | {"calibration.max_condition": 30.0}, "bias").max_condition == 30.0
    run = calibration_run_config(DEFAULTS | {"calibration.velocity": [100.0]}, core.model)
    assert run.velocity == tuple(core.model.velocity_limit)
    with pytest.raises(ConfigError, match="calibration.acceleration has 2 values, expected one, or one a joint: 7"):
        calibration_run_config(DEFAULTS | {"calibration.acceleration": [1.0, 2.0]}, core.model)


def test_gravity_parameters_are_taken_by_the_names_of_their_links():
    model = ArmModel(description("arm_7r"), "", GRAVITY)
    described = build_sensed_bodies(model.description)
    links = [described.names[k] for k in described.weighing]
    table = described.gravity_parameters() * 1.1
    values = DEFAULTS | {
        "gravity_links": links,
        "gravity_masses": table[:, 0].tolist(),
        "gravity_first_moments": table[:, 1:].ravel().tolist(),
    }
    assert np.array_equal(sensed_bodies(values, model).gravity_parameters(), table)
    assert np.array_equal(sensed_bodies(DEFAULTS, model).links, described.links)
    for bad, reason in (
        ({"gravity_links": links[::-1]}, "carries, in this order: "),
        ({"gravity_links": []}, "gravity_links are not given"),
        ({"gravity_masses": [1.0]}, "gravity_masses and .* gravity_first_moments; there are 1 and "),
        ({"gravity_masses": [np.nan] * len(links)}, "must be finite"),
        ({"sensor": "none"}, "has no force/torque sensor 'none'"),
    ):
        with pytest.raises(ConfigError, match=reason):
            sensed_bodies(values | bad, model)


def test_a_table_is_loaded_for_the_robot_and_sensor_that_it_is_of(tmp_path):
    model = ArmModel(description("planar_4r"), "", GRAVITY)
    dynamics = SensorDynamics(build_sensed_bodies(model.description), GRAVITY)
    GravityTable.from_model(dynamics).save(tmp_path / "table.npz")
    values = DEFAULTS | {"gravity_table": str(tmp_path / "table.npz")}
    table, position = gravity_table(values, model), np.array([0.3, -0.5, 1.0, 0.2])
    assert np.allclose(table.wrench(position), dynamics.gravity_wrench(position), rtol=0.0, atol=1e-9)
    assert gravity_table(DEFAULTS, model) is None
    with pytest.raises(ConfigError, match="gravity table '/nowhere.npz' cannot be read"):
        gravity_table(DEFAULTS | {"gravity_table": "/nowhere.npz"}, model)
    with pytest.raises(ConfigError, match="is of the joints"):
        gravity_table(values, ArmModel(description("arm_7r"), "", GRAVITY))


def test_a_new_bias_is_written_with_the_masses_that_it_was_found_with(tmp_path):
    model = ArmModel(description("arm_7r"), "", GRAVITY)
    described = build_sensed_bodies(model.description)
    table = described.gravity_parameters() * 1.1
    links = [described.names[k] for k in described.weighing]
    masses = {"gravity_links": links, "gravity_masses": table[:, 0].tolist()}
    masses["gravity_first_moments"] = table[:, 1:].ravel().tolist()
    bias, poses = np.array([1.0, -2.0, 3.0, 0.1, 0.2, -0.3]), BENT + np.linspace(-0.5, 0.5, 6)[:, None]
    goal = CalibrateBaseWrench.Goal(model="bias", output_file="bias.yaml")
    for loaded, sign in ((masses, 1.0), ({}, 1.0), (masses, -1.0)):
        given = {
            "gravity": list(GRAVITY),
            "file_folder": str(tmp_path),
            "wrench_convention": "robot_on_base" if sign > 0.0 else "base_on_robot",
        }
        plan = build_plan(goal, DEFAULTS | given | loaded, model, BENT, NODE)
        true = SensorDynamics(plan.bodies, GRAVITY)
        found = plan.solve([StaticPose(q, true.gravity_wrench(q) + sign * bias) for q in poses])
        plan.write(found)
        assert np.allclose(plan.parameters(found)["wrench_bias"], bias)
        assert set(plan.parameters(found)) == {"wrench_bias"}  # what else there is stays as it is
        written, parameters = calibration_of(tmp_path / "bias.yaml", described)
        (tmp_path / "bias.yaml").unlink()
        assert np.allclose(written, bias)
        assert parameters is None if not loaded else np.array_equal(parameters, table)


def test_the_zero_of_a_sensor_is_a_mean_over_rest_alone():
    core, zero, rng = Core("arm_7r"), BaseWrenchZero(), np.random.default_rng(3)
    bias, still = np.array([1.0, -2.0, 3.0, 0.1, 0.2, -0.3]), np.zeros(7)
    with pytest.raises(InputError, match="no joint state has come yet"):
        zero.residual()
    for tick in range(300):
        noise = rng.normal(size=6) * 0.1
        gravity = core.gravity_wrench(still)
        velocity = np.full(7, 0.5 if tick < 50 else 0.0)
        sample = BaseWrenchSample(tick * 2_000_000, still, velocity, still, gravity + bias + noise)
        estimate = core.estimate(sample)
        zero.take(estimate, float(velocity.max()))
        if tick == 20:
            with pytest.raises(InputError, match="moves at 0.500"):
                zero.residual()
    assert np.allclose(zero.residual(), bias, atol=0.1 * 4.0 / np.sqrt(200.0))
    zero.take(estimate_of(contact=True), 0.0)
    with pytest.raises(InputError, match="something touches the arm"):
        zero.residual()
    zero.take(estimate_of(left_out=("base_ft_sensor: frozen",)), 0.0)
    with pytest.raises(InputError, match="no valid reading: base_ft_sensor: frozen"):
        zero.residual()
