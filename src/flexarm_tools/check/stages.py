"""Step 8 of `flexarm check`: which stages can run with this description, and what the others require."""

from __future__ import annotations

from flexarm_core.base_wrench.sensed_bodies import build_sensed_bodies
from flexarm_core.errors import ConfigError, FlexarmError
from flexarm_core.ik_redundancy.chain import build_chain
from flexarm_core.reaction_null_space.vibration.base_selection import BaseSelection
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.dynamics_check import check_dynamics, massless_joints
from flexarm_sim.backends import BACKENDS, make_backend
from flexarm_tools.check.step import CheckStep

NO_MASSES = "cannot run: joints move no mass, see step 3"
NEED_MASSES = (
    "simulated_plant", "rns_vibration_controller", "reactionless_path_controller", "flexible_dynamics_estimator",
    "flexible_dynamics_controller", "base_wrench_torque_estimator",
)  # fmt: skip


def stage_step(model: ArmModel) -> tuple[CheckStep, bool]:
    """Determine which stages can run.

    Args:
        model: model of the robot; joints that move no mass are allowed.

    Returns:
        The step, and whether the robot can be simulated.
    """
    lacking = _lacking(model)
    lines, usable = ([f"{', '.join(NEED_MASSES)}: {lacking}"], False) if lacking else _plants(model)
    kinematics = _kinematics(model)
    touch = "" if model.description.force_torque_sensors else "; feels nothing: no force/torque sensor behind the tool"
    lines += [
        "reference_generator: can run",
        f"ik_redundancy_solver: {kinematics}",
        f"behavior_impedance_controller: {kinematics}{touch if kinematics.startswith('can') else ''}",
    ]
    if lacking:
        lines.append("hardware_gate: velocity and position commands; effort commands take masses, see step 3")
    else:
        lines += [_vibration(model), _paths(model), *_flexible(model), _base_wrench(model), "hardware_gate: can run"]
    return CheckStep("Stages", tuple(lines), state="can be simulated" if usable else "to do"), usable


def _lacking(model: ArmModel) -> str:
    """Return why the dynamics cannot be computed, in words; empty if they can."""
    if massless_joints(model.description):
        return NO_MASSES
    try:
        check_dynamics(model.description)
    except FlexarmError as error:
        return f"cannot run: {error}"
    return ""


def soft_selection(model: ArmModel) -> BaseSelection | None:
    """Return the soft modes of the base, which a reaction null space does not excite; None if that is not possible."""
    try:
        return BaseSelection(model, ("auto",)) if model.m else None
    except ConfigError:  # more soft modes than joints
        return None


def _plants(model: ArmModel) -> tuple[list[str], bool]:
    runs = [_try_plant(name, model) for name in (BACKENDS if model.description.flexible_links else BACKENDS[:1])]
    return [line for line, _ in runs], any(runs_here for _, runs_here in runs)


def _try_plant(backend: str, model: ArmModel) -> tuple[str, bool]:
    """Return in words whether the plant can run with a backend, and whether it can be used."""
    label = f"simulated_plant ({backend}): "
    try:
        make_backend(backend, model.description, tool_frame=model.tool_frame)
    except ConfigError as error:  # e.g. stiff flexible links: the robot is valid, the settings are not
        return f"{label}can run with other settings: {error}", True
    except FlexarmError as error:
        return f"{label}cannot run: {error}", False
    return f"{label}can run", True


def _kinematics(model: ArmModel) -> str:
    try:
        chain = build_chain(model.description, model.tool_frame)
    except FlexarmError as error:
        return f"cannot run: {error}"
    spare = "no redundant joint" if chain.n <= 6 else f"{chain.n - 6} redundant beside a whole pose"
    return f"can run; {chain.n} joints between base link and tool, {spare}"


def _vibration(model: ArmModel) -> str:
    label = "rns_vibration_controller: "
    if not model.m:
        return f"{label}needs an <elastic_joint> in <flexibility>"
    selection = soft_selection(model)
    if selection is None:
        return (
            f"{label}needs more actuated joints ({model.n}) than soft elastic directions; can run with a selection of"
            f" fewer of: {', '.join(model.elastic_joint_names)}"
        )
    what = "with selection: [auto], " if selection.count < model.m else ""
    return f"{label}can run; {what}reaction null space of dimension {model.n - selection.count}"


def _paths(model: ArmModel) -> str:
    label = "reactionless_path_controller: "
    if not model.m:
        return f"{label}needs an <elastic_joint> in <flexibility>"
    if model.description.free:
        return f"{label}needs springs under the base: the stiffness of '{model.description.free[0]}' is 0"
    if model.n - 1 > model.m:
        return f"{label}can damp and hold; paths need one actuated joint more than elastic directions selected"
    chosen = "" if model.n - 1 == model.m else f", with {model.n - 1} of the elastic joints in `selection`"
    return f"{label}can run{chosen}"


def _flexible(model: ArmModel) -> list[str]:
    description = model.description
    if not description.flexible_links and not model.m:
        needs = "needs a <flexible_link>, <elastic_drive> or <elastic_joint> in <flexibility>"
        return [f"flexible_dynamics_estimator: {needs}", f"flexible_dynamics_controller: {needs}"]
    if description.free:
        needs = f"needs springs under the base: the stiffness of '{description.free[0]}' is 0"
        return [f"flexible_dynamics_estimator: {needs}", f"flexible_dynamics_controller: {needs}"]
    sensors = [
        *(["use_strain"] if description.strain_gauges else []),
        *(["use_deflection"] if model.m else []),
        *(["use_wrench"] if description.force_torque_sensors else []),
        *(["use_imu"] if description.imus else []),
    ]
    by = f"corrects by {', '.join(sensors)}" if sensors else "open loop: there is no sensor to correct by"
    return [f"flexible_dynamics_estimator: can run; {by}", "flexible_dynamics_controller: can run"]


def _base_wrench(model: ArmModel) -> str:
    label = "base_wrench_torque_estimator: "
    reasons = []
    for name in model.description.force_torque_sensors:
        try:
            bodies = build_sensed_bodies(model.description, name)
        except FlexarmError as error:
            reasons.append(str(error))
            continue
        return f"{label}can run with sensor: {name}, which carries {int(bodies.sensed.sum())} of {model.n} joints"
    return f"{label}needs a force/torque sensor under the base link, see step 6" + "".join(f"; {r}" for r in reasons)
