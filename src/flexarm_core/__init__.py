"""Numerical core of flexarm: uses NumPy, SciPy and Pinocchio, and does not import ROS.

The names in ``__all__`` are the front door: ``from flexarm_core import ArmModel``. Each is imported from its module
when it is first used, so that ``import flexarm_core`` alone loads neither Pinocchio nor numba.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flexarm_core.base_wrench.estimator import BaseWrenchEstimator as BaseWrenchEstimator
    from flexarm_core.base_wrench.estimator import BaseWrenchEstimatorConfig as BaseWrenchEstimatorConfig
    from flexarm_core.behavior_impedance.behavior import BehaviorSpec as BehaviorSpec
    from flexarm_core.behavior_impedance.config import ImpedanceConfig as ImpedanceConfig
    from flexarm_core.behavior_impedance.controller import BehaviorImpedanceController as BehaviorImpedanceController
    from flexarm_core.errors import ConfigError as ConfigError
    from flexarm_core.errors import FlexarmError as FlexarmError
    from flexarm_core.errors import GainError as GainError
    from flexarm_core.errors import InputError as InputError
    from flexarm_core.errors import JointLimitError as JointLimitError
    from flexarm_core.errors import RobotDescriptionError as RobotDescriptionError
    from flexarm_core.flexible_dynamics.control.controller import FlexibleController as FlexibleController
    from flexarm_core.flexible_dynamics.control.controller import FlexibleControllerConfig as FlexibleControllerConfig
    from flexarm_core.flexible_dynamics.estimation.estimator import FlexibleEstimator as FlexibleEstimator
    from flexarm_core.flexible_dynamics.model import FlexibleModel as FlexibleModel
    from flexarm_core.hardware_gate.config import HardwareGateConfig as HardwareGateConfig
    from flexarm_core.hardware_gate.gate import HardwareGate as HardwareGate
    from flexarm_core.hardware_gate.limits import JointLimits as JointLimits
    from flexarm_core.ik_redundancy.chain import build_chain as build_chain
    from flexarm_core.ik_redundancy.config import RedundancyConfig as RedundancyConfig
    from flexarm_core.ik_redundancy.inverse_kinematics import InverseKinematics as InverseKinematics
    from flexarm_core.ik_redundancy.limits import MotionLimits as MotionLimits
    from flexarm_core.ik_redundancy.path_planner import PathError as PathError
    from flexarm_core.ik_redundancy.path_planner import PathPlanner as PathPlanner
    from flexarm_core.ik_redundancy.solver import RedundancySolver as RedundancySolver
    from flexarm_core.path.path_constraints import PathLimits as PathLimits
    from flexarm_core.path.pose_path import PosePath as PosePath
    from flexarm_core.reaction_null_space.planning.planner import ReactionPlanner as ReactionPlanner
    from flexarm_core.reaction_null_space.reaction_null_space import ReactionNullSpace as ReactionNullSpace
    from flexarm_core.reaction_null_space.reactionless.velocity_law import VelocityLaw as VelocityLaw
    from flexarm_core.reaction_null_space.reactionless.velocity_law import VelocityLawConfig as VelocityLawConfig
    from flexarm_core.reaction_null_space.vibration.base_selection import BaseSelection as BaseSelection
    from flexarm_core.reaction_null_space.vibration.config import VibrationControllerConfig as VibrationControllerConfig
    from flexarm_core.reaction_null_space.vibration.controller import VibrationController as VibrationController
    from flexarm_core.robot.arm_model import ArmModel as ArmModel
    from flexarm_core.robot.description import RobotDescription as RobotDescription
    from flexarm_core.robot.load import load_robot as load_robot
    from flexarm_core.robot.load import load_robot_description as load_robot_description
    from flexarm_core.robot.urdf_reader import parse_robot_description as parse_robot_description
    from flexarm_core.types import ArmState as ArmState
    from flexarm_core.types import BaseWrenchSample as BaseWrenchSample
    from flexarm_core.types import CartesianReference as CartesianReference
    from flexarm_core.types import FlexibleSample as FlexibleSample
    from flexarm_core.types import FlexibleState as FlexibleState
    from flexarm_core.types import JointReference as JointReference

    __version__: str

# The same names at run time, by module.
_MODULES = {
    "base_wrench.estimator": ("BaseWrenchEstimator", "BaseWrenchEstimatorConfig"),
    "behavior_impedance.behavior": ("BehaviorSpec",),
    "behavior_impedance.config": ("ImpedanceConfig",),
    "behavior_impedance.controller": ("BehaviorImpedanceController",),
    "errors": ("ConfigError", "FlexarmError", "GainError", "InputError", "JointLimitError", "RobotDescriptionError"),
    "flexible_dynamics.control.controller": ("FlexibleController", "FlexibleControllerConfig"),
    "flexible_dynamics.estimation.estimator": ("FlexibleEstimator",),
    "flexible_dynamics.model": ("FlexibleModel",),
    "hardware_gate.config": ("HardwareGateConfig",),
    "hardware_gate.gate": ("HardwareGate",),
    "hardware_gate.limits": ("JointLimits",),
    "ik_redundancy.chain": ("build_chain",),
    "ik_redundancy.config": ("RedundancyConfig",),
    "ik_redundancy.inverse_kinematics": ("InverseKinematics",),
    "ik_redundancy.limits": ("MotionLimits",),
    "ik_redundancy.path_planner": ("PathError", "PathPlanner"),
    "ik_redundancy.solver": ("RedundancySolver",),
    "reaction_null_space.planning.planner": ("ReactionPlanner",),
    "reaction_null_space.reactionless.velocity_law": ("VelocityLaw", "VelocityLawConfig"),
    "reaction_null_space.vibration.base_selection": ("BaseSelection",),
    "reaction_null_space.vibration.config": ("VibrationControllerConfig",),
    "reaction_null_space.vibration.controller": ("VibrationController",),
    "robot.arm_model": ("ArmModel",),
    "robot.load": ("load_robot_description", "load_robot"),
    "robot.urdf_reader": ("parse_robot_description",),
    "types": (
        "ArmState",
        "BaseWrenchSample",
        "CartesianReference",
        "FlexibleSample",
        "FlexibleState",
        "JointReference",
    ),
    "reaction_null_space.reaction_null_space": ("ReactionNullSpace",),
    "robot.description": ("RobotDescription",),
    "path.pose_path": ("PosePath",),
    "path.path_constraints": ("PathLimits",),
}
_HOMES = {name: f"flexarm_core.{module}" for module, names in _MODULES.items() for name in names}

__all__ = sorted(_HOMES)

if not TYPE_CHECKING:  # which would take every misspelled name for one that is found here

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            value = _version()
        elif name in _HOMES:
            value = getattr(import_module(_HOMES[name]), name)
        else:
            raise AttributeError(
                f"module 'flexarm_core' has no attribute '{name}'", name=name, obj=sys.modules[__name__]
            )
        globals()[name] = value  # found without this function from now on
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version  # 20 ms, which every import would pay

    try:
        return version("flexarm")
    except PackageNotFoundError as error:
        raise AttributeError(
            "the version of flexarm is unknown, because it is not installed: run `pip install .` or `make setup`"
        ) from error
