"""CalibrationPlan: the checked request of a calibrate goal, and its slow computations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np

from flexarm.action import CalibrateBaseWrench
from flexarm_core.base_wrench.calibration import CalibrationResult, calibrate, fewest_poses
from flexarm_core.base_wrench.calibration_config import CalibrationConfig
from flexarm_core.base_wrench.calibration_file import calibration_text
from flexarm_core.base_wrench.calibration_poses import CalibrationPosesConfig, choose_calibration_poses
from flexarm_core.base_wrench.calibration_run import CalibrationRunConfig
from flexarm_core.base_wrench.gravity_parameters import IdentifiableGravity
from flexarm_core.base_wrench.link_heights import LinkHeights
from flexarm_core.base_wrench.sensed_bodies import SensedBodies, build_sensed_bodies
from flexarm_core.base_wrench.static_pose import StaticPose
from flexarm_core.errors import InputError
from flexarm_core.file_folder import FileFolder
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import Array
from flexarm_nodes.base_wrench.parameters import calibration_config, calibration_run_config, sensed_bodies
from flexarm_nodes.node.built_stage import Values

OUTPUT = "calibration file"
MOST_POSES = 200
SPARE = 2  # default number of poses, as a multiple of the smallest sufficient number


@dataclass(frozen=True, slots=True)
class CalibrationPlan:
    """One calibration of one arm; its methods only read constant data, so they may run in another thread.

    Attributes:
        goal: goal of the action.
        files: folder in which its file is created.
        model: arm model.
        bodies: bodies above the sensor; as in the robot description if their masses are to be estimated.
        start: (n,) joint positions at rest [rad | m].
        gravity: (3,) gravity, axes of the root link [m/s^2].
        sign: -1 if the sensor measures the wrench of the base on the robot, else 1.
        node_name: node name under which parameters are written.
        stage: stage name under which the node has them, if it runs several stages.
        config: settings of the solution.
        run: settings of the motion.
        margin: fraction of each joint's range that chosen poses leave free at both ends.
        timeout: time without joint states or wrenches after which the calibration ends [s].
    """

    goal: CalibrateBaseWrench.Goal
    files: FileFolder
    model: ArmModel
    bodies: SensedBodies
    start: Array
    gravity: tuple[float, float, float]
    sign: float
    node_name: str
    stage: str
    config: CalibrationConfig
    run: CalibrationRunConfig
    margin: float
    timeout: float

    def poses(self) -> Array:
        """Return the poses (k, n) to visit, as given in the goal or chosen [rad | m].

        Raises:
            InputError: they are not usable; the message gives the reason.
        """
        identifiable = IdentifiableGravity(
            self.bodies,
            self.gravity,
            lower=self.model.lower,
            upper=self.model.upper,
            noise=self.config.noise,
            limit=self.config.max_condition,
        )
        if len(self.goal.poses):
            poses = given_poses(self.goal, self.model)
            poses = poses + self.model.turns.near(poses[0], self.start) - poses[0]
            self._check_information(poses, identifiable)
            return poses
        count = max(SPARE * fewest_poses(identifiable), self.config.min_poses)
        chosen = CalibrationPosesConfig(
            count=self.goal.pose_count or count,
            margin=self.margin,
            max_displacement=self.goal.max_displacement or np.inf,
            max_condition=self.config.max_condition,
        )
        return choose_calibration_poses(
            self.bodies,
            self.start,
            self.model.lower,
            self.model.upper,
            LinkHeights(self.model.description, self.bodies, self.goal.min_height),
            chosen,
            gravity=self.gravity,
            noise=self.config.noise,
        )

    def _check_information(self, poses: Array, identifiable: IdentifiableGravity) -> None:
        """Raise InputError if the poses (k, n) do not determine the unknowns: reported before the arm moves."""
        solves = self.config.model == "bias_and_gravity"
        needed = max(fewest_poses(identifiable) if solves else 1, self.config.min_poses)
        if len(poses) < needed:
            raise InputError(f"{len(poses)} poses are too few: model '{self.config.model}' needs at least {needed}")
        still = np.zeros((len(poses), self.model.m))
        found = identifiable.information(np.hstack((poses, still)))
        if solves and found.condition_number > self.config.max_condition:
            raise InputError(
                f"the poses are too alike: condition number {found.condition_number:.3g}, allowed are"
                f" {self.config.max_condition:g}; least of all they tell the {found.weakest}"
            )

    def solve(self, poses: Sequence[StaticPose]) -> CalibrationResult:
        """Return the calibration result of the measured poses.

        Raises:
            InputError: the data are insufficient or do not fit the model.
        """
        return calibrate(
            self.bodies,
            poses,
            self.config,
            gravity=self.gravity,
            lower=self.model.lower,
            upper=self.model.upper,
        )

    def parameters(self, found: CalibrationResult) -> dict[str, Any]:
        """Return the node parameters that apply a result."""
        values: dict[str, Any] = {"wrench_bias": (self.sign * found.bias).tolist()}
        if self.config.model == "bias_and_gravity":
            values["gravity_links"] = [self.bodies.names[k] for k in self.bodies.weighing]
            values["gravity_masses"] = found.gravity_parameters[:, 0].tolist()
            values["gravity_first_moments"] = found.gravity_parameters[:, 1:].ravel().tolist()
        return values

    def write(self, found: CalibrationResult) -> None:
        """Create the goal's file with a result, the bias in the sensor's own convention.

        Raises:
            ConfigError: the file cannot be written.
        """
        described = build_sensed_bodies(self.model.description, self.bodies.sensor)
        # masses from an earlier calibration are written too: the bias is only valid together with them
        all_of_it = not np.array_equal(described.links, self.bodies.links)
        text = calibration_text(
            replace(found, bias=self.sign * found.bias, model="bias_and_gravity" if all_of_it else found.model),
            self.bodies,
            self.node_name,
            stage=self.stage,
            robot=self.model.description.name,
            date=datetime.now().astimezone().isoformat(timespec="seconds"),
        )
        self.files.write_new(self.goal.output_file, OUTPUT, text)


def build_plan(
    goal: CalibrateBaseWrench.Goal, values: Values, model: ArmModel, start: Array, node_name: str, stage: str = ""
) -> CalibrationPlan:
    """Return the plan of a goal under the parameter values, for an arm at rest at ``start`` (n,) [rad | m].

    Raises:
        InputError: the goal has an invalid value.
        ConfigError: a parameter is not usable, or the file cannot be created.
    """
    files = FileFolder(values["file_folder"])
    if goal.output_file:
        files.check_new(goal.output_file, OUTPUT)
    if max(goal.pose_count, len(goal.poses) // model.n) > MOST_POSES:
        raise InputError(f"a calibration takes at most {MOST_POSES} poses")
    if not goal.max_displacement >= 0.0:
        raise InputError(f"max_displacement must be >= 0 rad or m, got {goal.max_displacement}")
    if np.isnan(goal.min_height):
        raise InputError("min_height must be a number of meters, or -inf")
    if len(goal.poses):
        given_poses(goal, model)
    config = calibration_config(values, goal.model or "bias_and_gravity")
    described = config.model == "bias_and_gravity"
    return CalibrationPlan(
        goal=goal,
        files=files,
        model=model,
        bodies=build_sensed_bodies(model.description, values["sensor"]) if described else sensed_bodies(values, model),
        start=start,
        gravity=(values["gravity"][0], values["gravity"][1], values["gravity"][2]),
        sign=1.0 if values["wrench_convention"] == "robot_on_base" else -1.0,
        node_name=node_name,
        stage=stage,
        config=config,
        run=calibration_run_config(values, model),
        margin=values["calibration.margin"],
        timeout=values["state_timeout"],
    )


def given_poses(goal: CalibrateBaseWrench.Goal, model: ArmModel) -> Array:
    """Return the poses (k, n) of a goal in the model's joint order [rad | m].

    Raises:
        InputError: wrong joint names or number of positions, or positions not finite or outside the limits.
    """
    names, n = list(goal.names) or list(model.joint_names), model.n
    if sorted(names) != sorted(model.joint_names):
        raise InputError(f"names are {', '.join(names)}; expected {', '.join(model.joint_names)}")
    flat = np.array(goal.poses)
    if flat.size % n:
        raise InputError(f"poses hold {flat.size} positions, which is no multiple of the {n} joints")
    poses = flat.reshape(-1, n)[:, [names.index(name) for name in model.joint_names]]
    if not np.isfinite(poses).all():
        raise InputError("poses hold positions that are not finite")
    outside = np.argwhere((poses < model.lower) | (poses > model.upper))
    if len(outside):
        pose, joint = outside[0]
        raise InputError(
            f"pose {pose + 1}: {model.joint_names[joint]} at {poses[pose, joint]:.6g} is outside its limits"
            f" {model.lower[joint]:.6g} to {model.upper[joint]:.6g}"
        )
    return poses
